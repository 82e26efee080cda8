"""``ellzero report``: no torch, and the figure where the user expects it."""

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from command_line import Ellzero
from serve.results_folders import RUN, certified

from ellzero.core.part_store import PartStore
from ellzero.experiments import ExperimentFolder, ResultColumn, ResultTable
from ellzero.experiments.adversary_search import SEARCH_SCHEMA
from ellzero.experiments.public_code import GreyNoise
from ellzero.smoothing.runs.result_store import ResultStore

DOCS = Path(__file__).parents[2] / "docs" / "smoothing.md"
CERTIFY = "from ellzero.cli.main import main; main()"
BLOCKED = (
    "import sys; sys.modules['torch'] = None; from ellzero.cli.main import main; sys.argv[1:] = sys.argv[1:]; main()"
)


def run(*arguments: str, cwd: Path, code: str = BLOCKED) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_results_are_reported_without_torch_and_several_are_drawn_here(tmp_path: Path) -> None:
    options = ("--model", "demo-digits", "--n", "100", "--limit", "3", "--device", "cpu", "--executor", "local")
    for out in ("one", "two"):
        done = run("certify", *options, "--out", out, cwd=tmp_path, code=CERTIFY)
        assert done.returncode == 0, done.stderr
    single = run("report", "one", cwd=tmp_path)
    assert single.returncode == 0, single.stderr
    assert single.stderr == "ellzero: curves written to one/curves.svg\n"
    printed = re.findall(r"ACC@(\d+) .+\( *([\d.]+)% – *([\d.]+)%\)", single.stdout)
    exact = json.loads(run("report", "one", "--json", cwd=tmp_path).stdout)["accuracy"]
    assert len(printed) == len(exact)
    for (r, low, high), each in zip(printed, exact, strict=True):
        assert int(r) == each["r"]
        assert Fraction(each["low"]) - Fraction(1, 1000) < Fraction(low) / 100 <= Fraction(each["low"])
        assert Fraction(each["high"]) <= Fraction(high) / 100 < Fraction(each["high"]) + Fraction(1, 1000)
    (tmp_path / "one" / "curves.svg").unlink()
    both = run("report", "one", "two", cwd=tmp_path)
    assert both.stderr == "ellzero: curves written to curves.svg\n"
    assert (tmp_path / "curves.svg").is_file()
    assert not (tmp_path / "one" / "curves.svg").exists()


def test_the_documented_sql_gives_the_mean_certified_radius(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--n", "500", "--limit", "40", "--seed", "1", "--device", "cpu", "--executor", "local")
    done = run("certify", "--model", "demo-digits", *options, "--out", "results/demo", cwd=tmp_path, code=CERTIFY)
    assert done.returncode == 0, done.stderr
    report = json.loads(run("report", "results/demo", "--json", cwd=tmp_path).stdout)
    assert report["wrong"] + report["abstained"] > 0  # they count 0, and must not be left out
    (query,) = re.findall(r"```sql\n(.+?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    ((mean,),) = duckdb.execute(query).fetchall()
    assert mean == pytest.approx(report["mean_radius"], rel=1e-12)


def test_an_experiment_is_reported_with_its_tables_plots_and_certificates(ellzero: Ellzero, tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path / "e")
    folder.begin("regions", {"quick": True})
    unfinished = ellzero(f"report {folder.path}")
    assert (unfinished.code, unfinished.out) == (1, "")
    assert unfinished.err == (
        f"ellzero: {folder.path} holds an unfinished regions; the command that began it resumes it\n"
    )
    options = ("--model", "demo-digits", "--n", "100", "--limit", "2", "--device", "cpu", "--executor", "local")
    done = run("certify", *options, "--out", "e/runs/one", cwd=tmp_path, code=CERTIFY)
    assert done.returncode == 0, done.stderr
    table = ResultTable("t", "A title", (ResultColumn("x", digits=2),), ((Fraction(1, 3),),), "A caption.")
    result = folder.finish([table], {}, ["A note."], ["regions.svg"])
    report = run("report", "e", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert report.stdout.startswith(f"e: {result.command}\n")
    assert report.stdout.endswith(
        "A title\nx\n0.33\nA caption.\n\nA note.\nfigure: e/regions.svg\ncertificates: ellzero report e/runs/one\n"
    )
    exact = json.loads(run("report", "e", "--json", cwd=tmp_path).stdout)
    assert exact["tables"] == [table.to_json()]
    both = run("report", "e", "e/runs/one", cwd=tmp_path)
    assert "A title" in both.stdout
    assert "ACC@0" in both.stdout
    assert both.stderr == "ellzero: curves written to e/runs/one/curves.svg\n"
    assert "--plot draws certificates of data sets" in run("report", "e", "--plot", "x.svg", cwd=tmp_path).stderr


def test_what_is_no_certificate_is_not_reported_as_one(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path / "e")
    folder.begin("mnist", {})
    folder.finish([])
    grey = ResultStore(str(tmp_path / "e" / "runs" / "grey"))
    noise = GreyNoise("4/5").description()
    grey.begin({**RUN, "noise": dict(noise), "certificate": "none: grey images are not bits"})
    grey.write([(0, 2, certified(2, 2))])
    searches = PartStore(str(tmp_path / "e" / "searches"), SEARCH_SCHEMA)
    searches.begin({"kind": "search"})
    searches.write_rows(
        [{"index": 0, "label": 1, "wrong": False, "singles": 9, "pairs": 0, "undecided": 0, "votes": 99}]
    )
    report = run("report", "e/runs/grey", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    assert "the noise for bits on grey levels 0..255, α = 4/5" in report.stdout
    assert "\ncertificates: none: grey images are not bits\n" in report.stdout
    refused = run("report", "e/searches", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "holds results of another kind than certificates of a data set: search" in refused.stderr
    listed = run("report", "e", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.endswith("no certificates: ellzero report e/runs/grey\n")
    assert "searches" not in listed.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("report {tmp}", "holds no results of ellzero"),
        ("report {tmp}/none --r-max x", "Invalid value for '--r-max': 'x' is not a valid integer."),
    ],
)
def test_a_mistake_is_one_line(ellzero: Ellzero, tmp_path: Path, line: str, message: str) -> None:
    code, out, err = ellzero(line.format(tmp=tmp_path))
    assert code in (1, 2)
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
