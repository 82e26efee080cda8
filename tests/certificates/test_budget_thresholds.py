"""ρ, ρ⁻¹ and thresholds of every family against all outcomes of the noise, enumerated."""

from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter

import pytest
from hypothesis import given, settings, strategies as st
from oracles import noises
from oracles.families import cases, parameters
from oracles.strategies import probabilities

from ellzero.certificates import (
    Discrete,
    Family,
    Grouped,
    InvalidInput,
    Joint,
    Mask,
    RegionList,
    Sparse,
    min_p,
    regions,
    rho,
    rho_inverse,
    single_threshold,
    threshold,
    thresholds,
)
from ellzero.certificates.budget_thresholds import row_at_saturation, row_by_product, row_of_counts
from ellzero.certificates.families.base import Counts
from ellzero.certificates.products import Products

HALF = Fraction(1, 2)
GRAPH = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.001", "0.8"))


@given(cases(), probabilities(1_000))
def test_rho_is_what_the_worst_classifier_does(case: tuple[Family, Counts], p: Fraction) -> None:
    family, counts = case
    budget = family.write_budget(counts)
    assert rho(family, budget, p) == noises.least_rho(family, counts, p)


@given(cases(), st.one_of(st.just(HALF), probabilities(1_000)))
def test_rho_inverse_is_what_the_best_test_gets(case: tuple[Family, Counts], q: Fraction) -> None:
    family, counts = case
    assert rho_inverse(family, family.write_budget(counts), q) == noises.largest_inverse(family, counts, q)


@given(cases(), st.one_of(st.just(HALF), probabilities(1_000)), st.integers(1, 40))
def test_a_row_has_the_threshold_whether_it_is_exact_and_the_least_double(
    case: tuple[Family, Counts], q: Fraction, digits: int
) -> None:
    family, counts = case
    budget = family.write_budget(counts)
    row = row_of_counts(family, counts, q, digits, Products())
    assert Fraction(row.ceiling.units, 10**digits) == Fraction(threshold(family, budget, q, digits))
    assert row.ceiling.exact == (Fraction(row.ceiling.units, 10**digits) == rho_inverse(family, budget, q))
    assert row.min_p == min_p(family, budget, q)


@given(cases(), st.one_of(st.just(HALF), probabilities(1_000)), st.integers(1, 40))
def test_a_row_by_the_general_product_alone_is_the_same(case: tuple[Family, Counts], q: Fraction, digits: int) -> None:
    family, counts = case
    assert row_by_product(family, counts, q, digits) == row_of_counts(family, counts, q, digits, Products())


@settings(max_examples=150)
@given(cases(), parameters(), st.integers(1, 3))
def test_a_row_that_rounds_up_to_one_follows_without_a_product(
    case: tuple[Family, Counts], q: Fraction, digits: int
) -> None:
    family, counts = case
    row = row_of_counts(family, counts, q, digits, Products())
    if row.ceiling.units == 10**digits and (row.ceiling.exact or row.min_p == 1.0):
        assert row_at_saturation(family, counts, q, digits) == row


@given(cases(), st.one_of(st.just(HALF), probabilities(1_000)), st.integers(1, 40))
def test_thresholds_are_rounded_up_in_the_last_digit(case: tuple[Family, Counts], q: Fraction, digits: int) -> None:
    family, counts = case
    budget = family.write_budget(counts)
    exact = noises.largest_inverse(family, counts, q)
    rounded = Fraction(threshold(family, budget, q, digits))
    assert exact <= rounded < exact + Fraction(1, 10**digits)
    least = min_p(family, budget, q)
    if exact == 1:
        assert least == inf
    else:
        assert Fraction(nextafter(least, 0)) <= exact < Fraction(least)


@given(cases(total=3), probabilities(1_000), st.integers(0, 5))
def test_one_more_change_never_helps_the_certificate(case: tuple[Family, Counts], p: Fraction, axis: int) -> None:
    """What makes certified budgets a down-set."""
    family, counts = case
    place = axis % len(counts)
    more = tuple(count + (each == place) for each, count in enumerate(counts))
    if (most := family.most[place]) is not None and more[place] > most:
        return
    assert rho(family, family.write_budget(more), p) <= rho(family, family.write_budget(counts), p)


@given(parameters(), parameters(), st.integers(0, 6), st.integers(0, 6), probabilities(1_000))
def test_additions_and_deletions_are_each_other_backwards(
    p_add: Fraction, p_del: Fraction, add: int, delete: int, q: Fraction
) -> None:
    """ρ⁻¹ of a pair (x, x̄) is 1 − ρ of the pair (x̄, x) at 1 − q."""
    family = Sparse(p_add, p_del)
    there, back = {"add": add, "delete": delete}, {"add": delete, "delete": add}
    assert rho_inverse(family, there, q) == 1 - rho(family, back, 1 - q)


def test_a_joint_certificate_that_another_implementation_gets_wrong() -> None:
    """Ordering the product of two ordered lists by its factors gives 0.600: a certificate for what is not robust."""
    budget = {"edges": {"add": 1}, "attributes": {"add": 1, "delete": 1}}
    exact = rho(GRAPH, budget, "0.99")
    assert exact == noises.least_rho(GRAPH, (1, 0, 1, 1), Fraction("0.99"))
    assert Decimal("0.4797") < Decimal(exact.numerator) / exact.denominator < Decimal("0.4798")
    assert threshold(GRAPH, budget) > Decimal("0.99")


