"""The OpenAPI description: keys, where they are configured."""

from starlette.testclient import TestClient

from ellzero.serve import ServeSettings, create_app


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
