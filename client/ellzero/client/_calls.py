"""The calls of the client: the requests of each, and how the replies become one answer.

Nothing here sends or waits, so that `Client` and `AsyncClient` are the same but for how they do.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx2

from ellzero.client import _arrays, _requests
from ellzero.client._numbers import shortest_text, whole
from ellzero.client._requests import Request
from ellzero.client._responses import bad_reply, read, source_of
from ellzero.client.errors import UnsendableValue
from ellzero.core.errors import InvalidInput
from ellzero.core.evidence import is_array, is_several, read_evidence
from ellzero.core.schemas import (
    CompareAnswer,
    ModelsAnswer,
    PlanAnswer,
    RadiiAnswer,
    RadiiArray,
    RadiusAnswer,
    Source,
    TablesAnswer,
    ThresholdsAnswer,
    combine_sources,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Part = tuple[NDArray[np.int32], Source]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """``requests``, made one by one as they are sent, and ``read``, which makes their replies one answer."""

    requests: Iterable[Request]
    read: Callable[[Sequence[httpx2.Response]], T_co]


def radius(
    p: Any, k: Any, alpha: Any, d: Any, p_b: Any, count: Any, n: Any, failure: Any
) -> Call[RadiusAnswer | RadiiAnswer | RadiiArray]:
    """What `Client.radius` sends: numbers in a query, lists in JSON, arrays as ``.npy`` files."""
    try:
        evidence = read_evidence(p, p_b, count, n, failure)
    except InvalidInput as error:
        raise UnsendableValue(error.field, error.allowed, error.value) from None
    name, values = evidence.name, evidence.values
    rest = {"k": k, "alpha": alpha, "d": d, "n": n, "failure": failure}
    if is_array(values):
        return _radii_array(name, values, p_b, rest)
    if is_several(values):
        return _radii_list(name, values, p_b, rest)
    return _single(_requests.get(_requests.RADIUS, **{name: values}, p_b=p_b, **rest), RadiusAnswer)


def thresholds(k: Any, alpha: Any, r_max: Any) -> Call[ThresholdsAnswer]:
    """What `Client.thresholds` sends."""
    return _single(_requests.get("/v1/thresholds", k=k, alpha=alpha, r_max=r_max), ThresholdsAnswer)


def plan(k: Any, alpha: Any, r: Any, p: Any, n: Any, d: Any, failure: Any, power: Any) -> Call[PlanAnswer]:
    """What `Client.plan` sends."""
    request = _requests.get("/v1/plan", k=k, alpha=alpha, r=r, p=p, n=n, d=d, failure=failure, power=power)
    return _single(request, PlanAnswer)


def compare(alpha: Any, d: Any, p: Any, r_max: Any) -> Call[CompareAnswer]:
    """What `Client.compare` sends."""
    return _single(_requests.get("/v1/compare", alpha=alpha, d=d, p=p, r_max=r_max), CompareAnswer)


def tables() -> Call[TablesAnswer]:
    """What `Client.tables` sends."""
    return _single(_requests.get("/v1/tables"), TablesAnswer)


def models() -> Call[ModelsAnswer]:
    """What `Client.models` sends."""
    return _single(_requests.get("/v1/models"), ModelsAnswer)


def _single(request: Request, kind: type[T]) -> Call[T]:
    return Call([request], lambda replies: read(replies[0], kind))


def _radii_list(name: str, values: Sequence[Any], p_b: Any, rest: dict[str, Any]) -> Call[RadiiAnswer]:
    def read_all(replies: Sequence[httpx2.Response]) -> RadiiAnswer:
        answers = [read(reply, RadiiAnswer) for reply in replies]
        radii = [radius for answer in answers for radius in answer.radii]
        _check_number(replies[0], len(radii), len(values))
        return replace(answers[0], radii=radii, source=combine_sources([answer.source for answer in answers]))

    return Call(_requests.lists(name, values, p_b, **rest), read_all)


def _radii_array(name: str, values: "NDArray[Any]", p_b: Any, rest: dict[str, Any]) -> Call[RadiiArray]:
    flat = _arrays.flat_counts(values) if name == "count" else _arrays.flat_probabilities(values)
    if is_several(p_b):  # a `.npy` file has no place for a p_b for each p; JSON has
        requests, part = _requests.lists(name, flat.tolist(), p_b, **rest), _listed_part
    else:
        requests, part = _requests.arrays(flat, p_b=p_b, **rest), _npy_part

    def read_all(replies: Sequence[httpx2.Response]) -> RadiiArray:
        parts = [part(reply) for reply in replies]
        _check_number(replies[0], sum(len(radii) for radii, _ in parts), flat.size)
        return RadiiArray(
            radii=_arrays.join_radii([radii for radii, _ in parts], values.shape),
            source=combine_sources([source for _, source in parts]),
            k=whole(rest["k"], "k"),
            alpha=str(Fraction(shortest_text(rest["alpha"], "alpha"))),
            d=whole(rest["d"], "d"),
        )

    return Call(requests, read_all)


def _listed_part(reply: httpx2.Response) -> "_Part":
    answer = read(reply, RadiiAnswer)
    return _arrays.radii_array(answer.radii), answer.source


def _npy_part(reply: httpx2.Response) -> "_Part":
    try:
        return _arrays.read_radii(reply.content), source_of(reply)
    except InvalidInput as error:
        raise bad_reply(reply, str(error)) from None


def _check_number(reply: httpx2.Response, received: int, sent: int) -> None:
    if received != sent:
        raise bad_reply(reply, f"{received:,} radii for {sent:,} values")
