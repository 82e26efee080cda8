"""Binomial tails: enclosures contain the exact sums, and ties are decided exactly or not at all."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, settings, strategies as st
from oracles import brute_force
from oracles.strategies import noises, probabilities

from ellzero.certificates import Discrete, binomial_tails, single_threshold
from ellzero.certificates._balls import Undecided, ball, bounds, precision, sign
from ellzero.certificates.binomial_tails import SuccessProbability, ThresholdProbability, compare_tail


@given(st.integers(1, 60), st.integers(-1, 61), probabilities(1000), st.integers(30, 300))
def test_the_ball_contains_the_tail(n: int, k: int, q: Fraction, bits: int) -> None:
    exact = brute_force.binomial_tail(n, max(k, 0), q)
    with precision(bits):
        enclosure = binomial_tails.tail_ball(n, k, ball(q))
        assert not enclosure.is_finite() or bounds(enclosure)[0] <= exact <= bounds(enclosure)[1]
    assert binomial_tails.exact_tail(n, k, q) == exact


@given(st.integers(1, 40), st.integers(0, 40), probabilities(50), probabilities(50))
def test_comparisons_are_those_of_exact_sums(n: int, k: int, q: Fraction, bound: Fraction) -> None:
    excess = brute_force.binomial_tail(n, k, q) - bound
    assert compare_tail(n, k, SuccessProbability(q), bound) == (excess > 0) - (excess < 0)


@given(st.integers(1, 40), st.integers(0, 40), probabilities(50))
def test_exact_ties_are_found(n: int, k: int, q: Fraction) -> None:
    tie = brute_force.binomial_tail(n, k, q)
    assert compare_tail(n, k, SuccessProbability(q), tie) == 0
    assert compare_tail(n, k, SuccessProbability(q), tie + Fraction(1, 10**50)) == -1
    assert compare_tail(n, k, SuccessProbability(q), tie - Fraction(1, 10**50)) == 1


def test_a_tie_that_is_too_large_to_check_proves_nothing() -> None:
    """P[Bin(n, 1/2) ≥ (n+1)/2] = 1/2 for every odd n."""
    half = Fraction(1, 2)
    assert compare_tail(2_001, 1_001, SuccessProbability(half), half) == 0
    assert compare_tail(200_001, 100_001, SuccessProbability(half), half) is None


def test_a_threshold_that_no_ball_can_decide_as_a_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(*_: object) -> None:
        raise Undecided

    monkeypatch.setattr(single_threshold, "complement_ball", undecided)
    noise, r = Discrete(1, "0.51"), 3_000
    with precision(128):
        low, high = bounds(ThresholdProbability(noise, r).ball(128))
    assert low <= single_threshold.threshold(noise, r) <= high


@pytest.mark.parametrize(("k", "alpha"), [(255, "0.2"), (1, "0.51")])
def test_a_threshold_far_beyond_saturation_as_a_probability(k: int, alpha: str) -> None:
    with precision(128):
        low, high = bounds(ThresholdProbability(Discrete(k, alpha), 10**12).ball(128))
    assert 1 - Fraction(1, 1 << 126) < low < 1 <= high


@given(noises(), st.integers(0, 40))
def test_a_threshold_as_a_probability(noise: Discrete, r: int) -> None:
    probability, exact = ThresholdProbability(noise, r), single_threshold.threshold(noise, r)
    assert probability.exact == exact
    assert probability.size >= exact.denominator.bit_length()


@pytest.mark.parametrize(("k", "alpha", "r"), [(1, "0.51", 3_000), (31, "0.03", 2_000)])
def test_a_threshold_of_a_large_radius_as_a_probability(k: int, alpha: str, r: int) -> None:
    noise = Discrete(k, alpha)
    with precision(128):
        low, high = bounds(ThresholdProbability(noise, r).ball(128))
    assert low <= single_threshold.threshold(noise, r) <= high
    assert high - low < Fraction(1, 1 << 100)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 10**8),
    st.floats(1e-4, 1 - 1e-6).map(Fraction),
    st.floats(-9, 9),
    st.sampled_from(["1e-12", "0.001", "0.05", "0.5", "0.97"]).map(Fraction),
)
def test_comparisons_are_those_of_the_incomplete_beta_function(
    n: int, q: Fraction, deviations: float, bound: Fraction
) -> None:
    k = min(max(round(n * q + Fraction(deviations) * Fraction(float(n * q * (1 - q)) ** 0.5)), 1), n)
    with precision(256):
        excess = ball(q).beta_lower(k, n - k + 1, 1) - ball(bound)
        assume(not excess.contains(0))  # q = 1/2 ties with 1/2 at the median
        expected = sign(excess)
    assert compare_tail(n, k, SuccessProbability(q), bound) == expected


@given(noises(), st.integers(0, 30), st.integers(1, 40), st.integers(0, 40), st.integers(1, 60), probabilities(50))
def test_bounds_on_a_threshold_change_no_comparison(
    noise: Discrete, r: int, n: int, k: int, width_bits: int, bound: Fraction
) -> None:
    tau, width = single_threshold.threshold(noise, r), Fraction(1, 2**width_bits)
    expected = compare_tail(n, k, ThresholdProbability(noise, r), bound)
    for within in ((tau, tau), (tau - width, tau), (tau, tau + width), (tau - 2 * width, tau + width)):
        assert compare_tail(n, k, ThresholdProbability(noise, r, within), bound) == expected
