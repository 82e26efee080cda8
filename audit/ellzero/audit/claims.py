"""What a certificate claims, as one sentence of plain English that follows from its fields."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from ellzero.audit.laws import Law

StatedBudget: TypeAlias = int | dict[str, Any]
"""A radius, or how many changes of each kind, nested as the names of the kinds are."""


def write_claim(
    failure: Fraction,
    selected: int,
    top_k: int,
    budgets: Sequence[StatedBudget],
    axes: tuple[str, ...],
    unit: str,
    d: int,
    protected: int,
) -> str:
    """The sentence. ``axes`` are the kinds of change of budgets that are not a radius."""
    answer = f"answers class {selected}" if top_k == 1 else f"has class {selected} among its {top_k} most probable ones"
    inputs = _describe_inputs(budgets, axes, unit, d)
    kept = f", the {protected} protected ones unchanged" if protected else ""
    return (
        f"With probability at least {_write_decimal(1 - failure)} over the votes, the smoothed classifier {answer} "
        f"on {inputs}{kept}."
    )


def find_unit(noise: Mapping[str, Any], law: Law) -> str:
    """What one change is of."""
    if noise["family"] == "deletion":
        return "edit"
    if law.by_edits:
        return "change"
    return str(noise.get("unit", "coordinate"))


def write_budget(axes: tuple[str, ...], counts: tuple[int, ...]) -> dict[str, Any]:
    """Counts as a budget of several kinds: ``{"edges": {"add": 2}}`` for the axis ``edges.add``."""
    budget: dict[str, Any] = {}
    for axis, count in zip(axes, counts, strict=True):
        *path, last = axis.split(".")
        inner = budget
        for name in path:
            inner = inner.setdefault(name, {})
        inner[last] = count
    return budget


def read_budget(axes: tuple[str, ...], budget: object) -> tuple[int, ...] | None:
    """The counts of a budget of several kinds, each of which it names; None if it is none."""
    counts = []
    for axis in axes:
        value: object = budget
        for name in axis.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if type(value) is not int or value < 0:
            return None
        counts.append(value)
    return tuple(counts) if write_budget(axes, tuple(counts)) == budget else None


def _describe_inputs(budgets: Sequence[StatedBudget], axes: tuple[str, ...], unit: str, d: int) -> str:
    if isinstance(budgets[0], int):
        radius = budgets[0]
        if unit == "edit":
            return (
                f"every sequence of at most {d} symbols that is at most {radius} insertions, deletions and "
                "substitutions away from this one"
            )
        if unit == "change":
            return f"every input that differs from this one by at most {radius} changes"
        return f"every input that differs from this one in at most {radius} of its {d} {unit}s"
    counted = (read_budget(axes, budget) or () for budget in budgets)
    listed = (", ".join(f"{axis} {count}" for axis, count in zip(axes, counts, strict=True)) for counts in counted)
    return f"every input that differs from this one, of {d} {unit}s, by at most " + "; or by at most ".join(listed)


def _write_decimal(value: Fraction) -> str:
    """As a decimal, if it is one; otherwise as a fraction."""
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        digits = max(digits, power)
    if rest != 1 or not 0 < digits <= 50:
        return str(value)
    return f"0.{value.numerator * 10**digits // value.denominator:0{digits}d}"
