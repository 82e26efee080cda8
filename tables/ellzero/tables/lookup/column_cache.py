"""The columns that an index knows: those of its table, and those that the engine has computed for it since."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from enum import StrEnum
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Noise
from ellzero.certificates.exact_thresholds import column_answers
from ellzero.core.errors import StorageFailed
from ellzero.tables.format.rows import ColumnSlice, RowBuffer, end_of
from ellzero.tables.table import Table

_LOG = logging.getLogger(__name__)
# Rows computed on demand that are kept: 25 bytes each, and as much as 80 of them for a column's own objects. A single
# longer column is walked and not kept.
MOST_KEPT_ROWS = 2_000_000
_ROWS_OF_A_COLUMN = 80


class Source(StrEnum):
    """Where an answer came from."""

    TABLE = "table"
    COMPUTED = "computed"


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
        part = self.stored.get(noise)
        kept = self._kept.get(noise) if self._kept else None  # hashing a noise takes its time
        if kept is not None and (part is None or kept.stop > part.stop):
            return kept, Source.COMPUTED
        return part, Source.TABLE

    def column(self, noise: Noise, r_max: int | None) -> ColumnSlice:
        """The rows 0 … r_max, or all of them, by a walk of the engine, which is kept if it is short."""
        buffer = RowBuffer()
        for row in column_answers(noise, r_max):
            buffer.add(row)
        part = part_of(noise, buffer)
        if len(buffer) <= MOST_KEPT_ROWS:
            self._keep(part)
        return part

    def walk(self, noise: Noise, doubles: NDArray[np.float64], d: int) -> NDArray[np.int64]:
        """The radii ≤ d of sorted probabilities, by one walk of the engine, which is kept if it is short.

        Probabilities of 1 take it as far as rows go. It goes at least twice as far as the rows at hand: lookups that
        each go a little further walk seldom.
        """
        radii = np.full(doubles.shape, d, np.int64)
        at_hand, _ = self.find(noise)
        enough = 2 * len(at_hand.rows) if at_hand is not None else 0
        buffer: RowBuffer | None = RowBuffer()
        answered = 0
        for r, row in enumerate(column_answers(noise, d)):
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
            self._keep(part_of(noise, buffer))
        return radii

    def _keep(self, part: ColumnSlice) -> None:
        with self._lock:
            at_hand, _ = self.find(part.noise)
            if at_hand is not None and at_hand.stop >= part.stop:  # another thread was here
                return
            self._forget(part.noise)
            self._kept[part.noise] = part
            self._kept_rows += len(part.rows) + _ROWS_OF_A_COLUMN
            while self._kept_rows > MOST_KEPT_ROWS and len(self._kept) > 1:
                self._forget(next(iter(self._kept)))
            stored = self.stored.get(part.noise)
        if self._write_back is None:
            return
        first = stored.stop if stored is not None else 0
        new = ColumnSlice(part.noise, first, part.rows.between(first, len(part.rows)), part.end)
        try:
            self._write_back.append([new])
        except StorageFailed as error:  # the answer is right all the same
            _LOG.warning("rows of %s were not written back: %s", part.noise, error)
            return
        with self._lock:  # now they are the table's, unless longer ones are, or have been computed, meanwhile
            stored, kept = self.stored.get(part.noise), self._kept.get(part.noise)
            if stored is None or stored.stop < part.stop:
                self.stored[part.noise] = part
            if kept is not None and kept.stop <= part.stop:
                self._forget(part.noise)

    def _forget(self, noise: Noise) -> None:
        kept = self._kept.pop(noise, None)
        if kept is not None:
            self._kept_rows -= len(kept.rows) + _ROWS_OF_A_COLUMN


def part_of(noise: Noise, buffer: RowBuffer) -> ColumnSlice:
    """What a buffer has gathered, from r = 0 on."""
    rows = buffer.rows()
    return ColumnSlice(noise, 0, rows, end_of(noise, rows.unit(len(rows) - 1)))
