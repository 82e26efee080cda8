"""Responses, read into answers or errors. No error of httpx2 or pydantic leaves this module."""

from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from ellzero.client.errors import (
    BadReply,
    ClientError,
    JobEnded,
    RequestTimeout,
    ServerUnreachable,
    make_problem_reply,
    one_line,
)
from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import CertifyAnswer, JobAnswer, PredictAnswer, Problem, RadiiAnswer, Source

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def read_answer(response: httpx2.Response, kind: type[T]) -> T:
    """Return the answer in a response, as ``kind``; fields that this client does not know yet are ignored."""
    try:
        return _adapter(kind).validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise bad_reply(response, f"{where}: {first['msg']}" if where else first["msg"]) from None


def read_radii_list(response: httpx2.Response) -> "tuple[NDArray[np.int32], Source]":
    """Return the radii of a JSON response as an array, −1 to abstain, and where they come from."""
    import numpy as np

    answer = read_answer(response, RadiiAnswer)
    return np.array([-1 if radius is None else radius for radius in answer.radii], np.int32), answer.source


def read_radii_array(response: httpx2.Response) -> "tuple[NDArray[np.int32], Source]":
    """Return the radii of a ``.npy`` response, −1 to abstain, and where they come from."""
    from ellzero.core.npy import read_npy

    try:
        radii = read_npy(response.content, dtype="int32", dimensions=1, allowed="a one-dimensional .npy file of int32")
    except InvalidInput as error:
        raise bad_reply(response, str(error)) from None
    source = response.headers.get("ellzero-source", "")
    try:
        return radii, Source(source)
    except ValueError:
        raise bad_reply(response, f"the header ellzero-source is {source!r}") from None


def read_vote(response: httpx2.Response, kind: type[T]) -> T | JobAnswer:
    """Return the answer to a request for votes, or the job that it has become."""
    return read_job(response) if response.status_code == 202 else read_answer(response, kind)


def read_job(response: httpx2.Response) -> JobAnswer:
    """Return the state of a job."""
    job = read_answer(response, JobAnswer)
    if job.state == "done" and job.certificate is None and job.prediction is None:
        raise bad_reply(response, "a job that is done and has no result")
    return job


def read_result(job: JobAnswer) -> CertifyAnswer | PredictAnswer | None:
    """Return the result of a job; None while it is running. `JobEnded` if there will be none."""
    if job.state in ("waiting", "running"):
        return None
    result = job.certificate or job.prediction
    if job.state == "done" and result is not None:
        return result
    raise JobEnded(job.id, job.state, job.reason or "the service gave no reason")


def check_status(response: httpx2.Response) -> httpx2.Response:
    """Return the response if it is an answer; raise the error that it stands for otherwise."""
    if response.status_code in (200, 202):
        return response
    if response.status_code < 400:
        to = response.headers.get("location")
        raise bad_reply(response, f"HTTP {response.status_code}" + (f", a redirection to {to}" if to else ""))
    raise make_problem_reply(read_problem(response), read_retry_after(response))


def read_problem(response: httpx2.Response) -> Problem:
    """Return the problem in a response.

    A proxy's own page, or its problem of fewer members, is completed from the status and the headers.
    """
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


def read_retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds after which the service asks for another attempt, from a number or a date."""
    header = response.headers.get("retry-after", "").strip()
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    # A date without a zone, or with -0000, is in universal time.
    return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds())


def make_transport_error(error: httpx2.RequestError, url: str, seconds: float) -> ClientError:
    """Return the client's error for a request that got no response."""
    if isinstance(error, httpx2.TimeoutException):
        return RequestTimeout(url, seconds)
    reason = one_line(str(error)) or type(error).__name__
    return BadReply(url, reason) if isinstance(error, httpx2.DecodingError) else ServerUnreachable(url, reason)


def bad_reply(response: httpx2.Response, reason: str) -> BadReply:
    """Return the error for a response that cannot be read."""
    return BadReply(format_address(response.url), one_line(reason))


def format_address(url: httpx2.URL) -> str:
    """Return an address without a password or a query, for messages."""
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return pydantic's adapter, built on first use: that takes longer than reading an answer."""
    adapter = _ADAPTERS.get(kind)
    if adapter is None:
        adapter = _ADAPTERS[kind] = TypeAdapter(kind)
    return adapter
