"""Every example runs as its first line says, and ends with the certificates that it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
LEARNS = ("dna_strings", "tokens")
CERTIFIES = {"scikit_forest": "pixels", "remote_model": "tokens", "hugging_face": "words"}


def run(name: str, folder: Path) -> str:
    """What an example prints; it writes no file, and nothing to standard error."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    return done.stdout


@pytest.mark.parametrize("name", CERTIFIES)
def test_an_example_certifies_what_it_says(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / f"{name}.py"
    assert f"`python examples/{name}.py` runs it" in path.read_text(encoding="utf-8").splitlines()[0]
    done = run(name, tmp_path)
    radii = [int(radius) for radius in re.findall(rf"whatever (\d+) of \d+ {CERTIFIES[name]} become", done)]
    assert max(radii) >= 1


@pytest.mark.parametrize("name", LEARNS)
def test_an_example_certifies_what_it_has_learnt(name: str, tmp_path: Path) -> None:
    lines = [
        re.search(r"class (\d), answer (-?\d)\b.* (\d+|None)(?: of \d+ tokens.*)?$", each)
        for each in run(name, tmp_path).splitlines()
    ]
    assert len(lines) == 10
    certified = [match.groups() for match in lines if match is not None]
    assert len(certified) == 10
    assert all(answer == label for label, answer, _ in certified)
    assert sum(radius not in ("0", "None") for _, _, radius in certified) >= 5


def test_the_example_of_a_graph_network_certifies_and_bounds_an_adversary(tmp_path: Path) -> None:
    done = run("graph_network", tmp_path)
    bounds = re.search(r"changes (\d+) nodes at most;\n.* leave (\d+) open", done)
    assert bounds is not None
    together, alone = map(int, bounds.groups())
    assert together < alone


def test_all_examples_are_run() -> None:
    """`make run` runs the first one."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"first_run", "graph_network", *CERTIFIES, *LEARNS}


def test_an_example_is_one_screen() -> None:
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in EXAMPLES.glob("*.py")) <= 90
