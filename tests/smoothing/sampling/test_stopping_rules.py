"""Stopping rules: stopping early does not change the answer, or keeps its guarantee."""

from bisect import bisect_right
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from smoothing.classifiers import NOISE, make_inputs
from smoothing.small_models import Counting, Lookup

from ellzero.certificates import (
    Bounds,
    Discrete,
    Votes,
    bounds_from_counts,
    lower_bound,
    radius_from_bounds,
    radius_from_votes,
    staged_radius,
)
from ellzero.smoothing import DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.noise import random_streams
from ellzero.smoothing.sampling.stopping_rules import MonotoneCache, Stopping, Tally, make_rule


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")  # n may be 1
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3_000), st.booleans(), st.sampled_from(["0.7", "0.4", "0.9"]))
def test_settled_votes_give_the_answer_of_all_votes(seed: int, n: int, runner_up: bool, alpha: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_streams, "_BLOCK_COORDINATES", 64)
        classifier = SmoothedClassifier(Counting(8, 3, seed), Discrete(3, alpha), 3, feed="levels")
        (x,) = make_inputs(1)
        full, early = (
            classifier.certify(x, 10, n, "0.01", seed=seed, stopping=stopping, runner_up=runner_up)
            for stopping in ("never", "settled")
        )
    assert (early.prediction, early.radius, early.selected) == (full.prediction, full.radius, full.selected)
    assert early.drawn <= full.drawn == n
    assert early.lower_bound <= full.lower_bound
    if not runner_up:
        assert early.lower_bound == lower_bound(Votes(early.count, n, "0.01"))  # undrawn votes are failures
    else:
        bounds = bounds_from_counts(early.counts, early.selected, n, "0.01")
        assert (early.lower_bound, early.upper_bound) == (bounds.lower, bounds.upper)


@settings(max_examples=50)
@given(st.integers(1, 400), st.data(), st.sampled_from(["0.001", "0.05", "0.5"]).map(Fraction), st.booleans())
def test_a_rule_is_finished_exactly_when_no_votes_can_change_the_radius(
    n: int, data: st.DataObject, failure: Fraction, runner_up: bool
) -> None:
    """Against trying every way to share the undrawn votes between the chosen class and a rival."""
    noise = DiscreteNoise.of(NOISE)
    drawn = data.draw(st.integers(max(0, n - 25), n))
    for_a = data.draw(st.integers(0, drawn))
    for_b = data.draw(st.integers(0, drawn - for_a))
    tally = Tally((for_b, for_a, drawn - for_a - for_b), 1, n)
    rule = make_rule(noise, 9, n, failure, Stopping.SETTLED, runner_up)
    ends = set()
    for more_a in range(tally.undrawn + 1):
        for more_b in {0, tally.undrawn - more_a} if runner_up else {0}:
            rest = tally.undrawn - more_a - more_b
            final = Tally((for_b + more_b, for_a + more_a, tally.counts[2] + rest), 1, n)
            ends.add(rule.certify(final).radius)
    assert rule.is_finished(tally) is (len(ends) == 1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 10**6),
    st.data(),
    st.sampled_from([Fraction("1e-12"), Fraction("1e-100"), Fraction("1e-300"), 1 - Fraction(1, 10**30)]),
    st.sampled_from([*Stopping]),
)
def test_no_rule_fails_at_extreme_failures(n: int, data: st.DataObject, failure: Fraction, stopping: Stopping) -> None:
    rule = make_rule(DiscreteNoise.of(NOISE), 9, n, failure, stopping, False)
    sizes = [look.n for look in rule.looks] or [data.draw(st.integers(1, n))]
    share = data.draw(st.fractions(0, 1))
    looks = tuple((size - int(size * share), int(size * share)) for size in sizes)
    tally = Tally(looks[-1], 1, n, looks if rule.looks else ())
    rule.is_finished(tally)
    certificate = rule.certify(tally)
    assert 0 <= certificate.lower < 1
    assert certificate.radius is None or certificate.lower > 0.49


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3_000), st.booleans(), st.sampled_from(["staged", "hasty"]))
def test_a_staged_certificate_is_the_best_of_its_looks(seed: int, n: int, runner_up: bool, stopping: str) -> None:
    """Against the certificate of each look by itself, computed anew from the votes that the result lists."""
    noise = Discrete(3, "0.7")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_streams, "_BLOCK_COORDINATES", 64)
        classifier = SmoothedClassifier(Counting(8, 3, seed), noise, 3, feed="levels")
        (x,) = make_inputs(1)
        result = classifier.certify(x, 10, n, "0.01", seed=seed, stopping=stopping, runner_up=runner_up)
        never = classifier.certify(x, 10, n, "0.01", seed=seed, stopping="never")
    planned = Stopping(stopping).plan(n, Fraction("0.01"))
    assert [(look.n, look.failure) for look in result.looks] == [(look.n, look.failure) for look in planned][
        : len(result.looks)
    ]
    assert sum(look.failure for look in planned) == Fraction("0.01")
    assert (result.looks[-1].n, result.looks[-1].count) == (result.drawn, result.count)
    if runner_up:
        assert result.upper_bound is not None
        bounds = Bounds(result.lower_bound, result.upper_bound)
        assert result.radius == radius_from_bounds(noise, bounds, 8)
    else:
        if stopping == "staged":
            assert result.radius == staged_radius(noise, [look.count for look in result.looks], n, 8, "0.01")
        looks = [radius_from_votes(noise, Votes(look.count, look.n, look.failure), 8) for look in result.looks]
        assert result.radius == max((radius for radius in looks if radius is not None), default=None)
        # No look can certify more than the votes at it do with the whole failure probability.
        singles = [radius_from_votes(noise, Votes(look.count, look.n, "0.01"), 8) for look in result.looks]
        assert (-1 if result.radius is None else result.radius) <= max(-1 if r is None else r for r in singles)
        assert any(result.lower_bound == lower_bound(Votes(look.count, look.n, look.failure)) for look in result.looks)
    assert result.drawn <= never.drawn


