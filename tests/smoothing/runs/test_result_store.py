"""The result store: complete files, no result lost or doubled, and runs kept apart."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from s3_server import S3Place

from ellzero.core.errors import BadResults
from ellzero.smoothing import Certified
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.runs.result_store import ResultStore

RUN = {"n": 100, "noise": {"family": "discrete", "k": 1}, "seed": 5}
RESULT = Certified(
    prediction=1,
    radius=2,
    selected=1,
    count=99,
    drawn=100,
    counts=(1, 99),
    selection=(0, 10),
    lower_bound=0.9,
    upper_bound=None,
    other_radii={},
    n0=10,
    n=100,
    failure=Fraction(1, 1000),
    seed=5,
    stopping="settled",
    noise={},
    d=9,
    seconds=0.5,
)
ABSTAINED = replace(RESULT, prediction=-1, radius=None, upper_bound=0.4, other_radii={"l2": 0.25})


def test_results_are_read_in_order_and_each_once(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path / "results"))
    assert store.manifest() is None
    store.begin(RUN)
    store.write([(16, 0, ABSTAINED), (17, 1, RESULT)])
    store.write([(0, 1, RESULT), (1, 1, RESULT)])
    store.write([(0, 1, RESULT), (1, 1, RESULT)])  # a worker that did it again
    store.write([(1, 1, RESULT), (2, 1, RESULT)])  # somebody who cut it otherwise
    assert store.present() == {0, 1, 2, 16, 17}
    table = store.table()
    assert table["index"].to_pylist() == [0, 1, 2, 16, 17]
    assert table["radius"].to_pylist() == [2, 2, 2, None, 2]
    assert table["prediction"].to_pylist() == [1, 1, 1, -1, 1]
    assert table["l2"].to_pylist() == [None, None, None, 0.25, None]
    assert table["counts"].to_pylist()[0] == [1, 99]


def test_duckdb_reads_the_result_files(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path))
    store.begin(RUN)
    store.write([(0, 1, RESULT), (1, 1, ABSTAINED)])
    query = (
        f"select avg(radius), count(*), sum(case when prediction = label then 1 else 0 end) from '{tmp_path}/*.parquet'"
    )
    with duckdb.connect() as connection:
        assert connection.execute(query).fetchall() == [(2.0, 2, 1)]


def test_only_the_same_run_can_be_resumed(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path))
    store.begin(RUN)
    store.begin(RUN)
    with pytest.raises(
        BadResults, match="holds another run: n is 100 there and 200 here; give another --out, or --overwrite"
    ):
        store.begin({**RUN, "n": 200})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.json", b"{", "is damaged"),
        ("run.json", b"[]", "holds no results of ellzero"),
        ("run.json", b'{"format": "ellzero results", "version": 9}', "written by a later version"),
        ("part-000000000-000000001.parquet", b"PAR1", "is damaged; remove it and run the same command again"),
    ],
)
def test_damaged_results_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    store = ResultStore(str(tmp_path))
    store.begin(RUN)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadResults, match=message):
        store.table() if name.startswith("part") else store.begin(RUN)


def test_a_file_must_hold_the_inputs_of_its_name(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path))
    store.begin(RUN)
    name = store.write([(0, 1, RESULT), (1, 1, RESULT)])
    (tmp_path / name).rename(tmp_path / "part-000000000-000000002.parquet")
    with pytest.raises(BadResults, match="does not hold the inputs that its name says"):
        store.table()


def test_a_file_of_another_run_is_refused(tmp_path: Path) -> None:
    """Two runs that began together in one empty folder: only one of them has its name there."""
    one, other = ResultStore(str(tmp_path)), ResultStore(str(tmp_path))
    one.begin(RUN)
    one.write([(0, 1, RESULT)])
    (tmp_path / "run.json").unlink()
    part = next(tmp_path.glob("part-*"))
    content = part.read_bytes()
    part.unlink()
    other.begin({**RUN, "seed": 6})
    part.write_bytes(content)
    with pytest.raises(BadResults, match="belongs to another run; remove it"):
        other.table()


def test_result_files_without_a_run_are_refused(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path))
    with pytest.raises(BadResults, match="holds no results yet"):
        store.table()
    store.write([(0, 1, RESULT)])
    with pytest.raises(BadResults, match=r"has result files, but no run\.json"):
        store.begin(RUN)


def test_results_can_be_on_an_object_store(s3_place: S3Place) -> None:
    place = s3_place()
    store = ResultStore(place)
    store.begin(RUN)
    store.write([(0, 1, RESULT)])
    assert ResultStore(place).table()["index"].to_pylist() == [0]


def test_two_runs_that_begin_together_do_not_mix_their_results(tmp_path: Path) -> None:
    """Both saw an empty folder; the second wrote its name last, and the first goes on writing its parts."""
    one, other = ResultStore(str(tmp_path)), ResultStore(str(tmp_path))
    one.begin(RUN)
    (tmp_path / "run.json").unlink()
    other.begin({**RUN, "seed": 6})
    ResultStore(str(tmp_path), one.stamp).write([(0, 1, RESULT)])  # as a worker of the first does
    with pytest.raises(BadResults, match="belongs to another run; remove it"):
        other.table()


def test_the_folder_says_where_the_inputs_come_from(tmp_path: Path) -> None:
    store, source = ResultStore(str(tmp_path)), DataSource("digits", "test", None, 224, 8)
    store.begin(RUN)
    assert store.source() is None
    store.write_source(source)
    assert ResultStore(str(tmp_path)).source() == source
    store.begin(RUN)  # the source is not part of what identifies a run
    (tmp_path / "source.json").write_bytes(b"{")
    with pytest.raises(BadData, match="is damaged: it is not JSON"):
        store.source()
