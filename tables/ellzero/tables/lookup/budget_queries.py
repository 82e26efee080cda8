"""Answers about the budgets of any family of noises, as the local client and the service return them.

What they say is what `ellzero.certificates.certified` and `thresholds` say, exactly.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import isinf, prod
from typing import Any

from ellzero.certificates import Family, Votes, lower_bound, plan
from ellzero.certificates.certified_budgets import MAX_TOP_K, CertifiedBudgets
from ellzero.certificates.families.base import Budget, Counts, read_counts
from ellzero.core.errors import InvalidInput
from ellzero.core.evidence import Evidence
from ellzero.core.numbers import (
    MAX_DIMENSION,
    RationalLike,
    read_failure,
    read_integer,
    read_probability,
    scaled_decimal,
)
from ellzero.core.schemas import (
    BudgetPlanAnswer,
    BudgetThreshold,
    BudgetThresholdsAnswer,
    CertifiedAnswer,
    CertifiedListAnswer,
    combine_sources,
)
from ellzero.tables.format.rows import DIGITS, SCALE
from ellzero.tables.lookup.index import ThresholdIndex
from ellzero.tables.lookup.queries import write_budget, write_exact_text, write_text
from ellzero.tables.lookup.results import BudgetRows, CertifiedResult

MOST_BUDGETS = 100_000


def read_limits(family: Family, limits: Budget | None) -> Counts:
    """Limits as counts, at most 2^31 − 1 of each kind. They may be left out where the family has them."""
    counts = read_counts(family, {} if limits is None else limits, "limits")
    if limits is None:
        if None in family.most:
            raise InvalidInput("limits", f"given for {', '.join(family.axes)}", None)
        counts = tuple(most or 0 for most in family.most)
    for axis, count in zip(family.axes, counts, strict=True):
        read_integer(count, "limits" if len(counts) == 1 else f"limits.{axis}", 0, MAX_DIMENSION)
    return counts


def read_square(family: Family, limits: Budget | None) -> Counts:
    """Limits as counts, within which there are few enough budgets to list."""
    counts = read_limits(family, limits)
    if prod(count + 1 for count in counts) > MOST_BUDGETS:
        raise InvalidInput("limits", f"such that at most {MOST_BUDGETS:,} budgets are within them", limits)
    return counts


def answer_certified(
    index: ThresholdIndex, family: Family, limits: Counts, evidence: Evidence, top_k: int = 1
) -> CertifiedAnswer:
    """The largest budgets that a probability or votes certify."""
    top_k = read_integer(top_k, "top_k", 1, MAX_TOP_K)
    described: dict[str, Any] = {
        "family": family.describe(),
        "limits": family.write_budget(limits),
        "top_k": top_k,
    }
    result = _look_up(index, family, limits, evidence.values, evidence.p_b, evidence, top_k)
    if evidence.n is None:
        described["p"] = write_exact_text(evidence.p)
        if evidence.p_b is not None:
            described["p_b"] = write_exact_text(evidence.p_b)
    else:
        votes = Votes(evidence.count, evidence.n, evidence.failure)
        low = Fraction(lower_bound(votes))
        described |= {"count": votes.count, "n": votes.n, "failure": str(votes.failure)}
        described["p_lower"] = scaled_decimal(low.numerator * SCALE // low.denominator, DIGITS)
    return CertifiedAnswer(certified=_write_certified(result.budgets), source=result.source, **described)


def answer_certified_list(
    index: ThresholdIndex, family: Family, limits: Counts, evidence: Evidence, top_k: int = 1
) -> CertifiedListAnswer:
    """The largest budgets that each of many probabilities or counts certifies; equal ones are looked up once."""
    top_k = read_integer(top_k, "top_k", 1, MAX_TOP_K)
    several = isinstance(evidence.p_b, Sequence) and not isinstance(evidence.p_b, str)
    others = evidence.p_b if several else [evidence.p_b] * len(evidence.values)
    results: dict[tuple[object, ...], CertifiedResult] = {}
    keys = [(type(value), value, type(other), other) for value, other in zip(evidence.values, others, strict=True)]
    try:
        for key in keys:
            if key not in results:
                results[key] = _look_up(index, family, limits, key[1], key[3], evidence, top_k)
    except TypeError:  # a value that cannot be hashed is not a number
        raise InvalidInput(evidence.name, "a list of numbers", evidence.values) from None
    return CertifiedListAnswer(
        certified=[_write_certified(results[key].budgets) for key in keys],
        source=combine_sources([result.source for result in results.values()]),
        family=family.describe(),
        limits=write_budget(family, limits),
        top_k=top_k,
    )


def find_budget_rows(index: ThresholdIndex, family: Family, limits: Counts, q: Fraction) -> BudgetRows:
    """The thresholds of all budgets within the limits; the last kind of change varies first."""
    return index.budget_rows(family, product(*(range(count + 1) for count in limits)), q)


def answer_budget_rows(family: Family, limits: Counts, q: Fraction, result: BudgetRows) -> BudgetThresholdsAnswer:
    """Rows as an answer."""
    return BudgetThresholdsAnswer(
        rows=[
            BudgetThreshold(
                write_budget(family, row.counts),
                scaled_decimal(row.scaled_ceiling, DIGITS),
                row.exact,
                None if isinf(row.min_p) else row.min_p,
            )
            for row in result.rows
        ],
        q=str(q),
        source=result.source,
        family=family.describe(),
        limits=write_budget(family, limits),
    )


def answer_budget_plan(
    family: Family, budget: Budget, p: RationalLike, failure: RationalLike, power: RationalLike
) -> BudgetPlanAnswer:
    """The least number of votes that certifies a budget for an input of probability p."""
    counts = read_counts(family, budget)
    read_failure(failure), read_failure(power, "power")
    least_votes = plan(family, budget, p, failure, power)
    return BudgetPlanAnswer(
        budget=write_budget(family, counts),
        n=None if least_votes is None else least_votes.n,
        min_count=None if least_votes is None else least_votes.min_count,
        failure=write_text(failure),
        family=family.describe(),
        p=write_exact_text(p),
        power=write_text(power),
    )


def _look_up(
    index: ThresholdIndex, family: Family, limits: Counts, value: Any, other: Any, evidence: Evidence, top_k: int
) -> CertifiedResult:
    if evidence.n is not None:
        return index.certified(family, Votes(value, evidence.n, evidence.failure), limits, top_k=top_k)
    read_probability(value, "p")
    return index.certified(family, value, limits, p_b=other, top_k=top_k)


def _write_certified(budgets: CertifiedBudgets) -> int | list[dict[str, Any]] | None:
    return [dict(each) for each in budgets if not isinstance(each, int)] if isinstance(budgets, tuple) else budgets
