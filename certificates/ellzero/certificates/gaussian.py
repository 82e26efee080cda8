"""Gaussian noise N(0, σ²I): its ℓ2 radius, the ℓ0 radius that this implies on a grid, and the σ that matches an α.

A radius R certifies every ‖δ‖₂ < R. The doubles returned lie strictly below the exact R; p ≤ 1/2 abstains (None).
"""

from decimal import Decimal
from fractions import Fraction
from math import ceil, inf

from ellzero.certificates._balls import Undecided, arb, ball, bounds, decide, double_below, nearest_double
from ellzero.certificates.rounding import CeilingQuery
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import (
    RationalLike,
    read_digits,
    read_dimension,
    read_integer,
    read_positive,
    read_probability,
    read_shortest,
    scaled_decimal,
)

_HALF = Fraction(1, 2)
_CAP_BITS = 1_024
# Far more than the 1,000 digits that a threshold may have.
_CAP_BITS_OF_THRESHOLDS = 1 << 16


def gaussian_l2_radius(sigma: RationalLike, p: RationalLike) -> float | None:
    """The largest double below R = σ·Φ⁻¹(p); infinity at p = 1, where every δ is certified."""
    deviation, top = read_positive(sigma, "sigma"), read_probability(p, "p")
    if top <= _HALF:
        return None
    if top == 1:
        return inf
    return double_below(lambda _: ball(deviation) * normal_quantile(top))


def gaussian_l0_radius(sigma: RationalLike, p: RationalLike, d: int) -> int | None:
    """The largest r ≤ d with √r < σ·Φ⁻¹(p): what the ℓ2 certificate implies for inputs in {0, 1/K, …, 1}^d.

    Changing r coordinates moves such an input by at most √r, whatever K is.
    """
    deviation, top = read_positive(sigma, "sigma"), read_probability(p, "p")
    d = read_dimension(d)
    if top <= _HALF:
        return None
    if top == 1:
        return d

    def largest(bits: int) -> int:
        low, high = bounds((ball(deviation) * normal_quantile(top)) ** 2)
        if ceil(low) != ceil(high) and bits < _CAP_BITS:
            raise Undecided
        return max(ceil(low) - 1, 0)  # at the cap the smaller one, which is safe

    return min(d, decide(largest, 128, _CAP_BITS))


def gaussian_l0_threshold(sigma: RationalLike, r: int, digits: int = 20) -> Decimal:
    """The least decimal ≥ Φ(√r/σ), which p must exceed for `gaussian_l0_radius` to reach r: its τ_r."""
    deviation, r, digits = read_positive(sigma, "sigma"), read_integer(r, "r", 0), read_digits(digits)
    query = CeilingQuery(digits)
    if r == 0:
        return scaled_decimal(query.of_exact(1, 2).units, digits)
    if r >= 5 * digits * deviation**2:  # 0 < 1 − Φ(√r/σ) < exp(−r/(2σ²)) ≤ exp(−5/2·digits) < 10^-digits
        return scaled_decimal(query.scale, digits)
    if r * query.scale**2 <= deviation**2:  # 0 < Φ(√r/σ) − 1/2 < √r/σ·0.4 < 10^-digits
        return scaled_decimal(query.scale // 2 + 1, digits)
    bits = query.bits + 64
    # For r > 0 no decimal is known to be hit, and none would stay undecided unless it were.

    def ceiling(_: int) -> int:
        return query.of_ball(normal_cdf(-arb(r).sqrt() / ball(deviation))).units

    return scaled_decimal(decide(ceiling, bits, _CAP_BITS_OF_THRESHOLDS), digits)


def sigma_for_alpha(alpha: RationalLike) -> float:
    """σ = 1/(2Φ⁻¹(α)), α > 1/2: after Gaussian noise and rounding, a bit of {0, 1} is unchanged with probability α."""
    allowed = "a number strictly between 1/2 and 1"
    stay = read_shortest(alpha, "alpha", allowed)
    if not _HALF < stay < 1:
        raise InvalidInput("alpha", allowed, alpha)
    try:
        return nearest_double(lambda _: 1 / (2 * normal_quantile(stay)))
    except (Undecided, OverflowError):
        raise InvalidInput("alpha", f"{allowed}, and not so close to 1/2 that σ is not a double", alpha) from None


def alpha_for_sigma(sigma: RationalLike) -> float:
    """α = Φ(1/(2σ)), the inverse of `sigma_for_alpha`."""
    deviation = read_positive(sigma, "sigma")
    return nearest_double(lambda _: normal_cdf(1 / (2 * ball(deviation))))


def normal_cdf(x: arb) -> arb:
    """A ball for Φ(x)."""
    return (-x / arb(2).sqrt()).erfc() / 2


def normal_quantile(p: Fraction) -> arb:
    """A ball for Φ⁻¹(p), 1/2 < p < 1, accurate near 1 as well."""
    return arb(2).sqrt() * (2 * ball(1 - p)).erfcinv()
