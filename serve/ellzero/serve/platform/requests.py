"""Reading requests: query strings, bodies of JSON or `.npy`, and what the client accepts."""

import json
from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import unquote_plus

import numpy as np
import orjson
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ellzero.core.npy import read_npy
from ellzero.serve.platform.field_types import JsonNumber
from ellzero.serve.platform.problems import HttpProblem, make_problem
from ellzero.serve.platform.responses import JSON, NPY

_MAX_QUERY_BYTES = 8_192


async def check_query(request: Request) -> None:
    """Refuse a malformed query, or a parameter that occurs twice, of which FastAPI would take the last."""
    parse_query(request.scope["query_string"])


def parse_query(query: bytes) -> dict[str, str]:
    """Return the parameters of a query by name."""
    if not query:
        return {}
    if len(query) > _MAX_QUERY_BYTES:
        raise HttpProblem(422, f"the query is longer than {_MAX_QUERY_BYTES} bytes", field="query", allowed="shorter")
    parameters: dict[str, str] = {}
    try:
        for part in query.decode("ascii").split("&"):
            if not part:
                continue
            name, equals, value = part.partition("=")
            if not equals:
                raise ValueError(part)
            name = unquote_plus(name, errors="strict")
            if name in parameters:
                raise _given_twice(name)
            parameters[name] = unquote_plus(value, errors="strict")
    except ValueError:
        raise HttpProblem(400, "the query is not made of name=value pairs in UTF-8") from None
    return parameters


def read_body_type(request: Request) -> Literal["json", "npy"]:
    """Return which of the two kinds of body a request has. JSON has every field in the body, `.npy` in the query."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type == NPY:
        return "npy"
    check_json(request, NPY)
    return "json"


def check_json(request: Request, *others: str) -> None:
    """Refuse a body that is not JSON, and a query beside it; ``others`` are types that the route takes as well."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type != JSON:
        raise HttpProblem(415, f"send {' or '.join([JSON, *others])}", allowed=[JSON, *others])
    if request.scope["query_string"]:
        raise HttpProblem(
            422, "with a JSON body every field goes into the body, not into the query", field="query", allowed="empty"
        )


async def read_body(request: Request) -> bytes:
    """Read the whole body, unless it is too large."""
    try:
        return await request.body()
    except HTTPException as error:  # Starlette's limit would answer in plain text
        raise make_problem(error) from None


def parse_json(body: bytes) -> Any:
    """Parse a JSON body exactly: numbers that are no integers are `JsonNumber`, and no object has a key twice."""
    parse_rounded_json(body)  # is stricter than Python's parser, and says more clearly what is wrong
    try:
        return json.loads(body.decode(), parse_float=JsonNumber, object_pairs_hook=_make_object)
    except (ValueError, RecursionError):
        raise HttpProblem(400, "the body has an integer of thousands of digits, or is nested too deeply") from None


def parse_rounded_json(body: bytes) -> Any:
    """Parse a JSON body fast: numbers that are no integers become doubles, and of a key given twice the last counts."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HttpProblem(400, f"the body is not JSON: {error}") from None


def parse_values(body: bytes, counts: bool) -> NDArray[Any]:
    """Parse a `.npy` body of probabilities, or of counts."""
    dtype = np.dtype(np.int64 if counts else np.float64)
    allowed = f"a one-dimensional .npy file of {dtype} (float64 probabilities, or int64 counts if n is given)"
    return read_npy(body, dtype=dtype, dimensions=1, allowed=allowed)


def choose_media_type(accept: str | None, offered: Sequence[str]) -> str:
    """Return the offered type of highest quality in an Accept header, the first of equals; 406 if none is accepted."""
    if not accept:
        return offered[0]
    ranges = [_parse_range(part) for part in accept.split(",")]
    best = max(offered, key=lambda kind: _quality_of_type(kind, ranges))
    if _quality_of_type(best, ranges) <= 0:
        raise HttpProblem(406, f"this route offers {', '.join(offered)}", available=list(offered))
    return best


def accepts_coding(accept: str, coding: str) -> bool:
    """Return whether an Accept-Encoding header allows a coding, by name or by "*"; a quality of 0 refuses it."""
    return _quality((coding, "*"), [_parse_range(part) for part in accept.split(",")]) > 0


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise _given_twice(name)
        fields[name] = value
    return fields


def _given_twice(name: str) -> HttpProblem:
    shown = name[:80]
    return HttpProblem(422, f"{shown} is given more than once", field=shown, allowed="given once")


def _parse_range(part: str) -> tuple[str, float]:
    """Return a type or coding and its quality; one that is not a number is 0."""
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
    try:
        return kind, min(max(float(quality), 0.0), 1.0)
    except ValueError:
        return kind, 0.0


def _quality_of_type(kind: str, ranges: list[tuple[str, float]]) -> float:
    return _quality((kind, f"{kind.split('/')[0]}/*", "*/*"), ranges)


def _quality(patterns: Sequence[str], ranges: list[tuple[str, float]]) -> float:
    """Return the quality of the first, most specific pattern that the header has."""
    for pattern in patterns:
        matching = [quality for name, quality in ranges if name == pattern]
        if matching:
            return max(matching)
    return 0.0
