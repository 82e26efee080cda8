"""The command ``ellzero radius``."""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import click

from ellzero.certificates.discrete import rho
from ellzero.certificates.exact_thresholds import (
    estimate_radii,
    radius_bound,
    thresholds,
)
from ellzero.certificates.noise import Noise
from ellzero.certificates.radii import Watch, certify, radius
from ellzero.certificates.votes import Votes, lower_bound, min_count, radius_from_votes
from ellzero.cli.parameters import Command, IntegerParam, noise_options
from ellzero.cli.thresholds import column_seconds
from ellzero.core.conventions import CONVENTIONS_DICT
from ellzero.core.errors import MissingExtra
from ellzero.core.numbers import read_dimension, read_probability
from ellzero.core.progress import announce, track


@click.command("radius", cls=Command)
@noise_options
@click.option("--d", type=IntegerParam(), required=True, help="Number of coordinates.")
@click.option("--p", help="Lower bound of the probability of the top class.")
@click.option("--p-b", help="With --p: upper bound of the probability of every other class.")
@click.option("--count", type=IntegerParam(), help="In place of --p: votes for the top class ...")
@click.option("--n", type=IntegerParam(), help="... out of so many, drawn after the class was chosen ...")
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
    d = read_dimension(d)
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
        click.echo(
            json.dumps({"k": noise.k, "alpha": str(noise.alpha), "d": d, **answer, "conventions": CONVENTIONS_DICT})
        )
        return
    click.echo(_sentence(answer))
    click.echo("abstain" if answer["radius"] is None else answer["radius"])


def _explain_probability(noise: Noise, p: str, d: int) -> dict[str, Any]:
    certificate = certify(noise, p, d, watch=_watch(noise, read_probability(p, "p"), d))
    return {
        "p": p,
        "radius": certificate.radius,
        "threshold": _text(certificate.threshold),
        "next_threshold": _text(certificate.next_threshold),
        "margin": _rounded_down(certificate.margin),
    }


def _explain_two_classes(noise: Noise, p: str, p_b: str, d: int) -> dict[str, Any]:
    certified = radius(noise, p, d, p_b, watch=_watch(noise, read_probability(p, "p"), d))
    top = others_missing = None
    if certified is not None:
        top = rho(noise, certified, p)
        others_missing = rho(noise, certified, max(1 - read_probability(p_b, "p_b"), read_probability(p, "p")))
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
    """What a service answers."""
    try:
        from ellzero.client import remote
    except ModuleNotFoundError as missing:
        raise MissingExtra("--server", "client") from missing
    return remote.radius(server, question)


def _watch(noise: Noise, p: Fraction, d: int) -> Watch:
    """Says what finding the radius of p will cost, and returns what shows its progress."""
    radii = min(d, estimate_radii(radius_bound(noise, max(1 - p, Fraction(1, 10**20))))) if p > Fraction(1, 2) else 0
    seconds = column_seconds(radii)
    announce(f"about {radii:,} radii to go through", seconds)

    def shown(answers: Iterable[bool]) -> Iterator[bool]:
        yield from track(answers, radii, "radii", seconds)

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
