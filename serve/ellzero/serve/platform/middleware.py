"""What every request passes through. Plain ASGI, since wrapping requests and responses would halve the throughput."""

import asyncio
import logging
import re
import time
from itertools import count
from os import urandom

from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ellzero.serve.platform import deadline
from ellzero.serve.platform.lifecycle import Lifecycle
from ellzero.serve.platform.logs import AccessLog
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.problems import HttpProblem, problem_of

_LOG = logging.getLogger(__name__)
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
REQUEST_ID = "ellzero.request_id"  # where a scope has it
# An id need not be secret, only new: a system call for each would be dear.
_PROCESS = urandom(6).hex().encode()
_NUMBERS = count()
_UNMATCHED = "unmatched"
_HEALTH = ("/healthz", "/readyz")


class ObservabilityMiddleware:
    """Gives each request an id, counts and logs it, and turns whatever is raised inside into a problem."""

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
        request_id = _request_id(scope)
        scope[REQUEST_ID] = request_id.decode()
        status = 0

        async def observed_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id)]
                if self._lifecycle.draining:  # so that no request is on its way when the connection is closed
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        try:
            await self._app(scope, receive, observed_send)
        except Exception as error:
            problem = problem_of(error)
            if problem.status >= 500 and not isinstance(error, HttpProblem):
                _LOG.exception("unexpected error", extra={"fields": {"request_id": scope[REQUEST_ID]}})
            if status:  # too late for another answer; the connection tells that this one is not whole
                raise
            await problem.response(scope["path"], scope[REQUEST_ID])(scope, receive, observed_send)
        finally:
            self._record(scope, status, time.perf_counter() - started)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", _UNMATCHED)
        method = scope["method"] if route != _UNMATCHED else "any"
        self._metrics.requested(route, method, status, seconds)
        self._log.request(scope["method"], scope["path"], status, seconds, scope[REQUEST_ID])


class LimitsMiddleware:
    """Refuses what is too much at once, too large, or too slow to arrive."""

    def __init__(self, app: ASGIApp, most_at_once: int, most_bytes: int, timeout: float) -> None:
        self._app = app
        self._app_with_body = RequestBodyLimitMiddleware(app, most_bytes)
        self._most_at_once = most_at_once
        self._most_bytes = most_bytes
        self._timeout = timeout
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._under_way >= self._most_at_once and scope["path"] not in _HEALTH:
            raise HttpProblem(503, "too many requests are under way", headers={"retry-after": "1"})
        self._check_length(scope)
        deadline.begin(self._timeout)
        self._under_way += 1
        try:
            if scope["method"] in ("GET", "HEAD"):
                await self._app(scope, receive, send)
            else:
                await self._receive_in_time(scope, receive, send)
        finally:
            self._under_way -= 1

    async def _receive_in_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Only the arrival is timed here: the service times its own work, and what is at hand needs no clock."""

        async def timed_receive() -> Message:
            try:
                async with asyncio.timeout(deadline.remaining()):
                    return await receive()
            except TimeoutError:
                raise HttpProblem(408, f"the request did not arrive within {self._timeout:g} seconds") from None

        await self._app_with_body(scope, timed_receive, send)

    def _check_length(self, scope: Scope) -> None:
        """What announces that it is too large is refused unread; what does not is counted while it is read."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._most_bytes:
                raise HttpProblem(
                    413, f"a request may have at most {self._most_bytes:,} bytes", limit_bytes=self._most_bytes
                )


def _request_id(scope: Scope) -> bytes:
    """The caller's own id if it is a sane one, so that it can be found in both logs."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _SANE_ID.fullmatch(value):
            return bytes(value)
    return b"%s%x" % (_PROCESS, next(_NUMBERS))
