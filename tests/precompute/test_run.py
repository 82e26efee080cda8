"""Runs: the table holds exactly what the engine gives, however the work was cut, stopped or resumed."""

import hashlib
import os
import signal
from fractions import Fraction
from functools import partial as bind
from pathlib import Path

import pytest

from ellzero.certificates import Discrete, column
from ellzero.core.execution.executors import Executor, LocalExecutor
from ellzero.core.execution.ray_executor import RayExecutor
from ellzero.precompute.cost import NOMINAL
from ellzero.precompute.grid import GridSpec, make_grid
from ellzero.precompute.plan import ColumnWork, GridPlan, Task, make_plan
from ellzero.precompute.run import Summary, TaskReceipt, compute_task, run_plan
from ellzero.tables import End, StorageFailed, Table
from ellzero.tables.compaction import compact
from ellzero.tables.format import shard

GRID = make_grid("1,3,255", "0.1:0.9:0.1", r_max=300)


def make_tasks(grid: GridSpec, columns_per_task: int, first: int = 0) -> GridPlan:
    """Small tasks, so that a short run has many."""
    works = [ColumnWork(noise.k, noise.alpha, first, grid.r_end) for noise in grid.noises()]
    cuts = range(0, len(works), columns_per_task)
    tasks = tuple(Task(tuple(works[cut : cut + columns_per_task]), 1_000, 0.01) for cut in cuts)
    return GridPlan(tasks, len(grid), 0)


def run(plan: GridPlan, table: Table, executor: Executor) -> Summary:
    summary = Summary()
    run_plan(plan, table, executor, lambda receipt, so_far: None, summary)
    return summary


def assert_holds(table: Table, grid: GridSpec) -> None:
    """Every row of the grid, each once, as the engine gives it."""
    columns = table.columns()
    assert set(columns) >= set(grid.noises())
    for noise in grid.noises():
        (part,) = columns[noise]
        expected = column(noise, grid.r_end)
        assert [part.threshold(r) for r in range(part.stop)] == list(expected.rows)
        assert (part.end is End.COMPLETE) == expected.saturated
        assert (part.end is End.FLAT) == noise.is_flat


def test_in_process(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"))
    summary = run(make_plan(GRID, {}, NOMINAL, 1), table, LocalExecutor())
    assert_holds(table, GRID)
    assert summary.rows == sum(extent.rows for extent in table.extents().values())
    assert summary.columns == len(GRID)
    assert summary.shards == set(table.store.names())
    assert 0 < summary.engine_seconds <= summary.seconds


@pytest.mark.parametrize(
    ("computing", "comparison"), [(8.6, "14% less"), (12.0, "20% more"), (10.01, "no more and no less")]
)
def test_the_time_is_compared_with_the_estimate(computing: float, comparison: str) -> None:
    summary = Summary(engine_seconds=computing, expected_seconds=10.0)
    assert summary.compare_with_estimate() == comparison


def test_on_ray_the_shards_are_the_same_to_the_byte(tmp_path: Path, ray_executor: RayExecutor) -> None:
    plan = make_tasks(GRID, 2)
    here, there = Table.create(str(tmp_path / "here")), Table.create(str(tmp_path / "there"))
    run(plan, here, LocalExecutor())
    run(plan, there, ray_executor)
    assert there.store.names() == here.store.names()
    assert_holds(there, GRID)


def test_a_finished_table_is_not_computed_again(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"))
    run(make_plan(GRID, {}, NOMINAL, 1), table, LocalExecutor())
    assert make_plan(GRID, table.extents(), NOMINAL, 1).tasks == ()


def test_a_cut_column_is_continued_and_its_rows_are_not_written_twice(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"))
    short, long = make_grid("1,255", "0.2,0.51", r_max=20), make_grid("1,255", "0.2,0.51", r_max=400)
    run(make_plan(short, {}, NOMINAL, 1), table, LocalExecutor())
    run(make_plan(long, table.extents(), NOMINAL, 1), table, LocalExecutor())
    stored = [(part.noise, r) for _, parts in table.shards() for part in parts for r in range(part.first, part.stop)]
    assert len(stored) == len(set(stored))
    assert_holds(table, long)


def test_a_column_longer_than_a_shard_is_streamed_into_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ellzero.precompute.run.MOST_ROWS", 100)
    monkeypatch.setattr(shard, "MOST_ROWS", 100)
    table = Table.create(str(tmp_path / "t"))
    grid = GridSpec((1,), (Fraction(51, 100), Fraction(4, 5)), 1_000)
    summary = run(make_tasks(grid, 2), table, LocalExecutor())
    assert len(summary.shards) == 11
    assert all(sum(len(part.rows) for part in parts) <= 100 for _, parts in table.shards())
    assert_holds(table, grid)


def killed_once(task: Task, uri: str, mark: str | None, marks: str) -> TaskReceipt:
    """Computes and writes, and is killed the first time after its shard is there but before it could say so."""
    receipt = compute_task(task, uri, mark)
    try:
        Path(marks, hashlib.sha256(repr(task).encode()).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return receipt
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def test_a_worker_killed_after_writing_neither_loses_nor_doubles_rows(
    tmp_path: Path, ray_executor: RayExecutor
) -> None:
    grid, marks = make_grid("255", "0.2:0.8:0.2"), tmp_path / "marks"
    marks.mkdir()
    table = Table.create(str(tmp_path / "t"))
    plan = make_tasks(grid, 2)
    with table.store.run_mark() as mark:
        killed = bind(killed_once, uri=table.store.uri, mark=mark, marks=str(marks))
        assert len(list(ray_executor.run(killed, plan.tasks))) == len(plan.tasks) == len(list(marks.iterdir()))
    assert len(table.store.names()) == len(plan.tasks)
    assert_holds(table, grid)


def test_a_worker_that_sees_another_directory_refuses(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"))
    with pytest.raises(StorageFailed, match="does not see the same directory; give a shared one or an s3:// URI"):
        compute_task(make_tasks(GRID, 1).tasks[0], table.store.uri, ".ellzero-0123.run")
    assert table.store.names() == []


def test_two_runs_at_once_on_overlapping_grids(tmp_path: Path, ray_executor: RayExecutor) -> None:
    one, other = make_grid("1,3", "0.1:0.9:0.1", r_max=200), make_grid("3,255", "0.1:0.9:0.1", r_max=100)
    table = Table.create(str(tmp_path / "t"))
    mixed = [task for pair in zip(make_tasks(one, 3).tasks, make_tasks(other, 3).tasks, strict=True) for task in pair]
    list(ray_executor.run(bind(compute_task, uri=table.store.uri, mark=None), mixed))
    compact(table)
    rows = {key: extent.rows for key, extent in table.extents().items() if isinstance(key, Discrete)}
    assert {noise: count for noise, count in rows.items() if noise.k == 3} == {
        noise: len(column(noise, 200).rows) for noise in one.noises() if noise.k == 3
    }
    assert_holds(table, one)


def test_the_mark_of_a_run_is_removed_at_its_end(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"))
    run(make_tasks(GridSpec((1,), (Fraction(1, 3),), 9), 1), table, LocalExecutor())
    assert [path.name for path in (tmp_path / "t").iterdir()] == table.store.names()
    assert Discrete(1, "1/3") in table.extents()
