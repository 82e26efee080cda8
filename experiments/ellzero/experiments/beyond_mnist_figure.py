"""The figure of the experiment beyond the paper on MNIST. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from collections.abc import Sequence
from pathlib import Path

from ellzero.core.plotting import INK, band_style, draw_figure, line_style, style_axes
from ellzero.experiments.beyond_mnist_tables import TABLE_ONE, RowResult
from ellzero.experiments.published import MNIST
from ellzero.experiments.result import Estimate


def plot_curves(results: Sequence[RowResult], table_one: Sequence[Estimate] | None, out: Path) -> None:
    """ACC@r of each row with its band, and the first row of Table 1: the paper's, and ours if there is one."""
    with draw_figure(out, (8.5, 5.2)) as figure:
        from matplotlib.ticker import PercentFormatter

        axes = figure.subplots()
        for number, each in enumerate(results):
            style = line_style(number)
            radii = [accuracy.r for accuracy in each.report.accuracy]
            axes.plot(
                radii,
                [accuracy.share for accuracy in each.report.accuracy],
                label=f"{each.title}: μ(R) = {each.report.mean_radius:.3f}",
                **style,
            )
            low = [accuracy.low for accuracy in each.report.accuracy]
            high = [accuracy.high for accuracy in each.report.accuracy]
            axes.fill_between(radii, low, high, **band_style(number))
        paper = MNIST[0]
        hollow = {**line_style(len(results)), "linestyle": "none", "markerfacecolor": "none", "markersize": 9}
        axes.plot(
            list(paper.accuracy),
            list(paper.accuracy.values()),
            label=f"the paper's: μ(R) = {paper.mean_radius}",
            **hollow,
        )
        if table_one is not None:
            mean, *shares = table_one
            values = [share.value for share in shares if share.value is not None]
            style = line_style(len(results) + 1)
            axes.plot(range(1, len(values) + 1), values, label=f"{TABLE_ONE}: μ(R) = {mean.value:.3f}", **style)
        axes.axhline(0.5, color=INK, linewidth=0.8)
        axes.set_xlabel("radius r: pixels changed, ≤ r")
        axes.set_ylabel("ACC@r: certified and right")
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
        style_axes(axes, integer_x=True)
        figure.legend(loc="outside lower center", ncols=1)
        figure.suptitle("Certified accuracy on MNIST, with bands of 95 % over images; the line is the median's")
