"""Votes for several classes: the test for the winner, and the bounds for a winner and its rivals."""

from fractions import Fraction
from itertools import product
from math import comb, prod

import pytest
from hypothesis import given, settings, strategies as st
from oracles import brute_force

from ellzero.certificates import (
    Discrete,
    InvalidInput,
    Votes,
    bounds_from_counts,
    lower_bound,
    outvotes,
    radius,
    radius_from_bounds,
    upper_bound,
)

failures = st.sampled_from(["0.001", "0.05", "1/1024", "1/512", "0.5"]).map(Fraction)


@settings(max_examples=200)
@given(st.integers(0, 60), st.integers(0, 60), failures)
def test_the_winner_passes_the_two_sided_test(top: int, second: int, failure: Fraction) -> None:
    n = top + second
    tail = sum((Fraction(comb(n, j), 2**n) for j in range(top, n + 1)), Fraction(0))
    assert outvotes(top, second, failure) is (top > second and 2 * tail <= failure)


def test_a_tie_with_the_level_wins() -> None:
    """2·2^-10 = 1/512 exactly: a p-value of ε rejects."""
    assert outvotes(10, 0, "1/512")
    assert not outvotes(9, 0, "1/512")
    assert not outvotes(0, 0, "0.999")


@settings(max_examples=100)
@given(st.integers(1, 80), st.data(), failures)
def test_the_upper_bound_is_safe_and_tight(n: int, data: st.DataObject, failure: Fraction) -> None:
    votes = Votes(data.draw(st.integers(0, n)), n, failure)
    bound = Fraction(upper_bound(votes))
    if bound == 1:
        assert votes.count == n
        return
    at_most = 1 - brute_force.binomial_tail(n, votes.count + 1, bound)
    assert at_most <= failure
    looser = bound - Fraction(1, 10**9)
    assert 1 - brute_force.binomial_tail(n, votes.count + 1, looser) > failure


def test_levels_are_shared_between_the_chosen_class_and_all_others() -> None:
    bounds = bounds_from_counts([10, 900, 60, 30], 1, 1000, "0.01")
    assert bounds.lower == lower_bound(Votes(900, 1000, "0.005"))
    assert bounds.upper == upper_bound(Votes(60, 1000, Fraction(1, 600)))
    noise = Discrete(255, "0.2")
    assert radius_from_bounds(noise, bounds, 784) == radius(noise, bounds.lower, 784, bounds.upper)


def test_votes_not_drawn_count_for_the_strongest_rival() -> None:
    assert bounds_from_counts([10, 800, 60, 30], 1, 1000) == bounds_from_counts([10, 800, 160, 30], 1, 1000)


def test_the_rival_need_not_be_the_second_class_and_p_may_be_below_one_half() -> None:
    counts = [450, 180, 190, 180]
    assert radius_from_bounds(Discrete(255, "0.2"), bounds_from_counts([10 * c for c in counts], 0, 10_000), 784) == 0
    assert radius_from_bounds(Discrete(255, "0.2"), bounds_from_counts([250, 250, 250, 250], 0, 1_000), 784) is None


def chance_of_a_false_bound(p: list[Fraction], n: int, k: int, failure: Fraction) -> Fraction:
    """How often the k-th largest of all but the first class exceeds its bound: all ways in which n votes may fall."""
    kth = sorted(p[1:], reverse=True)[k - 1]
    chance = Fraction(0)
    for counts in product(range(n + 1), repeat=len(p) - 1):
        first = n - sum(counts)
        if first >= 0 and Fraction(bounds_from_counts([first, *counts], 0, n, failure, k).upper) < kth:
            ways, left = 1, n
            for count in counts:
                ways, left = ways * comb(left, count), left - count
            chance += ways * prod(share**count for share, count in zip(p, [first, *counts], strict=True))
    return chance


@settings(max_examples=15)
@given(st.lists(st.integers(1, 6), min_size=4, max_size=4), st.integers(1, 3), st.sampled_from(["0.3", "0.5"]))
def test_the_kth_of_the_others_exceeds_its_bound_as_rarely_as_promised(weights: list[int], k: int, e: str) -> None:
    p = [Fraction(weight, sum(weights)) for weight in weights]
    assert chance_of_a_false_bound(p, 7, k, Fraction(e)) <= Fraction(e) / 2


def test_a_share_for_each_of_the_first_k_is_needed() -> None:
    """Of three equal classes, the one with the fewest votes at the share of a single one is too often too low."""
    even, failure = [Fraction(1, 4)] * 4, Fraction("0.3")
    assert chance_of_a_false_bound(even, 8, 3, failure) <= failure / 2
    assert chance_of_a_false_bound(even, 8, 3, 3 * failure) > failure / 2


def test_votes_not_drawn_count_for_the_kth_rival() -> None:
    at_k = bounds_from_counts([10, 800, 60, 30], 1, 1000, "0.01", 2)
    assert at_k.upper == upper_bound(Votes(30 + 100, 1000, Fraction(1, 400)))
    assert at_k.lower == bounds_from_counts([10, 800, 60, 30], 1, 1000, "0.01").lower
    with pytest.raises(InvalidInput, match="^top_k must be an integer from 1 to 3"):
        bounds_from_counts([10, 800, 60, 30], 1, 1000, "0.01", 4)


@pytest.mark.parametrize(
    ("counts", "chosen", "n"),
    [
        ([5], 0, 5),
        ([5, 5], 2, 10),
        ([5, 6], 0, 10),
        ([5, 5], 0, 0),
        ([5, 5], True, 10),
        ([5, -1], 0, 5),
        ([5, 0.5], 0, 6),
    ],
)
def test_wrong_counts_are_refused(counts: list[int], chosen: int, n: int) -> None:
    with pytest.raises(InvalidInput):
        bounds_from_counts(counts, chosen, n)


@pytest.mark.parametrize(
    ("top", "second", "field"), [(10, -5, "second"), (5.5, 1, "top"), (True, 0, "top"), (10**9, 1, "top")]
)
def test_votes_that_are_not_counts_are_refused(top: int, second: int, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must be an integer from 0 to 100000000"):
        outvotes(top, second)
