"""The calls of the client: the requests of each, and how their responses become one answer.

Nothing here sends or waits, so that `Client` and `AsyncClient` differ only in how they do.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx2

from ellzero.client._numbers import read_integer, write_shortest
from ellzero.client._requests import (
    PLAN,
    RADIUS,
    THRESHOLDS,
    Request,
    flatten_counts,
    flatten_probabilities,
    make_certified_lists,
    make_family_post,
    make_get,
    make_radii_arrays,
    make_radii_lists,
)
from ellzero.client._responses import bad_reply, read_answer, read_radii_array, read_radii_list
from ellzero.client.errors import UnsendableValue
from ellzero.core.errors import InvalidInput
from ellzero.core.evidence import is_array, is_several, read_evidence
from ellzero.core.schemas import (
    BudgetPlanAnswer,
    BudgetThresholdsAnswer,
    CertifiedAnswer,
    CertifiedListAnswer,
    CompareAnswer,
    FamiliesAnswer,
    ModelsAnswer,
    PlanAnswer,
    RadiiAnswer,
    RadiiArray,
    RadiusAnswer,
    TablesAnswer,
    ThresholdsAnswer,
    combine_sources,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """``requests``, each built when it is sent, and ``read``, which turns their responses into one answer."""

    requests: Iterable[Request]
    read: Callable[[Sequence[httpx2.Response]], T_co]


def radius(
    p: Any, k: Any, alpha: Any, d: Any, p_b: Any, count: Any, n: Any, failure: Any
) -> Call[RadiusAnswer | RadiiAnswer | RadiiArray]:
    """The call of `Client.radius`: numbers in a query, lists in JSON, arrays as ``.npy`` files."""
    try:
        evidence = read_evidence(p, p_b, count, n, failure)
    except InvalidInput as error:
        raise UnsendableValue(error.field, error.allowed, error.value) from None
    name, values = evidence.name, evidence.values
    rest = {"k": k, "alpha": alpha, "d": d, "n": n, "failure": failure}
    if is_array(values):
        return _call_with_array(name, values, p_b, rest)
    if is_several(values):
        return _call_with_list(name, values, p_b, rest)
    return _make_call(make_get(RADIUS, **{name: values}, p_b=p_b, **rest), RadiusAnswer)


def thresholds(k: Any, alpha: Any, r_max: Any) -> Call[ThresholdsAnswer]:
    """The call of `Client.thresholds`."""
    return _make_call(make_get(THRESHOLDS, k=k, alpha=alpha, r_max=r_max), ThresholdsAnswer)


def plan(k: Any, alpha: Any, r: Any, p: Any, n: Any, d: Any, failure: Any, power: Any) -> Call[PlanAnswer]:
    """The call of `Client.plan`."""
    request = make_get(PLAN, k=k, alpha=alpha, r=r, p=p, n=n, d=d, failure=failure, power=power)
    return _make_call(request, PlanAnswer)


def certified(
    family: Any, p: Any, limits: Any, p_b: Any, count: Any, n: Any, failure: Any, top_k: Any
) -> Call[CertifiedAnswer | CertifiedListAnswer]:
    """The call of `Client.certified`: JSON, which takes any family."""
    try:
        evidence = read_evidence(p, p_b, count, n, failure)
    except InvalidInput as error:
        raise UnsendableValue(error.field, error.allowed, error.value) from None
    name, values = evidence.name, evidence.values
    if is_array(values) or is_array(p_b):
        raise UnsendableValue("p_b" if is_array(p_b) else name, "one number or a list", "an array")
    rest = {"n": n, "failure": failure, "top_k": top_k}
    if not is_several(values):
        request = make_family_post(RADIUS, family, {"limits": limits}, **{name: values}, p_b=p_b, **rest)
        return _make_call(request, CertifiedAnswer)

    def read_all(responses: Sequence[httpx2.Response]) -> CertifiedListAnswer:
        answers = [read_answer(response, CertifiedListAnswer) for response in responses]
        budgets = [budget for answer in answers for budget in answer.certified]
        _check_number(responses[0], len(budgets), len(values))
        return replace(answers[0], certified=budgets, source=combine_sources([answer.source for answer in answers]))

    return Call(make_certified_lists(name, values, p_b, family, limits, **rest), read_all)


def budget_thresholds(family: Any, limits: Any, q: Any) -> Call[BudgetThresholdsAnswer]:
    """The call of `Client.budget_thresholds`."""
    return _make_call(make_family_post(THRESHOLDS, family, {"limits": limits}, q=q), BudgetThresholdsAnswer)


def budget_plan(family: Any, budget: Any, p: Any, failure: Any, power: Any) -> Call[BudgetPlanAnswer]:
    """The call of `Client.budget_plan`."""
    request = make_family_post(PLAN, family, {"budget": budget}, p=p, failure=failure, power=power)
    return _make_call(request, BudgetPlanAnswer)


def families() -> Call[FamiliesAnswer]:
    """The call of `Client.families`."""
    return _make_call(make_get("/v1/families"), FamiliesAnswer)


def compare(alpha: Any, d: Any, p: Any, r_max: Any) -> Call[CompareAnswer]:
    """The call of `Client.compare`."""
    return _make_call(make_get("/v1/compare", alpha=alpha, d=d, p=p, r_max=r_max), CompareAnswer)


def tables() -> Call[TablesAnswer]:
    """The call of `Client.tables`."""
    return _make_call(make_get("/v1/tables"), TablesAnswer)


def models() -> Call[ModelsAnswer]:
    """The call of `Client.models`."""
    return _make_call(make_get("/v1/models"), ModelsAnswer)


def _make_call(request: Request, kind: type[T]) -> Call[T]:
    return Call([request], lambda responses: read_answer(responses[0], kind))


def _call_with_list(name: str, values: Sequence[Any], p_b: Any, rest: dict[str, Any]) -> Call[RadiiAnswer]:
    def read_all(responses: Sequence[httpx2.Response]) -> RadiiAnswer:
        answers = [read_answer(response, RadiiAnswer) for response in responses]
        radii = [radius for answer in answers for radius in answer.radii]
        _check_number(responses[0], len(radii), len(values))
        return replace(answers[0], radii=radii, source=combine_sources([answer.source for answer in answers]))

    return Call(make_radii_lists(name, values, p_b, **rest), read_all)


def _call_with_array(name: str, values: "NDArray[Any]", p_b: Any, rest: dict[str, Any]) -> Call[RadiiArray]:
    flat = flatten_counts(values) if name == "count" else flatten_probabilities(values)
    if is_several(p_b):  # a `.npy` file has no place for a p_b for each p; JSON has
        requests, read = make_radii_lists(name, flat.tolist(), p_b, **rest), read_radii_list
    else:
        requests, read = make_radii_arrays(flat, p_b=p_b, **rest), read_radii_array

    def read_all(responses: Sequence[httpx2.Response]) -> RadiiArray:
        import numpy as np

        parts, sources = zip(*(read(response) for response in responses), strict=True)
        radii = parts[0] if len(parts) == 1 else np.concatenate(parts)
        _check_number(responses[0], radii.size, flat.size)
        return RadiiArray(
            radii=radii.reshape(values.shape),
            source=combine_sources(sources),
            k=read_integer(rest["k"], "k"),
            alpha=str(Fraction(write_shortest(rest["alpha"], "alpha"))),
            d=read_integer(rest["d"], "d"),
        )

    return Call(requests, read_all)


def _check_number(response: httpx2.Response, received: int, sent: int) -> None:
    if received != sent:
        raise bad_reply(response, f"{received:,} radii for {sent:,} values")
