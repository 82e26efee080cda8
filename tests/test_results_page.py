"""docs/results.md says what the recorded runs found: every table and every run on it comes from their files."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ellzero.experiments import ExperimentFolder

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
RUNS = sorted(path.parent.name for path in (DOCS / "results").glob("*/results.json"))
TEXT_FILES = {".json", ".txt", ".svg"}


def page() -> str:
    return (DOCS / "results.md").read_text(encoding="utf-8")


def test_the_page_is_as_the_recorded_runs_have_it() -> None:
    command = [sys.executable, "tools/write_results.py", "--check"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["table", "run"])
def test_every_block_is_closed_and_filled(kind: str) -> None:
    begun = re.findall(rf"^<!-- {kind}: \S.* -->$", page(), re.MULTILINE)
    assert begun
    filled = re.findall(rf"<!-- {kind}: [^\n]+ -->\n\n(?!<!-- end).+?\n\n?<!-- end {kind} -->", page(), re.DOTALL)
    assert len(filled) == len(begun) == page().count(f"<!-- end {kind} -->")


def test_every_table_of_figures_is_a_recorded_one() -> None:
    """Rows of a table that stand outside a block were written by hand, and might have figures of their own."""
    outside = re.sub(r"<!-- (table|run): .+? -->.+?<!-- end \1 -->", "", page(), flags=re.DOTALL)
    assert [line for line in outside.splitlines() if line.startswith("|") and re.search(r"\d\.\d", line)] == []


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_is_whole_and_on_the_page(name: str) -> None:
    folder = ExperimentFolder(DOCS / "results" / name)
    description, result = folder.describe(), folder.result()
    assert description is not None
    assert result is not None
    assert description.name == result.name
    assert f"<!-- run: {name} -->" in page()
    for plot in result.plots:
        assert (folder.path / plot).is_file()
    environment = folder.environments()[0]
    assert environment["commit"] is not None
    assert not environment["commit"]["changed"], "it ran on code that everybody can read"


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_has_no_path_of_the_machine_that_it_ran_on(name: str) -> None:
    for path in (DOCS / "results" / name).rglob("*"):
        if path.is_file():
            assert path.suffix in TEXT_FILES, path
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"(?<![\w.:/])/(home|work|tmp|root|Users|mnt|data)/", text), path


def test_tables_that_are_not_recorded_are_refused(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(REPOSITORY / "tools")!r})
import write_results
for name in ("{RUNS[0]}/no such table", "no such run/t"):
    try:
        write_results.fill(f"<!-- table: {{name}} -->\\n<!-- end table -->")
    except LookupError:
        continue
    raise SystemExit(name)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
