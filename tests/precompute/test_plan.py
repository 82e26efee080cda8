"""Plans: exactly what is missing, in tasks of even cost; and a cost model that is about right."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises

from ellzero.certificates import Discrete, column
from ellzero.precompute.cost import NOMINAL, CostModel, calibrate_cost_model, expected_bytes, expected_rows
from ellzero.precompute.grid import GridSpec, make_grid
from ellzero.precompute.plan import ColumnWork, make_plan
from ellzero.tables import End, Extent
from ellzero.tables.bundled import LOCATION
from ellzero.tables.format.keys import ColumnKey
from ellzero.tables.table import Table


@given(noises(max_k=300), st.integers(0, 400))
def test_the_expected_number_of_rows_is_about_right(noise: Discrete, r_end: int) -> None:
    rows = len(column(noise, r_end).rows)
    assert abs(expected_rows(noise, r_end) - rows) <= 6 + 0.1 * rows


@pytest.mark.parametrize(
    ("k", "alpha", "rows"), [(1, "0.51", 53_614), (255, "0.01", 7_424), (15, "0.07", 44_183), (10**8, "0.1", 28)]
)
def test_the_expected_number_of_rows_to_saturation(k: int, alpha: str, rows: int) -> None:
    assert expected_rows(Discrete(k, alpha), 10**6) == pytest.approx(rows, rel=0.1)


def test_noises_without_end_are_expected_to_be_very_long() -> None:
    nearly_flat = Discrete(1, Fraction(2**40 + 1, 2**41))
    assert expected_rows(nearly_flat, 2**31 - 1) == 2**31
    assert expected_rows(nearly_flat, 10) == 11


def test_the_expected_size_is_about_that_of_the_shipped_table() -> None:
    table = Table.open(str(LOCATION))
    extents = table.extents()
    size = sum(table.store.size(name) for name in table.store.names())
    assert expected_bytes(len(extents), sum(extent.rows for extent in extents.values())) == pytest.approx(size, rel=0.1)


def test_the_model_is_calibrated_by_the_engine() -> None:
    model = calibrate_cost_model()
    assert model.row_seconds > 0
    assert model.seconds(10_000) > model.seconds(100) > 0


def plan_ranges(grid: GridSpec, present: dict[ColumnKey, Extent], workers: int) -> dict[Discrete, tuple[int, int]]:
    plan = make_plan(grid, present, NOMINAL, workers)
    columns = [work for task in plan.tasks for work in task.columns if isinstance(work, ColumnWork)]
    assert len({work.noise for work in columns}) == len(columns) == plan.columns
    assert plan.columns + plan.columns_present == plan.columns_wanted == len(grid)
    return {work.noise: (work.first, work.r_end) for work in columns}


@settings(max_examples=30)
@given(st.integers(1, 8), st.sampled_from([2**31 - 1, 0, 5, 60]), st.data())
def test_a_plan_holds_exactly_what_the_table_lacks(workers: int, r_end: int, data: st.DataObject) -> None:
    grid = GridSpec((1, 2, 255), tuple(Fraction(i, 10) for i in range(1, 10)), r_end)
    present: dict[ColumnKey, Extent] = {}
    for noise in grid.noises():
        state = data.draw(st.sampled_from(["absent", "complete", "cut"]))
        if state == "complete":
            present[noise] = Extent(30, End.FLAT if noise.is_flat else End.COMPLETE)
        elif state == "cut":
            present[noise] = Extent(data.draw(st.integers(1, 100)), End.CUT)
    todo = plan_ranges(grid, present, workers)
    for noise in grid.noises():
        extent = present.get(noise)
        if extent is None:
            assert todo[noise] == (0, r_end)
        elif extent.end is not End.CUT or extent.rows > r_end:
            assert noise not in todo
        else:
            assert todo[noise] == (extent.rows, r_end)


def test_tasks_have_even_costs_and_the_longest_come_first() -> None:
    plan = make_plan(make_grid("1:60", "0.01:0.99:0.01", r_max=2000), {}, NOMINAL, workers=2)
    seconds = [task.seconds for task in plan.tasks]
    assert seconds == sorted(seconds, reverse=True)
    assert len(seconds) >= 16
    column_at_most = NOMINAL.seconds(2001)
    # All but the last are filled until they cost enough, so they differ by one column at most.
    assert seconds[0] - seconds[-2] <= column_at_most


def test_the_same_grid_and_table_give_the_same_tasks_however_fast_the_machine_is() -> None:
    grid = make_grid("1:20", "0.1:0.9:0.1", r_max=500)
    tasks = [{task.columns for task in make_plan(grid, {}, CostModel(*m), 2).tasks} for m in [NOMINAL, (1e-3, 1e-6)]]
    assert tasks[0] == tasks[1]
