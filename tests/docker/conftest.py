"""Targets of the Dockerfile, built once for all tests that ask for them."""

import subprocess
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
def removals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Folders that are being removed beside the tests that follow: tens of thousands of files take minutes."""
    under_way: list[subprocess.Popen[bytes]] = []
    yield under_way
    for process in under_way:
        process.wait()


@pytest.fixture(scope="module")
def images(recipe: Recipe, removals: list[subprocess.Popen[bytes]]) -> Iterator[Images]:
    """All targets, built at the same time, each in a clean virtual environment.

    Their folder has a short name: Ray's sockets lie deep in it, and their paths may have 107 bytes.
    """
    folder = tempfile.mkdtemp(prefix="e0-", dir="/tmp")
    try:
        builder = Builder(Path(folder), recipe)
        for stage in SHARED:
            builder.build(stage)
        with ThreadPoolExecutor() as pool:
            yield dict(zip(TARGETS, pool.map(builder.build, TARGETS), strict=True))
    finally:
        removals.append(subprocess.Popen(["rm", "-rf", folder], stderr=subprocess.DEVNULL))
