"""What lookups return."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Family
from ellzero.certificates.certified_budgets import CertifiedBudgets
from ellzero.certificates.families.base import Counts
from ellzero.core.schemas import Source
from ellzero.tables.format.rows import ColumnSlice

ABSTAIN = -1


class RadiusResult(NamedTuple):
    """A certified radius, None to abstain, and the thresholds around it: ⌈τ·10^20⌉ of this radius and of the next.

    The first is None when abstaining and at p = 1, the second at p = 1 and at radius d. Both are None with p_b, and
    for a float, which is decided by `min_p` alone.
    """

    radius: int | None
    source: Source
    scaled_ceiling: int | None = None
    next_scaled_ceiling: int | None = None

    @property
    def number(self) -> int:
        """The radius as in arrays: −1 to abstain."""
        return ABSTAIN if self.radius is None else self.radius


class RadiiResult(NamedTuple):
    """Certified radii in the shape of the probabilities or counts, −1 to abstain; the source is COMPUTED if any was."""

    radii: NDArray[np.int32]
    source: Source


class ColumnResult(NamedTuple):
    """The rows 0, 1, … of a noise."""

    column: ColumnSlice
    source: Source


class BudgetRow(NamedTuple):
    """The threshold ρ⁻¹(q) of a budget: ⌈ρ⁻¹(q)·10^20⌉, whether it is that, and the least double above it.

    ``min_p`` is infinite where ρ⁻¹(q) = 1: no p certifies the budget.
    """

    counts: Counts
    scaled_ceiling: int
    exact: bool
    min_p: float


class BudgetRows(NamedTuple):
    """The thresholds of budgets, in the order asked for; the source is COMPUTED if any was."""

    rows: list[BudgetRow]
    source: Source


class BudgetsExtent(NamedTuple):
    """How many budgets of a family at one q a table has, and the largest count of each kind of change."""

    family: Family
    q: Fraction
    rows: int
    largest: Counts


class CertifiedResult(NamedTuple):
    """For one kind of change the largest number, for several the largest budgets, ascending; None to abstain."""

    budgets: CertifiedBudgets
    source: Source
