"""Signals: SIGTERM drains connections, then stops; SIGHUP reloads the table and the models."""

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

_LOG = logging.getLogger(__name__)


class Lifecycle:
    """Whether the service is shutting down.

    A server that closes idle connections drops a request that is just arriving on one of them. So on SIGTERM the
    service first answers every request with `connection: close` for a while, answers /readyz with 503, and only then
    stops.
    """

    def __init__(self, drain_seconds: float) -> None:
        self._drain_seconds = drain_seconds
        self.draining = False

    @asynccontextmanager
    async def handle_signals(self, reload: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
        """Handle signals inside the block, except where they cannot be handled: in threads, on Windows."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGHUP"):
            yield
            return
        loop = asyncio.get_running_loop()
        tasks: set[asyncio.Task[None]] = set()
        stop = signal.getsignal(signal.SIGTERM)

        def drain(number: int, frame: FrameType | None) -> None:
            if self.draining:
                return
            self.draining = True
            loop.call_soon_threadsafe(loop.call_later, self._drain_seconds, _call, stop, number)

        def reload_soon(number: int, frame: FrameType | None) -> None:
            def start() -> None:
                task = loop.create_task(_reload_or_log(reload))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

            loop.call_soon_threadsafe(start)

        previous = signal.getsignal(signal.SIGHUP)
        signal.signal(signal.SIGHUP, reload_soon)
        if callable(stop):  # the server's own handler
            signal.signal(signal.SIGTERM, drain)
        try:
            yield
        finally:
            signal.signal(signal.SIGHUP, previous)
            signal.signal(signal.SIGTERM, stop)


def _call(handler: Any, number: int) -> None:
    handler(number, None)


async def _reload_or_log(reload: Callable[[], Awaitable[None]]) -> None:
    try:
        await reload()
    except Exception:
        _LOG.exception("the table or the models could not be reloaded; the old ones stay")
