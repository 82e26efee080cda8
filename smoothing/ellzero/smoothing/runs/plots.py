"""Figures of certified accuracy. Needs matplotlib: ``pip install 'ellzero[plot]'``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ellzero.certificates.plots import FORMATS
from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.smoothing.runs.metrics import Report


def plot_reports(reports: Mapping[str, Report], out: Path) -> None:
    """ACC@r against r with its bands, and μ(R) with its interval: a line and a bar for each report, by its URI."""
    if out.suffix.removeprefix(".").lower() not in FORMATS:
        raise InvalidInput("plot", f"a file name that ends in .{', .'.join(FORMATS)}", str(out))
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator, PercentFormatter
    except ModuleNotFoundError as missing:
        raise MissingExtra("plotting", "plot") from missing
    figure = Figure(figsize=(10, 4.2 + 0.2 * len(reports)), layout="constrained")
    curves, bars = figure.subplots(1, 2, width_ratios=(2, 1))
    last = max(len(report.accuracy) for report in reports.values())
    for number, (name, report) in enumerate(zip(short_names(list(reports)), reports.values(), strict=True)):
        radii = [each.r for each in report.accuracy]
        shares = [each.share for each in report.accuracy]
        # Beyond the largest radius nothing is certified, so the share is 0.
        step = {"where": "post", "color": f"C{number}"}
        ends = [*radii, radii[-1] + 1]
        curves.step(ends, [*shares, 0.0], label=name, **step)
        lows = [*(each.low for each in report.accuracy), 0.0]
        highs = [*(each.high for each in report.accuracy), 0.0]
        curves.fill_between(ends, lows, highs, step="post", color=f"C{number}", alpha=0.15, linewidth=0)
        spread = report.mean_radius_error if report.inputs > 1 else 0.0
        bars.barh(number, report.mean_radius, xerr=spread, color=f"C{number}", alpha=0.8, capsize=3)
    curves.set_xlabel("radius r: units changed, ≤ r")
    curves.set_ylabel("ACC@r: certified and right")
    curves.set_xlim(0, last)
    curves.set_ylim(0, 1.02)
    curves.xaxis.set_major_locator(MaxNLocator(integer=True))
    curves.yaxis.set_major_formatter(PercentFormatter(1.0))
    curves.grid(alpha=0.3)
    bars.set_xlabel("mean certified radius μ(R)")
    bars.set_yticks([])  # the legend names the colours
    bars.invert_yaxis()
    bars.set_xlim(left=0)
    bars.grid(alpha=0.3, axis="x")
    figure.legend(loc="outside lower left", frameon=False)  # below, so that a long name does not shrink the axes
    figure.suptitle("Certified accuracy; bands and bars of 95 % over inputs")
    try:
        figure.savefig(out, dpi=160)
    except OSError as error:
        raise InvalidInput("plot", f"a file that can be written ({error.strerror})", str(out)) from error


def short_names(uris: Sequence[str]) -> list[str]:
    """The shortest ends of paths by which all URIs can be told apart."""
    steps = [uri.rstrip("/").split("/") for uri in uris]
    for length in range(1, max(map(len, steps))):
        names = ["/".join(each[-length:]) for each in steps]
        if len(set(names)) == len(names):
            return names
    return list(uris)
