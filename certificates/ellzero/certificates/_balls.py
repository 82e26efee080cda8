"""Rigorous enclosures: FLINT's ball arithmetic, with its working precision set in one place.

A ball always contains the exact value, whatever the precision; precision only decides how wide it is. So a
comparison that comes out true *is* true, and one that comes out neither way needs more bits.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import nextafter
from sys import float_info
from threading import RLock
from typing import TypeVar

from flint import arb, ctx, fmpz

from ellzero.core.cancellation import check_cancelled

__all__ = [
    "Undecided",
    "arb",
    "ball",
    "below",
    "bounds",
    "decide",
    "double_below",
    "fmpz",
    "nearest_double",
    "precision",
    "sign",
]

T = TypeVar("T")

_ctx_lock = RLock()


class Undecided(Exception):
    """The enclosures are too wide to decide. Never leaves the package: it is retried with more bits or in integers."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Round ball operations to ``bits`` inside the block.

    FLINT's precision is one global number, so threads take turns: another thread could not make a result wrong, but
    it could keep it too wide for ever. All long work in balls passes here, so this is where it can be stopped.
    """
    check_cancelled()
    with _ctx_lock, ctx.workprec(bits):
        yield


def ball(value: Fraction | int) -> arb:
    """The rational as a ball at the current precision."""
    return arb(fmpz(value.numerator)) / arb(fmpz(value.denominator))


def sign(value: arb) -> int:
    """−1 or 1, the sign of the enclosed number; Undecided when the ball contains 0."""
    if value > 0:
        return 1
    if value < 0:
        return -1
    raise Undecided


def bounds(value: arb) -> tuple[Fraction, Fraction]:
    """Rational lower and upper ends of the ball, at the current precision; Undecided when it is unbounded."""
    if not value.is_finite():
        raise Undecided
    return _as_fraction(value.lower()), _as_fraction(value.upper())


def decide(attempt: Callable[[int], T], start_bits: int, cap_bits: int) -> T:
    """``attempt(bits)`` at growing precision until it decides (Ziv's method); Undecided beyond the cap."""
    bits = start_bits
    while True:
        try:
            with precision(bits):
                return attempt(bits)
        except Undecided:
            if bits >= cap_bits:
                raise
            bits = min(2 * bits, cap_bits)


def below(value: Fraction) -> float:
    """The largest finite double strictly below ``value``, which must exceed the least one."""
    try:
        nearest = float(value)
    except OverflowError:
        return float_info.max
    return nearest if Fraction(nearest) < value else nextafter(nearest, float("-inf"))


def double_below(value: Callable[[int], arb], cap_bits: int = 1_024) -> float:
    """The largest double strictly below the positive number that ``value(bits)`` encloses.

    If the number may itself be a double, which no precision can rule out, the one certainly below it.
    """

    def attempt(bits: int) -> float:
        low, high = bounds(value(bits))
        if below(low) != below(high) and bits < cap_bits:
            raise Undecided
        return max(below(low), 0.0)

    return decide(attempt, 128, cap_bits)


def nearest_double(value: Callable[[int], arb], cap_bits: int = 1_024) -> float:
    """The double nearest to the number that ``value(bits)`` encloses."""

    def attempt(bits: int) -> float:
        low, high = bounds(value(bits))
        if float(low) != float(high) and bits < cap_bits:
            raise Undecided
        return float(low)

    return decide(attempt, 128, cap_bits)


def _as_fraction(point: arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
