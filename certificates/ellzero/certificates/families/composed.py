"""Families made of families: several kinds of data at once, columns of several kinds, and lists of regions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product
from typing import Any, ClassVar

from ellzero.certificates.families.base import MOST_WAYS, Counts, Family
from ellzero.certificates.neyman_pearson import Region, sort_descending
from ellzero.certificates.products import Block, Perturbation
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer

_MEMBER_NAMES = "names of families without . , = and :, such as edges=Sparse(...), attributes=Sparse(...)"
_NOT_IN_NAMES = frozenset(".,=:")
_GROUPED = "pairs of a family with a single kind of change and its number of columns"
_LISTS_SHOWN = 3
_MOST_DIGITS = 4_000
_LARGEST_DENOMINATOR = 10**_MOST_DIGITS  # of the share that a region has


@dataclass(frozen=True, init=False, repr=False)
class Joint(Family):
    """Several families at once, under names of one's own: ``Joint(edges=Sparse(…), attributes=Sparse(…))``.

    Each has a budget of its own: ``{"edges": {"add": 2}, "attributes": {"delete": 1}}``; a member with a single kind of
    change takes a number. All are struck together, and one certificate covers all budgets at once.
    """

    name: ClassVar[str] = "joint"
    members: tuple[tuple[str, Family], ...]

    def __init__(self, /, **members: Family) -> None:
        for label, family in members.items():
            if not isinstance(family, Family):
                raise InvalidInput(label, "a family of noises", family)
        if not members or any(not label or _NOT_IN_NAMES & set(label) for label in members):
            raise InvalidInput("members", _MEMBER_NAMES, list(members))
        object.__setattr__(self, "members", tuple(members.items()))

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(
            label if len(family.axes) == 1 else f"{label}.{axis}"
            for label, family in self.members
            for axis in family.axes
        )

    @property
    def most(self) -> tuple[int | None, ...]:
        return tuple(most for _, family in self.members for most in family.most)

    @property
    def is_by_coordinate(self) -> bool:
        return all(family.is_by_coordinate for _, family in self.members)

    def perturbations(self, counts: Counts) -> Iterator[Perturbation]:
        own, start = [], 0
        for _, family in self.members:
            own.append(family.list_perturbations(counts[start : start + len(family.axes)]))
            start += len(family.axes)
        for choice in product(*own):
            yield tuple(entry for perturbation in choice for entry in perturbation)

    def describe(self) -> dict[str, Any]:
        return {"family": self.name, "members": {label: family.describe() for label, family in self.members}}

    def __repr__(self) -> str:
        return f"Joint({', '.join(f'{label}={family!r}' for label, family in self.members)})"


@dataclass(frozen=True, init=False, repr=False)
class Grouped(Family):
    """Columns of several kinds under **one** budget, as tables have: ``Grouped([(Discrete(9, "0.8"), 4), …])``.

    Each member is a family with a single kind of change, and the number of columns that have it. The adversary may
    spend r changes on any of them, each column once, so the certificate is the worst over all ways to split r; columns
    of equal kinds are one member. A member that does not strike each coordinate by itself has all of its coordinates
    here, and none whose changes have no end may be a member: sequences and their edits belong in `Joint`.
    """

    name: ClassVar[str] = "grouped"
    members: tuple[tuple[Family, int], ...]

    def __init__(self, members: Iterable[tuple[Family, int]]) -> None:
        try:
            pairs = [(family, columns) for family, columns in members]
        except InvalidInput:
            raise
        except (TypeError, ValueError):
            raise InvalidInput("members", _GROUPED, members) from None
        if not pairs:
            raise InvalidInput("members", "at least one family with its number of columns", [])
        together: dict[Family, int] = {}
        for place, (family, columns) in enumerate(pairs):
            field = f"members[{place}].columns"
            if not isinstance(family, Family) or len(family.axes) != 1:
                raise InvalidInput("members", _GROUPED, family)
            (most,) = family.most
            if most is not None and columns != most:
                raise InvalidInput(field, f"{most}, all that {family} has", columns)
            if most is None and not family.is_by_coordinate:
                raise InvalidInput("members", "families whose changes are of columns; Joint takes edits too", family)
            columns = read_integer(columns, field, 1)
            if type(family).__hash__ is None:
                raise InvalidInput("members", "families that can be told apart, such as frozen dataclasses", family)
            if most is None and family in together:
                together[family] += columns
            elif family in together:
                raise InvalidInput("members", "different families where they have a number of coordinates", family)
            else:
                together[family] = columns
        object.__setattr__(self, "members", tuple(together.items()))

    @property
    def axes(self) -> tuple[str, ...]:
        return ("change",)

    @property
    def most(self) -> tuple[int | None, ...]:
        return (sum(columns for _, columns in self.members),)

    @property
    def is_by_coordinate(self) -> bool:
        return all(family.is_by_coordinate for family, _ in self.members)

    def perturbations(self, counts: Counts) -> Iterator[Perturbation]:
        """Every way to spend exactly r: spending less is never worse."""
        (r,) = counts
        for split in split_budget(r, [columns for _, columns in self.members]):
            spent = ((family, count) for (family, _), count in zip(self.members, split, strict=True) if count)
            parts = (family.list_perturbations((count,)) for family, count in spent)
            for choice in product(*parts):
                yield tuple(entry for perturbation in choice for entry in perturbation)

    def describe(self) -> dict[str, Any]:
        members = [{**family.describe(), "columns": columns} for family, columns in self.members]
        return {"family": self.name, "members": members}


@dataclass(frozen=True, init=False, repr=False)
class Total(Family):
    """The budgets of ``base`` as one number: r changes of **any** kinds, ``Total(Sparse("0.01", "0.6"))``.

    The certificate is the worst over all ways to divide r among the kinds, so that it is an ℓ0 radius.
    """

    name: ClassVar[str] = "total"
    base: Family

    def __init__(self, base: Family) -> None:
        if not isinstance(base, Family):
            raise InvalidInput("base", "a family of noises", base)
        object.__setattr__(self, "base", base)

    @property
    def axes(self) -> tuple[str, ...]:
        return ("change",)

    @property
    def most(self) -> tuple[int | None, ...]:
        known = [most for most in self.base.most if most is not None]
        return (sum(known) if len(known) == len(self.base.most) else None,)

    @property
    def is_by_coordinate(self) -> bool:
        return self.base.is_by_coordinate

    def perturbations(self, counts: Counts) -> Iterator[Perturbation]:
        (r,) = counts
        for split in split_budget(r, [r if most is None else most for most in self.base.most]):
            yield from self.base.perturbations(split)


@dataclass(frozen=True, init=False, repr=False)
class RegionList(Family):
    """Whatever has no name: the regions of r = 1, 2, … changes, each as (mass under x, mass under x̄).

    ``RegionList([[(x, xbar), …], …])`` with masses that are integers or Fractions. A certificate for r covers all lists
    up to the r-th.
    """

    name: ClassVar[str] = "regions"
    blocks: tuple[Block, ...]

    def __init__(self, regions: Sequence[Iterable[tuple[Fraction | int, Fraction | int]]]) -> None:
        blocks = []
        try:
            lists = [[Region(*pair) for pair in own] for own in regions]
        except TypeError:
            raise InvalidInput("regions", "lists of pairs (mass under x, mass under x̄)", regions) from None
        for own in lists:
            ordered = sort_descending(own)
            x, xbar = sum(region.x for region in ordered), sum(region.xbar for region in ordered)
            if x <= 0 or x != xbar:
                raise InvalidInput("regions", "masses under x and x̄ with the same positive sum", ordered)
            masses = [(Fraction(a, x), Fraction(b, x)) for a, b in ordered]
            if any(mass.denominator > _LARGEST_DENOMINATOR for pair in masses for mass in pair):
                raise InvalidInput(
                    "regions", f"shares of their sum with at most {_MOST_DIGITS:,} digits", "longer ones"
                )
            blocks.append(Block(masses))
        if not blocks:
            raise InvalidInput("regions", "a list of regions for each number of changes from 1 on", list(regions))
        object.__setattr__(self, "blocks", tuple(blocks))

    @property
    def axes(self) -> tuple[str, ...]:
        return ("change",)

    @property
    def most(self) -> tuple[int | None, ...]:
        return (len(self.blocks),)

    def perturbations(self, counts: Counts) -> Iterator[Perturbation]:
        (change,) = counts
        if not change:
            yield ()
        for block in self.blocks[:change]:
            yield ((block, 1),)

    def describe(self) -> dict[str, Any]:
        lists = [[[str(mass) for mass in region] for region in block.outcomes] for block in self.blocks]
        return {"family": self.name, "regions": lists}

    def __repr__(self) -> str:
        lists = [f"<{len(block.outcomes)} regions>" for block in self.blocks]
        shown = lists if len(lists) <= _LISTS_SHOWN else [lists[0], "…", lists[-1]]
        return f"RegionList([{', '.join(shown)}])"


def split_budget(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to divide a budget among kinds, with no more of each than these. Raises if there are too many."""
    ways = count_splits(total, most)
    if ways > MOST_WAYS:
        allowed = f"one that can be divided in at most {MOST_WAYS:,} ways among {len(most)} kinds; this one in more"
        raise InvalidInput("budget", allowed, total)
    return _splits(total, most)


def count_splits(total: int, most: Sequence[int]) -> int:
    """How many there are, or a number above `MOST_WAYS`."""
    total = min(total, sum(most) - total)  # what is left over is divided in as many ways
    if total < 0:
        return 0
    *others, largest = sorted(most)  # which completes most sums of the others
    counts = [1]  # by the sum so far, as far as one is needed
    for limit in others:
        length = min(total, len(counts) - 1 + limit) + 1
        if length > MOST_WAYS:
            return length
        sums = list(accumulate(counts, initial=0))
        counts = [sums[min(n + 1, len(counts))] - sums[max(0, n - limit)] for n in range(length)]
    return sum(count for n, count in enumerate(counts) if total - n <= largest)


def _splits(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All tuples of that sum whose entries are at least 0 and at most these, ascending.

    Each step goes to the next entry above 0, so that a few changes among many kinds take a few steps.
    """
    if not total:
        yield (0,) * len(most)
        return
    room = [0, *accumulate(reversed(most))]  # by how many of the last entries
    for left in range(1, len(most) + 1):
        place = len(most) - left
        for count in range(max(1, total - room[left - 1]), min(most[place], total) + 1):
            for rest in _splits(total - count, most[place + 1 :]):
                yield (*(0,) * place, count, *rest)
