"""The application as a whole: health, readiness, its documentation, and its memory when idle."""

import os

from serve.running import Running
from starlette.testclient import TestClient


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
