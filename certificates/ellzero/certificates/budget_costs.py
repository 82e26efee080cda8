"""Estimates of how long certificates of any family will take. They may refuse work; they never decide a result.

A budget is tested by the regions of all ways to spend it, each a product of blocks. Such a product cannot be stopped on
its way, and keeps all other threads waiting: work whose largest products would take too long is refused, whatever the
whole would take.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, inf, isfinite, lgamma, log, prod
from typing import NamedTuple

from ellzero.certificates import Ablation, Family, Grouped, Hierarchical, Joint, RegionList, Total
from ellzero.certificates.budget_thresholds import exceeds
from ellzero.certificates.families.base import MOST_WAYS, Counts
from ellzero.certificates.families.composed import count_splits
from ellzero.certificates.products import Block, Products, coprime_base, write_exponents
from ellzero.certificates.search import last_true
from ellzero.core.cancellation import check_cancelled
from ellzero.core.numbers import MAX_DIMENSION

# Seconds on a machine of 2026; docs/benchmarks.md describes the measurement.
_SECONDS_PER_TEST = 3e-5
_SECONDS_PER_BIT = 7e-8
_SECONDS_PER_REGION, _SECONDS_PER_REGION_SQUARED = 2e-7, 6e-9  # on a line, enclosed
_SECONDS_PER_EXACT_REGION_BIT = 2e-9  # on a line
_SECONDS_PER_SORTED_REGION, _SECONDS_PER_SORTED_REGION_BIT = 8e-6, 6e-9
_SECONDS_PER_SQUARED_BIT = 4e-12  # of a binomial coefficient
_SECONDS_PER_REDUCED_BIT = 2e-11  # squared: of a fraction that is reduced
_SECONDS_PER_PAIR = 5e-7  # of many outcomes, whose ratios are factored; of few that is kept
_SECONDS_PER_ROW = 3e-5
_SHARE_OF_A_ROW = 1 / 8  # on average, of the last one by itself: each is a step from one before
_MOST_SECONDS_AT_ONCE = 0.1
_ORDERS = (0.1, 0.25, 0.5, 0.75, 0.9)
_TESTS_AT_ONCE = 3  # for each choice of all counts but the longest
_QUICK_SECONDS = 0.1
_LEAST = 1e-300
_LARGEST_LOG = 700.0  # of a floating-point number
_MOST_OUTCOMES = 64  # whose ratios are compared; of more it is taken that they have nothing in common
_LEAST_RATE = 1e-12  # below, the numbers that it comes from are too close to 1 for floating point


class _TakesLong(Exception):
    """A budget that takes long to test."""


class _Test(NamedTuple):
    """What testing a budget takes: products of blocks, and fractions that are reduced."""

    products: bool = True
    reduced: bool = False


@dataclass(frozen=True)
class _Change:
    """What one change of a kind shows: the blocks of all ways to make it; two changes show more, if they add up."""

    blocks: tuple[Block, ...]
    adds_up: bool

    @property
    def bits(self) -> float:
        """The bits that a change adds to the integers of a product."""
        return max((log(block.z, 2) for block in self.blocks), default=0.0)

    @property
    def outcomes(self) -> int:
        """How many of its outcomes a product multiplies, at least 1."""
        return max((len(block.finite) for block in self.blocks), default=1) or 1

    def affinity(self, s: float) -> float:
        """Σ x^s·x̄^(1−s), the largest of any block: the closer to 1, the less a change shows."""
        return max((_measure_affinity(block, s) for block in self.blocks), default=1.0)

    @property
    def common_mass(self) -> float:
        return max((float(block.common_mass) for block in self.blocks), default=1.0)


def certified_seconds(
    family: Family, limits: Counts, p: Fraction, p_b: Fraction | None, top_k: int, votes: bool = False
) -> float:
    """Estimate the time to find the largest certified budgets; of votes, p is about what they prove.

    Let A = Σ x^s·x̄^(1−s), 0 < s < 1, be the affinity of a budget, the product of those of its changes. By Markov's
    inequality for powers of the likelihood ratio, some set of samples has mass p under x and at most q under x̄ where
    A ≤ q^(1−s)·(1−p)^s. So budgets are certified only where that does not hold for q = 1/(k+1) and any s; with a p_b,
    for 1 − p_b in place of p. At p = 1 the mass that both inputs can show is all that limits them.
    """
    changes = _list_changes(family, limits)
    if changes is None:
        return inf
    room = 1 - p if p_b is None else min(p_b, 1 - p) / top_k
    beyond = [_find_reach(change, room, top_k) for change in changes]
    test = _Test(products=p < 1, reduced=votes or p_b is not None or (p == 1 and len(limits) > 1))
    seconds = _staircase_seconds(family, changes, limits, beyond, test, room > 0)
    if seconds <= _QUICK_SECONDS or not room:
        return seconds
    # These bounds are some times too large in each direction; what is certified in each by itself is soon known.
    beyond = [
        _search_reach(family, changes, axis, min(limit, most), 1 - room, Fraction(1, top_k + 1))
        for axis, (limit, most) in enumerate(zip(limits, beyond, strict=True))
    ]
    return _staircase_seconds(family, changes, limits, beyond, test, room > 0)


def _staircase_seconds(
    family: Family,
    changes: Sequence[_Change],
    limits: Counts,
    beyond: Sequence[float],
    test: _Test,
    room: bool,
) -> float:
    """Estimate the time to find the largest budgets, where by itself each count is certified up to these."""
    reach = [min(most, limit) for most, limit in zip(beyond, limits, strict=True)]
    longest = max(range(len(limits)), key=limits.__getitem__)
    others = [axis for axis, limit in enumerate(limits) if limit and axis != longest]
    tests = prod(reach[axis] + 1 for axis in others)
    share = 1.0
    if room:  # certified budgets lie below a plane
        tests = min(tests, _count_points([beyond[axis] for axis in others]))
        share = min(1.0, 1 / max(sum(map(_share, reach, beyond)), _LEAST))
    corners = [*(_at(reach, axis, reach[axis]) for axis in others), [most * share for most in reach]]
    each = max(_test_seconds(family, changes, counts, test) for counts in corners)
    # The search for the longest count doubles it until that is too large.
    doubled = _at(reach, longest, min(limits[longest], 2 * reach[longest] + 1))
    first = 2 * log(doubled[longest] + 2, 2) * _test_seconds(family, changes, doubled, test)
    return first + _TESTS_AT_ONCE * tests * each


def _search_reach(
    family: Family, changes: Sequence[_Change], axis: int, most: float, p: Fraction, q: Fraction
) -> float:
    """One more than the changes of one kind that p certifies by themselves; infinite if finding that takes long."""
    products, end = Products(), int(most) if isfinite(most) else MAX_DIMENSION

    def holds(count: int) -> bool:
        check_cancelled()
        counts = _at(changes, axis, count)
        if _test_seconds(family, changes, counts, _Test()) > _MOST_SECONDS_AT_ONCE:
            raise _TakesLong
        return exceeds(family, tuple(map(int, counts)), p, q, products)

    try:
        return 1.0 + (last_true(holds, 0, end) if holds(0) else 0)
    except _TakesLong:
        return inf


def thresholds_seconds(family: Family, limits: Counts) -> float:
    """Estimate the time to compute and send the thresholds of all budgets within the limits."""
    changes = _list_changes(family, limits)
    if changes is None:
        return inf
    each = _test_seconds(family, changes, limits, _Test())
    share = 1.0 if _has_ablation(family) else _SHARE_OF_A_ROW
    return prod(count + 1 for count in limits) * (_SECONDS_PER_ROW + each * share)


def budget_seconds(family: Family, counts: Counts) -> float:
    """Estimate the time to find the exact threshold of one budget."""
    changes = _list_changes(family, counts)
    return inf if changes is None else _test_seconds(family, changes, counts, _Test(reduced=True))


def _test_seconds(family: Family, changes: Sequence[_Change], counts: Sequence[float], test: _Test) -> float:
    """Estimate the time to test a budget; infinite if it cannot be stopped soon enough."""
    ways = _count_ways(family, [int(count) for count in counts])
    if ways > MOST_WAYS:
        return inf
    bits = _count_bits(family, changes, counts)
    seconds = _SECONDS_PER_TEST + bits * _SECONDS_PER_BIT
    if _has_ablation(family):
        seconds += bits * bits * _SECONDS_PER_SQUARED_BIT
    if test.reduced:
        seconds += bits * bits * _SECONDS_PER_REDUCED_BIT
    if test.products:
        outcomes = _count_outcomes(changes, counts)
        if outcomes > _MOST_OUTCOMES and sum(counts) > 1:
            seconds += outcomes * outcomes * _SECONDS_PER_PAIR
        regions, on_a_line = _count_regions(changes, counts)
        if on_a_line and test.reduced:
            seconds += regions * (_SECONDS_PER_REGION + bits * _SECONDS_PER_EXACT_REGION_BIT)
        elif on_a_line:
            seconds += regions * (_SECONDS_PER_REGION + regions * _SECONDS_PER_REGION_SQUARED)
        else:
            seconds += regions * (_SECONDS_PER_SORTED_REGION + bits * _SECONDS_PER_SORTED_REGION_BIT)
    return ways * seconds if seconds <= _MOST_SECONDS_AT_ONCE else inf


def _list_changes(family: Family, limits: Counts) -> list[_Change] | None:
    """What one change of each kind within the limits shows; None if there are too many ways to make it."""
    changes = []
    for axis, most in enumerate(family.most):
        check_cancelled()
        one, two = (tuple(step * (axis == place) for place in range(len(family.axes))) for step in (1, 2))
        if most == 0 or limits[axis] == 0:
            changes.append(_Change((), True))
            continue
        if _count_ways(family, two) > MOST_WAYS:
            return None
        blocks = {block for perturbation in family.perturbations(one) for block, count in perturbation if count}
        # Two changes that show no more than one: other lists of regions than a product of the first.
        adds_up = most == 1 or _most_affine(family, two) < _most_affine(family, one)
        changes.append(_Change(tuple(blocks), adds_up))
    return changes


def _most_affine(family: Family, counts: Counts) -> float:
    """The largest affinity of the ways to spend a budget."""
    return max(
        prod(_measure_affinity(block) ** count for block, count in perturbation)
        for perturbation in family.perturbations(counts)
    )


@lru_cache(maxsize=4_096)
def _measure_affinity(block: Block, s: float = 0.5) -> float:
    return sum((float(x) ** s * float(xbar) ** (1 - s) for x, xbar in block.outcomes), start=0.0)


def _find_reach(change: _Change, room: Fraction, top_k: int) -> float:
    """About how many changes of a kind are certified at most."""
    if not change.adds_up:
        return inf
    if not room:
        return _divide(log(top_k + 1), -log(max(change.common_mass, _LEAST)))
    closeness = -_log(room)
    return min(
        _divide((1 - s) * log(top_k + 1) + s * closeness, -log(max(change.affinity(s), _LEAST))) for s in _ORDERS
    )


def _divide(goal: float, rate: float) -> float:
    return goal / rate if rate > _LEAST_RATE else inf


def _count_points(reach: Sequence[float]) -> float:
    """A bound on how many budgets have Σ count/reach ≤ 1: the volume of that simplex, enlarged by a unit cube."""
    enlarged = 1 + sum(1 / max(most, _LEAST) for most in reach)
    volume = sum(log(max(most, _LEAST)) for most in reach) - lgamma(len(reach) + 1)
    return _exp(len(reach) * log(enlarged) + volume)


def _count_ways(family: Family, counts: Sequence[int]) -> int:
    """How many perturbations a budget has, or a larger number."""
    if isinstance(family, Joint):
        ways, start = 1, 0
        for _, member in family.members:
            ways *= _count_ways(member, counts[start : start + len(member.axes)])
            start += len(member.axes)
        return ways
    if isinstance(family, Hierarchical):
        return _count_ways(family.base, counts)
    if isinstance(family, RegionList):
        return max(1, counts[0])
    if isinstance(family, Grouped):
        inner = prod(_count_ways(member, [min(counts[0], columns)]) for member, columns in family.members)
        return _count_divisions(counts[0], [columns for _, columns in family.members]) * inner
    if isinstance(family, Total):
        most = [counts[0] if limit is None else limit for limit in family.base.most]
        inner = _count_ways(family.base, [min(counts[0], limit) for limit in most])
        return _count_divisions(counts[0], most) * inner
    return 1


def _count_divisions(total: int, most: Sequence[int]) -> int:
    """How many ways there are to divide a budget among kinds, or a number above `MOST_WAYS`."""
    return count_splits(total, most) if len(most) * min(total, MOST_WAYS) <= MOST_WAYS * 10 else MOST_WAYS + 1


def _has_ablation(family: Family) -> bool:
    """Whether binomial coefficients have to be found."""
    if isinstance(family, Joint | Grouped):
        return any(_has_ablation(each) for member in family.members for each in member if isinstance(each, Family))
    if isinstance(family, Hierarchical | Total):
        return _has_ablation(family.base)
    return isinstance(family, Ablation)


def _count_bits(family: Family, changes: Sequence[_Change], counts: Sequence[float]) -> float:
    """The bits of the integers of a product."""
    if isinstance(family, Ablation):  # a binomial coefficient, as a product over the smaller of two numbers
        return min(counts[0], family.keep) * log(family.d + 1, 2)
    return sum(change.bits * count for change, count in zip(changes, counts, strict=True))


def _count_regions(changes: Sequence[_Change], counts: Sequence[float]) -> tuple[float, bool]:
    """About how many regions a product has, and whether their ratios are powers of one number.

    The exponents of ratios in a coprime base span a space of some dimension. Regions are at most the monomials, and at
    most the points of a cube in that space.
    """
    rank = _find_rank(_list_blocks(changes, counts))
    spans = [count * (change.outcomes - 1) for change, count in zip(changes, counts, strict=True)]
    if rank <= 1:
        return 1 + sum(spans), True
    monomials = sum(
        _log_choose(int(count) + change.outcomes - 1, change.outcomes - 1)
        for change, count in zip(changes, counts, strict=True)
    )
    return _exp(min(monomials, rank * log(1 + sum(spans) / rank))), False


@lru_cache(maxsize=256)
def _find_rank(blocks: tuple[Block, ...]) -> int:
    """The dimension that the steps between the ratios of each block span together; of many, the most that it can be."""
    if sum(len(block.finite) for block in blocks) > _MOST_OUTCOMES:
        return max(2, sum(len(block.finite) - 1 for block in blocks if block.finite))
    ratios = [[Fraction(x, xbar) for x, xbar in block.finite] for block in blocks]
    base = coprime_base(part for own in ratios for ratio in own for part in ratio.as_integer_ratio())
    exponents = [[write_exponents(ratio, base) for ratio in own] for own in ratios]
    return _count_independent(
        [[Fraction(e - first) for e, first in zip(each, own[0], strict=True)] for own in exponents for each in own]
    )


def _count_independent(rows: list[list[Fraction]]) -> int:
    """The rank of a matrix, by elimination."""
    rank = 0
    while rows:
        row = rows.pop()
        pivot = next((place for place, entry in enumerate(row) if entry), None)
        if pivot is not None:
            rank += 1
            rows = [
                [a - other[pivot] / row[pivot] * b for a, b in zip(other, row, strict=True)] if other[pivot] else other
                for other in rows
            ]
    return rank


def _list_blocks(changes: Sequence[_Change], counts: Sequence[float]) -> tuple[Block, ...]:
    """All blocks that a budget may show."""
    return tuple(block for change, count in zip(changes, counts, strict=True) if count for block in change.blocks)


def _count_outcomes(changes: Sequence[_Change], counts: Sequence[float]) -> float:
    """How many outcomes the different blocks of one perturbation have."""
    return sum(min(count, len(change.blocks)) * change.outcomes for change, count in zip(changes, counts, strict=True))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _exp(logarithm: float) -> float:
    """The exponential of what may be too large for it, which is then large."""
    return exp(min(logarithm, _LARGEST_LOG))


def _at(axes: Sequence[object], axis: int, count: float) -> list[float]:
    return [count if place == axis else 0.0 for place in range(len(axes))]


def _share(reach: float, beyond: float) -> float:
    return reach / beyond if beyond else 1.0


def _log(value: Fraction) -> float:
    """The logarithm of a fraction of any size."""
    return log(value.numerator) - log(value.denominator)
