"""Load for tests: many connections that each send one request after the other, and count the outcomes."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class LoadOutcome:
    """What became of requests: answered, by status; dropped (sent, and no whole answer); connections refused."""

    statuses: Counter[int] = field(default_factory=Counter)
    dropped: int = 0
    refused: int = 0
    bodies: set[bytes] = field(default_factory=set)


async def load(url: str, path: str, connections: int, requests: int) -> LoadOutcome:
    """Each connection sends so many requests, and ends early if the service says `connection: close`."""
    outcome = LoadOutcome()
    await asyncio.gather(*(_connection(url, path, requests, outcome) for _ in range(connections)))
    return outcome


async def _connection(url: str, path: str, requests: int, outcome: LoadOutcome) -> None:
    address = urlsplit(url)
    try:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
    except OSError:
        outcome.refused += 1
        return
    request = f"GET {path} HTTP/1.1\r\nhost: {address.netloc}\r\n\r\n".encode()
    try:
        for _ in range(requests):
            writer.write(request)
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            outcome.statuses[int(head.split()[1])] += 1
            outcome.bodies.add(body)
            if b"connection: close" in head:
                return
    except (OSError, asyncio.IncompleteReadError):
        outcome.dropped += 1
    finally:
        writer.close()
