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

from ellzero.certificates import Discrete, Sparse, certified, thresholds
from ellzero.core.execution.ray_executor import RayExecutor
from ellzero.tables import PaperTable, Source, Table, ThresholdIndex

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
    extents = Table.open(f"{tmp_path}/t").extents()
    rows = {str(noise.alpha): extent for noise, extent in extents.items() if isinstance(noise, Discrete)}
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
        "ellzero: grid must be a file with the keys k, alpha, d, r_max, or with family and max; got 'rmax'\n",
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


SPARSE = "precompute --family sparse --p-add 0.01,0.02 --p-del 0.5:0.7:0.1 --add-max 3 --delete-max 6"


def test_a_table_of_a_family_and_a_lookup_in_it(ellzero: Ellzero, tmp_path: Path) -> None:
    family, out = Sparse("0.02", "0.6"), f"{tmp_path}/t"
    planned = ellzero(f"{SPARSE} --out {out} --dry-run")
    assert planned.out.splitlines()[0] == "columns  24 to compute, 0 of 24 present"
    assert not (tmp_path / "t").exists()
    run = ellzero(f"{SPARSE} --out {out}")
    assert run.code == 0
    assert re.search(rf"^{out}: \d+ cells of 24 columns in 1 shard$", run.out, re.MULTILINE)
    limits = {"add": 3, "delete": 6}
    index = ThresholdIndex.open(out)
    assert index.certified(family, "0.95", (3, 6)) == (certified(family, "0.95", limits), Source.TABLE)
    assert ellzero(f"{SPARSE} --out {out}").out == f"{out}: all 24 columns are present already\n"
    more = ellzero(f"{SPARSE.replace('add-max 3', 'add-max 4')} --out {out} --compact")
    assert "cells of 6 columns in 1 shard" in more.out
    assert ellzero(f"tables verify {out} --all").code == 0


def test_families_of_every_kind_have_tables(ellzero: Ellzero, tmp_path: Path) -> None:
    graph = tmp_path / "graph.toml"
    graph.write_text(
        'family = "joint"\n[members.edges]\nfamily = "sparse"\np_add = 0.01\np_del = ["0.6", "0.7"]\n'
        '[members.nodes]\nfamily = "mask"\nm = "0.9"\n'
    )
    levels = tmp_path / "levels.json"
    levels.write_text('{"family": "total", "base": {"family": "sparse", "p_add": 0.01, "p_del": "0.5,0.6"}}')
    grid = tmp_path / "grid.toml"
    grid.write_text('family = "mask"\nm = "0.8,0.9"\nq = "1/3"\nmax = 5\n')
    out = f"--out {tmp_path}/t"
    for line, columns in (
        (f"--family {graph} --max edges.add=1,edges.delete=2,nodes=3", 12),
        (f"--family {levels} --r-max 5", 2),
        (f"--grid {grid}", 2),
        ("--family sparse-levels --k 3 --p-add 0.01 --p-del 0.6 --max add=1,delete=1 --change-max 2", 4),
        ("--family mask --m 0.9 --max 7", 1),
        ("--family deletion --m 0.9 --r-max 7", 1),
        ("--family ablation --d 9 --keep 2,3", 2),
        ("--family discrete --k 1 --alpha 0.8", 1),
        ("--k 1 --alpha 0.8 --q 1/3 --r-max 9", 1),
    ):
        run = ellzero(f"precompute {line} {out}")
        assert (run.code, f" {columns} column" in run.out) == (0, True), run
        assert "present already" in ellzero(f"precompute {line} {out}").out
    verdict = ellzero(f"tables verify {tmp_path}/t --all")
    assert (verdict.code, " of 26 columns in 9 shards, " in verdict.out) == (0, True)


def test_a_family_on_ray_gives_the_same_shards(
    ellzero: Ellzero, tmp_path: Path, ray_executor: RayExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, executor in (("here", "local"), ("there", "ray")):
        assert ellzero(f"{SPARSE} --out {tmp_path}/{name} --executor {executor}").code == 0
    assert Table.open(f"{tmp_path}/there").store.names() == Table.open(f"{tmp_path}/here").store.names()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--p-add 0.1 --k 1 --alpha 0.5", "--p-add: for other families than discrete"),
        ("--family sparse --p-add 0.1", "Missing option '--p-del'. The noise sparse has --p-add and --p-del."),
        ("--family sparse --p-add 0.1 --p-del 0.5", "--max add must be given: the largest number of such changes"),
        ("--family sparse --p-add 2 --p-del 0.5 --max add=1,delete=1", "--p-add must be a rational number"),
        ("--family sparse --p-add x --p-del 0.5 --max add=1,delete=1", "--p-add must be numbers such as 0.01"),
        ("--family sparse --p-add 0.1 --p-del 0.5 --r-max 9", "--max must be given by name, for add, delete"),
        ("--family sparse --p-add 0.1 --p-del 0.5 --max add=1:2,delete=1", "--max must name one number for each"),
        ("--family sparse --p-add 0.1 --p-del 0.5 --max add=1,delete=1 --add-max 3", "--max must name one number for"),
        ("--family mask --m 0.9 --r-max saturate", "--r-max must be a number for other families than discrete"),
        ("--family mask --m 0.9 --max 3 --q 2", "--q must be a number strictly between 0 and 1"),
        ("--k 1 --alpha 0.8 --q 1/2 --r-max 9", "--family must be left out: the grid of discrete noise has k, alpha"),
        ("--k 1 --alpha 0.8 --q 1/3", "--max must be given: the largest number of such changes"),
        ("--family mask --m 0.9 --max 3 --d 9", "--d is for discrete noise at q = 1/2 and for ablation"),
        ("--family joint --max 3", "--family must be discrete, sparse, sparse-levels"),
        ("--family mask --m 0.9 --r-max 3 --method paper --d 9 --r 1", "the paper's method takes --k, --alpha"),
    ],
)
def test_a_mistake_about_a_family_is_one_line(ellzero: Ellzero, line: str, message: str) -> None:
    run = ellzero(f"precompute {line} --dry-run")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert message in run.err
