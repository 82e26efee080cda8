"""Votes: the least count is the least, the lower bound is rounded down, and both say the same."""

from fractions import Fraction
from math import nextafter

import pytest
from hypothesis import given, settings, strategies as st
from oracles import brute_force
from oracles.strategies import noises

from ellzero.certificates import (
    Discrete,
    InvalidInput,
    Votes,
    lower_bound,
    min_count,
    plan,
    radius,
    radius_from_votes,
    reachable_radius,
    single_threshold,
)
from ellzero.certificates.binomial_tails import SuccessProbability, ThresholdProbability, compare_tail, exact_tail

failures = st.sampled_from(["0.001", "0.05", "1/1024", "1e-9", "0.5", "0.9"]).map(Fraction)


@settings(max_examples=60)
@given(noises(), st.integers(0, 12), st.integers(1, 80), failures)
def test_min_count_is_the_least_count(noise: Discrete, r: int, n: int, failure: Fraction) -> None:
    tau = single_threshold.threshold(noise, r)
    slow = next((k for k in range(n + 1) if brute_force.binomial_tail(n, k, tau) < failure), None)
    assert min_count(noise, r, n, failure) == slow


def test_counts_computed_by_hand() -> None:
    result = [min_count(Discrete(255, "1/5"), r, 100_000, "0.001") for r in range(1, 11)]
    assert result == [70136, 85719, 98039, 99563, 99679, 99793, 99900, 99991, None, None]


def test_an_exact_tie_does_not_certify() -> None:
    """P[Bin(10, 1/2) ≥ 10] is 2^-10 exactly, which is not below 2^-10."""
    assert min_count(Discrete(1, "1/2"), 0, 10, "1/1024") is None
    assert min_count(Discrete(1, "1/2"), 0, 10, "1/1023") == 10
    assert radius_from_votes(Discrete(1, "0.8"), Votes(10, 10, "1/1024"), 5) is None


def test_a_tie_that_cannot_be_checked_is_not_certified() -> None:
    assert min_count(Discrete(1, "0.8"), 0, 200_001, "0.5") == 100_002


def test_radii_far_beyond_saturation_are_out_of_reach_at_once() -> None:
    assert min_count(Discrete(255, "0.2"), 10**12, 1_000) is None
    assert plan(Discrete(255, "0.2"), 10**12, 1) is None


def test_votes_that_prove_almost_nothing_are_fast_too() -> None:
    """At ε = 1 − 10^-30 unanimous votes bound p by almost 1, and many thresholds lie above the double below."""
    votes = Votes(10**8, 10**8, 1 - Fraction(1, 10**30))
    noise = Discrete(1, "0.53")
    result = radius_from_votes(noise, votes, 60_000)
    assert result is not None
    assert compare_tail(votes.n, votes.n, ThresholdProbability(noise, result), votes.failure) == -1
    assert compare_tail(votes.n, votes.n, ThresholdProbability(noise, result + 1), votes.failure) == 1


@pytest.mark.parametrize(("n", "failure"), [(10**8, "0.001"), (10**8, "1e-30"), (10**7, "0.5")])
def test_a_hundred_million_votes(n: int, failure: str) -> None:
    noise = Discrete(255, "0.2")
    result = min_count(noise, 2, n, failure)
    assert result is not None
    tau = SuccessProbability(single_threshold.threshold(noise, 2))
    assert compare_tail(n, result, tau, Fraction(failure)) == -1
    assert compare_tail(n, result - 1, tau, Fraction(failure)) == 1


@settings(max_examples=60)
@given(st.integers(1, 60), st.data(), failures)
def test_the_lower_bound_is_the_largest_double_that_is_one(n: int, data: st.DataObject, failure: Fraction) -> None:
    count = data.draw(st.integers(0, n))
    low = lower_bound(Votes(count, n, failure))
    if count == 0:
        assert low == 0.0
        return
    assert brute_force.binomial_tail(n, count, Fraction(low)) <= failure
    assert brute_force.binomial_tail(n, count, Fraction(nextafter(low, 2.0))) > failure


