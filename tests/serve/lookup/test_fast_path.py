"""The fast path answers GET /v1/radius as the ordinary route does, byte by byte."""

from collections.abc import Iterator
from typing import NamedTuple, cast
from urllib.parse import urlencode

import httpx2
import pytest
from hypothesis import example, given, settings, strategies as st
from starlette.testclient import TestClient

from ellzero.serve import ServeSettings, create_app
from ellzero.serve.lookup.fast_path import FastPathMiddleware, parse_plain_query

numbers = st.text("0123456789./", min_size=1, max_size=12) | st.sampled_from(
    ["0.99", "4/5", "1", "0", ".5", "1e-3", "", "+0.5", " 0.5", "-1", "nan", "1/0", "½", "0." + "9" * 500]
)
integers = st.sampled_from(["255", "1", "0", "9", "784", "x", "+7", "1.0", "-3", "", "9" * 40])
values = {
    "p": numbers,
    "p_b": numbers,
    "alpha": st.sampled_from(["0.2", "4/5", "1", "0.20", "2e-1", "abc", "", "0." + "9" * 500]),
    "k": integers,
    "d": integers,
    "count": integers,
    "n": integers,
    "failure": numbers,
    "xp": st.just("0.5"),
    "": st.just(""),
    "é": st.just("ü"),
}
USUAL = {
    "k": st.just("255"),
    "alpha": st.just("0.2"),
    "d": st.sampled_from(["784", "5"]),
    "p": st.sampled_from(["0.99", "4/5", "1", ".5", "1e-3"]),
    "p_b": st.sampled_from(["0.3", "1/7", "0"]),
    "count": st.integers(0, 1_000).map(str),
    "n": st.just("1000"),
    "failure": st.sampled_from(["0.001", "1/20"]),
}
EVIDENCE = (["p"], ["p", "p_b"], ["count", "n"], ["count", "n", "failure"])


@st.composite
def queries(draw: st.DrawFn) -> bytes:
    """Mostly k, alpha, d and evidence in any order; now and then less, more, twice, oddly quoted or malformed."""
    names = ["k", "alpha", "d", *draw(st.sampled_from(EVIDENCE))]
    if draw(st.integers(0, 2)) == 0:
        names += draw(st.lists(st.sampled_from(sorted(values)), max_size=2))
    if draw(st.integers(0, 4)) == 0:
        names.pop(draw(st.integers(0, len(names) - 1)))
    pairs = [
        (name, draw(USUAL[name] if name in USUAL and draw(st.integers(0, 9)) else values[name]))
        for name in draw(st.permutations(names))
    ]
    quoted = urlencode(pairs).encode()
    if draw(st.integers(0, 3)):
        return quoted.replace(b"%2F", b"/")
    at = draw(st.integers(0, len(quoted)))
    return quoted[:at] + draw(st.sampled_from([b"", b"&", b"&&", b"=", b"%", b"%ff", b"+", b";", b"%26"])) + quoted[at:]


class Services(NamedTuple):
    """The service as it is, and the service without its fast path."""

    fast: TestClient
    ordinary: TestClient


@pytest.fixture(scope="module")
def services() -> Iterator[Services]:
    settings = ServeSettings(log_level="error", max_seconds=0.5)
    app, ordinary = create_app(settings), create_app(settings)
    ordinary.user_middleware = [
        one for one in ordinary.user_middleware if one.cls is not cast(object, FastPathMiddleware)
    ]
    assert len(ordinary.user_middleware) == len(app.user_middleware) - 1
    with (
        TestClient(app, raise_server_exceptions=False) as fast,
        TestClient(ordinary, raise_server_exceptions=False) as without,
    ):
        yield Services(fast, without)


def get(client: TestClient, query: bytes) -> httpx2.Response:
    url = client.base_url.copy_with(raw_path=b"/v1/radius?" + query)
    return client.get(url, headers={"x-request-id": "same"})


@given(query=queries())
@example(query=b"")
@example(query=b"k=255&alpha=0.2&d=784&p=0.99&p=0.99")
@example(query=b"k=255&alpha=0.2&d=784&p=0.99&p_b=0.005")
@example(query=b"k=255&alpha=0.2&d=784&count=990&n=1000")
@example(query=b"k=255&alpha=0.2&d=784&count=1001&n=1000")
@example(query=b"k=255&alpha=0.2&d=784&p=0.99&count=3&n=5")
@example(query=b"k=254&alpha=0.99&d=100000000&p=0.9999999999999999999999999999")  # too costly
@example(query=b"k=255&alpha=0.2&d=784&p=" + b"9" * 9_000)
@settings(max_examples=500, deadline=None)
def test_answers_and_errors_are_those_of_the_ordinary_route(services: Services, query: bytes) -> None:
    fast, ordinary = get(services.fast, query), get(services.ordinary, query)
    assert (fast.status_code, fast.content) == (ordinary.status_code, ordinary.content)
    assert fast.headers.raw == ordinary.headers.raw


def test_frequent_queries_are_parsed_at_a_glance() -> None:
    for query in (b"p=0.99&d=150528&k=255&alpha=0.2", b"k=255&alpha=4/5&p=1/3&d=784", b"k=1&alpha=0.8&d=9&p=.9"):
        assert parse_plain_query(query) is not None
    for query in (b"p=0.9&p=0.8&k=1&alpha=0.8&d=9", b"p=0.9&p_b=0.1&k=1&alpha=0.8&d=9", b"p=0.9&k=0&alpha=0.8&d=9"):
        assert parse_plain_query(query) is None
