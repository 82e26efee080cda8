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
