"""What is too large, too much at once or too slow is refused, in bounded memory."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from serve.load import load
from serve.running import Running, running

MEGABYTE = 2**20
JSON = {"content-type": "application/json"}


def _connect(service: Running) -> socket.socket:
    address = urlsplit(service.url)
    assert address.port is not None
    return socket.create_connection((address.hostname, address.port), timeout=30)


def _send_body(service: Running, headers: str, pieces: Iterator[bytes]) -> bytes:
    """The answer to a POST whose body may be longer than the service wants to hear."""
    with _connect(service) as connection:
        head = ["POST /v1/radius?k=1&alpha=0.8&d=9 HTTP/1.1", "host: x", "content-type: application/x-npy", headers]
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        try:
            for piece in pieces:
                connection.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough
        try:
            return connection.recv(65_536)
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize("chunked", [False, True])
def test_300_megabytes_are_refused_in_bounded_memory(tmp_path: Path, chunked: bool) -> None:
    with running(tmp_path / "log") as service:
        before = service.memory("VmHWM")
        piece = bytes(MEGABYTE)
        if chunked:
            pieces = (b"100000\r\n" + piece + b"\r\n" for _ in range(300))
            answer = _send_body(service, "transfer-encoding: chunked", pieces)
        else:
            answer = _send_body(service, f"content-length: {300 * MEGABYTE}", (piece for _ in range(300)))
        assert b" 413 " in answer.splitlines()[0]
        assert b"application/problem+json" in answer
        assert service.memory("VmHWM") - before < 80 * MEGABYTE
        assert service.process.poll() is None


def test_many_invalid_bodies_leak_no_memory(tmp_path: Path) -> None:
    with running(tmp_path / "log") as service, httpx2.Client() as client:
        before = service.memory("VmHWM")
        for _ in range(300):
            response = client.post(f"{service.url}/v1/radius", content=bytes(MEGABYTE), headers=JSON)
            assert response.status_code == 400
        assert service.memory("VmHWM") - before < 80 * MEGABYTE


def test_pipelined_requests_are_read_one_at_a_time(tmp_path: Path) -> None:
    slow = b"GET /v1/radius?p=0.999999999&d=1000000&k=1&alpha=0.5005 HTTP/1.1\r\nhost: x\r\n\r\n"
    body = bytes(900_000)
    head = (
        "POST /v1/radius HTTP/1.1",
        "host: x",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "",
        "",
    )
    following = "\r\n".join(head).encode() + body
    settings = {"max_seconds": 600, "request_timeout": 6}
    with running(tmp_path / "log", settings=settings) as service, _connect(service) as connection:
        before = service.memory("VmHWM")
        connection.sendall(slow)
        connection.settimeout(3)
        with pytest.raises(TimeoutError):  # the service has had enough, until the first is answered
            connection.sendall(following * 500)
        assert service.memory("VmHWM") - before < 40 * MEGABYTE


def test_a_body_that_never_arrives_times_out(tmp_path: Path) -> None:
    head = ["POST /v1/radius HTTP/1.1", "host: x", "content-type: application/json", "content-length: 99"]
    with running(tmp_path / "log", settings={"request_timeout": 0.5}) as service, _connect(service) as connection:
        connection.sendall("\r\n".join([*head, "", "{"]).encode())
        assert b" 408 " in connection.recv(65_536).splitlines()[0]


def test_work_that_takes_too_long_times_out(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"request_timeout": 0.05, "max_seconds": 600}) as service:
        outcome = asyncio.run(load(service.url, "/v1/radius?p=0.999999999&d=1000000&k=1&alpha=0.505", 1, 1))
        assert outcome.statuses == {503: 1}
        assert b"urn:ellzero:problem:timeout" in outcome.bodies.pop()


def test_a_timed_out_request_frees_its_thread(tmp_path: Path) -> None:
    """Estimates may be wrong; work stops all the same, so that threads are free again and the process can end."""
    endless = "/v1/radius?p=0.9999999&d=2000000000&k=1&alpha=0.5000001"
    with running(tmp_path / "log", settings={"request_timeout": 1, "max_seconds": 10**9}) as service:
        for number in range(3):
            outcome = asyncio.run(load(service.url, f"{endless}{number}", connections=1, requests=1))
            assert outcome.statuses == {503: 1}
        assert asyncio.run(load(service.url, "/v1/tables", 1, 1)).statuses == {200: 1}
        assert service.stop() == 0


@pytest.mark.parametrize(
    "junk",
    [
        b"".join(b'"%d":0,' % number for number in range(2_000_000)),
        b'"x":[' + b"[]," * 8_000_000 + b"[]],",
        b'"x":[' + b"1.0," * 7_000_000 + b"1],",
        b'"x":{' + b'"y":{' * 1_000 + b"}" * 1_001 + b'," z":"' + b"z" * 70_000 + b'",',
    ],
    ids=["fields", "lists", "numbers", "depth"],
)
def test_a_large_invalid_body_is_refused_in_bounded_memory(tmp_path: Path, junk: bytes) -> None:
    with running(tmp_path / "log") as service:
        before = service.memory("VmHWM")
        body = b"{" + junk + b'"k":1,"alpha":"0.8","d":10,"p":[0.9]}'
        response = httpx2.post(f"{service.url}/v1/radius", content=body, headers=JSON)
        assert response.status_code == 422
        assert response.json()["field"] == "body"
        assert service.memory("VmHWM") - before < 3 * len(body) + 20 * MEGABYTE


def test_requests_beyond_the_limit_get_503(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"max_concurrency": 5, "max_seconds": 600}) as service:
        path = "/v1/radius?p=0.999999999&d=1000000&k=1&alpha=0.505"
        outcome = asyncio.run(load(service.url, path, connections=25, requests=1))
        assert outcome.statuses[503] == 20
        assert outcome.statuses[200] == 5
        assert any(b"in progress" in body for body in outcome.bodies)


def test_health_is_answered_under_any_load(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"max_concurrency": 1, "max_seconds": 600}) as service:

        async def ask_under_load() -> tuple[int, bool]:
            slow = asyncio.create_task(load(service.url, "/v1/radius?p=0.999999999&d=1000000&k=1&alpha=0.505", 1, 1))
            await asyncio.sleep(0.3)
            health = await load(service.url, "/healthz", 1, 1)
            waited = slow.done()
            await slow
            return health.statuses[200], waited

        assert asyncio.run(ask_under_load()) == (1, False)
