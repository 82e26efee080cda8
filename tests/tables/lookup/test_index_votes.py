"""Votes and two classes by a table: the radii that exact arithmetic gives without one, whatever rows are at hand."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises, probabilities
from oracles.tables import exact_slice

from ellzero.certificates import Discrete, InvalidInput, Votes, radius, radius_from_votes, single_threshold
from ellzero.certificates._balls import bounds, precision
from ellzero.core.numbers import MAX_DIMENSION
from ellzero.tables import ABSTAIN, Source, ThresholdIndex
from ellzero.tables.lookup import index as index_module

BYTES, BITS, WEAK, SLOW = Discrete(255, "1/5"), Discrete(1, "4/5"), Discrete(9, "1/50"), Discrete(1, "0.53")


def index_of(noise: Discrete, rows: int) -> ThresholdIndex:
    return ThresholdIndex({noise: exact_slice(noise, rows - 1)} if rows else {})


def numbers(radii: list[int | None]) -> list[int]:
    return [ABSTAIN if r is None else r for r in radii]


@settings(max_examples=40)
@given(noises(max_denominator=30), st.integers(1, 25))
def test_the_probability_of_a_row_contains_its_threshold(noise: Discrete, rows: int) -> None:
    piece = exact_slice(noise, rows - 1)
    for r in range(rows + 2):
        probability, exact = (
            ThresholdIndex({noise: piece})._threshold_probabilities(noise)(r),
            single_threshold.threshold(noise, r),
        )
        with precision(64):
            low, high = bounds(probability.ball(64))
        assert low <= exact <= high
        assert probability.exact == exact


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([BYTES, BITS, WEAK]),
    st.sampled_from([0, 1, 3, 30]),
    st.sampled_from([300, 100_000, 10**8]),
    st.integers(0, 10**5),
    st.sampled_from(["0.001", "1e-30", "0.2", "0.7"]),
    st.sampled_from([1, 4, 150_528]),
)
def test_many_votes_certify_what_they_do_without_a_table(
    noise: Discrete, rows: int, n: int, missing: int, failure: str, d: int
) -> None:
    votes = Votes(n - n * missing**2 // (2 * 10**10), n, failure)
    assert index_of(noise, rows).radius(votes, noise, d).radius == radius_from_votes(noise, votes, d)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([BYTES, BITS, SLOW]),
    st.sampled_from([0, 3, 400]),
    st.lists(st.integers(0, 20_000), min_size=1, max_size=25),
    st.sampled_from(["0.001", "0.3"]),
)
def test_counts_get_the_radii_of_their_votes(noise: Discrete, rows: int, missing: list[int], failure: str) -> None:
    n, d = 40_000, 150_528
    counts = n - np.array(missing)
    expected = numbers([radius_from_votes(noise, Votes(count, n, failure), d) for count in counts.tolist()])
    assert index_of(noise, rows).radii_of_counts(counts, n, failure, noise, d).radii.tolist() == expected


def test_all_counts_get_the_radii_of_their_votes_by_least_counts() -> None:
    """Far more counts than radii: each radius is asked for its least count instead."""
    n, d = 3_000, 150_528
    index = index_of(SLOW, 500)
    result = index.radii_of_counts(np.arange(n + 1), n, "0.001", SLOW, d).radii
    assert result.tolist() == numbers(
        [index.radius(Votes(count, n, "0.001"), SLOW, d).radius for count in range(n + 1)]
    )
    for count in range(0, n + 1, 250):
        assert result[count] == numbers([radius_from_votes(SLOW, Votes(count, n, "0.001"), d)])[0]


def test_votes_do_not_ask_the_engine_for_rows_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    index, votes = index_of(SLOW, 500), Votes(900, 1_000)
    expected = radius_from_votes(SLOW, votes, 150_528)

    def never(*arguments: Any) -> Any:
        raise AssertionError("the table has this row")

    monkeypatch.setattr(single_threshold, "complement", never)
    monkeypatch.setattr(single_threshold, "complement_ball", never)
    assert index.radius(votes, SLOW, 150_528)[:2] == (expected, Source.TABLE)


@settings(max_examples=120, deadline=None)
@given(
    noises(max_denominator=30),
    st.sampled_from([0, 1, 3, 40]),
    probabilities(1000) | st.floats(0, 1),
    probabilities(1000) | st.floats(0, 1),
    st.sampled_from([1, 5, 60, MAX_DIMENSION]),
)
def test_two_classes_have_the_radius_of_exact_arithmetic(
    noise: Discrete, rows: int, p: Fraction | float, p_b: Fraction | float, d: int
) -> None:
    if noise.k == 1 and 0 < abs(noise.alpha - Fraction(1, 2)) < Fraction(1, 30):
        d = min(d, 60)  # thousands of radii are tested elsewhere
    assert index_of(noise, rows).radius(p, noise, d, p_b).radius == radius(noise, p, d, p_b)


def test_two_classes_say_where_the_radius_came_from() -> None:
    index = ThresholdIndex({BYTES: exact_slice(BYTES)})
    assert index.radius("0.9", BYTES, 99, "0.05")[:2] == (2, Source.TABLE)  # as far as 0.9 alone, and as 0.95
    assert index.radius("0.4", BYTES, 99, "0.3")[:2] == (0, Source.COMPUTED)
    assert index.radius("0.3", BYTES, 99, "0.4")[:2] == (None, Source.TABLE)
    assert index.radius("0.3", BYTES, 99, 0)[:2] == (99, Source.TABLE)
    assert index.radius("0.9", WEAK, 99, "0.05").source is Source.COMPUTED
    assert index.radius("0.4", Discrete(3, "1/4"), 99, "0.3")[:2] == (99, Source.TABLE)


@pytest.mark.parametrize(
    ("p", "p_b", "line"),
    [
        (0.9, 1.5, "p_b must be a number from 0 to 1; got 1.5"),
        (0.9, "few", "p_b must be a number from 0 to 1; got 'few'"),
        (-1, 0.1, "p must be a number from 0 to 1; got -1"),
        (Votes(9, 9), 0.1, "p_b must be given only with a single probability p; got 0.1"),
        (np.array([0.9]), 0.1, "p_b must be given only with a single probability p; got 0.1"),
    ],
)
def test_a_runner_up_that_cannot_be_is_refused_in_one_line(p: Any, p_b: Any, line: str) -> None:
    with pytest.raises(InvalidInput) as error:
        index_of(BITS, 5).radius(p, BITS, 9, p_b)
    assert str(error.value) == line


def test_counts_for_a_flat_noise_ask_for_no_least_count(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = Discrete(3, "1/4")

    def never(*arguments: Any) -> Any:
        raise AssertionError("all radii have the same threshold")

    monkeypatch.setattr(index_module, "least_count", never)
    result = index_of(flat, 1).radii_of_counts(np.array([30, 60]), 60, "0.001", flat, 150_528)
    assert result.radii.tolist() == [ABSTAIN, 150_528]
