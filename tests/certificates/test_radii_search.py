"""Two classes: the search finds the same radius from any guess, between the radii of one class."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings, strategies as st
from oracles.strategies import noises, probabilities

from ellzero.certificates import Discrete, radius, rho
from ellzero.certificates.radii import certifies, guess_one_class_p, two_class_near
from ellzero.core.numbers import MAX_DIMENSION


@settings(max_examples=60)
@given(noises(max_denominator=30), probabilities(1000), probabilities(1000), st.integers(0, 60))
def test_any_guess_leads_to_the_radius_by_definition(noise: Discrete, p: Fraction, p_b: Fraction, guess: int) -> None:
    p_b = min(p_b, 1 - p)
    assume(0 < p_b < p)
    certified = [r for r in range(31) if rho(noise, r, p) > 1 - rho(noise, r, 1 - p_b)]
    assert two_class_near(noise, p, p_b, guess, 0, 30) == max(certified)
    alone, other = radius(noise, p, 30), radius(noise, 1 - p_b, 30)
    assert other is not None
    assert (alone or 0) <= max(certified) <= other


@settings(max_examples=40)
@given(noises(max_denominator=12), probabilities(200), probabilities(200))
def test_the_number_of_coordinates_only_cuts(noise: Discrete, p: Fraction, p_b: Fraction) -> None:
    far = radius(noise, p, MAX_DIMENSION, p_b)
    for d in (1, 12):
        assert radius(noise, p, d, p_b) == (None if far is None else min(far, d))


@pytest.mark.parametrize(("p", "p_b"), [("0.9", "0.05"), ("0.3", "1e-9"), ("0.02", "0.019")])
def test_large_radii_are_the_last_that_the_rule_certifies(p: str, p_b: str) -> None:
    noise = Discrete(1, "0.51")
    result = radius(noise, p, MAX_DIMENSION, p_b)
    assert result is not None
    assert certifies(noise, result, Fraction(p), Fraction(p_b))
    assert not certifies(noise, result + 1, Fraction(p), Fraction(p_b))


@pytest.mark.parametrize("p", ["1e-999", "0.3", "0.5", 1 - Fraction(1, 10**999)])
@pytest.mark.parametrize("share", ["1e-999", "0.3", "0.999999999999999999999"])
def test_a_guess_is_a_probability_for_any_input(p: str | Fraction, share: str) -> None:
    top = Fraction(p)
    assert 0 < guess_one_class_p(top, min(top, 1 - top) * Fraction(share)) < 1
