"""What OpenAPI says of routes that read their own requests."""

from typing import Any

from pydantic import BaseModel

from ellzero.serve.platform.problems import MEDIA_TYPE, ProblemDetails
from ellzero.serve.platform.serialization import JSON, NPY

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ALWAYS = (422, 500, 503)


def query_of(model: type[BaseModel], required: bool = True) -> list[dict[str, Any]]:
    """The fields of a question as query parameters; none of them required where a body may have them instead."""
    schema = model.model_json_schema()
    mandatory = schema.get("required", []) if required else []
    return [
        {
            "name": name,
            "in": "query",
            "required": name in mandatory,
            "description": field.get("description", ""),
            "schema": _plain(field),
        }
        for name, field in schema["properties"].items()
    ]


def batch_body(model: type[BaseModel]) -> dict[str, Any]:
    """A body of JSON or of `.npy`."""
    return {"required": True, "content": {JSON: {"schema": model.model_json_schema()}, NPY: _BINARY}}


def vote_body(model: type[BaseModel]) -> dict[str, Any]:
    """A body of JSON, which has the input as well, or the input as `.npy`."""
    schema = model.model_json_schema()
    schema["properties"]["x"] = {
        "type": "array",
        "items": {},
        "minItems": 1,
        "description": "An input as nested lists of whole levels, or of floats that are whole multiples of 1/K.",
    }
    schema["required"] = [*schema["required"], "x"]
    return {"required": True, "content": {JSON: {"schema": schema}, NPY: _BINARY}}


def path_parameter(name: str) -> dict[str, Any]:
    """A part of a path."""
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems that a route may answer with."""
    return {
        status: {"model": ProblemDetails, "content": {MEDIA_TYPE: {}}, "description": "HttpProblem"}
        for status in sorted({*_ALWAYS, *statuses})
    }


def binary(*kinds: str) -> dict[str, Any]:
    """Contents that are not JSON."""
    return dict.fromkeys(kinds, _BINARY)


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """The schema of one value: in a query a field is given or not, and never null."""
    kept = {name: value for name, value in field.items() if name not in ("description", "title", "default")}
    choices = [choice for choice in kept.get("anyOf", []) if choice != {"type": "null"}]
    if len(choices) == 1:
        return {name: value for name, value in choices[0].items() if name != "description"}
    return {**kept, "anyOf": choices} if choices else kept
