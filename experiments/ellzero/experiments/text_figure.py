"""The figure of the experiment on sentences. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from collections.abc import Sequence
from pathlib import Path

from ellzero.core.plotting import INK, band_style, draw_figure, line_style, style_axes
from ellzero.experiments.text_tables import CONSTANT, CorpusRows


def plot_corpora(corpora: Sequence[CorpusRows], out: Path) -> None:
    """ACC@r of every noise with its band, a panel for each corpus, above what a constant answer reaches."""
    with draw_figure(out, (5.6 * len(corpora), 5.6)) as figure:
        from matplotlib.ticker import PercentFormatter

        for axes, corpus in zip(figure.subplots(1, len(corpora), squeeze=False)[0], corpora, strict=True):
            for number, row in enumerate(corpus.rows):
                accuracy = row.report.accuracy
                radii = [*(each.r for each in accuracy), accuracy[-1].r + 1]
                shares, lows, highs = (
                    [*values, values[-1]]
                    for values in ([getattr(each, name) for each in accuracy] for name in ("share", "low", "high"))
                )
                axes.step(radii, shares, where="post", label=row.title, **line_style(number))
                axes.fill_between(radii, lows, highs, step="post", **band_style(number))
            axes.axhline(corpus.constant_share, color=INK, linewidth=1, label=CONSTANT)
            axes.set_title(corpus.title)
            axes.set_xlabel("radius r: tokens substituted, ≤ r")
            axes.set_ylabel("ACC@r: certified and right")
            axes.set_xlim(left=0)
            axes.set_ylim(0, 1.02)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))
            axes.legend(loc="upper right")
            style_axes(axes, integer_x=True)
        figure.suptitle("Certified accuracy on sentences; bands of 95 % over sentences")
