"""Metrics as cells: with bands, which end where no radius is and are left out where the spread says nothing."""

import pytest

from ellzero.experiments import Estimate
from ellzero.experiments.estimates import estimate_mean, estimate_share
from ellzero.smoothing.runs.metrics import Outcome, summarize


def test_a_mean_has_a_band_that_does_not_fall_below_0() -> None:
    cell = estimate_mean(summarize([Outcome(0, 0, radius) for radius in (0, 0, 0, 9)]), paper=2.0)
    assert (cell.value, cell.low, cell.paper) == (2.25, 0.0, 2.0)
    assert cell.high is not None
    assert cell.high > 2.25


@pytest.mark.parametrize("radii", [(2, 2, 2), (2,)])
def test_equal_radii_have_no_band(radii: tuple[int, ...]) -> None:
    assert estimate_mean(summarize([Outcome(0, 0, radius) for radius in radii])) == Estimate(2.0)


def test_a_share_has_the_interval_of_its_report() -> None:
    accuracy = summarize([Outcome(0, 0, 1), Outcome(0, 1, 1)]).accuracy[1]
    assert estimate_share(accuracy) == Estimate(0.5, accuracy.low, accuracy.high)
    assert estimate_share(accuracy, 0.4).holds_paper
