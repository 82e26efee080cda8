"""The service in this process, and as a process of its own."""

from collections.abc import Iterator

import pytest
from serve.running import Running, running
from starlette.testclient import TestClient

from ellzero.serve import ServeSettings, create_app


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    """The service with its defaults, in this process."""
    with TestClient(create_app(ServeSettings(log_level="error")), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The service with its defaults, as a process."""
    with running(tmp_path_factory.mktemp("service") / "log") as service:
        yield service
