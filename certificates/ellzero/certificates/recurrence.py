"""A whole column τ_0, τ_1, τ_2, … at O(1) operations per radius.

Let s be the smallest integer with F_r(s) ≥ 1/2, F_r(x) = Σ_{t≤x} P_r(t)/z^r, and w = (b/a)^s. Then

    1 − τ_r = F_r(−s) − w·(1/2 − F_r(s−1)).

A step takes P(s−1), P(s), F(s−1), F(−s) from r to r+1 and moves s by one where needed. By the three-term
recurrence (docs/mathematics.md) it adds positive terms only, so it loses no accuracy:

    (r+2−s)·P_{r+1}(s−1) = (r+1)·(m·P_r(s−1) + 2b·P_r(s))
    (r+1+s)·P_{r+1}(s)   = (r+1)·(2a·P_r(s−1) + m·P_r(s)).

Small radii are computed in exact integers, the rest in balls of fixed precision. A query that a ball cannot answer is
retried with more bits, and in the end in exact integers, so the answer is always that of exact arithmetic.
"""

from collections.abc import Iterator
from math import log2
from typing import Protocol, TypeVar

from ellzero.certificates import single_threshold
from ellzero.certificates._balls import Undecided, arb, ball, precision
from ellzero.certificates._integers import divexact, mpz
from ellzero.certificates.families.discrete import Discrete, Weights

A_co = TypeVar("A_co", covariant=True)

# Up to this size exact integers are as fast as balls, and they settle the exact decimals of small radii.
EXACT_BITS = 2_048
_GUARD_BITS = 64
# Radii per setting of the precision; results are yielded between blocks.
_BLOCK = 64
# How often the precision may be doubled before a tie is taken for exact.
_MOST_GROWTH = 16


class ThresholdQuery(Protocol[A_co]):
    """A question about 1 − τ_r."""

    @property
    def bits(self) -> int:
        """The resolution of the query: every 1 − τ_r in (0, 2^-bits) has the same answer."""

    def of_exact(self, numerator: int, denominator: int) -> A_co:
        """The answer for 1 − τ_r = numerator/denominator."""

    def of_ball(self, complement: arb) -> A_co:
        """The answer that every number in the ball has; Undecided when they differ."""


def iter_answers(noise: Discrete, query: ThresholdQuery[A_co], r_end: int) -> Iterator[A_co]:
    """The answers for r = 0, 1, 2, … in order, without end; exact for every r.

    ``r_end`` is how far the caller is likely to read: it only sets the initial precision.
    """
    if noise.is_flat:
        while True:
            yield query.of_exact(1, 2)
    start = ExactRecurrence(noise.weights.descending)
    exact_bits = max(EXACT_BITS, 4 * query.bits)
    while start.total.bit_length() <= exact_bits:
        yield query.of_exact(*start.complement())
        start.step()
    first_bits = query.bits + _GUARD_BITS + _expected_loss(start.weights, r_end)
    bits, r = first_bits, start.r
    while True:
        for block in _blocks(noise, query, start, bits, r):
            yield from block
            r += len(block)
        bits *= 2
        if bits > _MOST_GROWTH * first_bits:
            # F is exactly 1/2, which no ball can tell: do that radius in integers.
            while start.r < r:
                start.step()
            bits = first_bits


def iter_answers_exactly(noise: Discrete, query: ThresholdQuery[A_co]) -> Iterator[A_co]:
    """`iter_answers` in integers alone: slower as r grows; `iter_answers` is tested against it."""
    state = ExactRecurrence(noise.weights.descending)
    while True:
        yield query.of_exact(*state.complement())
        state.step()


