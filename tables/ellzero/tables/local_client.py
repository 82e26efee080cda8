"""A client that needs no server: the lookups of `ellzero.client.Client`, answered from a table in this process."""

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Self, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete, Family, Votes, make_family
from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.families.base import Budget
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.errors import InvalidInput
from ellzero.core.evidence import is_array, is_several, read_evidence
from ellzero.core.numbers import RationalLike, read_dimension, read_probability
from ellzero.core.schemas import (
    BudgetPlanAnswer,
    BudgetThresholdsAnswer,
    CertifiedAnswer,
    CertifiedListAnswer,
    CompareAnswer,
    FamiliesAnswer,
    PlanAnswer,
    RadiiAnswer,
    RadiiArray,
    RadiusAnswer,
    TablesAnswer,
    ThresholdsAnswer,
)
from ellzero.tables.bundled import bundled_index
from ellzero.tables.lookup import budget_queries, queries
from ellzero.tables.lookup.family_catalogue import answer_families
from ellzero.tables.lookup.index import ThresholdIndex

FamilyLike: TypeAlias = Family | Mapping[str, Any]
"""A family of noises, or its description."""
Bounds: TypeAlias = RationalLike | Sequence[RationalLike] | NDArray[np.floating[Any]]


class LocalClient:
    """Answers from the table at a path or URI, by default the one that ships with ellzero; missing rows are computed.

    It has the methods of `ellzero.client.Client` that need no model, with the same answers; to certify a model without
    a server use `ellzero.smoothing.SmoothedClassifier`. Both raise `ellzero.core.InvalidInput`, a ValueError, for a
    value that is not allowed.
    """

    def __init__(self, table: str | PathLike[str] | None = None) -> None:
        self._name = "reference" if table is None else fspath(table)
        self._index = bundled_index() if table is None else ThresholdIndex.open(table)

    @overload
    def radius(  # type: ignore[overload-overlap]  # text is a sequence too, and means one number
        self, p: RationalLike, *, k: int, alpha: RationalLike, d: int, p_b: RationalLike | None = None
    ) -> RadiusAnswer: ...
    @overload
    def radius(
        self, *, k: int, alpha: RationalLike, d: int, count: int, n: int, failure: RationalLike | None = None
    ) -> RadiusAnswer: ...
    @overload
    def radius(
        self, p: Sequence[RationalLike], *, k: int, alpha: RationalLike, d: int, p_b: Bounds | None = None
    ) -> RadiiAnswer: ...
    @overload
    def radius(
        self, *, k: int, alpha: RationalLike, d: int, count: Sequence[int], n: int, failure: RationalLike | None = None
    ) -> RadiiAnswer: ...
    @overload
    def radius(
        self, p: NDArray[np.floating[Any]], *, k: int, alpha: RationalLike, d: int, p_b: Bounds | None = None
    ) -> RadiiArray: ...
    @overload
    def radius(
        self,
        *,
        k: int,
        alpha: RationalLike,
        d: int,
        count: NDArray[np.integer[Any]],
        n: int,
        failure: RationalLike | None = None,
    ) -> RadiiArray: ...
    def radius(
        self,
        p: Any = None,
        *,
        k: int,
        alpha: RationalLike,
        d: int,
        p_b: Any = None,
        count: Any = None,
        n: int | None = None,
        failure: RationalLike | None = None,
    ) -> RadiusAnswer | RadiiAnswer | RadiiArray:
        """The certified radius of a probability, optionally with p_b, or of votes; or of each in a list or array.

        A float p or p_b counts as its exact binary value: 0.9 is a little more than "0.9".
        """
        noise, d = Discrete(k, alpha), read_dimension(d)
        evidence = read_evidence(p, p_b, count, n, failure)
        values, epsilon = evidence.values, evidence.failure
        if is_array(p_b):
            p_b = p_b.ravel().tolist()
        if isinstance(values, np.ndarray):
            return queries.answer_array(self._index, noise, values, d, n, epsilon, p_b)
        if is_several(values):
            if n is None:
                return queries.answer_list(self._index, noise, values, d, p_b)
            return queries.answer_counts(self._index, noise, values, n, epsilon, d)
        if n is not None:
            return queries.answer_votes(self._index, noise, Votes(values, n, epsilon), d)
        if p_b is not None:
            return queries.answer_two_classes(self._index, noise, values, p_b, d)
        return queries.answer_probability(self._index, noise, values, d)

    def thresholds(self, *, k: int, alpha: RationalLike, r_max: int | None = None) -> ThresholdsAnswer:
        """τ_0 … τ_{r_max}, or up to saturation."""
        return queries.answer_thresholds(self._index, Discrete(k, alpha), r_max)

    def plan(
        self,
        *,
        k: int,
        alpha: RationalLike,
        r: int | None = None,
        p: RationalLike | None = None,
        n: int | None = None,
        d: int | None = None,
        failure: RationalLike | None = None,
        power: RationalLike | None = None,
    ) -> PlanAnswer:
        """How many votes radius r takes for an input of probability p; or the largest radius n votes can certify."""
        noise, failure = Discrete(k, alpha), DEFAULT_FAILURE if failure is None else failure
        if r is not None and p is not None and n is None and d is None:
            return queries.answer_votes_needed(noise, r, p, failure, DEFAULT_POWER if power is None else power)
        if n is not None and d is not None and r is None and p is None and power is None:
            return queries.answer_reach(self._index, noise, n, d, failure)
        raise InvalidInput("plan", "called with r and p (and power), or with n and d", {"r": r, "p": p, "n": n, "d": d})

    @overload
    def certified(  # type: ignore[overload-overlap]  # text is a sequence too, and means one number
        self,
        family: FamilyLike,
        p: RationalLike,
        *,
        limits: Budget | None = None,
        p_b: RationalLike | None = None,
        top_k: int = 1,
    ) -> CertifiedAnswer: ...
    @overload
    def certified(
        self,
        family: FamilyLike,
        *,
        limits: Budget | None = None,
        count: int,
        n: int,
        failure: RationalLike | None = None,
        top_k: int = 1,
    ) -> CertifiedAnswer: ...
    @overload
    def certified(
        self,
        family: FamilyLike,
        p: Sequence[RationalLike],
        *,
        limits: Budget | None = None,
        p_b: RationalLike | Sequence[RationalLike] | None = None,
        top_k: int = 1,
    ) -> CertifiedListAnswer: ...
    @overload
    def certified(
        self,
        family: FamilyLike,
        *,
        limits: Budget | None = None,
        count: Sequence[int],
        n: int,
        failure: RationalLike | None = None,
        top_k: int = 1,
    ) -> CertifiedListAnswer: ...
    def certified(
        self,
        family: FamilyLike,
        p: Any = None,
        *,
        limits: Budget | None = None,
        p_b: Any = None,
        count: Any = None,
        n: int | None = None,
        failure: RationalLike | None = None,
        top_k: int = 1,
    ) -> CertifiedAnswer | CertifiedListAnswer:
        """The largest budgets of any family, within limits, that a probability or votes certify; or each of a list."""
        noise, evidence = _read_family(family), read_evidence(p, p_b, count, n, failure)
        counts = budget_queries.read_limits(noise, limits)
        if is_array(evidence.values) or is_array(p_b):
            raise InvalidInput("p_b" if is_array(p_b) else evidence.name, "one number or a list", "an array")
        if is_several(evidence.values):
            return budget_queries.answer_certified_list(self._index, noise, counts, evidence, top_k)
        return budget_queries.answer_certified(self._index, noise, counts, evidence, top_k)

    def budget_thresholds(
        self, family: FamilyLike, limits: Budget | None = None, *, q: RationalLike = HALF
    ) -> BudgetThresholdsAnswer:
        """The thresholds ρ⁻¹(q) of all budgets of any family within limits."""
        noise, target = _read_family(family), read_probability(q, "q")
        counts = budget_queries.read_square(noise, limits)
        rows = budget_queries.find_budget_rows(self._index, noise, counts, target)
        return budget_queries.answer_budget_rows(noise, counts, target, rows)

    def budget_plan(
        self,
        family: FamilyLike,
        budget: Budget,
        p: RationalLike,
        *,
        failure: RationalLike | None = None,
        power: RationalLike | None = None,
    ) -> BudgetPlanAnswer:
        """How many votes a budget of any family takes for an input of probability p."""
        failure, power = DEFAULT_FAILURE if failure is None else failure, DEFAULT_POWER if power is None else power
        return budget_queries.answer_budget_plan(_read_family(family), budget, p, failure, power)

    def families(self) -> FamiliesAnswer:
        """Every family of noises: what it models, its parameters, and the kinds of change that its budgets count."""
        return answer_families()

    def compare(
        self, *, alpha: RationalLike, d: int, p: RationalLike | None = None, r_max: int | None = None
    ) -> CompareAnswer:
        """The discrete certificate of bits beside the Gaussian one, for α > 1/2."""
        return queries.answer_comparison(self._index, Discrete(1, alpha), d, p, r_max)

    def tables(self) -> TablesAnswer:
        """What the table has."""
        return queries.answer_tables(self._index, self._name)

    def health(self) -> bool:
        """True, as for a service that is up."""
        return True

    def ready(self) -> bool:
        """True: the table is in memory."""
        return True

    def close(self) -> None:
        """There is nothing to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _read_family(family: FamilyLike) -> Family:
    return family if isinstance(family, Family) else make_family(family)
