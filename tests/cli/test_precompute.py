"""``ellzero precompute`` as people use it: plans, tables, interruptions, and one clear line for each mistake."""

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Ellzero, interrupt_process
from s3_server import S3Place

from ellzero.certificates import Discrete, thresholds
from ellzero.core.execution.ray_executor import RayExecutor
from ellzero.tables import PaperTable, Table, ThresholdIndex

SMALL = "precompute --k 1,255 --alpha 0.1:0.9:0.1 --d 784"


def test_a_table_from_flags_and_a_lookup_in_it(ellzero: Ellzero, tmp_path: Path) -> None:
    run = ellzero(f"{SMALL} --out {tmp_path}/t")
    assert run.code == 0
    assert f"{tmp_path}/t: 1,780 cells of 18 columns in 1 shard" in run.out
    assert re.search(r"^computing took .+ time than expected$", run.out, re.MULTILINE)
    assert "18 columns, about" in run.err
    assert ThresholdIndex.open(f"{tmp_path}/t").radius("0.99", Discrete(255, "0.2"), 784).radius == 3
    again = ellzero(f"{SMALL} --out {tmp_path}/t")
    assert again.out == f"{tmp_path}/t: all 18 columns are present already\n"


def test_a_dry_run_says_what_it_would_cost_and_writes_nothing(ellzero: Ellzero, tmp_path: Path) -> None:
    run = ellzero(f"{SMALL} --out {tmp_path}/t --dry-run")
    assert run.code == 0
    words = {line.split()[0]: line for line in run.out.splitlines()}
    assert words["columns"].endswith("18 to compute, 0 of 18 present")
    assert set(words) == {"columns", "cells", "tasks", "time", "size"}
    assert not (tmp_path / "t").exists()
    ellzero(f"{SMALL} --out {tmp_path}/t")
    assert "0 to compute, 18 of 18 present" in ellzero(f"{SMALL} --out {tmp_path}/t --dry-run").out


def test_saturate_stops_at_the_largest_d(ellzero: Ellzero, tmp_path: Path) -> None:
    ellzero(f"precompute --k 1 --alpha 0.51,0.9 --d 10,60 --r-max saturate --out {tmp_path}/t")
    rows = {str(noise.alpha): extent for noise, extent in Table.open(f"{tmp_path}/t").extents().items()}
    assert (rows["51/100"].rows, rows["51/100"].end) == (61, "cut")
    assert (rows["9/10"].rows, rows["9/10"].end) == (26, "complete")


