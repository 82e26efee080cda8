"""Problems: an unexpected error is logged, and its response reveals nothing."""

import pytest
from starlette.testclient import TestClient

RADIUS = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"


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
