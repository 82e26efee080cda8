"""The plan names the least number of votes, although the power is a saw in n."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from oracles import brute_force
from oracles.strategies import noises

from ellzero.certificates import Discrete, InvalidInput, min_count, plan, single_threshold
from ellzero.certificates.binomial_tails import SuccessProbability, ThresholdProbability, compare_tail
from ellzero.certificates.sample_size import _Search


def slow_plan(noise: Discrete, r: int, p: Fraction, failure: Fraction, power: Fraction, most: int) -> int | None:
    for n in range(1, most + 1):
        least = min_count(noise, r, n, failure)
        if least is not None and brute_force.binomial_tail(n, least, p) >= power:
            return n
    return None


@settings(max_examples=25)
@given(
    noises(max_k=20),
    st.integers(0, 3),
    st.fractions(Fraction(1, 20), 1, max_denominator=100),
    st.sampled_from(["0.05", "0.2", "0.9", "0.999"]).map(Fraction),
    st.sampled_from(["0.001", "0.1", "0.5", "0.9"]).map(Fraction),
)
def test_no_smaller_number_of_votes_has_the_power(
    noise: Discrete, r: int, above: Fraction, failure: Fraction, power: Fraction
) -> None:
    tau = single_threshold.threshold(noise, r)
    p = tau + (1 - tau) * above
    result = plan(noise, r, p, failure, power)
    if result is None or result.n > 120:
        assert slow_plan(noise, r, p, failure, power, 60) is None
    else:
        assert result.n == slow_plan(noise, r, p, failure, power, 120)
        assert result.min_count == min_count(noise, r, result.n, failure)


def test_a_power_below_the_failure_takes_no_more_votes_than_any_certificate() -> None:
    """One vote has the power here: even a p at the threshold would have it."""
    for r, p in ((0, "0.51"), (1, "0.9"), (2, 1)):
        result = plan(Discrete(1, "0.8"), r, p, failure="0.99", power="0.05")
        assert result is not None
        assert (result.n, result.min_count) == (1, 1)


def test_a_larger_plan_is_the_least_too() -> None:
    result = plan(Discrete(255, "0.2"), 3, "0.99")
    assert result is not None
    assert (result.n, result.min_count) == (2482, 2451)
    for n in range(1, result.n):
        least = min_count(result.family, 3, n)
        assert least is None or compare_tail(n, least, SuccessProbability(result.p), result.power) == -1


@pytest.mark.parametrize("p", ["0.97", "0.3", single_threshold.threshold(Discrete(255, "0.2"), 3)])
def test_a_p_that_does_not_exceed_the_threshold_has_no_plan(p: str | Fraction) -> None:
    assert plan(Discrete(255, "0.2"), 3, p) is None


def test_a_p_barely_above_the_threshold_needs_more_votes_than_there_may_be() -> None:
    assert plan(Discrete(1, "0.8"), 1, "0.87505") is None


def test_certainty_needs_as_many_votes_as_make_the_radius_reachable() -> None:
    result = plan(Discrete(255, "0.2"), 3, 1)
    assert result is not None
    assert result.n == result.min_count == 326
    assert min_count(result.family, 3, 325) is None


def test_the_bound_by_randomised_tests_never_falls() -> None:
    """What the exclusion of small n rests on."""
    search = _Search(
        ThresholdProbability(Discrete(1, "0.8"), 1),
        SuccessProbability(Fraction("0.95")),
        Fraction("0.05"),
        Fraction("0.9"),
    )
    excluded = [search._surely_too_few(n) for n in range(23, 140)]
    assert excluded == sorted(excluded, reverse=True)
    assert excluded[0]
    assert not excluded[-1]


@pytest.mark.parametrize("power", [0, 1, "1.5"])
def test_bad_power(power: object) -> None:
    with pytest.raises(InvalidInput, match="^power must be a number strictly between 0 and 1; got"):
        plan(Discrete(1, "0.8"), 1, "0.9", power=power)  # type: ignore[arg-type]
