"""Uniform noise on [−γ, γ]^d: the closed forms for ℓ1 and ℓ∞.

A radius R certifies every ‖δ‖ < R. The doubles returned are strictly below the exact R, so every ‖δ‖ up to and
including the double is certified; p ≤ 1/2 abstains (None).
"""

from fractions import Fraction

from ellzero.certificates._balls import arb, ball, below, double_below
from ellzero.core.numbers import RationalLike, read_dimension, read_positive, read_probability

_HALF = Fraction(1, 2)


def uniform_l1_radius(gamma: RationalLike, p: RationalLike) -> float | None:
    """The largest double below R = 2pγ − γ.

    >>> uniform_l1_radius(1, "0.75")
    0.49999999999999994
    """
    width, top = read_positive(gamma, "gamma"), read_probability(p, "p")
    return below(2 * top * width - width) if top > _HALF else None


def uniform_linf_radius(gamma: RationalLike, p: RationalLike, d: int) -> float | None:
    """The largest double below R = 2γ − 2γ·(3/2 − p)^(1/d), for inputs of d coordinates."""
    width, top = read_positive(gamma, "gamma"), read_probability(p, "p")
    d = read_dimension(d)
    if top <= _HALF:
        return None

    def exact(_: int) -> arb:
        return -2 * ball(width) * (ball(Fraction(3, 2) - top).log() / d).expm1()

    return double_below(exact)
