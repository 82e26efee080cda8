"""Graphs as noise and certificates take them, read from what people have."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.graphs.edge_set import EdgeSet, Places

SparseMatrix: TypeAlias = Any  # a matrix or an array of scipy.sparse; scipy has no types
GraphLike: TypeAlias = Any
"""A `Graph`, a pair (features, adjacency) of arrays or scipy's matrices, or PyTorch Geometric's ``Data``."""

_PAIR = "a pair (features, adjacency), or data with x and edge_index"


@dataclass(frozen=True, eq=False)
class Graph:
    """``features``: N × D in CSR, float32, only what is not 0; ``edges``: the pairs that are edges, without weights."""

    features: SparseMatrix
    edges: EdgeSet

    @classmethod
    def of(cls, graph: GraphLike, *, directed: bool = False) -> "Graph":
        """Read a graph. Raises ``InvalidInput`` for weights, self-loops, and unless ``directed`` for edges that have no
        counterpart in the other direction."""
        if isinstance(graph, cls):
            if graph.edges.directed is not directed:
                raise InvalidInput("directed", f"{graph.edges.directed}, as the graph is", directed)
            return graph
        if isinstance(graph, tuple) and len(graph) == 2:
            features = _read_features(graph[0])
            return cls(features, _read_adjacency(graph[1], features.shape[0], directed))
        if hasattr(graph, "x") and hasattr(graph, "edge_index"):
            features = _read_features(graph.x)
            for name in ("edge_weight", "edge_attr"):
                if getattr(graph, name, None) is not None:
                    raise InvalidInput(name, "left out: certificates are of edges without weights", "a tensor")
            return cls(features, _read_edge_index(graph.edge_index, features.shape[0], directed))
        raise InvalidInput("graph", _PAIR, type(graph).__name__)

    @property
    def nodes(self) -> int:
        return self.edges.nodes

    @property
    def columns(self) -> int:
        """How many features a node has."""
        return int(self.features.shape[1])

    @cached_property
    def is_binary(self) -> bool:
        """Whether all features are 0 or 1."""
        return bool((self.features.data == 1).all())

    @cached_property
    def feature_places(self) -> Places:
        """Which features are not 0, numbered row by row."""
        rows = np.repeat(np.arange(self.nodes, dtype=np.int64), np.diff(self.features.indptr))
        places: Places = rows * self.columns + self.features.indices
        return places

    @cached_property
    def digest(self) -> bytes:
        """A hash of features and edges: graphs that are equal have the same, in whatever form they came."""
        digest = hashlib.blake2b(digest_size=16, person=b"ellzero graph")
        digest.update(f"{self.features.shape} {self.edges.directed}".encode())
        for array in (self.feature_places, self.features.data, self.edges.places):
            digest.update(f"{len(array)}:".encode() + array.tobytes())
        return digest.digest()

    def receptive_fields(self, layers: int) -> SparseMatrix:
        """Which nodes are within ``layers`` edges: row v has True for each u from which a path leads to v, and for v.

        A network of so many layers, each of which reads neighbours only, predicts v from the features of these alone.
        """
        sources, targets = self.edges.index
        ones = np.ones(len(sources), dtype=bool)
        step = sparse.csr_array((ones, (targets, sources)), shape=(self.nodes, self.nodes))
        within = sparse.csr_array(sparse.eye_array(self.nodes, dtype=bool))
        for _ in range(layers):
            within = (within + step @ within).astype(bool)
        within.sort_indices()
        return within


def make_features(places: Places, nodes: int, columns: int) -> SparseMatrix:
    """The binary features whose ones have these numbers."""
    ends = np.searchsorted(places, np.arange(nodes + 1, dtype=np.int64) * columns)
    ones = np.ones(len(places), dtype=np.float32)
    return sparse.csr_array((ones, places % columns, ends), shape=(nodes, columns))


def _read_features(features: Any) -> SparseMatrix:
    matrix = _read_matrix(features, "features", "a matrix with a row for each node, at least one, and a column")
    if matrix.shape[0] < 1 or matrix.shape[1] < 1:
        raise InvalidInput("features", "a matrix with a row for each node, at least one, and a column", matrix.shape)
    if not np.isfinite(matrix.data).all():
        raise InvalidInput("features", "finite numbers", "NaN or infinity")
    return matrix.astype(np.float32)


def _read_adjacency(adjacency: Any, nodes: int, directed: bool) -> EdgeSet:
    matrix = _read_matrix(adjacency, "adjacency", "a square matrix of 0 and 1")
    if matrix.shape != (nodes, nodes):
        raise InvalidInput("adjacency", f"of shape ({nodes}, {nodes}), a row for each node", matrix.shape)
    if not (matrix.data == 1).all():
        raise InvalidInput("adjacency", "0 or 1: certificates are of edges without weights", matrix.data.max())
    rows, columns = matrix.nonzero()
    return _make_edges(rows.astype(np.int64), columns.astype(np.int64), nodes, directed, "adjacency")


def _read_edge_index(edge_index: Any, nodes: int, directed: bool) -> EdgeSet:
    index = _read_array(edge_index)
    if index.ndim != 2 or index.shape[0] != 2 or index.dtype.kind not in "iu":
        raise InvalidInput("edge_index", "integers of shape (2, edges)", f"{index.dtype} of shape {index.shape}")
    sources, targets = index.astype(np.int64)
    if index.size and (index.min() < 0 or index.max() >= nodes):
        raise InvalidInput(
            "edge_index", f"nodes from 0 to {nodes - 1}", int(index.max() if index.min() >= 0 else index.min())
        )
    if len(np.unique(sources * nodes + targets)) < len(sources):
        raise InvalidInput("edge_index", "each edge once", "an edge twice")
    return _make_edges(sources, targets, nodes, directed, "edge_index")


def _make_edges(sources: Places, targets: Places, nodes: int, directed: bool, field: str) -> EdgeSet:
    if (loops := sources[sources == targets]).size:
        loop = int(loops[0])
        raise InvalidInput(field, "without self-loops, which a network adds by itself", (loop, loop))
    edges = EdgeSet.of_pairs(sources, targets, nodes, directed=directed)
    if not directed and 2 * len(edges.places) != len(sources):
        single = np.setdiff1d(sources * nodes + targets, targets * nodes + sources)
        source, target = divmod(int(single[0]), nodes)
        raise InvalidInput(
            field, "symmetric, with both directions of each edge, unless directed=True", (source, target)
        )
    return edges


def _read_matrix(values: Any, field: str, allowed: str) -> SparseMatrix:
    """Any matrix as CSR of doubles of its own, without zeros, in order."""
    try:
        if sparse.issparse(values):
            matrix = sparse.csr_array(values, dtype=np.float64, copy=True)
        else:
            array = _read_array(values)
            if array.ndim != 2:
                raise InvalidInput(field, allowed, f"an array of shape {array.shape}")
            matrix = sparse.csr_array(array.astype(np.float64))
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(field, allowed, type(values).__name__) from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _read_array(values: Any) -> npt.NDArray[Any]:
    """An array, or a tensor on any device, as numpy's."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
