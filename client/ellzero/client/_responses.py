"""Replies read into answers or errors. Nothing of httpx2's or pydantic's own errors leaves here."""

from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from ellzero.client.errors import (
    BadReply,
    ClientError,
    RequestTimeout,
    ServerUnreachable,
    one_line,
    problem_reply,
)
from ellzero.core.schemas import Problem, Source

T = TypeVar("T")
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def read(response: httpx2.Response, kind: type[T]) -> T:
    """The answer in a reply, as ``kind``; fields that this client does not know yet are ignored."""
    try:
        return _adapter(kind).validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise bad_reply(response, f"{where}: {first['msg']}" if where else first["msg"]) from None


def source_of(response: httpx2.Response) -> Source:
    """Where the radii of a ``.npy`` reply come from."""
    source = response.headers.get("ellzero-source", "")
    try:
        return Source(source)
    except ValueError:
        raise bad_reply(response, f"the header ellzero-source is {source!r}") from None


def successful(response: httpx2.Response) -> httpx2.Response:
    """The reply if it is an answer; otherwise the error that it stands for is raised."""
    if response.status_code in (200, 202):
        return response
    if response.status_code < 400:
        to = response.headers.get("location")
        raise bad_reply(response, f"HTTP {response.status_code}" + (f", a redirection to {to}" if to else ""))
    raise problem_reply(problem_in(response), retry_after(response))


def retry_after(response: httpx2.Response) -> float | None:
    """The seconds after which the service wants to be asked again: given as a number, or as a date."""
    told = response.headers.get("retry-after", "").strip()
    if told.isascii() and told.isdigit():
        return float(told)
    try:
        date = parsedate_to_datetime(told)
    except ValueError:
        return None
    # A date without a zone, or with -0000, is in universal time.
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())


def failure(error: httpx2.RequestError, url: str, seconds: float) -> ClientError:
    """What it means that no reply came."""
    if isinstance(error, httpx2.TimeoutException):
        return RequestTimeout(url, seconds)
    reason = one_line(str(error)) or type(error).__name__
    return BadReply(url, reason) if isinstance(error, httpx2.DecodingError) else ServerUnreachable(url, reason)


def bad_reply(response: httpx2.Response, reason: str) -> BadReply:
    """The error of a reply that cannot be read."""
    return BadReply(address(response.url), one_line(reason))


def address(url: httpx2.URL) -> str:
    """The address without a password or a query, for messages."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def problem_in(response: httpx2.Response) -> Problem:
    """The problem in a reply. A proxy's own page, or problem of fewer members, is completed from status and headers."""
    members: dict[str, Any] = {
        "type": "urn:ellzero:problem:http",
        "title": "",
        "detail": "",
        "instance": response.url.path,
        "request_id": response.headers.get("x-request-id", ""),
    }
    status = response.status_code
    try:
        problem = _adapter(Problem).validate_python({**members, **from_json(response.content), "status": status})
    except (ValueError, TypeError):  # not JSON, not an object, or members of other types
        problem = Problem(**members, status=status)
    reason = response.reason_phrase or "an error without a reason"
    return replace(problem, detail=one_line(problem.detail or problem.title) or f"the service answered {reason}")


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Building one takes longer than reading an answer, and importing them all would slow the start."""
    adapter = _ADAPTERS.get(kind)
    if adapter is None:
        adapter = _ADAPTERS[kind] = TypeAdapter(kind)
    return adapter
