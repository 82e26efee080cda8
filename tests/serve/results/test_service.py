"""The service without results, with a wrong folder, and without torch."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command_line import Ellzero
from serve.results_folders import certified, write_images, write_results
from starlette.testclient import TestClient

from ellzero.core.errors import InvalidInput
from ellzero.serve import ServeSettings, create_app
from ellzero.serve.results import service as module
from ellzero.serve.results.certified_run import CertifiedRun
from ellzero.serve.results.run_data import RunData, RunDataCache

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


def test_a_list_of_inputs_does_not_wait_for_a_data_set_that_loads_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does anything else of the service: data sets load in a thread of their own."""
    source, may_load = write_images(tmp_path / "images.npz"), threading.Event()
    write_results(tmp_path / "results" / "run", [(0, certified(0, 1))], source=source)
    find = RunDataCache.find

    def find_slowly(cache: RunDataCache, run: CertifiedRun) -> RunData | str:
        assert may_load.wait(timeout=60)
        return find(cache, run)

    monkeypatch.setattr(RunDataCache, "find", find_slowly)
    monkeypatch.setattr(module, "_PATIENCE", 0.1)
    with TestClient(create_app(ServeSettings(results=str(tmp_path / "results"), log_level="error"))) as client:
        for _ in range(3):
            answer = client.get("/v1/results/inputs?name=run").json()
            assert [row["index"] for row in answer["rows"]] == [0]
            assert answer["unavailable"] == "their data set is still being loaded; read again in a while"
        assert client.get("/").status_code == 200
        may_load.set()
        monkeypatch.setattr(module, "_PATIENCE", 60)
        assert client.get("/v1/results/inputs?name=run").json()["shape"] == [3, 2, 2]
