"""``ellzero reproduce bace``."""

from pathlib import Path

import pytest
from command_line import Ellzero, check_mistake


def test_a_quick_run_needs_no_data_and_is_reported(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ellzero("reproduce bace --quick")
    assert run.code == 0, run.err
    assert "Guaranteed AUC by the share of manipulated test inputs" in run.out
    assert (tmp_path / "results" / "bace-quick" / "bace.svg").is_file()
    report = ellzero("report results/bace-quick")
    assert report.code == 0, report.err
    assert run.out in report.out


def test_without_data_it_says_what_it_needs(ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_mistake(ellzero("reproduce bace"), "give --data, a folder with bace.csv; --quick needs none")
    run = ellzero(f"reproduce bace --data {tmp_path}")
    assert (run.code, run.out, run.err.count("\n")) == (1, "", 1)
    assert run.err.startswith(f"ellzero: {tmp_path}/bace.csv")
    (tmp_path / "bace.csv").write_text("mol,y\nCC,1\n")
    assert "Class" in ellzero(f"reproduce bace --data {tmp_path}").err
    check_mistake(ellzero("tree bace --data bace.csv --out b"), "no command 'bace'. Use `ellzero reproduce bace")
