"""Figures of certified accuracy."""

from pathlib import Path

import pytest

from ellzero.certificates import InvalidInput
from ellzero.smoothing.runs.metrics import Outcome, summarize
from ellzero.smoothing.runs.plots import plot_reports, short_names


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_curves_are_drawn(tmp_path: Path, suffix: str) -> None:
    report = summarize([Outcome(0, 0, 1), Outcome(0, 0, 3)])
    plot_reports({"one": report, "other": summarize([Outcome(0, 0, 1)])}, tmp_path / f"curves.{suffix}")
    assert (tmp_path / f"curves.{suffix}").stat().st_size > 5_000


def test_a_figure_that_cannot_be_drawn_is_one_line(tmp_path: Path) -> None:
    report = summarize([Outcome(0, 0, 1)])
    with pytest.raises(InvalidInput, match="plot must be a file name that ends in"):
        plot_reports({"one": report}, tmp_path / "curves.doc")
    with pytest.raises(InvalidInput, match="plot must be in a folder that exists"):
        plot_reports({"one": report}, tmp_path / "nowhere" / "curves.png")


def test_long_names_do_not_shrink_the_axes(tmp_path: Path) -> None:
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
def test_names_in_a_legend_are_as_short_as_they_can_be(uris: list[str], names: list[str]) -> None:
    assert short_names(uris) == names
