"""What is recorded of code, libraries and machine, and what is not."""

import json
import re
import socket
import subprocess
from pathlib import Path

import pytest

from ellzero.core import __version__
from ellzero.experiments.environment import describe_environment, format_command


def test_code_libraries_and_machine_are_named() -> None:
    found = describe_environment()
    assert found["ellzero"] == __version__
    assert {"numpy", "gmpy2", "pyarrow"} <= found["packages"].keys()
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory_gib"] > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["date"])


def test_the_commit_is_that_of_the_checkout() -> None:
    checkout = Path(__file__).parents[2]
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("no checkout")
    assert describe_environment()["commit"]["sha"] == done.stdout.strip()


def test_no_path_and_no_name_of_the_machine_is_recorded() -> None:
    text = json.dumps(describe_environment())
    assert str(Path(__file__).parents[2]) not in text
    assert str(Path.home()) not in text or str(Path.home()) == "/"
    assert json.dumps(socket.gethostname()) not in text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["reproduce", "bace", "--data", "/data/sets/bace/"], "ellzero reproduce bace --data bace"),
        (["reproduce", "bace", "--data=/data/sets/bace"], "ellzero reproduce bace --data=bace"),
        (["reproduce", "mnist", "--data", "../data/mnist"], "ellzero reproduce mnist --data mnist"),
        (["reproduce", "mnist", "--data", "~/mnist"], "ellzero reproduce mnist --data mnist"),
        (["--out", "results/mnist", "--alpha", "4/5"], "ellzero --out results/mnist --alpha 4/5"),
        (["--results", "s3://user:secret@bucket/run"], "ellzero --results s3://bucket/run"),
        (["--data", "/data/my images"], 'ellzero --data "my images"'),
    ],
)
def test_a_command_is_shown_as_a_reader_would_type_it(words: list[str], shown: str) -> None:
    assert format_command(words) == shown
