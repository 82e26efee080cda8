"""Products of blocks: every region with its masses, in the order of its ratio, whatever the blocks are."""

from fractions import Fraction
from itertools import pairwise
from math import gcd, prod

import pytest
from hypothesis import given, strategies as st
from oracles import noises
from oracles.families import cases

from ellzero.certificates import Family, InvalidInput, Joint, Sparse
from ellzero.certificates.families.base import Counts
from ellzero.certificates.products import Block, Perturbation, Products, coprime_base, measure_product


def ratio(x: Fraction, xbar: Fraction) -> Fraction | None:
    return x / xbar if xbar else None


def merge(masses: noises.Masses) -> dict[Fraction | None, tuple[Fraction, Fraction]]:
    """The masses of the outcomes of each likelihood ratio; None for those that x̄ never shows."""
    merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for x, xbar in masses:
        if x or xbar:
            before = merged.get(ratio(x, xbar), (Fraction(0), Fraction(0)))
            merged[ratio(x, xbar)] = before[0] + x, before[1] + xbar
    return merged


def multiply(perturbation: Perturbation, products: Products) -> noises.Masses:
    regions, total = products.regions(perturbation)
    return [(Fraction(int(x), int(total)), Fraction(int(xbar), int(total))) for x, xbar in regions]


@given(cases())
def test_regions_are_those_of_all_outcomes_in_descending_order(case: tuple[Family, Counts]) -> None:
    family, counts = case
    for perturbation in family.perturbations(counts):
        enumerated = [
            (prod((x for x, _ in choice), start=Fraction(1)), prod((xbar for _, xbar in choice), start=Fraction(1)))
            for choice in _choices(perturbation)
        ]
        found = [masses for masses in multiply(perturbation, Products()) if any(masses)]
        ratios = [ratio(*masses) for masses in found]
        assert None not in ratios[1:]
        finite = [each for each in ratios if each is not None]
        assert all(first > second for first, second in pairwise(finite))
        assert merge(found) == merge(enumerated)
        assert len(found) == len(merge(enumerated)), "each ratio is one region"


@given(cases())
def test_the_size_of_a_product_bounds_its_regions(case: tuple[Family, Counts]) -> None:
    for perturbation in case[0].list_perturbations(case[1]):
        regions, bits, _ = measure_product(perturbation)
        ordered, total = Products().regions(perturbation)
        assert len([1 for x, xbar in ordered if x and xbar]) <= regions
        assert int(total).bit_length() <= max(1, bits)


def test_the_size_of_a_product_says_whether_ratios_lie_on_a_line() -> None:
    sparse = Sparse("0.01", "0.6")
    two = Joint(first=sparse, second=Sparse("0.003", "0.7"))
    assert measure_product(sparse.list_perturbations((30, 20))[0])[::2] == (51, True)
    assert measure_product(two.list_perturbations((20, 10, 15, 5))[0])[::2] == (31 * 21, False)


def _choices(perturbation: Perturbation) -> list[tuple[tuple[Fraction, Fraction], ...]]:
    choices: list[tuple[tuple[Fraction, Fraction], ...]] = [()]
    for block, count in perturbation:
        for _ in range(count):
            choices = [(*choice, (Fraction(x), Fraction(y))) for choice in choices for x, y in block.outcomes]
    return choices


@given(st.lists(cases(total=3), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_what_products_keep_does_not_change_what_they_give(cases: list[tuple[Family, Counts]], random: object) -> None:
    """One `Products` for all, in any order, with each product after those that have one coordinate less."""
    products = Products()
    perturbations = [
        perturbation
        for family, counts in cases
        for fewer in range(3)
        for perturbation in family.perturbations(tuple(max(0, count - fewer) for count in counts))
    ]
    random.shuffle(perturbations)  # type: ignore[attr-defined]
    for perturbation in [*perturbations, *perturbations]:
        assert multiply(perturbation, products) == multiply(perturbation, Products())


def test_products_of_ordered_lists_are_ordered_anew() -> None:
    """Ratios of the two members interleave: a product in the order of its factors would not be ordered."""
    graph = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.001", "0.8"))
    ((perturbation),) = graph.perturbations((1, 0, 1, 1))
    ratios = [x / xbar for x, xbar in multiply(perturbation, Products())]
    assert len(ratios) == 2 * 3
    assert ratios == sorted(ratios, reverse=True)


def test_many_coordinates_keep_one_region_for_each_ratio() -> None:
    sparse = Sparse("0.01", "0.6")
    (perturbation,) = sparse.perturbations((300, 200))
    masses = multiply(perturbation, Products())
    assert len(masses) == 501
    assert sum(x for x, _ in masses) == sum(xbar for _, xbar in masses) == 1
    two = Joint(first=sparse, second=Sparse("0.003", "0.7"))
    (perturbation,) = two.perturbations((20, 10, 15, 5))
    masses = multiply(perturbation, Products())
    assert len(masses) == 31 * 21
    assert all(a[0] * b[1] > b[0] * a[1] for a, b in pairwise(masses))


def test_ratios_closer_than_doubles_can_tell_are_ordered() -> None:
    """Some are 10⁻³⁶ apart: more bits of the logarithms are taken until the order is proved."""
    near, nearer = Fraction(10**18 // 3, 10**18), Fraction(10**18 // 3 + 1, 10**18)
    first, second = Sparse(near, nearer), Sparse(nearer, nearer)
    (perturbation,) = Joint(first=first, second=second).perturbations((2, 1, 1, 2))
    masses = multiply(perturbation, Products())
    assert len(masses) == 4 * 4
    assert all(a[0] * b[1] > b[0] * a[1] for a, b in pairwise(masses))


@given(st.lists(st.integers(1, 10**6), max_size=6))
def test_a_coprime_base_writes_every_number(numbers: list[int]) -> None:
    base = coprime_base(numbers)
    assert all(g > 1 for g in base)
    assert all(gcd(first, second) == 1 for place, first in enumerate(base) for second in base[:place])
    for number in numbers:
        for g in base:
            while number % g == 0:
                number //= g
        assert number == 1


@pytest.mark.parametrize(
    "outcomes",
    [
        [1],
        [("1/2",)],
        [("1/2", "1/2", 0)],
        5,
        [],
        [("1/2", "1/2")],
        [(1, "1/2"), (0, "1/3")],
        [("1.5", 1)],
        [("-0.5", 0), ("1", "1")],
        [("a", 1)],
    ],
)
def test_a_block_whose_masses_are_no_distributions_is_refused(outcomes: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidInput, match="^block must be"):
        Block(outcomes)
