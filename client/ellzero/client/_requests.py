"""Requests as plain values: what each call of the client sends. Every request may be repeated."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from numbers import Integral
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ellzero.client._numbers import read_integer, write_exact, write_shortest
from ellzero.client.errors import UnsendableValue
from ellzero.core.evidence import is_array, is_several

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

JSON = "application/json"
NPY = "application/x-npy"
RADIUS = "/v1/radius"
THRESHOLDS = "/v1/thresholds"
PLAN = "/v1/plan"
MAX_VALUES = 1_000_000  # in a `.npy` file: the service's limit
MAX_CERTIFIED = 1_000  # in a list about budgets: the service's limit
MAX_LISTED = 40_000  # in a JSON list: however long its texts are, the body stays below 32 MiB

_DEEPEST = 100

# How the numbers of the API are written, apart from lists. All others are integers.
_WRITERS = {
    "p": write_exact,
    "p_b": write_exact,
    "alpha": write_shortest,
    "failure": write_shortest,
    "power": write_shortest,
    "q": write_exact,
}


class Describable(Protocol):
    """Whatever describes itself, such as the families of ``ellzero.certificates``."""

    def describe(self) -> Mapping[str, Any]:
        """The description."""
        ...


FamilyLike: TypeAlias = Describable | Mapping[str, Any]
BudgetLike: TypeAlias = int | Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """One HTTP request, relative to the address of a service."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None

    def options(self) -> dict[str, Any]:
        """Return the arguments for ``request`` of httpx2's clients."""
        return {
            "method": self.method,
            "url": self.path,
            "params": self.params or None,
            "headers": self.headers,
            "content": self.content,
        }


def make_get(path: str, **values: object) -> Request:
    """Make a GET with these values in the query, without those that are None."""
    return Request("GET", path, _write_query(values), {"accept": JSON})


def make_radii_lists(evidence: str, values: Sequence[Any], p_b: object, **others: object) -> Iterator[Request]:
    """Make requests for the radii of a list, in JSON; ``evidence`` is "p" or "count". Long lists are split."""
    same: dict[str, object] = {name: _write(name, value) for name, value in others.items() if value is not None}
    for listed in _write_lists(evidence, values, p_b, MAX_LISTED):
        yield Request("POST", RADIUS, {}, {"accept": JSON, "content-type": JSON}, _write_body(same | listed))


def make_family_post(path: str, family: object, budgets: Mapping[str, object], **others: object) -> Request:
    """Make a POST about a family: ``budgets`` are fields that hold budgets, ``others`` numbers; None is left out."""
    body = _write_family_fields(family, budgets, others)
    return Request("POST", path, {}, {"accept": JSON, "content-type": JSON}, _write_body(body))


def make_certified_lists(
    evidence: str, values: Sequence[Any], p_b: object, family: object, limits: object, **others: object
) -> Iterator[Request]:
    """Make requests for the budgets that each of a list certifies; ``evidence`` is "p" or "count"."""
    same = _write_family_fields(family, {"limits": limits}, others)
    for listed in _write_lists(evidence, values, p_b, MAX_CERTIFIED):
        yield Request("POST", RADIUS, {}, {"accept": JSON, "content-type": JSON}, _write_body(same | listed))


def make_radii_arrays(flat: "NDArray[Any]", **others: object) -> Iterator[Request]:
    """Make requests for the radii of a flat array, as ``.npy`` files. Long arrays are split."""
    # Problems are JSON whatever the client accepts, so only the type of the answer needs to be accepted.
    headers = {"accept": NPY, "content-type": NPY}
    params = _write_query(others)
    for part in _split(len(flat), MAX_VALUES):
        yield Request("POST", RADIUS, params, headers, _write_array(flat[part]))


def make_vote(path: str, model: str, x: Any, wait: int, **options: Any) -> Request:
    """Make a request for votes: an array as ``.npy`` with the options in the query, lists with the options in JSON."""
    if not isinstance(model, str):
        raise UnsendableValue("model", "the name of a model", model)
    fields: dict[str, Any] = {"model": model}
    fields |= {
        name: value if isinstance(value, bool | str) and name not in _WRITERS else _write(name, value)
        for name, value in options.items()
        if value is not None
    }
    fields["wait"] = wait
    array = _read_input(x)
    if array is None:
        content = _write_json({**fields, "x": x})
        return Request("POST", path, {}, {"accept": JSON, "content-type": JSON}, content)
    params = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in fields.items()}
    return Request("POST", path, params, {"accept": JSON, "content-type": NPY}, _write_array(array))


