"""Tables of budgets hold exactly what every outcome of the noise gives, however work was cut, stopped or resumed."""

import hashlib
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from oracles.families import all_families, budgets, parameters
from oracles.tables import list_budgets, literal_slice

from ellzero.certificates import Discrete, Family, Mask, Sparse
from ellzero.certificates.families.base import Counts
from ellzero.core.execution.executors import Executor, LocalExecutor
from ellzero.core.execution.ray_executor import RayExecutor
from ellzero.precompute import plan as planning
from ellzero.precompute.budget_columns import BudgetWork
from ellzero.precompute.budget_cost import BudgetCost
from ellzero.precompute.cost import NOMINAL
from ellzero.precompute.family_grid import FamilyGrid, count_columns, make_family_grid
from ellzero.precompute.plan import GridPlan, make_plan
from ellzero.precompute.run import Summary, run_plan
from ellzero.tables import ColumnSlice, End, Table, compact, verify
from ellzero.tables.format import shard
from ellzero.tables.format.keys import BudgetColumn

HALF = Fraction(1, 2)


GRID = make_family_grid({"family": "sparse", "p_add": "0.01,0.3", "p_del": "0.6,0.7"}, {"add": 3, "delete": 4})


def undisturbed_digest() -> str:
    """The digest of the one shard that an undisturbed run leaves after compaction."""
    works = [work for task in make_plan(GRID, {}, NOMINAL, 1).tasks for work in task.columns]
    slices = [piece for work in works if isinstance(work, BudgetWork) for piece in work.slices()]
    return hashlib.sha256(shard.encode(slices)).hexdigest()


def run(plan: GridPlan, table: Table, executor: Executor) -> Summary:
    summary = Summary()
    run_plan(plan, table, executor, lambda receipt, so_far: None, summary)
    return summary


def small_tasks(monkeypatch: pytest.MonkeyPatch, seconds: float = 1e-9) -> None:
    """So that a short run has many."""
    monkeypatch.setattr(planning, "_MOST_SECONDS", seconds)


def expected_rows(grid: FamilyGrid) -> list[Any]:
    return [
        list_budgets(literal_slice(family, grid.q, fixed, limits[-1]))
        for family in grid.families
        for limits in [grid.limits(family)]
        for fixed in product(*(range(most + 1) for most in limits[:-1]))
    ]


def stored_rows(table: Table) -> list[Any]:
    return [list_budgets(run) for runs in table.columns().values() for run in runs]


@settings(max_examples=40, deadline=None)
@given(all_families(), parameters(), st.data())
def test_columns_are_what_every_outcome_gives(family: Family, q: Fraction, data: st.DataObject) -> None:
    """From any column to any other, and from any row on."""
    limits = data.draw(budgets(family, 3))
    q = Fraction(1, 3) if isinstance(family, Discrete) and q == HALF else q
    start = data.draw(st.integers(0, count_columns(limits) - 1))
    work = BudgetWork(family, q, limits, start, data.draw(st.integers(start + 1, count_columns(limits))), 0)
    for piece in work.slices():
        assert isinstance(piece.key, BudgetColumn)
        assert list_budgets(piece) == list_budgets(literal_slice(family, q, piece.key.fixed, limits[-1]))


def test_work_that_begins_far_beyond_saturation_needs_no_large_product(tmp_path: Path) -> None:
    """That of 100,000 changes would take gigabytes: smaller budgets show that the column is complete."""
    work = BudgetWork(Sparse("0.01", "0.6"), HALF, (100_000, 9), 99_990, 100_001, 0)
    for piece in work.slices():
        assert (piece.first, [piece.row(0).min_p], piece.end) == (0, [1.0], End.COMPLETE)
        assert len(piece.rows) == 1
    table = Table.create(str(tmp_path))
    table.append(work.slices())
    report = verify(table, share=1)
    assert (report.recomputed, report.problems) == (11, [])