def test_a_grid_file_and_compaction(ellzero: Ellzero, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text('k = [1, 2]\nalpha = "0.1:0.9:0.2"\nr_max = 50\n')
    for _ in range(2):
        run = ellzero(f"precompute --grid {tmp_path}/grid.toml --out {tmp_path}/t --compact")
        assert run.code == 0
        assert "compacted 1 shards into 1" in run.out
    assert len(Table.open(f"{tmp_path}/t").extents()) == 10


def test_on_ray(ellzero: Ellzero, tmp_path: Path, ray_executor: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a relative path means the same place to workers, wherever they are
    run = ellzero(f"{SMALL} --out t --executor ray")
    assert run.code == 0
    assert "on 2 workers" in run.out
    ellzero(f"{SMALL} --out {tmp_path}/here --executor local")
    assert Table.open(f"{tmp_path}/t").store.names() == Table.open(f"{tmp_path}/here").store.names()


def test_workers_write_to_an_object_store(
    ellzero: Ellzero, tmp_path: Path, ray_executor: RayExecutor, s3_place: S3Place
) -> None:
    # With the keys in the URI, since the workers were started before the server's keys were in the environment.
    uri = s3_place().replace("s3://", "s3://testing:testing@")
    run = ellzero(f"{SMALL} --out {uri} --executor ray")
    assert run.code == 0
    assert "testing@" not in run.out + run.err
    ellzero(f"{SMALL} --out {tmp_path}/here --executor local")
    assert Table.open(uri).store.names() == Table.open(f"{tmp_path}/here").store.names()
    again = ellzero(f"{SMALL} --out {uri} --executor ray --compact")
    assert "all 18 columns are present already" in again.out
    assert "testing@" not in again.out + again.err


def test_the_papers_algorithm_as_a_job_and_as_an_audit(
    ellzero: Ellzero, tmp_path: Path, ray_executor: RayExecutor
) -> None:
    line = f"precompute --method paper --d 40,5000 --k 255 --alpha 0.2 --r 1:2 --out {tmp_path}/paper --executor ray"
    run = ellzero(line)
    assert run.code == 0
    assert "4 cells by the paper's algorithm" in run.out
    rows = PaperTable.open(f"{tmp_path}/paper").rows()
    assert [(row.d, row.r) for row in rows] == [(40, 1), (40, 2), (5000, 1), (5000, 2)]
    exact = thresholds(Discrete(255, "0.2"), [1, 2])
    for row in rows:
        assert exact[row.r - 1] <= row.value <= exact[row.r - 1] + row.error_bound
    assert "all cells are present already" in ellzero(line).out
    ellzero(f"precompute --k 255 --alpha 0.2 --out {tmp_path}/t")
    verdict = ellzero(f"tables verify {tmp_path}/t --against {tmp_path}/paper")
    assert (verdict.code, verdict.out) == (
        0,
        "sound: 4 rows of 1 column in 1 shard, 4 compared with the paper's algorithm\n",
    )
    refused = ellzero(f"precompute --k 1 --alpha 0.2 --out {tmp_path}/paper")
    assert (refused.code, refused.err) == (
        1,
        f"ellzero: {tmp_path}/paper holds a table of paper thresholds, not of thresholds\n",
    )


def test_no_cell_is_computed_twice(ellzero: Ellzero, tmp_path: Path) -> None:
    run = ellzero(f"precompute --method paper --k 1,1 --alpha 0.4,2/5 --d 50,50 --r 1,1 --out {tmp_path}/paper")
    assert f"{tmp_path}/paper: 1 cell" in run.out


def test_a_noise_next_to_none_can_be_planned(ellzero: Ellzero) -> None:
    for alpha in ("1/9223372036854775807", "9223372036854775806/9223372036854775807", "1e-16", "0.99999999999999999"):
        for k in (1, 2, 255, 100_000_000):
            assert ellzero(f"precompute --k {k} --alpha {alpha} --dry-run").code == 0


def test_a_column_without_end_stops_where_radii_do(ellzero: Ellzero) -> None:
    run = ellzero("precompute --k 1 --alpha 4611686018427387903/9223372036854775807 --dry-run")
    assert "cells    about 2,147,483,648" in run.out


def test_a_server_that_is_not_ray(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        line = f"{SMALL} --out {tmp_path}/t --address 127.0.0.1:{port}"
        command = [sys.executable, "-m", "ellzero", *line.split()]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, f"ellzero: no Ray cluster answers at 127.0.0.1:{port}\n")


def test_a_paper_plan(ellzero: Ellzero) -> None:
    run = ellzero("precompute --method paper --d 150528 --k 255 --alpha 0.2 --r 1:8 --dry-run")
    assert run.code == 0
    assert run.out.startswith("8 cells in 512 tasks, about ")


def test_a_damaged_shard_is_set_aside_and_recomputed(ellzero: Ellzero, tmp_path: Path) -> None:
    ellzero(f"{SMALL} --out {tmp_path}/t")
    table = Table.open(f"{tmp_path}/t")
    (name,) = table.store.names()
    path = tmp_path / "t" / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    run = ellzero(f"{SMALL} --out {tmp_path}/t")
    assert run.code == 0
    assert "is damaged: its bytes are not those that its name promises; it is set aside" in run.err
    assert path.read_bytes() == whole
    assert (tmp_path / "t" / f"{name}.damaged").read_bytes() == whole[: len(whole) // 2]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("precompute", "give --grid, or --k and --alpha"),
        ("precompute --k 1", "give --grid, or --k and --alpha"),
        ("precompute --k 1 --alpha 0.5", "give --out, or --dry-run"),
        ("precompute --grid GRID --k 1 --out OUT", "--grid says everything about the grid; leave out --k"),
        ("precompute --grid NOWHERE --out OUT", "Invalid value for '--grid': File"),
        ("precompute --k 0 --alpha 0.5 --out OUT", "--k must be an integer from 1"),
        ("precompute --k 1 --alpha 2 --out OUT", "--alpha must be a rational"),
        ("precompute --k 1 --alpha 0.9:0.1:0.1 --out OUT", "--alpha must be a range that rises"),
        ("precompute --k 1 --alpha 0.5 --d 7 --r-max 9 --out OUT", "--r-max must be at most the largest d, 7"),
        ("precompute --k 1 --alpha 0.5 --r 1:8 --out OUT", "--r is for --method paper; use --r-max"),
        ("precompute --k 1 --alpha 0.5 --method paper --out OUT", "the paper's method needs --d and --r"),
        ("precompute --k 1 --alpha 0.5 --method paper --d 5 --r 6 --out OUT", "--r must be an integer from 0 to 5"),
        (
            "precompute --k 1 --alpha 0.5 --address h:1 --out there",
            "--out must be an absolute path or a URI that all machines",
        ),
        ("precompute --k 1 --alpha 0.5 --out ''", "give --out, or --dry-run"),
        ("precompute --k 1 --alpha 0 --out OUT", "--alpha must be a rational number strictly between 0 and 1"),
        ("precompute --k 1 --alpha 0.5 --r-max '' --out OUT", "--r-max must be an integer from 0"),
        (
            "precompute --k 1 --alpha 0.5 --r-max 2147483648 --out OUT",
            "--r-max must be an integer from 0 to 2147483647",
        ),
        (
            "precompute --k 1:200 --alpha 0.01:0.99:0.01 --method paper --d 50 --r 0:9 --out OUT",
            "grid must be of at most 100,000 cells for the paper's method",
        ),
        (
            "precompute --k 1 --alpha 0.5 --workers 0 --out OUT",
            "Invalid value for '--workers': 0 is not in the range x>=1.",
        ),
        (
            "precompute --k 1 --alpha 0.5 --workers 2 --executor local --out OUT",
            "--executor must be ray or auto if address or workers is given",
        ),
        (
            "precompute --k 1 --alpha 0.5 --workers 2 --address h:1 --out OUT",
            "--workers must be left out if address is given",
        ),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    ellzero: Ellzero, tmp_path: Path, line: str, complaint: str
) -> None:
    (tmp_path / "grid.toml").write_text('k = 1\nalpha = "0.5"\n')
    run = ellzero(line.replace("OUT", f"{tmp_path}/t").replace("GRID", f"{tmp_path}/grid.toml"))
    assert run.code == 2
    assert run.err.startswith(f"ellzero: {complaint}")
    assert len(run.err.splitlines()) == 1
    assert not (tmp_path / "t").exists()


def test_a_grid_file_with_unknown_keys(ellzero: Ellzero, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text('k = 1\nalpha = "0.5"\nrmax = 9\n')
    run = ellzero(f"precompute --grid {tmp_path}/grid.toml --out {tmp_path}/t")
    assert (run.code, run.err) == (
        2,
        "ellzero: grid must be a file with the keys k, alpha, d, r_max; got 'rmax'\n",
    )


def test_a_foreign_directory_and_an_unwritable_one(ellzero: Ellzero, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("…")
    run = ellzero(f"{SMALL} --out {tmp_path}/thesis")
    assert (run.code, run.err) == (
        1,
        f"ellzero: {tmp_path}/thesis is not a table of ellzero: it holds chapter1.tex\n",
    )
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter1.tex"]
    run = ellzero(f"{SMALL} --out {tmp_path}/thesis/chapter1.tex/t")
    assert run.code == 1
    assert run.err == f"ellzero: {tmp_path}/thesis/chapter1.tex/t: Not a directory\n"


def test_an_unreachable_cluster(tmp_path: Path) -> None:
    # In a process of its own: an executor inside a running session uses that session.
    line = f"{SMALL} --out {tmp_path}/t --address 127.0.0.1:1"
    run = subprocess.run([sys.executable, "-m", "ellzero", *line.split()], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr == "ellzero: no Ray cluster answers at 127.0.0.1:1\n"
    assert not (tmp_path / "t").exists()


def has_shards(folder: Path) -> bool:
    return any(folder.glob("*.parquet"))


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_what_is_finished_and_the_same_command_goes_on(
    ellzero: Ellzero, tmp_path: Path, stop: signal.Signals
) -> None:
    line = f"precompute --k 1:60 --alpha 0.01:0.99:0.01 --r-max 1000 --out {tmp_path}/t --executor local"
    code, _, err = interrupt_process(line, lambda: has_shards(tmp_path / "t"), stop)
    assert code == 130
    assert "Traceback" not in err
    *_, kept_line, last_line = filter(None, err.splitlines())
    assert "stopped after" in kept_line
    assert kept_line.endswith(f"is kept in {tmp_path}/t, and the same command resumes the run")
    assert last_line == "ellzero: interrupted"
    table = Table.open(f"{tmp_path}/t")
    kept = table.extents()
    assert [path.name for path in sorted((tmp_path / "t").iterdir())] == table.store.names()
    rest = ellzero(f"precompute --k 1:60 --alpha 0.01:0.99:0.01 --r-max 1000 --out {tmp_path}/t --dry-run")
    assert f"{60 * 99 - len(kept):,} to compute, {len(kept):,} of 5,940 present" in rest.out


def test_an_interruption_on_ray_counts_all_that_is_kept_and_shows_no_messages_of_ray(tmp_path: Path) -> None:
    line = f"precompute --k 1:255 --alpha 0.01:0.99:0.01 --r-max 2000 --out {tmp_path}/t --executor ray --workers 2"
    code, _, err = interrupt_process(line, lambda: has_shards(tmp_path / "t"))
    assert code == 130
    expected, kept, last = filter(None, (line for line in err.splitlines() if "%: " not in line))
    assert re.fullmatch(r"ellzero: 25,245 columns, .* on 2 cores \(executor ray\)", expected)
    extents = Table.open(f"{tmp_path}/t").extents().values()
    columns = sum(not extent.lacks(2_000) for extent in extents)  # a shard may end within a column
    assert kept.startswith(f"ellzero: stopped after {columns:,} of 25,245 columns; ")
    assert last == "ellzero: interrupted"


def test_an_interruption_of_the_papers_algorithm_on_ray_counts_the_cells_that_are_kept(tmp_path: Path) -> None:
    grid = "--d 3000,60000 --k 255 --alpha 0.2 --r 1:20"
    line = f"precompute --method paper {grid} --out {tmp_path}/t --executor ray --workers 2"
    code, _, err = interrupt_process(line, lambda: has_shards(tmp_path / "t"))
    assert code == 130
    _, kept, last = (line for line in err.splitlines() if line and "%: " not in line)
    cells = len(PaperTable.open(f"{tmp_path}/t").rows())
    assert 1 <= cells < 40
    assert kept.startswith(f"ellzero: stopped after {cells} of 40 cells; ")
    assert last == "ellzero: interrupted"
