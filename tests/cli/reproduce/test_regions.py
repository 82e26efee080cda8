"""``ellzero reproduce regions``."""

from pathlib import Path

import pytest
from command_line import Ellzero


def test_a_quick_run_prints_counts_and_thresholds(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ellzero("reproduce regions --quick")
    assert run.code == 0, run.err
    assert "Regions that the published algorithm sums" in run.out
    assert run.err == "ellzero: figure written to results/regions-quick/regions.svg\n"
    assert (tmp_path / "results" / "regions-quick" / "results.json").is_file()


def test_results_that_are_none_are_one_line(ellzero: Ellzero, tmp_path: Path) -> None:
    run = ellzero(f"reproduce regions --results {tmp_path} --out {tmp_path}/out")
    assert (run.code, run.out) == (1, "")
    assert run.err == f"ellzero: {tmp_path} holds no certificates of a data set with discrete noise\n"
    assert ellzero(f"reproduce regions --results {tmp_path}/absent").code == 2
