"""The connection to a service: its address and settings, when to try again, and what an outcome means."""

from dataclasses import dataclass, field
from importlib.metadata import version
from math import isfinite
from numbers import Real
from random import uniform
from typing import Any

import httpx2

from ellzero.client._numbers import read_integer
from ellzero.client._requests import Request
from ellzero.client._responses import (
    check_status,
    format_address,
    make_transport_error,
    read_problem,
    read_retry_after,
)
from ellzero.client.errors import Overloaded, RequestTimeout, ServerFault, ServerUnreachable, UnsendableValue

TIMEOUT = 60.0
RETRIES = 3
LONGEST_WAIT = 30.0  # for a service that says how long to wait

# The errors for which `health` and `ready` return False. Others, such as a 404, mean that there is no ellzero service.
DOWN = (Overloaded, RequestTimeout, ServerFault, ServerUnreachable)

_FIRST_WAIT = 0.1
_LONGEST_OWN_WAIT = 5.0
_TRANSIENT_STATUSES = (429, 502, 503, 504)
_SERVICE_TIMED_OUT = "timeout"  # the kind of problem
_TRANSIENT_ERRORS = (httpx2.ConnectTimeout, httpx2.NetworkError, httpx2.ProxyError, httpx2.RemoteProtocolError)


@dataclass(frozen=True)
class Connection:
    """The settings of a client, checked."""

    url: httpx2.URL
    api_key: str | None = field(repr=False)
    timeout: float
    retries: int

    @classmethod
    def of(cls, base_url: str, api_key: str | None, timeout: float, retries: int) -> "Connection":
        """Check the settings. `UnsendableValue` names a wrong one; it never shows an API key."""
        allowed = "an address such as http://127.0.0.1:8000"
        try:
            url = httpx2.URL(base_url)
        except (TypeError, httpx2.InvalidURL):
            raise UnsendableValue("base_url", allowed, base_url) from None
        if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
            raise UnsendableValue("base_url", allowed, str(url.copy_with(userinfo=b"")))
        if api_key is not None and not _fits_header(api_key):
            raise UnsendableValue("api_key", "printable ASCII text without spaces around it", "something else")
        if not (isinstance(timeout, Real) and isfinite(timeout) and timeout > 0):
            raise UnsendableValue("timeout", "a number of seconds above 0", timeout)
        if read_integer(retries, "retries") < 0:
            raise UnsendableValue("retries", "an integer of at least 0", retries)
        return cls(url, api_key, timeout, retries)

    def options(self) -> dict[str, Any]:
        """Return the arguments for httpx2's clients, which follow no redirections: those would carry the key along."""
        headers = {"user-agent": f"ellzero-client/{version('ellzero')}"}
        if self.api_key is not None:
            headers["x-api-key"] = self.api_key
        return {"base_url": self.url, "headers": headers, "timeout": self.timeout}

    def limit_wait(self, seconds: int) -> int:
        """Return how long the service may wait before it answers, so that its answer comes before the timeout."""
        return min(seconds, int(self.timeout / 2))

    def check_outcome(self, outcome: httpx2.Response | httpx2.RequestError, request: Request) -> httpx2.Response:
        """Return the response if it is an answer; raise the error that the outcome stands for otherwise."""
        if isinstance(outcome, httpx2.Response):
            return check_status(outcome)
        url = format_address(self.url).rstrip("/") + request.path
        raise make_transport_error(outcome, url, self.timeout) from outcome


class Retries:
    """The attempts at one request: at most ``most`` after the first.

    Every request may be repeated: answers change nothing at the service, and votes whose client disconnects before it
    receives a job id are cancelled. Tried again are connections that fail or break, and 429, 502, 503 and 504, which
    are transient. Other errors would only come again, and after a timeout, of the client or the service, another
    attempt would multiply the wait and the work.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0

    def next_wait(self, outcome: httpx2.Response | httpx2.RequestError) -> float | None:
        """Return the seconds to wait before the next attempt; None if there is none.

        If the service says how long to wait (Retry-After), the client does, unless that is more than ``LONGEST_WAIT``.
        Otherwise waits double, each shortened at random by up to a half, so that clients that failed together do not
        return together.
        """
        if self._count >= self._most:
            return None
        retry_after = None
        if isinstance(outcome, httpx2.Response):
            if outcome.status_code not in _TRANSIENT_STATUSES or read_problem(outcome).kind == _SERVICE_TIMED_OUT:
                return None
            retry_after = read_retry_after(outcome)
            if retry_after is not None and retry_after > LONGEST_WAIT:
                return None
        elif not isinstance(outcome, _TRANSIENT_ERRORS):
            return None
        own = min(_FIRST_WAIT * 2.0**self._count, _LONGEST_OWN_WAIT) * uniform(0.5, 1.0)
        self._count += 1
        return own if retry_after is None else retry_after + own


def _fits_header(api_key: object) -> bool:
    if not isinstance(api_key, str):
        return False
    return api_key.isascii() and api_key.isprintable() and api_key.strip() == api_key != ""
