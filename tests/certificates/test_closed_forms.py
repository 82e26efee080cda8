"""Uniform and Gaussian radii lie strictly below the exact ones, and as close as a double can."""

import sys
from fractions import Fraction
from math import inf, isclose, isqrt, nextafter
from statistics import NormalDist

import pytest
from hypothesis import given, strategies as st

from ellzero.certificates import (
    Discrete,
    InvalidInput,
    alpha_for_sigma,
    gaussian_l0_radius,
    gaussian_l0_threshold,
    gaussian_l2_radius,
    sigma_for_alpha,
    single_threshold,
    uniform_l1_radius,
    uniform_linf_radius,
)
from ellzero.certificates._balls import arb, ball, bounds, precision
from ellzero.certificates.gaussian import normal_cdf, normal_quantile

scales = st.fractions(Fraction(1, 1000), 1000, max_denominator=1000)
tops = st.fractions(Fraction(501, 1000), Fraction(999_999, 1_000_000), max_denominator=10**6)


@given(scales, tops)
def test_uniform_l1(gamma: Fraction, p: Fraction) -> None:
    result, exact = uniform_l1_radius(gamma, p), 2 * p * gamma - gamma
    assert result is not None
    assert Fraction(result) < exact <= Fraction(nextafter(result, inf))


@given(scales, tops, st.integers(1, 1000))
def test_uniform_linf(gamma: Fraction, p: Fraction, d: int) -> None:
    """R solves (1 − R/(2γ))^d = 3/2 − p, which is exact to check."""
    result = uniform_linf_radius(gamma, p, d)
    assert result is not None
    assert (1 - Fraction(result) / (2 * gamma)) ** d > Fraction(3, 2) - p
    assert (1 - Fraction(nextafter(result, inf)) / (2 * gamma)) ** d <= Fraction(3, 2) - p


@given(scales, tops)
def test_gaussian_l2(sigma: Fraction, p: Fraction) -> None:
    result = gaussian_l2_radius(sigma, p)
    assert result is not None
    with precision(300):
        assert normal_cdf(ball(Fraction(result) / sigma)) < ball(p)
        assert normal_cdf(ball(Fraction(nextafter(result, inf)) / sigma)) > ball(p)
    assert isclose(result, float(sigma) * NormalDist().inv_cdf(float(p)), rel_tol=1e-9)


@given(scales, tops, st.integers(1, 10_000))
def test_gaussian_l0(sigma: Fraction, p: Fraction, d: int) -> None:
    result = gaussian_l0_radius(sigma, p, d)
    assert result is not None
    with precision(300):
        reach = (ball(sigma) * normal_quantile(p)) ** 2
        assert result == 0 or ball(result) < reach
        assert result == d or ball(result + 1) > reach


@given(st.integers(501, 999), st.integers(1, 40))
def test_the_discrete_certificate_is_the_tighter_one(thousandths: int, r: int) -> None:
    """For bits, τ_r ≤ Φ(2√r·Φ⁻¹(α)), the probability that the Gaussian with the same α asks for."""
    alpha = Fraction(thousandths, 1000)
    with precision(300):
        gaussian = normal_cdf(2 * arb(r).sqrt() * normal_quantile(alpha))
        assert single_threshold.threshold(Discrete(1, alpha), r) <= bounds(gaussian)[1]


@given(st.integers(501, 999))
def test_sigma_and_alpha_are_inverse_to_each_other(thousandths: int) -> None:
    alpha = thousandths / 1000
    assert isclose(alpha_for_sigma(sigma_for_alpha(alpha)), alpha, rel_tol=1e-14)
    assert isclose(alpha, NormalDist().cdf(1 / (2 * sigma_for_alpha(alpha))), rel_tol=1e-12)


def test_ends_of_the_range() -> None:
    assert uniform_l1_radius(1, "0.75") == nextafter(0.5, 0)
    assert uniform_linf_radius(1, 1, 1) == nextafter(1.0, 0)
    assert gaussian_l2_radius(1, 1) == inf
    assert gaussian_l0_radius(1, 1, 784) == 784
    tiny = gaussian_l2_radius("0.001", Fraction(1, 2) + Fraction(1, 10**300))
    assert tiny is not None
    assert tiny > 0
    for p in (0, "0.3", "0.5"):
        assert uniform_l1_radius(1, p) is None
        assert uniform_linf_radius(1, p, 3) is None
        assert gaussian_l2_radius(1, p) is None
        assert gaussian_l0_radius(1, p, 3) is None


def test_barely_above_one_half_is_a_radius_of_zero_or_more() -> None:
    barely = Fraction(1, 2) + Fraction(1, 10**400)
    assert gaussian_l0_radius(1, barely, 5) == 0
    assert gaussian_l2_radius(1, barely) == 0.0
    assert uniform_linf_radius(1, barely, 5) == 0.0
    assert uniform_l1_radius(1, barely) == 0.0


@pytest.mark.parametrize(
    ("sigma", "r", "threshold"),
    [
        ("2e-7", 1, "1.00000000000000000000"),
        ("0.5", 10**14, "1.00000000000000000000"),
        ("1e-4000", 1, "1.00000000000000000000"),
        ("1e4000", 1, "0.50000000000000000001"),
        (Fraction(10**20_000), 10**9, "0.50000000000000000001"),
        (1, 0, "0.50000000000000000000"),
    ],
)
def test_gaussian_thresholds_at_the_ends(sigma: str | Fraction, r: int, threshold: str) -> None:
    assert str(gaussian_l0_threshold(sigma, r)) == threshold


@given(st.integers(1, 30), st.integers(1, 50), st.integers(-3, 3))
def test_gaussian_thresholds_are_ceilings_where_their_bounds_begin(digits: int, r: int, shift: int) -> None:
    """Around r/σ² = 5·digits, above which it is 1, and around σ = √r·10^digits, above which it is next to 1/2."""
    small = Fraction(isqrt(r * 10**12 // (5 * digits)) + shift, 10**6)
    for sigma in (small, Fraction(isqrt(r * 10 ** (2 * digits)) + shift)):
        threshold = Fraction(gaussian_l0_threshold(sigma, r, digits))
        with precision(400):
            probability = normal_cdf(arb(r).sqrt() / ball(sigma))
            assert ball(threshold - Fraction(1, 10**digits)) < probability
            assert probability < ball(threshold)


def test_radii_larger_than_every_double() -> None:
    assert uniform_l1_radius("1e400", "0.9") == sys.float_info.max
    assert gaussian_l2_radius("1e400", "0.9") == sys.float_info.max


def test_a_float_alpha_is_its_shortest_decimal() -> None:
    assert sigma_for_alpha(0.8) == sigma_for_alpha("0.8") == sigma_for_alpha(Fraction(4, 5))


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="^alpha must be .* not so close to 1/2"):
        sigma_for_alpha(Fraction(1, 2) + Fraction(1, 10**400))
    with pytest.raises(InvalidInput, match="^gamma must be a finite number above 0; got 0"):
        uniform_l1_radius(0, "0.9")
    with pytest.raises(InvalidInput, match="^sigma must be a finite number above 0; got -1"):
        gaussian_l2_radius(-1, "0.9")
    with pytest.raises(InvalidInput, match=r"^alpha must be a number strictly between 1/2 and 1; got 0\.5"):
        sigma_for_alpha(0.5)
    with pytest.raises(InvalidInput, match="^d must be an integer from 1 to 2147483647; got 0"):
        uniform_linf_radius(1, "0.9", 0)
