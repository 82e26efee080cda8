"""``ellzero reproduce text``."""

from pathlib import Path

import pytest
from command_line import Ellzero, check_mistake


def test_a_quick_run_needs_no_data_and_is_reported(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ellzero("reproduce text --quick")
    assert run.code == 0, run.err
    assert "SST-2: certified accuracy" in run.out
    assert (tmp_path / "results" / "text-quick" / "text.svg").is_file()
    report = ellzero("report results/text-quick")
    assert report.code == 0, report.err
    assert run.out in report.out


def test_without_data_it_says_what_it_needs(ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    needed = "stsa.binary.train, stsa.binary.dev, stsa.binary.test; or TREC.train.all, TREC.test.all"
    check_mistake(ellzero("reproduce text"), f"give --data, a folder with {needed}; --quick needs none")
    check_mistake(ellzero(f"reproduce text --quick --data {tmp_path}"), "--quick has settings of its own")
    run = ellzero(f"reproduce text --data {tmp_path}")
    assert (run.code, run.out) == (1, "")
    assert run.err == f"ellzero: {tmp_path} has no sentences: needed are {needed}\n"
    (tmp_path / "TREC.train.all").write_text("0 who\n1 where\n" * 20, encoding="utf-8")
    run = ellzero(f"reproduce text --data {tmp_path}")
    assert (run.code, run.out, run.err) == (1, "", f"ellzero: {tmp_path}/TREC.test.all is missing\n")
