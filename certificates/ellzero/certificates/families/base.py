"""What a family of noises states: what one changed coordinate shows, and what its budget counts.

All else follows from the general lemma: `budget_thresholds` has ρ and thresholds, `certified_budgets` what they
certify, and docs/families.md how to add a family.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar, TypeAlias

from ellzero.certificates.products import Block, OrderedRegions, Perturbation, Products
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer, read_shortest

Budget: TypeAlias = int | Mapping[str, "Budget"]
"""How many changes of each kind: a number if there is one kind, otherwise a mapping by name; what is not named is 0."""
Counts: TypeAlias = tuple[int, ...]
"""A budget as the family reads it: a number for each of its axes."""

_ALLOWED = "a rational number strictly between 0 and 1, such as 0.01 or 1/100, whose parts fit 63 bits"
_LARGEST_PART = 2**63 - 1
MOST_WAYS = 100_000
"""Ways to spend a budget; each is certified by itself."""
DEEPEST = 16
"""How deeply families may be composed."""


class Family(ABC):
    """A noise, as far as certificates need to know it: what changed coordinates show.

    A budget is *at most* so many changes of each kind: changing fewer coordinates never helps an adversary, since ρ
    never grows when a block is added.
    """

    name: ClassVar[str]
    """What the family is called in commands, tables and requests."""

    @property
    @abstractmethod
    def axes(self) -> tuple[str, ...]:
        """The names of the kinds of change, in the order of their counts."""

    @property
    def most(self) -> tuple[int | None, ...]:
        """The largest count of each axis that has a meaning; None if there is none."""
        return (None,) * len(self.axes)

    @property
    def is_by_coordinate(self) -> bool:
        """Whether each block is what **one** changed coordinate shows, so that it may be struck by itself.

        False unless a family says so: a block may stand for several coordinates, or for an edit of a sequence.
        """
        return False

    @abstractmethod
    def perturbations(self, counts: Counts) -> Iterable[Perturbation]:
        """What the changed coordinates show: blocks, each with the number of coordinates that show it.

        All ways to spend the budget of which any may be the worst: one, unless kinds of coordinate share a budget.
        """

    def ordered_regions(self, counts: Counts, products: Products) -> Iterator[OrderedRegions]:
        """For each perturbation its regions in descending order of likelihood ratio."""
        for perturbation in self.list_perturbations(counts):
            yield products.order(perturbation)

    def list_perturbations(self, counts: Counts) -> list[Perturbation]:
        """All perturbations, without kinds that do not change. Raises if they are too many to certify each."""
        ways = [
            tuple(entry for entry in perturbation if entry[1])
            for perturbation in islice(self.perturbations(counts), MOST_WAYS + 1)
        ]
        if len(ways) > MOST_WAYS:
            allowed = f"one that can be spent in at most {MOST_WAYS:,} ways"
            raise InvalidInput("budget", allowed, self.write_budget(counts))
        return ways

    def read_budget(self, budget: Budget, field: str = "budget") -> Counts:
        """The budget as counts. Raises `InvalidInput` for other names, negative numbers and numbers beyond `most`."""
        given = self._flatten(budget, field)
        counts = []
        for axis, most in zip(self.axes, self.most, strict=True):
            label = field if len(self.axes) == 1 else f"{field}.{axis}"
            counts.append(read_integer(given.pop(axis, 0), label, 0, most))
        if given:
            raise InvalidInput(field, self._describe_budget(), next(iter(given)))
        return tuple(counts)

    def write_budget(self, counts: Counts) -> Budget:
        """The counts as a budget: a number for a single axis, otherwise a mapping, nested as the names are."""
        if len(counts) == 1:
            return counts[0]
        budget: dict[str, Budget] = {}
        for axis, count in zip(self.axes, counts, strict=True):
            *path, last = axis.split(".")
            inner = budget
            for name in path:
                inner = inner.setdefault(name, {})  # type: ignore[assignment]
            inner[last] = count
        return budget

    def describe(self) -> dict[str, Any]:
        """The family and its exact parameters, as files, tables and requests state them; `make_family` reads it."""
        if not is_dataclass(self):
            raise InvalidInput("family", "a dataclass, whose fields are its parameters", self)
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {"family": self.name} | {name: _write(value) for name, value in values.items()}

    def __repr__(self) -> str:
        parameters: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        return f"{type(self).__name__}({', '.join(f'{each.name}={self._show(each.name)}' for each in parameters)})"

    def _show(self, field: str) -> str:
        value = getattr(self, field)
        return f"'{value}'" if isinstance(value, Fraction) else repr(value)

    def _flatten(self, budget: Budget, field: str) -> dict[str, object]:
        """The entries of a nested mapping by dotted names."""
        if isinstance(budget, Mapping):
            entries: dict[str, object] = {}
            for name, value in _list_entries(budget):
                if name in entries:
                    raise InvalidInput(field, f"{self._describe_budget()}, each once", name)
                if isinstance(value, Mapping):  # empty, or nested more deeply than names are
                    if value or not any(axis.startswith(f"{name}.") for axis in self.axes):
                        raise InvalidInput(field, self._describe_budget(), name)
                    continue
                entries[name] = value
            return entries
        if len(self.axes) > 1:
            raise InvalidInput(field, self._describe_budget(), budget)
        return {self.axes[0]: budget}

    def _describe_budget(self) -> str:
        if len(self.axes) == 1:
            return f"an integer of at least 0, or a mapping with the key {self.axes[0]}"
        return f"a mapping with keys of {', '.join(self.axes)}"


class SingleBlock(Family):
    """A noise that strikes each coordinate by itself, where every change looks alike."""

    @property
    @abstractmethod
    def block(self) -> Block:
        """What one changed coordinate shows."""

    @property
    def axes(self) -> tuple[str, ...]:
        return ("change",)

    @property
    def is_by_coordinate(self) -> bool:
        return True

    def perturbations(self, counts: Counts) -> Iterable[Perturbation]:
        (change,) = counts
        return (((self.block, change),),)


def _write(value: object) -> object:
    if isinstance(value, Family):
        return value.describe()
    return str(value) if isinstance(value, Fraction) else value


def _list_entries(budget: Mapping[str, Budget], path: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """The entries of a nested mapping by dotted names; mappings that are empty or too deep are left as they are."""
    for name, value in budget.items():
        if isinstance(value, Mapping) and value and depth < DEEPEST:
            yield from _list_entries(value, f"{path}{name}.", depth + 1)
        else:
            yield f"{path}{name}", value


def read_counts(family: Family, budget: Budget, field: str = "budget") -> Counts:
    """The budget as counts of a family, which must be one."""
    if not isinstance(family, Family):
        raise InvalidInput("family", "a family of noises, such as Sparse('0.01', '0.6')", family)
    return family.read_budget(budget, field)


def read_parameter(value: RationalLike, field: str) -> Fraction:
    """A probability strictly between 0 and 1, exact; a float is read as its shortest decimal."""
    fraction = read_shortest(value, field, _ALLOWED)
    if not 0 < fraction < 1 or fraction.denominator > _LARGEST_PART:
        raise InvalidInput(field, _ALLOWED, value)
    return fraction
