"""Errors as RFC 9457 problem details. One function maps domain errors to them."""

from collections.abc import Mapping
from typing import Any

import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import Problem
from ellzero.serve.platform.field_types import JsonNumber
from ellzero.serve.platform.responses import JsonResponse

_TITLES = {
    400: "Malformed request",
    401: "API key required",
    403: "API key not valid for this route",
    404: "Not found",
    405: "Method not allowed",
    406: "No acceptable media type",
    408: "Request timed out",
    413: "Request too large",
    415: "Unsupported media type",
    422: "Invalid value",
    429: "Too many requests in progress",
    500: "Internal error",
    503: "Service unavailable",
}
_TITLES_OF_KINDS = {
    "too-costly": "Request too costly",
    "model-unusable": "Model cannot be used",
    "results-unusable": "Results cannot be read",
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


class HttpProblem(Exception):
    """A request that cannot be answered, and why; ``members`` are those of `Problem` that not every problem has."""

    def __init__(
        self,
        status: int,
        detail: str,
        kind: str | None = None,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(status, detail)
        self.status = status
        self.detail = detail
        self.kind = kind or _KINDS.get(status, "http")
        self.headers = dict(headers or {})
        self.members = members

    def response(self, path: str, request_id: str) -> JsonResponse:
        """Return the problem as the response to a request."""
        problem = Problem(
            type=f"urn:ellzero:problem:{self.kind}",
            title=_TITLES_OF_KINDS.get(self.kind) or _TITLES.get(self.status, "Error"),
            status=self.status,
            detail=self.detail,
            instance=path,
            request_id=request_id,
            **self.members,
        )
        # A value that is missing is null; members that this problem does not have are left out.
        body = {name: value for name, value in vars(problem).items() if value is not None or name in self.members}
        return JsonResponse(body, self.status, self.headers, MEDIA_TYPE)


def make_problem(error: Exception) -> HttpProblem:
    """Return the problem that stands for an error; an unexpected error is a 500."""
    if isinstance(error, HttpProblem):
        return error
    if isinstance(error, InvalidInput):
        return HttpProblem(422, str(error), field=error.field, value=_show(error.value), allowed=error.allowed)
    if isinstance(error, ValidationError):
        return _make_validation_problem(error.errors(include_url=False)[0])
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return _make_validation_problem({**first, "loc": first["loc"][1:]})  # without "query" or "path"
    if isinstance(error, HTTPException):
        return HttpProblem(error.status_code, str(error.detail), headers=error.headers)
    return HttpProblem(500, "unexpected error; the log has it under this request id")


def _make_validation_problem(first: Mapping[str, Any]) -> HttpProblem:
    """Return the problem for the first of pydantic's errors, in the domain's words where it has any."""
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInput):
        return make_problem(cause)
    field = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return HttpProblem(422, f"{field} is missing", field=field, value=None, allowed="given")
    if first["type"] == "extra_forbidden":
        return HttpProblem(
            422,
            f"there is no field {field[:80]!r} here",
            field=field[:80],
            value=_show(first["input"]),
            allowed="only the fields that /docs lists for this operation",
        )
    return HttpProblem(422, f"{field}: {first['msg']}", field=field, value=_show(first["input"]), allowed=first["msg"])


def _show(value: object) -> Any:
    """Return the value as JSON has it, or as text; long text is cut."""
    if isinstance(value, JsonNumber) and len(value) <= 80:
        return orjson.Fragment(str(value))
    if isinstance(value, bool | int | float | str) or value is None:
        try:
            orjson.dumps(value)
        except TypeError:  # an integer of more than 64 bits, text with lone surrogates
            value = ascii(value) if isinstance(value, str) else _write_digits(value)
    else:
        value = repr(value)
    return value[:77] + "..." if isinstance(value, str) and len(value) > 80 else value


def _write_digits(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # thousands of digits
        return "a number too long to print"
