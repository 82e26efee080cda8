"""Long work is never silent: a bar on a terminal, lines elsewhere, even before the first step has ended."""

import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest

from ellzero.core import progress
from ellzero.core.progress import announce, show_progress, track


@pytest.fixture
def frequent_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.02)


def wait_for_lines(capsys: pytest.CaptureFixture[str], number: int) -> list[str]:
    """The lines on standard error once there are so many."""
    lines: list[str] = []
    for _ in range(500):
        time.sleep(0.01)
        lines += capsys.readouterr().err.splitlines()
        if len(lines) >= number:
            break
    return lines


def test_lines_come_before_the_first_step_has_ended(frequent_lines: None, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(10, "cells", expected_seconds=100):
        lines = wait_for_lines(capsys, 2)
    assert re.fullmatch(r"ellzero: 0%: 0 cells, 0/s, about (99|100) seconds left|.* 2 minutes left", lines[0]), lines


def test_lines_tell_share_count_and_rate(frequent_lines: None, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(10, "cells") as bar:
        bar.advance(4, done=1_234)
        capsys.readouterr()
        line = wait_for_lines(capsys, 1)[-1]
    assert re.fullmatch(r"ellzero: 40%: 1,234 cells, [\d,]+/s, about \d+ seconds? left", line)


def test_nothing_is_written_after_the_end(frequent_lines: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), show_progress(10, "cells"):
        raise ZeroDivisionError
    assert not [thread for thread in threading.enumerate() if thread.name == "ellzero-progress"]


def test_more_steps_than_expected_are_not_more_than_all() -> None:
    with show_progress(10, "cells") as bar:
        bar.advance(25)
        assert bar.share == 1
        assert bar.seconds_left() == 0


def test_tracked_items_come_through_in_order(frequent_lines: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track(range(5), 5, "items", seconds=0)) == [0, 1, 2, 3, 4]
    assert list(track(range(5), 5, "items", seconds=10)) == [0, 1, 2, 3, 4]


def test_only_long_work_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    announce("3 columns", 2)
    assert capsys.readouterr().err == ""
    announce("3 columns", 600)
    assert capsys.readouterr().err == "ellzero: 3 columns: about 10 minutes\n"


@pytest.mark.parametrize(("seconds", "bar"), [(0, ""), (10, "3 steps"), (10, "100%")])
def test_on_a_terminal_long_work_has_a_bar(seconds: int, bar: str) -> None:
    code = f"from ellzero.core.progress import track; list(track(range(3), 3, 'steps', seconds={seconds}))"
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=theirs, stdout=theirs, env={**os.environ, "TERM": "xterm"}
    ):
        os.close(theirs)
        output = b""
        try:
            while piece := os.read(ours, 4_096):
                output += piece
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert bar in output.decode()
    assert bool(bar) == bool(output)
