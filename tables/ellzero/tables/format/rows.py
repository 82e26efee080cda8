"""Rows of thresholds in memory: slices of columns as plain arrays, and how they are merged."""

from array import array
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete, Threshold
from ellzero.certificates.rounding import Ceiling, Row
from ellzero.core.numbers import scaled_decimal
from ellzero.tables.errors import Contradiction
from ellzero.tables.format.keys import ColumnKey, describe_key, row_axis

DIGITS = 20
SCALE = 10**DIGITS
"""Thresholds are stored as scaled ceilings: the integers ⌈τ·SCALE⌉."""
_WORD = 1 << 64


class End(StrEnum):
    """Why the rows of a column end where they do."""

    COMPLETE = "complete"  # the last threshold rounds up to 1, and so do all further ones
    FLAT = "flat"  # noisy inputs tell nothing: one row, which all further ones are the same as
    CUT = "cut"  # further rows exist and were not computed


class Rows(NamedTuple):
    """Consecutive rows: ⌈τ·10^20⌉ as 128-bit integers in two words (low, high), ``exact`` and ``min_p``."""

    units: NDArray[np.uint64]
    exact: NDArray[np.bool_]
    min_p: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.min_p)

    def between(self, start: int, stop: int) -> "Rows":
        """A view of the rows from ``start`` up to ``stop``."""
        return Rows(self.units[start:stop], self.exact[start:stop], self.min_p[start:stop])

    def copy(self) -> "Rows":
        """A copy of the rows: a view would keep the whole arrays in memory."""
        return Rows(self.units.copy(), self.exact.copy(), self.min_p.copy())

    def scaled_ceiling(self, at: int) -> int:
        """⌈τ·10^20⌉ as an integer."""
        return self.units.item(at, 1) * _WORD + self.units.item(at, 0)

    def row(self, at: int) -> Row:
        """One row in numbers of Python."""
        return Row(Ceiling(self.scaled_ceiling(at), self.exact.item(at)), self.min_p.item(at))

    def same_as(self, other: "Rows") -> bool:
        """Whether all values are equal."""
        return all(bool(np.array_equal(mine, theirs)) for mine, theirs in zip(self, other, strict=True))


@dataclass(frozen=True)
class ColumnSlice:
    """The rows first, first+1, … of one column, and why they end."""

    key: ColumnKey
    first: int
    rows: Rows
    end: End

    @property
    def noise(self) -> Discrete:
        """The noise of a column of the discrete noise."""
        if not isinstance(self.key, Discrete):
            raise TypeError(f"a column of budgets: {describe_key(self.key)}")
        return self.key

    @cached_property
    def stop(self) -> int:
        """The count after that of the last row."""
        return self.first + len(self.rows)

    @cached_property
    def last_scaled_ceiling(self) -> int:
        """⌈τ·10^20⌉ of the last row."""
        return self.rows.scaled_ceiling(len(self.rows) - 1)

    def row(self, count: int) -> Row:
        """The row of this count."""
        return self.rows.row(count - self.first)

    def threshold(self, r: int) -> Threshold:
        """The row of radius r of a column of the discrete noise."""
        row = self.row(r)
        return Threshold(self.noise, r, scaled_decimal(row.ceiling.units, DIGITS), row.ceiling.exact, row.min_p)


class RowBuffer:
    """Collects rows as they are computed, a few bytes each."""

    def __init__(self) -> None:
        self._units = bytearray()
        self._exact = bytearray()
        self._min_p = array("d")

    def __len__(self) -> int:
        return len(self._exact)

    def add(self, row: Row) -> None:
        """Append a row."""
        self._units += row.ceiling.units.to_bytes(16, "little")
        self._exact.append(row.ceiling.exact)
        self._min_p.append(row.min_p)

    def rows(self) -> Rows:
        """The rows so far, as arrays that share no memory with the buffer."""
        units = np.frombuffer(bytes(self._units), dtype="<u8").reshape(-1, 2)
        return Rows(units, np.frombuffer(bytes(self._exact), dtype=np.bool_), np.array(self._min_p, dtype=np.float64))


def end_of(key: ColumnKey, last_scaled_ceiling: int) -> End:
    """Why a column ends at a row with this scaled ceiling."""
    if key.is_flat:
        return End.FLAT
    return End.COMPLETE if last_scaled_ceiling == SCALE else End.CUT


def slice_of(key: ColumnKey, first: int, rows: Rows) -> ColumnSlice:
    """Rows that end where they do because of their last."""
    return ColumnSlice(key, first, rows, end_of(key, rows.scaled_ceiling(len(rows) - 1)))


def group_by_key(slices: Iterable[ColumnSlice]) -> dict[ColumnKey, list[ColumnSlice]]:
    """The slices of each column, in the order in which they come."""
    by_key: dict[ColumnKey, list[ColumnSlice]] = defaultdict(list)
    for piece in slices:
        by_key[piece.key].append(piece)
    return by_key


def merge_slices(slices: Iterable[ColumnSlice]) -> list[ColumnSlice]:
    """Merge slices of one column into disjoint runs in order; rows that occur twice must be the same."""
    runs: list[list[ColumnSlice]] = []
    for piece in sorted(slices, key=lambda piece: (piece.first, -len(piece.rows))):
        if not runs or piece.first > runs[-1][-1].stop:
            runs.append([piece])
            continue
        run = runs[-1]
        for other in run:
            _check_overlap(other, piece)
        if piece.stop > run[-1].stop:
            start = run[-1].stop - piece.first
            run.append(ColumnSlice(piece.key, run[-1].stop, piece.rows.between(start, len(piece.rows)), piece.end))
    return [_join(run) for run in runs]


def _join(run: list[ColumnSlice]) -> ColumnSlice:
    if len(run) == 1:
        return run[0]
    rows = Rows(*(np.concatenate(arrays) for arrays in zip(*(piece.rows for piece in run), strict=True)))
    return ColumnSlice(run[0].key, run[0].first, rows, run[-1].end)


def _check_overlap(one: ColumnSlice, other: ColumnSlice) -> None:
    start, stop = max(one.first, other.first), min(one.stop, other.stop)
    if start < stop:
        mine = one.rows.between(start - one.first, stop - one.first)
        if not mine.same_as(other.rows.between(start - other.first, stop - other.first)):
            raise Contradiction(f"{describe_key(one.key)}, {row_axis(one.key)} from {start} to {stop - 1}")
