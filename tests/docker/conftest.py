"""Targets of the Dockerfile, built once for all tests that ask for them."""

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .builder import Builder, Images
from .recipe import Recipe

TARGETS = ("predict", "serve", "worker")
SHARED = ("wheel", "answering", "serve-build")


@pytest.fixture(scope="session")
def recipe() -> Recipe:
    return Recipe()


@pytest.fixture(scope="session")
def images(recipe: Recipe) -> Iterator[Images]:
    """All targets, built at the same time, each in a clean virtual environment.

    Their folder has a short name: Ray's sockets lie deep in it, and their paths may have 107 bytes.
    """
    with tempfile.TemporaryDirectory(prefix="e0-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        builder = Builder(Path(folder), recipe)
        for stage in SHARED:
            builder.build(stage)
        with ThreadPoolExecutor() as pool:
            yield dict(zip(TARGETS, pool.map(builder.build, TARGETS), strict=True))
