"""Binomial tails P[Bin(n, q) ≥ k], compared with a bound rigorously.

The tail is the regularised incomplete beta function I_q(k, n−k+1), which FLINT encloses in milliseconds for n up
to 10^8. A comparison that stays open is an exact tie in all likelihood; it is decided in integers where they are
affordable.
"""

from fractions import Fraction
from functools import cached_property

from ellzero.certificates import cell
from ellzero.certificates._balls import Undecided, arb, ball, decided, sign
from ellzero.certificates._integers import divexact, mpz
from ellzero.certificates.engine import radius_bound
from ellzero.certificates.noise import Noise

MAX_VOTES = 10**8
FIRST_BITS = 64
# Where integers are affordable they are faster than many bits, and they settle ties.
_BITS_BEFORE_INTEGERS = 128
_CAP_BITS = 512
_EXACT_CELL_BITS = 16_384
# The size of all terms of an exact tail together: a second or so.
_AFFORDABLE_BITS = 1 << 33


class Chance:
    """The probability q of one success, as a ball at any precision and as an exact rational."""

    def __init__(self, exact: Fraction) -> None:
        self.exact = exact

    def ball(self, bits: int) -> arb:
        """A ball for q at working precision ``bits``."""
        return ball(self.exact)

    @property
    def size(self) -> int:
        """Bits of the denominator of q, at most."""
        return self.exact.denominator.bit_length()


class ThresholdChance(Chance):
    """τ_r as a chance; for large r its exact value, a fraction of r·log₂ z bits, is formed only if it must be."""

    def __init__(self, noise: Noise, r: int) -> None:
        self._noise = noise
        self._r = r
        self._balls: dict[int, arb] = {}

    @cached_property
    def exact(self) -> Fraction:  # type: ignore[override]
        return cell.threshold(self._noise, self._r)

    @property
    def size(self) -> int:
        return 2 * self._r * self._noise.weights.z.bit_length() + 2

    def ball(self, bits: int) -> arb:
        if bits not in self._balls:
            self._balls[bits] = self._computed(bits)
        return self._balls[bits]

    def _computed(self, bits: int) -> arb:
        if self.size <= _EXACT_CELL_BITS:
            return ball(self.exact)
        room = Fraction(1, 1 << bits)
        if not self._noise.is_flat and self._r >= radius_bound(self._noise, room):
            return 1 - arb(ball(room), ball(room))  # 1 − τ_r lies in (0, 2^-bits)
        try:
            return 1 - cell.complement_ball(self._noise, self._r, bits)
        except Undecided:  # the x-mass is 1/2 at the end of a region, exactly or almost
            return ball(self.exact)


def tail_ball(n: int, k: int, q: arb) -> arb:
    """A ball for P[Bin(n, q) ≥ k]."""
    if k <= 0:
        return arb(1)
    if k > n:
        return arb(0)
    if k == n:
        return q**n
    return q.beta_lower(k, n - k + 1, 1)


def compare_tail(n: int, k: int, chance: Chance, bound: Fraction) -> int | None:
    """−1, 0 or 1 as P[Bin(n, q) ≥ k] is below, equal to or above the bound.

    None where a tie can neither be excluded nor be checked at a bearable cost: nothing is proved then, and a caller
    must take the safe side.
    """

    def attempt(bits: int) -> int:
        return sign(tail_ball(n, k, chance.ball(bits)) - ball(bound))

    affordable = (n - k + 1) * n * chance.size <= _AFFORDABLE_BITS
    try:
        return decided(attempt, FIRST_BITS, _BITS_BEFORE_INTEGERS if affordable else _CAP_BITS)
    except Undecided:
        if not affordable:
            return None
    excess = exact_tail(n, k, chance.exact) - bound
    return (excess > 0) - (excess < 0)


def exact_tail(n: int, k: int, q: Fraction) -> Fraction:
    """P[Bin(n, q) ≥ k] as a rational, from j = n down: (n−k+1) integers of n·log₂(denominator) bits."""
    success, failure = q.numerator, q.denominator - q.numerator
    if k <= 0 or success == 0:
        return Fraction(k <= 0)
    term = total = mpz(success) ** n  # C(n, j)·success^j·failure^(n−j)
    for j in range(n, k, -1):
        term = divexact(term * (j * failure), (n - j + 1) * success)
        total += term
    return Fraction(int(total) if k <= n else 0, q.denominator**n)
