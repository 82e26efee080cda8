"""ρ and ρ⁻¹ of a budget in rationals, from every product of outcomes: the lemma of Neyman and Pearson, written out."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from ellzero.audit.laws import MOST_WAYS, Law, Outcomes, UnknownLaw, Way

_MOST_WORK = 20_000_000  # about a minute
_MOST_WORK_TOGETHER = 5 * _MOST_WORK


class OrderedMasses(NamedTuple):
    """All that the changed coordinates show, in descending order of likelihood ratio: masses under x and under x̄.

    In units of 1/total.
    """

    masses: list[tuple[int, int]]
    total: int

    def rho(self, p: Fraction) -> Fraction:
        """The least probability at x̄ of what has probability p at x: outcomes are taken in their order until p is
        reached."""
        missing, taken = p * self.total, Fraction(0)
        for x, xbar in self.masses:
            if x >= missing:
                return (taken + (missing / x * xbar if x else 0)) / self.total
            missing -= x
            taken += xbar
        return taken / self.total

    def inverse(self, q: Fraction) -> Fraction:
        """sup{p : ρ(p) ≤ q}."""
        missing, taken = q * self.total, Fraction(0)
        for x, xbar in self.masses:
            if xbar > missing:
                return (taken + missing / xbar * x) / self.total
            missing -= xbar
            taken += x
        return taken / self.total


def threshold(law: Law, counts: tuple[int, ...], q: Fraction) -> Fraction:
    """ρ⁻¹(q) of a budget, for the worst way to spend it: p certifies the budget iff p exceeds it."""
    return max(ordered.inverse(q) for ordered in _list_ordered(law, counts))


def stays_ahead(law: Law, counts: tuple[int, ...], lower: Fraction, upper: Fraction) -> bool:
    """Whether a class with a probability of at least ``lower`` stays ahead of others with at most ``upper`` each:

    ρ(lower) > 1 − ρ(1 − min(upper, 1 − lower)), however the budget is spent.
    """
    rival = min(upper, 1 - lower)
    return all(ordered.rho(lower) > 1 - ordered.rho(1 - rival) for ordered in _list_ordered(law, counts))


def check_work(budgets: Iterable[tuple[Law, tuple[int, ...]]]) -> None:
    """Raises `UnknownLaw` if all these budgets together would take long, one by one or in sum."""
    if sum(_check_ways(law, counts) for law, counts in budgets) > _MOST_WORK_TOGETHER:
        raise UnknownLaw("has so many large budgets that certificates are not verified for them")


def _list_ordered(law: Law, counts: tuple[int, ...]) -> Iterator[OrderedMasses]:
    _check_ways(law, counts)
    return map(_order, law.ways(counts))


def _check_ways(law: Law, counts: tuple[int, ...]) -> int:
    """The work of a budget. Ways are counted one by one and not kept: a short document can have millions of them."""
    work = 0
    for place, way in enumerate(law.ways(counts)):
        work += len(way) + _estimate_work(way)
        if place >= MOST_WAYS or work > _MOST_WORK:
            raise UnknownLaw("has a budget so large that certificates are not verified for it")
    return work


def _estimate_work(way: Way) -> int:
    """Multiplications of small numbers, at most, if no two products have the same ratio but those of equal outcomes."""
    changes = sum(count for _, count in way)
    finite = sum(len(outcomes) for outcomes, count in way if count)
    bits = sum(min(count, _MOST_WORK) * _unit(outcomes).bit_length() for outcomes, count in way if count)
    if changes > 100_000 or bits > _MOST_WORK:
        return _MOST_WORK + 1
    regions = min(changes**2, (2 * changes + 1) * max(1, len(way) - 1)) if changes else 1
    return changes * regions * finite // 2 * (1 + bits // 4_096) + bits


def _order(way: Way) -> OrderedMasses:
    """The product of the outcomes of all coordinates, those of equal ratio together."""
    products: dict[Fraction, tuple[int, int]] = {Fraction(1): (1, 1)}
    total = 1
    for outcomes, count in way:
        unit = _unit(outcomes)
        finite = [(Fraction(x, xbar), int(x * unit), int(xbar * unit)) for x, xbar in outcomes if x and xbar]
        for _ in range(count):
            products = _multiply(products, finite)
        total *= unit**count
    # What shows a coordinate that only x has says x for certain; the same for x̄, and nothing shows both.
    only_x = total - sum(x for x, _ in products.values())
    only_xbar = total - sum(xbar for _, xbar in products.values())
    ordered = [products[ratio] for ratio in sorted(products, reverse=True)]
    return OrderedMasses([(only_x, 0), *ordered, (0, only_xbar)], total)


def _multiply(
    products: dict[Fraction, tuple[int, int]], finite: list[tuple[Fraction, int, int]]
) -> dict[Fraction, tuple[int, int]]:
    larger: dict[Fraction, tuple[int, int]] = {}
    for ratio, (x, xbar) in products.items():
        for other, own, own_xbar in finite:
            key = ratio * other
            before, before_xbar = larger.get(key, (0, 0))
            larger[key] = before + x * own, before_xbar + xbar * own_xbar
    return larger


def _unit(outcomes: Outcomes) -> int:
    """The least common denominator of all masses."""
    return lcm(*(mass.denominator for pair in outcomes for mass in pair))
