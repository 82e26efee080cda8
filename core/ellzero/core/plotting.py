"""The one style of all figures: readable in print, in the dark and in the light, and by the colour-blind.

The background is transparent. Text and axes are of a grey that has a contrast of at least 4.5 with white and with
black alike; lines differ by colour, dash and marker, and every colour has a contrast of at least 3 with both. Text of
an SVG stays text, and the same data gives the same bytes. Needs matplotlib, which the extra ``plot`` installs.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ellzero.core.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = ("png", "svg", "pdf")
INK: Final = "#767676"
"""Of text, axes and whatever is no line."""

# In the manner of Okabe and Ito, but dark enough to show on white: apart by a CIELAB distance of 20 or more from each
# other, and also as people see them who lack one kind of cones.
COLORS: Final = ("#0e52e9", "#e97103", "#19a467", "#bc75b9", "#92511b", "#9f80f4", "#6c5d68")
DASHES: Final = ("solid", (0, (6, 2)), (0, (2, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (1, 1.5)), (0, (9, 3)))
MARKERS: Final = ("o", "s", "^", "D", "v")

_NO_DATES = {"svg": {"Date": None}, "pdf": {"CreationDate": None, "ModDate": None}, "png": {"Software": None}}


def line_style(number: int, *, markers: bool = True) -> dict[str, Any]:
    """Colour, dash and marker of the line of this number: five lines differ in all three, 210 in at least one."""
    style: dict[str, Any] = {
        "color": COLORS[number % len(COLORS)],
        "linestyle": DASHES[number % len(DASHES)],
        "linewidth": 1.6,
    }
    if markers:
        style |= {"marker": MARKERS[number % len(MARKERS)], "markersize": 4.5}
    return style


def band_style(number: int) -> dict[str, Any]:
    """The area around the line of this number."""
    return {"color": COLORS[number % len(COLORS)], "alpha": 0.22, "linewidth": 0}


def style_axes(axes: "Axes", *, integer_x: bool = False, integer_y: bool = False) -> None:
    """A light grid behind the lines, no frame where there is no axis, and whole numbers on axes if so asked."""
    from matplotlib.ticker import MaxNLocator

    axes.grid(visible=True)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    for axis, integer in ((axes.xaxis, integer_x), (axes.yaxis, integer_y)):
        if integer:
            axis.set_major_locator(MaxNLocator(integer=True))


def check_figure(out: Path, field: str = "plot") -> str:
    """The format of a figure. Raises ``InvalidInput`` unless one can be written there."""
    suffix = out.suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise InvalidInput(field, f"a file name that ends in .{', .'.join(FORMATS)}", str(out))
    if not out.parent.is_dir():
        raise InvalidInput(field, "in a folder that exists", str(out))
    return suffix


@contextmanager
def draw_figure(out: Path, size: tuple[float, float], field: str = "plot") -> Iterator["Figure"]:
    """A figure to draw on, written to ``out`` (.png, .svg or .pdf) when the block ends.

    ``field`` names ``out`` in errors, which come before anything is drawn where that is possible.
    """
    suffix = check_figure(out, field)
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtra("plotting", "plot", error.name or "") from error
    with rc_context(rc=_SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        try:
            figure.savefig(out, dpi=160, transparent=True, metadata=_NO_DATES[suffix])
        except OSError as error:
            raise InvalidInput(field, f"a file that can be written ({error.strerror})", str(out)) from error


_SETTINGS: Final[Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": "medium",
    "figure.facecolor": "none",
    "figure.titlesize": "medium",
    "grid.alpha": 0.35,
    "grid.color": INK,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.handlelength": 3.2,  # long enough to tell dashes apart
    "legend.labelcolor": INK,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "ellzero",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
