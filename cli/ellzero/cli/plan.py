"""The command ``ellzero plan``."""

from fractions import Fraction

import click

from ellzero.certificates.budget_thresholds import thresholds
from ellzero.certificates.exact_thresholds import compute_at
from ellzero.certificates.families.base import Family
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.rounding import ExceedsQuery
from ellzero.certificates.sample_size import plan
from ellzero.certificates.votes import reachable_radius
from ellzero.cli.certificate_options import DIMENSION, RADIUS, VOTES
from ellzero.cli.family_certificates import print_plan
from ellzero.cli.family_options import BudgetRanges, family_options, read_budget
from ellzero.cli.parameters import Command
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.numbers import read_integer, read_probability


@click.command("plan", cls=Command)
@family_options
@click.option("--r", type=RADIUS, help="Wanted radius ...")
@click.option("--budget", type=BudgetRanges(), help="... or budget of another family: add=2,delete=1 ...")
@click.option("--p", help="... and the probability of the top class that you expect: prints the votes needed.")
@click.option("--n", type=VOTES, help="In place of both: prints the largest radius that n votes can certify ...")
@click.option("--d", type=DIMENSION, help="... among inputs of d coordinates.")
@click.option("--failure", default=DEFAULT_FAILURE, show_default=True, help="Probability of a false certificate.")
@click.option("--power", help=f"With --r and --p: probability of certifying such an input; {DEFAULT_POWER} by default.")
def plan_command(
    family: Family,
    r: int | None,
    budget: dict[str, tuple[int, int]] | None,
    p: str | None,
    n: int | None,
    d: int | None,
    failure: str,
    power: str | None,
) -> None:
    """Print how many votes a radius needs, or how far n votes can reach, as the last line."""
    if not isinstance(family, Discrete) or budget is not None:
        if n is not None:
            raise click.UsageError("--n is for discrete noise: ask `ellzero radius --count N --n N` for other families")
        if p is None or (r is None) is (budget is None):
            raise click.UsageError("give --p, and either --budget or --r")
        wanted = {"": (r, r)} if r is not None else budget or {}
        option = "--budget" if r is None else "--r"
        print_plan(family, read_budget(family, wanted, option), p, failure, power or DEFAULT_POWER)
        return
    noise = family
    if n is not None:
        if r is not None or p is not None or power is not None:
            raise click.UsageError("give either --n and --d, or --r and --p")
        if d is None:
            raise click.UsageError("--n needs --d, the number of coordinates")
        largest = reachable_radius(noise, n, failure, d)
        click.echo(f"{n} votes, all for one class, certify at most this radius at failure probability {failure}:")
        click.echo("unreachable" if largest is None else largest)
        return
    if r is None or p is None:
        raise click.UsageError("give either --r and --p, or --n and --d")
    if d is not None:
        read_integer(r, "r", 0, d)
    power = power or DEFAULT_POWER
    votes = plan(noise, r, p, failure, power)
    if votes is None:
        click.echo(_explain_unreachable(noise, r, p, power))
        click.echo("unreachable")
        return
    click.echo(
        f"{votes.min_count} of n votes certify radius {r} at failure probability {failure}; an input with p = {p} gets"
        f" them with probability {power} or more, and no smaller n does it:"
    )
    click.echo(votes.n)


def _explain_unreachable(noise: Discrete, r: int, p: str, power: str) -> str:
    threshold, exact = thresholds(noise, [r])[0], read_probability(p, "p")
    if exact == 1 or compute_at(noise, r, ExceedsQuery(exact)):
        return f"p = {p} is so close to τ_{r} = {threshold} that no n up to 10^8 has power {power} for radius {r}."
    relation = "equals" if exact == Fraction(threshold) else "is below"
    return f"p = {p} {relation} τ_{r} = {threshold}: no number of votes certifies radius {r}."
