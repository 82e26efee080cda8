"""Metrics: requests, answers and batches are counted, over all processes."""

from pathlib import Path

import httpx2
from serve.running import Running, running

RADIUS = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"


def test_metrics_count_requests_answers_and_batches(service: Running) -> None:
    from_table = 'ellzero_answers_total{source="table"}'
    before = {name: service.metric(name) for name in ("ellzero_requests_total", from_table)}
    httpx2.get(service.url + RADIUS)
    batch = {"k": 255, "alpha": "0.2", "d": 9, "p": [0.9] * 50}
    values = service.metric("ellzero_batch_values_sum")
    httpx2.post(service.url + "/v1/radius", json=batch)
    assert service.metric(from_table) == before[from_table] + 2
    assert service.metric("ellzero_batch_values_sum") == values + 50
    assert service.metric("ellzero_requests_total") > before["ellzero_requests_total"] + 2
    text = httpx2.get(service.url + "/metrics").text
    assert 'ellzero_request_seconds_bucket{le="0.001",route="/v1/radius"}' in text
    assert 'ellzero_requests_total{method="GET",route="/v1/radius",status="200"}' in text


def test_metrics_of_paths_that_are_not_there_do_not_grow(service: Running) -> None:
    for number in range(5):
        httpx2.get(f"{service.url}/nothing/{number}")
    text = httpx2.get(service.url + "/metrics").text
    assert "nothing" not in text
    assert 'route="unmatched"' in text


def test_metrics_of_several_processes_are_summed(tmp_path: Path) -> None:
    with running(tmp_path / "log", "--workers", "2") as service:
        for _ in range(40):  # a connection each, so that both processes get some
            httpx2.get(service.url + RADIUS)
        assert service.metric('ellzero_requests_total{method="GET",route="/v1/radius",status="200"}') == 40
