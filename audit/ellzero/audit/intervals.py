"""Positive numbers between two bounds, in integers of Python: rounded down below and up above, so that nothing is lost.

Nothing here is shared with `ellzero.certificates`, which has its balls from FLINT.
"""

from fractions import Fraction
from functools import cache
from math import comb, isqrt
from typing import NamedTuple

BITS = 192  # of a bound
_FEW = 2_048  # of which binomial coefficients are multiplied out
_STIRLING_FROM = 64  # where the series below is within 2^-120
# B₂ⱼ/(2j(2j−1)), the coefficients of Stirling's series. Its error is below the first term that is left out, and has its
# sign.
_STIRLING = tuple(
    Fraction(bernoulli) / (2 * j * (2 * j - 1))
    for j, bernoulli in enumerate(
        ("1/6", "-1/30", "1/42", "-1/30", "5/66", "-691/2730", "7/6", "-3617/510", "43867/798", "-174611/330"), 1
    )
)


class PositiveInterval(NamedTuple):
    """A number from low·2^exponent to high·2^exponent, low > 0."""

    low: int
    high: int
    exponent: int

    def times(self, other: "PositiveInterval") -> "PositiveInterval":
        return _round(self.low * other.low, self.high * other.high, self.exponent + other.exponent)

    def over(self, other: "PositiveInterval") -> "PositiveInterval":
        shift = max(0, BITS + other.high.bit_length() - self.low.bit_length())
        low = (self.low << shift) // other.high
        high = -(-(self.high << shift) // other.low)
        return _round(low, high, self.exponent - other.exponent - shift)

    def power(self, count: int) -> "PositiveInterval":
        result, square = ONE, self
        while count:
            if count & 1:
                result = result.times(square)
            square = square.times(square)
            count >>= 1
        return result

    def root(self) -> "PositiveInterval":
        shift = 2 * BITS + (self.exponent & 1)
        low, high = self.low << shift, self.high << shift
        return _round(isqrt(low), isqrt(high) + 1, (self.exponent - shift) // 2)

    def is_below(self, bound: Fraction) -> bool:
        """Whether all of it is. False also where that is not known."""
        return _scaled_is_below(self.high, self.exponent, bound)

    def is_above(self, bound: Fraction) -> bool:
        """Whether all of it is. False also where that is not known."""
        return not _scaled_is_below(self.low, self.exponent, bound) and not _equals(self.low, self.exponent, bound)


ONE = PositiveInterval(1, 1, 0)


def enclose(value: Fraction) -> PositiveInterval:
    """A positive rational."""
    shift = max(0, BITS + value.denominator.bit_length() - value.numerator.bit_length())
    scaled = value.numerator << shift
    return _round(scaled // value.denominator, -(-scaled // value.denominator), -shift)


def enclose_binomial(n: int, k: int) -> PositiveInterval:
    """C(n, k), 0 ≤ k ≤ n: multiplied out where that is quick, otherwise by Stirling's series,

    C(n, k) = √(n/(2πk(n−k)))·(n/k)^k·(n/(n−k))^(n−k)·e^(s(n)−s(k)−s(n−k)),  s(m) = 1/(12m) − 1/(360m³) + …
    """
    k = min(k, n - k)
    if n <= _FEW or k < _STIRLING_FROM:
        return enclose(Fraction(comb(n, k)))
    powers = enclose(Fraction(n, k)).power(k).times(enclose(Fraction(n, n - k)).power(n - k))
    (n_low, n_high), (k_low, k_high), (rest_low, rest_high) = map(_stirling, (n, k, n - k))
    exponential = _exponential(n_low - k_high - rest_high, n_high - k_low - rest_low)
    return powers.times(enclose(Fraction(n, 2 * k * (n - k))).over(_pi()).root()).times(exponential)


def _round(low: int, high: int, exponent: int) -> PositiveInterval:
    excess = high.bit_length() - BITS
    if excess <= 0:
        return PositiveInterval(low, high, exponent)
    return PositiveInterval(low >> excess, -(-high >> excess), exponent + excess)


def _scaled_is_below(value: int, exponent: int, bound: Fraction) -> bool:
    """value·2^exponent < bound, without numbers as long as the exponent is large."""
    magnitude = value.bit_length() + exponent
    other = bound.numerator.bit_length() - bound.denominator.bit_length()
    if magnitude < other - 1:
        return True
    if magnitude > other + 2:
        return False
    left, right = value * bound.denominator, bound.numerator
    return left << exponent < right if exponent >= 0 else left < right << -exponent


def _equals(value: int, exponent: int, bound: Fraction) -> bool:
    if abs(value.bit_length() + exponent - bound.numerator.bit_length() + bound.denominator.bit_length()) > 2:
        return False
    return Fraction(value) * Fraction(2) ** exponent == bound


def _stirling(m: int) -> tuple[Fraction, Fraction]:
    """Bounds of s(m): two consecutive partial sums of a series whose signs alternate."""
    partial = sum(coefficient / m ** (2 * j + 1) for j, coefficient in enumerate(_STIRLING[:-1]))
    last = partial + _STIRLING[-1] / m ** (2 * len(_STIRLING) - 1)
    return min(partial, last), max(partial, last)


def _exponential(low: Fraction, high: Fraction) -> PositiveInterval:
    """e^x for |x| < 1/10: a partial sum in fixed point, with an error of less than 2^(7−2·BITS)."""
    grid, room = 2 * BITS, 1 << 7
    ends = (low.numerator << grid) // low.denominator, -((-high.numerator << grid) // high.denominator)
    sums = []
    for x in ends:
        term = total = 1 << grid
        for j in range(1, 2 * BITS):  # |x|^j/j! is below 2^-2·BITS long before that
            term = (term * x >> grid) // j
            if term in (0, -1):
                break
            total += term
        sums.append(total)
    return _round(sums[0] - room, sums[1] + room, -grid)


@cache
def _pi() -> PositiveInterval:
    """Machin: π = 16·arctan(1/5) − 4·arctan(1/239), in fixed point with an error of less than 2^-BITS."""
    grid = BITS + 64

    def arctan(inverse: int) -> int:
        power, total, j = (1 << grid) // inverse, 0, 0
        while power:
            total += (power if j % 2 == 0 else -power) // (2 * j + 1)
            power //= inverse * inverse
            j += 1
        return total

    near = 16 * arctan(5) - 4 * arctan(239)
    return _round(near - (1 << 32), near + (1 << 32), -grid)
