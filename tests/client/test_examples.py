"""The example of the client's README runs, and mypy accepts it and refuses wrong uses, as a user's own mypy would."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from client.loopback import serving

from ellzero.serve.app import create_app
from ellzero.serve.settings import ServeSettings

README = Path(__file__).parents[2] / "client" / "README.md"
TYPES = """
import numpy as np
from decimal import Decimal
from fractions import Fraction
from typing import assert_type
from ellzero.client import AsyncClient, Client, RadiiAnswer, RadiiArray, RadiusAnswer

def sync(client: Client) -> int | None:
    for p in (0.9, 1, "0.9", Decimal("0.9"), Fraction(9, 10)):
        assert_type(client.radius(p, k=1, alpha=p, d=4, p_b=p), RadiusAnswer)
    assert_type(client.radius(count=9, n=10, failure=0.01, k=1, alpha=0.8, d=4), RadiusAnswer)
    assert_type(client.radius([0.9, "1/2"], k=1, alpha=0.8, d=4, p_b=[0, 0.1]), RadiiAnswer)
    assert_type(client.radius((0.9, Fraction(1, 2)), k=1, alpha=0.8, d=4), RadiiAnswer)
    assert_type(client.radius(count=[1, 2], n=10, k=1, alpha=0.8, d=4), RadiiAnswer)
    assert_type(client.radius(np.ones(3, np.float32), k=1, alpha=0.8, d=4, p_b=np.zeros(3)), RadiiArray)
    assert_type(client.radius(count=np.array([1, 2]), n=10, k=1, alpha=0.8, d=4), RadiiArray)
    return client.radius(0.9, k=1, alpha=0.8, d=4).radius

async def asynchronous(client: AsyncClient) -> int | None:
    assert_type(await client.radius([0.9], k=1, alpha=0.8, d=4), RadiiAnswer)
    assert_type(await client.radius(count=np.array([1, 2]), n=10, k=1, alpha=0.8, d=4), RadiiArray)
    return (await client.radius(0.9, k=1, alpha=0.8, d=4)).radius
"""
WRONG = """
import numpy as np
from numpy.typing import NDArray
from ellzero.client import AsyncClient, Client

def sync(client: Client, counts: "NDArray[np.int64]") -> None:
    client.radius(k=1, alpha=0.8, d=4)
    client.radius(0.9, k=1, alpha=0.8)
    client.radius(0.9, 1, 0.8, 4)
    client.radius(0.9, count=1, n=2, k=1, alpha=0.8, d=4)
    client.radius(count=1, k=1, alpha=0.8, d=4)
    client.radius(count=1.5, n=2, k=1, alpha=0.8, d=4)
    client.radius(0.9, k="1", alpha=0.8, d=4)
    client.radius(0.9, k=1, alpha=0.8, d=4, p_b=[0.1])
    client.radius(counts, k=1, alpha=0.8, d=4)
    client.radius(0.9, k=1, alpha=0.8, d=4).radius + 1  # it may be None: abstain
    client.radius(0.9, k=1, alpha=0.8, d=4).radii
    client.thresholds(k=1)

async def asynchronous(client: AsyncClient) -> None:
    client.radius(0.9, k=1, alpha=0.8, d=4).radius
"""


def example() -> str:
    match = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert match is not None
    return match[1]


def test_mypy_accepts_right_uses_and_refuses_each_wrong_one(tmp_path: Path) -> None:
    """From elsewhere, without ellzero's own settings: the installed package has its types."""
    for name, text in (("example", example()), ("types_of_answers", TYPES), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir=cache",
        "--hide-error-context",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    refused = re.findall(r"^(\w+)\.py:(\d+): error", done.stdout, re.MULTILINE)
    uses = [number for number, line in enumerate(WRONG.splitlines(), 1) if line.startswith("    client.")]
    assert sorted(set(refused)) == sorted(("wrong", str(number)) for number in uses), done.stdout + done.stderr


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(create_app(ServeSettings(log_level="error"))) as url:
        exec(example().replace("http://127.0.0.1:8000", url), {})
    assert capsys.readouterr().out.splitlines() == [
        "3 0.97898829668830238747 0.01101170331169761253",
        "[3, None]",
        "[[ 1  7]",
        " [-1  2]]",
        "p a number from 0 to 1",
    ]
