"""Columns that the table lacks: computed once, kept, refused if too costly, written back if the operator allows it."""

import asyncio
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from oracles.tables import exact_slice
from serve.load import load
from serve.running import Running, running
from starlette.testclient import TestClient

from ellzero.certificates import Discrete, radius
from ellzero.serve import ServeSettings, create_app
from ellzero.serve.lookup.request_models import ThresholdsRequest
from ellzero.serve.lookup.service import LookupService
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.middleware import start_deadline
from ellzero.serve.platform.problems import HttpProblem
from ellzero.tables import Table


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A table of one column."""
    uri = str(tmp_path / "table")
    Table.create(uri).append([exact_slice(Discrete(255, "0.2"))])
    return uri


def make_client(**settings: object) -> TestClient:
    return TestClient(create_app(ServeSettings(log_level="error", **settings)))  # type: ignore[arg-type]


def test_concurrent_requests_for_a_missing_column_share_one_computation(service: Running) -> None:
    before = service.metric("ellzero_columns_computed_total")
    path = "/v1/radius?p=0.99999&d=150528&k=7&alpha=0.1337"
    outcome = asyncio.run(load(service.url, path, connections=500, requests=20))
    assert outcome.statuses == {200: 10_000}
    assert outcome.dropped == outcome.refused == 0
    assert len(outcome.bodies) == 1
    assert f'"radius":{radius(Discrete(7, "0.1337"), "0.99999", 150528)}'.encode() in outcome.bodies.pop()
    assert service.metric("ellzero_columns_computed_total") - before == 1


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("a column", "/v1/thresholds?k=7&alpha=0.2139"),
        ("too close to 1 for doubles", "/v1/radius?p=0.99999999999999999&d=150528&k=7&alpha=0.2141"),
        ("too close to 1 for rows", "/v1/radius?p=0.9999999999999999999999999&d=150528&k=7&alpha=0.2143"),
        ("votes", "/v1/radius?count=100000&n=100000&d=150528&k=7&alpha=0.2145"),
    ],
)
def test_a_missing_column_is_computed_once_by_every_kind_of_request(service: Running, kind: str, query: str) -> None:
    before = service.metric("ellzero_columns_computed_total")
    outcome = asyncio.run(load(service.url, query, connections=20, requests=2))
    assert outcome.statuses == {200: 40}
    assert len(outcome.bodies) == 1
    assert service.metric("ellzero_columns_computed_total") - before == 1


def test_concurrent_requests_for_different_lengths_of_one_column_are_answered(service: Running) -> None:
    async def ask_together() -> Counter[int]:
        total: Counter[int] = Counter()
        for number in range(20):
            noise = f"k=7&alpha=0.3{number:03d}1"
            paths = [f"/v1/thresholds?{noise}&r_max={r_max}" for r_max in (2, 64, 8, 32)]
            paths += [f"/v1/radius?{noise}&d=784&p={p}" for p in ("0.7", "0.99999999", "0.9")]
            outcomes = await asyncio.gather(*(load(service.url, path, connections=2, requests=2) for path in paths))
            for outcome in outcomes:
                total += outcome.statuses
        return total

    assert asyncio.run(ask_together()) == {200: 20 * 7 * 4}


def waiting_service() -> LookupService:
    return LookupService(ServeSettings(request_timeout=2, max_seconds=600), Metrics())


async def thresholds_of(service: LookupService, r_max: int, alpha: str) -> int:
    start_deadline(2)
    result = await service.thresholds(ThresholdsRequest(k=1, alpha=alpha, r_max=r_max))
    return len(result.column.rows)


def test_a_request_that_arrives_as_work_ends_gets_the_rest_computed() -> None:
    """And does not wait for ever for work that has ended."""

    async def both() -> tuple[int, int]:
        service = waiting_service()
        first = asyncio.create_task(thresholds_of(service, 5, "0.71"))
        await asyncio.sleep(0)
        time.sleep(0.5)  # the event loop has no time to notice that the work is done
        second = asyncio.create_task(thresholds_of(service, 50, "0.71"))
        return await first, await second

    # In a thread: an event loop that stands still could not be timed by itself.
    answered: list[tuple[int, int]] = []
    thread = threading.Thread(target=lambda: answered.append(asyncio.run(both())), daemon=True)
    thread.start()
    thread.join(30)
    assert answered == [(6, 51)]


def test_a_request_that_joins_work_that_is_stopped_is_answered() -> None:
    async def both() -> tuple[int, int]:
        service = waiting_service()
        long = asyncio.create_task(thresholds_of(service, 10**9, "0.502"))
        await asyncio.sleep(1.5)
        joined = asyncio.create_task(thresholds_of(service, 50, "0.502"))
        with pytest.raises(HttpProblem) as caught:
            await long
        return caught.value.status, await joined

    assert asyncio.run(both()) == (503, 51)


def test_votes_at_a_large_failure_probability_prove_more_than_their_share(table: str) -> None:
    """Beyond ε = 1/2 the bound of p lies above count/n: so does what it costs."""
    with make_client(tables=table) as client:
        query = "/v1/radius?count=500&n=1000&failure=0.9&d=2000000000&k=1&alpha=0.5000001"
        assert client.get(query).json()["type"] == "urn:ellzero:problem:too-costly"


def test_rows_of_the_table_are_never_too_costly(table: str) -> None:
    with make_client(tables=table, max_seconds=0.001) as client:
        assert client.get("/v1/thresholds?k=255&alpha=0.2").json()["source"] == "table"
        assert client.get("/v1/thresholds?k=254&alpha=0.02").status_code == 422


def test_numbers_beyond_all_rows_are_charged_each(table: str) -> None:
    far = ["0." + "9" * 40 + str(number) for number in range(1, 2_000)]
    with make_client(tables=table, max_seconds=0.1) as client:
        body = {"k": 255, "alpha": "0.2", "d": 784}
        assert client.post("/v1/radius", json={**body, "p": far[:1] * 2_000}).status_code == 200
        assert client.post("/v1/radius", json={**body, "p": far}).status_code == 422


def test_a_request_that_is_too_costly_is_refused_with_the_limit(table: str) -> None:
    with make_client(tables=table, max_seconds=0.01) as client:
        for query in (
            "/v1/radius?p=0.999999&d=2000000000&k=1&alpha=0.5001",
            "/v1/radius?p=0.6&p_b=0.000001&d=2000000000&k=1&alpha=0.5001",
            "/v1/radius?count=99999999&n=100000000&d=2000000000&k=1&alpha=0.5001",
            "/v1/thresholds?k=1&alpha=0.5001",
        ):
            response = client.get(query)
            assert response.status_code == 422
            problem = response.json()
            assert problem["type"] == "urn:ellzero:problem:too-costly"
            assert problem["limit_seconds"] == 0.01
            assert "0.01 seconds" in problem["detail"]
        batch = {"k": 1, "alpha": "0.5001", "d": 2_000_000_000, "p": [0.5, 0.999999]}
        assert client.post("/v1/radius", json=batch).status_code == 422
        assert client.get("/v1/radius?p=0.999999&d=784&k=255&alpha=0.2").json()["source"] == "table"


def test_a_computed_column_is_kept(table: str) -> None:
    with make_client(tables=table) as client:
        for _ in range(3):
            assert client.get("/v1/radius?p=0.99&d=784&k=9&alpha=0.3").json()["source"] == "computed"
        assert "ellzero_columns_computed_total 1.0" in client.get("/metrics").text


def test_a_column_is_written_back_only_if_the_operator_allows_it(table: str) -> None:
    noise, column = Discrete(9, "0.3"), Discrete(9, "0.4")
    with make_client(tables=table) as client:
        client.get("/v1/radius?p=0.99&d=784&k=9&alpha=0.3")
    assert noise not in Table.open(table).columns()
    with make_client(tables=table, write_back=True) as client:
        client.get("/v1/radius?p=0.99&d=784&k=9&alpha=0.3")
        client.get("/v1/thresholds?k=9&alpha=0.4")
    assert {noise, column} <= set(Table.open(table).columns())
    with make_client(tables=table) as client:
        assert client.get("/v1/radius?p=0.99&d=784&k=9&alpha=0.3").json()["source"] == "table"


def test_slow_work_does_not_delay_cached_answers(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"max_seconds": 60}) as service:

        async def both() -> tuple[bool, int]:
            slow = asyncio.create_task(load(service.url, "/v1/radius?p=0.999999999&d=1000000&k=1&alpha=0.505", 1, 1))
            await asyncio.sleep(0.2)
            quick = await load(service.url, "/v1/radius?p=0.99&d=784&k=255&alpha=0.2", 1, 20)
            waited = slow.done()
            return waited, (await slow).statuses[200] + quick.statuses[200]

        slow_was_done, answered = asyncio.run(both())
        assert answered == 21
        assert not slow_was_done
