"""The columns of an index: those of its table, and those computed since it was opened."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete
from ellzero.certificates.exact_thresholds import iter_column_rows
from ellzero.core.errors import StorageFailed
from ellzero.core.schemas import Source
from ellzero.tables.format.rows import ColumnSlice, RowBuffer, slice_of
from ellzero.tables.table import Table

_LOG = logging.getLogger(__name__)
# The most rows computed on demand to keep, of 25 bytes each; a column's own objects take as much as 80 rows. A longer
# column is computed but not kept.
MOST_CACHED_ROWS = 2_000_000
_ROWS_OF_A_COLUMN = 80


class ColumnCache:
    """The longest available rows of each noise, from r = 0 on; more are computed when they are needed.

    A bounded number of computed rows is kept; they are also appended to the table ``write_back``, if there is one.
    """

    def __init__(self, columns: Mapping[Discrete, ColumnSlice], write_back: Table | None = None) -> None:
        self.table_columns = dict(columns)
        self._write_back = write_back
        self._computed: OrderedDict[Discrete, ColumnSlice] = OrderedDict()
        self._computed_rows = 0
        self._lock = Lock()

    def find(self, noise: Discrete) -> tuple[ColumnSlice | None, Source]:
        """The longest available rows, None if there are none, and whether they are the table's own."""
        column = self.table_columns.get(noise)
        computed = self._computed.get(noise) if self._computed else None  # hashing a noise takes time
        if computed is not None and (column is None or computed.stop > column.stop):
            return computed, Source.COMPUTED
        return column, Source.TABLE

    def compute_column(self, noise: Discrete, r_max: int | None) -> ColumnSlice:
        """Compute the rows 0 … r_max, or all of them, and keep them unless they are too many."""
        buffer = RowBuffer()
        for row in iter_column_rows(noise, r_max):
            buffer.add(row)
        column = _slice_of(noise, buffer)
        if len(buffer) <= MOST_CACHED_ROWS:
            self._keep(column)
        return column

    def compute_radii(self, noise: Discrete, doubles: NDArray[np.float64], d: int) -> NDArray[np.int64]:
        """The radii ≤ d of sorted probabilities, computed in one pass; its rows are kept unless they are too many.

        A probability of 1 takes the pass to the end of the column. The pass goes at least twice as far as the rows in
        memory, so that of lookups that each go a little further, few have to compute anything.
        """
        radii = np.full(doubles.shape, d, np.int64)
        current, _ = self.find(noise)
        enough = 2 * len(current.rows) if current is not None else 0
        buffer: RowBuffer | None = RowBuffer()
        decided = 0
        for r, row in enumerate(iter_column_rows(noise, d)):
            if buffer is not None:
                buffer.add(row)
                buffer = buffer if len(buffer) <= MOST_CACHED_ROWS else None
            if decided < len(doubles) and row.min_p > doubles[decided]:
                stop = int(doubles.searchsorted(row.min_p, "left"))
                radii[decided:stop] = r - 1
                decided = stop
            if decided == len(doubles) and (buffer is None or len(buffer) >= enough):
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
            self._computed[column.noise] = column
            self._computed_rows += len(column.rows) + _ROWS_OF_A_COLUMN
            while self._computed_rows > MOST_CACHED_ROWS and len(self._computed) > 1:
                self._forget(next(iter(self._computed)))
            table_columns = self.table_columns.get(column.noise)
        if self._write_back is None:
            return
        first = table_columns.stop if table_columns is not None else 0
        new = ColumnSlice(column.key, first, column.rows.between(first, len(column.rows)), column.end)
        try:
            self._write_back.append([new])
        except StorageFailed as error:  # the answer is still correct
            _LOG.warning("rows of %s were not written back: %s", column.noise, error)
            return
        with self._lock:  # now these rows are the table's, unless it has, or another thread has computed, longer ones
            table_columns, computed = self.table_columns.get(column.noise), self._computed.get(column.noise)
            if table_columns is None or table_columns.stop < column.stop:
                self.table_columns[column.noise] = column
            if computed is not None and computed.stop <= column.stop:
                self._forget(column.noise)

    def _forget(self, noise: Discrete) -> None:
        computed = self._computed.pop(noise, None)
        if computed is not None:
            self._computed_rows -= len(computed.rows) + _ROWS_OF_A_COLUMN


def _slice_of(noise: Discrete, buffer: RowBuffer) -> ColumnSlice:
    """The rows of a buffer, from r = 0 on."""
    return slice_of(noise, 0, buffer.rows())
