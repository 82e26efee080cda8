"""``ellzero report``: no torch, and the figure where the user expects it."""

import subprocess
import sys
from pathlib import Path

BLOCKED = (
    "import sys; sys.modules['torch'] = None; from ellzero.cli.main import main; sys.argv[1:] = sys.argv[1:]; main()"
)


def run(*arguments: str, cwd: Path, code: str = BLOCKED) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_results_are_reported_without_torch_and_several_are_drawn_here(tmp_path: Path) -> None:
    certify = "from ellzero.cli.main import main; main()"
    options = ("--model", "demo-digits", "--n", "100", "--limit", "3", "--device", "cpu", "--executor", "local")
    for out in ("one", "two"):
        done = run("certify", *options, "--out", out, cwd=tmp_path, code=certify)
        assert done.returncode == 0, done.stderr
    single = run("report", "one", cwd=tmp_path)
    assert single.returncode == 0, single.stderr
    assert single.stderr == "ellzero: curves written to one/curves.svg\n"
    (tmp_path / "one" / "curves.svg").unlink()
    both = run("report", "one", "two", cwd=tmp_path)
    assert both.stderr == "ellzero: curves written to curves.svg\n"
    assert (tmp_path / "curves.svg").is_file()
    assert not (tmp_path / "one" / "curves.svg").exists()
