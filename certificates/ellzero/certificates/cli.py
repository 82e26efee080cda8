"""The commands ``thresholds``, ``radius``, ``plan`` and ``plot``."""

import json
import os
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

from ellzero.certificates._inputs import dimension, integer, probability
from ellzero.certificates.commands import MOST_RADII, Command, Radii, Whole, announce, noise_options, notice, progress
from ellzero.certificates.decision import Watch, certify, radius
from ellzero.certificates.discrete import rho
from ellzero.certificates.engine import column, column_end, radius_bound, thresholds
from ellzero.certificates.errors import InvalidInput, MissingExtra
from ellzero.certificates.listing import (
    CONVENTIONS,
    chosen_rows,
    column_rows,
    column_seconds,
    likely_radii,
    paper_rows,
    print_rows,
)
from ellzero.certificates.noise import Noise
from ellzero.certificates.planning import plan
from ellzero.certificates.plots import plot_thresholds
from ellzero.certificates.rounding import check_digits
from ellzero.certificates.votes import Votes, lower_bound, min_count, radius_from_votes, reachable_radius


@click.command("thresholds", cls=Command)
@noise_options
@click.option(
    "--r-max", type=Whole(), help="Radii 0..r-max; without it up to saturation, where all further ones are 1."
)
@click.option("--r", type=Radii(), help="Only these radii: 8, 1,4,7 or 1:8.")
@click.option("--d", type=Whole(), help="Number of coordinates, which bounds r. The paper's method needs it.")
@click.option("--digits", type=Whole(), default=20, show_default=True, help="Digits after the point, 1..1000.")
@click.option("--method", type=click.Choice(["engine", "paper"]), default="engine", show_default=True)
@click.option("--workers", type=Whole(), help="Processes for the paper's method; all cores by default.")
@click.option("--format", "output", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
def thresholds_command(
    k: Any, alpha: str, r_max: Any, r: Any, d: Any, digits: Any, method: str, workers: Any, output: str
) -> None:
    """Print the thresholds ρ_r⁻¹(1/2): a probability p certifies radius r iff p exceeds that of r.

    The decimals are the exact values rounded up in the last digit.
    """
    noise = Noise(k, alpha)
    digits = check_digits(digits)
    if r is not None and r_max is not None:
        raise click.UsageError("give either --r or --r-max")
    if workers is not None and method != "paper":
        raise click.UsageError("--workers goes with --method paper")
    if d is not None:
        d = dimension(d)
        if r_max is not None and integer(r_max, "r_max", 0) > d:
            notice(f"--r-max is cut at d = {d}: no more coordinates can change")
            r_max = d
    if method == "paper":
        if d is None:
            raise InvalidInput("d", "given for the paper's method, which works on the whole space", d)
        if r is None and r_max is None:
            raise click.UsageError("--method paper needs --r or --r-max")
        workers = integer(os.cpu_count() or 1 if workers is None else workers, "workers", 1)
        radii = range(integer(r_max, "r_max", 0, MOST_RADII) + 1) if r is None else r
        rows = paper_rows(noise, d, radii, digits, workers)
    elif r is not None:
        rows = chosen_rows(noise, r if d is None else [integer(at, "r", 0, d) for at in r], digits)
    else:
        rows = column_rows(noise, r_max, d, digits)
    print_rows(rows, noise, digits, method, output)


@click.command("radius", cls=Command)
@noise_options
@click.option("--d", type=Whole(), required=True, help="Number of coordinates.")
@click.option("--p", help="Lower bound of the probability of the top class.")
@click.option("--p-b", help="With --p: upper bound of the probability of every other class.")
@click.option("--count", type=Whole(), help="In place of --p: votes for the top class ...")
@click.option("--n", type=Whole(), help="... out of so many, drawn after the class was chosen ...")
@click.option("--failure", help="... at this probability of being wrong; 0.001 by default.")
@click.option("--json", "as_json", is_flag=True, help="Say why as well.")
@click.option("--server", envvar="ELLZERO_SERVER", help="Address of a service to ask instead of computing.")
def radius_command(
    k: Any,
    alpha: str,
    d: Any,
    p: str | None,
    p_b: str | None,
    count: Any,
    n: Any,
    failure: str | None,
    as_json: bool,
    server: str | None,
) -> None:
    """Print the certified radius, or `abstain`, as the last line."""
    noise = Noise(k, alpha)
    if (p is None) == (count is None and n is None):
        raise click.UsageError("give either --p, or --count and --n")
    if p_b is not None and p is None:
        raise click.UsageError("--p-b goes with --p")
    if p is not None and failure is not None:
        raise click.UsageError("--failure goes with --count and --n")
    if p is None and (count is None or n is None):
        raise click.UsageError("--count and --n go together")
    d = dimension(d)
    epsilon = failure or "0.001"
    if server is not None:
        evidence = {"p": p, "p_b": p_b} if p is not None else {"count": count, "n": n, "failure": epsilon}
        answer = _ask_service(server, {"k": k, "alpha": alpha, "d": d, **evidence})
    elif p is not None and p_b is not None:
        answer = _explain_two_classes(noise, p, p_b, d)
    elif p is not None:
        answer = _explain_probability(noise, p, d)
    else:
        answer = _explain_votes(noise, count, n, epsilon, d)
    if as_json:
        click.echo(json.dumps({"k": noise.k, "alpha": str(noise.alpha), "d": d, **answer, "conventions": CONVENTIONS}))
        return
    click.echo(_sentence(answer))
    click.echo("abstain" if answer["radius"] is None else answer["radius"])


@click.command("plan", cls=Command)
@noise_options
@click.option("--r", type=Whole(), help="Wanted radius ...")
@click.option("--p", help="... and the probability of the top class that you expect: prints the votes needed.")
@click.option("--n", type=Whole(), help="In place of both: prints the largest radius that n votes can certify ...")
@click.option("--d", type=Whole(), help="... among inputs of d coordinates.")
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
        integer(r, "r", 0, dimension(d))
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


@click.group("plot", invoke_without_command=True)
@click.pass_context
def plot_command(ctx: click.Context) -> None:
    """Draw figures as PNG, SVG or PDF."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@plot_command.command("thresholds", cls=Command)
@click.option("--k", type=Whole(), required=True, help="Number of categories minus one.")
@click.option("--alpha", required=True, help="Probabilities of staying, such as 0.1,0.2,0.5.")
@click.option("--r-max", type=Whole(), default=20, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("thresholds.png"), show_default=True)
def plot_thresholds_command(k: Any, alpha: str, r_max: Any, out: Path) -> None:
    """Draw the thresholds against the radius, a line for each α."""
    noises = [Noise(k, value) for value in alpha.split(",")]
    seconds = sum(column_seconds(column_end(noise, r_max, 20)) for noise in noises)
    announce(f"{len(noises)} columns", seconds)
    with progress(noises, len(noises), "columns", seconds) as bar:
        columns = [column(noise, r_max) for noise in bar]
    plot_thresholds(columns, out)
    click.echo(out)


def _explain_probability(noise: Noise, p: str, d: int) -> dict[str, Any]:
    certificate = certify(noise, p, d, watch=_watch(noise, probability(p, "p"), d))
    return {
        "p": p,
        "radius": certificate.radius,
        "threshold": _text(certificate.threshold),
        "next_threshold": _text(certificate.next_threshold),
        "margin": _rounded_down(certificate.margin),
    }


def _explain_two_classes(noise: Noise, p: str, p_b: str, d: int) -> dict[str, Any]:
    certified = radius(noise, p, d, p_b, watch=_watch(noise, probability(p, "p"), d))
    top = others_missing = None
    if certified is not None:
        top = rho(noise, certified, p)
        others_missing = rho(noise, certified, max(1 - probability(p_b, "p_b"), probability(p, "p")))
    return {
        "p": p,
        "p_b": p_b,
        "radius": certified,
        "top_at_least": _rounded_down(top),
        "others_lack_at_least": _rounded_down(others_missing),
    }


def _explain_votes(noise: Noise, count: int, n: int, failure: str, d: int) -> dict[str, Any]:
    votes = Votes(count, n, failure)
    low = lower_bound(votes)
    certified = radius_from_votes(noise, votes, d, watch=_watch(noise, Fraction(low), d))
    reached = None if certified is None else thresholds(noise, [certified])[0]
    beyond = 0 if certified is None else certified + 1
    return {
        "count": votes.count,
        "n": votes.n,
        "failure": failure,
        "p_lower": low,
        "radius": certified,
        "threshold": _text(reached),
        "next_threshold": _text(thresholds(noise, [beyond])[0]) if beyond <= d else None,
        "margin": _rounded_down(None if reached is None else max(Fraction(low) - Fraction(reached), Fraction(0))),
        "min_count": None if certified is None else min_count(noise, certified, votes.n, votes.failure),
        "next_min_count": min_count(noise, beyond, votes.n, votes.failure) if beyond <= d else None,
    }


def _ask_service(server: str, question: dict[str, Any]) -> dict[str, Any]:
    """What a service answers. The client is another part, which this one does not know: its entry point leads there."""
    (remote,) = entry_points(group="ellzero.remote", name="radius")
    try:
        ask = remote.load()
    except ModuleNotFoundError as missing:
        raise MissingExtra("--server", ",".join(remote.extras)) from missing
    answer: dict[str, Any] = ask(server, question)
    return answer


def _watch(noise: Noise, p: Fraction, d: int) -> Watch:
    """Says what finding the radius of p will cost, and returns what shows its progress."""
    radii = min(d, likely_radii(radius_bound(noise, max(1 - p, Fraction(1, 10**20))))) if p > Fraction(1, 2) else 0
    seconds = column_seconds(radii)
    announce(f"about {radii:,} radii to go through", seconds)

    def shown(answers: Iterable[bool]) -> Iterator[bool]:
        with progress(answers, radii, "radii", seconds) as bar:
            yield from bar

    return shown


def _sentence(answer: dict[str, Any]) -> str:
    if "p_b" in answer:
        return f"p = {answer['p']} against at most {answer['p_b']} for every other class"
    if "count" in answer:
        subject = f"{answer['count']} of {answer['n']} votes: p ≥ {answer['p_lower']!r} at failure {answer['failure']}"
    else:
        subject = f"p = {answer['p']}"
    reached = answer["radius"]
    above = [f"above τ_{reached} = {answer['threshold']}"] if answer["threshold"] else []
    beyond = 0 if reached is None else reached + 1
    not_above = [f"not above τ_{beyond} = {answer['next_threshold']}"] if answer["next_threshold"] else []
    return ", ".join([subject, *above, *not_above]) + (" (rounded up)" if above or not_above else "")


def _text(value: Decimal | None) -> str | None:
    return None if value is None else str(value)


def _rounded_down(value: Fraction | None) -> str | None:
    """With 20 digits, as the lower bound that it stands for."""
    return None if value is None else f"{Decimal(value.numerator * 10**20 // value.denominator).scaleb(-20):f}"
