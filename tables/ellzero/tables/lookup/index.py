"""Lookups: certified radii from a table in memory; rows that it lacks are computed.

A lookup always returns the radius that exact arithmetic gives, and says whether anything had to be computed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import nextafter
from os import PathLike, fspath
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete, Family, Votes, certified, certified_from_votes, radius as computed_radius
from ellzero.certificates.binomial_tails import ThresholdProbability
from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.certified_budgets import MAX_TOP_K, find_budgets
from ellzero.certificates.exact_thresholds import compute_at, compute_many, radius_bound
from ellzero.certificates.families.base import Counts
from ellzero.certificates.radii import guess_one_class_p, two_class_near
from ellzero.certificates.rounding import CeilingQuery, ExceedsQuery, Row, RowQuery
from ellzero.certificates.votes import guess_lower_bound, least_count, prove_radius
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_dimension, read_integer, read_probability
from ellzero.core.schemas import Source, combine_sources
from ellzero.tables.format.rows import DIGITS, SCALE, ColumnSlice, End
from ellzero.tables.lookup.batch_lookup import radii_of_counts, radii_of_doubles
from ellzero.tables.lookup.budget_cache import BudgetCache
from ellzero.tables.lookup.budget_evidence import read_budget_evidence
from ellzero.tables.lookup.column_cache import ColumnCache
from ellzero.tables.lookup.results import (
    BudgetRow,
    BudgetRows,
    BudgetsExtent,
    CertifiedResult,
    ColumnResult,
    RadiiResult,
    RadiusResult,
)
from ellzero.tables.table import Extent, Table

_CEILING = CeilingQuery(DIGITS)


class ThresholdIndex:
    """A table in memory: for each column its rows from 0 on as sorted arrays."""

    def __init__(
        self,
        columns: Mapping[Discrete, ColumnSlice],
        write_back: Table | None = None,
        budgets: Iterable[ColumnSlice] = (),
    ) -> None:
        self._columns = ColumnCache(columns, write_back)
        self._budgets = BudgetCache(budgets, write_back)

    @classmethod
    def open(cls, table: Table | str | PathLike[str], write_back: bool = False) -> "ThresholdIndex":
        """Load a table, checking every byte. With ``write_back``, rows that had to be computed are added to it."""
        table = table if isinstance(table, Table) else Table.open(fspath(table))
        first = {key: runs[0] for key, runs in table.columns().items() if runs[0].first == 0}
        columns = {key: column for key, column in first.items() if isinstance(key, Discrete)}
        budgets = [column for key, column in first.items() if not isinstance(key, Discrete)]
        return cls(columns, table if write_back else None, budgets)

    @property
    def noises(self) -> list[Discrete]:
        """The discrete noises that the table has."""
        return list(self._columns.table_columns)

    def extents(self) -> dict[Discrete, Extent]:
        """How far each column of the discrete noise extends."""
        return {noise: Extent(len(column.rows), column.end) for noise, column in self._columns.table_columns.items()}

    def budget_extents(self) -> list[BudgetsExtent]:
        """How many budgets of each family the table has."""
        return self._budgets.extents()

    def find(self, noise: Discrete, p: Fraction, d: int) -> RadiusResult | None:
        """The `radius` of p if the rows in memory decide it, otherwise None. Takes a few microseconds."""
        if 2 * p.numerator <= p.denominator:  # no row is needed
            return RadiusResult(None, Source.TABLE, None, SCALE // 2)
        if p.numerator == p.denominator:
            return RadiusResult(d, Source.TABLE, None, None)
        column, source = self._columns.find(noise)
        if column is None:
            return None
        if column.end is End.FLAT:
            return RadiusResult(d, source, SCALE // 2, None)
        position = _locate(column, p, d)
        if position is None or position.ties:
            return None
        radius = position.below - 1
        return RadiusResult(
            radius,
            source,
            column.rows.scaled_ceiling(radius),
            self._scaled_ceiling(column, noise, radius + 1) if radius < d else None,
        )

    def covers(self, noise: Discrete, p: Fraction, d: int) -> bool:
        """Whether the rows in memory extend as far as p needs; for a p beyond 1 − 10^-20 they never do."""
        if 2 * p <= 1 or p == 1:
            return True
        column, _ = self._columns.find(noise)
        return column is not None and (column.end is End.FLAT or _locate(column, p, d) is not None)

    def is_whole(self, noise: Discrete, r_max: int | None = None) -> bool:
        """Whether the rows in memory extend to r_max, or to the end of the column."""
        return _reaches(self._columns.find(noise)[0], r_max)

    def extend(self, noise: Discrete, p: Fraction, d: int) -> None:
        """Compute the rows that p needs (see `covers`); the whole column, if no row decides p."""
        self._columns.compute_radii(noise, np.array([nextafter(float(p), 1.0)]), d)

    def extend_to(self, noise: Discrete, r_max: int | None = None) -> None:
        """Compute the rows up to r_max, or the whole column (see `is_whole`)."""
        self._columns.compute_column(noise, r_max)

    def _with_thresholds(self, noise: Discrete, radius: int | None, source: Source, d: int) -> RadiusResult:
        """The result with the thresholds of the radius and of the next, from the rows in memory if they suffice."""
        if radius is None:
            return RadiusResult(None, source, None, SCALE // 2)
        column, _ = self._columns.find(noise)
        return RadiusResult(
            radius,
            source,
            self._scaled_ceiling(column, noise, radius),
            self._scaled_ceiling(column, noise, radius + 1) if radius < d else None,
        )

    @staticmethod
    def _scaled_ceiling(column: ColumnSlice | None, noise: Discrete, r: int) -> int:
        if column is not None:
            if r < column.stop:
                return column.rows.scaled_ceiling(r)
            if column.end is not End.CUT:  # all further ones are the same
                return column.last_scaled_ceiling
        return compute_at(noise, r, _CEILING).units

    @overload
    def radius(self, p: NDArray[Any], noise: Discrete, d: int) -> RadiiResult: ...
    @overload
    def radius(self, p: Votes, noise: Discrete, d: int) -> RadiusResult: ...
    @overload
    def radius(self, p: RationalLike, noise: Discrete, d: int, p_b: RationalLike | None = None) -> RadiusResult: ...
    def radius(
        self, p: RationalLike | Votes | NDArray[Any], noise: Discrete, d: int, p_b: RationalLike | None = None
    ) -> RadiusResult | RadiiResult:
        """The largest r ≤ d with p > τ_r, for a probability, for votes, or for each of an array of probabilities.

        A float counts as its exact value and is decided by min_p; decimals, fractions and text are decided exactly.
        With ``p_b``, an upper bound on the probability of every other class, a single p is decided by the two-class
        rule, as in `ellzero.certificates.radius`.
        """
        d = read_dimension(d)
        if p_b is not None:
            if isinstance(p, Votes | np.ndarray):
                raise InvalidInput("p_b", "given only with a single probability p", p_b)
            return self._two_class_radius(read_probability(p, "p"), read_probability(p_b, "p_b"), noise, d)
        if isinstance(p, Votes):
            likely, source, _, _ = self._radius_of_double(guess_lower_bound(p), noise, d)
            radius = prove_radius(noise, p, d, likely, self._threshold_probabilities(noise))
            return self._with_thresholds(noise, radius, source, d)
        if isinstance(p, np.ndarray):
            return radii_of_doubles(self._columns, p, noise, d)
        if isinstance(p, float | np.float32 | np.float16):
            if not 0 <= p <= 1:
                raise InvalidInput("p", "a number from 0 to 1", p)
            return self._radius_of_double(float(p), noise, d)
        return self._radius_of_rational(read_probability(p, "p"), noise, d)

    def radii_of_counts(
        self, counts: NDArray[Any], n: int, failure: RationalLike, noise: Discrete, d: int
    ) -> RadiiResult:
        """The largest r ≤ d that each count of n votes certifies at failure probability ε, as `radius` of `Votes`.

        Costs one certificate per distinct count, or one least count k*_r per radius, whichever are fewer.
        """
        d, checked = read_dimension(d), Votes(0, n, failure)

        def certify(count: int) -> RadiusResult:
            return self.radius(Votes(count, checked.n, checked.failure), noise, d)

        def least(r: int) -> int | None:
            return least_count(self._threshold_probabilities(noise)(r), checked.n, checked.failure)

        return radii_of_counts(counts, checked.n, certify, least)

    def thresholds(self, noise: Discrete, r_max: int | None = None) -> ColumnResult:
        """τ_0 … τ_{r_max}, or up to saturation; a flat noise has one row."""
        end = None if r_max is None else read_integer(r_max, "r_max", 0)
        column, source = self._columns.find(noise)
        if column is None or not _reaches(column, end):
            return ColumnResult(self._columns.compute_column(noise, end), Source.COMPUTED)
        return ColumnResult(_cut(column, column.stop if end is None else min(column.stop, end + 1)), source)

    def budget_rows(self, family: Family, budgets: Iterable[Counts], q: Fraction = HALF) -> BudgetRows:
        """The thresholds ρ⁻¹(q) of budgets of any family. Walk budgets in their order: each takes a step then."""
        wanted = list(budgets)
        if isinstance(family, Discrete) and q == HALF:
            rows, source = self._rows_of_radii(family, [r for (r,) in wanted])
        else:
            known = self._budgets.rows_of(family, q)
            rows, source = [known.row(counts) for counts in wanted], known.source
            self._budgets.write_back(known)
        return BudgetRows(
            [
                BudgetRow(counts, row.ceiling.units, row.ceiling.exact, row.min_p)
                for counts, row in zip(wanted, rows, strict=True)
            ],
            source,
        )

    def certified(
        self,
        family: Family,
        p: RationalLike | Votes,
        limits: Counts,
        *,
        p_b: RationalLike | None = None,
        top_k: int = 1,
    ) -> CertifiedResult:
        """The largest budgets within the limits that a probability or votes certify: `certificates.certified`.

        Rows of the table decide a double by min_p, other numbers and votes by the threshold; the few that they cannot
        decide take exact arithmetic, and so does p_b. ``top_k`` = k takes rows at q = 1/(k+1).
        """
        k = read_integer(top_k, "top_k", 1, MAX_TOP_K)
        if isinstance(p, Votes) and p_b is not None:
            raise InvalidInput("p_b", "given only with a single probability p", p_b)
        if isinstance(family, Discrete) and k == 1 and limits != (0,):
            if isinstance(p, Votes):
                result = self.radius(p, family, limits[0])
            else:
                result = self.radius(p, family, limits[0], p_b)
            return CertifiedResult(result.radius, result.source)
        most, no_row = family.write_budget(limits), isinstance(family, Discrete) and k == 1
        if isinstance(p, Votes):
            if no_row:
                return CertifiedResult(certified_from_votes(family, p, most), Source.TABLE)
        else:
            no_row |= read_probability(p, "p") == 1  # which ρ(1) alone decides
            if no_row or p_b is not None:
                budgets = certified(family, p, most, p_b=p_b, top_k=k)
                return CertifiedResult(budgets, Source.TABLE if no_row else Source.COMPUTED)
        known, evidence = self._budgets.rows_of(family, Fraction(1, k + 1)), read_budget_evidence(p)

        def certifies(counts: Counts) -> bool:
            decision = evidence.decide(known.row(counts))
            if decision is None:
                known.source = Source.COMPUTED
                return evidence.exceeds(family, counts, known.q, known.products)
            return decision

        largest = find_budgets(family, limits, certifies)
        self._budgets.write_back(known)
        return CertifiedResult(largest, known.source)

    def _rows_of_radii(self, noise: Discrete, radii: list[int]) -> tuple[list[Row], Source]:
        """The rows of these radii, computed where the column in memory does not reach."""
        column, source = self._columns.find(noise)
        beyond = [r for r in radii if not _reaches(column, r)]
        computed = compute_many(noise, beyond, RowQuery(DIGITS))
        rows = [
            column.row(min(r, column.stop - 1)) if column is not None and r not in computed else computed[r]
            for r in radii
        ]
        return rows, Source.COMPUTED if computed else source

    def _two_class_radius(self, p: Fraction, p_b: Fraction, noise: Discrete, d: int) -> RadiusResult:
        """The two-class radius: at least that of p alone, at most that of 1 − p_b, and searched between them."""
        p_b = min(p_b, 1 - p)
        if p <= p_b or p_b == 0 or noise.is_flat:  # no row is needed
            return RadiusResult(None if p <= p_b else d, Source.TABLE)
        likely = self._radius_of_rational(guess_one_class_p(p, p_b), noise, d)
        alone = self._radius_of_rational(p, noise, d)
        if self.covers(noise, 1 - p_b, d):
            most = self._radius_of_rational(1 - p_b, noise, d)
        else:  # a bound will do, and takes no computed rows
            most = RadiusResult(min(d, radius_bound(noise, p_b)), Source.COMPUTED)
        low, high = max(alone.number, 0), most.number
        if low == high:
            return RadiusResult(low, combine_sources((alone.source, most.source)))
        return RadiusResult(two_class_near(noise, p, p_b, likely.number, low, high), Source.COMPUTED)

    def _radius_of_double(self, p: float, noise: Discrete, d: int) -> RadiusResult:
        if p <= 0.5 or p == 1.0:  # no row is needed
            return RadiusResult(None if p <= 0.5 else d, Source.TABLE)
        column, source = self._columns.find(noise)
        if column is not None:
            certified = int(column.rows.min_p.searchsorted(p, "right"))
            if certified < len(column.rows):
                return RadiusResult(min(certified - 1, d), source)
            if column.end is not End.CUT or d < column.stop:
                return RadiusResult(d, source)
        return RadiusResult(int(self._columns.compute_radii(noise, np.array([p]), d)[0]), Source.COMPUTED)

    def _radius_of_rational(self, p: Fraction, noise: Discrete, d: int) -> RadiusResult:
        result = self.find(noise, p, d)
        if result is not None:
            return result
        if not self.covers(noise, p, d) and not self.is_whole(noise):
            self.extend(noise, p, d)
        column, _ = self._columns.find(noise)
        position = None if column is None else _locate(column, p, d)
        if position is None:  # too long to keep, or p too close to 1 for rows
            return self._with_thresholds(noise, computed_radius(noise, p, d), Source.COMPUTED, d)
        certified, end = position.below, position.below + position.ties
        exceeds = ExceedsQuery(p)
        while certified < end and compute_at(noise, certified, exceeds):
            certified += 1
        return self._with_thresholds(noise, certified - 1, Source.COMPUTED, d)

    def _threshold_probabilities(self, noise: Discrete) -> Callable[[int], ThresholdProbability]:
        """τ_r as a success probability, for any r: an interval from its row, and its exact value if that is not enough.

        A row says that τ_r is its decimal, or lies less than 10^-20 below it. That is nearly always enough, and saves
        the r steps of exact arithmetic.
        """
        column, _ = self._columns.find(noise)

        def probability(r: int) -> ThresholdProbability:
            if column is None or r >= column.stop:
                return ThresholdProbability(noise, r)
            ceiling = column.rows.scaled_ceiling(r)
            width = 0 if column.rows.exact[r] else 1
            return ThresholdProbability(noise, r, (Fraction(ceiling - width, SCALE), Fraction(ceiling, SCALE)))

        return probability


class _Position(NamedTuple):
    """p exceeds the thresholds of the first ``below`` rows. Only exact arithmetic can decide the next ``ties``."""

    below: int
    ties: int


def _locate(column: ColumnSlice, p: Fraction, d: int) -> _Position | None:
    """The position of p, 1/2 < p < 1, among the rows r ≤ d of a column that is not flat; None if p may exceed them."""
    floor, rest = divmod(p.numerator * SCALE, p.denominator)
    ceiling = floor + (rest > 0)
    rows, stop = column.rows, min(column.stop, d + 1)
    # The last threshold lies less than 10^-20 below its decimal.
    if d >= column.stop and ceiling >= column.last_scaled_ceiling:
        return None
    # p exceeds the rows below its ceiling: all whose min_p is at most the double below p, which lies far more than
    # 10^-20 under p, and hardly ever any more.
    below = min(int(rows.min_p.searchsorted(nextafter(float(p), 0.0), "right")), stop)
    if below < stop and rows.scaled_ceiling(below) < ceiling:
        below = bisect_left(range(stop), ceiling, below + 1, key=rows.scaled_ceiling)
    if below == stop or rows.scaled_ceiling(below) > ceiling:
        return _Position(below, 0)
    # Of the rows equal to the ceiling the inexact ones come first, since τ never decreases. Their τ lies less than
    # 10^-20 below, so p exceeds it if p is that decimal; otherwise only exact arithmetic can decide.
    equal = bisect_right(range(stop), ceiling, below, key=rows.scaled_ceiling)
    close = int(np.count_nonzero(~rows.exact[below:equal]))
    return _Position(below, close) if rest else _Position(below + close, 0)


def _reaches(column: ColumnSlice | None, r_max: int | None) -> bool:
    return column is not None and (column.end is not End.CUT or (r_max is not None and r_max < column.stop))


def _cut(column: ColumnSlice, stop: int) -> ColumnSlice:
    if stop == column.stop:
        return column
    return ColumnSlice(column.key, column.first, column.rows.between(0, stop - column.first), End.CUT)
