"""A service for the tests of a session that records its requests."""

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from client.echo import Echo
from client.loopback import serving

from ellzero.client import AsyncClient, Client, TablesAnswer


@pytest.fixture(scope="session")
def echo_service() -> Iterator[tuple[Echo, Client]]:
    echo = Echo()
    with serving(echo.app) as url, Client(url, api_key="a key") as client:
        yield echo, client


@pytest.fixture
def echo(echo_service: tuple[Echo, Client]) -> Echo:
    """The service, without the requests of other tests."""
    echo_service[0].requests.clear()
    echo_service[0].headers.clear()
    return echo_service[0]


@pytest.fixture
def client(echo_service: tuple[Echo, Client]) -> Client:
    """A client of the service."""
    return echo_service[1]


class TablesCall:
    """Calls `tables` of one of the two clients."""

    def __init__(self, synchronous: bool) -> None:
        self.synchronous = synchronous

    def __call__(self, url: str, **settings: Any) -> TablesAnswer:
        if self.synchronous:
            with Client(url, **settings) as client:
                return client.tables()

        async def call() -> TablesAnswer:
            async with AsyncClient(url, **settings) as client:
                return await client.tables()

        return anyio.run(call)


@pytest.fixture(params=["Client", "AsyncClient"])
def get_tables(request: pytest.FixtureRequest) -> TablesCall:
    """A call of either client, against the service at a given address."""
    return TablesCall(request.param == "Client")
