"""Reading requests: query strings, bodies, and the content types of bodies."""

from typing import Any, Literal
from urllib.parse import unquote_plus

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ellzero.serve.platform.problems import HttpProblem, problem_of
from ellzero.serve.platform.serialization import JSON, NPY

_MOST_QUERY_BYTES = 8_192


async def check_query(request: Request) -> None:
    """Refuse a malformed query, or a parameter that is given twice. A FastAPI dependency: it would take the last."""
    parse_query(request.scope["query_string"])


def parse_query(query: bytes) -> dict[str, str]:
    """Return the parameters of a query by name."""
    if not query:
        return {}
    if len(query) > _MOST_QUERY_BYTES:
        raise HttpProblem(422, f"the query is longer than {_MOST_QUERY_BYTES} bytes", field="query", allowed="shorter")
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
                shown = name[:80]
                raise HttpProblem(422, f"{shown} is given more than once", field=shown, allowed="given once")
            parameters[name] = unquote_plus(value, errors="strict")
    except ValueError:
        raise HttpProblem(400, "the query is not made of name=value pairs in UTF-8") from None
    return parameters


def body_type(request: Request) -> Literal["json", "npy"]:
    """Return which of the two kinds of body a request has. JSON has every field in the body, `.npy` in the query."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if content_type == NPY:
        return "npy"
    if content_type != JSON:
        raise HttpProblem(415, f"send {JSON} or {NPY}", allowed=[JSON, NPY])
    if request.scope["query_string"]:
        raise HttpProblem(
            422, "with a JSON body every field goes into the body, not into the query", field="query", allowed="empty"
        )
    return "json"


async def read_body(request: Request) -> bytes:
    """Read the whole body, unless it is too large."""
    try:
        return await request.body()
    except HTTPException as error:  # Starlette's limit would answer in plain text
        raise problem_of(error) from None


def parse_json(body: bytes) -> Any:
    """Parse a JSON body."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HttpProblem(400, f"the body is not JSON: {error}") from None
