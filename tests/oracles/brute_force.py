"""Definitions carried out literally, on the whole space, in Fractions. Slow, and sharing no code with the product."""

from fractions import Fraction
from itertools import product
from math import comb


def outcomes(d: int, k: int, alpha: Fraction, r: int) -> list[tuple[Fraction, Fraction]]:
    """Probability under x = (0, …, 0) and under x̄ = (1, …, 1, 0, …, 0) of each of the (K+1)^d outcomes."""
    beta = (1 - alpha) / k
    x, xbar = (0,) * d, (1,) * r + (0,) * (d - r)
    masses = []
    for outcome in product(range(k + 1), repeat=d):
        under_x = under_xbar = Fraction(1)
        for value, at_x, at_xbar in zip(outcome, x, xbar, strict=True):
            under_x *= alpha if value == at_x else beta
            under_xbar *= alpha if value == at_xbar else beta
        masses.append((under_x, under_xbar))
    return masses


def rho(masses: list[tuple[Fraction, Fraction]], p: Fraction) -> Fraction:
    """The least probability under x̄ of a set (with a fraction of one outcome) of probability p under x."""
    return _fill(sorted(masses, key=lambda mass: mass[1] / mass[0]), p)


def rho_inverse(masses: list[tuple[Fraction, Fraction]], q: Fraction) -> Fraction:
    """The largest probability under x of a set of probability q under x̄."""
    exchanged = [(under_xbar, under_x) for under_x, under_xbar in masses]
    return _fill(sorted(exchanged, key=lambda mass: mass[0] / mass[1]), q)


def _fill(masses: list[tuple[Fraction, Fraction]], size: Fraction) -> Fraction:
    """The second mass of outcomes taken in order until their first mass is ``size``, the last of them in part."""
    total = Fraction(0)
    for first, second in masses:
        share = min(Fraction(1), size / first)
        size -= share * first
        total += share * second
    return total


def binomial_tail(n: int, k: int, q: Fraction) -> Fraction:
    """P[Bin(n, q) ≥ k]."""
    return sum((comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k, n + 1)), start=Fraction(0))
