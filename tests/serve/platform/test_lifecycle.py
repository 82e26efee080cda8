"""Signals: SIGTERM drops no request, SIGHUP reloads the table."""

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from oracles.tables import exact_slice
from serve.load import LoadOutcome, load
from serve.running import Running, running

from ellzero.certificates import Discrete
from ellzero.tables import Table

PATH = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "the condition was not met within 30 s"
        time.sleep(0.02)


async def _stop_under_load(service: Running) -> LoadOutcome:
    responses = asyncio.create_task(load(service.url, PATH, connections=32, requests=1_000_000))
    await asyncio.sleep(1)
    service.process.send_signal(signal.SIGTERM)
    return await responses


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_under_load_drops_no_request(tmp_path: Path, workers: int) -> None:
    with running(tmp_path / "log", "--workers", str(workers), settings={"log_level": "warning"}) as service:
        outcome = asyncio.run(_stop_under_load(service))
        assert service.process.wait(30) == 0
    assert outcome.dropped == 0
    assert outcome.refused == 0
    assert set(outcome.statuses) == {200}
    assert outcome.statuses[200] > 100


def test_a_stopping_service_is_healthy_but_not_ready(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"drain_seconds": 2}) as service:
        service.process.send_signal(signal.SIGTERM)
        _wait_until(lambda: httpx2.get(service.url + "/readyz").status_code == 503)
        assert httpx2.get(service.url + "/healthz").status_code == 200
        assert httpx2.get(service.url + PATH).json()["radius"] == 3
        assert service.process.wait(30) == 0


def test_a_slow_request_is_finished_before_the_service_stops(tmp_path: Path) -> None:
    settings = {"drain_seconds": 0, "max_seconds": 600}
    with running(tmp_path / "log", settings=settings) as service:

        async def stop_while_computing() -> LoadOutcome:
            slow = asyncio.create_task(load(service.url, "/v1/radius?p=0.99999&d=1000000&k=1&alpha=0.505", 1, 1))
            await asyncio.sleep(0.3)
            service.process.send_signal(signal.SIGTERM)
            return await slow

        outcome = asyncio.run(stop_while_computing())
        assert outcome.statuses == {200: 1}
        assert service.process.wait(30) == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_sighup_reloads_the_table(tmp_path: Path, workers: int) -> None:
    uri = str(tmp_path / "table")
    Table.create(uri).append([exact_slice(Discrete(255, "0.2"))])
    with running(tmp_path / "log", "--tables", uri, "--workers", str(workers)) as service:
        assert len(httpx2.get(service.url + "/v1/tables").json()["columns"]) == 1
        Table.open(uri).append([exact_slice(Discrete(255, "0.3"))])
        service.process.send_signal(signal.SIGHUP)
        _wait_until(lambda: len(httpx2.get(service.url + "/v1/tables").json()["columns"]) == 2)
        assert service.process.poll() is None


def test_a_damaged_table_does_not_replace_the_loaded_one(tmp_path: Path) -> None:
    uri = tmp_path / "table"
    Table.create(str(uri)).append([exact_slice(Discrete(255, "0.2"))])
    with running(tmp_path / "log", "--tables", str(uri)) as service:
        for shard in uri.glob("*.parquet"):
            shard.write_bytes(shard.read_bytes()[:-1])
        service.process.send_signal(signal.SIGHUP)
        _wait_until(lambda: service.metric('ellzero_table_reloads_total{outcome="failed"}') == 1)
        assert httpx2.get(service.url + PATH).json()["source"] == "table"
        assert "the old ones stay" in service.log.read_text()
