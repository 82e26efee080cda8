"""The log of a job arrives whole and once, however often the connection breaks."""

from collections.abc import AsyncIterator

import pytest

from ellzero.core.errors import ClusterUnreachable
from ellzero.precompute.jobs import log
from ellzero.precompute.jobs.log import follow, without_beginning

BEGINNING = "Runtime env is setting up.\nRunning entrypoint for job x: python -m ellzero\n"


class Line:
    """A client whose connections each bring a part of ``log`` and break; the job is over after the last of them."""

    def __init__(self, log: str, *connections: list[str], breaks: bool = True) -> None:
        self.log = log
        self.connections = list(connections)
        self.breaks = breaks
        self.read_at_the_end = False

    def over(self) -> bool:
        return not self.connections

    async def tail_job_logs(self, submission_id: str) -> AsyncIterator[str]:
        for piece in self.connections.pop(0):
            yield piece
        if self.breaks:
            raise ConnectionResetError

    def get_job_logs(self, submission_id: str) -> str:
        self.read_at_the_end = True
        return self.log


def followed(line: Line) -> list[str]:
    return [piece for piece in follow(line, "http://there", "x", line.over) if piece]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "POLL_SECONDS", 0.01)


def test_a_broken_connection_loses_nothing_and_repeats_nothing() -> None:
    line = Line("one\ntwo\nthree\n", ["one\n"], [], ["on", "e\ntw"], ["o"])
    assert followed(line) == ["one\n", "tw", "o\nthree\n"]


def test_what_one_connection_brought_to_the_end_is_not_read_again() -> None:
    line = Line("one\n", ["one\n"], breaks=False)
    assert followed(line) == ["one\n"]
    assert not line.read_at_the_end


def test_a_job_that_is_over_is_read_at_once() -> None:
    assert followed(Line("one\n")) == ["one\n"]


def test_a_cluster_that_falls_silent_ends_it() -> None:
    line = Line("one\ntwo\n", ["one\n"])
    asked = 0

    def silent() -> bool:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise ClusterUnreachable("http://there")
        return False

    pieces = follow(line, "http://there", "x", silent)
    assert next(pieces) == "one\n"
    with pytest.raises(ClusterUnreachable):
        list(pieces)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_ray_writes_before_the_command_is_left_out(size: int) -> None:
    log = f"{BEGINNING}one\n{BEGINNING}"
    pieces = [log[at : at + size] for at in range(0, len(log), size)]
    assert "".join(without_beginning(pieces, "x", "python -m ellzero")) == f"one\n{BEGINNING}"


def test_a_log_without_that_beginning_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(without_beginning(["some", "thing\n"], "x", "python -m ellzero")) == ["something\n"]
    monkeypatch.setattr(log, "_LONGEST_BEGINNING", 5)
    assert list(without_beginning(["something\n", "more\n"], "x", "python")) == ["something\n", "more\n"]


def test_lines_that_come_later_than_the_end_of_the_job_are_not_lost() -> None:
    class LateLine(Line):
        reads = 0

        def get_job_logs(self, submission_id: str) -> str:
            self.reads += 1
            return "" if self.reads <= 2 else self.log

    assert followed(LateLine("ellzero: an error\n", [], breaks=False)) == ["ellzero: an error\n"]
