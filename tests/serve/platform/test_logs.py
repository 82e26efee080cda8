"""The log: a line for each request with its id, key and worker, and no line that a client could forge."""

import asyncio
import io
import json
import sys
from pathlib import Path

import httpx2
import pytest
from serve.running import running

from ellzero.serve.platform.api_keys import hash_key
from ellzero.serve.platform.logs import AccessLog

RADIUS = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"


def test_a_request_has_an_id_and_a_line_in_the_log_with_its_key_and_worker(tmp_path: Path) -> None:
    keys = json.dumps({"alice": {"sha256": hash_key("alice's secret")}})
    with running(tmp_path / "log", settings={"api_keys": keys}) as service:
        key = {"x-api-key": "alice's secret"}
        mine = httpx2.get(service.url + RADIUS, headers={"x-request-id": "my-request.7", **key})
        assert mine.headers["x-request-id"] == "my-request.7"
        strange = httpx2.get(service.url + RADIUS, headers={"x-request-id": 'a"b c'})
        assert strange.headers["x-request-id"] != 'a"b c'
        assert httpx2.get(service.url + "/nothing").status_code == 404
        wrong = httpx2.get(service.url + RADIUS, headers={"x-request-id": "wrong-key", "x-api-key": "bob's secret"})
        assert (strange.status_code, wrong.status_code) == (401, 401)
        assert service.stop() == 0
        lines = [json.loads(line) for line in service.log.read_text().splitlines()[1:]]
    requests = {line["request_id"]: line for line in lines if line["event"] == "request"}
    line = requests["my-request.7"]
    assert (line["method"], line["path"], line["status"]) == ("GET", "/v1/radius", 200)
    assert line["ms"] > 0
    assert (line["worker"], line["key"]) == (service.process.pid, "alice")
    assert "key" not in requests["wrong-key"]
    assert "secret" not in service.log.read_text(), "keys are never logged"
    assert strange.headers["x-request-id"] in requests
    assert all({"time", "level", "logger", "event"} <= set(line) for line in lines)


def test_logs_for_people_and_less_of_them(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"log_format": "text"}) as service:
        httpx2.get(service.url + RADIUS)
        service.stop()
        assert "GET /v1/radius 200" in service.log.read_text()
    with running(tmp_path / "less", settings={"log_level": "warning"}) as service:
        httpx2.get(service.url + RADIUS)
        service.stop()
        assert len(service.log.read_text().splitlines()) == 1  # where it is


def test_a_path_cannot_forge_lines_of_the_log(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"log_format": "text"}) as service:
        httpx2.get(service.url + "/x%0A12:00:00%20INFO%20GET%20/forged%20200")
        service.stop()
        assert not [line for line in service.log.read_text().splitlines() if line.startswith("12:00:00 INFO")]


def test_lines_of_a_closed_log_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())

    async def three_flushes() -> AccessLog:
        log = AccessLog("json", "info")
        for _ in range(3):
            log.write_request("GET", "/", 200, 0.1, "id")
            log.flush()
        return log

    assert asyncio.run(three_flushes())._lines == []