def make_get_job(job: str, wait: int) -> Request:
    """Make a request for a job, which is answered when the job has ended or after ``wait`` seconds."""
    return make_get(f"/v1/jobs/{_check_job(job)}", wait=wait)


def make_cancel_job(job: str) -> Request:
    """Make a request to cancel a job."""
    return Request("DELETE", f"/v1/jobs/{_check_job(job)}", {}, {"accept": JSON})


def flatten_probabilities(array: "NDArray[Any]") -> "NDArray[np.float64]":
    """Return the probabilities in C order as doubles: narrower floats widen exactly, wider ones are refused."""
    import numpy as np

    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        allowed = "an array of float64, float32 or float16; a list may hold any numbers"
        raise UnsendableValue("p", allowed, f"an array of {array.dtype}")
    return array.astype(np.float64, copy=False).ravel()


def flatten_counts(array: "NDArray[Any]") -> "NDArray[np.int64]":
    """Return the counts in C order as int64."""
    import numpy as np

    if array.dtype.kind not in "iu":
        raise UnsendableValue("count", "an array of integers", f"an array of {array.dtype}")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise UnsendableValue("count", "an array of integers from 0 to n", int(array.max()))
    return array.astype(np.int64, copy=False).ravel()


def _write_query(values: Mapping[str, object]) -> dict[str, str]:
    return {name: str(_write(name, value)) for name, value in values.items() if value is not None}


def _write(name: str, value: object) -> str | int:
    writer = _WRITERS.get(name)
    return read_integer(value, name) if writer is None else writer(value, name)


def _write_lists(evidence: str, values: Sequence[Any], p_b: object, most: int) -> Iterator[dict[str, object]]:
    """The fields of values and of their bounds, so many at once."""
    bounds = _list_bounds(p_b)
    writer = read_integer if evidence == "count" else write_exact
    for part in _split(len(values), most):
        listed: dict[str, object] = {evidence: [writer(value, evidence) for value in values[part]]}
        if bounds is not None:
            listed["p_b"] = [write_exact(bound, "p_b") for bound in bounds[part]]
        elif p_b is not None:
            listed["p_b"] = write_exact(p_b, "p_b")
        yield listed


def _write_family_fields(
    family: object, budgets: Mapping[str, object], others: Mapping[str, object]
) -> dict[str, object]:
    described = family.describe() if hasattr(family, "describe") and not isinstance(family, Mapping) else family
    if not isinstance(described, Mapping):
        raise UnsendableValue("family", "a family of noises, or its description", family)
    fields: dict[str, object] = {"family": _write_nested(described, "family")}
    fields |= {name: _write_nested(budget, name) for name, budget in budgets.items() if budget is not None}
    return fields | {name: _write(name, value) for name, value in others.items() if value is not None}


def _write_nested(value: object, field: str, depth: int = 0) -> object:
    """Return a description or a budget as JSON has it: numbers that JSON would round are text."""
    if depth > _DEEPEST:
        raise UnsendableValue(field, "nested less deeply", value)
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise UnsendableValue(field, "a mapping whose keys are text", value)
        return {name: _write_nested(inner, f"{field}.{name}", depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_write_nested(inner, field, depth + 1) for inner in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return read_integer(value, field)
    return float(value) if isinstance(value, float) and isfinite(value) else write_shortest(value, field)


def _write_body(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _write_array(array: "NDArray[Any]") -> bytes:
    from ellzero.core.npy import write_npy  # needs numpy, which only callers with an array have to have

    return write_npy(array)


def _write_json(fields: dict[str, Any]) -> bytes:
    try:
        return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError):
        raise UnsendableValue("x", "an array, or nested lists of numbers", fields["x"]) from None


def _read_input(x: Any) -> Any:
    """Return an array, or a torch tensor, as a numpy array in C order; None for lists."""
    if not is_array(x) and hasattr(x, "detach"):
        x = x.detach().cpu().numpy()
    if not is_array(x):
        return None
    import numpy as np

    if x.dtype.kind not in "biuf" or not x.size:
        raise UnsendableValue("x", "an array of numbers that is not empty", f"an array of {x.dtype}, shape {x.shape}")
    return np.ascontiguousarray(x)


def _list_bounds(p_b: object) -> Sequence[Any] | None:
    """Return the values of a list or an array; None for one number."""
    if is_array(p_b):
        numbers: list[Any] = p_b.ravel().tolist()
        return numbers
    return p_b if is_several(p_b) else None


def _split(length: int, most: int) -> Iterator[slice]:
    return (slice(start, start + most) for start in range(0, length, most))


def _check_job(job: str) -> str:
    if not isinstance(job, str) or not job.isalnum() or not job.isascii():
        raise UnsendableValue("job", "the id of a job", job)
    return job
