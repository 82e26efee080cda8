"""``ellzero reproduce graphs``."""

from pathlib import Path

import pytest
from command_line import Ellzero, check_mistake


def test_a_quick_run_needs_no_data(ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = ellzero("reproduce graphs --quick")
    assert run.code == 0, run.err
    assert "One adversary against all test nodes" in run.out
    assert "figure written to results/graphs-quick/maps.svg" in run.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "give --data, a folder with citeseer.npz and cora_ml.npz; --quick needs none"),
        ("--quick --n 100", "--quick has settings of its own: leave out --n"),
        ("--data . --noise weights", "Invalid value for '--noise': 'weights' is not one of"),
    ],
)
def test_mistakes_are_one_line(ellzero: Ellzero, options: str, message: str) -> None:
    check_mistake(ellzero(f"reproduce graphs {options}"), message)


def test_a_folder_without_the_files_is_one_line(ellzero: Ellzero, tmp_path: Path) -> None:
    run = ellzero(f"reproduce graphs --data {tmp_path} --out {tmp_path}/out")
    assert (run.code, run.out, run.err.count("\n")) == (1, "", 1)
    assert "citeseer.npz does not exist" in run.err
