"""A service for the tests of a session that says what it was asked."""

from collections.abc import Iterator

import pytest
from client.echo import Echo
from client.loopback import serving

from ellzero.client import Client


@pytest.fixture(scope="session")
def echo_service() -> Iterator[tuple[Echo, Client]]:
    echo = Echo()
    with serving(echo.app) as url, Client(url, api_key="a key") as client:
        yield echo, client


@pytest.fixture
def echo(echo_service: tuple[Echo, Client]) -> Echo:
    """The service, which forgets what it was asked before."""
    echo_service[0].asked.clear()
    echo_service[0].headers.clear()
    return echo_service[0]


@pytest.fixture
def client(echo_service: tuple[Echo, Client]) -> Client:
    """A client of the service."""
    return echo_service[1]
