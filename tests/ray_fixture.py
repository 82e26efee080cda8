"""One Ray for all tests of a session: it takes seconds to start."""

import os
from collections.abc import Iterator

import pytest

from ellzero.core.execution.ray_executor import PRIVATE_CLUSTER, RayExecutor

# For every Ray that a test starts, and before Ray is imported: loopback only.
os.environ.update(PRIVATE_CLUSTER)


@pytest.fixture(scope="session")
def ray_executor() -> Iterator[RayExecutor]:
    """A Ray of two workers on loopback."""
    with RayExecutor(workers=2) as executor:
        yield executor
