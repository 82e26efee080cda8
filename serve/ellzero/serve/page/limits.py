"""The limits and defaults that the page's fields have, taken from where the service itself has them."""

import json
from typing import Any

from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N0, DEFAULT_POWER
from ellzero.serve.lookup.request_models import RadiusRequest
from ellzero.serve.settings import ServeSettings

_INTEGERS = ("k", "d", "n", "count")


def describe_limits(settings: ServeSettings) -> dict[str, Any]:
    """Return the bounds of the integers that ``/v1/radius`` takes, the most votes of a request, and the defaults."""
    fields = RadiusRequest.model_json_schema()["properties"]
    return {name: _find_bounds(fields[name]) for name in _INTEGERS} | {
        "max_votes": settings.max_votes,
        "n0": DEFAULT_N0,
        "failure": DEFAULT_FAILURE,
        "power": DEFAULT_POWER,
    }


def write_limits_module(settings: ServeSettings) -> bytes:
    """Return the ES module ``limits.js``, which the page's own modules import."""
    return f"// Written by the service.\nexport const LIMITS = {json.dumps(describe_limits(settings))};\n".encode()


def _find_bounds(schema: dict[str, Any]) -> dict[str, int]:
    """Return the bounds of an integer, which may also be left out."""
    (integer,) = (one for one in schema.get("anyOf", [schema]) if one["type"] == "integer")
    return {"minimum": integer["minimum"], "maximum": integer["maximum"]}
