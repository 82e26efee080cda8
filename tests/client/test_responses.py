"""Answers are read exactly; everything else is an error that says what came back."""

import json
from decimal import Decimal

import httpx2
import numpy as np
import pytest
from client.conftest import TablesCall
from client.loopback import http, scripted
from hypothesis import given, strategies as st

from ellzero.client import (
    BadReply,
    Client,
    ClientError,
    NotAuthorised,
    Overloaded,
    ProblemReply,
    RejectedInput,
    ServerFault,
    TooCostly,
)


@pytest.mark.parametrize(
    ("status", "kind", "error", "builtin"),
    [
        (400, "malformed", RejectedInput, ValueError),
        (422, "invalid-input", RejectedInput, ValueError),
        (422, "too-costly", TooCostly, ClientError),
        (401, "unauthorized", NotAuthorised, PermissionError),
        (403, "forbidden", NotAuthorised, PermissionError),
        (429, "overloaded", Overloaded, ClientError),
        (503, "overloaded", Overloaded, ClientError),
        (500, "internal", ServerFault, ClientError),
        (504, "timeout", ServerFault, ClientError),
        (404, "not-found", ProblemReply, ClientError),
        (413, "too-large", ProblemReply, ClientError),
    ],
)
def test_a_problem_becomes_the_error_of_its_status(
    get_tables: TablesCall, status: int, kind: str, error: type[ProblemReply], builtin: type[Exception]
) -> None:
    problem = {
        "type": f"urn:ellzero:problem:{kind}",
        "title": "Wrong",
        "status": status,
        "detail": "p must be a number\nfrom 0 to 1; got 2",
        "instance": "/v1/tables",
        "request_id": "abc",
        "field": "p",
        "value": 2,
        "allowed": "a number from 0 to 1",
        "limit_seconds": 5.0,
        "later": "a field of a later version",
    }
    reply = http(status, json.dumps(problem).encode(), "content-type: application/problem+json", "retry-after: 9")
    with scripted(reply) as server, pytest.raises(error) as caught:
        get_tables(server.url, retries=0)
    raised = caught.value
    assert type(raised) is error
    assert isinstance(raised, builtin)
    assert str(raised) == f"p must be a number from 0 to 1; got 2 (HTTP {status}, request abc)"
    assert (raised.status, raised.kind, raised.request_id, raised.field, raised.value, raised.allowed) == (
        status,
        kind,
        "abc",
        "p",
        2,
        "a number from 0 to 1",
    )
    if isinstance(raised, TooCostly):
        assert raised.limit_seconds == 5.0
    if isinstance(raised, Overloaded):
        assert raised.retry_after == 9.0


def test_control_characters_of_a_detail_do_not_reach_the_terminal(get_tables: TablesCall) -> None:
    reply = http(422, json.dumps({"detail": "red \x1b[31m and long " + "x" * 10_000}).encode())
    with scripted(reply) as server, pytest.raises(RejectedInput) as caught:
        get_tables(server.url)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_a_proxy_s_error_page_is_a_server_fault(get_tables: TablesCall) -> None:
    page = http(502, b"<html>\n<h1>Bad gateway</h1>", "content-type: text/html", "x-request-id: xyz")
    with scripted(page) as server, pytest.raises(ServerFault) as caught:
        get_tables(server.url, retries=0)
    assert str(caught.value) == "the service answered Reason (HTTP 502, request xyz)"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"type": "about:blank", "title": "Too much", "status": 200}', "Too much"),
        (b'{"title": "Too much", "allowed": ["application/json", "application/x-npy"]}', "Too much"),
        (b'{"title": ["Too much"]}', "the service answered Reason"),
        (b'["Too much"]', "the service answered Reason"),
        (b"null", "the service answered Reason"),
        (b"[" * 100_000, "the service answered Reason"),
    ],
)
def test_a_proxy_s_incomplete_problem_is_completed(get_tables: TablesCall, body: bytes, detail: str) -> None:
    with scripted(http(413, body)) as server, pytest.raises(ProblemReply) as caught:
        get_tables(server.url, retries=0)
    assert str(caught.value) == f"{detail} (HTTP 413)"
    assert caught.value.problem.instance == "/v1/tables"
    assert caught.value.request_id is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (http(200, b"<html>Please log in</html>"), "Invalid JSON"),
        (http(200, b"{}"), "table: Field required"),
        (http(200, b'{"table": "t", "rows": "many", "columns": [], "version": "1"}'), "rows: Input should be"),
        (http(200, b""), "Invalid JSON"),
        (http(204), "HTTP 204"),
        (http(301, b"", "location: https://elsewhere/"), "HTTP 301, a redirection to https://elsewhere/"),
        (http(200, b"no gzip", "content-encoding: gzip"), "Error"),
    ],
)
def test_a_reply_of_another_service_is_a_bad_reply(get_tables: TablesCall, reply: bytes, reason: str) -> None:
    with scripted(reply) as server, pytest.raises(BadReply) as caught:
        get_tables(server.url)
    assert str(caught.value).startswith(f"{server.url}/v1/tables did not answer as an ellzero service does: {reason}")
    assert "\n" not in str(caught.value)


