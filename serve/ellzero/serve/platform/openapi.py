"""Parts of the OpenAPI description that FastAPI cannot derive: problems, binary contents, bodies of two kinds."""

from typing import Any

from fastapi import Depends, Security
from fastapi.params import Depends as Dependency
from fastapi.security import APIKeyHeader, HTTPBearer
from pydantic import BaseModel

from ellzero.core.schemas import Problem
from ellzero.serve.platform.problems import MEDIA_TYPE
from ellzero.serve.platform.requests import check_query
from ellzero.serve.platform.responses import JSON, NPY

BINARY = {"schema": {"type": "string", "format": "binary"}}
_ALWAYS = (422, 500, 503)
# ApiKeyMiddleware checks keys, in constant time and before anything else; these only describe where a key goes.
_SCHEMES = (
    APIKeyHeader(name="x-api-key", auto_error=False, description="A key that the operator gave you."),
    HTTPBearer(auto_error=False, description="The same key as a bearer token."),
)


def make_route_dependencies(with_keys: bool) -> list[Dependency]:
    """Return what all routes of /v1 depend on: a well-formed query and, where keys are configured, a key."""
    return [Depends(check_query), *(Security(scheme) for scheme in _SCHEMES if with_keys)]


def describe_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route may answer with."""
    return {
        status: {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": "Problem details (RFC 9457)"}
        for status in sorted({*_ALWAYS, *statuses})
    }


def describe_queries(*queries: type[BaseModel]) -> list[dict[str, Any]]:
    """Describe the parameters of a route that takes one of several queries: required is what all of them require."""
    schemas = [query.model_json_schema() for query in queries]
    fields: dict[str, dict[str, Any]] = {}
    for schema in schemas:
        fields = {**schema["properties"], **fields}
    return [
        {
            "name": name,
            "in": "query",
            "required": all(name in schema.get("required", ()) for schema in schemas),
            "schema": _without_null(field),
        }
        for name, field in fields.items()
    ]


def describe_json(body: type[BaseModel]) -> dict[str, Any]:
    """Describe a route that takes JSON."""
    return {"requestBody": {"required": True, "content": {JSON: {"schema": body.model_json_schema()}}}}


def describe_json_or_npy(
    body: type[BaseModel], query: type[BaseModel], other: type[BaseModel] | None = None, **more: dict[str, Any]
) -> dict[str, Any]:
    """Describe a route that takes JSON, or a `.npy` body with the other fields in the query.

    ``other`` is a second kind of JSON body. ``more`` are fields of the first that the model does not have. No parameter
    of the query is required, since JSON bodies come without.
    """
    schema = body.model_json_schema()
    schema["properties"] |= more
    schema["required"] = [*schema["required"], *more]
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": _without_null(field)}
        for name, field in query.model_json_schema()["properties"].items()
    ]
    either = schema if other is None else {"anyOf": [schema, other.model_json_schema()]}
    content = {JSON: {"schema": either}, NPY: BINARY}
    return {"parameters": parameters, "requestBody": {"required": True, "content": content}}


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of one value: in a query a field is given or left out, and never null."""
    schema = {name: value for name, value in field.items() if name not in ("title", "default")}
    if "anyOf" in schema:
        schema["anyOf"] = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    return schema
