"""What can go wrong with a request, said as RFC 9457 problem details. One table maps domain errors to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from ellzero.core.errors import InvalidInput
from ellzero.serve.platform.serialization import JsonResponse

_TITLES = {
    400: "The request is malformed",
    401: "An API key is needed",
    403: "The API key does not open this route",
    404: "There is nothing here",
    405: "The method is not allowed",
    406: "None of the accepted types is available",
    408: "The request did not arrive in time",
    413: "The request is too large",
    415: "The content type is not understood",
    422: "A value is not allowed",
    429: "Too much is under way",
    500: "The service failed",
    503: "The service cannot answer now",
}
_KINDS = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    408: "timeout",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid-input",
    429: "too-many",
    500: "internal",
    503: "overloaded",
}
MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemDetails:
    """What every problem says, in the words of RFC 9457; a wrong value adds field, value and allowed."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str


class HttpProblem(Exception):
    """A request that is not answered, and why."""

    def __init__(
        self,
        status: int,
        detail: str,
        kind: str | None = None,
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail
        self.kind = kind or _KINDS.get(status, "http")
        self.headers = dict(headers or {})
        self.extra = extra

    def response(self, path: str, request_id: str) -> JsonResponse:
        """The problem as a response to a request."""
        body = {
            "type": f"urn:ellzero:problem:{self.kind}",
            "title": "The work is too costly" if self.kind == "too-costly" else _TITLES.get(self.status, "Error"),
            "status": self.status,
            "detail": self.detail,
            "instance": path,
            "request_id": request_id,
            **self.extra,
        }
        return JsonResponse(body, self.status, self.headers, MEDIA_TYPE)


def problem_of(error: Exception) -> HttpProblem:
    """The problem that an error stands for; an error that nobody expected is the service's own fault."""
    if isinstance(error, HttpProblem):
        return error
    if isinstance(error, InvalidInput):
        return HttpProblem(422, str(error), field=error.field, value=_shown(error.value), allowed=error.allowed)
    if isinstance(error, ValidationError):
        return _of_validation(error)
    if isinstance(error, HTTPException):
        return HttpProblem(error.status_code, str(error.detail), headers=error.headers)
    return HttpProblem(500, "an unexpected error, which was logged under this request id")


def _of_validation(error: ValidationError) -> HttpProblem:
    """The first thing wrong, in the words of the domain where it has any."""
    first = error.errors(include_url=False)[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInput):
        return problem_of(cause)
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return HttpProblem(422, f"{field} is missing", field=field, value=None, allowed="given")
    if first["type"] == "extra_forbidden":
        return HttpProblem(
            422,
            f"there is no field {field[:80]!r} here",
            field=field[:80],
            value=_shown(first["input"]),
            allowed="only what the description of this operation has, see /docs",
        )
    return HttpProblem(422, f"{field}: {first['msg']}", field=field, value=_shown(first["input"]), allowed=first["msg"])


def _shown(value: object) -> Any:
    """The value as JSON has it, or as text, and not at length."""
    if isinstance(value, bool | int | float | str) or value is None:
        try:
            orjson.dumps(value)
        except TypeError:  # an integer of more than 64 bits, text with lone surrogates
            value = ascii(value) if isinstance(value, str) else _digits(value)
    else:
        value = repr(value)
    return value[:77] + "..." if isinstance(value, str) and len(value) > 80 else value


def _digits(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # thousands of digits
        return "a number too long to print"