def _npy_header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"", ["ellzero-source: table"]),
        (b"no array", ["ellzero-source: table"]),
        (b"\x93NUMPY\x01\x00", ["ellzero-source: table"]),
        (b"\x93NUMPY\x01\x00\x03\x00(((", ["ellzero-source: table"]),
        (b"PK\x03\x04junk", ["ellzero-source: table"]),
        (b"<html>Please log in</html>", ["ellzero-source: table"]),
        (_npy_header("{'descr': '<i4', 'fortran_order': False, 'shape': (10**15,)}"), ["ellzero-source: table"]),
        (
            _npy_header("{'descr': '<i4', 'fortran_order': False, 'shape': (1000000000000000,)}"),
            ["ellzero-source: table"],
        ),
        ("int64", ["ellzero-source: table"]),
        ("int32", []),
        ("int32", ["ellzero-source: somewhere"]),
        ("object", ["ellzero-source: table"]),
        ("int32 int32", ["ellzero-source: table"]),
    ],
)
def test_an_array_of_another_kind_is_a_bad_reply(body: bytes | str, headers: list[str]) -> None:
    from io import BytesIO

    if isinstance(body, str):
        stream = BytesIO()
        np.save(stream, np.zeros(1 + body.count(" "), body.split()[0]), allow_pickle=True)
        body = stream.getvalue()
    with (
        scripted(http(200, body, *headers)) as server,
        Client(server.url) as client,
        pytest.raises(BadReply, match="did not answer as an ellzero service does") as caught,
    ):
        client.radius(np.ones(1), k=1, alpha="0.8", d=5)
    assert "pickle" not in str(caught.value)


def test_too_few_radii_are_a_bad_reply() -> None:
    answer = b'{"radii": [3], "source": "table", "k": 1, "alpha": "4/5", "d": 5}'
    with (
        scripted(http(200, answer)) as server,
        Client(server.url) as client,
        pytest.raises(BadReply, match="1 radii for 2"),
    ):
        client.radius([0.9, 0.8], k=1, alpha="0.8", d=5)


def test_the_decimals_and_doubles_of_an_answer_are_exact(client: Client) -> None:

    from ellzero.client._responses import read_answer
    from ellzero.core.schemas import ThresholdRow

    @given(st.floats(0, 1), st.integers(0, 10**40))
    def rows(min_p: float, digits: int) -> None:
        threshold = Decimal(digits).scaleb(-40)
        reply = httpx2.Response(200, json={"r": 1, "threshold": str(threshold), "exact": True, "min_p": min_p})
        assert read_answer(reply, ThresholdRow) == ThresholdRow(1, threshold, True, min_p)

    rows()
