"""Binomial tails P[Bin(n, q) ≥ k], compared with a bound rigorously.

A comparison takes balls for the tail, wide ones first, until one decides: a tenth of a millisecond for n up to 10^8.
One that stays undecided is almost certainly an exact tie; it is decided in integers where they are affordable.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

from ellzero.certificates import single_threshold
from ellzero.certificates._balls import Undecided, arb, ball, decide
from ellzero.certificates._integers import divexact, mpz
from ellzero.certificates.exact_thresholds import radius_bound
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.tail_fraction import upper_tail_balls

MAX_VOTES = 10**8
FIRST_BITS = 64
# Where integers are affordable they are faster than many bits, and they settle ties.
_BITS_BEFORE_INTEGERS = 128
_CAP_BITS = 512
_EXACT_CELL_BITS = 16_384
# The size of one term of an exact tail, and of all of them together: a second or so.
_AFFORDABLE_TERM_BITS = 1 << 26
_AFFORDABLE_BITS = 1 << 33


class SuccessProbability:
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


class ThresholdProbability(SuccessProbability):
    """τ_r as a success probability; for large r its exact value, a fraction of r·log₂ z bits, is formed only if needed.

    ``within``, if given, is a closed interval that contains τ_r: it saves the first attempt all of the work.
    """

    def __init__(self, noise: Discrete, r: int, within: tuple[Fraction, Fraction] | None = None) -> None:
        self._noise = noise
        self._r = r
        self._within = within
        self._balls: dict[int, arb] = {}

    @cached_property
    def exact(self) -> Fraction:  # type: ignore[override]
        return single_threshold.threshold(self._noise, self._r)

    @property
    def size(self) -> int:
        return 2 * self._r * self._noise.weights.z.bit_length() + 2

    def ball(self, bits: int) -> arb:
        if bits not in self._balls:
            self._balls[bits] = self._compute_ball(bits)
        return self._balls[bits]

    def _compute_ball(self, bits: int) -> arb:
        if self._within is not None and bits <= FIRST_BITS:
            low, high = self._within
            return arb(ball((low + high) / 2), ball((high - low) / 2))
        if self.size <= _EXACT_CELL_BITS:
            return ball(self.exact)
        room = Fraction(1, 1 << bits)
        if not self._noise.is_flat and self._r >= radius_bound(self._noise, room):
            return 1 - arb(ball(room), ball(room))  # 1 − τ_r lies in (0, 2^-bits)
        try:
            return 1 - single_threshold.complement_ball(self._noise, self._r, bits)
        except Undecided:  # the x-mass is 1/2 at the end of a region, exactly or almost
            return ball(self.exact)


def tail_ball(n: int, k: int, q: arb) -> arb:
    """A ball for P[Bin(n, q) ≥ k], as narrow as the precision allows."""
    *_, narrowest = _tail_balls(n, k, q)
    return narrowest


def _tail_balls(n: int, k: int, q: arb) -> Iterator[arb]:
    """Balls for P[Bin(n, q) ≥ k], from cheap and wide to costly and narrow."""
    if k <= 0 or k > n:
        yield arb(k <= 0)
    elif n * q < k:
        yield from upper_tail_balls(n, k, q)
    else:  # fewer than k successes are more than n−k failures
        for missing in upper_tail_balls(n, n - k + 1, 1 - q):
            yield 1 - missing


def _smaller_tail_balls(n: int, k: int, q: arb, bound: Fraction) -> tuple[Iterator[arb], int]:
    """Balls for P[Bin(n, q) ≥ k] and 1, or for P[Bin(n, q) < k] and −1.

    The smaller of the two tails, so that few bits suffice for a bound close to 1 as well.
    """
    if k <= 0 or k > n:
        return _tail_balls(n, k, q), 1
    if k == n and 2 * bound > 1:
        return iter([-(n * q.log()).expm1()]), -1  # 1 − q^n
    if n * q < k:
        return upper_tail_balls(n, k, q), 1
    return upper_tail_balls(n, n - k + 1, 1 - q), -1


def compare_tail(n: int, k: int, probability: SuccessProbability, bound: Fraction) -> int | None:
    """−1, 0 or 1 as P[Bin(n, q) ≥ k] is below, equal to or above the bound.

    None if a tie can neither be excluded nor checked at an acceptable cost: then nothing is proved, and the caller
    must err on the safe side.
    """

    def attempt(bits: int) -> int:
        q = probability.ball(bits)
        tails, side = _smaller_tail_balls(n, k, q, bound)
        limit = ball(bound if side == 1 else 1 - bound)
        for tail in tails:
            if tail < limit:
                return -side
            if tail > limit:
                return side
        raise Undecided

    term = n * probability.size
    affordable = term <= _AFFORDABLE_TERM_BITS and (n - k + 1) * term <= _AFFORDABLE_BITS
    try:
        return decide(attempt, FIRST_BITS, _BITS_BEFORE_INTEGERS if affordable else _CAP_BITS)
    except Undecided:
        if not affordable:
            return None
    excess = exact_tail(n, k, probability.exact) - bound
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
