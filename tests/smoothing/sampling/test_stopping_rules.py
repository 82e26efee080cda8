"""Stopping rules: stopping early does not change the answer, or keeps its guarantee."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from smoothing.classifiers import NOISE, make_inputs
from smoothing.small_models import Counting, Lookup

from ellzero.certificates import Noise, Votes, bounds_from_counts, lower_bound
from ellzero.smoothing import DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.noise import random_streams
from ellzero.smoothing.sampling.stopping_rules import Stopping, Tally, make_rule


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")  # n may be 1
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3_000), st.booleans(), st.sampled_from(["0.7", "0.4", "0.9"]))
def test_settled_votes_give_the_answer_of_all_votes(seed: int, n: int, runner_up: bool, alpha: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_streams, "_BLOCK_COORDINATES", 64)
        classifier = SmoothedClassifier(Counting(8, 3, seed), Noise(3, alpha), 3, feed="levels")
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


def test_anytime_stopping_draws_fewer_votes() -> None:
    classifier = SmoothedClassifier(Lookup(4, 2, 2, lambda point: int(point == (3, 3))), NOISE, 2, feed="levels")
    results = {stop: classifier.certify([0, 0], 100, 200_000, seed=4, stopping=stop) for stop in Stopping}
    assert results[Stopping.ANYTIME].drawn < results[Stopping.SETTLED].drawn <= results[Stopping.NEVER].drawn
    assert results[Stopping.SETTLED].radius == results[Stopping.NEVER].radius
