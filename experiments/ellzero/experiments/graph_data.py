"""Graphs to certify: citation graphs from files, and a small random one that needs none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ellzero.smoothing.errors import BadData
from ellzero.smoothing.graphs import Graph

FILES: Final = {"CiteSeer": "citeseer.npz", "Cora-ML": "cora_ml.npz"}
"""The data sets and their files, as public code for graphs keeps them."""

_BLOCKS, _BLOCK_NODES, _BLOCK_COLUMNS = 3, 30, 20


@dataclass(frozen=True)
class GraphData:
    """A graph whose nodes have a class each, 0 to ``classes`` − 1."""

    name: str
    graph: Graph
    labels: npt.NDArray[np.int64]
    classes: int

    def split(self, per_class: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Nodes to train on, so many of each class but at most half of it, and all others to test. Random by seed."""
        random = np.random.default_rng(seed)
        training = []
        for label in range(self.classes):
            members = np.flatnonzero(self.labels == label)
            training.append(random.permutation(members)[: min(per_class, len(members) // 2)])
        chosen = np.sort(np.concatenate(training))
        return chosen, np.setdiff1d(np.arange(self.graph.nodes), chosen)


def read_data(folder: Path, names: tuple[str, ...] = tuple(FILES)) -> list[GraphData]:
    """The citation graphs of these names in a folder. Edges are made undirected, without weights and self-loops, and
    features binary: whether a word occurs."""
    return [_read_file(folder / FILES[name], name) for name in names]


def make_random_data(seed: int) -> GraphData:
    """Three groups of nodes that have more edges, and more words, in common with each other than with others."""
    random, nodes = np.random.default_rng(seed), _BLOCKS * _BLOCK_NODES
    labels = np.repeat(np.arange(_BLOCKS), _BLOCK_NODES)
    same = labels[:, None] == labels[None, :]
    upper = np.triu(random.random((nodes, nodes)) < np.where(same, 0.12, 0.01), 1)
    own = np.repeat(np.eye(_BLOCKS, dtype=bool), _BLOCK_COLUMNS, axis=1)[labels]
    features = random.random(own.shape) < np.where(own, 0.5, 0.03)
    return GraphData("random", Graph.of((features, upper | upper.T)), labels, _BLOCKS)


def _read_file(path: Path, name: str) -> GraphData:
    try:
        with np.load(path) as arrays:  # without pickled objects, of which these files have some
            adjacency, features = (_read_csr(arrays, part) for part in ("adj", "attr"))
            labels = arrays["labels"].astype(np.int64)
    except FileNotFoundError:
        raise BadData(str(path), "does not exist") from None
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise BadData(str(path), f"is not a graph in the form of public code: {error}") from error
    if len(labels) != adjacency.shape[0] or labels.min() < 0:
        raise BadData(str(path), "must have a class for each node")
    adjacency = sparse.csr_array(sparse.triu(adjacency, 1) + sparse.triu(adjacency.T, 1)) != 0
    return GraphData(name, Graph.of((features > 0, adjacency + adjacency.T)), labels, int(labels.max()) + 1)


def _read_csr(arrays: Any, part: str) -> Any:
    prefix = f"{part}_" if f"{part}_data" in arrays else f"{part}_matrix."
    parts = tuple(arrays[f"{prefix}{field}"] for field in ("data", "indices", "indptr"))
    return sparse.csr_array(parts, shape=tuple(arrays[f"{prefix}shape"]))
