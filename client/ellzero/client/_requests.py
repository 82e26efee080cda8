"""Requests as plain values: what is asked, before anything is sent. All are pure questions, safe to repeat."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ellzero.client._arrays import write_array
from ellzero.client._numbers import exact_text, json_number, shortest_text, whole
from ellzero.core.evidence import is_array, is_several

if TYPE_CHECKING:
    from numpy.typing import NDArray

JSON = "application/json"
NPY = "application/x-npy"
RADIUS = "/v1/radius"
MOST_VALUES = 1_000_000  # of a `.npy` file, as the service takes them
MOST_LISTED = 40_000  # of a JSON list: however long its texts are, the body stays below 32 MiB

# How the numbers of the API are written, apart from p_b, which may be a list.
_WRITERS = {
    "p": exact_text,
    "p_b": exact_text,
    "alpha": shortest_text,
    "failure": shortest_text,
    "power": shortest_text,
}


@dataclass(frozen=True)
class Request:
    """One HTTP request, relative to the address of a service."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None

    def options(self) -> dict[str, Any]:
        """What ``request`` of httpx2's clients takes."""
        return {
            "method": self.method,
            "url": self.path,
            "params": self.params or None,
            "headers": self.headers,
            "content": self.content,
        }


def get(path: str, **values: object) -> Request:
    """A question in a query. Values that are None are left to the service."""
    return Request("GET", path, query(values), {"accept": JSON})


def query(values: Mapping[str, object]) -> dict[str, str]:
    """The values as texts that say exactly what they are."""
    return {name: str(_written(name, value)) for name, value in values.items() if value is not None}


def lists(evidence: str, values: Sequence[Any], p_b: object, **others: object) -> Iterator[Request]:
    """Questions about many values of ``evidence`` ("p" or "count") in JSON, as many as their number asks for."""
    bounds = _listed(p_b)
    same: dict[str, object] = {name: _written(name, value) for name, value in others.items() if value is not None}
    if bounds is None and p_b is not None:
        same["p_b"] = json_number(p_b, "p_b")
    writer = whole if evidence == "count" else json_number
    for part in _parts(len(values), MOST_LISTED):
        body: dict[str, object] = {**same, evidence: [writer(value, evidence) for value in values[part]]}
        if bounds is not None:
            body["p_b"] = [json_number(bound, "p_b") for bound in bounds[part]]
        content = json.dumps(body, separators=(",", ":")).encode()
        yield Request("POST", RADIUS, {}, {"accept": JSON, "content-type": JSON}, content)


def arrays(flat: "NDArray[Any]", **others: object) -> Iterator[Request]:
    """Questions about the many values of a flat array, as ``.npy`` files."""
    # A problem is told in JSON whatever was asked for, so only the answer's own type is accepted.
    headers = {"accept": NPY, "content-type": NPY}
    params = query(others)
    for part in _parts(len(flat), MOST_VALUES):
        yield Request("POST", RADIUS, params, headers, write_array(flat[part]))


def _written(name: str, value: object) -> str | int:
    writer = _WRITERS.get(name)
    return whole(value, name) if writer is None else writer(value, name)


def _listed(p_b: object) -> Sequence[Any] | None:
    """The values of a list or an array; None for one number."""
    if is_array(p_b):
        numbers: list[Any] = p_b.ravel().tolist()
        return numbers
    return p_b if is_several(p_b) else None


def _parts(length: int, most: int) -> Iterator[slice]:
    """At least one, so that the service has its say about no values at all."""
    return (slice(start, start + most) for start in range(0, max(length, 1), most))
