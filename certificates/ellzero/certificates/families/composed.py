"""Families made of families: several kinds of data at once, columns of several kinds, and lists of regions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from ellzero.certificates.families.base import Counts, Family
from ellzero.certificates.neyman_pearson import Region, sort_descending
from ellzero.certificates.products import Block, Perturbation
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer

_MEMBER_NAMES = "names of families without dots, such as edges=Sparse(...), attributes=Sparse(...)"


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
        if not members or any("." in label for label in members):
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
            own.append(family.perturbations(counts[start : start + len(family.axes)]))
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
    spend r changes on any of them, so the certificate is the worst over all ways to split r.
    """

    name: ClassVar[str] = "grouped"
    members: tuple[tuple[Family, int], ...]

    def __init__(self, members: Iterable[tuple[Family, int]]) -> None:
        pairs = tuple(members)
        if not pairs:
            raise InvalidInput("members", "at least one family with its number of columns", [])
        read = []
        for family, columns in pairs:
            if not isinstance(family, Family) or len(family.axes) != 1:
                raise InvalidInput("members", "families with a single kind of change", family)
            read.append((family, read_integer(columns, "columns", 1, family.most[0])))
        object.__setattr__(self, "members", tuple(read))

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
        for split in _splits(r, [columns for _, columns in self.members]):
            parts = (family.perturbations((count,)) for (family, _), count in zip(self.members, split, strict=True))
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
        for split in _splits(r, [r if most is None else most for most in self.base.most]):
            yield from self.base.perturbations(split)


@dataclass(frozen=True, init=False, repr=False)
class RegionList(Family):
    """Whatever has no name: the regions of r = 1, 2, … changes, each as (mass under x, mass under x̄).

    ``RegionList([[(x, xbar), …], …])`` with masses that are Fractions, integers or exact numbers in text. A certificate
    for r covers all lists up to the r-th.
    """

    name: ClassVar[str] = "regions"
    blocks: tuple[Block, ...]

    def __init__(self, regions: Sequence[Iterable[tuple[Fraction | int, Fraction | int]]]) -> None:
        blocks = []
        for own in regions:
            ordered = sort_descending(Region(*pair) for pair in own)
            x, xbar = sum(region.x for region in ordered), sum(region.xbar for region in ordered)
            if x <= 0 or x != xbar:
                raise InvalidInput("regions", "masses under x and x̄ with the same positive sum", ordered)
            blocks.append(Block((Fraction(a, x), Fraction(b, x)) for a, b in ordered))
        if not blocks:
            raise InvalidInput("regions", "a list of regions for each number of changes from 1 on", list(regions))
        object.__setattr__(self, "blocks", tuple(blocks))

    @property
    def axes(self) -> tuple[str, ...]:
        return ("change",)

    @property
    def most(self) -> tuple[int | None, ...]:
        return (len(self.blocks),)

    @property
    def is_by_coordinate(self) -> bool:
        return False

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
        return f"RegionList([{', '.join(f'<{len(block.outcomes)} regions>' for block in self.blocks)}])"


def _splits(total: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All tuples of that sum whose entries are at least 0 and at most these."""
    if len(most) == 1:
        if total <= most[0]:
            yield (total,)
        return
    first, *others = most
    for count in range(max(0, total - sum(others)), min(first, total) + 1):
        for rest in _splits(total - count, others):
            yield (count, *rest)