@pytest.mark.parametrize("digits", [17, 39, 173, 3_000])
@pytest.mark.parametrize(("count", "n"), [(1, 1), (1, 30), (15, 30), (29, 30), (30, 30)])
def test_the_lower_bound_is_the_largest_double_for_failures_close_to_one(count: int, n: int, digits: int) -> None:
    failure = 1 - Fraction(1, 10**digits)
    low = lower_bound(Votes(count, n, failure))
    assert brute_force.binomial_tail(n, count, Fraction(low)) <= failure
    above = nextafter(low, 1.0)
    assert above == 1 or brute_force.binomial_tail(n, count, Fraction(above)) > failure


@pytest.mark.parametrize(("half", "below"), [(10, 0), (1_000, 0), (200_000, 1)])
def test_the_lower_bound_at_a_tie_is_that_double_where_integers_can_tell(half: int, below: int) -> None:
    """P[Bin(2m+1, 1/2) ≥ m+1] is 1/2 exactly."""
    low = lower_bound(Votes(half + 1, 2 * half + 1, "1/2"))
    assert low == (nextafter(0.5, 0.0) if below else 0.5)


@settings(max_examples=40)
@given(noises(), st.integers(1, 400), st.integers(1, 30), failures, st.data())
def test_the_radius_from_votes_is_the_one_of_the_counts(
    noise: Discrete, n: int, d: int, failure: Fraction, data: st.DataObject
) -> None:
    votes = Votes(data.draw(st.integers(0, n)), n, failure)
    result = radius_from_votes(noise, votes, d)
    for r in range(d + 1):
        least = min_count(noise, r, n, failure)
        assert (least is not None and votes.count >= least) == (result is not None and r <= result)
    rounded = radius(noise, lower_bound(votes), d)
    assert rounded is None or (result is not None and rounded <= result)


def test_the_radius_of_unanimous_votes() -> None:
    noise = Discrete(255, "0.2")
    assert reachable_radius(noise, 100_000, "0.001", 150528) == 8
    assert reachable_radius(noise, 5, "0.001", 150528) is None
    assert reachable_radius(Discrete(3, "1/4"), 100, "0.001", 50) == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2), "count must be an integer from 0 to 2; got 3"),
        ((-1, 2), "count must be an integer from 0 to 2; got -1"),
        ((0, 0), "n must be an integer from 1 to 100000000; got 0"),
        ((1, 10**8 + 1), "n must be an integer from 1 to 100000000; got 100000001"),
        ((1, 2, 0), "failure must be a number strictly between 0 and 1; got 0"),
        ((1, 2, "1"), "failure must be a number strictly between 0 and 1; got '1'"),
    ],
)
def test_bad_votes(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        Votes(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("n", [1, 2, 10, 1_000, 10**5, 10**8])
@pytest.mark.parametrize("digits", [1, 6, 12, 30, 100, 300])
def test_bounds_take_few_comparisons_for_every_failure(n: int, digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure probability close to 1, or to 0, at up to 10^8 votes: the last double is found by few comparisons, and
    none of them needs integers of billions of bits."""
    comparisons: list[int] = []
    exact_sizes: list[int] = []

    def counting(n: int, k: int, probability: SuccessProbability, bound: Fraction) -> int | None:
        comparisons.append(k)
        return compare_tail(n, k, probability, bound)

    def measuring(n: int, k: int, q: Fraction) -> Fraction:
        exact_sizes.append((n - k + 1) * n * q.denominator.bit_length())
        return exact_tail(n, k, q)

    monkeypatch.setattr("ellzero.certificates.votes.compare_tail", counting)
    monkeypatch.setattr("ellzero.certificates.binomial_tails.exact_tail", measuring)
    for failure in (Fraction(1, 10**digits), 1 - Fraction(1, 10**digits)):
        for count in {0, 1, min(2, n), n // 2, n - 1, n}:
            comparisons.clear()
            bound = lower_bound(Votes(count, n, failure))
            assert len(comparisons) <= 20
            assert bound == 0 or compare_tail(n, count, SuccessProbability(Fraction(bound)), failure) in (-1, 0)
            above = nextafter(bound, 1.0)
            assert count == 0 or above == 1 or compare_tail(n, count, SuccessProbability(Fraction(above)), failure) == 1
    assert all(size <= 1 << 24 for size in exact_sizes)
