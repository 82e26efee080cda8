"""The edges of a graph as numbers of pairs of nodes, so that each pair is one coordinate.

With N nodes there are N(N−1)/2 unordered pairs u < v, numbered row by row: (0, 1), (0, 2), …, (1, 2), …; in a directed
graph the N(N−1) ordered pairs u ≠ v, in the same order. A node and itself are no pair: noise adds no self-loops.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = npt.NDArray[np.int64]
"""Numbers of coordinates, ascending, each once."""


@dataclass(frozen=True, eq=False)
class EdgeSet:
    """The pairs of ``nodes`` nodes that are edges, by their numbers."""

    nodes: int
    directed: bool
    places: Places

    @classmethod
    def of_pairs(cls, sources: Places, targets: Places, nodes: int, *, directed: bool) -> "EdgeSet":
        """The set of these pairs, in any order; an undirected edge may stand in either direction or in both."""
        if directed:
            numbers = sources * (nodes - 1) + targets - (targets > sources)
        else:
            low, high = np.minimum(sources, targets), np.maximum(sources, targets)
            numbers = _row_starts(nodes)[low] + high - low - 1
        return cls(nodes, directed, np.unique(numbers))

    @property
    def pairs(self) -> int:
        """How many pairs could be edges."""
        ordered = self.nodes * (self.nodes - 1)
        return ordered if self.directed else ordered // 2

    @property
    def unit(self) -> str:
        """What counts as one change."""
        kind = "an ordered pair" if self.directed else "an unordered pair"
        return f"an edge is {kind} of different nodes; self-loops are no coordinates"

    @cached_property
    def endpoints(self) -> tuple[Places, Places]:
        """Source and target of each edge; of an undirected one the smaller and the larger node."""
        if self.directed:
            sources, targets = np.divmod(self.places, max(1, self.nodes - 1))
            return sources, targets + (targets >= sources)
        starts = _row_starts(self.nodes)
        sources = np.searchsorted(starts, self.places, side="right") - 1
        return sources, self.places - starts[sources] + sources + 1

    @cached_property
    def index(self) -> npt.NDArray[np.int64]:
        """Sources and targets as a network takes them, 2 × E, ascending; undirected edges in both directions."""
        sources, targets = self.endpoints
        if self.directed:
            return np.stack([sources, targets])
        both = np.sort(np.concatenate([sources * self.nodes + targets, targets * self.nodes + sources]))
        return np.stack(np.divmod(both, max(1, self.nodes)))


def _row_starts(nodes: int) -> Places:
    """The number of the first pair (u, u + 1) of each node u but the last, in N − 1 numbers."""
    rows = np.arange(max(0, nodes - 1), dtype=np.int64)
    return rows * (2 * nodes - rows - 1) // 2
