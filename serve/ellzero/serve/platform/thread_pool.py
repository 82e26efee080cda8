"""Work that takes time: in threads, for as long as its request has, and once whoever waits for it."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from ellzero.core.cancellation import cancel_when
from ellzero.core.errors import Stopped
from ellzero.serve.platform import deadline
from ellzero.serve.platform.problems import HttpProblem

T = TypeVar("T")


class ThreadPool:
    """The threads of a service. What they do stops when its time is over, whatever it was expected to take."""

    def __init__(self, threads: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, "ellzero-compute")
        self._seconds = seconds
        self._shared: dict[Hashable, asyncio.Future[None]] = {}
        self._closing = False

    def close(self) -> None:
        """Let go of the threads: work that has not begun is dropped, and what is under way stops soon."""
        self._closing = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def do(self, work: Callable[..., T], *arguments: Any) -> T:
        """Work for one request."""
        try:
            return await self._in_time(self._started(deadline.until(), partial(work, *arguments)))
        except Stopped:
            raise self._out_of_time() from None

    async def aside(self, work: Callable[..., T], *arguments: Any) -> T:
        """Work that loads rather than computes, beside the threads that compute. It goes on if the request must not."""
        return await self._in_time(asyncio.to_thread(work, *arguments))

    async def once(
        self, key: Hashable, have: Callable[[], bool], begin: Callable[[], None], work: Callable[[], None]
    ) -> None:
        """Work until ``have()``, once for all requests that wait for the same key; ``begin`` may refuse to begin it.

        Waiting never returns at once: work that is done and did not bring enough is followed by other work.
        """
        while not have():
            shared = self._shared.get(key)
            if shared is not None and not shared.done():
                with suppress(Stopped):  # it had run out of its time, and this request has not
                    await self._in_time(asyncio.shield(shared))
                continue
            begin()
            # Others may come to wait for it, so that it has its own time and not that of the request that began it.
            shared = self._started(monotonic() + self._seconds, work)
            self._shared[key] = shared
            shared.add_done_callback(partial(self._ended, key))
            try:
                await self._in_time(asyncio.shield(shared))
            except Stopped:
                raise self._out_of_time() from None
            return  # what is missing still is too much to keep

    def _started(self, until: float, work: Callable[[], T]) -> asyncio.Future[T]:
        """Work in a thread, which stops at a moment on the monotonic clock."""
        if self._closing:
            raise HttpProblem(503, "the service is shutting down", headers={"retry-after": "5"})

        def watched() -> T:
            with cancel_when(lambda: self._closing or monotonic() > until):
                return work()

        return asyncio.get_running_loop().run_in_executor(self._pool, watched)

    def _ended(self, key: Hashable, shared: asyncio.Future[None]) -> None:
        if self._shared.get(key) is shared:
            del self._shared[key]
        if not shared.cancelled():
            shared.exception()  # told to those who wait, if there are any left

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Wait for no longer than the request has."""
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await work
        except TimeoutError:
            raise self._out_of_time() from None

    def _out_of_time(self) -> HttpProblem:
        return HttpProblem(503, f"no answer within {self._seconds:g} seconds", "timeout", {"retry-after": "5"})
