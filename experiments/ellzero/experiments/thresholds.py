"""The published thresholds, by the engine and by the published algorithm, row by row; and the lists of its authors.

The algorithm errs upwards by at most one outcome of the whole space and one unit of the last digit
(`ellzero.certificates.lee2019`), so its row must lie between the engine's and that plus the bound. The engine rounds
up the exact τ_r; where τ_r itself is a decimal of 20 digits, the algorithm's surplus outcome costs a whole unit.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Final

from ellzero.certificates import Discrete, PaperThreshold, Threshold, threshold_rows, thresholds
from ellzero.certificates.lee2019 import PaperCell, error_bound
from ellzero.certificates.plots import plot_thresholds
from ellzero.core.errors import Inconsistent, InvalidInput
from ellzero.core.execution.placement import Placement
from ellzero.core.numbers import read_exact
from ellzero.core.progress import show_progress
from ellzero.core.text import count_noun, format_duration, format_seconds
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.published import (
    DAYS_A_CELL,
    IMAGENET_ALPHAS,
    IMAGENET_D,
    IMAGENET_K,
)
from ellzero.experiments.result import Cell, ExperimentResult, ResultColumn, ResultTable
from ellzero.experiments.threshold_lists import describe_lists, judge_lists, list_judged_rows, summarize_lists
from ellzero.experiments.threshold_settings import SETTINGS, PublishedSetting
from ellzero.precompute import lee2019_run
from ellzero.tables import PaperTable
from ellzero.tables.format.rows import DIGITS

NAME: Final = "thresholds"
SMALL_D: Final = 1_024
"""Where a row is not computed at full size: τ_r is the same for every d ≥ r, and the bound on the surplus is nil."""

_QUICK_D = 64
_QUICK_RADII = 6
_UNIT = Decimal(1).scaleb(-DIGITS)
_UP = Context(prec=3, rounding=ROUND_CEILING)
_TABLE, _TIMES = "paper", "times.json"


@dataclass(frozen=True)
class ThresholdPlan:
    """What the published algorithm computes: MNIST at its own d, ImageNet at full size for these α and radii.

    ``lists`` are files of thresholds to judge.
    """

    full_alphas: tuple[str, ...] = ("0.2",)
    full_radii: tuple[int, ...] = (1, 2, 3, 4)
    quick: bool = False
    lists: Mapping[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {Fraction(alpha) for alpha in IMAGENET_ALPHAS}
        for alpha in self.full_alphas:
            if read_exact(alpha, "full_alphas", f"of {', '.join(IMAGENET_ALPHAS)}") not in known:
                raise InvalidInput("full_alphas", f"of {', '.join(IMAGENET_ALPHAS)}", alpha)
        highest = SETTINGS[1].radii[-1]
        for r in self.full_radii:
            if not 0 <= r <= highest:
                raise InvalidInput("full_radii", f"from 0 to {highest}", r)

    def config(self) -> dict[str, Any]:
        """What must be the same for results to belong together: cells of full size and lists can be added later."""
        return {"quick": self.quick}

    def describe(self) -> dict[str, Any]:
        """What else was asked."""
        return {
            "full_alphas": sorted({str(Fraction(alpha)) for alpha in self.full_alphas}),
            "full_radii": sorted(set(self.full_radii)),
            "lists": {name: hashlib.sha256(content).hexdigest() for name, content in self.lists.items()},
        }

    def settings(self) -> tuple[PublishedSetting, ...]:
        """The published settings; for a quick check only the first radii of each."""
        if not self.quick:
            return SETTINGS
        return tuple(
            PublishedSetting(each.data, each.d, each.k, each.alphas, each.radii[:_QUICK_RADII]) for each in SETTINGS
        )

    def cells(self, setting: PublishedSetting) -> list[PaperCell]:
        """The cells of a setting, each at the d at which the algorithm computes it."""
        full = {Fraction(alpha) for alpha in self.full_alphas}
        cells = []
        for noise in setting.noises().values():
            for r in setting.radii:
                at_full_size = not self.quick and noise.alpha in full and r in self.full_radii
                small = _QUICK_D if self.quick else SMALL_D
                cells.append(PaperCell(noise, setting.d if setting.d <= SMALL_D or at_full_size else small, r))
        return cells


def run_thresholds(folder: ExperimentFolder, plan: ThresholdPlan, place: Placement) -> ExperimentResult:
    """Compute, compare and write everything. Raises `Inconsistent` if the algorithm and the engine disagree."""
    judged_lists, left_out = judge_lists(plan.lists)
    place.check()
    folder.begin(NAME, plan.config())
    settings = plan.settings()
    engine: dict[tuple[Discrete, int], Threshold] = {}
    engine_seconds: dict[Discrete, float] = {}
    for setting in settings:
        for noise in setting.noises().values():
            start = time.perf_counter()
            rows = threshold_rows(noise, setting.radii)
            engine_seconds[noise] = time.perf_counter() - start
            engine |= {(noise, row.r): row for row in rows}
    total = sum(engine_seconds.values())
    folder.log(f"engine: {count_noun(len(engine), 'threshold')} in {format_seconds(total)}")
    cells = {setting.data: plan.cells(setting) for setting in settings}
    computed, times = _run_algorithm(folder, [cell for each in cells.values() for cell in each], place)
    comparisons = {
        setting.data: [
            _Comparison(cell, engine[cell.noise, cell.r], computed[cell], times.get(_key(cell)))
            for cell in cells[setting.data]
        ]
        for setting in settings
    }
    plots = [_plot(folder, setting) for setting in settings]
    every = [row for rows in comparisons.values() for row in rows]
    full = [row for row in every if row.cell.d == IMAGENET_D]
    tables = [
        _summarize(settings, comparisons, engine_seconds),
        *([_list_full_size(full)] if full else []),
        _list_differences(settings, comparisons),
        *(_list_thresholds(setting, engine) for setting in settings),
        *([summarize_lists(judged_lists), list_judged_rows(judged_lists)] if judged_lists else []),
    ]
    wrong = [row for row in every if not row.agrees]
    values = {
        **plan.describe(),
        "engine_seconds": total,
        "engine_thresholds": len(engine),
        "algorithm_cells": len(every),
        "equal": sum(row.units == 0 for row in every),
        "above_within_bound": sum(row.units > 0 and row.agrees for row in every),
        "disagreeing": len(wrong),
    }
    notes = [
        *_write_notes(plan, every, full, total, len(engine)),
        *([describe_lists(judged_lists)] if judged_lists else []),
        *(f"Left out: {reason}." for reason in left_out),
    ]
    result = folder.finish(tables, values, notes, plots)
    if wrong:
        raise Inconsistent(f"{len(wrong)} thresholds of the published algorithm are not within its bound of ours")
    return result


@dataclass(frozen=True)
class _Comparison:
    """One row by both; ``seconds`` are those of the algorithm on one core, None if they were not recorded."""

    cell: PaperCell
    engine: Threshold
    algorithm: PaperThreshold
    seconds: float | None

    @property
    def units(self) -> int:
        """By how many units of the last digit the algorithm's row is above the engine's."""
        return int((Fraction(self.algorithm.value) - Fraction(self.engine.value)) / Fraction(_UNIT))

    @property
    def agrees(self) -> bool:
        """Whether the row lies between the engine's and that plus the algorithm's bound."""
        return 0 <= self.units * Fraction(_UNIT) <= Fraction(self.algorithm.error_bound)

    def explain(self) -> str:
        """Why the rows differ."""
        if not self.agrees:
            return "not explained: one of them is wrong"
        if self.engine.exact and self.units == 1:
            return "τ is this decimal exactly, and the algorithm's last outcome exceeds it"
        return "the mass of the algorithm's last outcome"


def _run_algorithm(
    folder: ExperimentFolder, cells: Sequence[PaperCell], place: Placement
) -> tuple[dict[PaperCell, PaperThreshold], dict[str, float]]:
    """The rows of all cells by the published algorithm, those that the folder has and the missing ones; their times."""
    table = PaperTable.create(str(folder.subfolder(_TABLE)))
    times: dict[str, float] = (folder.read_json(_TIMES) or {"seconds": {}})["seconds"]
    missing = lee2019_run.find_missing(cells, table)
    missing.sort(key=lee2019_run.expected_seconds)
    seconds = sum(map(lee2019_run.expected_seconds, missing))
    if missing:
        name = place.choose_executor(seconds)
        cores = 1 if name == "local" else place.cores()
        about = f"about {format_duration(seconds / cores)} on {count_noun(cores, 'core')} (executor {name})"
        folder.log(f"published algorithm: {len(missing):,} of {count_noun(len(cells), 'cell')} to compute, {about}")

        def count_kept() -> str:
            return f"{lee2019_run.count_present(missing, table):,} of {len(missing):,} cells"

        with (
            place.open_executor(seconds, count_kept, str(folder.path)) as executor,
            show_progress(seconds, "tasks", seconds / cores) as bar,
        ):
            for tasks, done in enumerate(lee2019_run.run_cells(missing, table, executor), 1):
                bar.advance(done.task.seconds, tasks)
                if done.cell_seconds is not None:
                    cell = done.task.cell
                    times[_key(cell)] = done.cell_seconds
                    if cell.d > SMALL_D:
                        folder.write_json(_TIMES, {"seconds": times})
                        folder.log(f"{_key(cell)}: {format_seconds(done.cell_seconds)} on one core")
        folder.write_json(_TIMES, {"seconds": times})
    rows = {PaperCell(row.noise, row.d, row.r): row for row in table.rows()}
    return {cell: rows[cell] for cell in cells}, times


def _key(cell: PaperCell) -> str:
    return f"d = {cell.d:,}, K = {cell.noise.k}, α = {cell.noise.alpha}, r = {cell.r}"


def _plot(folder: ExperimentFolder, setting: PublishedSetting) -> str:
    name = f"{setting.data.lower()}.svg"
    plot_thresholds(
        {noise: thresholds(noise, range(setting.radii[-1] + 1)) for noise in setting.noises().values()},
        folder.path / name,
    )
    return name


def _summarize(
    settings: Iterable[PublishedSetting],
    comparisons: Mapping[str, list[_Comparison]],
    engine_seconds: Mapping[Discrete, float],
) -> ResultTable:
    columns = (
        ResultColumn("data"),
        ResultColumn("K"),
        ResultColumn("α"),
        ResultColumn("d"),
        ResultColumn("r"),
        ResultColumn("rows"),
        ResultColumn("equal"),
        ResultColumn("above, within the bound"),
        ResultColumn("wrong"),
        ResultColumn("bound on the surplus"),
        ResultColumn("published algorithm, one core", "seconds"),
        ResultColumn("engine", "seconds"),
    )
    rows: list[tuple[Cell, ...]] = []
    for setting in settings:
        for alpha, noise in setting.noises().items():
            group = [row for row in comparisons[setting.data] if row.cell.noise == noise]
            for d in sorted({row.cell.d for row in group}, reverse=True):
                at_d = [row for row in group if row.cell.d == d]
                agreeing = [row for row in at_d if row.agrees]
                equal = sum(row.units == 0 for row in agreeing)
                rows.append(
                    (
                        setting.data,
                        setting.k,
                        alpha,
                        d,
                        _format_radii([row.cell.r for row in at_d]),
                        len(at_d),
                        equal,
                        len(agreeing) - equal,
                        len(at_d) - len(agreeing),
                        f"{_UP.plus(error_bound(noise, d, DIGITS)):.2e}",
                        _add_times(at_d),
                        engine_seconds[noise],
                    )
                )
    return ResultTable(
        "summary",
        "Published thresholds, by the published algorithm and by the engine",
        columns,
        tuple(rows),
        "20 digits each. Bound: what the algorithm may be too high by, one outcome of the whole space and one unit of "
        "the last digit. The engine's time is for all radii of its α, at any d.",
    )


def _add_times(rows: Iterable[_Comparison]) -> float | None:
    seconds = [row.seconds for row in rows]
    return None if None in seconds else sum(each for each in seconds if each is not None)


def _format_radii(radii: Sequence[int]) -> str:
    """1–4 for consecutive radii, and a list for others."""
    first, last = radii[0], radii[-1]
    if len(radii) > 1 and list(radii) == list(range(first, last + 1)):
        return f"{first}–{last}"
    return ", ".join(map(str, radii))


def _list_full_size(rows: Sequence[_Comparison]) -> ResultTable:
    columns = (
        ResultColumn("α"),
        ResultColumn("r"),
        ResultColumn("engine"),
        ResultColumn("published algorithm"),
        ResultColumn("units above"),
        ResultColumn("one core", "seconds"),
    )
    cells: list[tuple[Cell, ...]] = [
        (
            f"{float(row.cell.noise.alpha):g}",
            row.cell.r,
            row.engine.value,
            row.algorithm.value,
            row.units,
            row.seconds,
        )
        for row in rows
    ]
    return ResultTable(
        "full",
        f"ImageNet at full size, d = {IMAGENET_D:,} and K = {IMAGENET_K}",
        columns,
        tuple(cells),
        f"The paper states {DAYS_A_CELL} days for such a cell.",
    )


def _list_differences(
    settings: Iterable[PublishedSetting], comparisons: Mapping[str, list[_Comparison]]
) -> ResultTable:
    columns = (
        ResultColumn("data"),
        ResultColumn("d"),
        ResultColumn("α"),
        ResultColumn("r"),
        ResultColumn("engine"),
        ResultColumn("units above"),
        ResultColumn("why"),
    )
    names = {noise: alpha for setting in settings for alpha, noise in setting.noises().items()}
    cells: list[tuple[Cell, ...]] = [
        (data, row.cell.d, names[row.cell.noise], row.cell.r, row.engine.value, row.units, row.explain())
        for data, rows in comparisons.items()
        for row in rows
        if row.units
    ]
    return ResultTable(
        "differences",
        "Rows in which they differ",
        columns,
        tuple(cells),
        "Units of the 20th digit by which the published algorithm's row is above the engine's, which is ⌈τ⌉.",
    )


def _list_thresholds(setting: PublishedSetting, engine: Mapping[tuple[Discrete, int], Threshold]) -> ResultTable:
    noises = setting.noises()
    rows: list[tuple[Cell, ...]] = [(r, *(engine[noise, r].value for noise in noises.values())) for r in setting.radii]
    columns = (ResultColumn("r"), *(ResultColumn(f"α = {alpha}") for alpha in noises))
    return ResultTable(
        setting.data.lower(),
        f"Thresholds for {setting.data}, K = {setting.k}",
        columns,
        tuple(rows),
        "A probability above the threshold certifies radius r. Rounded up to 20 digits.",
    )


def _write_notes(
    plan: ThresholdPlan, every: Sequence[_Comparison], full: Sequence[_Comparison], engine_seconds: float, count: int
) -> list[str]:
    equal = sum(row.units == 0 for row in every)
    which = "these" if plan.quick else "all"
    notes = [
        f"The engine computes {which} {count} published thresholds in {format_seconds(engine_seconds)}.",
        f"{equal} of {len(every)} rows agree to the last of 20 digits; "
        f"{len(every) - equal} differ, each by no more than the algorithm's own bound."
        if all(row.agrees for row in every)
        else "The two disagree: see the rows that differ.",
    ]
    spent = _add_times(full)
    if full and spent is not None:
        notes.append(f"The {count_noun(len(full), 'row')} at full size took {format_seconds(spent)} of one core.")
    small = _QUICK_D if plan.quick else SMALL_D
    notes.append(
        f"Thresholds do not depend on d as long as d ≥ r. So the rows of ImageNet that were not computed at "
        f"d = {IMAGENET_D:,} were computed at d = {small:,}."
    )
    return notes
