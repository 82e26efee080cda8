"""Bounds from votes over the whole range of ε and n: exact to the double, and after few comparisons."""

from fractions import Fraction
from math import nextafter

import pytest
from hypothesis import given, settings, strategies as st
from oracles import brute_force

from ellzero.certificates import (
    Discrete,
    Votes,
    anytime_lower_bound,
    anytime_radius,
    confidence_sequence,
    lower_bound,
    upper_bound,
    votes as votes_module,
)
from ellzero.certificates._balls import arb, ball, precision
from ellzero.certificates.binomial_tails import SuccessProbability, compare_tail

TINY = [Fraction(1, 10**exponent) for exponent in (3999, 400, 308, 300, 100, 30, 12, 6, 3)]
EXTREME = [*TINY, Fraction(1, 2), *(1 - failure for failure in TINY if failure >= Fraction(1, 10**300))]
SIZES = [1, 2, 3, 1_000, 10**5, 10**8]

failures = st.integers(1, 400).map(lambda exponent: Fraction(1, 10**exponent)) | st.sampled_from(EXTREME)


def counts_of(n: int) -> list[int]:
    return sorted({count for count in (0, 1, 2, n // 2, n - 1, n) if count <= n})


def exceeds(n: int, count: int, q: Fraction, failure: Fraction) -> bool:
    """Whether P[Bin(n, q) ≥ count] > ε, by the incomplete beta function at many bits."""
    if q >= 1:
        return True
    with precision(512):
        missing = ball(1 - q).beta_lower(n - count + 1, count, 1)
        return bool(missing < ball(1 - failure))


def log_mixture(votes: Votes, q: Fraction) -> arb:
    """log M_n(q) + log ε, at many bits."""
    n, k, half = votes.n, votes.count, ball(Fraction(1, 2))
    log_beta = (k + half).lgamma() + (n - k + half).lgamma() - ball(n + 1).lgamma()
    return log_beta - arb.pi().log() - k * ball(q).log() - (n - k) * ball(1 - q).log() + ball(votes.failure).log()


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 60), st.data(), failures)
def test_the_lower_bound_is_the_largest_double_by_brute_force(n: int, data: st.DataObject, failure: Fraction) -> None:
    count = data.draw(st.integers(1, n))
    low = lower_bound(Votes(count, n, failure))
    assert brute_force.binomial_tail(n, count, Fraction(low)) <= failure
    assert brute_force.binomial_tail(n, count, Fraction(nextafter(low, 2.0))) > failure


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("failure", EXTREME, ids=lambda failure: f"{float(failure):.3g}")
def test_lower_bounds_take_few_comparisons(monkeypatch: pytest.MonkeyPatch, n: int, failure: Fraction) -> None:
    compare, comparisons = compare_tail, 0

    def count_calls(n: int, k: int, probability: SuccessProbability, bound: Fraction) -> int | None:
        nonlocal comparisons
        comparisons += 1
        return compare(n, k, probability, bound)

    monkeypatch.setattr(votes_module, "compare_tail", count_calls)
    for count in counts_of(n):
        comparisons = 0
        low = lower_bound(Votes(count, n, failure))
        assert comparisons <= 24
        if count:
            assert compare(n, count, SuccessProbability(Fraction(low)), failure) in (-1, 0)
            assert compare(n, count, SuccessProbability(Fraction(nextafter(low, 2.0))), failure) == 1
        comparisons = 0
        high = upper_bound(Votes(count, n, failure))
        assert comparisons <= 24
        missing = lower_bound(Votes(n - count, n, failure))
        assert Fraction(high) >= 1 - Fraction(missing)


@pytest.mark.parametrize("failure", ["0.001", "0.999999", 1 - Fraction(1, 10**300)])
@pytest.mark.parametrize("count", [1, 2, 10**5, 2 * 10**5])
def test_lower_bounds_against_the_incomplete_beta_function(count: int, failure: str | Fraction) -> None:
    votes = Votes(count, 2 * 10**5, failure)
    low = lower_bound(votes)
    assert not exceeds(votes.n, count, Fraction(low), votes.failure)
    assert exceeds(votes.n, count, Fraction(nextafter(low, 2.0)), votes.failure)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("failure", EXTREME, ids=lambda failure: f"{float(failure):.3g}")
def test_anytime_bounds_are_the_last_excluded_double(
    monkeypatch: pytest.MonkeyPatch, n: int, failure: Fraction
) -> None:
    excludes, comparisons = confidence_sequence.excludes, 0

    def count_calls(votes: Votes, probability: SuccessProbability) -> bool:
        nonlocal comparisons
        comparisons += 1
        return excludes(votes, probability)

    monkeypatch.setattr(confidence_sequence, "excludes", count_calls)
    for count in counts_of(n):
        votes, comparisons = Votes(count, n, failure), 0
        low = anytime_lower_bound(votes)
        assert comparisons <= 80
        above = Fraction(nextafter(low, 1.0))
        with precision(512):
            assert low == 0 or log_mixture(votes, Fraction(low)) > 0
            # A tie, such as 1/4 for one vote of one at ε = 1/2, cannot be told and is not excluded.
            assert above * n >= count or not log_mixture(votes, above) > 0


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**8), st.data(), failures)
def test_no_anytime_setting_fails(n: int, data: st.DataObject, failure: Fraction) -> None:
    votes = Votes(data.draw(st.integers(0, n)), n, failure)
    low = anytime_lower_bound(votes)
    assert 0 <= Fraction(low) * n <= votes.count
    anytime_radius(Discrete(255, "0.2"), votes, 784)


def test_one_vote_of_a_thousand_at_a_small_failure() -> None:
    """The guess once left its domain here."""
    votes = Votes(1, 1_000, "1e-12")
    assert anytime_radius(Discrete(255, "0.2"), votes, 784) is None
    assert 0 < anytime_lower_bound(votes) < 1e-12
