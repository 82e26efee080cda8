"""Answers what any family of noises certifies: always in threads, after an estimate of what it will cost."""

from fractions import Fraction
from typing import NamedTuple

from ellzero.certificates import Discrete, Family, Votes, budget_costs
from ellzero.certificates.families.base import Counts, read_counts
from ellzero.core.cancellation import check_cancelled
from ellzero.core.evidence import Evidence, is_several
from ellzero.core.numbers import MAX_DIMENSION, read_integer, read_probability
from ellzero.core.schemas import BudgetPlanAnswer, CertifiedAnswer, CertifiedListAnswer
from ellzero.serve.lookup import cost_estimates
from ellzero.serve.lookup.family_requests import (
    BudgetPlanBody,
    BudgetPlanQuery,
    BudgetThresholdsBody,
    BudgetThresholdsQuery,
    CertifiedBody,
    CertifiedQuery,
)
from ellzero.serve.lookup.service import LookupService
from ellzero.tables.lookup import budget_queries
from ellzero.tables.lookup.results import BudgetRows


class WorkOnBudgets(NamedTuple):
    """A family, the counts that are asked about, and how long that is expected to take."""

    family: Family
    counts: Counts
    expected_seconds: float


class BudgetThresholds(NamedTuple):
    """The thresholds of all budgets within limits."""

    family: Family
    limits: Counts
    q: Fraction
    rows: BudgetRows


class BudgetService:
    """Answers from the table and within the limits of the lookup service, for any family."""

    def __init__(self, lookup: LookupService) -> None:
        self._lookup = lookup

    async def certified(self, request: CertifiedQuery | CertifiedBody) -> CertifiedAnswer | CertifiedListAnswer:
        """Return the largest budgets that a probability or votes certify, or that each of a list does."""
        run, evidence, top_k = self._lookup.pool.run, request.read_evidence(), request.top_k
        family, limits, expected_seconds = await run(_prepare_certified, request, evidence, self._lookup.max_seconds)
        self._lookup.check_cost(expected_seconds)
        if is_several(evidence.values):
            return await run(budget_queries.answer_certified_list, self._lookup.index, family, limits, evidence, top_k)
        return await run(budget_queries.answer_certified, self._lookup.index, family, limits, evidence, top_k)

    async def thresholds(self, request: BudgetThresholdsQuery | BudgetThresholdsBody) -> BudgetThresholds:
        """Return the thresholds of all budgets within limits."""
        run, q = self._lookup.pool.run, read_probability(request.q, "q")
        family, limits, expected_seconds = await run(_prepare_thresholds, request)
        self._lookup.check_cost(expected_seconds)
        rows = await run(budget_queries.find_budget_rows, self._lookup.index, family, limits, q)
        return BudgetThresholds(family, limits, q, rows)

    async def plan(self, request: BudgetPlanQuery | BudgetPlanBody) -> BudgetPlanAnswer:
        """Return the votes that a budget needs."""
        run = self._lookup.pool.run
        family, counts, expected_seconds = await run(_prepare_plan, request)
        self._lookup.check_cost(expected_seconds)
        budget = family.write_budget(counts)
        arguments = (family, budget, request.p, request.failure, request.power)
        return await run(budget_queries.answer_budget_plan, *arguments)


def _prepare_certified(
    request: CertifiedQuery | CertifiedBody, evidence: Evidence, max_seconds: float
) -> WorkOnBudgets:
    """Return the family, its limits, and the time that all values are expected to take, or so many that it is too long.

    Estimates take time too, so they end when the answer is no.
    """
    family = request.make_family()
    limits = budget_queries.read_limits(family, request.limits)
    several, bounds = is_several(evidence.values), evidence.p_b
    values = evidence.values if several else [evidence.values]
    bounds = bounds if is_several(bounds) else [bounds] * len(values)
    pairs = zip(values, bounds, strict=True)
    distinct = dict.fromkeys((type(value), value, type(bound), bound) for value, bound in pairs)
    seconds = 0.0
    for _, value, _, bound in distinct:
        check_cancelled()
        if seconds <= max_seconds:
            seconds += _certified_seconds(family, limits, value, bound, evidence, request.top_k)
    return WorkOnBudgets(family, limits, seconds)


def _certified_seconds(
    family: Family, limits: Counts, value: object, bound: object, evidence: Evidence, top_k: int
) -> float:
    second = None if bound is None else read_probability(bound, "p_b")
    if evidence.n is None:
        p = read_probability(value, "p")
    else:
        count = read_integer(value, "count", 0, evidence.n)
        p = cost_estimates.guess_p(Votes(count, evidence.n, evidence.failure))
    if isinstance(family, Discrete) and top_k == 1 and limits != (0,):
        (d,) = limits
        if second is not None:
            return cost_estimates.two_class_seconds(family, min(second, 1 - p), d)
        if evidence.n is not None:
            return cost_estimates.counts_seconds(family, 1, p, d)
        return cost_estimates.numbers_seconds(1) + (0.0 if p == 1 else cost_estimates.radius_seconds(family, p, d))
    return budget_costs.certified_seconds(family, limits, p, second, top_k, evidence.n is not None)


def _prepare_thresholds(request: BudgetThresholdsQuery | BudgetThresholdsBody) -> WorkOnBudgets:
    family = request.make_family()
    limits = budget_queries.read_square(family, request.limits)
    return WorkOnBudgets(family, limits, budget_costs.thresholds_seconds(family, limits))


def _prepare_plan(request: BudgetPlanQuery | BudgetPlanBody) -> WorkOnBudgets:
    family = request.make_family()
    counts = read_counts(family, request.budget)
    for axis, count in zip(family.axes, counts, strict=True):
        read_integer(count, "budget" if len(counts) == 1 else f"budget.{axis}", 0, MAX_DIMENSION)
    if isinstance(family, Discrete):
        return WorkOnBudgets(family, counts, cost_estimates.plan_seconds(family, counts[0]))
    seconds = cost_estimates.planning_seconds() + budget_costs.budget_seconds(family, counts)
    return WorkOnBudgets(family, counts, seconds)
