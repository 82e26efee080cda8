"""What both clients need to know of a service: where it is, how to ask it, and what an outcome means."""

from dataclasses import dataclass, field
from importlib.metadata import version
from math import isfinite
from numbers import Real
from typing import Any

import httpx2

from ellzero.client._numbers import whole
from ellzero.client._requests import Request
from ellzero.client._responses import address, failure, successful
from ellzero.client.errors import Overloaded, RequestTimeout, ServerFault, ServerUnreachable, UnsendableValue

TIMEOUT = 60.0
RETRIES = 3

# What a probe takes for "no": anything else, such as a 404, says that this is no service to ask.
DOWN = (Overloaded, RequestTimeout, ServerFault, ServerUnreachable)


@dataclass(frozen=True)
class Connection:
    """The settings of a client, checked."""

    url: httpx2.URL
    api_key: str | None = field(repr=False)
    timeout: float
    retries: int

    @classmethod
    def of(cls, base_url: str, api_key: str | None, timeout: float, retries: int) -> "Connection":
        """Raises `UnsendableValue` for what cannot be; an API key is never shown."""
        allowed = "an address such as http://127.0.0.1:8000"
        try:
            url = httpx2.URL(base_url)
        except (TypeError, httpx2.InvalidURL):
            raise UnsendableValue("base_url", allowed, base_url) from None
        if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
            raise UnsendableValue("base_url", allowed, str(url.copy_with(userinfo=b"")))
        if api_key is not None and not _can_travel(api_key):
            raise UnsendableValue("api_key", "printable ASCII text without spaces around it", "something else")
        if not (isinstance(timeout, Real) and isfinite(timeout) and timeout > 0):
            raise UnsendableValue("timeout", "a number of seconds above 0", timeout)
        if whole(retries, "retries") < 0:
            raise UnsendableValue("retries", "an integer of at least 0", retries)
        return cls(url, api_key, timeout, retries)

    def options(self) -> dict[str, Any]:
        """What httpx2's clients take. Redirections are not followed: they would carry the API key elsewhere."""
        headers = {"user-agent": f"ellzero-client/{version('ellzero')}"}
        if self.api_key is not None:
            headers["x-api-key"] = self.api_key
        return {"base_url": self.url, "headers": headers, "timeout": self.timeout}

    def patience(self, most: int) -> int:
        """How many seconds the service may wait before it answers, so that the answer comes before the timeout."""
        return min(most, int(self.timeout / 2))

    def settled(self, outcome: httpx2.Response | httpx2.RequestError, request: Request) -> httpx2.Response:
        """The answer that ``outcome`` is; otherwise the error that it stands for is raised."""
        if isinstance(outcome, httpx2.Response):
            return successful(outcome)
        raise failure(outcome, address(self.url).rstrip("/") + request.path, self.timeout) from outcome


def _can_travel(api_key: object) -> bool:
    """Whether a header can carry it."""
    if not isinstance(api_key, str):
        return False
    return api_key.isascii() and api_key.isprintable() and api_key.strip() == api_key != ""
