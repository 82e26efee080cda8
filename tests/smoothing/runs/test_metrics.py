"""What is said of a data set's certificates together, against counting by hand."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ellzero.certificates import InvalidInput
from ellzero.smoothing.runs.metrics import Outcome, summarize
from ellzero.smoothing.runs.plots import plot_reports, short_names

outcomes = st.builds(
    lambda label, prediction, radius: Outcome(label, -1 if radius is None else prediction, radius),
    st.integers(0, 2),
    st.integers(0, 2),
    st.none() | st.integers(0, 6),
)


@given(st.lists(outcomes, min_size=1, max_size=60))
def test_a_report_counts_what_is_certified_and_right(found: list[Outcome]) -> None:
    report = summarize(found)
    right = [outcome for outcome in found if outcome.radius is not None and outcome.prediction == outcome.label]
    assert report.inputs == len(found)
    assert report.abstained + report.wrong + len(right) == len(found)
    assert report.mean_radius == pytest.approx(sum(outcome.radius or 0 for outcome in right) / len(found))
    for each in report.accuracy:
        share = sum(outcome.radius is not None and outcome.radius >= each.r for outcome in right) / len(found)
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


def test_radii_that_were_asked_for_are_listed_even_where_nothing_is_certified() -> None:
    report = summarize([Outcome(0, 0, 1)], r_max=3)
    assert [each.share for each in report.accuracy] == [1, 1, 0, 0]
    with pytest.raises(InvalidInput, match="results must be of at least one input"):
        summarize([])


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_curves_are_drawn(tmp_path: Path, suffix: str) -> None:
    report = summarize([Outcome(0, 0, 1), Outcome(0, 0, 3)])
    plot_reports({"one": report, "other": summarize([Outcome(0, 0, 1)])}, tmp_path / f"curves.{suffix}")
    assert (tmp_path / f"curves.{suffix}").stat().st_size > 5_000


def test_a_figure_that_cannot_be_drawn_is_one_line(tmp_path: Path) -> None:
    report = summarize([Outcome(0, 0, 1)])
    with pytest.raises(InvalidInput, match="plot must be a file name that ends in"):
        plot_reports({"one": report}, tmp_path / "curves.doc")
    with pytest.raises(InvalidInput, match="plot must be a file that can be written"):
        plot_reports({"one": report}, tmp_path / "nowhere" / "curves.png")


def test_long_names_leave_the_curves_their_room(tmp_path: Path) -> None:
    """matplotlib warns, which is an error here, where axes have no room left."""
    report = summarize([Outcome(0, 0, 1)])
    plot_reports({f"{'long/' * 40}{number}": report for number in range(6)}, tmp_path / "curves.png")
    plot_reports({"x" * 200: report, "y" * 200: report}, tmp_path / "curves.png")


@pytest.mark.parametrize(
    ("uris", "names"),
    [
        (["/results/mnist/"], ["mnist"]),
        (["a/x", "b/x", "c/y"], ["a/x", "b/x", "c/y"]),
        (["s3://bucket/runs/a/x", "s3://bucket/runs/b/x"], ["a/x", "b/x"]),
        (["x", "x/"], ["x", "x/"]),
    ],
)
def test_names_in_a_legend_are_as_short_as_tells_them_apart(uris: list[str], names: list[str]) -> None:
    assert short_names(uris) == names
