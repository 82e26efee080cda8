"""Figures of advice: what is expected at each amount of noise. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from pathlib import Path

from ellzero.core.plotting import INK, band_style, draw_figure, line_style, style_axes
from ellzero.smoothing.advice import Advice
from ellzero.smoothing.noise.amounts import name_amount, show_amount

_MOST_CURVES = 4
_LEAST_SHOWN = 0.02


def plot_advice(advice: Advice, target: int | None, out: Path) -> None:
    """Expected μ(R) and ACC@r with their bands against the amount of noise, the best one marked."""
    with draw_figure(out, (10, 4.4)) as figure:
        from matplotlib.ticker import PercentFormatter

        means, shares = figure.subplots(1, 2)
        places = range(len(advice.options))
        best = advice.options.index(advice.best(target))
        expected = [option.expected for option in advice.options]
        bars = [each.mean_radius for each in expected]
        means.plot(places, [each.value for each in bars], **line_style(0))
        means.fill_between(places, [each.low for each in bars], [each.high for each in bars], **band_style(0))
        means.set_ylabel("expected μ(R)")
        for number, r in enumerate(_choose_curves(advice, target)):
            scores = [each.score(r) for each in expected]
            shares.plot(places, [each.value for each in scores], label=f"r = {r}", **line_style(number))
            lows, highs = [each.low for each in scores], [each.high for each in scores]
            shares.fill_between(places, lows, highs, **band_style(number))
        shares.set_ylabel("expected ACC@r")
        shares.yaxis.set_major_formatter(PercentFormatter(1.0))
        shares.set_ylim(0, 1.02)
        shares.legend(loc="best")
        means.set_ylim(bottom=0)
        description = advice.options[0].noise.description()
        for axes in (means, shares):
            axes.set_xlabel(f"{name_amount(description)}, from most noise to least")
            axes.set_xticks(places, [show_amount(option.noise.description()) for option in advice.options])
            axes.axvline(best, color=INK, linewidth=0.8, linestyle=(0, (2, 2)))
            style_axes(axes)
        votes = f"{advice.votes:,} votes on {advice.inputs:,} inputs"
        figure.suptitle(f"Expected for n = {advice.settings.n:,}, not certified: {votes}; bands of 95 %")


def _choose_curves(advice: Advice, target: int | None) -> list[int]:
    """The radii of the curves: a few, from 0 to the largest that is expected of one input in fifty."""
    shares = [enumerate(option.expected.accuracy) for option in advice.options]
    last = max((r for each in shares for r, share in each if share.value >= _LEAST_SHOWN), default=0)
    steps = {round(last * step / (_MOST_CURVES - 1)) for step in range(_MOST_CURVES)}
    return sorted(steps | ({target} if target is not None else set()))
