"""How many votes a radius needs: the least n that certifies it with a given power."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from ellzero.certificates._balls import arb, ball, precision
from ellzero.certificates.binomial_tails import (
    MAX_VOTES,
    SuccessProbability,
    compare_tail,
    tail_ball,
)
from ellzero.certificates.exact_thresholds import compute_at
from ellzero.certificates.families.base import Budget, Counts, Family, read_counts
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.rounding import ExceedsQuery
from ellzero.certificates.votes import least_count, threshold_probability
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.numbers import RationalLike, read_failure, read_probability

_BITS = 192


@dataclass(frozen=True)
class Plan:
    """Of ``n`` votes, ``min_count`` certify the budget; an input whose top class has probability ``p`` gets as many
    with probability at least ``power``. No smaller n does."""

    family: Family
    budget: Budget
    p: Fraction
    failure: Fraction
    power: Fraction
    n: int
    min_count: int


def plan(
    family: Family,
    budget: Budget,
    p: RationalLike,
    failure: RationalLike = DEFAULT_FAILURE,
    power: RationalLike = DEFAULT_POWER,
) -> Plan | None:
    """The least n ≤ 10^8 with P[Bin(n, p) ≥ k*(n)] ≥ power; None if there is none, or if p ≤ τ.

    The power is a sawtooth in n: it rises while k*(n) stays the same and drops when it steps up, so bisection cannot
    find the least n. The power of the best *randomised* test at level ε never falls with n, since a test may ignore a
    vote, and it is an upper bound: bisection on it excludes every n below some n0, and from there on each n is checked.
    Every comparison is rigorous; one that cannot be proved counts as not reached.
    """
    counts, top = read_counts(family, budget), read_probability(p, "p")
    search = _Search(
        threshold_probability(family, budget),
        SuccessProbability(top),
        read_failure(failure),
        read_failure(power, "power"),
    )
    if not _exceeds(family, counts, top, search.tau):
        return None
    least_votes = search.least()
    if least_votes is None:
        return None
    n, k = least_votes
    return Plan(family, family.write_budget(counts), top, search.failure, search.power, n, k)


def _exceeds(family: Family, counts: Counts, p: Fraction, tau: SuccessProbability) -> bool:
    """p > τ; of the discrete noise without forming τ, which may be large."""
    if isinstance(family, Discrete):
        (r,) = counts
        return p == 1 or compute_at(family, r, ExceedsQuery(p))
    return p > tau.exact


class _Search:
    def __init__(self, tau: SuccessProbability, p: SuccessProbability, failure: Fraction, power: Fraction) -> None:
        self.tau, self.p, self.failure, self.power = tau, p, failure, power

    def least(self) -> tuple[int, int] | None:
        """The least n that has the power, with its k*."""
        excluded = self.least_reachable() - 1
        start = min(excluded + 1, MAX_VOTES)
        while excluded < MAX_VOTES and self._surely_too_few(start):
            excluded, start = start, min(2 * start, MAX_VOTES)
        if excluded >= MAX_VOTES:
            return None
        while start - excluded > 1:
            middle = (excluded + start) // 2
            if self._surely_too_few(middle):
                excluded = middle
            else:
                start = middle
        return next((pair for pair in self._pairs(start) if compare_tail(*pair, self.p, self.power) in (0, 1)), None)

    def least_reachable(self) -> int:
        """The least n with τ^n < ε: fewer votes do not certify even if unanimous. Above 10^8 if there is none."""
        low, high = 0, MAX_VOTES + 1
        while high - low > 1:
            middle = (low + high) // 2
            if compare_tail(middle, middle, self.tau, self.failure) == -1:
                high = middle
            else:
                low = middle
        return high

    def _surely_too_few(self, n: int) -> bool:
        """Whether even the best randomised test at level ε on n votes lacks the power; then it does on fewer votes too.

        It accepts counts from k* on, and k*−1 with the probability that exhausts the level (Neyman and Pearson).
        """
        k = least_count(self.tau, n, self.failure)
        if k is None:
            return False
        with precision(_BITS):
            tau, p = _Tail(n, k, self.tau), _Tail(n, k, self.p)
            share = (ball(self.failure) - tau.value) / tau.before
            return bool(p.value + share * p.before < ball(self.power))

    def _pairs(self, n: int) -> Iterator[tuple[int, int]]:
        """(n, k*(n)) upwards to 10^8, without those whose power is certainly too small.

        From n to n+1, k* stays or grows by one. Balls carry the tails under τ and under p along; if they cannot decide,
        the rigorous comparison is made from scratch.
        """
        k = least_count(self.tau, n, self.failure)
        if k is None:
            return
        with precision(_BITS):
            tau, p = _Tail(n, k, self.tau), _Tail(n, k, self.p)
            failure, power = ball(self.failure), ball(self.power)
        while True:
            if not p.value < power:
                yield n, k
            if n == MAX_VOTES:
                return
            n += 1
            with precision(_BITS):
                tau.add_vote()
                p.add_vote()
            if not tau.value < failure and (tau.value >= failure or compare_tail(n, k, self.tau, self.failure) != -1):
                k += 1
                with precision(_BITS):
                    tau.raise_count()
                    p.raise_count()


class _Tail:
    """P[Bin(n, q) ≥ k] and P[Bin(n, q) = k−1], carried from n to n+1 and from k to k+1. 1 ≤ k ≤ n."""

    def __init__(self, n: int, k: int, probability: SuccessProbability) -> None:
        self._n, self._k = n, k
        self._q = probability.ball(_BITS)
        self._odds = self._q / (1 - self._q)
        self.value = tail_ball(n, k, self._q)
        ways = (ball(n + 1).lgamma() - ball(k).lgamma() - ball(n - k + 2).lgamma()).exp()
        self.before: arb = ways * self._q ** (k - 1) * (1 - self._q) ** (n - k + 1)

    def add_vote(self) -> None:
        self._n += 1
        self.value += self._q * self.before
        self.before *= (1 - self._q) * self._n / (self._n - self._k + 1)

    def raise_count(self) -> None:
        at = self.before * self._odds * (self._n - self._k + 1) / self._k
        self.value -= at
        self.before = at
        self._k += 1
