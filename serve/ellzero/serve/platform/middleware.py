"""Middleware for every request, and the request's deadline. Plain ASGI: wrapped requests would halve the throughput."""

import asyncio
import logging
import re
import time
from contextvars import ContextVar
from itertools import count
from math import inf
from os import urandom

from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ellzero.serve.platform.lifecycle import Lifecycle
from ellzero.serve.platform.logs import AccessLog
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.problems import HttpProblem, make_problem

_LOG = logging.getLogger(__name__)
_WELL_FORMED_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
REQUEST_ID = "ellzero.request_id"  # keys of a scope
API_KEY_NAME = "ellzero.api_key_name"
# An id need not be secret, only unique: a system call for each would be slow.
_PROCESS = urandom(6).hex().encode()
_NUMBERS = count()
_UNMATCHED = "unmatched"
_HEALTH = ("/healthz", "/readyz")
_DEADLINE: ContextVar[float] = ContextVar("ellzero_request_deadline", default=inf)


def start_deadline(seconds: float) -> None:
    """Set the deadline of this task's request, which is one for all the work that is done for it."""
    _DEADLINE.set(time.monotonic() + seconds)


def get_deadline() -> float:
    """Return the request's deadline on the monotonic clock; infinity outside of requests."""
    return _DEADLINE.get()


def get_remaining_seconds() -> float:
    """Return the seconds until the request's deadline."""
    return _DEADLINE.get() - time.monotonic()


class ObservabilityMiddleware:
    """Gives each request an id, counts and logs it, and turns every exception into a problem."""

    def __init__(self, app: ASGIApp, metrics: Metrics, lifecycle: Lifecycle, log: AccessLog) -> None:
        self._app = app
        self._metrics = metrics
        self._lifecycle = lifecycle
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = _choose_request_id(scope)
        scope[REQUEST_ID] = request_id.decode()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id)]
                if self._lifecycle.draining:  # so that no request arrives while the connection is being closed
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except Exception as error:
            problem = make_problem(error)
            if problem.status >= 500 and not isinstance(error, HttpProblem):
                _LOG.exception("unexpected error", extra={"fields": {"request_id": scope[REQUEST_ID]}})
            if status:  # too late for another answer: the broken connection shows that this one is incomplete
                raise
            await problem.response(scope["path"], scope[REQUEST_ID])(scope, receive, send_with_id)
        finally:
            self._record(scope, status, time.perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        method = scope["method"] if route != _UNMATCHED else "any"
        self._metrics.count_request(route, method, status, seconds)
        key_name = scope.get(API_KEY_NAME)
        self._log.write_request(scope["method"], scope["path"], status, seconds, scope[REQUEST_ID], key_name)


class LimitsMiddleware:
    """Refuses requests that are too many at once, too large, or too slow to arrive."""

    def __init__(self, app: ASGIApp, max_concurrency: int, max_bytes: int, timeout: float) -> None:
        self._app = app
        self._app_with_body = RequestBodyLimitMiddleware(app, max_bytes)
        self._most_at_once = max_concurrency
        self._most_bytes = max_bytes
        self._timeout = timeout
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._in_progress >= self._most_at_once and scope["path"] not in _HEALTH:
            raise HttpProblem(503, "too many requests are in progress", headers={"retry-after": "1"})
        self._check_length(scope)
        start_deadline(self._timeout)
        self._in_progress += 1
        try:
            if scope["method"] in ("GET", "HEAD"):
                await self._app(scope, receive, send)
            else:
                await self._limit_arrival(scope, receive, send)
        finally:
            self._in_progress -= 1

    async def _limit_arrival(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Limit how long the body may take to arrive. The service limits its own work; cached answers need no clock."""

        async def timed_receive() -> Message:
            try:
                async with asyncio.timeout(get_remaining_seconds()):
                    return await receive()
            except TimeoutError:
                raise HttpProblem(408, f"the request did not arrive within {self._timeout:g} seconds") from None

        await self._app_with_body(scope, timed_receive, send)

    def _check_length(self, scope: Scope) -> None:
        """Refuse a body unread if its content-length is too large; without one it is counted while it is read."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._most_bytes:
                raise HttpProblem(
                    413, f"a request may have at most {self._most_bytes:,} bytes", limit_bytes=self._most_bytes
                )


def _choose_request_id(scope: Scope) -> bytes:
    """Return the client's own id if it is well-formed, so that both logs have it; otherwise a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _WELL_FORMED_ID.fullmatch(value):
            return bytes(value)
    return b"%s%x" % (_PROCESS, next(_NUMBERS))
