"""Grids of any family of noises: a description whose parameters may be lists and ranges, and how far its budgets go."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from ellzero.certificates import Discrete, Family, make_family
from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.families.base import DEEPEST, Counts
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.precompute.axes import MOST_COLUMNS, PARAMETERS, axis
from ellzero.tables.format.keys import write_family
from ellzero.tables.format.layouts import LARGEST_COUNT, read_q

MOST_FAMILIES = 100_000


@dataclass(frozen=True)
class FamilyGrid:
    """All budgets within ``most`` of each of these families, which have the same axes, at one q.

    An axis ends earlier where a family has no larger counts.
    """

    families: tuple[Family, ...]
    most: Counts
    q: Fraction

    def limits(self, family: Family) -> Counts:
        """The largest count of each axis of one of the families."""
        pairs = zip(self.most, family.most, strict=True)
        return tuple(most if own is None else min(most, own) for most, own in pairs)

    @cached_property
    def _columns(self) -> int:
        return sum(count_columns(self.limits(family)) for family in self.families)

    def __len__(self) -> int:
        """How many columns there are."""
        return self._columns


def make_family_grid(description: object, most: object, q: object = HALF) -> FamilyGrid:
    """A grid from a description as `make_family` reads it, in which parameters may be lists and ranges.

    ``most`` is a number for families with one kind of change, otherwise a mapping by axis. What it does not name must
    have an end of its own.

    >>> sparse = {"family": "sparse", "p_add": "0.001:0.003:0.001", "p_del": ["0.4", "0.6"]}
    >>> len(make_family_grid(sparse, {"add": 50, "delete": 50}).families)
    6
    """
    share = read_q(q)
    families = sorted({make_family(each) for each in expand_description(description)}, key=write_family)
    if share == HALF and isinstance(families[0], Discrete):
        raise InvalidInput("family", "left out: the grid of discrete noise has k, alpha, d and r_max", "discrete")
    limits = _read_most(families, most)
    grid = FamilyGrid(tuple(families), limits, share)
    if len(grid) > MOST_COLUMNS:
        raise InvalidInput("grid", f"of at most {MOST_COLUMNS:,} columns; cut it into several runs", len(grid))
    return grid


def expand_description(description: object, depth: int = 0) -> list[Any]:
    """A description for each choice of the values that parameters list."""
    if not isinstance(description, Mapping) or depth > DEEPEST:
        return [description]  # which make_family refuses
    choices = [_expand_field(str(name), value, depth) for name, value in description.items()]
    if prod(map(len, choices)) > MOST_FAMILIES:
        raise InvalidInput("grid", f"of at most {MOST_FAMILIES:,} families; cut it into several runs", "more")
    return [dict(zip(description, choice, strict=True)) for choice in product(*choices)]


def count_columns(limits: Counts) -> int:
    """How many columns the budgets within these limits have."""
    return prod(most + 1 for most in limits[:-1])


def fixed_counts(limits: Counts, place: int) -> Counts:
    """The counts of all axes but the last in the column at this place; the last of them varies first."""
    counts: list[int] = []
    for most in reversed(limits[:-1]):
        place, count = divmod(place, most + 1)
        counts.append(count)
    return tuple(reversed(counts))


def _expand_field(name: str, value: object, depth: int) -> list[Any]:
    if name in PARAMETERS:
        return axis(name, value)
    if name == "base":
        return expand_description(value, depth + 1)
    if name == "members" and isinstance(value, Mapping):
        members = [expand_description(member, depth + 1) for member in value.values()]
        return [dict(zip(value, choice, strict=True)) for choice in _choose(members)]
    if name == "members" and isinstance(value, list):
        return [list(choice) for choice in _choose([expand_description(member, depth + 1) for member in value])]
    return [value]


def _choose(lists: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    if prod(map(len, lists)) > MOST_FAMILIES:
        raise InvalidInput("grid", f"of at most {MOST_FAMILIES:,} families; cut it into several runs", "more")
    return product(*lists)


def _read_most(families: list[Family], written: object) -> Counts:
    """The largest counts as written, and the families' own where there are none."""
    axes = families[0].axes
    if any(family.axes != axes for family in families):
        raise InvalidInput("family", "families with the same kinds of change", [list(each.axes) for each in families])
    entries: dict[str, Any] = {}
    for name, count in _flatten(written) if isinstance(written, Mapping) else ():
        if name in entries:  # "b.add" beside b = {add = …}
            raise InvalidInput("max", "given once for each kind of change", name)
        entries[name] = count
    if written is not None and not isinstance(written, Mapping):
        if len(axes) > 1:
            raise InvalidInput("max", f"given by name, for {', '.join(axes)}", written)
        entries = {axes[0]: written}
    most = []
    for place, name in enumerate(axes):
        label = "max" if len(axes) == 1 else f"max.{name}"
        own = [family.most[place] for family in families]
        if name in entries:
            most.append(read_integer(entries.pop(name), label, 0, LARGEST_COUNT))
        elif None not in own:
            most.append(max(count or 0 for count in own))
        else:
            raise InvalidInput(label, "given: the largest number of such changes", None)
    if entries:
        raise InvalidInput("max", f"given for {', '.join(axes)}", next(iter(entries)))
    return tuple(most)


def _flatten(written: Mapping[Any, Any], path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in written.items():
        if isinstance(value, Mapping) and depth < DEEPEST:
            yield from _flatten(value, f"{path}{name}.", depth + 1)
        else:
            yield f"{path}{name}", value
