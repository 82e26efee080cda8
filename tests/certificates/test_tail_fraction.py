"""The continued fraction: every ball contains the exact tail, the last is narrow, and guesses are good ones."""

from fractions import Fraction
from math import isclose, nextafter

import pytest
from hypothesis import given, settings, strategies as st
from oracles import brute_force
from oracles.strategies import probabilities

from ellzero.certificates._balls import arb, ball, bounds, precision
from ellzero.certificates.tail_fraction import guess_bound, point_ball, upper_tail_balls

HUGE = 10**8
failures = st.sampled_from(["0.001", "0.05", "1/1024", "1e-9", "1e-300", "0.5", "0.9", "0.999999"]).map(Fraction)


@st.composite
def counts(draw: st.DrawFn, most: int) -> tuple[int, int]:
    """k of n, 1 ≤ k ≤ n."""
    n = draw(st.integers(1, most))
    return n, draw(st.integers(1, n))


@settings(max_examples=200)
@given(counts(700), probabilities(1000), st.integers(30, 200))
def test_every_ball_contains_the_tail(votes: tuple[int, int], q: Fraction, bits: int) -> None:
    n, k = votes
    exact = brute_force.binomial_tail(n, k, q)
    with precision(bits):
        for tail in upper_tail_balls(n, k, ball(q)):
            assert not tail.is_finite() or bounds(tail)[0] <= exact <= bounds(tail)[1]


@settings(max_examples=60)
@given(counts(120), probabilities(100), st.integers(1, 40))
def test_a_ball_of_probabilities_gives_a_ball_of_tails(votes: tuple[int, int], q: Fraction, width_bits: int) -> None:
    """The tail grows with q, so its values at both ends are the extremes."""
    n, k = votes
    width = Fraction(1, 2**width_bits)
    with precision(64):
        for tail in upper_tail_balls(n, k, arb(ball(q), ball(width))):
            for end in (max(q - width, Fraction(0)), q, min(q + width, Fraction(1))):
                exact = brute_force.binomial_tail(n, k, end)
                assert not tail.is_finite() or bounds(tail)[0] <= exact <= bounds(tail)[1]


@given(counts(80), probabilities(100))
def test_a_single_count_is_as_likely_as_the_difference_of_two_tails(votes: tuple[int, int], q: Fraction) -> None:
    n, k = votes
    exact = brute_force.binomial_tail(n, k, q) - brute_force.binomial_tail(n, k + 1, q)
    with precision(100):
        low, high = bounds(point_ball(n, k, ball(q)))
    assert low <= exact <= high


@pytest.mark.parametrize("n", [1_000, 100_000, HUGE])
@pytest.mark.parametrize("q", ["1/3", "1/2", "0.99", "0.99999"])
@pytest.mark.parametrize("deviations", [1, 3, 8])
def test_the_last_ball_is_as_narrow_as_the_incomplete_beta_function_s(n: int, q: str, deviations: int) -> None:
    probability = Fraction(q)
    k = int(n * probability) + int(deviations * float(n * probability * (1 - probability)) ** 0.5) + 1
    if k >= n:
        return
    with precision(128):
        *_, last = upper_tail_balls(n, k, ball(probability))
    with precision(256):
        beta = ball(probability).beta_lower(k, n - k + 1, 1)
    assert last.overlaps(beta)
    assert last.rel_accuracy_bits() > 128 - 40


@settings(max_examples=200)
@given(counts(80), failures)
def test_a_guess_is_close_to_the_bound(votes: tuple[int, int], failure: Fraction) -> None:
    n, k = votes
    q = guess_bound(n, k, failure)
    tail = brute_force.binomial_tail(n, k, Fraction(q))
    assert isclose(tail, failure, rel_tol=0.1)
    assert isclose(1 - tail, 1 - failure, rel_tol=0.1)


@pytest.mark.parametrize(
    "failure", [Fraction(1, 10**3000), Fraction(1, 1000), Fraction(1, 2), 1 - Fraction(1, 10**3000)]
)
@pytest.mark.parametrize("n", [1, 2, 1_000, HUGE])
def test_a_guess_is_a_double_below_one_for_any_input(n: int, failure: Fraction) -> None:
    for k in {0, 1, n // 2, n - 1, n}:
        q = guess_bound(n, k, failure)
        assert 0 <= q <= nextafter(1.0, 0.0)
        assert k > 0 or q == 0
