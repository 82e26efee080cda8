"""Threads for slow work, which stops at its request's deadline; work that several requests wait for is done once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from ellzero.core.cancellation import cancel_when
from ellzero.core.errors import Stopped
from ellzero.serve.platform.middleware import get_deadline, get_remaining_seconds
from ellzero.serve.platform.problems import HttpProblem

T = TypeVar("T")


class ThreadPool:
    """The threads of a service. Work stops when its time is up, whatever it was expected to take."""

    def __init__(self, threads: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, "ellzero-compute")
        self._seconds = seconds
        self._shared: dict[Hashable, asyncio.Future[None]] = {}
        self._closing = False

    def close(self) -> None:
        """Shut the threads down: work that has not started is dropped, and running work stops soon."""
        self._closing = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run work for one request."""
        try:
            return await self._wait(self._start(get_deadline(), partial(work, *arguments)))
        except Stopped:
            raise self._make_timeout_problem() from None

    async def run_aside(self, work: Callable[..., T], *arguments: Any, threads: Executor | None = None) -> T:
        """Run work that loads something in a thread of its own, or in ``threads``. It goes on after the deadline."""
        if threads is None:
            return await self._wait(asyncio.to_thread(work, *arguments))
        return await self._wait(asyncio.get_running_loop().run_in_executor(threads, work, *arguments))

    async def run_once(
        self, key: Hashable, have: Callable[[], bool], begin: Callable[[], None], work: Callable[[], None]
    ) -> None:
        """Work until ``have()``, once for all requests that wait for the same key; ``begin`` may refuse to start it.

        If the shared work ended without bringing enough, other work follows it.
        """
        while not have():
            shared = self._shared.get(key)
            if shared is not None and not shared.done():
                with suppress(Stopped):  # its time was up, and this request's is not
                    await self._wait(asyncio.shield(shared))
                continue
            begin()
            # Other requests may join, so it has a deadline of its own and not that of the request that starts it.
            shared = self._start(monotonic() + self._seconds, work)
            self._shared[key] = shared
            shared.add_done_callback(partial(self._forget, key))
            try:
                await self._wait(asyncio.shield(shared))
            except Stopped:
                raise self._make_timeout_problem() from None
            return  # what is still missing is too much to keep

    def _start(self, until: float, work: Callable[[], T]) -> asyncio.Future[T]:
        """Start work in a thread; it stops at a moment of the monotonic clock."""
        if self._closing:
            raise HttpProblem(503, "the service is shutting down", headers={"retry-after": "5"})

        def run_until_deadline() -> T:
            with cancel_when(lambda: self._closing or monotonic() > until):
                return work()

        return asyncio.get_running_loop().run_in_executor(self._pool, run_until_deadline)

    def _forget(self, key: Hashable, shared: asyncio.Future[None]) -> None:
        if self._shared.get(key) is shared:
            del self._shared[key]
        if not shared.cancelled():
            shared.exception()  # those who wait get it; this marks it as retrieved

    async def _wait(self, work: Awaitable[T]) -> T:
        """Wait until the request's deadline at most."""
        try:
            async with asyncio.timeout(get_remaining_seconds()):
                return await work
        except TimeoutError:
            raise self._make_timeout_problem() from None

    def _make_timeout_problem(self) -> HttpProblem:
        return HttpProblem(503, f"no answer within {self._seconds:g} seconds", "timeout", {"retry-after": "5"})
