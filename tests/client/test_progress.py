"""Progress of a job: a bar on a terminal that its votes move, or the caller's own function."""

import io
import sys

import pytest

from ellzero.client._progress import report_progress
from ellzero.core.schemas import JobAnswer, JobState


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def job(state: JobState, votes: int) -> JobAnswer:
    return JobAnswer(
        id="a1",
        kind="certify",
        state=state,
        model="small",
        votes=votes,
        votes_at_most=1_000,
        counts=[[votes, 0]],
        seconds=1.0,
    )


def test_votes_move_the_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with report_progress(True) as report:
        assert report is not None
        for state in (job("waiting", 0), job("running", 100), job("running", 250)):
            report(state)
    assert "250 votes" in terminal.getvalue()
    assert " 25%" in terminal.getvalue()


def test_a_job_that_needed_fewer_votes_fills_the_bar_and_says_how_many_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with report_progress(True) as report:
        assert report is not None
        report(job("running", 100))
        report(job("done", 400))
    assert "400 votes" in terminal.getvalue()
    assert "100%" in terminal.getvalue()


def test_a_short_job_is_silent_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with report_progress(True) as report:
        assert report is not None
        report(job("done", 1_000))
    assert capsys.readouterr() == ("", "")


def test_a_function_gets_every_state() -> None:
    states: list[JobAnswer] = []
    with report_progress(states.append) as report:
        assert report is not None
        report(job("running", 100))
    assert states == [job("running", 100)]
    with report_progress(False) as report:
        assert report is None
