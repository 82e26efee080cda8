"""API keys: optional, stored as hashes, valid for some routes or all; other origins; headers of the page."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from ellzero.serve import ServeSettings, create_app
from ellzero.serve.platform.api_keys import hash_key, make_key
from ellzero.serve.settings import ApiKey

RADIUS = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"
KEYS = {
    "alice": ApiKey(sha256=hash_key("alice's key")),
    "bob": ApiKey(sha256=hash_key("bob's key"), routes=("/v1/thresholds", "/v1/tables")),
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[TestClient]:
    with TestClient(create_app(ServeSettings(log_level="error", api_keys=KEYS))) as client:
        yield client


@pytest.mark.parametrize("headers", [{"x-api-key": "alice's key"}, {"authorization": "Bearer alice's key"}])
def test_a_key_opens_the_routes(guarded: TestClient, headers: dict[str, str]) -> None:
    assert guarded.get(RADIUS, headers=headers).json()["radius"] == 3
    assert guarded.get("/metrics", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers", [{}, {"x-api-key": "alice's kez"}, {"x-api-key": ""}, {"authorization": "Basic alice's key"}]
)
@pytest.mark.parametrize("path", [RADIUS, "/v1/tables", "/v1/nothing", "/metrics"])
def test_without_a_valid_key_protected_routes_answer_401(
    guarded: TestClient, headers: dict[str, str], path: str
) -> None:
    response = guarded.get(path, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["content-type"] == "application/problem+json"
    assert "alice" not in response.text


def test_a_key_may_be_valid_for_some_routes_only(guarded: TestClient) -> None:
    headers = {"x-api-key": "bob's key"}
    assert guarded.get("/v1/tables", headers=headers).status_code == 200
    refused = guarded.get(RADIUS, headers=headers)
    assert refused.status_code == 403
    assert "/v1/radius" in refused.json()["detail"]


@pytest.mark.parametrize("path", ["/", "/healthz", "/readyz", "/docs", "/openapi.json"])
def test_health_and_the_page_need_no_key(guarded: TestClient, path: str) -> None:
    assert guarded.get(path).status_code == 200


def test_a_new_key_is_long_and_stored_as_its_hash() -> None:
    key, digest = make_key()
    assert len(key) > 40
    assert digest == hash_key(key)
    assert key not in digest
    assert make_key() != (key, digest)


def test_other_origins_are_refused_unless_the_operator_allows_them(client: TestClient) -> None:
    origin = {"origin": "https://example.org"}
    assert "access-control-allow-origin" not in client.get(RADIUS, headers=origin).headers
    settings = ServeSettings(log_level="error", cors_origins=("https://example.org",), api_keys=KEYS)
    with TestClient(create_app(settings)) as open_to_one:
        key = {"x-api-key": "alice's key"}
        allowed = open_to_one.get(RADIUS, headers=origin | key)
        assert allowed.headers["access-control-allow-origin"] == "https://example.org"
        for wrong in (open_to_one.get("/v1/radius?p=2", headers=origin | key), open_to_one.get(RADIUS, headers=origin)):
            assert wrong.status_code in (401, 422)
            assert wrong.headers["access-control-allow-origin"] == "https://example.org"
        other = open_to_one.get(RADIUS, headers={"origin": "https://example.com"} | key)
        assert "access-control-allow-origin" not in other.headers
        preflight = open_to_one.options(
            RADIUS,
            headers=origin | {"access-control-request-method": "GET", "access-control-request-headers": "x-api-key"},
        )
        assert preflight.status_code == 200


@pytest.mark.parametrize("path", ["/", "/docs", "/assets/main.js"])
def test_the_page_is_guarded_by_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_answers_head(client: TestClient) -> None:
    response = client.head("/")
    assert response.status_code == 200
    assert "content-security-policy" in response.headers


def test_files_are_compressed_and_sent_once(client: TestClient) -> None:
    first = client.get("/assets/plotly.min.js")
    assert first.headers["content-encoding"] == "gzip"
    assert len(first.content) > 10**6
    again = client.get("/assets/plotly.min.js", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    plain = client.get("/assets/plotly.min.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == first.content
