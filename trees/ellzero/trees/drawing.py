"""Trees as text and as figures, with the chance of reaching each node, and curves of guaranteed AUC."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.trees.bace import BaceResult
from ellzero.trees.estimators import SmoothedTrees

FORMATS = ("png", "svg", "pdf")
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
    figure = _new_figure((12, 1.3 + 1.1 * max_depth), out)
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
        box = {"boxstyle": "round", "facecolor": colour, "edgecolor": "0.5"}
        axes.text(middle, -depth, label, ha="center", va="center", fontsize=8, bbox=box, zorder=2)
        if inner:
            children = (
                (int(estimator.left_[node]), left, middle, "0"),
                (int(estimator.right_[node]), middle, right, "1"),
            )
            for child, low, high, bit in children:
                end = (low + high) / 2
                axes.plot([middle, end], [-depth, -depth - 1], color="0.6", linewidth=1, zorder=1)
                axes.text((middle + end) / 2, -depth - 0.5, bit, fontsize=8, color="0.3", ha="center")
                places.append((child, low, high, depth + 1))
    axes.set_axis_off()
    axes.set_title("left on 0, right on 1" + ("" if reach is None else "; the chance that the noisy input gets there"))
    _save(figure, out)


def plot_bace(result: BaceResult, out: Path) -> None:
    """Guaranteed AUC against the share of manipulated molecules: one plot a radius, one line a classifier."""
    figure = _new_figure((12, 4), out)
    radii = sorted({point.r for point in result.classifiers[0].curve})
    for axes, r in zip(figure.subplots(1, len(radii), sharey=True), radii, strict=True):
        for number, classifier in enumerate(result.classifiers):
            points = [point for point in classifier.curve if point.r == r]
            shares = [float(point.share) for point in points]
            guaranteed, attained = (
                [float(getattr(point, name)) for point in points] for name in ("guaranteed", "attained")
            )
            dashed = "--" if "greedy" in classifier.name else "-"
            axes.plot(shares, guaranteed, dashed, color=f"C{number}", label=classifier.name if r == radii[0] else None)
            axes.fill_between(shares, guaranteed, attained, color=f"C{number}", alpha=0.3, linewidth=0)
        axes.set_title(f"r = {r}: bits changed in a molecule, ≤ {r}")
        axes.set_xlabel("share of manipulated molecules")
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("AUC that the adversary leaves")
    figure.legend(loc="outside lower center", ncols=len(result.classifiers), frameon=False)
    figure.suptitle(f"BACE, {result.split} split; bands: what is open between guarantee and attack")
    _save(figure, out)


def _new_figure(size: tuple[float, float], out: Path) -> Any:
    if out.suffix.removeprefix(".").lower() not in FORMATS:
        raise InvalidInput("plot", f"a file name that ends in .{', .'.join(FORMATS)}", str(out))
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtra("plotting", "plot", error.name or "") from error
    return Figure(figsize=size, layout="constrained")


def _save(figure: Any, out: Path) -> None:
    try:
        figure.savefig(out, dpi=120)
    except OSError as error:
        raise InvalidInput("plot", f"a file that can be written ({error.strerror})", str(out)) from error
