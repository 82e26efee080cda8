"""Lookups: certified radii from a table in memory, and from the engine wherever the table is short.

A lookup never gives another radius than exact arithmetic does: where the table has no row, the engine goes on, and
the answer says so.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import nextafter
from os import PathLike, fspath
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Noise, Votes, radius as computed_radius
from ellzero.certificates.exact_thresholds import answer_at, radius_bound
from ellzero.certificates.radii import likely_one_class_p, two_class_near
from ellzero.certificates.rounding import CeilingQuery, ExceedsQuery
from ellzero.certificates.votes import least_count, likely_lower_bound, proved_radius
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_dimension, read_integer, read_probability
from ellzero.tables.format.rows import DIGITS, ColumnSlice, End
from ellzero.tables.lookup.batch_lookup import radii_of_counts, radii_of_doubles
from ellzero.tables.lookup.chances import threshold_probabilities
from ellzero.tables.lookup.column_cache import ColumnCache, Source
from ellzero.tables.lookup.position import place
from ellzero.tables.lookup.results import ColumnResult, LocatedRadius, RadiiResult, RadiusResult, of_all
from ellzero.tables.table import Extent, Table

_UNIT = 10**DIGITS
_CEILING = CeilingQuery(DIGITS)


class ThresholdIndex:
    """A table in memory: for each noise its rows from r = 0 on as sorted arrays."""

    def __init__(self, columns: Mapping[Noise, ColumnSlice], write_back: Table | None = None) -> None:
        self._known = ColumnCache(columns, write_back)

    @classmethod
    def open(cls, table: Table | str | PathLike[str], write_back: bool = False) -> "ThresholdIndex":
        """Load a table, checked to the byte. With ``write_back`` rows that had to be computed are added to it."""
        table = table if isinstance(table, Table) else Table.open(fspath(table))
        columns = {noise: runs[0] for noise, runs in table.columns().items() if runs[0].first == 0}
        return cls(columns, table if write_back else None)

    @property
    def noises(self) -> list[Noise]:
        """The noises that the table has."""
        return list(self._known.stored)

    def extents(self) -> dict[Noise, Extent]:
        """How far each column of the table goes."""
        return {noise: Extent(len(part.rows), part.end) for noise, part in self._known.stored.items()}

    def find(self, noise: Noise, p: Fraction, d: int) -> LocatedRadius | None:
        """The `radius` of p if the rows at hand decide it, None if the engine is needed. A few microseconds."""
        if 2 * p.numerator <= p.denominator:  # no row is needed
            return LocatedRadius(None, Source.TABLE, None, _UNIT // 2)
        if p.numerator == p.denominator:
            return LocatedRadius(d, Source.TABLE, None, None)
        part, source = self._known.find(noise)
        if part is None:
            return None
        if part.end is End.FLAT:
            return LocatedRadius(d, source, _UNIT // 2, None)
        where = place(part, p, d)
        if where is None or where.ties:
            return None
        radius = where.passed - 1
        return LocatedRadius(
            radius, source, part.rows.unit(radius), self._unit(part, noise, radius + 1) if radius < d else None
        )

    def at_hand(self, noise: Noise, p: Fraction, d: int) -> bool:
        """Whether the rows at hand go as far as p needs: beyond 1 − 10^-20 none do."""
        if 2 * p <= 1 or p == 1:
            return True
        part, _ = self._known.find(noise)
        return part is not None and (part.end is End.FLAT or place(part, p, d) is not None)

    def is_whole(self, noise: Noise, r_max: int | None = None) -> bool:
        """Whether the rows at hand go to r_max, or as far as rows go."""
        return _goes_to(self._known.find(noise)[0], r_max)

    def extend(self, noise: Noise, p: Fraction, d: int) -> None:
        """Have the rows computed that make p `at_hand`; all of them, if they cannot."""
        self._known.walk(noise, np.array([nextafter(float(p), 1.0)]), d)

    def extend_to(self, noise: Noise, r_max: int | None = None) -> None:
        """Have the rows computed that make the column `is_whole` up to r_max."""
        self._known.column(noise, r_max)

    def locate(self, noise: Noise, found: RadiusResult, d: int) -> LocatedRadius:
        """A radius that was found, with the thresholds of it and of the next, from the rows at hand if they suffice."""
        part, _ = self._known.find(noise)
        radius, source = found
        if radius is None:
            return LocatedRadius(None, source, None, _UNIT // 2)
        return LocatedRadius(
            radius,
            source,
            self._unit(part, noise, radius),
            self._unit(part, noise, radius + 1) if radius < d else None,
        )

    @staticmethod
    def _unit(part: ColumnSlice | None, noise: Noise, r: int) -> int:
        if part is not None:
            if r < part.stop:
                return part.rows.unit(r)
            if part.end is not End.CUT:  # all further ones are the same
                return part.last_unit
        return answer_at(noise, r, _CEILING).units

    @overload
    def radius(self, p: NDArray[Any], noise: Noise, d: int) -> RadiiResult: ...
    @overload
    def radius(self, p: Votes, noise: Noise, d: int) -> RadiusResult: ...
    @overload
    def radius(self, p: RationalLike, noise: Noise, d: int, p_b: RationalLike | None = None) -> RadiusResult: ...
    def radius(
        self, p: RationalLike | Votes | NDArray[Any], noise: Noise, d: int, p_b: RationalLike | None = None
    ) -> RadiusResult | RadiiResult:
        """The largest r ≤ d with p > τ_r, for a probability, for votes, or for each of an array of probabilities.

        A float counts as its exact value and is decided by min_p; decimals, fractions and text are decided exactly.
        With ``p_b``, an upper bound of the probability of every other class, a single p is decided by the two-class
        rule, as by `ellzero.certificates.radius`.
        """
        d = read_dimension(d)
        if p_b is not None:
            if isinstance(p, Votes | np.ndarray):
                raise InvalidInput("p_b", "given only with a single probability p", p_b)
            return self._of_two(read_probability(p, "p"), read_probability(p_b, "p_b"), noise, d)
        if isinstance(p, Votes):
            likely, source = self._of_double(likely_lower_bound(p), noise, d)
            return RadiusResult(
                proved_radius(noise, p, d, likely, threshold_probabilities(noise, self._known.find(noise)[0])), source
            )
        if isinstance(p, np.ndarray):
            return radii_of_doubles(self._known, p, noise, d)
        if isinstance(p, float | np.float32 | np.float16):
            if not 0 <= p <= 1:
                raise InvalidInput("p", "a number from 0 to 1", p)
            return self._of_double(float(p), noise, d)
        return self._of_rational(read_probability(p, "p"), noise, d)

    def radii_of_counts(self, counts: NDArray[Any], n: int, failure: RationalLike, noise: Noise, d: int) -> RadiiResult:
        """The largest r ≤ d that each count of n votes certifies at failure probability ε, as for single votes.

        Costs a certificate a distinct count, or a least count k*_r a radius, whichever are fewer.
        """
        d, none = read_dimension(d), Votes(0, n, failure)

        def certified(count: int) -> RadiusResult:
            return self.radius(Votes(count, none.n, none.failure), noise, d)

        def needed(r: int) -> int | None:
            return least_count(threshold_probabilities(noise, self._known.find(noise)[0])(r), none.n, none.failure)

        return radii_of_counts(counts, none.n, certified, needed)

    def thresholds(self, noise: Noise, r_max: int | None = None) -> ColumnResult:
        """τ_0 … τ_{r_max}, or up to saturation; a flat noise has one row."""
        end = None if r_max is None else read_integer(r_max, "r_max", 0)
        part, source = self._known.find(noise)
        if part is None or not _goes_to(part, end):
            return ColumnResult(self._known.column(noise, end), Source.COMPUTED)
        return ColumnResult(_beginning(part, part.stop if end is None else min(part.stop, end + 1)), source)

    def _of_two(self, p: Fraction, p_b: Fraction, noise: Noise, d: int) -> RadiusResult:
        """The two-class radius: at least that of p alone, at most that of 1 − p_b, and searched between them."""
        p_b = min(p_b, 1 - p)
        if p <= p_b or p_b == 0 or noise.is_flat:  # no row is needed
            return RadiusResult(None if p <= p_b else d, Source.TABLE)
        likely = self._of_rational(likely_one_class_p(p, p_b), noise, d)
        alone = self._of_rational(p, noise, d)
        if self.at_hand(noise, 1 - p_b, d):
            most = self._of_rational(1 - p_b, noise, d)
        else:  # a bound will do, and needs no walk
            most = RadiusResult(min(d, radius_bound(noise, p_b)), Source.COMPUTED)
        low, high = max(alone.number, 0), most.number
        if low == high:
            return RadiusResult(low, of_all(alone.source, most.source))
        return RadiusResult(two_class_near(noise, p, p_b, likely.number, low, high), Source.COMPUTED)

    def _of_double(self, p: float, noise: Noise, d: int) -> RadiusResult:
        if p <= 0.5 or p == 1.0:  # no row is needed
            return RadiusResult(None if p <= 0.5 else d, Source.TABLE)
        part, source = self._known.find(noise)
        if part is not None:
            certified = int(part.rows.min_p.searchsorted(p, "right"))
            if certified < len(part.rows):
                return RadiusResult(min(certified - 1, d), source)
            if part.end is not End.CUT or d < part.stop:
                return RadiusResult(d, source)
        return RadiusResult(int(self._known.walk(noise, np.array([p]), d)[0]), Source.COMPUTED)

    def _of_rational(self, p: Fraction, noise: Noise, d: int) -> RadiusResult:
        located = self.find(noise, p, d)
        if located is not None:
            return RadiusResult(located.radius, located.source)
        if not self.at_hand(noise, p, d) and not self.is_whole(noise):
            self.extend(noise, p, d)
        part, _ = self._known.find(noise)
        where = None if part is None else place(part, p, d)
        if where is None:  # too long to keep, or p too close to 1 for rows
            return RadiusResult(computed_radius(noise, p, d), Source.COMPUTED)
        certified, end = where.passed, where.passed + where.ties
        exceeds = ExceedsQuery(p)
        while certified < end and answer_at(noise, certified, exceeds):
            certified += 1
        return RadiusResult(certified - 1, Source.COMPUTED)


def _goes_to(part: ColumnSlice | None, r_max: int | None) -> bool:
    return part is not None and (part.end is not End.CUT or (r_max is not None and r_max < part.stop))


def _beginning(part: ColumnSlice, stop: int) -> ColumnSlice:
    if stop == part.stop:
        return part
    return ColumnSlice(part.noise, part.first, part.rows.between(0, stop - part.first), End.CUT)
