"""Gaussian noise rounded to bits: the discrete noise with K = 1, certified as Gaussian noise is.

N(0, σ²) added to a bit and rounded to the nearest bit leaves it with probability α = Φ(1/(2σ)), so both are one noise.
Its Gaussian certificate is valid, since rounding is part of the classifier, but not tight; the paper compares both.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import nextafter
from typing import Any

from ellzero.certificates import (
    Bounds,
    Votes,
    anytime_lower_bound,
    gaussian_l0_radius,
    gaussian_l2_radius,
    lower_bound,
    sigma_for_alpha,
)
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike
from ellzero.smoothing.noise.continuous import check_top_k
from ellzero.smoothing.noise.discrete import DiscreteNoise


class RoundedGaussianNoise(DiscreteNoise):
    """`DiscreteNoise` on bits, α > 1/2, with the certificate of the Gaussian noise N(0, σ²), σ = 1/(2Φ⁻¹(α)).

    With the same seed it draws the same samples as the discrete noise does, so the votes are the same.
    """

    def __init__(self, alpha: RationalLike) -> None:
        super().__init__(1, alpha)
        self._sigma()  # raises unless α > 1/2

    def description(self) -> Mapping[str, Any]:
        return {**super().description(), "family": "rounded-gaussian"}

    def radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        check_top_k(top_k)
        return gaussian_l0_radius(self._sigma(), lower_bound(votes), d)

    def anytime_radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        check_top_k(top_k)
        return gaussian_l0_radius(self._sigma(), anytime_lower_bound(votes), d)

    def two_class_radius(self, bounds: Bounds, d: int, top_k: int = 1) -> int | None:
        raise InvalidInput("runner_up", "false for continuous noise, whose certificates are those of one class", True)

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        l2 = gaussian_l2_radius(self._sigma(), bound)
        return {} if l2 is None else {"l2": l2}

    def _sigma(self) -> Fraction:
        """A rational just below σ: `sigma_for_alpha` rounds to nearest, and a larger σ would certify too much."""
        return Fraction(nextafter(sigma_for_alpha(self.noise.alpha), 0))
