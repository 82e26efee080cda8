"""A folder of results, most of them written by the command line, and a service of it in a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from serve.results_folders import certify_bits, certify_digits, write_results
from serve.running import Running, running


@pytest.fixture(scope="session")
def results_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over digits, one of a tree, one without results yet, and one that is damaged."""
    folder = tmp_path_factory.mktemp("results")
    certify_digits(folder / "digits" / "alpha-0.9", "0.9", 30)
    certify_digits(folder / "digits" / "alpha-0.8", "0.8", 5)
    certify_bits(folder, folder / "bits")
    write_results(folder / "begun", [])
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    return folder


@pytest.fixture(scope="session")
def served_results(results_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of these results."""
    log = tmp_path_factory.mktemp("log") / "log"
    with running(log, "--results", str(results_folder), settings={"log_level": "warning"}) as service:
        yield service