class ExactRecurrence:
    """(P(s−1), P(s), F(s−1), F(−s)) in integers, units of z^-r, and the same places under x̄, Q(t) = P(−t)."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.r = self.s = 0
        self.total = mpz(1)
        self.p0, self.p1 = mpz(0), mpz(1)
        self.q0, self.q1 = mpz(0), mpz(1)
        self.left = mpz(0)  # F(s−1)
        self.tail = mpz(1)  # F(−s)

    def complement(self) -> tuple[int, int]:
        """1 − τ_r as numerator and denominator."""
        twice_room = self.total - 2 * self.left
        return 2 * self.tail * self.p1 - self.q1 * twice_room, 2 * self.total * self.p1

    def step(self) -> None:
        """From r to r+1."""
        a, m, b, z = self.weights
        p0, p1, q0, q1 = self.p0, self.p1, self.q0, self.q1
        self.r = r = self.r + 1
        down, up = r + 1 - self.s, r + self.s
        self.left = z * self.left - a * p0 + b * p1
        self.tail = z * self.tail - a * q1 + b * q0
        self.total *= z
        self.p0 = divexact(r * (m * p0 + 2 * b * p1), down)
        self.p1 = divexact(r * (2 * a * p0 + m * p1), up)
        self.q0 = divexact(r * (m * q0 + 2 * a * q1), down)
        self.q1 = divexact(r * (2 * b * q0 + m * q1), up)
        while 2 * self.left >= self.total:
            self._lower()
        while 2 * (self.left + self.p1) < self.total:
            self._raise()

    def _lower(self) -> None:
        """From s to s−1."""
        a, m, b, _ = self.weights
        self.left -= self.p0
        self.tail += self.q0
        up, here, down = self.r + self.s, m * (self.s - 1), self.r - self.s + 2
        self.p0, self.p1 = divexact(b * up * self.p1 + here * self.p0, a * down), self.p0
        self.q0, self.q1 = divexact(a * up * self.q1 + here * self.q0, b * down), self.q0
        self.s -= 1

    def _raise(self) -> None:
        """From s to s+1."""
        a, m, b, _ = self.weights
        self.left += self.p1
        self.tail -= self.q1
        up, here, down = self.r + self.s + 1, m * self.s, self.r - self.s + 1
        self.p0, self.p1 = self.p1, divexact(a * down * self.p0 - here * self.p1, b * up)
        self.q0, self.q1 = self.q1, divexact(b * down * self.q0 - here * self.q1, a * up)
        self.s += 1


class BallRecurrence:
    """The recurrence in probabilities, each a ball, from an exact state on. Q(t) = (b/a)^t·P(t) needs no state.

    Runs at the precision that the caller has set. Raises Undecided if that cannot tell how s moves.
    """

    def __init__(self, start: ExactRecurrence) -> None:
        a, m, b, z = start.weights
        self.r, self.s = start.r, start.s
        self.alpha, self.mu, self.beta = arb(a) / z, arb(m) / z, arb(b) / z
        self.half, self.ratio = arb(1) / 2, arb(b) / a
        total = ball(int(start.total))
        self.p0, self.p1 = ball(int(start.p0)) / total, ball(int(start.p1)) / total
        self.tail = ball(int(start.tail)) / total
        self.room = self.half - ball(int(start.left)) / total  # 1/2 − F(s−1)
        self.likelihood = self.ratio**self.s  # (b/a)^s

    def complement(self) -> arb:
        """A ball that contains 1 − τ_r."""
        return self.tail - self.likelihood * self.room

    def step(self) -> None:
        """From r to r+1."""
        p0, p1 = self.p0, self.p1
        stay, leave = self.alpha * p0, self.beta * p1
        self.r = r = self.r + 1
        self.p0 = (self.mu * p0 + leave + leave) * r / (r + 1 - self.s)
        self.p1 = (self.mu * p1 + stay + stay) * r / (r + self.s)
        self.room += stay - leave
        self.tail -= self.alpha * self.likelihood * (p1 - p0)
        # Exactly one of a comparison and its opposite holds for the numbers; for balls perhaps neither.
        while not self.room > 0:
            if not self.room <= 0:
                raise Undecided
            self._lower()
        while not self.p1 >= self.room:
            if not self.p1 < self.room:
                raise Undecided
            self._raise()

    def _lower(self) -> None:
        """From s to s−1."""
        r, s = self.r, self.s
        self.likelihood /= self.ratio
        self.room += self.p0
        self.tail += self.likelihood * self.p0
        lower = (self.beta * self.p1 * (r + s) + self.mu * self.p0 * (s - 1)) / (self.alpha * (r - s + 2))
        self.p0, self.p1 = lower, self.p0
        self.s -= 1

    def _raise(self) -> None:
        """From s to s+1. The only place that subtracts: see `_expected_loss`."""
        r, s = self.r, self.s
        self.room -= self.p1
        self.tail -= self.likelihood * self.p1
        self.likelihood *= self.ratio
        upper = (self.alpha * self.p0 * (r - s + 1) - self.mu * self.p1 * s) / (self.beta * (r + s + 1))
        self.p0, self.p1 = self.p1, upper
        self.s += 1


def _blocks(
    noise: Discrete, query: ThresholdQuery[A_co], start: ExactRecurrence, bits: int, r: int
) -> Iterator[list[A_co]]:
    """Answers from radius r on in balls of ``bits``, until that precision no longer suffices."""
    with precision(bits):
        state = BallRecurrence(start)
    enough = True
    while enough:
        block: list[A_co] = []
        with precision(bits):
            try:
                while len(block) < _BLOCK:
                    if state.r >= r:
                        block.append(_answer(noise, query, state))
                    state.step()
            except Undecided:
                enough = False
        yield block


def _answer(noise: Discrete, query: ThresholdQuery[A_co], state: BallRecurrence) -> A_co:
    complement = state.complement()
    try:
        return query.of_ball(complement)
    except Undecided:
        if not complement.rad() < arb(2) ** -(query.bits + _GUARD_BITS // 2):
            raise
        # The ball is far narrower than the query's resolution, so this is an exact tie: integers decide it.
        return query.of_exact(*single_threshold.complement(noise, state.r))


def _expected_loss(weights: Weights, r_end: int) -> int:
    """About how many bits P and F, which decide how s moves, lose up to r_end; too low an estimate costs a second pass.

    Each raise of s multiplies the relative error by (α(1−δ) + (K−1)βδ) / (β(1+δ)), δ = α − β; s rises δ·r times.
    """
    a, m, b, z = weights
    drift = (a - b) / z
    growth = (a * (1 - drift) + m * drift) / (b * (1 + drift))
    return int(drift * r_end * log2(growth) + 2 * log2(r_end + 1))
