"""Trees as text and as figures, with the chance of reaching each node, and curves of guaranteed AUC."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput
from ellzero.core.plotting import INK, band_style, draw_figure, line_style, style_axes
from ellzero.trees.bace import BaceResult
from ellzero.trees.estimators import SmoothedTrees

_MOST_DRAWN = 127


def reach_probabilities(estimator: SmoothedTrees, x: NDArray[Any]) -> list[Fraction]:
    """The chance that the noisy x reaches each node, exactly; 1 at the root of every tree."""
    reach = [Fraction(0)] * len(estimator.feature_)
    for root in estimator.roots_:
        reach[root] = Fraction(1)
    for node, feature in enumerate(estimator.feature_.tolist()):  # children follow their parents
        if feature >= 0:
            right = estimator.alpha_ if x[feature] else 1 - estimator.alpha_
            reach[estimator.right_[node]] = reach[node] * right
            reach[estimator.left_[node]] = reach[node] * (1 - right)
    return reach


def draw_text(estimator: SmoothedTrees, x: NDArray[Any] | None, max_depth: int) -> Iterator[str]:
    """The trees as indented lines down to a depth; for an input with the chance of reaching each node."""
    reach = None if x is None else reach_probabilities(estimator, x)
    for number, root in enumerate(estimator.roots_.tolist()):
        if len(estimator.roots_) > 1:
            yield f"tree {number}"
        tasks = [(root, "", 0)]
        while tasks:
            node, edge, depth = tasks.pop()
            chance = "" if reach is None else f"   reached with {_percent(reach[node])}"
            indent = "    " * depth + (f"{edge}: " if edge else "")
            if estimator.feature_[node] < 0:
                yield f"{indent}output {estimator.value_[node]:.4f}{chance}"
            elif depth == max_depth:
                yield f"{indent}feature {estimator.feature_[node]} …{chance}"
            else:
                mark = "" if x is None else f" = {int(x[estimator.feature_[node]])}"
                yield f"{indent}feature {estimator.feature_[node]}{mark}{chance}"
                tasks.append((int(estimator.right_[node]), "1", depth + 1))
                tasks.append((int(estimator.left_[node]), "0", depth + 1))


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.2f} %" if share >= Fraction(1, 10**4) else f"{float(100 * share):.1e} %"


def plot_tree(estimator: SmoothedTrees, x: NDArray[Any] | None, max_depth: int, out: Path) -> None:
    """The first tree as a figure, nodes shaded by the chance of reaching them."""
    with draw_figure(out, (12, 1.3 + 1.1 * max_depth)) as figure:
        axes = figure.subplots()
        reach = None if x is None else reach_probabilities(estimator, x)
        places: list[tuple[int, float, float, int]] = [(int(estimator.roots_[0]), 0.0, 1.0, 0)]
        drawn = 0
        while places:
            node, left, right, depth = places.pop()
            middle, drawn = (left + right) / 2, drawn + 1
            if drawn > _MOST_DRAWN:
                raise InvalidInput("depth", f"so small that at most {_MOST_DRAWN} nodes are drawn", max_depth)
            inner = estimator.feature_[node] >= 0 and depth < max_depth
            name = f"x{estimator.feature_[node]}" if estimator.feature_[node] >= 0 else f"{estimator.value_[node]:.2f}"
            chance = 1.0 if reach is None else float(reach[node])
            label = name if reach is None else f"{name}\n{chance:.1%}"
            colour = (1 - 0.6 * chance, 1 - 0.35 * chance, 1.0)
            box = {"boxstyle": "round", "facecolor": colour, "edgecolor": INK}
            axes.text(middle, -depth, label, ha="center", va="center", fontsize=8, color="black", bbox=box, zorder=2)
            if inner:
                children = (
                    (int(estimator.left_[node]), left, middle, "0"),
                    (int(estimator.right_[node]), middle, right, "1"),
                )
                for child, low, high, bit in children:
                    end = (low + high) / 2
                    axes.plot([middle, end], [-depth, -depth - 1], color=INK, linewidth=1, zorder=1)
                    axes.text((middle + end) / 2, -depth - 0.5, bit, fontsize=8, ha="center")
                    places.append((child, low, high, depth + 1))
        axes.set_axis_off()
        chances = "" if reach is None else "; the chance that the noisy input gets there"
        axes.set_title(f"left on 0, right on 1{chances}")


def plot_bace(result: BaceResult, out: Path) -> None:
    """Guaranteed AUC against the share of manipulated molecules: one plot a radius, one line a classifier."""
    radii = sorted({point.r for point in result.classifiers[0].curve})
    with draw_figure(out, (12, 4.2)) as figure:
        for axes, r in zip(figure.subplots(1, len(radii), sharey=True), radii, strict=True):
            for number, classifier in enumerate(result.classifiers):
                points = [point for point in classifier.curve if point.r == r]
                shares = [float(point.share) for point in points]
                guaranteed, attained = (
                    [float(getattr(point, name)) for point in points] for name in ("guaranteed", "attained")
                )
                style = line_style(number) | {"markevery": (number, ceil(len(points) / 5))}
                axes.plot(shares, guaranteed, label=classifier.name if r == radii[0] else None, **style)
                axes.fill_between(shares, guaranteed, attained, **band_style(number))
            axes.set_title(f"r = {r}: bits changed in an input, ≤ {r}")
            axes.set_xlabel("share of manipulated inputs")
            axes.set_xlim(0, 1)
            axes.set_ylim(0, 1)
            style_axes(axes)
        figure.axes[0].set_ylabel("AUC that the adversary leaves")
        figure.legend(loc="outside lower center", ncols=len(result.classifiers))
        figure.suptitle(f"{result.data}, {result.split} split; bands: what is open between guarantee and attack")
