"""What a column of a table is of: the discrete noise, or the budgets of any family along the last of its axes."""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from ellzero.certificates import Discrete, Family, make_family
from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.families.base import Counts
from ellzero.core.errors import InvalidInput


@dataclass(frozen=True)
class BudgetColumn:
    """The thresholds ρ⁻¹(q) of the budgets (*fixed, 0), (*fixed, 1), … of a family: the last axis varies.

    They never decrease, since ρ never grows when a change is added. The thresholds τ_r of the discrete noise have a
    column of their own, `Discrete`; this one has those at other q.
    """

    family: Family
    q: Fraction
    fixed: Counts

    def __post_init__(self) -> None:
        if isinstance(self.family, Discrete) and self.q == HALF:
            raise InvalidInput("q", "other than 1/2 for the discrete noise, whose τ_r have columns of their own", HALF)
        if len(self.fixed) != len(self.family.axes) - 1:
            raise InvalidInput("fixed", f"counts of all axes but the last of {', '.join(self.family.axes)}", self.fixed)

    def counts(self, last: int) -> Counts:
        """The budget of a row."""
        return (*self.fixed, last)

    @cached_property
    def is_flat(self) -> bool:
        """No changed coordinate tells x from x̄, so that ρ⁻¹(q) = q for every row.

        Told by the blocks of one change of each kind, which is what all further ones show if the noise is by
        coordinate: so it takes no longer for large counts, which may be spent in many ways.
        """
        if not self.family.is_by_coordinate or self.family.most[-1] == 0:
            return False
        changed = self.family.perturbations((*(min(count, 1) for count in self.fixed), 1))
        return all(block.is_flat for perturbation in changed for block, count in perturbation if count)


ColumnKey: TypeAlias = Discrete | BudgetColumn


def make_key(family: Family, q: Fraction, fixed: Counts) -> ColumnKey:
    """The key of the column of these budgets."""
    return family if isinstance(family, Discrete) and q == HALF else BudgetColumn(family, q, fixed)


def order_of(key: ColumnKey) -> tuple[Any, ...]:
    """Columns are sorted: the discrete noise by K and the value of α, then families by their text, q and counts."""
    if isinstance(key, Discrete):
        return 0, key.k, key.alpha
    return 1, write_family(key.family), key.q, key.fixed


@lru_cache(maxsize=4_096)
def write_family(family: Family) -> str:
    """A family as text: what `describe` says, as JSON in the order in which it says it.

    The same family always has the same text. Names are not sorted: the axes of `Joint`, and so the counts of its
    budgets, are in the order of its members. Raises `InvalidInput` for a family that the text does not make again, such
    as a class of one's own: nobody could read it.
    """
    description = family.describe()
    if make_family(description) != family:
        raise InvalidInput("family", "one that its description makes again", family)
    return json.dumps(description, ensure_ascii=False, separators=(",", ":"))


def row_axis(key: ColumnKey) -> str:
    """What the rows of a column count."""
    return "r" if isinstance(key, Discrete) else key.family.axes[-1]


def describe_key(key: ColumnKey) -> str:
    """A column in messages: K = 1, α = 4/5."""
    if isinstance(key, Discrete):
        return f"K = {key.k}, α = {key.alpha}"
    counts = "".join(f", {axis} = {count}" for axis, count in zip(key.family.axes, key.fixed, strict=False))
    return f"{key.family!r}, q = {key.q}{counts}"
