"""Single cells, exact and enclosed, against the whole space and the general lemma."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st
from oracles import brute_force
from oracles.strategies import noises

from ellzero.certificates import Discrete, rho, rho_inverse, single_threshold
from ellzero.certificates._balls import Undecided, bounds, precision

HALF = Fraction(1, 2)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("alpha", ["1/10", "1/5", "1/4", "1/3", "1/2", "4/5", "97/100"])
def test_thresholds_are_those_of_the_whole_space(k: int, alpha: str) -> None:
    noise = Discrete(k, alpha)
    for d in range(1, 6 if k < 3 else 5):
        for r in range(d + 1):
            space = brute_force.outcomes(d, k, noise.alpha, r)
            assert single_threshold.threshold(noise, r) == brute_force.rho_inverse(space, HALF)


@given(noises(), st.integers(0, 60))
def test_a_cell_is_the_general_lemma_at_one_half(noise: Discrete, r: int) -> None:
    assert single_threshold.threshold(noise, r) == rho_inverse(noise, r, HALF)


@given(noises(), st.integers(0, 60), st.integers(0, 60))
def test_it_does_not_matter_where_the_search_for_the_median_starts(noise: Discrete, r: int, start: int) -> None:
    result = single_threshold._sum_from(noise.weights.descending, r, min(start, r))
    if not noise.is_flat and result is not None:  # None: started below the median, and noticed
        assert 1 - Fraction(int(result[0]), int(result[1])) == single_threshold.threshold(noise, r)


def test_a_search_that_starts_below_the_median_is_noticed() -> None:
    assert single_threshold._sum_from(Discrete(1, "0.99").weights, 50, 0) is None


@given(noises(), st.integers(0, 120), st.integers(40, 400))
def test_the_ball_contains_the_exact_value(noise: Discrete, r: int, bits: int) -> None:
    exact = 1 - single_threshold.threshold(noise, r)
    try:
        with precision(bits):
            low, high = bounds(single_threshold.complement_ball(noise, r, bits))
    except Undecided:  # F = 1/2 exactly, or almost: the caller goes to integers
        return
    assert low <= exact <= high
    assert high - low <= exact / 2 ** (bits - 24)


@given(noises(), st.integers(0, 120), st.fractions("0.001", "0.999"), st.integers(80, 400))
def test_the_ball_contains_rho_and_is_narrow_for_any_p(noise: Discrete, r: int, p: Fraction, bits: int) -> None:
    exact = rho(noise, r, p)
    try:
        with precision(bits):
            low, high = bounds(single_threshold.rho_ball(noise, r, p, bits))
    except Undecided:
        return
    assert low <= exact <= high
    assert high - low <= Fraction(1, 2 ** (bits - 40))


def test_rho_stays_narrow_when_it_needs_regions_beyond_the_middle() -> None:
    """There the recurrence subtracts."""
    noise, r, p = Discrete(255, "0.01"), 2_000, Fraction(999_999, 1_000_000)
    with precision(128):
        low, high = bounds(single_threshold.rho_ball(noise, r, p, 128))
    assert low <= rho(noise, r, p) <= high
    assert high - low < Fraction(1, 2**90)


@given(noises(), st.integers(0, 80))
def test_thresholds_never_fall_and_stay_below_one(noise: Discrete, r: int) -> None:
    here, further = single_threshold.threshold(noise, r), single_threshold.threshold(noise, r + 1)
    assert HALF <= here <= further < 1
    assert (further == HALF) == noise.is_flat


def test_values_computed_by_hand() -> None:
    assert [single_threshold.threshold(Discrete(1, "4/5"), r) for r in range(5)] == [
        HALF,
        Fraction("0.875"),
        Fraction("0.96875"),
        Fraction("0.9921875"),
        Fraction("0.99275"),
    ]
