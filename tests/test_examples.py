"""Every example runs as its first line says, and ends with the certificates that it promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
CERTIFIES = {"scikit_forest": "pixels", "remote_model": "tokens", "hugging_face": "words"}


@pytest.mark.parametrize("name", CERTIFIES)
def test_an_example_certifies_what_it_says(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / f"{name}.py"
    assert f"`python examples/{name}.py` runs it" in path.read_text(encoding="utf-8").splitlines()[0]
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    radii = [int(radius) for radius in re.findall(rf"whatever (\d+) of \d+ {CERTIFIES[name]} become", done.stdout)]
    assert max(radii) >= 1
    assert list(tmp_path.iterdir()) == []


def test_all_examples_are_run() -> None:
    """`make run` runs the first one."""
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {"first_run", *CERTIFIES}


def test_an_example_is_one_screen() -> None:
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in EXAMPLES.glob("*.py")) <= 60
