"""Figures of the experiment on MNIST. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from collections.abc import Mapping
from pathlib import Path

from ellzero.core.plotting import draw_figure, line_style, style_axes
from ellzero.experiments.published import PublishedRow
from ellzero.smoothing.runs.metrics import Report

_SHIFT = 0.13


def plot_rows(rows: Mapping[str, tuple[Report, PublishedRow | None]], out: Path) -> None:
    """ACC@r of each row with its band as error bars, and the paper's figures as hollow marks beside them."""
    with draw_figure(out, (8.5, 4.8)) as figure:
        from matplotlib.ticker import PercentFormatter

        axes = figure.subplots()
        for number, (title, (report, paper)) in enumerate(rows.items()):
            style = line_style(number)
            shares = [each.share for each in report.accuracy]
            errors = (
                [each.share - each.low for each in report.accuracy],
                [each.high - each.share for each in report.accuracy],
            )
            # Side by side, so that no bar hides another.
            shift = _SHIFT * (number - (len(rows) - 1) / 2)
            radii = [each.r + shift for each in report.accuracy]
            axes.errorbar(
                radii, shares, yerr=errors, capsize=3, label=f"{title}: μ(R) = {report.mean_radius:.3f}", **style
            )
            if paper is not None:
                hollow = {**style, "linestyle": "none", "markerfacecolor": "none", "markersize": 9}
                mean = "" if paper.mean_radius is None else f": μ(R) = {paper.mean_radius:.3f}"
                places = [r + shift for r in paper.accuracy]
                axes.plot(places, list(paper.accuracy.values()), label=f"the paper{mean}", **hollow)
        axes.set_xlabel("radius r: pixels changed, ≤ r")
        axes.set_ylabel("ACC@r: certified and right")
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        style_axes(axes, integer_x=True)
        figure.legend(loc="outside lower center", ncols=2 if any(paper for _, paper in rows.values()) else 1)
        figure.suptitle("Certified accuracy on binarised images; bars of 95 % over images")


def plot_alphas(tuned: Mapping[str, Report], out: Path) -> None:
    """μ(R) on validation images against α, by the Gaussian certificate."""
    with draw_figure(out, (7, 4)) as figure:
        axes = figure.subplots()
        alphas = [float(alpha) for alpha in tuned]
        means = [report.mean_radius for report in tuned.values()]
        axes.errorbar(
            alphas, means, yerr=[report.mean_radius_error for report in tuned.values()], capsize=3, **line_style(0)
        )
        axes.set_xlabel("probability that a pixel keeps its value (α)")
        axes.set_ylabel("mean certified radius μ(R)")
        axes.set_ylim(bottom=0)
        style_axes(axes)
        figure.suptitle("The Gaussian certificate on validation images, by which α is chosen; bars of 95 %")
