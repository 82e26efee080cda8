"""The confidence sequence: it holds at all numbers of votes together, and its radius never exceeds that of fixed n."""

from fractions import Fraction
from math import nextafter

import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises

from ellzero.certificates import (
    Discrete,
    Votes,
    anytime_lower_bound,
    anytime_radius,
    radius,
    radius_from_votes,
    single_threshold,
)
from ellzero.certificates.binomial_tails import SuccessProbability
from ellzero.certificates.confidence_sequence import excludes, guess_anytime_bound

failures = st.sampled_from(["0.001", "0.05", "1/1024", "1e-9", "0.5", "0.9"]).map(Fraction)


def probability_of_ever_excluding(p: Fraction, most: int, failure: Fraction) -> Fraction:
    """P[the sequence excludes p itself at some m ≤ most], exactly: paths that have not, counted vote by vote."""
    paths, excluded = {0: Fraction(1)}, Fraction(0)
    for m in range(1, most + 1):
        next_paths: dict[int, Fraction] = {}
        for k, mass in paths.items():
            next_paths[k + 1] = next_paths.get(k + 1, Fraction(0)) + mass * p
            next_paths[k] = next_paths.get(k, Fraction(0)) + mass * (1 - p)
        paths = {}
        for k, mass in next_paths.items():
            if excludes(Votes(k, m, failure), SuccessProbability(p)):
                excluded += mass
            else:
                paths[k] = mass
    return excluded


@pytest.mark.parametrize("p", ["1/2", "7/8", "19/20"])
@pytest.mark.parametrize("failure", ["0.3", "0.05"])
def test_p_is_ever_excluded_with_probability_at_most_epsilon(p: str, failure: str) -> None:
    share = probability_of_ever_excluding(Fraction(p), 150, Fraction(failure))
    assert 0 < share <= Fraction(failure)


def test_looking_at_clopper_pearson_after_every_vote_would_not_do() -> None:
    """What the sequence is for: the same walk with bounds for fixed n errs far more often than ε."""
    p, failure, paths, excluded = Fraction(1, 2), Fraction(1, 20), {0: Fraction(1)}, Fraction(0)
    for m in range(1, 101):
        next_paths: dict[int, Fraction] = {}
        for k, mass in paths.items():
            for after in (k, k + 1):
                next_paths[after] = next_paths.get(after, Fraction(0)) + mass / 2
        excluded_counts = {
            k for k in next_paths if radius_from_votes(Discrete(1, "0.8"), Votes(k, m, failure), 1) is not None
        }
        excluded += sum(next_paths[k] for k in excluded_counts)
        paths = {k: mass for k, mass in next_paths.items() if k not in excluded_counts}
    assert excluded > 3 * failure
    assert probability_of_ever_excluding(p, 100, failure) <= failure


@settings(max_examples=60)
@given(noises(), st.integers(1, 400), st.data(), failures, st.integers(1, 20))
def test_the_radius_is_that_of_the_bound_and_not_more_than_that_of_fixed_votes(
    noise: Discrete, n: int, data: st.DataObject, failure: Fraction, d: int
) -> None:
    votes = Votes(data.draw(st.integers(0, n)), n, failure)
    result = anytime_radius(noise, votes, d)
    below = anytime_lower_bound(votes)
    at_bound, above = radius(noise, below, d), radius(noise, min(nextafter(below, 1.0), 1.0), d)
    assert (-1 if at_bound is None else at_bound) <= (-1 if result is None else result)
    assert (-1 if result is None else result) <= (-1 if above is None else above)
    fixed = radius_from_votes(noise, votes, d)
    assert (-1 if result is None else result) <= (-1 if fixed is None else fixed)


@settings(max_examples=60)
@given(st.integers(1, 300), st.data(), failures)
def test_the_bound_is_the_last_double_that_is_excluded(n: int, data: st.DataObject, failure: Fraction) -> None:
    votes = Votes(data.draw(st.integers(1, n)), n, failure)
    bound = anytime_lower_bound(votes)
    assert bound == 0 or excludes(votes, SuccessProbability(Fraction(bound)))
    assert not excludes(votes, SuccessProbability(Fraction(nextafter(bound, 1.0))))


def test_the_mixture_against_its_integral() -> None:
    """M_m(q) = E[(θ/q)^k ((1−θ)/(1−q))^(m−k)], θ from Beta(1/2, 1/2): a sum over θ = sin²(t) with t uniform."""
    from math import log, pi, sin

    m, k, q, steps = 20, 17, 0.6, 20_000
    angles = ((i + 0.5) * pi / 2 / steps for i in range(steps))
    mean = sum((sin(t) ** 2 / q) ** k * ((1 - sin(t) ** 2) / (1 - q)) ** (m - k) for t in angles) / steps
    for factor, excluded in ((0.999, True), (1.001, False)):
        epsilon = Fraction(1 / (mean * factor))
        assert excludes(Votes(k, m, epsilon), SuccessProbability(Fraction(q))) is excluded, log(mean)


def test_a_threshold_above_the_share_of_votes_is_not_excluded() -> None:
    """Far above k/m the mixture is large too: that is evidence for a smaller p."""
    assert not excludes(Votes(50, 100, "0.05"), SuccessProbability(Fraction(99, 100)))
    assert anytime_radius(Discrete(255, "0.2"), Votes(50, 100, "0.05"), 10) is None


def test_values_at_large_numbers_of_votes() -> None:
    noise = Discrete(255, "0.2")
    assert anytime_radius(noise, Votes(100_000, 100_000), 784) == 8
    assert anytime_radius(noise, Votes(30_000, 30_000), 784) == 7
    assert single_threshold.threshold(noise, 8) < Fraction(anytime_lower_bound(Votes(100_000, 100_000)))


EXTREME_FAILURES = [Fraction(1, 10**e) for e in (1, 3, 12, 30, 100, 300, 400)] + [
    1 - Fraction(1, 10**e) for e in (1, 3, 12, 30, 300)
]


@pytest.mark.parametrize("failure", EXTREME_FAILURES, ids=lambda failure: f"{float(failure):g}")
@pytest.mark.parametrize("n", [1, 2, 1_000, 10**6, 10**8])
def test_the_bound_exists_for_every_failure_and_few_votes(n: int, failure: Fraction) -> None:
    """However small the failure probability is, even below the least double: no guess may fail."""
    for count in {0, 1, min(2, n), n // 3, n // 2, n - 1, n}:
        votes = Votes(count, n, failure)
        bound = anytime_lower_bound(votes)
        assert bound == 0 or excludes(votes, SuccessProbability(Fraction(bound)))
        assert count == 0 or not excludes(votes, SuccessProbability(Fraction(nextafter(bound, 1.0))))
        assert anytime_radius(Discrete(255, "0.2"), votes, 784) == radius(Discrete(255, "0.2"), bound, 784)


@settings(max_examples=200)
@given(st.integers(1, 10**8), st.data(), st.integers(1, 300))
def test_the_guess_is_a_probability_whatever_the_votes_are(n: int, data: st.DataObject, digits: int) -> None:
    count = data.draw(st.integers(0, n) | st.integers(0, min(n, 5)) | st.integers(max(0, n - 5), n))
    for failure in (Fraction(1, 10**digits), 1 - Fraction(1, 10**digits)):
        assert 0 <= guess_anytime_bound(Votes(count, n, failure)) <= 1
