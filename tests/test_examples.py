"""The examples run as they are, and their certificates are of the right classes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
MOST_LINES = 75


@pytest.mark.parametrize("name", ["dna_strings.py", "tokens.py"])
def test_an_example_certifies_what_it_has_learnt(name: str) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [
        re.search(r"class (\d), answer (-?\d)\b.* (\d+|None)(?: of \d+ tokens.*)?$", each)
        for each in done.stdout.splitlines()
    ]
    assert len(lines) == 10
    found = [match.groups() for match in lines if match is not None]
    assert len(found) == 10
    assert all(answer == label for label, answer, _ in found)
    assert sum(radius not in ("0", "None") for _, _, radius in found) >= 5


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_an_example_fits_on_a_screen(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
