"""Budgets of families of every kind: both clients and the local one against ``ellzero.certificates``."""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import isinf

import anyio
import httpx2
import pytest
from client.loopback import serving, started
from hypothesis import HealthCheck, given, settings, strategies as st
from oracles.families import families

from ellzero.certificates import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    Joint,
    Mask,
    RegionList,
    Sparse,
    Votes,
    certified,
    certified_from_votes,
    lower_bound,
    min_p,
    plan,
    rho_inverse,
    threshold,
)
from ellzero.certificates.certified_budgets import CertifiedBudgets
from ellzero.certificates.families.base import Budget, Counts
from ellzero.client import AsyncClient, Client, InvalidInput, RejectedInput, TooCostly, UnsendableValue
from ellzero.serve.app import create_app
from ellzero.serve.settings import ServeSettings
from ellzero.tables import LocalClient

LOCAL = LocalClient()
WORDS = Sparse("0.01", "0.6")
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
probabilities = st.fractions(0, 1, max_denominator=1_000) | st.floats(0, 1) | st.sampled_from(["0.99", Decimal("0.7")])


@pytest.fixture(scope="module")
def service() -> Iterator[Client]:
    with serving(create_app(ServeSettings(log_level="error"))) as url, Client(url) as client:
        yield client


@st.composite
def any_families(draw: st.DrawFn) -> Family:
    """Those of the oracles, and those that no strategy of theirs makes."""
    others = [
        Ablation(9, 3),
        Deletion("0.8"),
        RegionList([[(1, 1)], [(Fraction(1, 3), Fraction(1, 2)), (Fraction(2, 3), Fraction(1, 2))]]),
        Joint(edges=WORDS, nested=Joint(a=Mask("1/3"), b=Discrete(2, "0.7"))),
    ]
    return draw(families() | st.sampled_from(others))


@st.composite
def limited(draw: st.DrawFn, total: int = 6) -> tuple[Family, Budget]:
    """A family with limits within which there are few budgets."""
    family = draw(any_families())
    most = total if len(family.axes) == 1 else 2
    counts = [draw(st.integers(0, most if limit is None else min(limit, most))) for limit in family.most]
    return family, family.write_budget(tuple(counts))


def listed(budgets: CertifiedBudgets) -> object:
    """A staircase as answers have it."""
    return list(budgets) if isinstance(budgets, tuple) else budgets


@shared
@given(limited(), probabilities, st.none() | probabilities, st.integers(1, 3))
def test_budgets_of_a_probability(
    service: Client, case: tuple[Family, Budget], p: Fraction, p_b: Fraction | None, top_k: int
) -> None:
    family, limits = case
    answer = service.certified(family, p, limits=limits, p_b=p_b, top_k=top_k)
    assert answer.certified == listed(certified(family, p, limits, p_b=p_b, top_k=top_k))
    assert answer.family == family.describe()
    assert answer.limits == family.write_budget(family.read_budget(limits))
    assert answer == LOCAL.certified(family, p, limits=limits, p_b=p_b, top_k=top_k)
    assert answer == LOCAL.certified(family.describe(), p, limits=limits, p_b=p_b, top_k=top_k)


@shared
@given(limited(), st.integers(0, 200), st.integers(1, 2))
def test_budgets_of_votes(service: Client, case: tuple[Family, Budget], count: int, top_k: int) -> None:
    family, limits = case
    answer = service.certified(family, count=count, n=200, failure=0.01, limits=limits, top_k=top_k)
    votes = Votes(count, 200, "0.01")
    assert answer.certified == listed(certified_from_votes(family, votes, limits, top_k=top_k))
    assert answer.p_lower is not None
    assert 0 <= Fraction(lower_bound(votes)) - Fraction(answer.p_lower) < Fraction(1, 10**20)
    assert answer == LOCAL.certified(family, count=count, n=200, failure=0.01, limits=limits, top_k=top_k)


@shared
@given(limited(), st.lists(probabilities, min_size=1, max_size=4))
def test_budgets_of_a_list(service: Client, case: tuple[Family, Budget], values: list[Fraction]) -> None:
    family, limits = case
    answer = service.certified(family, values, limits=limits)
    assert answer.certified == [listed(certified(family, p, limits)) for p in values]
    assert answer == LOCAL.certified(family, values, limits=limits)
    counts = service.certified(family, count=[0, 150, 150], n=150, limits=limits)
    assert counts.certified == [
        listed(certified_from_votes(family, Votes(count, 150), limits)) for count in (0, 150, 150)
    ]
    assert counts == LOCAL.certified(family, count=[0, 150, 150], n=150, limits=limits)


@shared
@given(limited(), st.sampled_from(["1/2", Fraction(1, 3), 0.25, "0.9", 0, 1]))
def test_thresholds_of_all_budgets_within_limits(
    service: Client, case: tuple[Family, Budget], q: str | Fraction | float
) -> None:
    family, limits = case
    answer = service.budget_thresholds(family, limits, q=q)
    every: list[Counts] = list(product(*(range(count + 1) for count in family.read_budget(limits))))
    assert [row.budget for row in answer.rows] == [family.write_budget(counts) for counts in every]
    for row in answer.rows:
        least = min_p(family, row.budget, q)
        assert row.threshold == threshold(family, row.budget, q)
        assert row.exact == (Fraction(row.threshold) == rho_inverse(family, row.budget, q))
        assert row.min_p == (None if isinf(least) else least)
    assert answer == LOCAL.budget_thresholds(family, limits, q=q)


