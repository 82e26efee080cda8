"""ρ and ρ⁻¹ by bisection in tail sums against the general product, whose regions are walked one by one."""

from fractions import Fraction
from math import inf, nextafter

import pytest
from flint import arb_poly
from hypothesis import given, settings, strategies as st
from oracles.families import line_perturbations
from oracles.strategies import probabilities

from ellzero.certificates import Sparse, neyman_pearson
from ellzero.certificates._balls import Undecided, arb, ball, precision
from ellzero.certificates.budget_thresholds import HALF, exceeds, row_of_counts
from ellzero.certificates.families.base import Counts, Family
from ellzero.certificates.neyman_pearson import Mass
from ellzero.certificates.products import Perturbation, Products
from ellzero.certificates.rounding import Ceiling, Row
from ellzero.certificates.tail_sums import LineProduct, TailSums

shares = st.one_of(st.just(HALF), st.sampled_from([Fraction(0), Fraction(1)]), probabilities(1_000))


class OneWay(Family):
    """A family that has one budget, of these blocks."""

    name = "one-way"

    def __init__(self, perturbation: Perturbation) -> None:
        self._perturbation = perturbation

    @property
    def axes(self) -> tuple[str, ...]:
        return ("change",)

    def perturbations(self, counts: Counts) -> list[Perturbation]:
        return [self._perturbation]


def invert(perturbation: Perturbation, q: Fraction) -> Fraction:
    """ρ⁻¹(q) by walking the regions of the general product."""
    return neyman_pearson.rho_inverse(*Products().regions(perturbation), q)


def round_row(tau: Fraction, digits: int) -> Row:
    units = -(-tau.numerator * 10**digits // tau.denominator)
    nearest = float(tau)
    least = inf if tau == 1 else nearest if Fraction(nearest) > tau else nextafter(nearest, inf)
    return Row(Ceiling(units, Fraction(units, 10**digits) == tau), least)


@settings(max_examples=200)
@given(line_perturbations(), shares, shares)
def test_bisection_finds_what_walking_all_regions_finds(perturbation: Perturbation, p: Fraction, q: Fraction) -> None:
    ordered = Products().order(perturbation)
    walked = Products().regions(perturbation).listed()
    assert Fraction(*map(int, ordered.inverse_parts(q))) == neyman_pearson.rho_inverse(*walked, q)
    assert ordered.rho(p) == neyman_pearson.rho(*walked, p)


@given(line_perturbations(), st.data())
def test_at_the_ends_of_regions_too(perturbation: Perturbation, data: st.DataObject) -> None:
    """There no ball can tell on which side q lies, or whether a threshold is a decimal."""
    regions, total = Products().regions(perturbation).listed()
    p = q = Fraction(0)
    for x, xbar in list(regions)[: data.draw(st.integers(0, 10))]:
        p, q = p + Fraction(int(x), int(total)), q + Fraction(int(xbar), int(total))
    assert Products().order(perturbation).rho(p) == neyman_pearson.rho(regions, total, p)
    assert row_of_counts(OneWay(perturbation), (1,), q, 20, Products()) == round_row(invert(perturbation, q), 20)


@settings(max_examples=200)
@given(line_perturbations(), shares, st.integers(1, 60))
def test_rows_are_those_of_the_general_product(perturbation: Perturbation, q: Fraction, digits: int) -> None:
    row = row_of_counts(OneWay(perturbation), (1,), q, digits, Products())
    assert row == round_row(invert(perturbation, q), digits)


@given(line_perturbations(), shares, st.integers(-2, 2))
def test_a_p_next_to_the_threshold_is_decided(perturbation: Perturbation, q: Fraction, steps: int) -> None:
    tau = invert(perturbation, q)
    p = min(max(tau + Fraction(steps, 2**200), Fraction(0)), Fraction(1))
    assert exceeds(OneWay(perturbation), (1,), p, q, Products()) == (p > tau)


@settings(max_examples=50)
@given(line_perturbations(most=1), st.lists(st.integers(0, 2), max_size=12), shares)
def test_a_walk_of_budgets_is_its_budgets(perturbation: Perturbation, steps: list[int], q: Fraction) -> None:
    """One `Products` for all, each with one coordinate more than the one before it."""
    products, counts = Products(), [count for _, count in perturbation]
    for step in [0, *steps]:
        counts[step % len(counts)] += 1
        budget = tuple((block, count) for (block, _), count in zip(perturbation, counts, strict=True))
        assert row_of_counts(OneWay(budget), (1,), q, 20, products) == round_row(invert(budget, q), 20)


@given(line_perturbations(), shares, st.sampled_from([8, 64, 500]))
def test_balls_contain_what_integers_give(perturbation: Perturbation, q: Fraction, bits: int) -> None:
    ends = list[Fraction]()

    def record(numerator: Mass, denominator: Mass) -> bool:
        ends.append(Fraction(int(numerator), int(denominator)))
        return True

    Products().order(perturbation).answer(q, record, bits)
    assert 0 <= min(ends) <= invert(perturbation, q) <= max(ends) <= 1


def test_balls_that_cannot_tell_the_region_say_so() -> None:
    """A third of x̄ is in the first region: whether q = 1/3 is passed there, no ball can tell."""
    with precision(128):
        sums = TailSums(arb_poly([arb(1), arb(1) / 3]), arb_poly([arb(1), arb(2) / 3]))
        with pytest.raises(Undecided):
            sums.complement(ball(Fraction(1, 3)), 1, 1)


def test_balls_alone_decide_a_large_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """No threshold in it is a decimal, so integers of many thousand bits are never multiplied."""
    family = Sparse(Fraction(126356789012345679, 2**63 - 25), Fraction(5653874512345678901, 2**63 - 101))
    budgets = [(add, delete) for add in range(0, 60, 7) for delete in range(12, 60, 7)]
    exact = [invert(family.list_perturbations(counts)[0], HALF) for counts in budgets]

    def refuse(*_: object) -> None:
        raise AssertionError("a threshold was computed in integers")

    monkeypatch.setattr(LineProduct, "inverse_parts", refuse)
    products = Products()
    for counts, tau in zip(budgets, exact, strict=True):
        assert row_of_counts(family, counts, HALF, 20, products) == round_row(tau, 20)
