"""The limits of the page's fields are those of the service."""

import json

import pytest
from playwright.sync_api import expect
from serve.page.view import WAIT_MS, View, needs_chromium
from starlette.testclient import TestClient

from ellzero.core.conventions import DEFAULT_N0
from ellzero.serve.page.limits import describe_limits, write_limits_module
from ellzero.serve.settings import ServeSettings

FIELDS = ("k", "d", "n", "count")


def _read_openapi(client: TestClient) -> dict[str, dict[str, int]]:
    """The schema of each field of GET /v1/radius."""
    parameters = client.get("/openapi.json").json()["paths"]["/v1/radius"]["get"]["parameters"]
    schemas = {parameter["name"]: parameter["schema"] for parameter in parameters}
    return {name: schemas[name].get("anyOf", [schemas[name]])[0] for name in FIELDS}


def test_limits_are_those_of_the_openapi_description_and_the_settings(client: TestClient) -> None:
    limits = describe_limits(ServeSettings(max_votes=5_000))
    for name, schema in _read_openapi(client).items():
        assert limits[name] == {"minimum": schema["minimum"], "maximum": schema["maximum"]}
    assert limits["max_votes"] == 5_000


def test_the_module_holds_the_limits() -> None:
    settings = ServeSettings(max_votes=123)
    text = write_limits_module(settings).decode()
    assert json.loads(text[text.index("{") : text.rindex("}") + 1]) == describe_limits(settings)


@needs_chromium
@pytest.mark.parametrize("name", FIELDS)
def test_a_field_takes_its_largest_value_and_no_larger_one(view: View, client: TestClient, name: str) -> None:
    view.expected.add(422)  # some largest values would take too long to compute
    most = _read_openapi(client)[name]["maximum"]
    if name in ("n", "count"):
        view.choose("mode", "votes")
    if name == "count":
        view.type(n=str(most))
    view.type(**{name: str(most + 1)})
    view.says(f"{name}-error", f"to {most:,}")
    view.type(**{name: str(most)})
    expect(view.at(f"{name}-error")).not_to_contain_text("must be an integer", timeout=WAIT_MS)


@needs_chromium
def test_the_votes_of_a_request_are_limited(view: View) -> None:
    most = ServeSettings().max_votes - DEFAULT_N0
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    view.type(**{"voting-n": str(most + 1)})
    view.says("voting-n-error", f"n must be an integer from 1 to {most:,}")
    view.type(**{"voting-n": str(most)})
    view.shows("voting-n-error", "")
