"""What noises of a family of `ellzero.certificates` share: their certificates are those of the family."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from typing import Any

from numpy.typing import NDArray

from ellzero.certificates import (
    Bounds,
    Family,
    Total,
    Votes,
    anytime_certified,
    certified,
    certified_from_votes,
)
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape


class FamilyNoise(ABC):
    """Noise whose certificates are those of a family, with a radius R: at most R changes of any kinds.

    What votes say of each kind of change by itself, `Certified.budgets` gives for the same votes. Samples have
    ``extra_levels`` levels beyond those of inputs.
    """

    def __init__(self, family: Family, levels: int, extra_levels: int = 0) -> None:
        self._family = family
        self._total = family if len(family.axes) == 1 else Total(family)
        self._levels = levels
        self._extra_levels = extra_levels

    @property
    def noise(self) -> Family:
        """The family, which says what votes under this noise certify."""
        return self._family

    @property
    def levels(self) -> int:
        return self._levels

    @property
    def sample_levels(self) -> int:
        return self._levels + self._extra_levels

    @property
    def tag(self) -> str:
        return f"{self._family} levels={self._levels}"

    def description(self) -> Mapping[str, Any]:
        return {**self._family.describe(), "levels": self._levels}

    def check_shape(self, shape: Shape) -> None:
        return

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        self.check_shape(batch.shape[1:])
        return batch

    @property
    def strikes_independently(self) -> bool:
        return True

    def unit_shape(self, shape: Shape) -> Shape:
        return shape

    def dimension(self, shape: Shape) -> int:
        return prod(shape)

    def sample(self, x: Array, source: RandomSource, count: int) -> Array:
        return self._sample_noisy(x, x.shape, source, count)

    def sample_batch(self, batch: Array, source: RandomSource) -> Array:
        return self._sample_noisy(batch, batch.shape[1:], source, len(batch))

    def radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        return as_radius(certified_from_votes(self._total, votes, d, top_k=top_k))

    def anytime_radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        return as_radius(anytime_certified(self._total, votes, d, top_k=top_k))

    def two_class_radius(self, bounds: Bounds, d: int, top_k: int = 1) -> int | None:
        return as_radius(certified(self._total, bounds.lower, d, p_b=bounds.upper, top_k=top_k))

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        return {}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, FamilyNoise) and self.description() == other.description())

    def __hash__(self) -> int:
        return hash(self.tag)

    @abstractmethod
    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        """``count`` noisy inputs of this shape, from x or from each row of x, exactly by the law of the family."""


def as_radius(budgets: object) -> int | None:
    """The answer for a single kind of change."""
    if budgets is None or isinstance(budgets, int):
        return budgets
    raise TypeError(budgets)
