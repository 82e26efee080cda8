"""Lookups: certified radii from a table in memory, and from the engine wherever the table is short.

A lookup never gives another radius than exact arithmetic does: where the table has no row, the engine goes on, and
the answer says so.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import nextafter
from os import PathLike, fspath
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import InvalidInput, Noise, Votes, radius as computed_radius
from ellzero.certificates._inputs import RationalLike, dimension, integer, probability
from ellzero.certificates.decision import likely_one_class_p, two_class_near
from ellzero.certificates.engine import answer_at, column_answers, radius_bound
from ellzero.certificates.rounding import CeilingQuestion, ExceedsQuestion
from ellzero.certificates.votes import least_count, likely_lower_bound, proved_radius
from ellzero.tables.chances import row_chances
from ellzero.tables.known import KnownColumns, Source, part_of
from ellzero.tables.lookup import place
from ellzero.tables.rows import DIGITS, End, Part, RowBuffer
from ellzero.tables.table import Extent, Table

ABSTAIN = -1
_CEILING = CeilingQuestion(DIGITS)
_P_ARRAY = "an array of float64, float32 or float16 from 0 to 1"
_COUNT_ARRAY = "an array of integers from 0 to n"


class Found(NamedTuple):
    """A certified radius, None to abstain."""

    radius: int | None
    source: Source


class FoundMany(NamedTuple):
    """Certified radii in the shape of what was asked, −1 to abstain; computed if the engine was needed for any."""

    radii: NDArray[np.int32]
    source: Source


class FoundColumn(NamedTuple):
    """The rows 0, 1, … of a noise."""

    part: Part
    source: Source


class ThresholdIndex:
    """A table in memory: for each noise its rows from r = 0 on as sorted arrays."""

    def __init__(self, columns: Mapping[Noise, Part], write_back: Table | None = None) -> None:
        self._known = KnownColumns(columns, write_back)

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

    def find(self, noise: Noise, p: Fraction, d: int) -> Found | None:
        """The `radius` of p if the rows at hand decide it, None if the engine is needed. A few microseconds."""
        if 2 * p.numerator <= p.denominator or p == 1:  # no row is needed
            return Found(None if p != 1 else d, Source.TABLE)
        part, source = self._known.find(noise)
        if part is None:
            return None
        if part.end is End.FLAT:
            return Found(d, source)
        where = place(part, p, d)
        return None if where is None or where.ties else Found(where.passed - 1, source)

    def at_hand(self, noise: Noise, p: Fraction, d: int) -> bool:
        """Whether the rows at hand go as far as p needs."""
        if 2 * p <= 1 or p == 1:
            return True
        part, _ = self._known.find(noise)
        return part is not None and (part.end is End.FLAT or place(part, p, d) is not None)

    def extend(self, noise: Noise, p: Fraction, d: int) -> None:
        """Have the rows computed that make p `at_hand`, as far as doubles go: 1 − p ≥ 2^-53."""
        above = nextafter(float(p), 1.0)
        if above < 1.0:
            self._known.walk(noise, np.array([above]), d)

    def around(self, noise: Noise, radius: int | None, d: int) -> tuple[int | None, int | None]:
        """⌈τ·10^20⌉ of a radius and of the next one (None after d), from the rows at hand if they go that far."""
        part, _ = self._known.find(noise)

        def unit(r: int) -> int:
            if part is not None and r >= part.stop and part.end is not End.CUT:
                r = part.stop - 1  # all further ones are the same
            if part is not None and r < part.stop:
                return part.rows.unit(r)
            return answer_at(noise, r, _CEILING).units

        if radius is None:
            return None, unit(0)
        return unit(radius), unit(radius + 1) if radius < d else None

    @overload
    def radius(self, p: NDArray[Any], noise: Noise, d: int) -> FoundMany: ...
    @overload
    def radius(self, p: Votes, noise: Noise, d: int) -> Found: ...
    @overload
    def radius(self, p: RationalLike, noise: Noise, d: int, p_b: RationalLike | None = None) -> Found: ...
    def radius(
        self, p: RationalLike | Votes | NDArray[Any], noise: Noise, d: int, p_b: RationalLike | None = None
    ) -> Found | FoundMany:
        """The largest r ≤ d with p > τ_r, for a probability, for votes, or for each of an array of probabilities.

        A float counts as its exact value and is decided by min_p; decimals, fractions and text are decided exactly.
        With ``p_b``, an upper bound of the probability of every other class, a single p is decided by the two-class
        rule, as by `ellzero.certificates.radius`.
        """
        d = dimension(d)
        if p_b is not None:
            if isinstance(p, Votes | np.ndarray):
                raise InvalidInput("p_b", "given only with a single probability p", p_b)
            return self._of_two(probability(p, "p"), probability(p_b, "p_b"), noise, d)
        if isinstance(p, Votes):
            likely, source = self._of_double(likely_lower_bound(p), noise, d)
            return Found(proved_radius(noise, p, d, likely, row_chances(noise, self._known.find(noise)[0])), source)
        if isinstance(p, np.ndarray):
            return self._of_array(p, noise, d)
        if isinstance(p, float | np.float32 | np.float16):
            if not 0 <= p <= 1:
                raise InvalidInput("p", "a number from 0 to 1", p)
            return self._of_double(float(p), noise, d)
        return self._of_rational(probability(p, "p"), noise, d)

    def radii_of_counts(self, counts: NDArray[Any], n: int, failure: RationalLike, noise: Noise, d: int) -> FoundMany:
        """The largest r ≤ d that each count of n votes certifies at failure probability ε, as for single votes.

        Costs a certificate a distinct count, or a least count k*_r a radius, whichever are fewer.
        """
        d = dimension(d)
        if counts.dtype.kind not in "iu":
            raise InvalidInput("counts", _COUNT_ARRAY, counts.dtype)
        none = Votes(0, n, failure)
        if counts.size and not (counts.min() >= 0 and counts.max() <= none.n):
            raise InvalidInput("counts", _COUNT_ARRAY, counts.min() if counts.min() < 0 else counts.max())
        if not counts.size:
            return FoundMany(np.empty(counts.shape, np.int32), Source.TABLE)

        def certified(count: int) -> Found:
            return self.radius(Votes(count, none.n, none.failure), noise, d)

        distinct, places = np.unique(counts.astype(np.int64), return_inverse=True)
        found = [certified(int(distinct[0])), certified(int(distinct[-1]))]
        first, last = map(_number, found)
        if len(distinct) <= last - first:
            found = [certified(count) for count in distinct.tolist()]
            radii = np.array([_number(one) for one in found])
        else:
            # k*_r never falls with r, so a count's radius is the number of least counts that it reaches.
            chance = row_chances(noise, self._known.find(noise)[0])
            needed = [least_count(chance(r), none.n, none.failure) for r in range(first + 1, last + 1)]
            radii = first + np.searchsorted(np.array(needed, np.int64), distinct, "right")
        source = _of_all(*(one.source for one in found))
        return FoundMany(radii.astype(np.int32)[places].reshape(counts.shape), source)

    def thresholds(self, noise: Noise, r_max: int | None = None) -> FoundColumn:
        """τ_0 … τ_{r_max}, or up to saturation; a flat noise has one row."""
        end = None if r_max is None else integer(r_max, "r_max", 0)
        part = self._known.stored.get(noise)
        if part is not None and (part.end is not End.CUT or (end is not None and end < part.stop)):
            stop = part.stop if end is None else min(part.stop, end + 1)
            return FoundColumn(_beginning(part, stop), Source.TABLE)
        buffer = RowBuffer()
        for row in column_answers(noise, r_max):
            buffer.add(row)
        return FoundColumn(part_of(noise, buffer), Source.COMPUTED)

    def _of_two(self, p: Fraction, p_b: Fraction, noise: Noise, d: int) -> Found:
        """The two-class radius: at least that of p alone, at most that of 1 − p_b, and searched between them."""
        p_b = min(p_b, 1 - p)
        if p <= p_b or p_b == 0 or noise.is_flat:  # no row is needed
            return Found(None if p <= p_b else d, Source.TABLE)
        likely = self._of_rational(likely_one_class_p(p, p_b), noise, d)
        alone = self._of_rational(p, noise, d)
        most = self.find(noise, 1 - p_b, d)
        if most is None:  # a bound will do, and needs no walk
            most = Found(min(d, radius_bound(noise, p_b)), Source.COMPUTED)
        low, high = max(_number(alone), 0), _number(most)
        if low == high:
            return Found(low, _of_all(alone.source, most.source))
        return Found(two_class_near(noise, p, p_b, _number(likely), low, high), Source.COMPUTED)

    def _of_double(self, p: float, noise: Noise, d: int) -> Found:
        if p <= 0.5 or p == 1.0:  # no row is needed
            return Found(None if p <= 0.5 else d, Source.TABLE)
        part, source = self._known.find(noise)
        if part is not None:
            certified = int(part.rows.min_p.searchsorted(p, "right"))
            if certified < len(part.rows):
                return Found(min(certified - 1, d), source)
            if part.end is not End.CUT or d < part.stop:
                return Found(d, source)
        return Found(int(self._known.walk(noise, np.array([p]), d)[0]), Source.COMPUTED)

    def _of_array(self, p: NDArray[Any], noise: Noise, d: int) -> FoundMany:
        if p.dtype.kind != "f" or p.dtype.itemsize > 8:
            raise InvalidInput("p", _P_ARRAY, p.dtype)
        if not p.size:
            return FoundMany(np.empty(p.shape, np.int32), Source.TABLE)
        doubles = np.ascontiguousarray(p, np.float64).ravel()
        if not (doubles.min() >= 0 and doubles.max() <= 1):  # false for NaN too
            wrong = doubles[~((doubles >= 0) & (doubles <= 1))][0]
            raise InvalidInput("p", _P_ARRAY, float(wrong))
        part, source = self._known.find(noise)
        if part is None:
            radii, last = np.where(doubles > 0.5, 0, ABSTAIN).astype(np.int32), 0
        else:
            radii, last = part.rows.min_p.searchsorted(doubles, "right").astype(np.int32), len(part.rows) - 1
            radii -= 1
        if radii.max() == last:
            beyond = radii == last
            if part is not None and (part.end is not End.CUT or d < part.stop):
                radii[beyond] = d
            else:
                radii[beyond], computed = self._beyond(doubles[beyond], noise, d)
                source = Source.COMPUTED if computed else source
        if last > d:
            np.minimum(radii, d, out=radii)
        return FoundMany(radii.reshape(p.shape), source)

    def _beyond(self, doubles: NDArray[np.float64], noise: Noise, d: int) -> tuple[NDArray[np.int64], bool]:
        """The radii of probabilities beyond the rows at hand, and whether the engine was needed: not for p = 1."""
        radii = np.full(doubles.shape, d, np.int64)
        below = doubles < 1.0
        needed = bool(below.any())
        if needed:
            distinct, inverse = np.unique(doubles[below], return_inverse=True)
            radii[below] = self._known.walk(noise, distinct, d)[inverse]
        return radii, needed

    def _of_rational(self, p: Fraction, noise: Noise, d: int) -> Found:
        found = self.find(noise, p, d)
        if found is not None:
            return found
        if not self.at_hand(noise, p, d):
            self.extend(noise, p, d)
        part, _ = self._known.find(noise)
        where = None if part is None else place(part, p, d)
        if where is None:  # too long to keep, or p too close to 1 for doubles
            return Found(computed_radius(noise, p, d), Source.COMPUTED)
        certified, end = where.passed, where.passed + where.ties
        exceeds = ExceedsQuestion(p)
        while certified < end and answer_at(noise, certified, exceeds):
            certified += 1
        return Found(certified - 1, Source.COMPUTED)


def _of_all(*sources: Source) -> Source:
    """The source of an answer that came from all of these."""
    return Source.COMPUTED if Source.COMPUTED in sources else Source.TABLE


def _number(found: Found) -> int:
    return ABSTAIN if found.radius is None else found.radius


def _beginning(part: Part, stop: int) -> Part:
    if stop == part.stop:
        return part
    return Part(part.noise, part.first, part.rows.between(0, stop - part.first), End.CUT)
