"""Figures. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from collections.abc import Sequence
from pathlib import Path

from ellzero.certificates.engine import Column
from ellzero.certificates.errors import InvalidInput, MissingExtra

FORMATS = ("png", "svg", "pdf")


def plot_thresholds(columns: Sequence[Column], out: Path) -> None:
    """τ_r against r, a line a column, as in the paper's analysis; written to ``out`` (.png, .svg or .pdf)."""
    if out.suffix.removeprefix(".").lower() not in FORMATS:
        raise InvalidInput("out", f"a file name that ends in .{', .'.join(FORMATS)}", str(out))
    if not out.parent.is_dir():
        raise InvalidInput("out", "in a folder that exists", str(out))
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ModuleNotFoundError as error:
        raise MissingExtra("plotting", "plot") from error
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    longest = max(len(column.rows) for column in columns)
    for column in columns:
        values = [float(row.value) for row in column.rows]
        if column.saturated or column.noise.is_flat:  # it stays where it is
            values += [values[-1]] * (longest - len(values))
        marker = "o" if longest <= 40 else None
        axes.plot(range(len(values)), values, marker=marker, markersize=3.5, label=f"α = {column.noise.alpha}")
    ks = sorted({column.noise.k for column in columns})
    axes.set_title(f"Probability that certifies radius r (K = {', '.join(map(str, ks))})")
    axes.set_xlabel("radius r: coordinates changed, ≤ r")
    axes.set_ylabel("threshold ρᵣ⁻¹(1/2)")
    axes.set_ylim(0.49, 1.01)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    axes.legend(title="probability of staying", frameon=False)
    figure.savefig(out, dpi=160)