@settings(max_examples=30)
@given(st.integers(1, 300), parameters(), st.integers(0, 60), st.integers(5, 60))
def test_the_fast_path_of_discrete_noise_is_the_general_product(k: int, alpha: Fraction, r: int, digits: int) -> None:
    """`Discrete` by its recurrence, and the same blocks as a member, which multiplies them."""
    fast, general = Discrete(k, alpha), Joint(only=Discrete(k, alpha))
    assert rho_inverse(general, r, HALF) == rho_inverse(fast, r, HALF) == single_threshold.threshold(fast, r)
    assert threshold(general, r, digits=digits) == threshold(fast, r, digits=digits)
    assert min_p(general, r) == min_p(fast, r)
    assert threshold(general, r, "1/3", digits) == threshold(fast, r, "1/3", digits)
    assert rho(general, r, "0.9") == rho(fast, r, "0.9")


def test_a_square_of_budgets_is_its_cells() -> None:
    family = Sparse("0.003", "0.65")
    square = [{"add": add, "delete": delete} for add in range(25) for delete in range(25)]
    together = thresholds(family, square, 30)
    assert together[::37] == [threshold(family, budget, digits=30) for budget in square[::37]]
    backwards = thresholds(family, square[::-1], 30)
    assert backwards == together[::-1]


def test_no_p_certifies_what_shows_too_much() -> None:
    """One bit that is hidden half the time at most: p = 1 at x says nothing about x̄."""
    assert threshold(Mask("0.4"), 1) == 1
    assert min_p(Mask("0.4"), 1) == inf
    assert rho(Mask("0.4"), 1, 1) == Fraction("0.4")
    assert threshold(Mask("0.8"), 1, digits=3) == Decimal("0.700")
    assert min_p(Mask("0.5"), 1) == inf


def test_p_of_one_is_certified_where_every_outcome_is_possible() -> None:
    assert threshold(Sparse("0.01", "0.6"), {"add": 40}, digits=3) == 1  # rounded up
    assert min_p(Sparse("0.01", "0.6"), {"add": 3}) < 1


def test_regions_are_named_in_one_unit_and_in_order() -> None:
    found = list(regions(Sparse("0.25", "0.5"), {"add": 1}))
    assert [(region.x, region.xbar) for region in found] == [(3, 2), (1, 2)]
    with pytest.raises(InvalidInput, match="^family must be one whose budget can be spent in a single way"):
        regions(Grouped([(Discrete(1, "0.8"), 1), (Discrete(2, "0.8"), 1)]), 1)


def test_no_changes_leave_everything_as_it_is() -> None:
    for family in (GRAPH, Mask("0.3"), Sparse("0.1", "0.2"), Grouped([(Mask("0.3"), 2)]), RegionList([[(1, 1)]])):
        empty = family.write_budget((0,) * len(family.axes))
        assert rho(family, empty, "0.7") == Fraction("0.7")
        assert threshold(family, empty, digits=2) == Decimal("0.50")


@pytest.mark.parametrize(
    ("family", "budget", "message"),
    [
        (GRAPH, 1, "budget must be a mapping with keys of edges.add, edges.delete, attributes.add"),
        (GRAPH, {"nodes": {"add": 1}}, "budget must be a mapping with keys of .+; got 'nodes.add'"),
        (GRAPH, {"edges": 1}, "budget must be a mapping with keys of .+; got 'edges'"),
        (GRAPH, {"edges": {"add": -1}}, "budget.edges.add must be an integer of at least 0; got -1"),
        (GRAPH, {"edges": {"add": 1.5}}, "budget.edges.add must be an integer of at least 0; got 1.5"),
        (Mask("0.5"), {"edit": 1}, "budget must be an integer of at least 0, or a mapping with the key change"),
        (Mask("0.5"), True, "budget must be an integer"),
        (Mask("0.5"), "x", "budget must be an integer"),
        (Grouped([(Mask("0.5"), 2)]), 3, "budget must be an integer from 0 to 2; got 3"),
    ],
)
def test_bad_budgets_are_one_clear_line(family: Family, budget: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        threshold(family, budget)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: threshold(GRAPH, {}, 2), "q must be"),
        (lambda: threshold(GRAPH, {}, digits=0), "digits must be"),
        (lambda: rho(GRAPH, {}, "1.1"), "p must be"),
        (lambda: thresholds(GRAPH, [{}], method="paper", d=4), "method must be 'engine'"),
        (lambda: thresholds(Discrete(1, "0.8"), [1], method="paper", d=4, q="1/3"), "method must be 'engine'"),
        (lambda: thresholds(GRAPH, [{"edges": {"add": 5}}], d=4), "budget must be an integer from 0 to 4; got 5"),
    ],
)
def test_bad_arguments_are_one_clear_line(call: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        call()  # type: ignore[operator]


def test_budgets_that_would_take_gigabytes_are_refused() -> None:
    with pytest.raises(InvalidInput, match="^budget must be of fewer changes: their product would take gigabytes"):
        threshold(Sparse("0.01", "0.6"), {"add": 10**9})
    with pytest.raises(InvalidInput, match="^budget must be of fewer changes"):
        min_p(Mask("0.9"), 10**30)


def test_flat_noises_cost_nothing_however_many_changes() -> None:
    assert threshold(Sparse("0.4", "0.6"), {"add": 10**30}, digits=2) == Decimal("0.50")
    assert rho(Joint(a=Sparse("0.4", "0.6"), b=Mask("0.5")), {"a": {"delete": 10**30}, "b": 1}, 1) == HALF
    assert threshold(Discrete(1, "0.5"), 10**7, "1/3", 3) == Decimal("0.334")


@pytest.mark.parametrize("call", [lambda: rho("mask", 1, "0.9"), lambda: threshold(None, 1), lambda: min_p(3, 1)])  # type: ignore[arg-type]
def test_what_is_no_family_is_refused(call: object) -> None:
    with pytest.raises(InvalidInput, match="^family must be a family of noises"):
        call()  # type: ignore[operator]
