"""A service with models in a process of its own, shared by the tests of votes."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from serve.running import Running, running
from serve.voting_models import (
    FACTORY,
    add_digits,
    add_misbehaving,
    add_model,
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models, some of which misbehave."""
    place = tmp_path_factory.mktemp("models")
    add_model(place)
    add_digits(place)
    add_misbehaving(place)
    return place


@pytest.fixture(scope="session")
def voting(folder: Path) -> Iterator[Running]:
    """A service with models, in a process of its own."""
    os.environ["PYTHONPATH"] = str(folder)
    settings = {
        "models": folder,
        "jobs": folder / "jobs",
        "allow_factories": json.dumps([FACTORY]),
        "log_level": "warning",
    }
    try:
        with running(folder / "log", settings=settings) as service:
            yield service
    finally:
        del os.environ["PYTHONPATH"]


@pytest.fixture(scope="session")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of two workers with the model `small`, in the folder of its log."""
    folder = tmp_path_factory.mktemp("workers")
    add_model(folder)
    settings = {"models": folder, "jobs": folder / "jobs", "workers": 2, "log_level": "warning"}
    with running(folder / "log", settings=settings) as service:
        yield service
