"""Figures. Needs matplotlib, which the extra ``plot`` installs."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from ellzero.certificates.exact_thresholds import Column
from ellzero.core.plotting import draw_figure, line_style, style_axes


def plot_thresholds(columns: Sequence[Column], out: Path) -> None:
    """Plot τ_r and 1 − τ_r against r, one line per column, as in the paper; writes ``out`` (.png, .svg or .pdf)."""
    with draw_figure(out, (10, 4.2), "out") as figure:
        linear, logarithmic = figure.subplots(1, 2)
        longest = max(len(column.rows) for column in columns)
        for number, column in enumerate(columns):
            values = [row.value for row in column.rows]
            if column.saturated or column.noise.is_flat:  # it stays where it is
                values += [values[-1]] * (longest - len(values))
            style = line_style(number, markers=longest <= 40) | {"label": _alpha(column.noise.alpha)}
            linear.plot(range(len(values)), [float(value) for value in values], **style)
            # A value that rounded up to 1 has no place on a logarithmic axis.
            logarithmic.plot(range(len(values)), [float(1 - value) or float("nan") for value in values], **style)
        linear.set_ylabel("threshold ρᵣ⁻¹(1/2)")
        linear.set_ylim(0.49, 1.01)
        logarithmic.set_ylabel("1 − threshold")
        logarithmic.set_yscale("log")
        for axes in (linear, logarithmic):
            axes.set_xlabel("radius r: coordinates changed, ≤ r")
            axes.set_xlim(left=0)
            style_axes(axes, integer_x=True)
        linear.legend(title="probability of staying")
        ks = ", ".join(str(k) for k in sorted({column.noise.k for column in columns}))
        figure.suptitle(f"A probability above the threshold certifies radius r (K = {ks})")


def _alpha(alpha: Fraction) -> str:
    """α as a decimal where it is a short one."""
    short = f"{float(alpha):g}"
    return f"α = {short if Fraction(short) == alpha else alpha}"
