"""What ``ellzero thresholds``, ``radius`` and ``plan`` print where a budget is not just a radius of discrete noise."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isinf
from typing import Any, NamedTuple

import click

from ellzero.certificates.budget_costs import certified_seconds
from ellzero.certificates.budget_thresholds import HALF, inverse_of_counts, round_up, row_of_counts
from ellzero.certificates.certified_budgets import CertifiedBudgets, certified, certified_from_votes
from ellzero.certificates.families.base import Budget, Counts, Family, read_counts
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.products import Products, measure_product
from ellzero.certificates.sample_size import plan
from ellzero.certificates.votes import Votes, guess_lower_bound, lower_bound
from ellzero.cli.family_options import format_counts
from ellzero.core.evidence import Evidence
from ellzero.core.numbers import read_probability, scaled_decimal
from ellzero.core.progress import announce, notify, track
from ellzero.core.text import count_noun

# On one core of a machine of 2026; only to announce long work.
_SECONDS_A_BUDGET = 4e-5
_SECONDS_A_REGION_ON_A_LINE = 1.4e-7
_SECONDS_A_REGION, _SECONDS_A_REGION_BIT = 2.3e-6, 6e-10
_BUDGETS_MEASURED = 20


class BudgetLine(NamedTuple):
    """A budget and its threshold; ``min_p`` is the least double that certifies it, None if no p does."""

    counts: Counts
    threshold: Decimal
    min_p: float | None


def estimate_seconds(family: Family, budgets: Sequence[Counts]) -> float:
    """About how long the thresholds of these budgets take, if each is a step from one before: from some of them."""
    some = budgets[:: len(budgets) // _BUDGETS_MEASURED + 1]
    return len(budgets) * sum(_estimate_budget(family, counts) for counts in some) / max(1, len(some))


def _estimate_budget(family: Family, counts: Counts) -> float:
    ways = family.list_perturbations(counts)
    regions, bits, on_line = measure_product(ways[-1])
    each = _SECONDS_A_REGION_ON_A_LINE if on_line else _SECONDS_A_REGION + bits * _SECONDS_A_REGION_BIT
    return len(ways) * (_SECONDS_A_BUDGET + regions * each)


def compute_budget_lines(family: Family, budgets: list[Counts], q: str, digits: int) -> Iterator[BudgetLine]:
    """ρ⁻¹(q) of each budget as it is computed."""
    target = read_probability(q, "q")
    seconds = estimate_seconds(family, budgets)
    announce(count_noun(len(budgets), "budget"), seconds)
    tracked = track(budgets, len(budgets), "budgets", seconds, streaming=True)
    return _compute_lines(family, tracked, target, digits)


def print_thresholds(family: Family, lines: Iterable[BudgetLine], q: str, digits: int, output: str) -> None:
    """Print ρ⁻¹(q) of each budget, rounded up."""
    target = read_probability(q, "q")
    if output == "csv":
        click.echo(",".join([*family.axes, "threshold"]))
        for line in lines:
            click.echo(",".join([*map(str, line.counts), f"{line.threshold:f}"]))
    elif output == "json":
        head = {"family": family.describe(), "q": str(target), "digits": digits}
        click.echo(json.dumps(head)[:-1] + ', "rows": [', nl=False)
        for index, line in enumerate(lines):
            budget = family.write_budget(line.counts)
            text = json.dumps({"budget": budget, "threshold": f"{line.threshold:f}", "min_p": line.min_p})
            click.echo((",\n" if index else "\n") + text, nl=False)
        click.echo("\n]}")
    else:
        click.echo(f"{family}{'' if target == HALF else f', q = {target}'}")
        widths = [max(7, len(axis)) for axis in family.axes]
        click.echo("".join(f"{axis:>{width}}  " for axis, width in zip(family.axes, widths, strict=True)), nl=False)
        click.echo("certified if p exceeds")
        for line in lines:
            counts = "".join(f"{count:>{width}}  " for count, width in zip(line.counts, widths, strict=True))
            click.echo(f"{counts}{line.threshold:f}" + ("  (no p does)" if line.min_p is None else ""))


def compute_certified(family: Family, evidence: Evidence, limits: Budget, top_k: int) -> CertifiedBudgets:
    """The largest certified budgets, computed here; long work says so first."""
    if evidence.n is None:
        p, p_b = read_probability(evidence.p, "p"), evidence.p_b
        second = None if p_b is None else read_probability(p_b, "p_b")
    else:
        p, second = Fraction(guess_lower_bound(Votes(int(evidence.count), evidence.n, evidence.failure))), None
    announce_certifying(family, limits, [p], second, top_k, votes=evidence.n is not None)
    if evidence.n is not None:
        votes = Votes(int(evidence.count), evidence.n, evidence.failure)
        return certified_from_votes(family, votes, limits, top_k=top_k)
    return certified(family, evidence.p, limits, p_b=evidence.p_b, top_k=top_k)


def announce_certifying(
    family: Family,
    limits: Budget,
    probabilities: Sequence[Fraction],
    p_b: Fraction | None = None,
    top_k: int = 1,
    *,
    votes: bool = False,
) -> None:
    """Say how long finding the largest budgets for these probabilities will take, if that is worth saying."""
    if isinstance(family, Discrete):
        return
    counts = read_counts(family, limits, "limits")
    seconds = sum(certified_seconds(family, counts, p, p_b, top_k, votes) for p in probabilities)
    if isinf(seconds):
        notify("the regions of a single budget are many, and this may take minutes or more")
    else:
        announce("certifying", seconds)


def print_certified(
    family: Family,
    evidence: Evidence,
    limits: Budget,
    top_k: int,
    as_json: bool,
    certify: Callable[[Family, Evidence, Budget, int], CertifiedBudgets] = compute_certified,
) -> None:
    """Print the largest certified budgets, or `abstain`, as the last lines."""
    answer = certify(family, evidence, limits, top_k)
    if evidence.n is not None:
        votes = Votes(int(evidence.count), evidence.n, evidence.failure)
        given: dict[str, Any] = {"count": votes.count, "n": votes.n, "failure": str(evidence.failure)}
        given["p_lower"] = lower_bound(votes)
        sentence = f"{votes.count} of {votes.n} votes: p ≥ {given['p_lower']!r} at failure {evidence.failure}"
    else:
        given = {"p": evidence.p} | ({} if evidence.p_b is None else {"p_b": evidence.p_b})
        against = "" if evidence.p_b is None else f" against at most {evidence.p_b} for every other class"
        sentence = f"p = {evidence.p}{against}"
    kept = "the class stays" if top_k == 1 else f"the class stays among the {top_k} most probable"
    if as_json:
        budgets = list(answer) if isinstance(answer, tuple) else answer
        described = {"family": family.describe(), **given, "limits": limits, "top_k": top_k, "certified": budgets}
        click.echo(json.dumps(described))
        return
    if answer is None:
        click.echo(f"{family}, {sentence}")
        click.echo("abstain")
        return
    many = "within each of these budgets" if isinstance(answer, tuple) else "for at most so many changes"
    click.echo(f"{family}, {sentence}: {kept} {many}")
    for budget in answer if isinstance(answer, tuple) else (answer,):
        click.echo(format_counts(family, family.read_budget(budget)))


def print_plan(family: Family, budget: Budget, p: str, failure: str, power: str) -> None:
    """Print how many votes certify the budget, or `unreachable`, as the last line."""
    counts = family.read_budget(budget)
    shown = format_counts(family, counts)
    votes = plan(family, budget, p, failure, power)
    if votes is None:
        tau = inverse_of_counts(family, counts, HALF, Products())
        exact = read_probability(p, "p")
        near = round_up(family, counts, HALF, 20, Products())
        if exact > tau:
            reason = f"p = {p} is so close to τ = {near} that no n up to 10^8 has power {power}"
        else:
            reason = f"p = {p} {'equals' if exact == tau else 'is below'} τ = {near}: no number of votes certifies it"
        click.echo(f"{family}, budget {shown}: {reason}.")
        click.echo("unreachable")
        return
    click.echo(
        f"{votes.min_count} of n votes certify the budget {shown} at failure probability {failure}; an input with "
        f"p = {p} gets them with probability {power} or more, and no smaller n does it:"
    )
    click.echo(votes.n)


def _compute_lines(family: Family, budgets: Iterable[Counts], q: Fraction, digits: int) -> Iterator[BudgetLine]:
    products = Products()
    for counts in budgets:
        (units, _), least = row_of_counts(family, counts, q, digits, products)
        yield BudgetLine(counts, scaled_decimal(units, digits), None if isinf(least) else least)
