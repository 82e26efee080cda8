"""A service with trees in a process of its own, shared by the tests of trees."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from serve.running import Running, running
from serve.tree_models import BITS, LABELS, add_trees

from ellzero.trees.estimators import SmoothedTrees


@pytest.fixture(scope="session")
def tree_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models, with examples for one of them."""
    return tmp_path_factory.mktemp("trees")


@pytest.fixture(scope="session")
def estimators(tree_folder: Path) -> dict[str, SmoothedTrees]:
    """The models of that folder in this process."""
    written = add_trees(tree_folder)
    np.savez(tree_folder / "digits-tree.examples.npz", x=BITS[:5], y=LABELS[:5])
    return written


@pytest.fixture(scope="session")
def served_trees(tree_folder: Path, estimators: dict[str, SmoothedTrees]) -> Iterator[Running]:
    """A service of these models."""
    settings = {"models": tree_folder, "jobs": tree_folder / "jobs", "log_level": "warning"}
    with running(tree_folder / "log", settings=settings) as service:
        yield service