def test_votes_that_a_budget_needs(service: Client) -> None:
    graph = Joint(edges=WORDS, tokens=Mask("0.9"))
    cases: list[tuple[Family, Budget, str]] = [
        (WORDS, {"add": 1, "delete": 2}, "0.99"),
        (graph, {"edges": {"delete": 1}, "tokens": 1}, "0.999"),
        (Mask("0.9"), 30, "0.99"),  # no number of votes certifies it
    ]
    for family, budget, p in cases:
        answer, votes = service.budget_plan(family, budget, p, failure=0.01), plan(family, budget, p, "0.01")
        assert (answer.n, answer.min_count) == ((None, None) if votes is None else (votes.n, votes.min_count))
        assert answer == LOCAL.budget_plan(family, budget, p, failure=0.01)
    assert service.budget_plan(Mask("0.9"), 30, "0.99").n is None


def test_long_lists_go_in_several_requests(service: Client) -> None:
    values = [str(Fraction(number, 2_001)) for number in range(2_001)]
    answer = service.certified(Mask("0.9"), values, limits=9)
    assert answer.certified == [certified(Mask("0.9"), p, 9) for p in values]
    bounds = [0.001] * len(values)
    assert service.certified(Mask("0.9"), values[1_990:], p_b=bounds[1_990:], limits=9).certified == [
        certified(Mask("0.9"), p, 9, p_b=0.001) for p in values[1_990:]
    ]


def test_families_are_described_alike(service: Client) -> None:
    assert service.families() == LOCAL.families()
    for info in service.families().families:
        answer = service.certified(info.example, "0.99", limits=info.limits)
        assert answer == LOCAL.certified(info.example, "0.99", limits=info.limits)
        assert answer.certified is not None


def test_the_asynchronous_client_has_the_same_answers() -> None:
    async def call() -> None:
        app = create_app(ServeSettings(log_level="error"))
        async with started(app), AsyncClient("http://service", transport=httpx2.ASGITransport(app)) as client:
            limits = {"add": 5, "delete": 20}
            assert await client.certified(WORDS, "0.95", limits=limits) == LOCAL.certified(WORDS, "0.95", limits=limits)
            assert await client.budget_thresholds(WORDS, {"add": 2}) == LOCAL.budget_thresholds(WORDS, {"add": 2})
            assert await client.budget_plan(WORDS, {}, "0.9") == LOCAL.budget_plan(WORDS, {}, "0.9")
            assert await client.families() == LOCAL.families()

    anyio.run(call)


def test_limits_may_be_far_beyond_what_is_certified(service: Client) -> None:
    limits = {"add": 10**9, "delete": 10**9}
    assert service.certified(WORDS, "0.95", limits=limits).certified == [
        {"add": 0, "delete": 4},
        {"add": 1, "delete": 2},
    ]
    with pytest.raises(TooCostly):  # everything is certified: a staircase of 10^9 steps
        service.certified(WORDS, 1, limits=limits)


@pytest.mark.parametrize(
    ("family", "more", "field"),
    [
        ({"family": "nothing"}, {"p": "0.9", "limits": 1}, "family"),
        ({"family": "mask"}, {"p": "0.9", "limits": 1}, "family.m"),
        ({"family": "mask", "m": "1.5"}, {"p": "0.9", "limits": 1}, "family.m"),
        ({"family": "mask", "m": "0.5", "k": 3}, {"p": "0.9", "limits": 1}, "family.k"),
        ({"family": "joint", "members": {}}, {"p": "0.9", "limits": {}}, "family.members"),
        (Mask("0.9"), {"p": "0.9"}, "limits"),
        (Mask("0.9"), {"p": "0.9", "limits": -1}, "limits"),
        (Mask("0.9"), {"p": "0.9", "limits": 2**31}, "limits"),
        (WORDS, {"p": "0.9", "limits": {"edges": 1}}, "limits"),
        (WORDS, {"p": "0.9", "limits": {"add": -1}}, "limits.add"),
        (Mask("0.9"), {"p": "1.5", "limits": 3}, "p"),
        (Mask("0.9"), {"p": "0.9", "p_b": "-1", "limits": 3}, "p_b"),
        (Mask("0.9"), {"p": "0.9", "limits": 3, "top_k": 0}, "top_k"),
        (Mask("0.9"), {"count": 5, "n": 4, "limits": 3}, "count"),
        (Mask("0.9"), {"p": "0.9", "count": 5, "n": 9, "limits": 3}, "p"),
        (Mask("0.9"), {"p": [], "limits": 3}, "p"),
        (Mask("0.9"), {"p": ["0.5", "x"], "limits": 3}, "p"),
        (Ablation(9, 3), {"p": "0.9", "limits": 10}, "limits"),
    ],
)
def test_wrong_values_are_named_alike(service: Client, family: object, more: dict[str, object], field: str) -> None:
    for client in (service, LOCAL):
        with pytest.raises(InvalidInput) as error:
            client.certified(family, **more)  # type: ignore[call-overload]
        assert error.value.field == field
        assert error.value.allowed


def test_what_cannot_be_sent_is_refused_before_it_is(service: Client) -> None:
    with pytest.raises(UnsendableValue):
        service.certified(3, "0.9", limits=1)  # type: ignore[call-overload]
    with pytest.raises(UnsendableValue):
        service.certified({"family": "mask", "m": object()}, "0.9", limits=1)
    with pytest.raises(RejectedInput):
        service.budget_thresholds(WORDS, {"add": 1_000, "delete": 1_000})
