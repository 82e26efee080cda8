"""Noise on graphs: on features, on edges or on both, drawn exactly and in bounded memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ellzero.certificates import Family, Joint, Sparse
from ellzero.core.errors import InvalidInput
from ellzero.smoothing.graphs.edge_set import EdgeSet, Places
from ellzero.smoothing.graphs.graph import Graph, make_features
from ellzero.smoothing.noise.discrete import sample_coins
from ellzero.smoothing.noise.random_streams import HostRandomSource

# Coins that are drawn at once, a byte each: they fit the cache. The samples of a seed depend on it.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class GraphNoise:
    """`Sparse` noise on the bits of ``features``, on ``edges``, or on both, each with probabilities of its own.

    Its family says what votes certify: that of the part that is struck, with budgets ``{"add": 1, "delete": 2}``; of
    both ``Joint(edges=…, features=…)``, with budgets ``{"edges": {"add": 1}, "features": {"delete": 2}}``.
    """

    features: Sparse | None = None
    edges: Sparse | None = None

    def __post_init__(self) -> None:
        for name in ("features", "edges"):
            part = getattr(self, name)
            if part is not None and not isinstance(part, Sparse):
                raise InvalidInput(name, "a Sparse, such as Sparse('0.01', '0.6'), or None", part)
        if self.features is None and self.edges is None:
            raise InvalidInput("noise", "on features, on edges, or on both", None)

    @property
    def family(self) -> Family:
        """The family of noises that says what votes certify."""
        if self.features is not None and self.edges is not None:
            return Joint(edges=self.edges, features=self.features)
        family = self.edges if self.features is None else self.features
        assert family is not None
        return family

    def coordinates(self, graph: Graph) -> int:
        """How many coordinates of a graph are struck, each of which an adversary may change."""
        features = 0 if self.features is None else graph.nodes * graph.columns
        return features + (0 if self.edges is None else graph.edges.pairs)

    def describe(self, graph: Graph) -> Mapping[str, Any]:
        """The noise and what it counts as one change, as results have it."""
        described: dict[str, Any] = {}
        if self.features is not None:
            described["features"] = {**self.features.describe(), "unit": "a feature is a bit of one node"}
        if self.edges is not None:
            described["edges"] = {**self.edges.describe(), "unit": graph.edges.unit}
        return described

    def check(self, graph: Graph) -> None:
        """Raise ``InvalidInput`` unless the noise can strike this graph."""
        if self.features is not None and not graph.is_binary:
            wrong = graph.features.data[graph.features.data != 1][0]
            raise InvalidInput("features", "0 or 1 for noise on them; (x > 0) makes bits of counts", float(wrong))
        if self.edges is not None and not graph.edges.pairs:
            raise InvalidInput("graph", "of at least two nodes for noise on edges", graph.nodes)

    def sample(self, graph: Graph, source: HostRandomSource) -> Graph:
        """One noisy graph: every coordinate is flipped by itself, with exactly its probability."""
        features, edges = graph.features, graph.edges
        if self.features is not None:
            places = flip(graph.feature_places, graph.nodes * graph.columns, self.features, source)
            features = make_features(places, graph.nodes, graph.columns)
        if self.edges is not None:
            struck = flip(edges.places, edges.pairs, self.edges, source)
            edges = EdgeSet(edges.nodes, edges.directed, struck)
        return Graph(features, edges)


def flip(ones: Places, count: int, noise: Sparse, source: HostRandomSource) -> Places:
    """Where the ones are after noise, among ``count`` bits. Holds one block of coins and the ones, never all bits.

    A 1 stays unless its coin of probability p₋ says otherwise. Every place has a coin of p₊ too, which counts where
    there is a 0: so each bit has its law, and all are independent.
    """
    kept = ones[~sample_coins(source, noise.p_del, len(ones))]
    added = [
        np.flatnonzero(sample_coins(source, noise.p_add, min(_BLOCK, count - start))) + start
        for start in range(0, count, _BLOCK)
    ]
    fresh = np.concatenate(added) if added else np.zeros(0, np.int64)
    at = np.searchsorted(ones, fresh)
    was_one = np.zeros(len(fresh), dtype=bool)
    inside = at < len(ones)
    was_one[inside] = ones[at[inside]] == fresh[inside]
    both = np.concatenate([kept, fresh[~was_one]])
    both.sort(kind="stable")  # merges the two sorted halves
    return both
