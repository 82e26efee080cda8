"""Noises that hide coordinates: a hidden one shows nothing of its value, and a visible one is as it is.

An outcome that shows a changed coordinate tells x from x̄ for certain, so every certificate here has a closed form:
with S the probability that all changed coordinates are hidden, ρ(p) = max(0, p − (1−S)) and τ = min(1, 3/2 − S).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import ClassVar

from ellzero.certificates.families.base import Counts, Family, SingleBlock, read_parameter
from ellzero.certificates.products import Block, Perturbation, check_size
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_dimension, read_integer

_STEPS_OF_CHOICES = 1 << 10  # C(d, keep) takes far longer than writing its digits


@dataclass(frozen=True, init=False, repr=False)
class Mask(SingleBlock):
    """Each coordinate is hidden with probability ``m``, independently: replaced by a symbol that no input has.

    Zeng et al.: *Certified Robustness to Text Adversarial Attacks by Randomized [MASK]*, 2021,
    https://arxiv.org/abs/2105.03743.
    """

    name: ClassVar[str] = "mask"
    m: Fraction

    def __init__(self, m: RationalLike) -> None:
        object.__setattr__(self, "m", read_parameter(m, "m"))

    @cached_property
    def block(self) -> Block:
        return hide(self.m)


@dataclass(frozen=True, init=False, repr=False)
class Deletion(Family):
    """Sequences: each symbol is deleted with probability ``m``. The budget ``edit`` counts insertions, deletions and
    substitutions together: it is an edit distance.

    r substitutions are the worst of r edits, and they are certified as r masked coordinates are (docs/mathematics.md).
    Huang et al.: *RS-Del: Edit Distance Robustness Certificates for Sequence Classifiers via Randomized Deletion*,
    NeurIPS 2023, https://arxiv.org/abs/2302.01757.
    """

    name: ClassVar[str] = "deletion"
    m: Fraction

    def __init__(self, m: RationalLike) -> None:
        object.__setattr__(self, "m", read_parameter(m, "m"))

    @property
    def axes(self) -> tuple[str, ...]:
        return ("edit",)

    def perturbations(self, counts: Counts) -> Iterable[Perturbation]:
        (edit,) = counts
        return (((self._block, edit),),)

    @cached_property
    def _block(self) -> Block:
        return hide(self.m)


@dataclass(frozen=True, init=False, repr=False)
class Ablation(Family):
    """Of ``d`` coordinates ``keep`` are shown, chosen uniformly; all others are hidden.

    Not independent for each coordinate: r changed ones are one block, hidden together with probability
    C(d−r, keep)/C(d, keep). Levine and Feizi: *Robustness Certificates for Sparse Adversarial Attacks by Randomized
    Ablation*, AAAI 2020, https://arxiv.org/abs/1911.09272.
    """

    name: ClassVar[str] = "ablation"
    d: int
    keep: int

    def __init__(self, d: int, keep: int) -> None:
        object.__setattr__(self, "d", read_dimension(d))
        object.__setattr__(self, "keep", read_integer(keep, "keep", 1, self.d))

    @property
    def axes(self) -> tuple[str, ...]:
        return ("change",)

    @property
    def most(self) -> tuple[int | None, ...]:
        return (self.d,)

    def perturbations(self, counts: Counts) -> Iterable[Perturbation]:
        (change,) = counts
        return (((hide(self._hidden(change)), min(change, 1)),),)

    def _hidden(self, change: int) -> Fraction:
        """C(d−r, keep)/C(d, keep), as a product over the smaller of r and keep."""
        if change > self.d - self.keep:
            return Fraction(0)
        check_size(min(change, self.keep) * self.d.bit_length(), _STEPS_OF_CHOICES, change)  # S ≤ e^-8 beyond
        if change <= self.keep:
            return Fraction(comb(self.d - self.keep, change), comb(self.d, change))
        return Fraction(comb(self.d - change, self.keep), comb(self.d, self.keep))


@dataclass(frozen=True, init=False, repr=False)
class Hierarchical(Family):
    """Each coordinate is struck with probability ``s`` by the noise ``base``, and otherwise left as it is; which ones
    were struck is shown to the classifier.

    The budgets are those of the base. Scholten, Schuchardt, Bojchevski and Günnemann: *Hierarchical Randomized
    Smoothing*, NeurIPS 2023, https://arxiv.org/abs/2310.16221.
    """

    name: ClassVar[str] = "hierarchical"
    base: Family
    s: Fraction

    def __init__(self, base: Family, s: RationalLike) -> None:
        if not isinstance(base, Family) or not base.is_by_coordinate:
            raise InvalidInput("base", "a family of noises that strike each coordinate by itself", base)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "s", read_parameter(s, "s"))

    @property
    def axes(self) -> tuple[str, ...]:
        return self.base.axes

    @property
    def most(self) -> tuple[int | None, ...]:
        return self.base.most

    @property
    def is_by_coordinate(self) -> bool:
        return True

    def perturbations(self, counts: Counts) -> Iterable[Perturbation]:
        for perturbation in self.base.perturbations(counts):
            yield tuple((self._strike(block), count) for block, count in perturbation)

    def _strike(self, block: Block) -> Block:
        left = 1 - self.s
        return Block([(left, 0), (0, left), *((self.s * x, self.s * xbar) for x, xbar in block.outcomes)])


def hide(probability: Fraction) -> Block:
    """A coordinate that is seen, which tells x from x̄, or hidden with this probability."""
    return Block([(1 - probability, 0), (0, 1 - probability), (probability, probability)])
