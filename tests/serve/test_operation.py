"""What operators see: settings, logs, request ids, metrics, health, and the command."""

import asyncio
import io
import json
import os
import shlex
import socket
import sys
from pathlib import Path

import httpx2
import pytest
from command_line import Ellzero
from serve.running import Running, running
from starlette.testclient import TestClient

from ellzero.serve import ServeSettings, create_app
from ellzero.serve.platform.api_keys import hash_key
from ellzero.serve.platform.logs import AccessLog

RADIUS = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"
DOCS = Path(__file__).parents[2] / "docs" / "serving.md"


@pytest.mark.parametrize("name", list(ServeSettings.model_fields))
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    field = ServeSettings.model_fields[name]
    assert field.description
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith(f"| `ELLZERO_SERVE_{name.upper()}` |")]
    assert len(lines) == 1
    assert f"| {_show(field.default)} |" in lines[0]


def _show(default: object) -> str:
    return "" if default in (None, (), {}) else f"`{json.dumps(default) if isinstance(default, bool) else default}`"


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELLZERO_SERVE_PORT", "9001")
    monkeypatch.setenv("ELLZERO_SERVE_API_KEYS", json.dumps({"a": {"sha256": "0" * 64, "routes": ["/v1/plan"]}}))
    settings = ServeSettings()
    assert settings.port == 9001
    assert settings.api_keys["a"].routes == ("/v1/plan",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("serve --port 70000", "port"),
        ("serve --port x", "port"),
        ("serve --workers 0", "workers"),
        ("serve --tables {tmp}/nothing", "nothing"),
    ],
)
def test_a_wrong_option_is_one_line(ellzero: Ellzero, tmp_path: Path, line: str, message: str) -> None:
    run = ellzero(line.format(tmp=tmp_path))
    assert run.code in (1, 2)
    assert message in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_wrong_setting_is_one_line_that_names_it(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELLZERO_SERVE_API_KEYS", '{"a": {"sha256": "secret"}}')
    run = ellzero("serve")
    assert run.code == 2
    assert "ELLZERO_SERVE_API_KEYS" in run.err
    assert len(run.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "abc", "an integer from 0 to 65535"),
        ("WORKERS", "0", "an integer from 1 to 256"),
        ("MAX_SECONDS", "-1", "a number above 0"),
        ("API_KEYS", "foo", "JSON such as"),
        ("LOG_FORMAT", "xml", "json or text"),
    ],
)
def test_a_wrong_variable_is_one_line_with_what_is_allowed(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(f"ELLZERO_SERVE_{name}", value)
    run = ellzero("serve")
    assert run.code == 2
    assert f"ELLZERO_SERVE_{name} must be {allowed}" in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_misspelt_variable_is_a_warning_with_the_nearest_name(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ELLZERO_SERVE_PROT", "80")
    run = ellzero(f"serve --tables {tmp_path}/nothing")
    assert "ELLZERO_SERVE_PROT is not a setting; did you mean ELLZERO_SERVE_PORT?" in run.err


def test_openapi_offers_keys_for_every_operation_if_they_are_configured(client: TestClient) -> None:
    """So that /docs has its button Authorize, and sends the key with every request."""
    key = {"a": {"sha256": "0" * 64}}
    guarded = create_app(ServeSettings(log_level="error", api_keys=key)).openapi()  # type: ignore[arg-type]
    schemes = guarded["components"]["securitySchemes"]
    assert {name: scheme["type"] for name, scheme in schemes.items()} == {
        "APIKeyHeader": "apiKey",
        "HTTPBearer": "http",
    }
    assert (schemes["APIKeyHeader"]["in"], schemes["APIKeyHeader"]["name"]) == ("header", "x-api-key")
    for path, operations in guarded["paths"].items():
        for operation in operations.values():
            offered = [*schemes] if path.startswith("/v1/") else []
            assert operation.get("security", []) == [{name: []} for name in offered], path
    assert "securitySchemes" not in client.get("/openapi.json").json()["components"]


def test_a_port_in_use_is_one_line(ellzero: Ellzero) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run = ellzero(f"serve --port {taken.getsockname()[1]}")
    assert run.code == 1
    assert "in use" in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_new_key_can_be_set_as_it_is_printed(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ellzero(r"""serve --new-key "al\"i'ce" """)
    key = run.out.splitlines()[0].split(": ")[1]
    name, value = run.out.splitlines()[1].removeprefix("setting: ").split("=", 1)
    monkeypatch.setenv(name, *shlex.split(value))
    with TestClient(create_app(ServeSettings(log_level="error"))) as client:
        assert client.get(RADIUS).status_code == 401
        assert client.get(RADIUS, headers={"x-api-key": key}).status_code == 200


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


def test_an_unexpected_error_is_logged_and_its_problem_reveals_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setattr("ellzero.serve.lookup.fast_path.parse_plain_query", broken)
    response = client.get(RADIUS)
    assert response.status_code == 500
    assert response.json()["type"] == "urn:ellzero:problem:internal"
    assert "secret" not in response.text
    record = next(record for record in caplog.records if record.exc_info)
    assert record.fields["request_id"] == response.headers["x-request-id"]  # type: ignore[attr-defined]


def test_health_and_readiness_are_apart(client: TestClient) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_the_docs_load_nothing_from_other_hosts(client: TestClient) -> None:
    page = client.get("/docs").text
    assert "/assets/swagger-ui-bundle.js" in page
    assert "http" not in page
    for file in ("swagger-ui-bundle.js", "swagger-ui.css", "docs.js"):
        assert client.get(f"/assets/{file}").status_code == 200


def test_an_idle_service_is_small(service: Running) -> None:
    """A bound with room to spare; `make bench` measures."""
    assert os.name == "posix"
    assert service.memory() < 250 * 2**20
