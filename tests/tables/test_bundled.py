"""The table that ships: small, with what people use, exact, and made again to the byte by one command."""

from fractions import Fraction
from pathlib import Path

import pyarrow
import pyarrow.parquet as pq
import pytest
from command_line import Ellzero
from oracles.tables import files, list_budgets, literal_row

from ellzero.certificates import Discrete, Sparse, certified, single_threshold, threshold_rows, thresholds
from ellzero.certificates.budget_thresholds import row_by_product
from ellzero.tables import ABSTAIN, ColumnSlice, End, Source, Table, bundled, bundled_index
from ellzero.tables.format.keys import BudgetColumn

SHIPPED = files(bundled.LOCATION)
ALPHAS = [Fraction(percent, 100) for percent in range(1, 100)]


@pytest.fixture(scope="module")
def columns() -> dict[Discrete, list[ColumnSlice]]:
    everything = Table.open(str(bundled.LOCATION)).columns()
    return {key: runs for key, runs in everything.items() if isinstance(key, Discrete)}


def test_it_is_small_enough_to_ship() -> None:
    assert sum(map(len, SHIPPED.values())) <= 6_000_000
    assert all(name.endswith(".parquet") for name in SHIPPED)


def test_it_has_the_noises_that_people_use(columns: dict[Discrete, list[ColumnSlice]]) -> None:
    ks = {noise.k for noise in columns}
    assert ks >= {1, 2, 3, 4, 7, 9, 15, 16, 19, 25, 31, 63, 127, 255}
    assert set(columns) == {Discrete(k, alpha) for k in ks for alpha in ALPHAS}


def test_every_column_goes_to_its_end_or_far_enough(columns: dict[Discrete, list[ColumnSlice]]) -> None:
    for noise, runs in columns.items():
        (run,) = runs
        assert run.first == 0
        assert run.end is not End.CUT or run.stop == 2_001
        assert (run.end is End.FLAT) == noise.is_flat
        assert (run.end is End.COMPLETE) == (run.threshold(run.stop - 1).value == 1)


def test_its_rows_are_what_exact_arithmetic_gives(columns: dict[Discrete, list[ColumnSlice]]) -> None:
    for number, (noise, (run,)) in enumerate(columns.items()):
        radii = [number % run.stop, run.stop - 1]
        assert [run.threshold(r) for r in radii] == threshold_rows(noise, radii)
        if radii[0] < 300:
            exact = single_threshold.threshold(noise, radii[0])
            row = run.threshold(radii[0])
            assert 0 <= Fraction(row.value) - exact < Fraction(1, 10**20)
            assert row.exact == (row.value == exact)
            assert Fraction(row.min_p) > exact >= Fraction(row.min_p) - Fraction(1, 2**53)


def test_it_has_the_published_values(columns: dict[Discrete, list[ColumnSlice]]) -> None:
    (run,) = columns[Discrete(255, "1/10")]
    assert str(run.threshold(7).value) == "0.98739814896523242496"
    assert str(run.threshold(1).value) == "0.59647058823529411765"
    assert run.stop == 136
    (run,) = columns[Discrete(255, "1/5")]
    assert str(run.threshold(2).value) == "0.85373533256439830835"
    assert thresholds(Discrete(255, "1/10"), [7])[0] == columns[Discrete(255, "1/10")][0].threshold(7).value


def test_it_has_sparse_noises_with_budgets_as_every_outcome_gives_them() -> None:
    columns = Table.open(str(bundled.LOCATION)).columns()
    keys = [key for key in columns if isinstance(key, BudgetColumn)]
    adding = [f"0.00{digit}" for digit in range(1, 10)] + [f"0.0{digit}" for digit in range(1, 6)]
    families = {Sparse(p_add, f"0.{p_del}") for p_add in adding for p_del in range(4, 10)}
    assert {(key.family, key.q, *key.fixed) for key in keys} == {
        (family, Fraction(1, 2), add) for family in families for add in range(11)
    }
    for number, key in enumerate(keys):
        (run,) = columns[key]
        assert run.end is End.COMPLETE or run.stop == 61
        count = number % 4
        if key.fixed[0] <= 3 and count < run.stop:
            assert run.row(count) == literal_row(key.family, key.counts(count), key.q)
        assert run.row(run.stop - 1) == row_by_product(key.family, key.counts(run.stop - 1), key.q, 20)


def test_sparse_budgets_are_looked_up_in_it() -> None:
    limits = {"add": 5, "delete": 20}
    result = bundled_index().certified(Sparse("0.01", "0.6"), "0.9999", (5, 20))
    assert result == (certified(Sparse("0.01", "0.6"), "0.9999", limits), Source.TABLE)


def test_it_is_loaded_once() -> None:
    index = bundled_index()
    assert bundled_index() is index
    result = index.radius(0.99, Discrete(255, "1/5"), 150_528)
    assert (result.radius, result.source) == (3, Source.TABLE)
    assert ABSTAIN == -1


def test_its_grids_compute_the_bundled_table_again(ellzero: Ellzero, tmp_path: Path) -> None:
    out = tmp_path / "again"
    for grid in bundled.GRIDS:
        run = ellzero(f"precompute --grid {grid} --out {out} --executor local")
        assert run.code == 0, run.err
    assert ellzero(f"tables compact {out}").code == 0
    again, shipped = (
        [list_budgets(run) for runs in Table.open(str(place)).columns().values() for run in runs]
        for place in (out, bundled.LOCATION)
    )
    assert again == shipped
    writers = {pq.read_metadata(bundled.LOCATION / name).created_by for name in SHIPPED}
    if writers != {f"parquet-cpp-arrow version {pyarrow.__version__}"}:
        pytest.skip(f"the rows are the same; the bytes are those of {writers.pop()}, not of {pyarrow.__version__}")
    assert files(out) == SHIPPED
