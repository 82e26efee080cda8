"""From votes to certificates: k successes out of n noisy samples, at failure probability ε.

The true p exceeds τ_r with confidence 1 − ε iff P[Bin(n, τ_r) ≥ k] < ε, which *is* the one-sided Clopper–Pearson
bound compared with τ_r. So for each (n, ε) there is a least count k*_r, and certifying is a comparison of integers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import sqrt
from statistics import NormalDist
from struct import pack, unpack

from ellzero.certificates._balls import ball, precision
from ellzero.certificates.binomial_tails import (
    FIRST_BITS,
    MAX_VOTES,
    SuccessProbability,
    ThresholdProbability,
    compare_tail,
    tail_ball,
)
from ellzero.certificates.budget_thresholds import HALF, inverse_of_counts
from ellzero.certificates.exact_thresholds import radius_bound
from ellzero.certificates.families.base import Budget, Family, read_counts
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.products import Products
from ellzero.certificates.radii import Watch, radius
from ellzero.certificates.search import last_true_near
from ellzero.certificates.tail_fraction import guess_bound, point_ball
from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.core.numbers import RationalLike, read_dimension, read_failure, read_integer


@dataclass(frozen=True, init=False)
class Votes:
    """``count`` of ``n`` independent noisy samples were classified as y; ``failure`` is ε.

    The class y must have been chosen on *other* samples: choosing it on these breaks the guarantee.
    """

    count: int
    n: int
    failure: Fraction

    def __init__(self, count: int, n: int, failure: RationalLike = DEFAULT_FAILURE) -> None:
        object.__setattr__(self, "n", check_n(n))
        object.__setattr__(self, "count", read_integer(count, "count", 0, self.n))
        object.__setattr__(self, "failure", read_failure(failure))


def min_count(family: Family, budget: Budget, n: int, failure: RationalLike = DEFAULT_FAILURE) -> int | None:
    """k*: the least count out of n that certifies the budget at failure probability ε; None if even n does not.

    With probability at least 1 − ε over the votes, no count ≥ k* comes from a p ≤ τ.

    >>> min_count(Discrete(255, "0.2"), 2, 100_000, "0.001")
    85719
    """
    n, epsilon = check_n(n), read_failure(failure)
    tau = threshold_probability(family, budget)
    return None if never_exceeded(tau) else least_count(tau, n, epsilon)


def threshold_probability(family: Family, budget: Budget) -> SuccessProbability:
    """τ of a budget as a success probability."""
    counts = read_counts(family, budget)
    if isinstance(family, Discrete):
        (r,) = counts
        return ThresholdProbability(family, r)
    return SuccessProbability(inverse_of_counts(family, counts, HALF, Products()))


def never_exceeded(tau: SuccessProbability) -> bool:
    """Whether τ = 1, so that no p certifies the budget. Thresholds of the discrete noise stay below 1."""
    return not isinstance(tau, ThresholdProbability) and tau.exact == 1


def lower_bound(votes: Votes) -> float:
    """The Clopper–Pearson lower bound on p, rounded down: the largest double q with P[Bin(n, q) ≥ count] ≤ ε.

    For every n, count and ε, however close to 0 or 1, in at most a few dozen comparisons. Only where the tail at that
    double equals ε to 150 digits, and integers of more than 10^9 bytes would have to tell on which side it lies, may
    the result be the double below it, which is a bound too.
    """
    if votes.count == 0:
        return 0.0
    guess = guess_lower_bound(votes)
    for bits in (FIRST_BITS, 2 * FIRST_BITS):
        guess = _newton(votes, guess, bits)
    # The tail is 0 at q = 0, and 1 at q = 1.
    below_one = bits_of_double(1.0) - 1
    return double_of_bits(
        last_true_near(lambda q: _tail_at_most(votes, double_of_bits(q)), bits_of_double(guess), 0, below_one)
    )


def guess_lower_bound(votes: Votes) -> float:
    """A double near `lower_bound`, in microseconds. Proves nothing: it is only where a search begins."""
    return guess_bound(votes.n, votes.count, votes.failure)


def radius_from_votes(noise: Discrete, votes: Votes, d: int, *, watch: Watch = iter) -> int | None:
    """The largest r ≤ d that the votes certify, None to abstain.

    Holds with probability at least 1 − ε. Tight: a larger r would not pass P[Bin(n, τ_r) ≥ count] < ε.
    """
    d = read_dimension(d)
    likely = radius(noise, guess_lower_bound(votes), d, watch=watch)
    return prove_radius(noise, votes, d, likely, partial(ThresholdProbability, noise))


def prove_radius(
    noise: Discrete, votes: Votes, d: int, likely: int | None, threshold: Callable[[int], SuccessProbability]
) -> int | None:
    """`radius_from_votes` for callers with a guess of it, and with τ_r as a success probability for any r.

    A correct guess costs two comparisons, a wrong one a search outwards from it; the answer is the same. The search is
    bounded: even unanimous votes show no more than p ≥ ε^(1/n), which is at most 1 − (1−ε)/n by Bernoulli's inequality,
    so no r with 1 − τ_r < (1−ε)/n is certified.
    """

    def certified(r: int) -> bool:
        return compare_tail(votes.n, votes.count, threshold(r), votes.failure) == -1

    most = d if noise.is_flat else min(d, radius_bound(noise, (1 - votes.failure) / votes.n))
    largest = last_true_near(certified, -1 if likely is None else likely, -1, most)
    return largest if largest >= 0 else None


def reachable_radius(noise: Discrete, n: int, failure: RationalLike, d: int) -> int | None:
    """The largest radius ≤ d that n unanimous votes certify; None if n is too small for any."""
    return radius_from_votes(noise, Votes(n, n, failure), d)


def least_count(probability: SuccessProbability, n: int, failure: Fraction) -> int | None:
    """The least k with P[Bin(n, q) ≥ k] < ε, searched outwards from a guess; None if there is none up to n."""

    def certified(k: int) -> bool:
        return compare_tail(n, k, probability, failure) == -1

    least = last_true_near(lambda k: not certified(k), _guess_count(probability, n, failure) - 1, 0, n) + 1
    return least if least <= n else None


def check_n(n: int) -> int:
    """``n`` as an int in 1..10^8."""
    return read_integer(n, "n", 1, MAX_VOTES)


def _guess_count(probability: SuccessProbability, n: int, failure: Fraction) -> int:
    """About k*, by the normal approximation with its first correction for skewness. Only where a search begins."""
    with precision(FIRST_BITS):
        q = float(probability.ball(FIRST_BITS))
    tail = float(failure)
    if not 0 < tail < 1:
        return n
    z = -NormalDist().inv_cdf(tail)
    return int(n * q + z * sqrt(n * q * (1 - q)) + (1 - 2 * q) * (z * z - 1) / 6 + 1)


def _tail_at_most(votes: Votes, q: float) -> bool:
    return compare_tail(votes.n, votes.count, SuccessProbability(Fraction(q)), votes.failure) in (-1, 0)


def _newton(votes: Votes, q: float, bits: int) -> float:
    """A Newton step towards the root of log P[Bin(n, q) ≥ count] = log ε. Proves nothing."""
    n, k = votes.n, votes.count
    with precision(bits):
        at = ball(Fraction(q))
        slope = point_ball(n, k, at) * k / at
        if 2 * votes.failure <= 1:
            tail = tail_ball(n, k, at)
            proposed = float(at - tail * (tail / ball(votes.failure)).log() / slope)
        else:  # of the two tails the small one, whose logarithm has room
            missing = tail_ball(n, n - k + 1, 1 - at)
            proposed = float(at + missing * (missing / ball(1 - votes.failure)).log() / slope)
    return proposed if 0 < proposed < 1 else q


def bits_of_double(value: float) -> int:
    """A double's bits as an integer. From 0 up, doubles have the order of these integers."""
    return int.from_bytes(pack(">d", value))


def double_of_bits(bits: int) -> float:
    """The double that has these bits."""
    (value,) = unpack(">d", bits.to_bytes(8))
    return float(value)
