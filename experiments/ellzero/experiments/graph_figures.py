"""Maps of certified accuracy. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from collections.abc import Sequence
from pathlib import Path

from ellzero.core.plotting import draw_figure
from ellzero.experiments.graph_settings import LIMITS
from ellzero.experiments.graph_tables import CertifiedGraph

_DARK = 0.45  # shares from which text is white


def plot_maps(certified: Sequence[CertifiedGraph], out: Path) -> None:
    """ACC@(r_add, r_delete) as a map for each graph; cells without a number certify no node."""
    with draw_figure(out, (9.5, 2.9 * len(certified))) as figure:
        panels = figure.subplots(len(certified), 1, squeeze=False)[:, 0]
        for axes, each in zip(panels, certified, strict=True):
            shares = each.alone.accuracy_map(each.labels, LIMITS[each.noise])
            axes.pcolormesh(shares, vmin=0, vmax=1, cmap="Blues", edgecolors="none")
            for add, row in enumerate(shares):
                for delete, share in enumerate(row):
                    if share:
                        color = "white" if share > _DARK else "#30363d"
                        place = {"ha": "center", "va": "center", "fontsize": 8, "color": color}
                        axes.text(delete + 0.5, add + 0.5, f"{100 * share:.0f}", **place)
            axes.set_xticks([delete + 0.5 for delete in range(shares.shape[1])], range(shares.shape[1]))
            axes.set_yticks([add + 0.5 for add in range(shares.shape[0])], range(shares.shape[0]))
            axes.set_xlabel(f"{each.noise} deleted, up to")
            axes.set_ylabel("added, up to")
            axes.set_title(each.title)
        figure.suptitle("Test nodes that are right and certified, in percent")
