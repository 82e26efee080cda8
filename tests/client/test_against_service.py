"""Both clients against the real service, on a socket and in process, compared with ``ellzero.certificates``."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import anyio
import httpx2
import numpy as np
import pytest
from client.loopback import serving, started
from hypothesis import HealthCheck, given, settings, strategies as st

from ellzero.certificates import (
    Discrete,
    Votes,
    certify,
    column,
    gaussian_l0_radius,
    lower_bound,
    min_count,
    min_p,
    plan,
    radius,
    radius_from_votes,
    reachable_radius,
    sigma_for_alpha,
)
from ellzero.client import AsyncClient, Client, InvalidInput, NotAuthorised, ProblemReply, TooCostly
from ellzero.serve.app import create_app
from ellzero.serve.platform.api_keys import hash_key
from ellzero.serve.settings import ApiKey, ServeSettings
from ellzero.tables import LocalClient

NOISE = Discrete(255, "0.2")
D = 784
LOCAL = LocalClient()
KEY = "a key of these tests"
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(create_app(ServeSettings(log_level="error"))) as address:
        yield address


@pytest.fixture(scope="module")
def service(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@asynccontextmanager
async def in_process() -> AsyncIterator[AsyncClient]:
    """The application without a socket."""
    app = create_app(ServeSettings(log_level="error"))
    async with (
        started(app),
        AsyncClient("http://service", transport=httpx2.ASGITransport(app)) as client,
    ):
        yield client


@shared
@given(st.floats(0, 1) | st.fractions(0, 1, max_denominator=10**40))
def test_one_probability(service: Client, p: float | Fraction) -> None:
    answer = service.radius(p, k=255, alpha=0.2, d=D)
    assert answer.radius == radius(NOISE, p, D)
    assert answer == LOCAL.radius(p, k=255, alpha=0.2, d=D)
    assert (answer.k, answer.alpha, answer.d) == (255, "1/5", D)
    if p != 1:
        certificate = certify(NOISE, p, D)
        assert (answer.threshold, answer.next_threshold) == (certificate.threshold, certificate.next_threshold)


def doubles_near_thresholds() -> st.SearchStrategy[float]:
    """Doubles from 0 to 1, most of them a few steps from a threshold of `NOISE`."""
    steps = st.builds(
        lambda r, ulps: min(min_p(NOISE, r) + ulps * 2.0**-53, 1.0), st.integers(0, 12), st.integers(-3, 3)
    )
    return steps | st.floats(0, 1) | st.sampled_from([5e-324, 0.5, 0.9, 1.0])


@shared
@given(st.lists(st.tuples(doubles_near_thresholds(), doubles_near_thresholds()), min_size=1, max_size=8))
def test_a_float_is_the_same_number_with_a_service_and_without(
    service: Client, pairs: list[tuple[float, float]]
) -> None:
    """Alone, in a list and in an array; against a runner-up and without."""
    p, p_b = map(list, zip(*pairs, strict=True))
    noise: dict[str, Any] = {"k": 255, "alpha": "0.2", "d": D}
    expected = [radius(NOISE, Fraction(one), D) for one in p]
    for client in (service, LOCAL):
        assert [client.radius(one, **noise).radius for one in p] == expected
        assert client.radius(p, **noise).radii == expected
        assert client.radius([*p, "0.75"], **noise).radii[:-1] == expected
        numbers = client.radius(np.array(p), **noise).radii.tolist()
        assert [None if number < 0 else number for number in numbers] == expected
    assert service.radius(p, **noise) == LOCAL.radius(p, **noise)
    assert service.radius(p, p_b=p_b, **noise) == LOCAL.radius(p, p_b=p_b, **noise)


@pytest.mark.parametrize("r", range(1, 9))
def test_a_double_on_either_side_of_a_threshold(service: Client, r: int) -> None:
    """The least double that certifies r, and the one before."""
    least = service.thresholds(k=255, alpha="1/5", r_max=r).rows[r].min_p
    values = [least, float(np.nextafter(least, 0))]
    assert [service.radius(p, k=255, alpha="1/5", d=D).radius for p in values] == [r, r - 1]
    assert service.radius(values, k=255, alpha="1/5", d=D).radii == [r, r - 1]
    assert service.radius(np.array([values]), k=255, alpha="1/5", d=D).radii.tolist() == [[r, r - 1]]
    threshold = service.thresholds(k=255, alpha="1/5", r_max=r).rows[r].threshold
    assert service.radius(threshold, k=255, alpha="1/5", d=D).radius == radius(NOISE, threshold, D)


def test_two_classes(service: Client) -> None:
    noise = Discrete(255, "0.1")
    tops: list[str | float | Fraction] = ["0.48", 0.4, Fraction(1, 3)]
    others: list[str | float | Decimal] = [0.01, "1/5", Decimal("0.33")]
    expected = [radius(noise, p, D, p_b) for p, p_b in zip(tops, others, strict=True)]
    assert expected[0] == 2
    for p, p_b, certified in zip(tops, others, expected, strict=True):
        assert service.radius(p, p_b=p_b, k=255, alpha="0.1", d=D).radius == certified
    assert service.radius(tops, p_b=others, k=255, alpha="0.1", d=D).radii == expected
    array = np.array([0.48, 0.2])
    together = [radius(noise, p, D, "0.01") for p in array.tolist()]
    assert service.radius(array, p_b="0.01", k=255, alpha="0.1", d=D).radii.tolist() == together
    assert service.radius(array, p_b=[0.01, "0.01"], k=255, alpha="0.1", d=D).radii.tolist() == [
        radius(noise, array[0], D, 0.01),
        together[1],
    ]


def test_votes(service: Client) -> None:
    counts = [0, 50_500, 70_136, 85_718, 85_719, 99_900, 100_000]
    expected = [radius_from_votes(NOISE, Votes(count, 100_000, "0.001"), D) for count in counts]
    assert service.radius(count=counts, n=100_000, k=255, alpha=0.2, d=D).radii == expected
    array = np.array(counts, np.uint32).reshape(7, 1)
    radii = service.radius(count=array, n=100_000, failure=0.001, k=255, alpha=0.2, d=D).radii
    assert radii.tolist() == [[-1 if radius is None else radius] for radius in expected]
    answer = service.radius(count=99_900, n=100_000, k=255, alpha=0.2, d=D)
    assert (answer.radius, answer.count, answer.n) == (7, 99_900, 100_000)
    assert answer.failure is not None
    assert Fraction(answer.failure) == Fraction(1, 1000)
    assert answer.p_lower is not None
    low = Fraction(lower_bound(Votes(99_900, 100_000)))
    assert 0 <= low - Fraction(answer.p_lower) < Fraction(1, 10**20)
    assert (answer.min_count, answer.next_min_count) == tuple(min_count(NOISE, r, 100_000) for r in (7, 8))


def test_thresholds(service: Client) -> None:
    answer = service.thresholds(k=255, alpha=0.2)
    expected = column(NOISE).rows
    assert [(row.threshold, row.exact, row.min_p) for row in answer.rows[:50]] == [
        (row.value, row.exact, row.min_p) for row in expected[:50]
    ]
    assert [row.r for row in answer.rows] == list(range(len(answer.rows)))
    assert answer.end == "complete"


def test_plans_and_comparisons_and_tables(service: Client) -> None:
    planned = plan(NOISE, 3, "0.99", "0.001", "0.9")
    assert planned is not None
    answer = service.plan(k=255, alpha=0.2, r=3, p="0.99")
    assert (answer.n, answer.min_count, answer.r) == (planned.n, planned.min_count, 3)
    assert service.plan(k=255, alpha=0.2, n=1000, d=D, failure=0.01).r == reachable_radius(NOISE, 1000, "0.01", D)
    compared = service.compare(alpha=0.8, d=D, p="0.99", r_max=2)
    assert compared.discrete == radius(Discrete(1, "0.8"), "0.99", D)
    assert compared.gaussian == gaussian_l0_radius(sigma_for_alpha("0.8"), "0.99", D)
    assert [row.r for row in compared.rows] == [0, 1, 2]
    tables = service.tables()
    assert ("1/5", 255) in {(one.alpha, one.k) for one in tables.columns}
    assert service.health()
    assert service.ready()


def test_answers_with_a_service_and_without_are_equal(service: Client) -> None:
    """To the last field, whatever the kind of number."""
    for p, p_b in [(0.48, 1e-170), ("0.48", "1/100"), (Decimal("0.4"), 0.1), (np.float32(0.99), None), (1, None)]:
        arguments = {"p": p, "p_b": p_b, "k": np.int16(255), "alpha": 0.1, "d": np.int64(D)}
        assert service.radius(**arguments) == LOCAL.radius(**arguments)  # type: ignore[call-overload]
    for plan_of in ({"r": 3, "p": 0.99}, {"r": 3, "p": 0.99, "power": 0.5, "failure": 0.01}, {"n": 1000, "d": D}):
        assert service.plan(k=255, alpha=0.2, **plan_of) == LOCAL.plan(k=255, alpha=0.2, **plan_of)
    assert service.compare(alpha=0.8, d=D, p=0.99, r_max=3) == LOCAL.compare(alpha=0.8, d=D, p=0.99, r_max=3)
    assert service.thresholds(k=255, alpha=0.2) == LOCAL.thresholds(k=255, alpha=0.2)
    assert service.tables() == LOCAL.tables()
    votes = {"count": 990, "n": 1000, "failure": 0.01, "k": 255, "alpha": 0.2, "d": D}
    assert service.radius(**votes) == LOCAL.radius(**votes)  # type: ignore[call-overload]
    for client in (service, LOCAL):
        assert client.radius(np.array(0.99), k=255, alpha=0.2, d=D).radii.shape == ()
        assert client.radius(count=np.array(990), n=1000, k=255, alpha=0.2, d=D).radii.shape == ()


def test_a_million_and_one_values(service: Client) -> None:
    p = np.linspace(0, 1, 1_000_001)
    answer = service.radius(p, k=255, alpha=0.2, d=D)
    assert answer.radii.shape == p.shape
    for at in (0, 500_000, 500_001, 990_000, 999_999, 1_000_000):
        certified = radius(NOISE, float(p[at]), D)
        assert answer.radii[at] == (-1 if certified is None else certified)


def test_refusals_of_the_service_are_errors(service: Client) -> None:
    with pytest.raises(InvalidInput) as caught:
        service.radius("1.1", k=255, alpha="0.2", d=D)
    assert (caught.value.field, caught.value.value) == ("p", "1.1")
    assert caught.value.allowed == "a number from 0 to 1"
    assert str(caught.value).startswith("p must be a number from 0 to 1; got '1.1' (HTTP 422, request ")
    with pytest.raises(InvalidInput):
        service.radius([], k=255, alpha="0.2", d=D)
    with pytest.raises(InvalidInput):
        service.radius(np.array([0.5, np.nan]), k=255, alpha="0.2", d=D)
    with pytest.raises(TooCostly) as costly:
        service.thresholds(k=1, alpha="0.500001")
    assert costly.value.limit_seconds == 5.0


def test_api_keys() -> None:
    keys = {"tests": ApiKey(sha256=hash_key(KEY))}
    with serving(create_app(ServeSettings(api_keys=keys, log_level="error"))) as url:
        with Client(url, api_key=KEY) as client:
            assert client.radius("0.99", k=255, alpha=0.2, d=D).radius == 3
        for key in (None, "another key"):
            with Client(url, api_key=key) as client, pytest.raises(NotAuthorised) as caught:
                client.tables()
            assert KEY not in str(caught.value)
            assert str(key) not in str(caught.value)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_asynchronously_on_a_socket_and_in_process(url: str, backend: str) -> None:
    async def call_all(client: AsyncClient) -> None:
        one = await client.radius(0.99, k=255, alpha=0.2, d=D)
        some = await client.radius([0.99, "0.5"], k=255, alpha=0.2, d=D)
        many = await client.radius(np.array([[0.99, 0.5]]), k=255, alpha=0.2, d=D)
        votes = await client.radius(count=99_900, n=100_000, k=255, alpha=0.2, d=D)
        assert (one.radius, some.radii, many.radii.tolist(), votes.radius) == (3, [3, None], [[3, -1]], 7)
        assert (await client.thresholds(k=1, alpha="0.8", r_max=1)).rows[1].threshold == Decimal("0.875")
        assert (await client.plan(k=255, alpha=0.2, r=3, p="0.99")).n == 2482
        assert (await client.compare(alpha="0.8", d=5, p=0.9)).discrete == radius(Discrete(1, "0.8"), 0.9, 5)
        assert (await client.tables()).rows > 0
        assert await client.health()
        assert await client.ready()
        with pytest.raises(ProblemReply):
            await client.radius(2, k=255, alpha=0.2, d=D)

    async def everywhere() -> None:
        async with AsyncClient(url) as client:
            await call_all(client)
        if backend == "asyncio":  # as the service itself is
            async with in_process() as client:
                await call_all(client)

    anyio.run(everywhere, backend=backend)
