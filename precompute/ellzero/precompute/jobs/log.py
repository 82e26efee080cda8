"""The log of a Ray job as it grows: from its beginning to its end, nothing lost and nothing twice."""

import asyncio
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, suppress
from typing import Any

from ellzero.precompute.jobs.ray_client import asking

POLL_SECONDS = 0.5
# Ray holds a connection for some seconds after the end of the job; shorter logs are sooner read once more.
_SHORT = 1_000_000
# Ray writes a line or two before the command's output; more than this is not Ray's beginning.
_LONGEST_BEGINNING = 65_536
_MOST_READS = 6


def follow(client: Any, address: str, submission_id: str, over: Callable[[], bool]) -> Iterator[str]:
    """Ray's log of the job, piece by piece as it comes, until ``over()`` says that there will be no more.

    A connection that breaks is made again as long as ``over()`` answers; it waits out what silence is to be borne.
    """
    received = 0
    ended = over()
    while not ended:
        complete = False
        with suppress(_Broken), closing(_connection(client, submission_id, received)) as pieces:
            for piece in pieces:
                received += len(piece)
                yield piece
                if not piece and (ended := over()) and received < _SHORT:
                    break
            else:
                complete = True
        ended = ended or over()
        if ended and complete and received:
            return
        if not ended:
            time.sleep(POLL_SECONDS)
    yield _read_settled(client, address, submission_id)[received:]


def _read_settled(client: Any, address: str, submission_id: str) -> str:
    """The log of a job that is over, read until it stays the same: its last lines may come after the status."""
    text = ""
    for _ in range(_MOST_READS):
        before = text
        with asking(address):
            text = client.get_job_logs(submission_id)
        if text and text == before:
            break
        time.sleep(POLL_SECONDS)
    return text


def without_beginning(pieces: Iterable[str], submission_id: str, entrypoint: str) -> Iterator[str]:
    """The log without what Ray writes before the command starts; all of it if that is not found."""
    mark = f"Running entrypoint for job {submission_id}: {entrypoint}\n"
    begun = ""
    started = False
    for piece in pieces:
        if started:
            yield piece
            continue
        begun += piece
        _, found, rest = begun.partition(mark)
        started = bool(found) or len(begun) > _LONGEST_BEGINNING
        if started:
            yield rest if found else begun
    if not started:
        yield begun


class _Broken(Exception):
    """A connection ended before the log did."""


def _connection(client: Any, submission_id: str, skipped: int) -> Generator[str, None, None]:
    """What one connection brings after the first ``skipped`` characters; "" whenever it is silent for a moment.

    Ends when Ray says that the log does; ``_Broken`` when the connection breaks.
    """
    import aiohttp

    pieces = client.tail_job_logs(submission_id)
    position = 0

    async def next_piece() -> str | None:
        piece: str | None = await anext(pieces, None)
        return piece

    with asyncio.Runner() as runner:  # which also ends what is still running at the end
        coming = runner.get_loop().create_task(next_piece())
        while True:
            runner.run(asyncio.wait({coming}, timeout=POLL_SECONDS))
            if not coming.done():
                yield ""
                continue
            try:
                piece = coming.result()
            except (OSError, RuntimeError, aiohttp.ClientError) as error:
                raise _Broken from error
            if piece is None:
                return
            coming = runner.get_loop().create_task(next_piece())
            fresh = piece[max(0, skipped - position) :]
            position += len(piece)
            if fresh:
                yield fresh
