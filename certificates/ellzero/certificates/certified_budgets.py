"""What a family of noises certifies for one input: a radius, or a staircase of largest budgets.

τ never falls when a coordinate is added to the changed ones, so the certified budgets are a down-set: with each of them
all smaller ones. With one kind of change that is a radius; with several it is given by its largest members, none of
which is within another. None means that not even the empty budget is certified: abstain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import inf, nextafter
from typing import TypeAlias

from ellzero.certificates.binomial_tails import SuccessProbability, compare_tail
from ellzero.certificates.budget_thresholds import HALF, exceeds, exceeds_at_one, inverse_of_counts
from ellzero.certificates.confidence_sequence import anytime_lower_bound, anytime_radius, excludes
from ellzero.certificates.families.base import Budget, Counts, Family, read_counts
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.looks import LAST_SHARE, read_looks, staged_radius
from ellzero.certificates.products import Products
from ellzero.certificates.radii import radius
from ellzero.certificates.search import last_true, last_true_near
from ellzero.certificates.votes import Votes, lower_bound, radius_from_votes
from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_dimension, read_integer, read_probability

CertifiedBudgets: TypeAlias = int | tuple[Budget, ...] | None
"""For one kind of change the largest number, for several the largest budgets, ascending; None to abstain."""

MAX_TOP_K = 1_000
_MOST_KINDS = 500  # of change, in one staircase


@dataclass(frozen=True)
class ProvedBound:
    """What votes prove of p: whether p > τ, for any τ. ``low`` is the largest double that p is proved to exceed."""

    low: float
    between: Callable[[Fraction], bool]

    def is_above(self, tau: Fraction) -> bool:
        if tau >= Fraction(nextafter(self.low, inf)):
            return False
        return tau < self.low or self.between(tau)


def certified(
    family: Family, p: RationalLike, limits: Budget | None = None, *, p_b: RationalLike | None = None, top_k: int = 1
) -> CertifiedBudgets:
    """The largest budgets within ``limits`` such that every x̄ that differs from x by no more gets the same answer.

    ``p`` is a lower bound on the probability of the class at x, and the rule is p > ρ⁻¹(1/2). With ``p_b``, an upper
    bound on the probability of every other class, it is ρ(p) > 1 − ρ(1−p_b), p_b := min(p_b, 1−p), never weaker. With
    ``top_k`` = k the class remains one of the k most probable: p > ρ⁻¹(1/(k+1)), or with ``p_b``, an upper bound on the
    k-th most probable of the other classes, the best of k rules (docs/mathematics.md). All exact. A float p or p_b
    counts as its exact binary value: 0.9 is a little more than "0.9".

    ``limits`` say how many changes of each kind are of interest, as a budget; what is not named is 0. They may be left
    out where the family has them.

    >>> from ellzero.certificates.families import Mask, Sparse
    >>> certified(Mask("0.95"), "0.9", 100)
    9
    >>> certified(Sparse("0.01", "0.6"), "0.9", {"add": 3, "delete": 9})
    ({'add': 0, 'delete': 3}, {'add': 1, 'delete': 1})
    """
    top, k = read_probability(p, "p"), read_integer(top_k, "top_k", 1, MAX_TOP_K)
    second = None if p_b is None else read_probability(p_b, "p_b")
    most = _read_limits(family, limits)
    if (noise := _discrete(family, most, k)) is not None:
        return radius(noise, top, most[0], second)
    target = Fraction(1, k + 1)
    if top == 1:  # both rules say this then, of any budget at no cost
        return find_budgets(family, most, lambda counts: exceeds_at_one(family, counts, target))
    products = Products()
    if second is None:
        return find_budgets(family, most, lambda counts: exceeds(family, counts, top, target, products))
    shares = _read_shares(top, second, k)
    return find_budgets(family, most, lambda counts: _beats(family, counts, top, shares, products))


def certified_from_votes(
    family: Family, votes: Votes, limits: Budget | None = None, *, top_k: int = 1
) -> CertifiedBudgets:
    """`certified` for votes: every budget with P[Bin(n, τ) ≥ count] < ε. Holds with probability at least 1 − ε."""
    most, k = _read_limits(family, limits), read_integer(top_k, "top_k", 1, MAX_TOP_K)
    if (noise := _discrete(family, most, k)) is not None:
        return radius_from_votes(noise, votes, most[0])
    return _from_bounds(family, [bound_votes(votes)], most, k)


def anytime_certified(
    family: Family, votes: Votes, limits: Budget | None = None, *, top_k: int = 1
) -> CertifiedBudgets:
    """`certified` for the votes so far, when their number is not fixed beforehand: see `anytime_radius`.

    With probability at least 1 − ε the budgets returned after *every* number of votes hold, all of them at once.
    """
    most, k = _read_limits(family, limits), read_integer(top_k, "top_k", 1, MAX_TOP_K)
    if (noise := _discrete(family, most, k)) is not None:
        return anytime_radius(noise, votes, most[0])
    bound = ProvedBound(anytime_lower_bound(votes), lambda tau: excludes(votes, SuccessProbability(tau)))
    return _from_bounds(family, [bound], most, k)


def staged_certified(
    family: Family,
    counts: Sequence[int],
    n: int,
    limits: Budget | None = None,
    failure: RationalLike = DEFAULT_FAILURE,
    last_share: Fraction = LAST_SHARE,
    *,
    top_k: int = 1,
) -> CertifiedBudgets:
    """`certified` for the counts at the first looks of the plan (`plan_looks`): every budget that any look certifies.

    Holds with probability at least 1 − ε, whatever decided after how many looks to stop.
    """
    most, k = _read_limits(family, limits), read_integer(top_k, "top_k", 1, MAX_TOP_K)
    if (noise := _discrete(family, most, k)) is not None:
        return staged_radius(noise, counts, n, most[0], failure, last_share)
    return _from_bounds(family, list(map(bound_votes, read_looks(counts, n, failure, last_share))), most, k)


def find_staircase(certifies: Callable[[Counts], bool], most: Counts) -> list[Counts]:
    """The largest counts within ``most`` for which the condition holds, ascending; it holds for a down-set.

    Nothing is tested far beyond what holds, however large ``most`` is: large budgets take long. And what counts most
    is not how far the staircase goes but how many steps it has.
    """
    kinds = sorted((axis for axis, limit in enumerate(most) if limit), key=most.__getitem__)  # the longest is last
    if len(kinds) > _MOST_KINDS:
        raise InvalidInput("limits", f"above 0 for at most {_MOST_KINDS} kinds of change", len(kinds))

    def spread(chosen: Counts) -> Counts:
        counts = dict(zip(kinds, chosen, strict=True))
        return tuple(counts.get(axis, 0) for axis in range(len(most)))

    @cache
    def holds(chosen: Counts) -> bool:
        return certifies(spread(chosen))

    if not kinds:
        return [most] if holds(()) else []
    return sorted(map(spread, _find_edge(holds, (), tuple(most[axis] for axis in kinds), from_top=False)))


def _find_edge(holds: Callable[[Counts], bool], before: Counts, most: Counts, *, from_top: bool) -> list[Counts]:
    """The largest counts within ``most`` that hold after those ``before``. The last one is searched, and the others are
    walked; ``from_top`` if about ``most`` holds.

    The edge for one number of the first kind of change is the edge for the next ones too, as long as all of it holds
    there: how long is searched by doubling. Beyond, it is searched within the edge before.
    """
    limit, *rest = most
    if not rest:
        last = last_true_near(lambda count: holds((*before, count)), limit if from_top else 0, -1, limit)
        return [(last,)] if last >= 0 else []
    corners: list[Counts] = []
    first, within = 0, tuple(rest)
    while first <= limit and (edge := _find_edge(holds, (*before, first), within, from_top=from_top)):

        def all_hold(count: int, edge: list[Counts] = edge) -> bool:
            return all(holds((*before, count, *each)) for each in edge)

        last = last_true(all_hold, first, limit)
        kept = set(edge)  # what holds here with more changes of the first kind is no corner
        corners = [corner for corner in corners if corner[1:] not in kept] + [(last, *each) for each in edge]
        first, within, from_top = last + 1, tuple(map(max, zip(*edge, strict=True))), True
    return corners


def _discrete(family: Family, most: Counts, k: int) -> Discrete | None:
    """The family if it is the discrete noise and its fast path answers the question."""
    if not isinstance(family, Discrete) or k > 1 or most == (0,):
        return None
    read_dimension(most[0])
    return family


def find_budgets(family: Family, most: Counts, certifies: Callable[[Counts], bool]) -> CertifiedBudgets:
    """`find_staircase` as `certified` returns it."""
    largest = find_staircase(certifies, most)
    if not largest:
        return None
    return largest[0][0] if len(most) == 1 else tuple(map(family.write_budget, largest))


def _from_bounds(family: Family, bounds: Sequence[ProvedBound], most: Counts, k: int) -> CertifiedBudgets:
    products, target = Products(), HALF if k == 1 else Fraction(1, k + 1)

    def certifies(counts: Counts) -> bool:
        tau = inverse_of_counts(family, counts, target, products)
        return any(bound.is_above(tau) for bound in bounds)

    return find_budgets(family, most, certifies)


def bound_votes(votes: Votes) -> ProvedBound:
    """What votes prove. P[Bin(n, q) ≥ count] grows with q: at most ε at the lower bound, above ε at the next double."""

    def between(tau: Fraction) -> bool:
        return compare_tail(votes.n, votes.count, SuccessProbability(tau), votes.failure) == -1

    return ProvedBound(lower_bound(votes), between)


def _beats(
    family: Family, counts: Counts, p: Fraction, shares: Sequence[tuple[int, Fraction]], products: Products
) -> bool:
    """Whether for each perturbation some rule shows that the class stays ahead: ρ(p) > (1 − ρ(1−s))/j."""
    for regions in family.ordered_regions(counts, products):
        ordered = regions.listed()
        least = ordered.rho(p)
        if not any(j * least > 1 - ordered.rho(1 - share) for j, share in shares):
            return False
    return True


def _read_shares(p: Fraction, p_b: Fraction, k: int) -> list[tuple[int, Fraction]]:
    """For j = 1..k, how much the j least probable of the k strongest other classes can have together."""
    rest = 1 - p
    return [(1, min(p_b, rest / k)), *((j, rest * j / k) for j in range(2, k + 1))]


def _read_limits(family: Family, limits: Budget | None) -> Counts:
    if limits is not None:
        return read_counts(family, limits, "limits")
    if not isinstance(family, Family):
        return read_counts(family, {}, "limits")  # raises
    known = tuple(most for most in family.most if most is not None)
    if len(known) < len(family.most):
        raise InvalidInput("limits", f"given for {', '.join(family.axes)}", None)
    return known
