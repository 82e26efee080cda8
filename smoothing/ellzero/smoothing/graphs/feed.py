"""What a graph network takes, and what it returns: tensors or scipy's matrices in, scores of all nodes out."""

import warnings
from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.graphs.graph import Graph
from ellzero.smoothing.noise.arrays import read_array

GraphModel: TypeAlias = Callable[[Any, Any], Any]
"""``model(x, edge_index)`` → the scores of all nodes."""


class GraphFeed(StrEnum):
    """How a model takes a graph. *dense*: features as a float32 tensor N × D, edges as an int64 tensor 2 × E, as in
    PyTorch Geometric. *sparse*: features as a sparse tensor in CSR. *scipy*: features and adjacency as
    ``scipy.sparse.csr_array``, for models without torch, which return an array."""

    DENSE = "dense"
    SPARSE = "sparse"
    SCIPY = "scipy"

    @classmethod
    def read(cls, feed: "GraphFeed | str") -> "GraphFeed":
        """The feed of this name."""
        try:
            return cls(feed)
        except ValueError:
            raise InvalidInput("feed", " or ".join(cls), feed) from None


def prepare_graph(graph: Graph, feed: GraphFeed, device: Any) -> tuple[Any, Any]:
    """Features and edges as a model takes them. Undirected edges stand in both directions, all in ascending order.

    They are in memory of their own: a model may work in place, and what noise does not strike is used again.
    """
    if feed is GraphFeed.SCIPY:
        from scipy import sparse

        sources, targets = graph.edges.index
        ones = np.ones(len(sources), dtype=np.float32)
        return graph.features.copy(), sparse.csr_array((ones, (sources, targets)), shape=(graph.nodes, graph.nodes))
    import torch

    edge_index = torch.from_numpy(graph.edges.index.copy()).to(device)
    if feed is GraphFeed.DENSE:
        return torch.from_numpy(graph.features.toarray()).to(device), edge_index
    matrix = graph.features.copy()
    starts, columns, values = map(torch.from_numpy, (matrix.indptr, matrix.indices, matrix.data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says once that CSR is in beta; products with it are the fastest
        features = torch.sparse_csr_tensor(starts, columns, values, matrix.shape, check_invariants=False)
    return features.to(device), edge_index


def read_labels(scores: Any, nodes: int, classes: int) -> npt.NDArray[np.int64]:
    """The class of each node: the first one of the largest score. Raises ``ModelFailed`` for what is no scores."""
    scores = getattr(scores, "logits", scores)
    array = read_array(scores) if hasattr(scores, "detach") or isinstance(scores, np.ndarray) else None
    if array is None:
        raise ModelFailed(f"returned {type(scores).__name__} instead of a tensor or an array of numbers")
    scores = array
    if scores.dtype.kind not in "biuf":
        raise ModelFailed(f"returned {scores.dtype}, which is no score")
    if scores.shape != (nodes, classes):
        raise ModelFailed(
            f"returned scores of shape {scores.shape} for {nodes} nodes; ({nodes}, {classes}) is what "
            f"num_classes = {classes} needs"
        )
    if np.isnan(scores).any():
        raise ModelFailed("returned NaN, which is not a vote")
    labels: npt.NDArray[np.int64] = scores.argmax(axis=1)
    return labels
