"""A service that fails: what is tried again, what is not, and what the caller is told."""

import json
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import httpx2
import pytest
from client.echo import Echo
from client.loopback import Drop, http, scripted, serving

from ellzero.client import (
    AsyncClient,
    BadReply,
    Client,
    ClientError,
    NotAuthorised,
    Overloaded,
    Problem,
    ProblemReply,
    RejectedInput,
    RequestTimeout,
    ServerFault,
    ServerUnreachable,
    TablesAnswer,
    TooCostly,
    UnsendableValue,
)
from ellzero.client._connection import LONGEST_WAIT, Retries

TABLES = http(200, b'{"table": "t", "rows": 0, "columns": [], "version": "1", "conventions": {}}')


class Asking:
    """Asks for the tables in the one way or the other."""

    def __init__(self, synchronous: bool) -> None:
        self.synchronous = synchronous

    def __call__(self, url: str, **settings: Any) -> TablesAnswer:
        if self.synchronous:
            with Client(url, **settings) as client:
                return client.tables()

        async def asking() -> TablesAnswer:
            async with AsyncClient(url, **settings) as client:
                return await client.tables()

        return anyio.run(asking)


@pytest.fixture(params=["Client", "AsyncClient"])
def tables(request: pytest.FixtureRequest) -> Asking:
    return Asking(request.param == "Client")


@pytest.mark.parametrize(
    "fault",
    [
        Drop,
        TABLES[:-5],
        b"no HTTP at all\r\n\r\n",
        http(429, b"", "retry-after: 0"),
        http(502, b"<html>Bad gateway</html>"),
        http(503, b"", "retry-after: 0"),
        http(503, b"", "retry-after: soon"),
        http(504),
    ],
)
def test_what_passes_is_tried_again(tables: Asking, fault: bytes | None) -> None:
    with scripted(fault, fault, TABLES) as server:
        assert tables(server.url).table == "t"
        assert len(server.asked) == 3
        assert len(set(server.asked)) == 1, "the same question each time"


def test_posted_questions_are_tried_again_with_their_bodies() -> None:
    answer = b'{"radii": [3], "source": "table", "k": 1, "alpha": "4/5", "d": 5}'
    with scripted(Drop, http(200, answer)) as server, Client(server.url) as client:
        assert client.radius([0.9], k=1, alpha="0.8", d=5).radii == [3]
        assert len(set(server.asked)) == 1
        assert server.asked[0].endswith(b'"p":[0.9]}')


def test_attempts_are_bounded(tables: Asking) -> None:
    with scripted(Drop) as server:
        with pytest.raises(ServerUnreachable) as caught:
            tables(server.url, retries=2)
        assert len(server.asked) == 3
    assert str(caught.value).startswith(f"no service answers at {server.url}/v1/tables: ")
    with scripted(Drop, TABLES) as server, pytest.raises(ServerUnreachable):
        tables(server.url, retries=0)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 422, 500, 501])
def test_what_would_come_again_is_not_tried_again(tables: Asking, status: int) -> None:
    with scripted(http(status), TABLES) as server:
        with pytest.raises(ProblemReply):
            tables(server.url)
        assert len(server.asked) == 1


def test_what_took_the_service_too_long_is_not_begun_anew(tables: Asking) -> None:
    """Waiting in vain again would multiply the wait, and what the service does for nothing."""
    problem = b'{"type": "urn:ellzero:problem:timeout", "detail": "no answer within 30 seconds"}'
    with scripted(http(503, problem, "retry-after: 0"), TABLES) as server:
        with pytest.raises(Overloaded, match="no answer within 30 seconds"):
            tables(server.url)
        assert len(server.asked) == 1


def test_nobody_there(tables: Asking) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ServerUnreachable) as caught:
        tables(f"http://user:secret@127.0.0.1:{port}/ellzero", retries=1)
    assert str(caught.value).startswith(f"no service answers at http://127.0.0.1:{port}/ellzero/v1/tables: ")
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, ConnectionError)


