"""Fixtures for the tests of smoothing."""

import pytest

from ellzero.smoothing.noise import random_streams


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 8 samples for inputs of 8 coordinates, so that a vote has many of them."""
    monkeypatch.setattr(random_streams, "_BLOCK_COORDINATES", 64)
