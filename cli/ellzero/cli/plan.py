"""The command ``ellzero plan``."""

from typing import Any

import click

from ellzero.certificates.exact_thresholds import thresholds
from ellzero.certificates.noise import Noise
from ellzero.certificates.sample_size import plan
from ellzero.certificates.votes import reachable_radius
from ellzero.cli.parameters import Command, IntegerParam, noise_options
from ellzero.core.numbers import read_dimension, read_integer


@click.command("plan", cls=Command)
@noise_options
@click.option("--r", type=IntegerParam(), help="Wanted radius ...")
@click.option("--p", help="... and the probability of the top class that you expect: prints the votes needed.")
@click.option(
    "--n", type=IntegerParam(), help="In place of both: prints the largest radius that n votes can certify ..."
)
@click.option("--d", type=IntegerParam(), help="... among inputs of d coordinates.")
@click.option("--failure", default="0.001", show_default=True, help="Probability of a false certificate.")
@click.option("--power", help="With --r and --p: probability of certifying such an input; 0.9 by default.")
def plan_command(k: Any, alpha: str, r: Any, p: str | None, n: Any, d: Any, failure: str, power: str | None) -> None:
    """Print how many votes a radius needs, or how far n votes can reach, as the last line."""
    noise = Noise(k, alpha)
    if n is not None:
        if r is not None or p is not None or power is not None:
            raise click.UsageError("give either --n and --d, or --r and --p")
        if d is None:
            raise click.UsageError("--n needs --d, the number of coordinates")
        reached = reachable_radius(noise, n, failure, d)
        click.echo(f"{n} votes, all for one class, certify at most this radius at failure probability {failure}:")
        click.echo("unreachable" if reached is None else reached)
        return
    if r is None or p is None:
        raise click.UsageError("give either --r and --p, or --n and --d")
    if d is not None:
        read_integer(r, "r", 0, read_dimension(d))
    power = power or "0.9"
    found = plan(noise, r, p, failure, power)
    if found is None:
        click.echo(f"no n up to 10^8: p must exceed {thresholds(noise, [r])[0]} by enough")
        click.echo("unreachable")
        return
    click.echo(
        f"{found.min_count} of n votes certify radius {r} at failure probability {failure}; an input with p = {p} gets"
        f" them with probability {power} or more, and no smaller n does it:"
    )
    click.echo(found.n)
