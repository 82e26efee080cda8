"""Figures. Needs matplotlib, which the extra ``plot`` installs."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ellzero.certificates.budget_thresholds import HALF, inverse_of_counts
from ellzero.certificates.certified_budgets import certified
from ellzero.certificates.families.base import Budget, Counts, Family
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.products import Products
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_probability
from ellzero.core.plotting import draw_figure, line_style, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_DRAWN = 1_000
"""Changes of one kind in a figure; each has a threshold to compute."""


_SYMBOLS: Final = {"alpha": "α", "k": "K"}
_MEANINGS: Final = {
    "alpha": "probability of staying",
    "keep": "coordinates shown",
    "s": "probability of being struck",
}
_COUNTED: Final[Mapping[tuple[str, ...], str]] = {("change",): "coordinates changed", ("edit",): "edits"}


def plot_thresholds(thresholds: Mapping[Family, Sequence[Decimal]], out: Path) -> None:
    """Plot τ_0, τ_1, … and 1 − τ_r against r, a line for each family; writes ``out`` (.png, .svg or .pdf).

    Lines are named by what differs between the families, and the title names what does not.
    """
    shared, differing = _compare(list(thresholds))
    with draw_figure(out, (10, 4.2), "out") as figure:
        linear, logarithmic = figure.subplots(1, 2)
        longest = max(map(len, thresholds.values()))
        for number, (family, values) in enumerate(thresholds.items()):
            style = line_style(number, markers=longest <= 40) | {"label": _describe(family, differing) or str(family)}
            linear.plot(range(len(values)), [float(value) for value in values], **style)
            # A value that rounded up to 1 has no place on a logarithmic axis.
            logarithmic.plot(range(len(values)), [float(1 - value) or float("nan") for value in values], **style)
        linear.set_ylabel("threshold ρᵣ⁻¹(1/2)")
        linear.set_ylim(0.49, 1.01)
        logarithmic.set_ylabel("1 − threshold")
        logarithmic.set_yscale("log")
        kinds = {family.axes for family in thresholds}
        counted = _COUNTED.get(kinds.pop(), "changes") if len(kinds) == 1 else "changes"
        for axes in (linear, logarithmic):
            axes.set_xlabel(f"radius r: {counted}, ≤ r")
            axes.set_xlim(left=0)
            style_axes(axes, integer_x=True)
        linear.legend(title=_MEANINGS.get(differing[0]) if len(differing) == 1 else None)
        figure.suptitle(f"A probability above the threshold certifies radius r{f' ({shared})' if shared else ''}")


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
    return "changes" if family.axes == ("change",) else f"changes: {family.axes[kind]}"


def _compare(families: Sequence[Family]) -> tuple[str, list[str]]:
    """What the families share, in words, and the names of the parameters in which they differ: the last one if in none.

    Nothing of either where they are of several kinds.
    """
    first = families[0]
    if any(type(family) is not type(first) for family in families):
        return "", []
    names = [each.name for each in fields(first)]  # type: ignore[arg-type]
    differing = [name for name in names if len({getattr(family, name) for family in families}) > 1] or names[-1:]
    parameters = _describe(first, [name for name in names if name not in differing])
    words = ["" if isinstance(first, Discrete) else first.name, parameters]
    return ", ".join(word for word in words if word), differing


def _describe(family: Family, names: Sequence[str]) -> str:
    values = {name: getattr(family, name) for name in names}
    return ", ".join(
        f"{_SYMBOLS.get(name, name)} = {_shorten(value) if isinstance(value, Fraction) else value}"
        for name, value in values.items()
    )


def _shorten(number: Fraction) -> str:
    """A number as a decimal where it is a short one."""
    short = f"{float(number):g}"
    return short if Fraction(short) == number else str(number)
