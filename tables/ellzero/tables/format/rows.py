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
from ellzero.certificates.rounding import Row
from ellzero.core.numbers import scaled_decimal
from ellzero.tables.errors import Contradiction

DIGITS = 20
SCALE = 10**DIGITS
"""Thresholds are stored as scaled ceilings: the integers ⌈τ_r·SCALE⌉."""
_WORD = 1 << 64


class End(StrEnum):
    """Why the rows of a column end where they do."""

    COMPLETE = "complete"  # the last threshold rounds up to 1, and so do all further ones
    FLAT = "flat"  # α = β: one row, τ_r = 1/2 for every r
    CUT = "cut"  # further rows exist and were not computed


class Rows(NamedTuple):
    """Consecutive rows: ⌈τ_r·10^20⌉ as 128-bit integers in two words (low, high), ``exact`` and ``min_p``."""

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
        """⌈τ_r·10^20⌉ as an integer."""
        return self.units.item(at, 1) * _WORD + self.units.item(at, 0)

    def same_as(self, other: "Rows") -> bool:
        """Whether all values are equal."""
        return all(bool(np.array_equal(mine, theirs)) for mine, theirs in zip(self, other, strict=True))


@dataclass(frozen=True)
class ColumnSlice:
    """The rows r = first, first+1, … of one noise, and why they end."""

    noise: Discrete
    first: int
    rows: Rows
    end: End

    @cached_property
    def stop(self) -> int:
        """The radius after the last."""
        return self.first + len(self.rows)

    @cached_property
    def last_scaled_ceiling(self) -> int:
        """⌈τ_r·10^20⌉ of the last row."""
        return self.rows.scaled_ceiling(len(self.rows) - 1)

    def threshold(self, r: int) -> Threshold:
        """The row of radius r."""
        at = r - self.first
        value = scaled_decimal(self.rows.scaled_ceiling(at), DIGITS)
        return Threshold(self.noise, r, value, bool(self.rows.exact[at]), float(self.rows.min_p[at]))


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


def end_of(noise: Discrete, last_scaled_ceiling: int) -> End:
    """Why a column ends at a row with this scaled ceiling."""
    if noise.is_flat:
        return End.FLAT
    return End.COMPLETE if last_scaled_ceiling == SCALE else End.CUT


def group_by_noise(slices: Iterable[ColumnSlice]) -> dict[Discrete, list[ColumnSlice]]:
    """The slices of each noise, in the order in which they come."""
    by_noise: dict[Discrete, list[ColumnSlice]] = defaultdict(list)
    for piece in slices:
        by_noise[piece.noise].append(piece)
    return by_noise


def merge_slices(slices: Iterable[ColumnSlice]) -> list[ColumnSlice]:
    """Merge slices of one noise into disjoint runs in order of r; rows that occur twice must be the same."""
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
            run.append(ColumnSlice(piece.noise, run[-1].stop, piece.rows.between(start, len(piece.rows)), piece.end))
    return [_join(run) for run in runs]


def _join(run: list[ColumnSlice]) -> ColumnSlice:
    if len(run) == 1:
        return run[0]
    rows = Rows(*(np.concatenate(arrays) for arrays in zip(*(piece.rows for piece in run), strict=True)))
    return ColumnSlice(run[0].noise, run[0].first, rows, run[-1].end)


def _check_overlap(one: ColumnSlice, other: ColumnSlice) -> None:
    start, stop = max(one.first, other.first), min(one.stop, other.stop)
    if start < stop:
        mine = one.rows.between(start - one.first, stop - one.first)
        if not mine.same_as(other.rows.between(start - other.first, stop - other.first)):
            raise Contradiction(f"K = {one.noise.k}, α = {one.noise.alpha}, r from {start} to {stop - 1}")
