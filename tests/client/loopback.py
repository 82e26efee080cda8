"""Real servers on loopback: uvicorn for applications, and a scripted one that breaks HTTP on purpose."""

import asyncio
import socket
import socketserver
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from threading import Thread
from typing import Any

import uvicorn

Drop = None  # a connection closed in place of a reply


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an ASGI application while it is served."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@asynccontextmanager
async def started(app: Any) -> AsyncIterator[None]:
    """An ASGI application after its startup and until its shutdown, as a server would see to, without one."""
    orders: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    done: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, orders.get, done.put))
    await orders.put({"type": "lifespan.startup"})
    assert (await done.get())["type"] == "lifespan.startup.complete"
    try:
        yield
    finally:
        await orders.put({"type": "lifespan.shutdown"})
        await task


class Scripted(socketserver.ThreadingTCPServer):
    """Answers the n-th connection with the n-th of ``replies``, then closes it; the last one again and again.

    A reply is the bytes of an HTTP reply, complete or not, or ``Drop``.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, replies: Sequence[bytes | None]) -> None:
        super().__init__(("127.0.0.1", 0), _Reply)
        self.replies = list(replies)
        self.requests: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def scripted(*replies: bytes | None) -> Iterator[Scripted]:
    """A `Scripted` server while it runs."""
    with Scripted(replies) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def http(status: int, body: bytes = b"", *headers: str) -> bytes:
    """An HTTP reply after which the connection is closed."""
    lines = [f"HTTP/1.1 {status} Reason", f"content-length: {len(body)}", "connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class _Reply(socketserver.StreamRequestHandler):
    server: Scripted

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        body = self.rfile.read(int(length[0].partition(b":")[2])) if length else b""
        self.server.requests.append(head + body)
        replies = self.server.replies
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply is not None:
            self.wfile.write(reply)
