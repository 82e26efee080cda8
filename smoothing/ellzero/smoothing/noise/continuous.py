"""Gaussian and uniform noise with their certificates, which the paper compares with.

Inputs are levels 0..k, seen as values in {0, 1/k, …, 1}; noise is in units of the whole range, so changing r
coordinates moves an input by at most r in ℓ1 and √r in ℓ2. Unlike the discrete noise these are drawn in floating point
(float64, rounded to the float32 that models take): their certificates are those of the ideal noise.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor, prod
from typing import Any, ClassVar

from numpy.typing import NDArray

from ellzero.certificates import (
    Bounds,
    Votes,
    anytime_lower_bound,
    gaussian_l0_radius,
    gaussian_l2_radius,
    lower_bound,
    uniform_l1_radius,
    uniform_linf_radius,
)
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer, read_shortest
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape

_SMALLEST, _LARGEST = Fraction(1, 10**300), Fraction(10**300)


@dataclass(frozen=True, init=False)
class _Continuous(ABC):
    """What both families share. A radius follows from the lower bound of p, a double rounded down."""

    family: ClassVar[str]
    parameter: ClassVar[str]
    width: Fraction
    levels: int

    def __init__(self, width: RationalLike, *, k: int = 255) -> None:
        allowed = "a number above 0 that a double can hold, such as 0.5 or 1/2"
        number = read_shortest(width, self.parameter, allowed)
        if not _SMALLEST <= number <= _LARGEST:
            raise InvalidInput(self.parameter, allowed, width)
        object.__setattr__(self, "width", number)
        object.__setattr__(self, "levels", read_integer(k, "k", 1) + 1)

    @property
    def sample_levels(self) -> int:
        return self.levels

    @property
    def tag(self) -> str:
        return f"{self.family} k={self.levels - 1} {self.parameter}={self.width}"

    def description(self) -> Mapping[str, Any]:
        return {
            "family": self.family,
            self.parameter: str(self.width),
            "k": self.levels - 1,
            "unit": "coordinate",
            "levels": self.levels,
        }

    def check_shape(self, shape: Shape) -> None:  # noqa: B027  # there is nothing to check
        """Inputs can have any shape."""

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        return batch

    @property
    def strikes_independently(self) -> bool:
        return True

    def unit_shape(self, shape: Shape) -> Shape:
        return shape

    def dimension(self, shape: Shape) -> int:
        return prod(shape)

    def sample(self, x: Array, source: RandomSource, count: int) -> Array:
        return self.sample_batch(source.expand(x, (count, *x.shape)), source)

    def sample_batch(self, batch: Array, source: RandomSource) -> Array:
        values = source.cast(source.array(batch), "float32")
        values /= self.levels - 1
        samples = self._sample_unit(source, prod(batch.shape)).reshape(batch.shape)
        samples *= float(self.width)
        samples += values
        return samples

    def radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        check_top_k(top_k)
        return self._radius_of(lower_bound(votes), d)

    def anytime_radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        check_top_k(top_k)
        return self._radius_of(anytime_lower_bound(votes), d)

    def two_class_radius(self, bounds: Bounds, d: int, top_k: int = 1) -> int | None:
        raise InvalidInput("runner_up", "false for continuous noise, whose certificates are those of one class", True)

    @abstractmethod
    def _sample_unit(self, source: RandomSource, count: int) -> Array:
        """Numbers of the family with σ or γ = 1."""

    @abstractmethod
    def _radius_of(self, bound: float, d: int) -> int | None:
        """The ℓ0 radius that a lower bound of p certifies."""


class GaussianNoise(_Continuous):
    """N(0, σ²) added to every coordinate. Certifies ℓ2 radii (Cohen et al.), and by √r < R an ℓ0 radius."""

    family = "gaussian"
    parameter = "sigma"

    def _sample_unit(self, source: RandomSource, count: int) -> Array:
        return source.normals(count)

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        l2 = gaussian_l2_radius(self.width, bound)
        return {} if l2 is None else {"l2": l2}

    def _radius_of(self, bound: float, d: int) -> int | None:
        return gaussian_l0_radius(self.width, bound, d)


class UniformNoise(_Continuous):
    """Uniform noise on [−γ, γ] added to every coordinate. Certifies ℓ1 and ℓ∞ radii, and by r < R₁ an ℓ0 radius."""

    family = "uniform"
    parameter = "gamma"

    def _sample_unit(self, source: RandomSource, count: int) -> Array:
        return source.uniforms(count)

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        l1, linf = uniform_l1_radius(self.width, bound), uniform_linf_radius(self.width, bound, d)
        return {} if l1 is None or linf is None else {"l1": l1, "linf": linf}

    def _radius_of(self, bound: float, d: int) -> int | None:
        l1 = uniform_l1_radius(self.width, bound)  # below the exact radius R₁, so that r ≤ l1 implies r < R₁
        return None if l1 is None else min(d, floor(l1))


def check_top_k(top_k: int) -> None:
    """Raise unless the class is to remain the most probable one: these certificates know no other rule."""
    if top_k != 1:
        raise InvalidInput("top_k", "1 for continuous noise, whose certificates are those of one class", top_k)
