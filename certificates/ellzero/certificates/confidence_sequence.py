"""From votes to certificates when the number of votes is not fixed beforehand: a confidence sequence for p.

After m votes, k of them for y, the mixture of likelihood ratios against a p of q is

    M_m(q) = ∫ (θ/q)^k·((1−θ)/(1−q))^(m−k) dΠ(θ) = B(k+½, m−k+½) / (π·q^k·(1−q)^(m−k)),    Π = Beta(½, ½).

At q = p it is a martingale with mean 1, so by Ville's inequality P[M_m(p) ≥ 1/ε for *some* m] ≤ ε. log M_m is convex in
q with its minimum at k/m, so {q : M_m(q) < 1/ε} is an interval, and with probability at least 1 − ε it contains p for
all m at once. So its lower end may be computed after each vote, and sampling may stop at any time, for any reason. This
is not true of a Clopper–Pearson bound.
"""

from fractions import Fraction
from functools import partial
from math import exp, lgamma, log, log1p, nextafter, pi

from ellzero.certificates._balls import Undecided, arb, ball, decide
from ellzero.certificates.binomial_tails import SuccessProbability, ThresholdProbability
from ellzero.certificates.exact_thresholds import radius_bound
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.radii import Watch, radius
from ellzero.certificates.search import last_true_near
from ellzero.certificates.votes import Votes, bits_of_double, double_of_bits
from ellzero.core.numbers import read_dimension

_FIRST_BITS = 64
_CAP_BITS = 512
_HALVINGS = 60
_BELOW_ONE = nextafter(1.0, 0.0)


def anytime_radius(noise: Discrete, votes: Votes, d: int, *, watch: Watch = iter) -> int | None:
    """The largest r ≤ d that the votes so far certify, None to abstain; ``votes.n`` is the number drawn so far.

    With probability at least 1 − ε the radii returned after *every* number of votes hold, all of them at once: when to
    stop may depend on the votes in any way. Never larger than what Clopper–Pearson certifies for that n alone.
    """
    d = read_dimension(d)

    def certified(r: int) -> bool:
        return excludes(votes, ThresholdProbability(noise, r))

    likely = radius(noise, guess_anytime_bound(votes), d, watch=watch)
    # Unanimous votes prove the most, and M_m(q) ≤ q^-m: no q above ε^(1/m) ≤ 1 − (1−ε)/m is excluded.
    most = d if noise.is_flat else min(d, radius_bound(noise, (1 - votes.failure) / votes.n))
    largest = last_true_near(certified, -1 if likely is None else likely, -1, most)
    return largest if largest >= 0 else None


def anytime_lower_bound(votes: Votes) -> float:
    """The lower end of the confidence sequence after ``votes.n`` votes, rounded down to a double."""
    if votes.count == 0:
        return 0.0
    guess = bits_of_double(guess_anytime_bound(votes))
    return double_of_bits(
        last_true_near(partial(_excludes_double, votes), guess, 0, bits_of_double(votes.count / votes.n))
    )


def excludes(votes: Votes, probability: SuccessProbability) -> bool:
    """Whether the sequence has shown p > q: q < k/m and M_m(q) ≥ 1/ε. False if that cannot be decided."""
    n, k = votes.n, votes.count

    def attempt(bits: int) -> bool:
        q = probability.ball(bits)
        if n * q >= k:
            return False
        excess = _log_mixture(n, k, q) + ball(votes.failure).log()
        if n * q < k and excess > 0:
            return True
        if excess < 0:
            return False
        raise Undecided

    try:
        return decide(attempt, _FIRST_BITS, _CAP_BITS)
    except Undecided:
        return False


def guess_anytime_bound(votes: Votes) -> float:
    """A double near `anytime_lower_bound`. Proves nothing: it is only where a search begins."""
    n, k = votes.n, votes.count
    if k == 0:
        return 0.0
    log_failure = log(votes.failure.numerator) - log(votes.failure.denominator)
    # What k·log q + (n−k)·log(1−q) must not exceed. It is below k·log q, and equal to it for unanimous votes.
    level = lgamma(k + 0.5) + lgamma(n - k + 0.5) - lgamma(n + 1) - log(pi) + log_failure
    if k == n:
        return min(exp(level / n), _BELOW_ONE)
    low, high = level / k, log(k) - log(n - k)  # in logit q, which resolves both ends; the largest is q = k/n
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if -k * _softplus(-middle) - (n - k) * _softplus(middle) <= level:
            low = middle
        else:
            high = middle
    return min(exp(-_softplus(-low)), k / n)


def _softplus(x: float) -> float:
    """log(1 + e^x), without overflow."""
    return max(x, 0.0) + log1p(exp(-abs(x)))


def _log_mixture(n: int, k: int, q: arb) -> arb:
    """A ball for log M_n(q), 0 < q < 1."""
    half = ball(Fraction(1, 2))
    log_beta = (k + half).lgamma() + (n - k + half).lgamma() - ball(n + 1).lgamma()
    return log_beta - arb.pi().log() - k * q.log() - (n - k) * (1 - q).log()


def _excludes_double(votes: Votes, bits: int) -> bool:
    return excludes(votes, SuccessProbability(Fraction(double_of_bits(bits))))
