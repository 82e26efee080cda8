"""A service that is unreachable, slow or overloaded: what is tried again, what is not, and what the caller sees."""

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anyio
import httpx2
import pytest
from client.conftest import TablesCall
from client.echo import Echo
from client.loopback import Drop, http, scripted

from ellzero.client import (
    AsyncClient,
    BadReply,
    Client,
    Overloaded,
    ProblemReply,
    RequestTimeout,
    ServerUnreachable,
    UnsendableValue,
)
from ellzero.client._connection import LONGEST_WAIT, Retries

TABLES = http(200, b'{"table": "t", "rows": 0, "columns": [], "version": "1", "conventions": {}}')


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
def test_transient_failures_are_retried(get_tables: TablesCall, fault: bytes | None) -> None:
    with scripted(fault, fault, TABLES) as server:
        assert get_tables(server.url).table == "t"
        assert len(server.requests) == 3
        assert len(set(server.requests)) == 1, "the same request each time"


def test_a_post_is_retried_with_its_body() -> None:
    answer = b'{"radii": [3], "source": "table", "k": 1, "alpha": "4/5", "d": 5}'
    with scripted(Drop, http(200, answer)) as server, Client(server.url) as client:
        assert client.radius([0.9], k=1, alpha="0.8", d=5).radii == [3]
        assert len(set(server.requests)) == 1
        assert server.requests[0].endswith(b'"p":["8106479329266893/9007199254740992"]}')


def test_the_number_of_retries_is_bounded(get_tables: TablesCall) -> None:
    with scripted(Drop) as server:
        with pytest.raises(ServerUnreachable) as caught:
            get_tables(server.url, retries=2)
        assert len(server.requests) == 3
    assert str(caught.value).startswith(f"no service answers at {server.url}/v1/tables: ")
    with scripted(Drop, TABLES) as server, pytest.raises(ServerUnreachable):
        get_tables(server.url, retries=0)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 422, 500, 501])
def test_permanent_errors_are_not_retried(get_tables: TablesCall, status: int) -> None:
    with scripted(http(status), TABLES) as server:
        with pytest.raises(ProblemReply):
            get_tables(server.url)
        assert len(server.requests) == 1


def test_a_timeout_of_the_service_is_not_retried(get_tables: TablesCall) -> None:
    """Waiting in vain again would multiply the wait, and what the service does for nothing."""
    problem = b'{"type": "urn:ellzero:problem:timeout", "detail": "no answer within 30 seconds"}'
    with scripted(http(503, problem, "retry-after: 0"), TABLES) as server:
        with pytest.raises(Overloaded, match="no answer within 30 seconds"):
            get_tables(server.url)
        assert len(server.requests) == 1


def test_a_service_that_is_not_there_is_unreachable(get_tables: TablesCall) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ServerUnreachable) as caught:
        get_tables(f"http://user:secret@127.0.0.1:{port}/ellzero", retries=1)
    assert str(caught.value).startswith(f"no service answers at http://127.0.0.1:{port}/ellzero/v1/tables: ")
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value, ConnectionError)


def test_a_service_that_does_not_answer_is_a_timeout_and_not_retried(get_tables: TablesCall) -> None:
    """The connection is accepted by the system, and nobody reads."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(RequestTimeout) as caught:
            get_tables(url, timeout=0.2)
        listener.settimeout(5)
        listener.accept()[0].close()
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert str(caught.value) == f"no answer from {url}/v1/tables within 0.2 seconds"
    assert isinstance(caught.value, TimeoutError)


def test_retry_after_is_respected_up_to_a_limit() -> None:
    def wait_for(value: str) -> float | None:
        request = httpx2.Request("GET", "http://127.0.0.1/v1/tables")
        return Retries(1).next_wait(httpx2.Response(503, headers={"retry-after": value}, request=request))

    for seconds in (0, 1, 7, LONGEST_WAIT):
        wait = wait_for(f"{seconds:.0f}")
        assert wait is not None
        assert seconds <= wait <= seconds + 1
    assert wait_for("31") is None, "longer than the limit: the caller decides"
    at = datetime.now(UTC) + timedelta(seconds=20)
    for text in (format_datetime(at, usegmt=True), format_datetime(at.replace(tzinfo=None))):
        wait = wait_for(text)
        assert wait is not None
        assert 10 < wait < 21
    assert (wait_for("Wed, 21 Oct 2015 07:28:00 GMT") or 9) < 1, "a date in the past"
    assert (wait_for("nonsense") or 9) < 1


def test_waits_double_up_to_a_bound_and_are_spread() -> None:
    many = [[retries.next_wait(httpx2.ReadError("")) or 0.0 for _ in range(12)] for retries in map(Retries, [12] * 50)]
    for number in range(12):
        waits = [waits[number] for waits in many]
        longest = min(0.1 * 2**number, 5)
        assert longest / 2 <= min(waits) < max(waits) <= longest
    assert Retries(0).next_wait(httpx2.ReadError("")) is None


def test_health_and_ready_are_false_without_a_service_and_make_one_attempt() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}"

    async def asynchronously(url: str) -> tuple[bool, bool]:
        async with AsyncClient(url) as client:
            return await client.health(), await client.ready()

    with scripted(http(200, b"{}")) as up, scripted(http(503, b"", "retry-after: 9")) as starting:
        for url, expected in ((up.url, True), (starting.url, False), (closed, False)):
            with Client(url) as client:
                assert (client.health(), client.ready()) == (expected, expected)
            assert anyio.run(asynchronously, url) == (expected, expected)
        assert len(starting.requests) == 4, "one request each"
        assert [request.split()[1] for request in starting.requests] == [b"/healthz", b"/readyz"] * 2
    with scripted(http(404)) as other, Client(other.url) as client, pytest.raises(ProblemReply):
        client.health()


def test_the_key_is_sent_in_a_header_but_not_to_the_target_of_a_redirection(client: Client, echo: Echo) -> None:
    client.radius(0.9, k=1, alpha="0.8", d=5)
    assert echo.headers[0]["x-api-key"] == "a key"
    assert echo.headers[0]["user-agent"].startswith("ellzero-client/")
    with scripted(TABLES) as elsewhere:
        redirection = http(307, b"", f"location: {elsewhere.url}")
        with scripted(redirection) as server, Client(server.url, api_key="k") as client, pytest.raises(BadReply):
            client.tables()
        assert elsewhere.requests == []


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
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
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
        assert server.requests[0].startswith(b"GET /tools/ellzero/v1/tables HTTP/1.1\r\n")
