"""Votes far and near: no guess, no table and no number of coordinates changes a radius."""

from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st
from oracles import brute_force
from oracles.strategies import noises

from ellzero.certificates import Discrete, Votes, lower_bound, radius, radius_from_votes, single_threshold
from ellzero.certificates._balls import ball, precision
from ellzero.certificates.binomial_tails import ThresholdProbability
from ellzero.certificates.votes import guess_lower_bound, prove_radius
from ellzero.core.numbers import MAX_DIMENSION

failures = st.sampled_from(["0.001", "0.05", "1/1024", "1e-9", "0.5", "0.9"]).map(Fraction)


@st.composite
def some_votes(draw: st.DrawFn, most: int) -> Votes:
    n = draw(st.integers(1, most))
    return Votes(n - draw(st.integers(0, n)), n, draw(failures))


def slow_radius(noise: Discrete, votes: Votes, d: int) -> int | None:
    """The definition: the largest r ≤ d with P[Bin(n, τ_r) ≥ count] < ε, in Fractions."""
    tails = (
        brute_force.binomial_tail(votes.n, votes.count, single_threshold.threshold(noise, r)) for r in range(d + 1)
    )
    return max((r for r, tail in enumerate(tails) if tail < votes.failure), default=None)


def beta_radius(noise: Discrete, votes: Votes, d: int) -> int | None:
    """The same by the incomplete beta function alone, one radius after the other."""
    with precision(256):
        for r in range(d + 1):
            tau = ball(single_threshold.threshold(noise, r))
            tail = tau.beta_lower(votes.count, votes.n - votes.count + 1, 1) if votes.count else ball(1)
            if not tail < ball(votes.failure):
                assert tail > ball(votes.failure)
                return r - 1 if r else None
    return d


@settings(max_examples=60)
@given(noises(max_denominator=30), some_votes(70), st.integers(1, 15), st.none() | st.integers(0, 40))
def test_any_guess_leads_to_the_radius_by_definition(noise: Discrete, votes: Votes, d: int, guess: int | None) -> None:
    expected = slow_radius(noise, votes, d)
    assert radius_from_votes(noise, votes, d) == expected
    assert prove_radius(noise, votes, d, guess, partial(ThresholdProbability, noise)) == expected


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([Discrete(255, "0.2"), Discrete(1, "0.6"), Discrete(9, "0.02"), Discrete(3, "0.9")]),
    st.sampled_from([3_000, 100_000, 10**8]),
    st.integers(0, 10**5),
    st.sampled_from(["0.001", "0.04", "1e-20", "0.8"]),
)
def test_many_votes_certify_what_the_incomplete_beta_function_says(
    noise: Discrete, n: int, per_100_000_missing: int, failure: str
) -> None:
    votes = Votes(n - n * per_100_000_missing**2 // (2 * 10**10), n, failure)
    assert radius_from_votes(noise, votes, 12) == beta_radius(noise, votes, 12)


@settings(max_examples=30)
@given(noises(max_denominator=12), some_votes(1_000))
def test_the_number_of_coordinates_only_cuts(noise: Discrete, votes: Votes) -> None:
    far = radius_from_votes(noise, votes, MAX_DIMENSION)
    for d in (1, 20):
        assert radius_from_votes(noise, votes, d) == (None if far is None else min(far, d))


@pytest.mark.parametrize("failure", ["0.001", 1 - Fraction(1, 10**30)])
def test_unanimous_votes_end_somewhere_in_any_number_of_coordinates(failure: str | Fraction) -> None:
    noise, votes = Discrete(255, "0.2"), Votes(10**8, 10**8, failure)
    result = radius_from_votes(noise, votes, MAX_DIMENSION)
    assert result is not None
    exact = [single_threshold.threshold(noise, r) for r in (result, result + 1)]
    with precision(4_096):
        below, above = (ball(tau) ** votes.n - ball(votes.failure) for tau in exact)
    assert below < 0
    assert above > 0


@pytest.mark.parametrize("n", [100, 100_000, 10**8])
@pytest.mark.parametrize("failure", ["0.001", "0.3", "1e-100"])
@pytest.mark.parametrize("share", ["1/50", "1/2", "0.999", "1"])
def test_the_guess_of_the_lower_bound_is_good_enough_to_hit_the_radius(n: int, failure: str, share: str) -> None:
    votes = Votes(int(n * Fraction(share)), n, failure)
    low, guess = lower_bound(votes), guess_lower_bound(votes)
    assert guess == pytest.approx(low, rel=1e-5)
    noise = Discrete(255, "0.2")
    assert radius(noise, guess, 100) == radius(noise, low, 100)


@pytest.mark.parametrize("votes", [Votes(5, 10, "1e-3000"), Votes(1, 10**8, "1e-300"), Votes(1, 1, "1e-3999")])
def test_a_bound_below_every_double_is_zero(votes: Votes) -> None:
    assert lower_bound(votes) in (0.0, pytest.approx(1e-308, abs=1e-307))
