"""Noises that treat zeros and non-zeros differently, for sparse data such as graphs and bags of words.

Bojchevski, Klicpera and Günnemann: *Efficient Robustness Certificates for Discrete Data: Sparsity-Aware Randomized
Smoothing for Graphs, Images and More*, ICML 2020, https://arxiv.org/abs/2008.12952.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ellzero.certificates.families.base import Counts, Family, read_parameter
from ellzero.certificates.families.discrete import MAX_K
from ellzero.certificates.products import Block, Perturbation
from ellzero.core.numbers import RationalLike, read_integer


@dataclass(frozen=True, init=False, repr=False)
class Sparse(Family):
    """Bits: a 0 becomes 1 with probability ``p_add``, a 1 becomes 0 with probability ``p_del``.

    The budget has two kinds of change: ``add``, zeros that become ones, and ``delete``, ones that become zeros. For
    both together the regions lie on a line, r_add + r_delete + 1 of them.
    """

    name: ClassVar[str] = "sparse"
    p_add: Fraction
    p_del: Fraction

    def __init__(self, p_add: RationalLike, p_del: RationalLike) -> None:
        object.__setattr__(self, "p_add", read_parameter(p_add, "p_add"))
        object.__setattr__(self, "p_del", read_parameter(p_del, "p_del"))

    @property
    def axes(self) -> tuple[str, ...]:
        return ("add", "delete")

    @property
    def is_by_coordinate(self) -> bool:
        return True

    def perturbations(self, counts: Counts) -> Iterable[Perturbation]:
        add, delete = counts
        return (((self._added, add), (self._deleted, delete)),)

    @cached_property
    def _added(self) -> Block:
        """x has 0, x̄ has 1: the noisy bit is 1 or 0."""
        return Block([(self.p_add, 1 - self.p_del), (1 - self.p_add, self.p_del)])

    @cached_property
    def _deleted(self) -> Block:
        return self._added.exchanged


@dataclass(frozen=True, init=False, repr=False)
class SparseLevels(Family):
    """Values 0…K: a 0 becomes non-zero with probability ``p_add``, a non-zero value changes with probability ``p_del``.

    Which of the K other values it becomes is uniform. The budget has three kinds of change: ``add`` (0 to non-zero),
    ``delete`` (non-zero to 0) and ``change`` (non-zero to another non-zero). K = 1 is `Sparse`, without ``change``.
    """

    name: ClassVar[str] = "sparse-levels"
    k: int
    p_add: Fraction
    p_del: Fraction

    def __init__(self, k: int, p_add: RationalLike, p_del: RationalLike) -> None:
        object.__setattr__(self, "k", read_integer(k, "k", 1, MAX_K))
        object.__setattr__(self, "p_add", read_parameter(p_add, "p_add"))
        object.__setattr__(self, "p_del", read_parameter(p_del, "p_del"))

    @property
    def axes(self) -> tuple[str, ...]:
        return ("add", "delete", "change")

    @property
    def is_by_coordinate(self) -> bool:
        return True

    @property
    def most(self) -> tuple[int | None, ...]:
        return None, None, 0 if self.k == 1 else None

    def perturbations(self, counts: Counts) -> Iterable[Perturbation]:
        add, delete, change = counts
        return (((self._added, add), (self._deleted, delete), (self._changed, change)),)

    @cached_property
    def _added(self) -> Block:
        """x has 0, x̄ has v: the noisy value is 0, v or one of the K − 1 others."""
        up, down = self.p_add / self.k, self.p_del / self.k
        return Block([(1 - self.p_add, down), (up, 1 - self.p_del), ((self.k - 1) * up, (self.k - 1) * down)])

    @cached_property
    def _deleted(self) -> Block:
        return self._added.exchanged

    @cached_property
    def _changed(self) -> Block:
        """x has v, x̄ has w: the noisy value is v, w or one of the K − 1 others, 0 among them."""
        stay, move = 1 - self.p_del, self.p_del / self.k
        return Block([(stay, move), (move, stay), ((self.k - 1) * move, (self.k - 1) * move)])
