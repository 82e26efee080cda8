"""The columns of an index: those of its table, and those that were computed since."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Noise
from ellzero.certificates.exact_thresholds import iter_column_rows
from ellzero.core.errors import StorageFailed
from ellzero.core.schemas import Source
from ellzero.tables.format.rows import ColumnSlice, RowBuffer, end_of
from ellzero.tables.table import Table

_LOG = logging.getLogger(__name__)
# Rows computed on demand that are kept: 25 bytes each, and as much as 80 of them for a column's own objects. A single
# longer column is walked and not kept.
MOST_KEPT_ROWS = 2_000_000
_ROWS_OF_A_COLUMN = 80


class ColumnCache:
    """For each noise the longest rows at hand, from r = 0 on; more are computed when they are needed.

    Computed rows are kept within a bound, and appended to the table ``write_back`` if there is one.
    """

    def __init__(self, columns: Mapping[Noise, ColumnSlice], write_back: Table | None = None) -> None:
        self.stored = dict(columns)
        self._write_back = write_back
        self._kept: OrderedDict[Noise, ColumnSlice] = OrderedDict()
        self._kept_rows = 0
        self._lock = Lock()

    def find(self, noise: Noise) -> tuple[ColumnSlice | None, Source]:
        """The longest rows at hand, and whether they are the table's own."""
        column = self.stored.get(noise)
        kept = self._kept.get(noise) if self._kept else None  # hashing a noise takes its time
        if kept is not None and (column is None or kept.stop > column.stop):
            return kept, Source.COMPUTED
        return column, Source.TABLE

    def compute_column(self, noise: Noise, r_max: int | None) -> ColumnSlice:
        """The rows 0 … r_max, or all of them, computed, and kept if they are few."""
        buffer = RowBuffer()
        for row in iter_column_rows(noise, r_max):
            buffer.add(row)
        column = _slice_of(noise, buffer)
        if len(buffer) <= MOST_KEPT_ROWS:
            self._keep(column)
        return column

    def compute_radii(self, noise: Noise, doubles: NDArray[np.float64], d: int) -> NDArray[np.int64]:
        """The radii ≤ d of sorted probabilities, computed in one pass whose rows are kept if they are few.

        A probability of 1 takes the pass as far as rows go. It goes at least twice as far as the rows in memory, so
        that lookups that each go a little further seldom compute anything.
        """
        radii = np.full(doubles.shape, d, np.int64)
        current, _ = self.find(noise)
        enough = 2 * len(current.rows) if current is not None else 0
        buffer: RowBuffer | None = RowBuffer()
        answered = 0
        for r, row in enumerate(iter_column_rows(noise, d)):
            if buffer is not None:
                buffer.add(row)
                buffer = buffer if len(buffer) <= MOST_KEPT_ROWS else None
            if answered < len(doubles) and row.min_p > doubles[answered]:
                stop = int(doubles.searchsorted(row.min_p, "left"))
                radii[answered:stop] = r - 1
                answered = stop
            if answered == len(doubles) and (buffer is None or len(buffer) >= enough):
                break
        if buffer is not None:
            self._keep(_slice_of(noise, buffer))
        return radii

    def _keep(self, column: ColumnSlice) -> None:
        with self._lock:
            current, _ = self.find(column.noise)
            if current is not None and current.stop >= column.stop:  # another thread was here
                return
            self._forget(column.noise)
            self._kept[column.noise] = column
            self._kept_rows += len(column.rows) + _ROWS_OF_A_COLUMN
            while self._kept_rows > MOST_KEPT_ROWS and len(self._kept) > 1:
                self._forget(next(iter(self._kept)))
            stored = self.stored.get(column.noise)
        if self._write_back is None:
            return
        first = stored.stop if stored is not None else 0
        new = ColumnSlice(column.noise, first, column.rows.between(first, len(column.rows)), column.end)
        try:
            self._write_back.append([new])
        except StorageFailed as error:  # the answer is right all the same
            _LOG.warning("rows of %s were not written back: %s", column.noise, error)
            return
        with self._lock:  # now they are the table's, unless longer ones are, or have been computed, meanwhile
            stored, kept = self.stored.get(column.noise), self._kept.get(column.noise)
            if stored is None or stored.stop < column.stop:
                self.stored[column.noise] = column
            if kept is not None and kept.stop <= column.stop:
                self._forget(column.noise)

    def _forget(self, noise: Noise) -> None:
        kept = self._kept.pop(noise, None)
        if kept is not None:
            self._kept_rows -= len(kept.rows) + _ROWS_OF_A_COLUMN


def _slice_of(noise: Noise, buffer: RowBuffer) -> ColumnSlice:
    """The rows of a buffer, from r = 0 on."""
    rows = buffer.rows()
    return ColumnSlice(noise, 0, rows, end_of(noise, rows.scaled_ceiling(len(rows) - 1)))
