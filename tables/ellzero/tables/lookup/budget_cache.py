"""The rows of budgets of an index: those of its table, and those computed since it was opened."""

import logging
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from threading import Lock
from typing import TypeAlias

from ellzero.certificates import Family
from ellzero.certificates.budget_thresholds import row_at_saturation, row_of_counts
from ellzero.certificates.families.base import Counts
from ellzero.certificates.products import Products
from ellzero.certificates.rounding import Row
from ellzero.core.errors import InvalidInput, StorageFailed
from ellzero.core.schemas import Source
from ellzero.tables.format.keys import BudgetColumn
from ellzero.tables.format.rows import DIGITS, ColumnSlice, End, RowBuffer, merge_slices, slice_of
from ellzero.tables.lookup.results import BudgetsExtent
from ellzero.tables.table import Table

_LOG = logging.getLogger(__name__)
# Computed rows to keep, of about 500 bytes each.
MOST_CACHED_BUDGETS = 100_000

_Columns: TypeAlias = dict[Counts, ColumnSlice]


class BudgetCache:
    """The columns of each family and q, from count 0 on; other rows are computed when they are needed.

    A bounded number of computed rows is kept. Those that continue a column are also appended to the table
    ``write_back``, if there is one.
    """

    def __init__(self, columns: Iterable[ColumnSlice], write_back: Table | None = None) -> None:
        self._columns: dict[tuple[Family, Fraction], _Columns] = defaultdict(dict)
        for column in columns:
            if isinstance(column.key, BudgetColumn):
                self._columns[column.key.family, column.key.q][column.key.fixed] = column
        self._write_back = write_back
        self._computed: OrderedDict[tuple[Family, Fraction], dict[Counts, Row]] = OrderedDict()
        self._lock = Lock()

    def extents(self) -> list[BudgetsExtent]:
        """How many budgets of each family at each q the table has."""
        with self._lock:
            groups = [(key, dict(columns)) for key, columns in self._columns.items()]
        return [
            BudgetsExtent(
                family,
                q,
                sum(len(column.rows) for column in columns.values()),
                tuple(map(max, zip(*((*fixed, column.stop - 1) for fixed, column in columns.items()), strict=True))),
            )
            for (family, q), columns in groups
            if columns
        ]

    def rows_of(self, family: Family, q: Fraction) -> "BudgetRowsOf":
        """The rows of one family at one q, for the lookups of one request."""
        with self._lock:
            computed = self._computed.setdefault((family, q), {})
            self._computed.move_to_end((family, q))
            while len(self._computed) > 1 and sum(map(len, self._computed.values())) > MOST_CACHED_BUDGETS:
                self._computed.popitem(last=False)
            if len(computed) >= MOST_CACHED_BUDGETS:
                computed = self._computed[family, q] = {}
            columns = self._columns.get((family, q), {})
        return BudgetRowsOf(family, q, columns, computed)

    def write_back(self, rows: "BudgetRowsOf") -> None:
        """Append what was computed and continues a column to the table, if there is one to write to.

        Tables have no families of one's own, and no q of 0 or 1; those rows are kept in memory only.
        """
        if self._write_back is None or not rows.fresh:
            return
        longer = list(rows.continue_columns())
        try:
            self._write_back.append(longer)
        except (StorageFailed, InvalidInput) as error:  # the answer is still correct
            _LOG.warning("rows of %s were not written back: %s", rows.family, error)
            return
        with self._lock:
            columns = self._columns[rows.family, rows.q]
            for piece in longer:
                fixed = piece.key.fixed if isinstance(piece.key, BudgetColumn) else ()
                known = [columns[fixed]] if fixed in columns else []
                columns[fixed] = merge_slices([*known, piece])[0]


class BudgetRowsOf:
    """Rows of one family at one q. Computing walks budgets: one step from the last takes one multiplication."""

    def __init__(self, family: Family, q: Fraction, columns: _Columns, computed: dict[Counts, Row]) -> None:
        self.family = family
        self.q = q
        self.products = Products()
        self.source = Source.TABLE
        """Whether all rows so far were the table's own."""
        self.fresh: dict[Counts, Row] = {}
        """The rows that were computed here and are kept."""
        self._columns = columns
        self._computed = computed

    def row(self, counts: Counts) -> Row:
        """The row of a budget, computed if it is not in memory."""
        row = self._find(counts)
        if row is not None:
            return row
        self.source = Source.COMPUTED
        row = self._computed.get(counts)
        if row is None:
            row = row_of_counts(self.family, counts, self.q, DIGITS, self.products)
            if len(self._computed) < MOST_CACHED_BUDGETS:
                self._computed[counts] = self.fresh[counts] = row
        return row

    def continue_columns(self) -> Iterable[ColumnSlice]:
        """The computed rows that follow the table's, or begin a column that it has not, as slices."""
        for fixed in sorted({counts[:-1] for counts in self.fresh}):
            column = self._columns.get(fixed)
            if column is not None and column.end is not End.CUT:  # another thread has completed it meanwhile
                continue
            first = last = 0 if column is None else column.stop
            buffer = RowBuffer()
            key = BudgetColumn(self.family, self.q, fixed)
            while (row := self._computed.get((*fixed, last))) is not None:
                buffer.add(row)
                last += 1
                if key.is_flat or row.ceiling.units == 10**DIGITS:
                    break
            if len(buffer):
                yield slice_of(key, first, buffer.rows())

    def _find(self, counts: Counts) -> Row | None:
        """The row of a budget if the table has it: beyond the end of a column, its end says what it is."""
        column = self._columns.get(counts[:-1])
        if column is None:
            return None
        if counts[-1] < column.stop:
            return column.row(counts[-1])
        if column.end is End.FLAT:
            return column.row(0)
        if column.end is End.COMPLETE:
            return row_at_saturation(self.family, counts, self.q, DIGITS)
        return None
