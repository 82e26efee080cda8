"""The paper's analysis figure: how many regions its algorithm has to sum, the thresholds, and what they certify."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from ellzero.certificates import Discrete, Threshold, threshold_rows
from ellzero.certificates.lee2019 import region_count
from ellzero.core.errors import BadResults
from ellzero.core.part_store import RUN_MANIFEST
from ellzero.core.plotting import band_style, draw_figure, line_style, style_axes
from ellzero.experiments.folder import ExperimentFolder, find_runs
from ellzero.experiments.published import IMAGENET_ALPHAS, IMAGENET_BY_ALPHA, IMAGENET_D, IMAGENET_K
from ellzero.experiments.result import Cell, Estimate, ExperimentResult, ResultColumn, ResultTable
from ellzero.smoothing.runs.metrics import Outcome, Report, summarize
from ellzero.smoothing.runs.result_store import ResultStore

NAME: Final = "regions"
R_MAX: Final = 20
_QUICK_R_MAX = 5
_LISTED: Final = (*range(1, 8), 20, 100, 1_000, 10_000, 50_000, 2 * IMAGENET_D // 3, IMAGENET_D)
_CURVE_POINTS = 200
_FIGURE = "regions.svg"


@dataclass(frozen=True)
class AlphaRun:
    """Certificates of one data set with discrete noise: where they are, α, and their metrics."""

    name: str
    data: str
    alpha: Fraction
    d: int
    k: int
    report: Report
    manifest: Mapping[str, Any]


def read_runs(folder: Path) -> list[AlphaRun]:
    """The runs with discrete noise at or below a folder, by α. Raises if there is none."""
    runs = []
    for path in find_runs(folder):
        store = ResultStore(str(path))
        manifest = store.manifest() or {}
        if manifest.get("kind") is not None:
            continue
        noise = manifest.get("noise")
        if not isinstance(noise, Mapping):
            raise BadResults(str(path / RUN_MANIFEST), "is damaged")
        if noise.get("family") != "discrete":
            continue
        table = store.table()
        columns = (table[name].to_pylist() for name in ("label", "prediction", "radius"))
        report = summarize([Outcome(*row) for row in zip(*columns, strict=True)])
        levels, d = noise["levels"], table["d"][0].as_py()
        name = path.relative_to(folder).as_posix() if path != folder else folder.name
        runs.append(AlphaRun(name, manifest["data"]["name"], Fraction(noise["alpha"]), d, levels - 1, report, manifest))
    if not runs:
        raise BadResults(str(folder), "holds no certificates of a data set with discrete noise")
    return sorted(runs, key=lambda run: (run.alpha, run.name))


def run_regions(folder: ExperimentFolder, runs: Sequence[AlphaRun] = (), *, quick: bool = False) -> ExperimentResult:
    """Count, compute and draw."""
    folder.begin(NAME, {"quick": quick})
    r_max = _QUICK_R_MAX if quick else R_MAX
    thresholds = {alpha: threshold_rows(Discrete(IMAGENET_K, alpha), range(r_max + 1)) for alpha in IMAGENET_ALPHAS}
    tables = [_list_counts(), _list_thresholds(thresholds), *([_list_accuracies(runs)] if runs else [])]
    notes = ["The order of regions follows from their likelihood ratio alone. The engine sums over the 2r + 1 ratios."]
    if not runs:
        notes.append("Certified accuracies, part (c) of the figure, are drawn from a folder of results: --results.")
    _draw(thresholds, runs, folder.path / _FIGURE)
    folder.log("figure drawn", show=False)
    most = max(range(IMAGENET_D + 1), key=lambda r: region_count(IMAGENET_K, IMAGENET_D, r))
    described = {run.name: dict(run.manifest) for run in runs}
    values = {"runs": described, "most_regions": region_count(IMAGENET_K, IMAGENET_D, most), "most_regions_at": most}
    return folder.finish(tables, values, notes, [_FIGURE])


def _list_counts() -> ResultTable:
    columns = (ResultColumn("r"), ResultColumn("nonempty regions"), ResultColumn("different likelihood ratios"))
    rows: list[tuple[Cell, ...]] = [(r, region_count(IMAGENET_K, IMAGENET_D, r), 2 * r + 1) for r in _LISTED]
    return ResultTable(
        "counts",
        "Regions that the published algorithm sums",
        columns,
        tuple(rows),
        f"d = {IMAGENET_D:,}, K = {IMAGENET_K}: (2r + 1)·(d − r + 1) + r·(r − 1)/2 regions L(u, v; r) are not empty.",
    )


def _list_thresholds(thresholds: Mapping[str, Sequence[Threshold]]) -> ResultTable:
    columns = (ResultColumn("r"), *(ResultColumn(f"α = {alpha}", digits=8, rounding="up") for alpha in thresholds))
    rows: list[tuple[Cell, ...]] = [
        (same_radius[0].r, *(row.value for row in same_radius))
        for same_radius in zip(*thresholds.values(), strict=True)
    ]
    return ResultTable(
        "thresholds",
        f"Thresholds for K = {IMAGENET_K}",
        columns,
        tuple(rows),
        "A probability above the threshold certifies radius r. Rounded up.",
    )


def _list_accuracies(runs: Sequence[AlphaRun]) -> ResultTable:
    """ACC@r of each run; the paper's figures stand beside those of images of ImageNet's size."""
    last = max(len(run.report.accuracy) for run in runs)
    columns = (
        ResultColumn("run"),
        ResultColumn("α"),
        ResultColumn("inputs"),
        ResultColumn("μ(R)", digits=3),
        *(ResultColumn(f"ACC@{r}", digits=3) for r in range(last)),
    )
    published = {Fraction(alpha): row for alpha, row in IMAGENET_BY_ALPHA.items()}
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        paper = published.get(run.alpha, {}) if (run.d, run.k) == (IMAGENET_D, IMAGENET_K) else {}
        accuracies = {each.r: each for each in run.report.accuracy}
        cells = [
            Estimate(accuracies[r].share, accuracies[r].low, accuracies[r].high, paper.get(r))
            if r in accuracies
            else Estimate(0.0, paper=paper.get(r))
            for r in range(last)
        ]
        rows.append((run.name, str(run.alpha), run.report.inputs, run.report.mean_radius, *cells))
    return ResultTable(
        "accuracy",
        "Certified accuracy for each α",
        columns,
        tuple(rows),
        "Bands of 95 % over inputs. No image was certified at a radius without a band.",
    )


def _draw(thresholds: Mapping[str, Sequence[Threshold]], runs: Sequence[AlphaRun], out: Path) -> None:
    with draw_figure(out, (14 if runs else 10, 4.2)) as figure:
        panels = figure.subplots(1, 3 if runs else 2)
        counts, levels = panels[0], panels[1]
        radii = sorted({round(IMAGENET_D ** (step / _CURVE_POINTS)) for step in range(_CURVE_POINTS + 1)})
        regions = [region_count(IMAGENET_K, IMAGENET_D, r) for r in radii]
        counts.plot(radii, regions, label="nonempty regions", **line_style(0), markevery=25)
        ratios = [2 * r + 1 for r in radii]
        counts.plot(radii, ratios, label="different likelihood ratios", **line_style(1), markevery=25)
        counts.set_xscale("log")
        counts.set_yscale("log")
        counts.set_xlabel(f"radius r, up to d = {IMAGENET_D:,}")
        counts.set_title("(a) regions")
        counts.legend()
        style_axes(counts)
        for number, (alpha, rows) in enumerate(thresholds.items()):
            levels.plot(
                [row.r for row in rows], [float(row.value) for row in rows], label=f"α = {alpha}", **line_style(number)
            )
        levels.set_xlabel("radius r: coordinates changed, ≤ r")
        levels.set_title("(b) threshold ρᵣ⁻¹(1/2)")
        levels.legend()
        style_axes(levels, integer_x=True)
        if runs:
            curves = panels[2]
            for number, run in enumerate(runs):
                accuracy = run.report.accuracy
                ends = [each.r for each in accuracy] + [accuracy[-1].r + 1]
                shares, lows, highs = (
                    [*(getattr(each, name) for each in accuracy), 0.0] for name in ("share", "low", "high")
                )
                curves.step(ends, shares, where="post", label=f"α = {float(run.alpha):g}", **line_style(number))
                curves.fill_between(ends, lows, highs, step="post", **band_style(number))
            curves.set_ylim(0, 1.02)
            curves.set_xlim(left=0)
            curves.set_xlabel("radius r: units changed, ≤ r")
            curves.set_title(f"(c) certified accuracy, {', '.join(sorted({run.data for run in runs}))}")
            curves.legend()
            style_axes(curves, integer_x=True)
