"""From votes to certificates: k successes out of n noisy samples, at failure probability ε.

The true p exceeds τ_r with confidence 1 − ε iff P[Bin(n, τ_r) ≥ k] < ε, which *is* the one-sided Clopper–Pearson
bound compared with τ_r. So for each (n, ε) there is a least count k*_r, and certifying is a comparison of integers.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nextafter, sqrt
from statistics import NormalDist

from ellzero.certificates._balls import ball, precision
from ellzero.certificates._inputs import RationalLike, dimension, failure_probability, integer
from ellzero.certificates._search import last_true
from ellzero.certificates.decision import Watch, radius
from ellzero.certificates.noise import Noise
from ellzero.certificates.tails import FIRST_BITS, MAX_VOTES, Chance, ThresholdChance, compare_tail, tail_ball


@dataclass(frozen=True, init=False)
class Votes:
    """``count`` of ``n`` independent noisy samples were classified as y; ``failure`` is ε.

    The class y must have been chosen on *other* samples: choosing it on these breaks the guarantee.
    """

    count: int
    n: int
    failure: Fraction

    def __init__(self, count: int, n: int, failure: RationalLike = "0.001") -> None:
        object.__setattr__(self, "n", check_n(n))
        object.__setattr__(self, "count", integer(count, "count", 0, self.n))
        object.__setattr__(self, "failure", failure_probability(failure))


def min_count(noise: Noise, r: int, n: int, failure: RationalLike = "0.001") -> int | None:
    """k*_r: the least count out of n that certifies radius r at failure probability ε; None if even n does not.

    With probability at least 1 − ε over the votes, no count ≥ k*_r comes from a p ≤ τ_r.

    >>> min_count(Noise(255, "0.2"), 2, 100_000, "0.001")
    85719
    """
    epsilon = failure_probability(failure)
    return least_count(ThresholdChance(noise, integer(r, "r", 0)), check_n(n), epsilon)


def lower_bound(votes: Votes) -> float:
    """The Clopper–Pearson lower bound of p, rounded down: the largest double q with P[Bin(n, q) ≥ count] ≤ ε."""
    if votes.count == 0:
        return 0.0
    low, high = 0.0, 1.0  # tail(low) ≤ ε < tail(high)
    guess = _clamped(votes.count / votes.n, low, high)
    while nextafter(low, 1.0) < high:
        for candidate in (guess, nextafter(guess, 1.0)):
            if low < candidate < high:
                if _tail_at_most(votes, candidate):
                    low = candidate
                else:
                    high = candidate
        guess = _clamped(_newton(votes, guess), low, high)
    return low


def radius_from_votes(noise: Noise, votes: Votes, d: int, *, watch: Watch = iter) -> int | None:
    """The largest r ≤ d that the votes certify, None to abstain.

    Holds with probability at least 1 − ε. Tight: a larger r would not pass P[Bin(n, τ_r) ≥ count] < ε.
    """
    d = dimension(d)
    return radius_beyond(noise, votes, d, radius(noise, lower_bound(votes), d, watch=watch))


def radius_beyond(noise: Noise, votes: Votes, d: int, surely: int | None) -> int | None:
    """`radius_from_votes` for a caller who knows ``surely``, the radius that `lower_bound` of the votes certifies.

    The bound was rounded down to a double; thresholds may lie in the gap.
    """

    def certified(r: int) -> bool:
        return compare_tail(votes.n, votes.count, ThresholdChance(noise, r), votes.failure) == -1

    if surely is None and not certified(0):
        return None
    return last_true(certified, surely or 0, d)


def reachable_radius(noise: Noise, n: int, failure: RationalLike, d: int) -> int | None:
    """The largest radius ≤ d that n unanimous votes certify; None when n is too small for any."""
    return radius_from_votes(noise, Votes(n, n, failure), d)


def least_count(chance: Chance, n: int, failure: Fraction) -> int | None:
    """The least k with P[Bin(n, q) ≥ k] < ε, searched outwards from a guess; None if there is none up to n."""

    def certified(k: int) -> bool:
        return compare_tail(n, k, chance, failure) == -1

    if not certified(n):
        return None
    guess = min(max(_normal_guess(chance, n, failure), 0), n)
    if certified(guess):
        return guess - last_true(lambda down: certified(guess - down), 0, guess)
    return last_true(lambda k: not certified(k), guess, n) + 1


def check_n(n: int) -> int:
    """``n`` as an int in 1..10^8."""
    return integer(n, "n", 1, MAX_VOTES)


def _normal_guess(chance: Chance, n: int, failure: Fraction) -> int:
    """About k*: the normal approximation with its first correction for skewness. Only where a search begins."""
    with precision(FIRST_BITS):
        q = float(chance.ball(FIRST_BITS))
    tail = float(failure)
    if not 0 < tail < 1:
        return n
    z = -NormalDist().inv_cdf(tail)
    return int(n * q + z * sqrt(n * q * (1 - q)) + (1 - 2 * q) * (z * z - 1) / 6 + 1)


def _tail_at_most(votes: Votes, q: float) -> bool:
    return compare_tail(votes.n, votes.count, Chance(Fraction(q)), votes.failure) in (-1, 0)


def _newton(votes: Votes, q: float) -> float:
    """A step towards the root of log P[Bin(n, q) ≥ count] = log ε; only proposes where to look next."""
    n, k = votes.n, votes.count
    with precision(2 * FIRST_BITS):
        at = ball(Fraction(q))
        tail = tail_ball(n, k, at)
        binomial = (ball(n + 1).lgamma() - ball(k).lgamma() - ball(n - k + 1).lgamma()).exp()
        density = binomial * at ** (k - 1) * (1 - at) ** (n - k)
        step = tail * (tail / ball(votes.failure)).log() / density
        return float(at - step) if step.is_finite() else float("nan")


def _clamped(guess: float, low: float, high: float) -> float:
    """A double strictly inside the bracket: the guess, or the middle where it is outside."""
    return guess if isfinite(guess) and low < guess < high else (low + high) / 2
