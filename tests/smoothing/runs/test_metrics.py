"""Metrics of a data set's certificates, against counting by hand."""

import pytest
from hypothesis import given, strategies as st

from ellzero.certificates import InvalidInput
from ellzero.smoothing.runs.metrics import Outcome, summarize

outcomes = st.builds(
    lambda label, prediction, radius: Outcome(label, -1 if radius is None else prediction, radius),
    st.integers(0, 2),
    st.integers(0, 2),
    st.none() | st.integers(0, 6),
)


@given(st.lists(outcomes, min_size=1, max_size=60))
def test_a_report_counts_what_is_certified_and_right(results: list[Outcome]) -> None:
    report = summarize(results)
    right = [outcome for outcome in results if outcome.radius is not None and outcome.prediction == outcome.label]
    assert report.inputs == len(results)
    assert report.abstained + report.wrong + len(right) == len(results)
    assert report.mean_radius == pytest.approx(sum(outcome.radius or 0 for outcome in right) / len(results))
    for each in report.accuracy:
        share = sum(outcome.radius is not None and outcome.radius >= each.r for outcome in right) / len(results)
        assert each.share == share
        assert 0 <= each.low <= share <= each.high <= 1
    shares = [each.share for each in report.accuracy]
    assert shares == sorted(shares, reverse=True)
    # μ(R) is the area under ACC@r from r = 1 on.
    assert report.mean_radius == pytest.approx(sum(shares[1:]))


def test_intervals_narrow_with_the_number_of_inputs() -> None:
    few, many = (summarize([Outcome(0, 0, 1), Outcome(0, 0, 3)] * times) for times in (5, 500))
    assert many.mean_radius == few.mean_radius == 2
    assert many.mean_radius_error < few.mean_radius_error
    assert many.accuracy[2].high - many.accuracy[2].low < few.accuracy[2].high - few.accuracy[2].low


def test_accuracy_is_listed_up_to_r_max_even_if_nothing_is_certified() -> None:
    report = summarize([Outcome(0, 0, 1)], r_max=3)
    assert [each.share for each in report.accuracy] == [1, 1, 0, 0]
    with pytest.raises(InvalidInput, match="results must be of at least one input"):
        summarize([])
