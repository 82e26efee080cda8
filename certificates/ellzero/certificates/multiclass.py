"""Votes for several classes: which class has won, and what its votes *and* those of its rivals certify."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ellzero.certificates._balls import below
from ellzero.certificates.binomial_tails import MAX_VOTES, SuccessProbability, compare_tail
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.radii import radius
from ellzero.certificates.votes import Votes, check_n, lower_bound
from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_dimension, read_failure, read_integer

_EVEN = SuccessProbability(Fraction(1, 2))


@dataclass(frozen=True)
class Bounds:
    """``lower`` is a lower bound on the probability of the chosen class, ``upper`` an upper bound on *every* other.

    Where the class need only remain one of the k most probable, ``upper`` bounds the k-th most probable of the others.
    """

    lower: float
    upper: float


def outvotes(top: int, second: int, failure: RationalLike = DEFAULT_FAILURE) -> bool:
    """Whether the most frequent class beats the second one: 2·P[Bin(top+second, 1/2) ≥ top] ≤ ε.

    A two-sided binomial test. With probability at most ε it returns True although the class with the most votes is not
    the most probable one (Hung and Fithian: top and second may be chosen from the same votes).
    """
    epsilon = read_failure(failure)
    top, second = (read_integer(count, name, 0, MAX_VOTES) for count, name in ((top, "top"), (second, "second")))
    if top <= second:
        return False
    return compare_tail(top + second, top, _EVEN, epsilon / 2) in (-1, 0)


def upper_bound(votes: Votes) -> float:
    """The Clopper–Pearson upper bound on p, rounded up: p exceeds it with probability at most ε over the votes."""
    missing = lower_bound(Votes(votes.n - votes.count, votes.n, votes.failure))
    return -below(Fraction(missing) - 1) if missing else 1.0


def bounds_from_counts(
    counts: Sequence[int], chosen: int, n: int, failure: RationalLike = DEFAULT_FAILURE, top_k: int = 1
) -> Bounds:
    """Bounds that all hold with probability at least 1 − ε: the chosen class at ε/2, each other at ε/(2(C−1)).

    With ``top_k`` = k > 1 the upper one is for the k-th most probable of the others, from the k-th largest of their
    counts at ε/(2k): if it is false, one of the k classes that really are the most probable has too few votes.

    ``counts`` are the votes of all C classes out of n; the class ``chosen`` must come from *other* votes. If fewer than
    n votes are counted, the missing ones count against the chosen class and for that rival.
    """
    epsilon, n = read_failure(failure), check_n(n)
    if len(counts) < 2:
        raise InvalidInput("counts", "the votes of at least two classes", list(counts))
    chosen = read_integer(chosen, "chosen", 0, len(counts) - 1)
    k = read_integer(top_k, "top_k", 1, len(counts) - 1)
    counts = [read_integer(count, "counts", 0, n) for count in counts]
    missing_votes = n - sum(counts)
    if missing_votes < 0:
        raise InvalidInput("counts", f"at most n = {n} together", list(counts))
    others = sorted((count for label, count in enumerate(counts) if label != chosen), reverse=True)
    return Bounds(
        lower_bound(Votes(counts[chosen], n, epsilon / 2)),
        upper_bound(Votes(others[k - 1] + missing_votes, n, epsilon / (2 * count_upper_bounds(len(others), k)))),
    )


def count_upper_bounds(others: int, k: int) -> int:
    """How many upper bounds have to hold together for the k-th most probable of so many other classes.

    k of them suffice. For k = 1 all do: certificates of two classes have been made with them, and stay the same.
    """
    return others if k == 1 else k


def radius_from_bounds(noise: Discrete, bounds: Bounds, d: int) -> int | None:
    """The largest r ≤ d that the two bounds together certify, see `radius`; None to abstain."""
    return radius(noise, bounds.lower, read_dimension(d), bounds.upper)