def test_a_row_that_cannot_be_recomputed_is_a_problem(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    fixed, other = (
        BudgetWork(Sparse("0.01", "0.6"), HALF, (100_000, 0), start, start + 1, 0).slices() for start in (1, 99_999)
    )
    (row,), (far,) = fixed, other
    table.append([ColumnSlice(far.key, 0, row.rows, row.end)])
    assert ["cannot be recomputed" in problem for problem in verify(table, share=1).problems] == [True]


def test_in_process(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    summary = run(make_plan(GRID, {}, NOMINAL, 1), table, LocalExecutor())
    assert stored_rows(table) == expected_rows(GRID)
    assert (summary.columns, summary.rows) == (16, sum(extent.rows for extent in table.extents().values()))
    assert make_plan(GRID, table.extents(), NOMINAL, 1).tasks == ()
    assert verify(table, share=1).sound


def test_however_tasks_are_cut_and_where_they_run_the_table_is_the_same(
    tmp_path: Path, ray_executor: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, here, there = (Table.create(str(tmp_path / name)) for name in ("whole", "here", "there"))
    run(make_plan(GRID, {}, NOMINAL, 1), whole, LocalExecutor())
    small_tasks(monkeypatch)
    plan = make_plan(GRID, {}, NOMINAL, 1)
    assert len(plan.tasks) == 16
    run(plan, here, LocalExecutor())
    run(plan, there, ray_executor)
    assert there.store.names() == here.store.names()
    for table in (whole, here, there):
        compact(table)
    assert {name[:64] for name in whole.store.names()} == {name[:64] for name in there.store.names()}


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 15), unique=True), st.tuples(st.integers(0, 3), st.integers(0, 4)))
def test_a_stopped_run_or_a_smaller_grid_is_completed(
    tmp_path_factory: pytest.TempPathFactory, done: list[int], smaller: Counts
) -> None:
    """Rows that are there are not written twice."""
    table = Table.create(str(tmp_path_factory.mktemp("table")))
    few = FamilyGrid(GRID.families, smaller, GRID.q)
    run(make_plan(few, {}, NOMINAL, 1), table, LocalExecutor())
    with pytest.MonkeyPatch.context() as monkeypatch:
        small_tasks(monkeypatch)
        tasks = make_plan(GRID, table.extents(), NOMINAL, 1).tasks
    some = tuple(task for place, task in enumerate(tasks) if place in done)
    run(GridPlan(some, 16, 0), table, LocalExecutor())
    run(make_plan(GRID, table.extents(), NOMINAL, 1), table, LocalExecutor())
    assert stored_rows(table) == expected_rows(GRID)
    stored = [(piece.key, at) for _, own in table.shards() for piece in own for at in range(piece.first, piece.stop)]
    assert len(stored) == len(set(stored))
    compact(table)
    assert [name[:64] for name in table.store.names()] == [undisturbed_digest()]


def test_neighbouring_columns_are_one_piece_of_work() -> None:
    plan = make_plan(GRID, {}, NOMINAL, 1)
    assert [(work.columns, work.last) for task in plan.tasks for work in task.columns] == [(4, 4)] * 4
    assert (plan.columns, plan.columns_wanted, plan.columns_present) == (16, 16, 0)


@pytest.mark.parametrize(
    ("description", "most"),
    [
        ({"family": "sparse", "p_add": "0.0137", "p_del": "0.613"}, {"add": 40, "delete": 40}),
        ({"family": "sparse", "p_add": "0.2", "p_del": "0.3"}, {"add": 20, "delete": 40}),
        ({"family": "sparse", "p_add": "0.3", "p_del": "0.7"}, {"add": 9, "delete": 9}),
        ({"family": "mask", "m": "0.9"}, 100),
        ({"family": "ablation", "d": 100, "keep": 10}, None),
        ({"family": "sparse-levels", "k": 3, "p_add": "0.01", "p_del": "0.6"}, {"add": 2, "delete": 3, "change": 5}),
        ({"family": "total", "base": {"family": "sparse", "p_add": "0.01", "p_del": "0.6"}}, 30),
    ],
)
def test_the_expected_number_of_rows_is_about_right(description: object, most: object) -> None:
    plan = make_plan(make_family_grid(description, most), {}, NOMINAL, 1)
    works = [work for task in plan.tasks for work in task.columns if isinstance(work, BudgetWork)]
    rows = sum(len(piece.rows) for work in works for piece in work.slices())
    assert plan.rows == pytest.approx(rows, rel=0.25, abs=10)
    assert plan.seconds > 0


@pytest.mark.parametrize(
    ("description", "q"),
    [
        ({"family": "sparse", "p_add": "0.01", "p_del": "0.6"}, "1e-400"),
        ({"family": "sparse", "p_add": "0.01", "p_del": "0.6"}, 1 - Fraction(1, 10**400)),
        ({"family": "total", "base": {"family": "joint", "members": {"a": {"family": "regions", "regions": [
            [[10**400 - 1, 0], [1, 1], [0, 10**400 - 1]]]}}}}, HALF),
        ({"family": "regions", "regions": [[[i + 1, 600 - i] for i in range(600)]] * 2}, HALF),
    ],
)  # fmt: skip
def test_numbers_beyond_doubles_can_be_planned(description: dict[str, Any], q: object) -> None:
    most = {"add": 2, "delete": 2} if description["family"] == "sparse" else None
    plan = make_plan(make_family_grid(description, most, q), {}, NOMINAL, 1)
    assert 0 < plan.seconds < 1e6
    assert plan.columns_wanted == plan.columns > 0


def test_columns_whose_thresholds_all_round_up_to_1_cost_little() -> None:
    cost = BudgetCost(Sparse("0.01", "0.6"), (100_000, 9), HALF)
    assert cost.seconds((100_000,), cost.rows((100_000,))) < cost.seconds((10,), cost.rows((10,)))


def test_larger_budgets_cost_more() -> None:
    cost = BudgetCost(Sparse("0.2", "0.3"), (90, 90), HALF)
    assert cost.seconds((60,), 20) > cost.seconds((3,), 20) > 0
    assert BudgetCost(Mask("0.9"), (5,), HALF).rows(()) == 6
