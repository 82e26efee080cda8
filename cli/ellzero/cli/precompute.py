"""The command ``ellzero precompute``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.families.masks import Ablation
from ellzero.certificates.families.registry import FAMILIES
from ellzero.cli.family_options import BudgetRanges, describe_family
from ellzero.cli.parameters import Command, IntegerRange, Radii, placement_options
from ellzero.core.errors import InvalidInput
from ellzero.core.execution.placement import Placement
from ellzero.core.install_hint import install_hint
from ellzero.core.progress import notify, show_progress
from ellzero.core.text import count_noun, format_duration
from ellzero.precompute import lee2019_run
from ellzero.precompute.axes import INTEGER, axis
from ellzero.precompute.cost import calibrate_cost_model
from ellzero.precompute.family_grid import FamilyGrid, make_family_grid
from ellzero.precompute.grid import SATURATE, GridSpec, make_grid, read_grid
from ellzero.precompute.plan import GridPlan, make_plan
from ellzero.precompute.run import Summary, run_plan
from ellzero.tables import DamagedShard, PaperTable, Table, compact
from ellzero.tables.store import Store

_DISCRETE = "discrete"
_GRID = "--k, --alpha, --d and --r-max"
_FAMILY_HELP = (
    "The noise: discrete, sparse, sparse-levels, mask, ablation, deletion; or a .json or .toml file that describes any "
    "family, with lists and ranges for parameters."
)
_MAX_HELP = "Other families: the largest number of each kind of change: add=50,delete=50, or 50 where there is one."
_COUNT = IntegerRange(min=0)


@click.command("precompute", cls=Command)
@click.option("--grid", "grid_file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="TOML file.")
@click.option("--k", help="Categories minus one: 255, 1,255 or 1:31:2.")
@click.option("--alpha", help="Total probability of staying: 0.2, 0.1,1/3 or 0.01:0.99:0.01 (ends included).")
@click.option("--d", help="Numbers of coordinates; the largest bounds the radii. The paper's method needs them.")
@click.option("--r-max", help=f"Radii 0..r-max, or {SATURATE}: all until they round up to 1 or reach the largest d.")
@click.option("--family", default=_DISCRETE, show_default=True, metavar="NAME|FILE", help=_FAMILY_HELP)
@click.option("--p-add", help="sparse: probabilities that a zero becomes one, as --alpha.")
@click.option("--p-del", help="sparse: probabilities that a one becomes zero, as --alpha.")
@click.option("--m", help="mask, deletion: probabilities that a coordinate is hidden, or a symbol deleted, as --alpha.")
@click.option("--keep", help="ablation: how many of d coordinates are shown, as --k.")
@click.option("--q", help="Thresholds ρ⁻¹(q), with --max or --r-max; 1/2 by default.")
@click.option("--max", "most", type=BudgetRanges(), help=_MAX_HELP)
@click.option("--add-max", type=_COUNT, help="Short for --max add=…")
@click.option("--delete-max", type=_COUNT, help="Short for --max delete=…")
@click.option("--change-max", type=_COUNT, help="Short for --max change=…")
@click.option("--out", metavar="URI", help="The table: a directory, or s3://bucket/prefix.")
@click.option("--method", type=click.Choice(["engine", "paper"]), default="engine", show_default=True)
@click.option("--r", type=Radii(), help="Radii for the paper's method: 8, 1,4,7 or 1:8.")
@placement_options
@click.option("--compact", "compact_after", is_flag=True, help="Merge the shards of the table at the end.")
@click.option(
    "--dry-run", is_flag=True, help="Print what would be computed, how long it would take and how large it would be."
)
def precompute_command(
    grid_file: Path | None,
    k: str | None,
    alpha: str | None,
    d: str | None,
    r_max: str | None,
    family: str,
    p_add: str | None,
    p_del: str | None,
    m: str | None,
    keep: str | None,
    q: str | None,
    most: dict[str, tuple[int, int]] | None,
    add_max: int | None,
    delete_max: int | None,
    change_max: int | None,
    out: str | None,
    method: str,
    r: list[int] | None,
    executor: str,
    address: str | None,
    workers: int | None,
    compact_after: bool,
    dry_run: bool,
) -> None:
    """Compute tables of thresholds for a grid of noises and write them as Parquet.

    For the discrete noise the grid is of (K, α). For another --family it is of all its parameters, and --max says how
    far the budgets go: --family sparse --p-add 0.01,0.02 --p-del 0.4:0.9:0.1 --add-max 50 --delete-max 50.

    Columns already in the table are not computed again, so the same command resumes a run that was stopped or killed.
    """
    axes = {"--k": k, "--alpha": alpha, "--d": d, "--r-max": r_max}
    own: dict[str, object] = {"--p-add": p_add, "--p-del": p_del, "--m": m, "--keep": keep, "--q": q, "--max": most}
    own |= {"--add-max": add_max, "--delete-max": delete_max, "--change-max": change_max}
    given = [name for name, value in {**axes, **own}.items() if value is not None]
    if grid_file is not None and (given or family != _DISCRETE):
        raise click.UsageError(f"--grid says everything about the grid; leave out {', '.join(given or ['--family'])}")
    of_radii = family == _DISCRETE and q is None  # τ_r of the discrete noise, which have a grid of their own
    if grid_file is None and of_radii:
        if (k is None or alpha is None) and not any(value is not None for value in own.values()):
            raise click.UsageError("give --grid, or --k and --alpha")
        if extra := [name for name, value in own.items() if value is not None]:
            raise click.UsageError(f"{', '.join(extra)}: for other families than discrete; its grid has {_GRID}")
    if not out and not dry_run:
        raise click.UsageError("give --out, or --dry-run")
    place = Placement.of(executor, address, workers)
    if out is not None:
        place.check_shared("out", out)
    if method == "paper":
        if grid_file is not None or r_max is not None or compact_after or not of_radii:
            raise click.UsageError("the paper's method takes --k, --alpha, --d and --r only")
        if d is None or r is None:
            raise click.UsageError("the paper's method needs --d and --r")
        _run_paper(axis("k", k), axis("alpha", alpha), axis("d", d), r, out, place, dry_run)
        return
    if r is not None:
        raise click.UsageError("--r is for --method paper; use --r-max")
    if grid_file is None and not of_radii and d is not None and family != Ablation.name:
        raise click.UsageError("--d is for discrete noise at q = 1/2 and for ablation; --max says how far budgets go")
    grid: GridSpec | FamilyGrid
    if grid_file is not None:
        grid = read_grid(grid_file)
    elif of_radii:
        grid = make_grid(k, alpha, d, SATURATE if r_max is None else r_max)
    else:
        parameters = {"k": k, "alpha": alpha, "d": d, "p_add": p_add, "p_del": p_del, "m": m, "keep": keep}
        short = {"add": add_max, "delete": delete_max, "change": change_max}
        description = describe_family(family, parameters)
        try:
            grid = make_family_grid(description, _read_max(most, short, r_max), HALF if q is None else q)
        except InvalidInput as error:  # a simple family has options for its parameters
            field = error.field.removeprefix("family.") if family in FAMILIES else error.field
            option = f"--{field.replace('.', ' ', 1)}" if field.startswith("max") else field
            raise InvalidInput(option, error.allowed, error.value) from None
    model = calibrate_cost_model()
    if out is None or dry_run:
        present = {} if out is None or not Store(out).names() else Table.open(out).extents()
        _describe(make_plan(grid, present, model, place.cores()), place)
        return
    place.check()
    table = Table.create(out)
    present = table.extents(lambda error: _set_aside(table, error))
    _run(lambda workers: make_plan(grid, present, model, workers), table, place)
    if compact_after:
        result = compact(table)
        shards = f"{result.shards_before:,} shards into {result.shards_after:,}"
        click.echo(f"compacted {shards}, {result.bytes_after:,} bytes")


def _read_max(
    most: dict[str, tuple[int, int]] | None, short: dict[str, int | None], r_max: str | None
) -> dict[str, int] | int | None:
    """How far the budgets go, from --max and the options that are short for it."""
    limits = {name: count for name, count in short.items() if count is not None}
    for name, (low, high) in (most or {}).items():
        if low != high or name in limits:
            raise click.UsageError("--max must name one number for each kind of change, such as add=50,delete=50")
        limits[name] = high
    if r_max is not None:
        if limits or not INTEGER.fullmatch(r_max):
            raise click.UsageError("--r-max must be a number for other families than discrete, without --max")
        return int(r_max)
    if "" in limits:
        if len(limits) > 1:
            raise click.UsageError("--max must name each kind of change, such as add=50,delete=50")
        return limits[""]
    return limits or None


def _describe(plan: GridPlan, place: Placement) -> None:
    name = place.choose_executor(plan.seconds)
    cores = 1 if name == "local" else place.cores()
    click.echo(f"columns  {plan.columns:,} to compute, {plan.columns_present:,} of {plan.columns_wanted:,} present")
    click.echo(f"cells    about {plan.rows:,}")
    click.echo(f"tasks    {len(plan.tasks):,}")
    wall = _wall_seconds(plan, cores)
    where = f"on {count_noun(cores, 'core')}" + (", and the cluster may have more" if place.is_cluster else "")
    click.echo(f"time     about {format_duration(wall)} {where} (executor {name})")
    click.echo(f"size     about {plan.size / 1e6:,.1f} MB")


def _wall_seconds(plan: GridPlan, cores: int) -> float:
    """About how long the plan takes on so many cores."""
    longest = max((task.seconds for task in plan.tasks), default=0.0)
    return max(plan.seconds / cores, longest)


def _count_complete(plan: GridPlan, table: Table) -> int:
    """How many columns of the plan the table has now, including those whose receipts never arrived."""
    present = table.extents()
    works = (work for task in plan.tasks for work in task.columns)
    extents = ((present.get(key), work.last) for work in works for key in work.column_keys())
    return sum(extent is not None and not extent.lacks(last) for extent, last in extents)


def _run(make_plan_for: Callable[[int], GridPlan], table: Table, place: Placement) -> None:
    """Run the plan for as many workers as the executor turns out to have."""
    summary = Summary()
    plan = make_plan_for(place.cores())
    if not plan.tasks:
        click.echo(f"{table.store.uri}: all {plan.columns_wanted:,} columns are present already")
        return
    name = place.choose_executor(plan.seconds)
    if name == "local" and place.lacks_ray(plan.seconds):
        notify(f"on one core only; Ray would use all of them: {install_hint('cluster')}")
    with place.open_executor(
        plan.seconds, lambda: f"{_count_complete(plan, table):,} of {plan.columns:,} columns", table.store.uri
    ) as executor:
        workers = executor.workers
        plan = make_plan_for(workers) if workers > place.cores() else plan
        tasks = count_noun(len(plan.tasks), "task")
        wall = _wall_seconds(plan, workers)
        notify(
            f"{count_noun(plan.columns, 'column')}, about {plan.rows:,} cells, {tasks}, "
            f"about {format_duration(wall)} on {count_noun(workers, 'core')} (executor {name})"
        )
        with show_progress(plan.rows, "cells", wall) as bar:
            run_plan(
                plan, table, executor, lambda receipt, so_far: bar.advance(receipt.expected_rows, so_far.rows), summary
            )
    columns, shards = count_noun(summary.columns, "column"), count_noun(len(summary.shards), "shard")
    engine = summary.engine_seconds / (summary.seconds * workers)
    rate = f"{summary.rows / summary.seconds:,.0f} cells/s, engine {engine:.0%} of the time"
    click.echo(f"{table.store.uri}: {summary.rows:,} cells of {columns} in {shards}")
    click.echo(f"{summary.seconds:,.1f} s on {count_noun(workers, 'worker')}, {rate}")
    click.echo(f"computing took {summary.compare_with_estimate()} time than expected")


def _run_paper(
    ks: list[Any], alphas: list[Any], ds: list[Any], radii: list[int], out: str | None, place: Placement, dry_run: bool
) -> None:
    cells = lee2019_run.list_cells(ks, alphas, ds, radii)
    if not dry_run:
        place.check()
    table = _paper_table(out, dry_run)
    if table is not None:
        cells = lee2019_run.find_missing(cells, table)
    seconds = sum(lee2019_run.expected_seconds(cell) for cell in cells)
    task_count = sum(len(cell.ranges()) for cell in cells)
    name = place.choose_executor(seconds)
    cores = 1 if name == "local" else place.cores()
    wall = f"about {format_duration(seconds / cores)} on {count_noun(cores, 'core')} (executor {name})"
    if dry_run or table is None:
        click.echo(f"{count_noun(len(cells), 'cell')} in {count_noun(task_count, 'task')}, {wall}")
        return
    if not cells:
        click.echo(f"{table.store.uri}: all cells are present already")
        return
    notify(f"{count_noun(len(cells), 'cell')} in {count_noun(task_count, 'task')}, {wall}")
    with (
        place.open_executor(
            seconds, lambda: f"{lee2019_run.count_present(cells, table):,} of {len(cells):,} cells", table.store.uri
        ) as executor,
        show_progress(round(1e3 * seconds), "tasks", seconds / cores) as bar,
    ):
        for tasks, done in enumerate(lee2019_run.run_cells(cells, table, executor), 1):
            bar.advance(round(1e3 * done.task.seconds), tasks)
    uri = table.store.uri
    click.echo(
        f"{uri}: {len(cells):,} cells by the paper's algorithm; `ellzero tables verify TABLE --against {uri}` compares"
    )


def _paper_table(out: str | None, dry_run: bool) -> PaperTable | None:
    """The table to write to; for a dry run the one that is there, if any."""
    if not dry_run:
        return PaperTable.create(out or "")
    return PaperTable.open(out) if out and Store(out).names() else None


def _set_aside(table: Table, error: DamagedShard) -> None:
    table.store.set_aside(error.name)
    notify(f"{error}; it is set aside, and its part of this grid is computed again")
