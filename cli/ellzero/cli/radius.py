"""The command ``ellzero radius``."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import click
from click.core import ParameterSource

from ellzero.certificates.budget_thresholds import rho, thresholds
from ellzero.certificates.certified_budgets import MAX_TOP_K
from ellzero.certificates.exact_thresholds import (
    estimate_radii,
    radius_bound,
)
from ellzero.certificates.families.base import Budget, Family
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.families.masks import Ablation
from ellzero.certificates.radii import Watch, certify, radius
from ellzero.certificates.votes import Votes, lower_bound, min_count, radius_from_votes
from ellzero.cli.certificate_options import DIMENSION, VOTES
from ellzero.cli.family_certificates import BUNDLED, print_certified
from ellzero.cli.family_options import BudgetRanges, family_options, read_budget
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.cli.thresholds import column_seconds
from ellzero.core.conventions import CONVENTIONS_DICT, DEFAULT_FAILURE
from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.core.evidence import Evidence, read_evidence
from ellzero.core.numbers import read_probability
from ellzero.core.progress import announce, notify, track
from ellzero.core.schemas import RadiusAnswer

_API_KEY = "ELLZERO_API_KEY"
_FIELDS = re.compile(r"\b(p|p_b|count|n|failure)\b")
_TOP_K_HELP = "Certify that the class stays among so many most probable ones."
_OPTIONS = {"base_url": "--server", "api_key": _API_KEY}


@click.command("radius", cls=Command)
@family_options
@click.option("--d", type=DIMENSION, help="Number of coordinates.")
@click.option(
    "--limits",
    type=BudgetRanges(),
    help="Other families, in place of --d: how many changes of each kind are of interest: add=5,delete=20.",
)
@click.option("--top-k", type=IntegerRange(1, MAX_TOP_K), default=1, show_default=True, help=_TOP_K_HELP)
@click.option("--p", help="Lower bound of the probability of the top class.")
@click.option("--p-b", help="With --p: upper bound of the probability of every other class.")
@click.option("--count", type=IntegerRange(min=0), help="In place of --p: votes for the top class ...")
@click.option("--n", type=VOTES, help="... out of this many, drawn after the class was chosen ...")
@click.option("--failure", help=f"... at this probability of being wrong; {DEFAULT_FAILURE} by default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON that also says why.")
@click.option(
    "--table", metavar="URI", help="A table to look the radius up in; `bundled` is the one that ships with ellzero."
)
@click.option("--server", envvar="ELLZERO_SERVER", metavar="URL", help="A service to ask instead of computing.")
def radius_command(
    family: Family,
    d: int | None,
    limits: dict[str, tuple[int, int]] | None,
    top_k: int,
    p: str | None,
    p_b: str | None,
    count: int | None,
    n: int | None,
    failure: str | None,
    as_json: bool,
    table: str | None,
    server: str | None,
) -> None:
    """Print the certified radius, or `abstain`, as the last line: computed here, or from a table or a service.

    With several kinds of change there is a line for each of the largest certified budgets.
    """
    evidence = _read_options(p, p_b, count, n, failure)
    if table is not None and server is not None:
        raise click.UsageError("give either --table or --server, not both")
    if not isinstance(family, Discrete) or limits is not None or top_k > 1:
        by_environment = click.get_current_context().get_parameter_source("server") is ParameterSource.ENVIRONMENT
        if server is not None and not by_environment:
            raise click.UsageError("--server has discrete noise and one class only")
        if server is not None:
            notify("services have discrete noise and one class only, so this is computed here")
        print_certified(family, evidence, _read_limits(family, limits, d), top_k, as_json, table)
        return
    if d is None:
        raise click.UsageError("Missing option '--d'.")
    noise = family
    if table is not None or server is not None:
        fields: dict[str, Any] = {"k": noise.k, "alpha": str(noise.alpha), "d": d}
        fields |= {"p": p, "p_b": p_b} if p is not None else {"count": count, "n": n, "failure": evidence.failure}
        try:
            looked_up = _look_up(table, fields) if table is not None else _ask_service(str(server), fields)
        except (MissingExtra, ModuleNotFoundError) as missing:
            what, extra = ("--table", "tables") if table is not None else ("--server", "client")
            raise MissingExtra(what, extra) from missing
        answer = _explain_answer(looked_up, fields)
    elif count is not None and n is not None:
        answer = _explain_votes(noise, count, n, str(evidence.failure), d)
    elif p_b is not None:
        answer = _explain_two_classes(noise, str(p), p_b, d)
    else:
        answer = _explain_probability(noise, str(p), d)
    if as_json:
        click.echo(
            json.dumps({"k": noise.k, "alpha": str(noise.alpha), "d": d, **answer, "conventions": CONVENTIONS_DICT})
        )
        return
    click.echo(_sentence(answer))
    click.echo("abstain" if answer["radius"] is None else answer["radius"])


def _read_limits(family: Family, limits: dict[str, tuple[int, int]] | None, d: int | None) -> Budget:
    """The limits of --limits, or of --d where there is one kind of change."""
    if d is not None and not isinstance(family, Ablation) and (limits is not None or None not in family.most):
        known = "--limits" if limits is not None else f"what {family.name} says itself"
        raise click.UsageError(
            f"give either --d or {known}" if limits is not None else f"leave out --d: {known} counts"
        )
    if limits is not None:
        if any(low != high for low, high in limits.values()):
            raise click.UsageError("--limits must name one number for each kind of change")
        return read_budget(family, limits, "--limits")
    if None not in family.most:
        return family.write_budget(tuple(most or 0 for most in family.most))
    if len(family.axes) > 1:
        raise click.UsageError(f"give --limits, such as --limits {','.join(f'{axis}=5' for axis in family.axes)}")
    if d is None:
        raise click.UsageError("give --limits, or --d, the number of coordinates")
    return d


def _read_options(p: str | None, p_b: str | None, count: int | None, n: int | None, failure: str | None) -> Evidence:
    """The evidence of the options; what does not go together is refused by the options' names."""
    try:
        return read_evidence(p, p_b, count, n, failure)
    except InvalidInput as error:
        message = f"{error.field} must be {error.allowed}"
        raise click.UsageError(_FIELDS.sub(lambda field: f"--{field[0].replace('_', '-')}", message)) from error


