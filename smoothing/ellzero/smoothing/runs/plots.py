"""Figures of certified accuracy. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from ellzero.core.plotting import COLORS, INK, band_style, draw_figure, line_style, style_axes
from ellzero.smoothing.runs.metrics import Report
from ellzero.smoothing.runs.set_metrics import SetReport


def plot_reports(reports: Mapping[str, Report], out: Path) -> None:
    """ACC@r against r with its bands, and μ(R) with its interval: a line and a bar for each report, by its URI."""
    with draw_figure(out, (10, 4.2 + 0.2 * len(reports))) as figure:
        from matplotlib.ticker import PercentFormatter

        curves, bars = figure.subplots(1, 2, width_ratios=(2, 1))
        last = max(len(report.accuracy) for report in reports.values())
        for number, (name, report) in enumerate(zip(short_names(list(reports)), reports.values(), strict=True)):
            radii = [each.r for each in report.accuracy]
            shares = [each.share for each in report.accuracy]
            # Beyond the largest radius nothing is certified, so the share is 0.
            ends = [*radii, radii[-1] + 1]
            curves.step(ends, [*shares, 0.0], where="post", label=name, **line_style(number))
            lows = [*(each.low for each in report.accuracy), 0.0]
            highs = [*(each.high for each in report.accuracy), 0.0]
            curves.fill_between(ends, lows, highs, step="post", **band_style(number))
            spread = report.mean_radius_error if report.inputs > 1 else 0.0
            color = COLORS[number % len(COLORS)]
            bars.barh(number, report.mean_radius, 0.5, xerr=spread, color=color, ecolor=INK, capsize=3)
        curves.set_xlabel("radius r: units changed, ≤ r")
        curves.set_ylabel("ACC@r: certified and right")
        curves.set_xlim(0, last)
        curves.set_ylim(0, 1.02)
        curves.yaxis.set_major_formatter(PercentFormatter(1.0))
        style_axes(curves, integer_x=True)
        bars.set_xlabel("mean certified radius μ(R)")
        bars.set_yticks([])  # in the order of the legend
        bars.invert_yaxis()
        bars.set_xlim(left=0)
        style_axes(bars)
        bars.grid(visible=False, axis="y")
        figure.legend(loc="outside lower left")  # below, so that a long name does not shrink the axes
        figure.suptitle("Certified accuracy; bands and bars of 95 % over inputs")


def plot_sets(reports: Sequence[SetReport], classes: int, error: Fraction, out: Path) -> None:
    """How often sets hold the true class, and how large they are, against the radius that they are valid for."""
    with draw_figure(out, (10, 4)) as figure:
        from matplotlib.ticker import PercentFormatter

        coverage, sizes = figure.subplots(1, 2)
        radii = [each.budget for each in reports]
        coverage.plot(radii, [each.coverage for each in reports], **line_style(0))
        coverage.fill_between(radii, [each.low for each in reports], [each.high for each in reports], **band_style(0))
        coverage.axhline(float(1 - error), color=INK, linewidth=1)
        coverage.set_ylim(min(float(1 - error), *(each.low for each in reports)) - 0.05, 1.01)
        coverage.set_ylabel("unchanged inputs: class in the set")
        coverage.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        sizes.plot(radii, [each.mean_size for each in reports], **line_style(1))
        sizes.set_ylim(0, classes * 1.02)
        sizes.set_ylabel(f"mean size, of {classes} classes")
        for axes in (coverage, sizes):
            axes.set_xlabel("radius r: valid for at most r changes")
            style_axes(axes, integer_x=True)
        figure.suptitle(f"Conformal sets, error {error}; band of 95 % over inputs")


def short_names(uris: Sequence[str]) -> list[str]:
    """The shortest ends of paths by which all URIs can be told apart."""
    steps = [uri.rstrip("/").split("/") for uri in uris]
    for length in range(1, max(map(len, steps))):
        names = ["/".join(each[-length:]) for each in steps]
        if len(set(names)) == len(names):
            return names
    return list(uris)
