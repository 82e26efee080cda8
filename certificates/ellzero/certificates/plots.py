"""Figures. Needs matplotlib, which the extra ``plot`` installs."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from ellzero.certificates.budget_thresholds import HALF, inverse_of_counts
from ellzero.certificates.certified_budgets import certified
from ellzero.certificates.exact_thresholds import Column
from ellzero.certificates.families.base import Budget, Counts, Family
from ellzero.certificates.products import Products
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_probability
from ellzero.core.plotting import draw_figure, line_style, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 1_000
"""Changes of one kind in a figure; each has a threshold to compute."""


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


def plot_budgets(family: Family, limits: Budget, probabilities: Sequence[RationalLike], out: Path) -> None:
    """Plot which budgets each probability certifies; writes ``out`` (.png, .svg or .pdf).

    With one kind of change the thresholds against its number, and the probabilities across. With two the edge of the
    certified budgets for each probability; which kinds, ``limits`` say: those that are not 0.
    """
    most = family.read_budget(limits, "limits")
    axes_drawn = [axis for axis, limit in enumerate(most) if limit]
    if not 1 <= len(axes_drawn) <= 2:
        raise InvalidInput("limits", "above 0 for one or two kinds of change, which are drawn", limits)
    if max(most) > MOST_DRAWN:
        raise InvalidInput("limits", f"at most {MOST_DRAWN:,} of each kind of change, to be told apart", limits)
    exact = [read_probability(p, "p") for p in probabilities]
    with draw_figure(out, (7, 4.6), "out") as figure:
        axes = figure.subplots()
        if len(axes_drawn) == 1:
            _draw_thresholds(axes, family, most, axes_drawn[0], exact)
        else:
            _draw_staircases(axes, family, most, (axes_drawn[0], axes_drawn[1]), exact)
        style_axes(axes, integer_x=True, integer_y=len(axes_drawn) == 2)
        axes.set_title(f"Budgets certified: {family}", wrap=True)
        axes.legend()


def _draw_thresholds(axes: "Axes", family: Family, most: Counts, kind: int, exact: Sequence[Fraction]) -> None:
    products, counts = Products(), range(most[kind] + 1)
    budgets = [tuple(count if axis == kind else 0 for axis in range(len(most))) for count in counts]
    values = [float(inverse_of_counts(family, budget, HALF, products)) for budget in budgets]
    axes.plot(counts, values, **line_style(0, markers=len(values) <= 40), label="threshold ρ⁻¹(1/2)")
    for number, p in enumerate(exact, 1):
        axes.axhline(float(p), **line_style(number, markers=False), label=f"p = {_shorten(p)}")
    axes.set_xlabel(_name_kind(family, kind))
    axes.set_ylabel("probability of the class")
    axes.set_ylim(0.49, 1.01)


def _draw_staircases(
    axes: "Axes", family: Family, most: Counts, kinds: tuple[int, int], exact: Sequence[Fraction]
) -> None:
    """Around each p's certified budgets, half a change outside of them."""
    across, up = kinds
    for number, p in enumerate(exact):
        found = certified(family, p, family.write_budget(most))
        corners = [family.read_budget(each) for each in found] if isinstance(found, tuple) else []
        x, y = [-0.5], [-0.5]
        for count in range(most[across] + 1):
            top = max((corner[up] for corner in corners if corner[across] >= count), default=-1)
            if top < 0:
                break
            x += [count - 0.5, count + 0.5]
            y += [top + 0.5, top + 0.5]
        axes.plot([*x, x[-1]], [*y, -0.5], **line_style(number, markers=False), label=f"p = {_shorten(p)}")
    axes.set_xlim(-0.6, most[across] + 0.6)
    axes.set_ylim(-0.6, most[up] + 0.6)
    axes.set_xlabel(_name_kind(family, across))
    axes.set_ylabel(_name_kind(family, up))


def _name_kind(family: Family, kind: int) -> str:
    return f"changes: {family.axes[kind]}"


def _alpha(alpha: Fraction) -> str:
    return f"α = {_shorten(alpha)}"


def _shorten(number: Fraction) -> str:
    """A number as a decimal where it is a short one."""
    short = f"{float(number):g}"
    return short if Fraction(short) == number else str(number)