def _explain_probability(noise: Discrete, p: str, d: int) -> dict[str, Any]:
    certificate = certify(noise, p, d, watch=_watch(noise, read_probability(p, "p"), d))
    return {
        "p": p,
        "radius": certificate.radius,
        "threshold": _text(certificate.threshold),
        "next_threshold": _text(certificate.next_threshold),
        "margin": _rounded_down(certificate.margin),
    }


def _explain_two_classes(noise: Discrete, p: str, p_b: str, d: int) -> dict[str, Any]:
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


def _explain_votes(noise: Discrete, count: int, n: int, failure: str, d: int) -> dict[str, Any]:
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


def _ask_service(server: str, evidence: dict[str, Any]) -> RadiusAnswer:
    """The answer of a service.

    An API key is taken from the environment only: others can read the command lines of a machine.
    """
    from ellzero.client import Client, RejectedInput, UnsendableValue

    try:
        with Client(server, api_key=os.environ.get(_API_KEY) or None) as client:
            answer: RadiusAnswer = client.radius(**evidence)
            return answer
    except RejectedInput as error:
        raise click.UsageError(_with_option(error.detail, error.field)) from error
    except UnsendableValue as error:
        raise click.UsageError(_with_option(str(error), error.field)) from error


def _look_up(table: str, evidence: dict[str, Any]) -> RadiusAnswer:
    """The answer from a table."""
    from ellzero.tables import LocalClient

    answer: RadiusAnswer = LocalClient(None if table == BUNDLED else table).radius(**evidence)
    if answer.source == "computed":
        notify("the table does not reach that far; the rest was computed")
    return answer


def _explain_answer(answer: RadiusAnswer, evidence: dict[str, Any]) -> dict[str, Any]:
    """An answer in the fields that computing it here has."""
    fields = {name: value for name, value in evidence.items() if name not in ("k", "alpha", "d") and value is not None}
    if "p_b" in fields:
        return {**fields, "radius": answer.radius}
    reason = {
        "radius": answer.radius,
        "threshold": _text(answer.threshold),
        "next_threshold": _text(answer.next_threshold),
        "margin": None if answer.margin is None else f"{answer.margin:f}",
    }
    if "p" in fields:
        return {**fields, **reason}
    low = None if answer.p_lower is None else float(answer.p_lower)
    counts = {"min_count": answer.min_count, "next_min_count": answer.next_min_count}
    return {**fields, "p_lower": low, **reason, **counts}


def _with_option(message: str, field: str | None) -> str:
    """The message, in which the field is named as on the command line."""
    if field is None:
        return message
    return message.replace(field, _OPTIONS.get(field, f"--{field.replace('_', '-')}"), 1)


def _watch(noise: Discrete, p: Fraction, d: int) -> Watch:
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
