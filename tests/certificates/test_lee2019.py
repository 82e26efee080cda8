"""The published algorithm: its counts, its searches, and its agreement with the engine within its error bound."""

from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from math import ceil
from random import Random

import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises

from ellzero.certificates import (
    Discrete,
    Inconsistent,
    InvalidInput,
    lee2019,
    paper_threshold,
    single_threshold,
    thresholds,
)


def sizes_by_counting(d: int, k: int, r: int) -> dict[tuple[int, int], int]:
    """|L(u,v;r)| by looking at all (K+1)^d outcomes."""
    xbar = (1,) * r + (0,) * (d - r)
    sizes: dict[tuple[int, int], int] = {}
    for outcome in product(range(k + 1), repeat=d):
        u = sum(value != 0 for value in outcome)
        v = sum(value != other for value, other in zip(outcome, xbar, strict=True))
        sizes[u, v] = sizes.get((u, v), 0) + 1
    return sizes


@pytest.mark.parametrize(("d", "k"), [(1, 1), (2, 1), (9, 1), (1, 2), (2, 2), (7, 2), (5, 3), (4, 5)])
def test_nonempty_regions_are_those_with_an_outcome(d: int, k: int) -> None:
    for r in range(d + 1):
        assert lee2019.region_count(k, d, r) == len(sizes_by_counting(d, k, r)), r


@given(noises(), st.integers(1, 40), st.data())
def test_the_count_of_regions_is_that_of_their_positive_sizes(noise: Discrete, d: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(0, d))
    cell = lee2019.PaperCell(noise, d, r)
    sizes = (lee2019._sizes(cell, key, range(d + 1)) for key in range(-r, r + 1))
    assert lee2019.region_count(noise.k, d, r) == sum(size > 0 for group in sizes for size in group)


def test_a_count_of_regions_has_a_radius_within_the_input() -> None:
    with pytest.raises(InvalidInput, match="r must be an integer from 0 to 5"):
        lee2019.region_count(1, 5, 6)


@pytest.mark.parametrize(("d", "k"), [(1, 1), (4, 1), (5, 2), (4, 3), (3, 5)])
def test_regions_have_the_sizes_of_the_lemma(d: int, k: int) -> None:
    for r in range(d + 1):
        cell = lee2019.PaperCell(Discrete(k, "0.3"), d, r)
        result = {
            (u, u + key): size
            for key in range(-r, r + 1)
            for u, size in enumerate(lee2019._sizes(cell, key, range(d + 1)))
            if size
        }
        assert result == sizes_by_counting(d, k, r)


@settings(max_examples=80)
@given(noises(), st.integers(1, 40), st.integers(0, 6), st.integers(1, 25))
def test_it_agrees_with_the_engine_within_its_bound(noise: Discrete, d: int, r: int, digits: int) -> None:
    result = paper_threshold(noise, d, min(r, d), digits)
    excess = Fraction(result.value) - single_threshold.threshold(noise, min(r, d))
    assert 0 <= excess <= Fraction(result.error_bound)
    bound = Fraction(1, 10**digits) + max(noise.alpha, noise.beta) ** d
    assert bound <= Fraction(result.error_bound) <= bound + Fraction(1, 10 ** (2 * digits))


@pytest.mark.parametrize(("k", "alpha"), [(255, "0.1"), (1, "0.8"), (3, "0.01"), (16, "1/17")])
def test_at_a_common_size_it_gives_the_engine_s_digits(k: int, alpha: str) -> None:
    noise = Discrete(k, alpha)
    for r, value in zip((1, 3, 5), thresholds(noise, [1, 3, 5]), strict=True):
        result = paper_threshold(noise, 784, r)
        assert result.value - value in (Decimal(0), Decimal("1E-20"))


@settings(max_examples=40)
@given(noises(max_k=6), st.integers(5, 30), st.integers(0, 5), st.lists(st.integers(0, 31), max_size=5), st.randoms())
def test_any_split_into_ranges_in_any_order_gives_the_same(
    noise: Discrete, d: int, r: int, cuts: list[int], random: Random
) -> None:
    cell = lee2019.PaperCell(noise, d, r)
    edges = sorted({0, d + 1, *(cut for cut in cuts if cut <= d)})
    ranges = [range(low, high) for low, high in pairwise(edges)]
    random.shuffle(ranges)
    assert lee2019.combine(cell, [lee2019.sum_range(cell, us) for us in ranges]) == paper_threshold(noise, d, r)


def test_processes_can_share_a_cell() -> None:
    noise = Discrete(255, "0.2")
    with ProcessPoolExecutor(2) as pool:
        assert paper_threshold(noise, 4_500, 2, mapper=pool.map) == paper_threshold(noise, 4_500, 2)


def test_a_lost_region_is_noticed() -> None:
    cell = lee2019.PaperCell(Discrete(2, "0.4"), 10, 3)
    with pytest.raises(Inconsistent, match=r"\(K\+1\)\^d outcomes"):
        lee2019.combine(cell, [lee2019.sum_range(cell, range(10))])
    whole = lee2019.sum_range(cell, range(11))
    with pytest.raises(Inconsistent, match="do not sum to 1"):
        lee2019.combine(cell, [whole._replace(masses={**whole.masses, 0: whole.masses[0] - 1})])


@given(st.integers(1, 10**12), st.integers(1, 10**30), st.integers(0, 10**10))
def test_binary_search_division(step: int, goal: int, slack: int) -> None:
    quotient = ceil(Fraction(goal, step))
    assert lee2019.least_multiple(step, goal, quotient + slack) == quotient


@given(st.fractions(0, 1), st.integers(1, 40))
def test_binary_search_for_the_decimal(value: Fraction, digits: int) -> None:
    assert lee2019.least_decimal(value.numerator, value.denominator, digits) == ceil(value * 10**digits)


def test_a_radius_beyond_d_is_refused() -> None:
    with pytest.raises(InvalidInput, match="^r must be an integer from 0 to 3; got 4"):
        paper_threshold(Discrete(1, "0.8"), 3, 4)
