"""Sampling tasks: which votes are drawn, and what they mean."""

import pytest
from smoothing.classifiers import NOISE, certify_all, make_inputs
from smoothing.small_models import Counting

from ellzero.certificates import Votes, outvotes, radius_from_votes
from ellzero.smoothing import ABSTAIN, CertifySettings, SmoothedClassifier


def test_another_seed_has_other_votes() -> None:
    xs = make_inputs(1)
    counts = {certify_all(None, xs, CertifySettings.of(20, 500, "0.01", seed, "never"))[0].counts for seed in range(5)}
    assert len(counts) == 5


def test_votes_that_choose_the_class_are_not_those_that_certify_it() -> None:
    result = certify_all(None, make_inputs(1), CertifySettings.of(500, 500, "0.01", 1, "never"))[0]
    assert sum(result.selection) == sum(result.counts) == 500
    assert result.selection != result.counts


@pytest.mark.usefixtures("small_blocks")
def test_the_radius_is_the_one_of_the_counts() -> None:
    for result in certify_all(None, make_inputs(5), CertifySettings.of(20, 3_000, "0.001", 11, "never")):
        assert result.radius == radius_from_votes(NOISE, Votes(result.count, 3_000, "0.001"), 8)
        assert result.count == result.counts[result.selected]
        assert result.selected == max(range(3), key=result.selection.__getitem__)


@pytest.mark.usefixtures("small_blocks")
def test_a_prediction_wins_the_test_or_abstains() -> None:
    classifier = SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels")
    outcomes = set()
    for x in make_inputs(12):
        for n in (20, 300):
            result = classifier.predict(x, n, "0.01", seed=2)
            counts = sorted(result.counts, reverse=True)
            left = n - result.drawn
            won = outvotes(counts[0], counts[1] + left, "0.01")
            assert (result.prediction != ABSTAIN) is won
            assert won or left == 0
            outcomes.add(won)
    assert outcomes == {True, False}
