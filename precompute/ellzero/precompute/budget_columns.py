"""Computing columns of budgets, in the order in which each row takes one multiplication more than the last."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ellzero.certificates import Family
from ellzero.certificates.budget_thresholds import is_saturated_within, row_at_saturation, row_of_counts
from ellzero.certificates.families.base import Counts
from ellzero.certificates.products import Products
from ellzero.precompute.family_grid import fixed_counts
from ellzero.tables.format.keys import BudgetColumn
from ellzero.tables.format.rows import DIGITS, SCALE, ColumnSlice, RowBuffer, slice_of


@dataclass(frozen=True, slots=True)
class BudgetWork:
    """The columns start..stop−1 of a family's budgets within ``limits``, each from its row ``first`` on.

    Plans hold many of these, so keys are made on demand.
    """

    family: Family
    q: Fraction
    limits: Counts
    start: int
    stop: int
    first: int

    @property
    def columns(self) -> int:
        """How many columns these are."""
        return self.stop - self.start

    @property
    def last(self) -> int:
        """The largest count of the last axis."""
        return self.limits[-1]

    def column_keys(self) -> Iterator[BudgetColumn]:
        """The columns, in their order."""
        for place in range(self.start, self.stop):
            yield BudgetColumn(self.family, self.q, fixed_counts(self.limits, place))

    def slices(self) -> Iterator[ColumnSlice]:
        """The rows of the columns.

        A threshold that rounds up to 1 stays so when a change is added. So a column is complete no later than those
        with one change less elsewhere, and where they are, no product is needed. If none of those is among these
        columns, smaller budgets may say so: the product of a large one could take hours.
        """
        products = Products()
        complete: dict[Counts, int | None] = {}  # the count at which a column is
        for key in self.column_keys():
            buffer = RowBuffer()
            before = [complete[fixed] for fixed in _one_less(key.fixed) if fixed in complete]
            known = min((end for end in before if end is not None), default=None)
            if not before and not self.first and is_saturated_within(self.family, key.counts(0), self.q, DIGITS):
                known = 0
            complete[key.fixed] = None
            for last in range(self.first, self.last + 1):
                counts = key.counts(last)
                if known is not None and last >= known:
                    row = row_at_saturation(self.family, counts, self.q, DIGITS)
                else:
                    row = row_of_counts(self.family, counts, self.q, DIGITS, products)
                buffer.add(row)
                if row.ceiling.units == SCALE:
                    complete[key.fixed] = last
                if row.ceiling.units == SCALE or key.is_flat:
                    break
            yield slice_of(key, self.first, buffer.rows())


def _one_less(fixed: Counts) -> Iterator[Counts]:
    return ((*fixed[:place], count - 1, *fixed[place + 1 :]) for place, count in enumerate(fixed) if count)