@settings(max_examples=60)
@given(st.integers(40, 3_000), st.data(), st.sampled_from(["staged", "hasty"]), st.booleans())
def test_a_staged_rule_goes_on_while_it_may_gain_and_stops_at_its_last_look(
    n: int, data: st.DataObject, stopping: str, runner_up: bool
) -> None:
    rule = make_rule(DiscreteNoise.of(NOISE), 9, n, Fraction("0.01"), Stopping(stopping), runner_up)
    share = data.draw(st.floats(0, 1))
    looks = tuple((look.n - round(share * look.n), round(share * look.n)) for look in rule.looks)
    last = Tally(looks[-1], 1, n, looks)
    assert last.undrawn == 0
    assert rule.is_finished(last)
    for made in range(1, len(looks) + 1):
        tally = Tally(looks[made - 1], 1, n, looks[:made])
        radius = rule.certify(tally).radius
        # What is certified never gets less by looking further.
        final = rule.certify(last).radius
        assert (-1 if radius is None else radius) <= (-1 if final is None else final)


@given(st.data())
def test_known_counts_give_the_values_between_them(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 200))
    steps = sorted(data.draw(st.lists(st.integers(0, n), max_size=6)))
    computed = []

    def value(count: int) -> int | None:
        computed.append(count)
        return bisect_right(steps, count) or None

    cache = MonotoneCache(value)
    for count in data.draw(st.lists(st.integers(0, n), min_size=1, max_size=60)):
        assert cache(count) == (bisect_right(steps, count) or None)
    assert len(computed) == len(set(computed))


def test_anytime_stopping_draws_fewer_votes() -> None:
    classifier = SmoothedClassifier(Lookup(4, 2, 2, lambda point: int(point == (3, 3))), NOISE, 2, feed="levels")
    results = {stop: classifier.certify([0, 0], 100, 200_000, seed=4, stopping=stop) for stop in Stopping}
    assert results[Stopping.HASTY].drawn <= results[Stopping.STAGED].drawn < results[Stopping.SETTLED].drawn
    assert results[Stopping.STAGED].radius == results[Stopping.NEVER].radius
    assert results[Stopping.ANYTIME].drawn < results[Stopping.SETTLED].drawn <= results[Stopping.NEVER].drawn
    assert results[Stopping.SETTLED].radius == results[Stopping.NEVER].radius
