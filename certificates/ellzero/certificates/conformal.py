"""Conformal sets of a smoothed classifier that stay valid when the input was changed: which counts keep a class.

The conformity of (x, y) is p(x, y), the probability that the model says y under noise. Each of m inputs got n votes,
c_i of them for its class; t is the ⌊(ε−δ)(m+1)⌋-th smallest of these counts. Had a new (x, y) got n votes too, its
count would be as likely as any other to be among the smallest: P[count ≥ t] ≥ 1 − (ε−δ). Nobody has to draw these
votes. With S_{n,t}(p) = P[Bin(n, p) ≥ t], a class is kept iff it has k of n' votes on the input x̃ that is seen, where

    S_{n',k}(ρ(p)) ≥ S_{n,t}(p) − δ   for all p in [0, 1].

Since p(x̃, y) ≥ ρ(p(x, y)) for every x̃ within the budget, y is in the set of x̃ with probability at least 1 − ε, and δ
is all that votes cost. docs/mathematics.md has the proof. A walk proves the inequality for all p: both sides grow
with p, so the left side at one p bounds the right side up to where that reaches the same value.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ellzero.certificates._balls import Undecided, ball, below, bounds, precision
from ellzero.certificates.binomial_tails import FIRST_BITS, tail_ball
from ellzero.certificates.families.base import Budget, Counts, Family, read_counts
from ellzero.certificates.products import Products
from ellzero.certificates.search import last_true_near
from ellzero.certificates.votes import Votes, check_n, lower_bound
from ellzero.core.conventions import DEFAULT_ERROR
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_failure, read_integer

_SLACK_SHARE = Fraction(1, 10)
# A step of the walk shorter than this part of δ ends it: at most 64/δ steps, and δ is used to 1/64.
_SHORTEST_STEP = Fraction(1, 64)
_CHEAP_BITS = 6  # of a number of changes


@dataclass(frozen=True, init=False)
class Calibration:
    """Votes for the true classes of inputs, ``n`` for each: ``counts``, ascending.

    With them, sets hold the true class of a new input from the same source with probability at least 1 − ``error``.
    ``slack`` is δ, the part of the error that pays for votes, a tenth of it by default. All of it must be chosen before
    the votes are seen.
    """

    counts: tuple[int, ...]
    n: int
    error: Fraction
    slack: Fraction

    def __init__(
        self, counts: Iterable[int], n: int, error: RationalLike = DEFAULT_ERROR, slack: RationalLike | None = None
    ) -> None:
        n, epsilon = check_n(n), read_failure(error, "error")
        delta = epsilon * _SLACK_SHARE if slack is None else read_failure(slack, "slack")
        if delta >= epsilon:
            raise InvalidInput("slack", f"below the error, {epsilon}", slack)
        ascending = tuple(sorted(read_integer(count, "counts", 0, n) for count in counts))
        if not ascending:
            raise InvalidInput("counts", "those of at least one input", ())
        object.__setattr__(self, "counts", ascending)
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "error", epsilon)
        object.__setattr__(self, "slack", delta)

    @property
    def rank(self) -> int:
        """⌊(ε−δ)(m+1)⌋: which of the counts, from the smallest on, is the threshold. 0 if the inputs are too few."""
        return floor((self.error - self.slack) * (len(self.counts) + 1))

    @property
    def threshold(self) -> int:
        """t: the votes of a new input are fewer with probability at most ε−δ. 0 if the inputs are too few."""
        return self.counts[self.rank - 1] if self.rank else 0

    @property
    def least_inputs(self) -> int:
        """How many inputs it takes for a rank of 1; with fewer, every set has all classes."""
        return ceil(1 / (self.error - self.slack)) - 1


def critical_count(family: Family, budget: Budget, calibration: Calibration, n: int) -> int:
    """k: of ``n`` votes on the input that is seen, those that keep a class in the set; 0 keeps every class.

    ``budget`` is what may have been done to the clean input x to get x̃, the input that is seen. The true class is in
    the set with probability at least 1 − ε, whichever x̃ was chosen with knowledge of everything but its votes. Proved
    for the k returned; k + 1 would not do with a δ smaller by 1/64.

    >>> from ellzero.certificates.families import Discrete
    >>> calibration = Calibration(range(800, 1000), 1000, "0.1")
    >>> calibration.threshold
    817
    >>> [critical_count(Discrete(1, "4/5"), r, calibration, 1000) for r in (0, 1, 2)]
    [817, 217, 215]
    """
    votes, counts = check_n(n), read_counts(family, budget)
    # A larger budget has no larger k, and costs more: so one that is far too large is known by a part of it.
    shifts = range(max(0, max(counts).bit_length() - _CHEAP_BITS), -1, -1)
    parts = (tuple(count >> shift for count in counts) for shift in shifts)
    least = 0
    for part in parts:
        least = _find_critical_count(family, part, calibration, votes)
        if not least:
            break
    return least


def _find_critical_count(family: Family, counts: Counts, calibration: Calibration, votes: int) -> int:
    ways = [ordered.listed() for ordered in family.ordered_regions(counts, Products())]

    def rho(p: Fraction) -> Fraction:
        return min(ordered.rho(p) for ordered in ways)

    def keeps_enough(k: int) -> bool:
        """Whether S_{n',k}(ρ(p)) ≥ S_{n,t}(p) − δ for all p.

        What k has at p it has beyond. So the inequality holds from p on as far as S_{n,t} is at most that and δ, and
        the next p is the largest double for which it is.
        """
        p = reached = Fraction(0)
        while (allowed := _tail_from_below(votes, k, rho(p)) + calibration.slack) < 1:
            if allowed < reached + calibration.slack * _SHORTEST_STEP:
                return False
            reached = allowed
            p = Fraction(lower_bound(Votes(calibration.threshold, calibration.n, allowed)))
        return True

    likely = floor(votes * rho(Fraction(calibration.threshold, calibration.n)))
    return last_true_near(keeps_enough, likely, 0, votes)


def _tail_from_below(n: int, k: int, q: Fraction) -> Fraction:
    """At most P[Bin(n, q) ≥ k], and hardly less: a double."""
    if k == 0:
        return Fraction(1)
    try:
        with precision(FIRST_BITS):
            low, _ = bounds(tail_ball(n, k, ball(q)))
    except Undecided:  # so small that its ball is unbounded
        return Fraction(0)
    return Fraction(max(0.0, below(low)))
