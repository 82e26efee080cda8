"""The service without results, with a wrong folder, and without torch."""

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Ellzero
from serve.results_folders import certified, write_images, write_results
from starlette.testclient import TestClient

from ellzero.core.errors import InvalidInput
from ellzero.serve import ServeSettings, create_app

WITHOUT_TORCH = """
import sys

sys.modules["torch"] = None  # as if it were not installed
from starlette.testclient import TestClient

from ellzero.serve import ServeSettings, create_app

with TestClient(create_app(ServeSettings(results=sys.argv[1], log_level="error"))) as client:
    for path in ("", "/report?name=run", "/inputs?name=run", "/input?name=run&index=1"):
        answer = client.get(f"/v1/results{path}")
        assert answer.status_code == 200, answer.text
    assert answer.json()["x"]
"""


def test_without_a_folder_the_list_is_empty(client: TestClient) -> None:
    assert client.get("/v1/results").json()["results"] == []
    assert client.get("/v1/results/report?name=any").status_code == 404


def test_a_wrong_folder_is_refused_before_anything_is_started(ellzero: Ellzero, tmp_path: Path) -> None:
    code, _, err = ellzero(f"serve --results {tmp_path}/missing")
    assert (code, err.count("\n")) == (2, 1)
    assert "results must be an existing folder" in err
    with (
        pytest.raises(InvalidInput, match="results must be an existing folder"),
        TestClient(create_app(ServeSettings(results=str(tmp_path / "missing"), log_level="error"))),
    ):
        pass


def test_torch_is_not_needed(tmp_path: Path) -> None:
    source = write_images(tmp_path / "images.npz")
    write_results(tmp_path / "results" / "run", [(0, certified(0, 1)), (1, certified(1, 1))], source=source)
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "results")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_inputs_that_are_too_large_are_listed_and_not_shown(tmp_path: Path) -> None:
    source = write_images(tmp_path / "images.npz", images=1, shape=(3, 600, 600))
    write_results(tmp_path / "results" / "run", [(0, certified(0, 1))], source=source)
    with TestClient(create_app(ServeSettings(results=str(tmp_path / "results"), log_level="error"))) as client:
        answer = client.get("/v1/results/inputs?name=run").json()
        assert answer["rows"]
        assert answer["unavailable"] == "an input has 1,080,000 numbers, and at most 1,048,576 are shown"
        assert client.get("/v1/results/input?name=run&index=0").status_code == 404