def test_no_answer_in_time(tables: Asking) -> None:
    """The connection is accepted by the system, and nobody reads."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(RequestTimeout) as caught:
            tables(url, timeout=0.2)
        listener.settimeout(5)
        listener.accept()[0].close()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert str(caught.value) == f"no answer from {url}/v1/tables within 0.2 seconds"
    assert isinstance(caught.value, TimeoutError)


def test_a_service_that_asks_for_a_pause_gets_it() -> None:
    def told(value: str) -> float | None:
        request = httpx2.Request("GET", "http://127.0.0.1/v1/tables")
        return Retries(1).next_wait(httpx2.Response(503, headers={"retry-after": value}, request=request))

    for seconds in (0, 1, 7, LONGEST_WAIT):
        wait = told(f"{seconds:.0f}")
        assert wait is not None
        assert seconds <= wait <= seconds + 1
    assert told("31") is None, "longer than anybody waits: the caller decides"
    at = datetime.now(UTC) + timedelta(seconds=20)
    for text in (format_datetime(at, usegmt=True), format_datetime(at.replace(tzinfo=None))):
        wait = told(text)
        assert wait is not None
        assert 10 < wait < 21
    assert (told("Wed, 21 Oct 2015 07:28:00 GMT") or 9) < 1, "the time has come"
    assert (told("nonsense") or 9) < 1


def test_waits_double_up_to_a_bound_and_are_spread() -> None:
    many = [[retries.next_wait(httpx2.ReadError("")) or 0.0 for _ in range(12)] for retries in map(Retries, [12] * 50)]
    for number in range(12):
        waits = [waits[number] for waits in many]
        longest = min(0.1 * 2**number, 5)
        assert longest / 2 <= min(waits) < max(waits) <= longest
    assert Retries(0).next_wait(httpx2.ReadError("")) is None


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
def test_a_problem_is_the_error_that_people_catch(
    tables: Asking, status: int, kind: str, error: type[ProblemReply], builtin: type[Exception]
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
        tables(server.url, retries=0)
    told = caught.value
    assert type(told) is error
    assert isinstance(told, builtin)
    assert str(told) == f"p must be a number from 0 to 1; got 2 (HTTP {status}, request abc)"
    assert (told.status, told.kind, told.request_id, told.field, told.value, told.allowed) == (
        status,
        kind,
        "abc",
        "p",
        2,
        "a number from 0 to 1",
    )
    if isinstance(told, TooCostly):
        assert told.limit_seconds == 5.0
    if isinstance(told, Overloaded):
        assert told.retry_after == 9.0


def test_a_detail_cannot_command_the_terminal(tables: Asking) -> None:
    reply = http(422, json.dumps({"detail": "red \x1b[31m and long " + "x" * 10_000}).encode())
    with scripted(reply) as server, pytest.raises(RejectedInput) as caught:
        tables(server.url)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_an_error_page_of_something_in_between(tables: Asking) -> None:
    page = http(502, b"<html>\n<h1>Bad gateway</h1>", "content-type: text/html", "x-request-id: xyz")
    with scripted(page) as server, pytest.raises(ServerFault) as caught:
        tables(server.url, retries=0)
    assert str(caught.value) == "the service answered Told (HTTP 502, request xyz)"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"type": "about:blank", "title": "Too much", "status": 200}', "Too much"),
        (b'{"title": "Too much", "allowed": ["application/json", "application/x-npy"]}', "Too much"),
        (b'{"title": ["Too much"]}', "the service answered Told"),
        (b'["Too much"]', "the service answered Told"),
        (b"null", "the service answered Told"),
        (b"[" * 100_000, "the service answered Told"),
    ],
)
def test_a_problem_of_something_in_between(tables: Asking, body: bytes, detail: str) -> None:
    with scripted(http(413, body)) as server, pytest.raises(ProblemReply) as caught:
        tables(server.url, retries=0)
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
def test_a_reply_that_is_none_of_ours(tables: Asking, reply: bytes, reason: str) -> None:
    with scripted(reply) as server, pytest.raises(BadReply) as caught:
        tables(server.url)
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
def test_an_array_that_is_none_of_ours(body: bytes | str, headers: list[str]) -> None:
    from io import BytesIO

    import numpy as np

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


def test_radii_that_are_too_few() -> None:
    answer = b'{"radii": [3], "source": "table", "k": 1, "alpha": "4/5", "d": 5}'
    with (
        scripted(http(200, answer)) as server,
        Client(server.url) as client,
        pytest.raises(BadReply, match="1 radii for 2"),
    ):
        client.radius([0.9, 0.8], k=1, alpha="0.8", d=5)


def test_probes_say_no_where_nobody_is_or_is_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gone = f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def asynchronously(url: str) -> tuple[bool, bool]:
        async with AsyncClient(url) as asking:
            return await asking.health(), await asking.ready()

    with scripted(http(200, b"{}")) as up, scripted(http(503, b"", "retry-after: 9")) as starting:
        for url, expected in ((up.url, True), (starting.url, False), (gone, False)):
            with Client(url) as client:
                assert (client.health(), client.ready()) == (expected, expected)
            assert anyio.run(asynchronously, url) == (expected, expected)
        assert len(starting.asked) == 4, "asked once each"
        assert [asked.split()[1] for asked in starting.asked] == [b"/healthz", b"/readyz"] * 2
    with scripted(http(404)) as other, Client(other.url) as client, pytest.raises(ProblemReply):
        client.health()


def test_the_key_travels_in_a_header_and_not_to_where_a_redirection_leads(client: Client, echo: Echo) -> None:
    client.radius(0.9, k=1, alpha="0.8", d=5)
    assert echo.headers[0]["x-api-key"] == "a key"
    assert echo.headers[0]["user-agent"].startswith("ellzero-client/")
    with scripted(TABLES) as elsewhere:
        redirection = http(307, b"", f"location: {elsewhere.url}")
        with scripted(redirection) as server, Client(server.url, api_key="k") as asking, pytest.raises(BadReply):
            asking.tables()
        assert elsewhere.asked == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "127.0.0.1:8000"}, "base_url must be an address such as http://127.0.0.1:8000"),
        ({"base_url": "ftp://host"}, "base_url must be"),
        ({"base_url": "http://"}, "base_url must be"),
        (
            {"base_url": "http://me:secret@host/?p=1"},
            "base_url must be an address such as http://127.0.0.1:8000; got 'http://host/?p=1'",
        ),
        ({"base_url": "http://host:port"}, "base_url must be"),
        ({"base_url": None}, "base_url must be"),
        (
            {"api_key": "a\r\nb: c"},
            "api_key must be printable ASCII text without spaces around it; got 'something else'",
        ),
        ({"api_key": "schlüssel"}, "api_key must be printable"),
        ({"api_key": ""}, "api_key must be printable"),
        ({"api_key": b"key"}, "api_key must be printable"),
        ({"timeout": None}, "timeout must be"),
        ({"timeout": "5"}, "timeout must be"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0; got 0"),
        ({"timeout": float("inf")}, "timeout must be"),
        ({"retries": -1}, "retries must be an integer of at least 0; got -1"),
        ({"retries": 1.5}, "retries must be an integer; got 1.5"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(UnsendableValue) as caught:
            kind(**{"base_url": "http://127.0.0.1", **settings})
        assert str(caught.value).startswith(message)


def test_the_key_is_never_shown() -> None:
    with Client("http://127.0.0.1", api_key="sesame") as client:
        assert "sesame" not in repr(vars(client))


def test_a_service_below_a_path() -> None:
    with scripted(TABLES) as server, Client(f"{server.url}/tools/ellzero") as client:
        client.tables()
        assert server.asked[0].startswith(b"GET /tools/ellzero/v1/tables HTTP/1.1\r\n")


def test_one_client_serves_many_threads(client: Client) -> None:
    def ask(number: int) -> bool:
        return client.radius(f"{number}/1000", k=255, alpha="0.2", d=784).k == 255

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(ask, range(1000)))


def test_one_async_client_serves_many_tasks() -> None:
    found: dict[int, str | None] = {}

    async def ask(client: AsyncClient, number: int) -> None:
        found[number] = (await client.radius(f"{number}/1009", k=255, alpha="0.2", d=784)).p

    async def everything(url: str) -> None:
        async with AsyncClient(url) as client, anyio.create_task_group() as tasks:
            for number in range(1, 300):
                tasks.start_soon(ask, client, number)

    with serving(Echo().app) as url:
        anyio.run(everything, url)
    assert found == {number: f"{number}/1009" for number in range(1, 300)}


PROBLEM = Problem(
    type="urn:ellzero:problem:invalid-input",
    title="Invalid value",
    status=422,
    detail="p must be less",
    instance="/v1/radius",
    request_id="abc",
    field="p",
    value=2,
    allowed="less",
    limit_seconds=1.0,
)


@pytest.mark.parametrize(
    "error",
    [
        UnsendableValue("p", "a number", "x\ny"),
        ServerUnreachable("http://host", "refused"),
        RequestTimeout("http://host", 1.5),
        BadReply("http://host", "no JSON"),
        *(
            kind(PROBLEM, 2.0)
            for kind in (ProblemReply, RejectedInput, TooCostly, NotAuthorised, Overloaded, ServerFault)
        ),
    ],
)
def test_errors_say_one_line_and_survive_the_way_back_from_a_worker(error: ClientError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert "\n" not in str(error)
    assert isinstance(error, ClientError)
