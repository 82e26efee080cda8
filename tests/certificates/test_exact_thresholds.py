"""Thresholds are exact ceilings, columns end where all is 1, and min_p is the least double that certifies."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, nextafter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises

from ellzero.certificates import (
    Discrete,
    InvalidInput,
    column,
    min_p,
    paper_threshold,
    rho,
    saturation_bound,
    single_threshold,
    threshold_rows,
    thresholds,
)


def ceiling(value: Fraction, digits: int) -> Fraction:
    return Fraction(ceil(value * 10**digits), 10**digits)


@given(noises(), st.lists(st.integers(0, 90), max_size=8), st.one_of(st.integers(1, 60), st.just(1000)))
def test_thresholds_are_the_exact_ceilings(noise: Discrete, radii: list[int], digits: int) -> None:
    result = thresholds(noise, radii, digits)
    assert [Fraction(value) for value in result] == [
        ceiling(single_threshold.threshold(noise, r), digits) for r in radii
    ]
    assert all(value.as_tuple().exponent == -digits for value in result)


@given(noises(), st.lists(st.integers(0, 400), max_size=8), st.integers(1, 40))
def test_rows_say_the_same_as_thresholds_and_min_p(noise: Discrete, radii: list[int], digits: int) -> None:
    rows = threshold_rows(noise, radii, digits)
    assert [row.r for row in rows] == radii
    assert [row.value for row in rows] == thresholds(noise, radii, digits)
    assert [row.min_p for row in rows] == [min_p(noise, r) for r in radii]
    assert [row.exact for row in rows] == [
        Fraction(row.value) == single_threshold.threshold(noise, row.r) for row in rows
    ]


@settings(max_examples=30)
@given(noises(), st.integers(0, 150), st.integers(1, 40))
def test_a_column_is_its_single_cells(noise: Discrete, r_max: int, digits: int) -> None:
    result = column(noise, r_max, digits)
    assert [row.r for row in result.rows] == list(range(len(result.rows)))
    for row in result.rows:
        exact = single_threshold.threshold(noise, row.r)
        assert Fraction(row.value) == ceiling(exact, digits)
        assert row.exact == (Fraction(row.value) == exact)
        assert row.min_p == min_p(noise, row.r)
    assert all(lower.value <= upper.value for lower, upper in pairwise(result.rows))
    assert all(row.value < 1 for row in result.rows[:-1])
    assert result.saturated == (result.rows[-1].value == 1)
    assert result.saturated or noise.is_flat or len(result.rows) == r_max + 1


@given(noises(), st.integers(0, 150))
def test_min_p_certifies_and_the_double_below_it_does_not(noise: Discrete, r: int) -> None:
    exact, least = single_threshold.threshold(noise, r), min_p(noise, r)
    assert Fraction(nextafter(least, 0.0)) <= exact < Fraction(least)


@settings(max_examples=15)
@given(noises(max_k=300), st.integers(400, 3_000), st.sampled_from([5, 20, 60]))
def test_large_single_cells_are_what_exact_integers_give(noise: Discrete, r: int, digits: int) -> None:
    assert Fraction(thresholds(noise, [r], digits)[0]) == ceiling(single_threshold.threshold(noise, r), digits)
    assert min_p(noise, r) > single_threshold.threshold(noise, r) >= nextafter(min_p(noise, r), 0.0)


@given(noises(), st.integers(1, 30))
def test_the_saturation_bound_holds(noise: Discrete, digits: int) -> None:
    bound = saturation_bound(noise, digits)
    if noise.is_flat:
        assert bound == 0
    elif bound < 2_000:
        assert 1 - single_threshold.threshold(noise, bound) < Fraction(1, 10**digits)


def test_radii_beyond_saturation_need_no_computation() -> None:
    assert thresholds(Discrete(255, "0.1"), [10**15, 3]) == [
        Decimal("1.00000000000000000000"),
        Decimal("0.76055123631182576837"),
    ]
    assert min_p(Discrete(255, "0.1"), 10**15) == 1.0
    assert thresholds(Discrete(3, "1/4"), [10**15, 10**14, 7]) == [Decimal("0.50000000000000000000")] * 3


def test_published_values() -> None:
    assert thresholds(Discrete(255, "1/10"), [1, 7]) == [
        Decimal("0.59647058823529411765"),
        Decimal("0.98739814896523242496"),
    ]
    assert thresholds(Discrete(255, "1/5"), [2]) == [Decimal("0.85373533256439830835")]


def test_lengths_of_saturated_columns() -> None:
    assert len(column(Discrete(255, "1/10")).rows) == 136
    assert len(column(Discrete(1, "4/5")).rows) == 53
    flat = column(Discrete(3, "1/4"))
    assert (len(flat.rows), flat.rows[0].value, flat.rows[0].exact, flat.saturated) == (1, Decimal("0.5"), True, False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda noise: thresholds(noise, [-1]), "budget must be an integer of at least 0; got -1"),
        (lambda noise: thresholds(noise, [1.5]), "budget must be an integer of at least 0; got 1.5"),  # type: ignore[list-item]
        (lambda noise: thresholds(noise, [5], d=4), "budget must be an integer from 0 to 4; got 5"),
        (lambda noise: thresholds(noise, [1], digits=0), "digits must be an integer from 1 to 1000; got 0"),
        (lambda noise: thresholds(noise, [1], digits=1001), "digits must be an integer from 1 to 1000; got 1001"),
        (
            lambda noise: thresholds(noise, [1], method="magic"),  # type: ignore[arg-type]
            "method must be 'engine' or 'paper'; got 'magic'",
        ),
        (lambda noise: thresholds(noise, [1], method="paper"), "d must be given for the paper's method"),
        (lambda noise: column(noise, -1), "r_max must be an integer of at least 0; got -1"),
        (lambda noise: min_p(noise, -1), "budget must be an integer of at least 0; got -1"),
    ],
)
def test_bad_input_is_one_clear_line(call: object, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        call(Discrete(1, "0.8"))  # type: ignore[operator]
    assert str(error.value).startswith(message)


def test_integers_may_be_numpy_s() -> None:
    noise, twenty, nine = Discrete(255, "0.1"), np.int64(20), np.int64(9)
    plain = thresholds(noise, [9], 20)
    assert thresholds(noise, [nine], twenty, d=twenty) == plain  # type: ignore[list-item, arg-type]
    assert column(noise, nine, twenty) == column(noise, 9, 20)  # type: ignore[arg-type]
    assert saturation_bound(noise, twenty) == saturation_bound(noise, 20)  # type: ignore[arg-type]
    assert paper_threshold(noise, twenty, nine, twenty) == paper_threshold(noise, 20, 9, 20)  # type: ignore[arg-type]
    assert rho(noise, nine, "0.9") == rho(noise, 9, "0.9")  # type: ignore[arg-type]


@pytest.mark.parametrize("digits", [0, -3, 1001, "a", 1.5])
def test_bad_digits_are_refused_everywhere(digits: int) -> None:
    noise = Discrete(1, "0.8")
    for call in (
        lambda: thresholds(noise, [1], digits),
        lambda: column(noise, 1, digits),
        lambda: saturation_bound(noise, digits),
        lambda: paper_threshold(noise, 5, 1, digits),
    ):
        with pytest.raises(InvalidInput, match="^digits must be an integer from 1 to 1000; got"):
            call()
