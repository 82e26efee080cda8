"""Queries of 1 − τ_r, always answered on the safe side: decimal ceilings, least doubles, comparisons with p.

Each class is a `recurrence.ThresholdQuery`: it answers for an exact fraction, and for a ball whenever all numbers in
the ball have the same answer.
"""

from fractions import Fraction
from typing import NamedTuple

from ellzero.certificates._balls import Undecided, arb, ball, fmpz

DOUBLE_BITS = 53  # doubles in [1/2, 1] lie 2^-53 apart


class Ceiling(NamedTuple):
    """⌈τ·10^digits⌉, and whether τ is that decimal exactly."""

    units: int
    exact: bool


class Row(NamedTuple):
    """Everything a table stores of one threshold."""

    ceiling: Ceiling
    min_p: float


class CeilingQuery:
    """The least decimal ≥ τ with ``digits`` digits after the point."""

    def __init__(self, digits: int) -> None:
        self.scale = 10**digits
        self.bits = self.scale.bit_length()
        self._scale = fmpz(self.scale)

    def of_exact(self, numerator: int, denominator: int) -> Ceiling:
        units, rest = divmod(self.scale * numerator, denominator)
        return Ceiling(self.scale - int(units), rest == 0)

    def of_ball(self, complement: arb) -> Ceiling:
        return Ceiling(self.scale - _floor_between_integers(complement * self._scale), False)


class LeastDoubleQuery:
    """The least double p with p > τ: a double certifies the radius iff it is at least this one."""

    bits = DOUBLE_BITS
    _scale = fmpz(1 << DOUBLE_BITS)

    def of_exact(self, numerator: int, denominator: int) -> float:
        return self._strictly_above(-(-numerator * (1 << DOUBLE_BITS) // denominator))

    def of_ball(self, complement: arb) -> float:
        return self._strictly_above(_floor_between_integers(complement * self._scale) + 1)

    @staticmethod
    def _strictly_above(complement_ceiling: int) -> float:
        """(⌊τ·2^53⌋ + 1)/2^53 with ⌊τ·2^53⌋ = 2^53 − ⌈(1−τ)·2^53⌉: a double, since 1/2 ≤ τ < 1."""
        return float(int((1 << DOUBLE_BITS) + 1 - complement_ceiling)) * 2.0**-DOUBLE_BITS


class RowQuery:
    """Both of the above."""

    def __init__(self, digits: int) -> None:
        self._ceiling = CeilingQuery(digits)
        self._double = LeastDoubleQuery()
        self.bits = max(self._ceiling.bits, self._double.bits)

    def of_exact(self, numerator: int, denominator: int) -> Row:
        return Row(self._ceiling.of_exact(numerator, denominator), self._double.of_exact(numerator, denominator))

    def of_ball(self, complement: arb) -> Row:
        return Row(self._ceiling.of_ball(complement), self._double.of_ball(complement))


class ExceedsQuery:
    """Whether p > τ, for any rational p < 1."""

    def __init__(self, p: Fraction) -> None:
        self._room = 1 - p
        self.bits = self._room.denominator.bit_length() - self._room.numerator.bit_length() + DOUBLE_BITS

    def of_exact(self, numerator: int, denominator: int) -> bool:
        return int(numerator) * self._room.denominator > self._room.numerator * int(denominator)

    def of_ball(self, complement: arb) -> bool:
        room = ball(self._room)
        if complement > room:
            return True
        if complement <= room:
            return False
        raise Undecided


def _floor_between_integers(value: arb) -> int:
    """⌊value⌋ for a ball that contains no integer, so that its floor is also its ceiling − 1."""
    if value.contains_integer():
        raise Undecided
    floor = value.floor().unique_fmpz()
    if floor is None:
        raise Undecided
    return int(floor)
