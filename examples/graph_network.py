"""Certify a graph network: every node of a small graph, under noise on the words of its pages. A minute at most.

The graph is PyTorch Geometric's ``Data`` if torch_geometric is installed, and otherwise two matrices.
"""

import numpy as np
import numpy.typing as npt
import torch

from ellzero.certificates import Sparse, certify_collectively
from ellzero.smoothing.graphs import Graph, GraphNoise, SmoothedGraph

Bits = npt.NDArray[np.bool_]

GROUPS, PAGES, WORDS = 3, 40, 25
LABELS = np.repeat(np.arange(GROUPS), PAGES)


class Network(torch.nn.Module):
    """Two layers, each of which averages over a node and its neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(GROUPS * WORDS, 32), torch.nn.Linear(32, GROUPS)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        return self.average(self.second(self.average(self.first(x), edge_index).relu()), edge_index)

    def average(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        sources, targets = edge_index
        degrees = torch.ones(len(x)).index_add(0, targets, torch.ones(len(targets)))
        return x.index_add(0, targets, x[sources]) / degrees[:, None]


def main() -> None:
    """Draw a graph, train a network on noisy words, certify all nodes, and face one adversary."""
    words, links = draw_graph(seed=0)
    network = train(words, links)
    smoothed = SmoothedGraph(network, GraphNoise(features=Sparse("0.01", "0.6")), num_classes=GROUPS)
    result = smoothed.certify_nodes(as_data(words, links), n0=100, n=1_000, failure="0.001", seed=0, simultaneous=True)

    print(f"{(result.selected == LABELS).mean():.0%} of {len(result)} nodes are right; certified, all at once:")
    for budget in ({"add": 0, "delete": 2}, {"add": 0, "delete": 5}, {"add": 1, "delete": 1}):
        print(f"  if within {budget} their words change: {result.accuracy(LABELS, budget):.0%}")
    print(f"node 0: at most {result[0].budgets({'add': 3, 'delete': 12})}; radius {result[0].radius}")

    fields = Graph.of((words, links)).receptive_fields(2)
    together = certify_collectively(result.staircases({"add": 0, "delete": 12}), fields, (0, 12))
    print(f"one adversary who deletes 12 words anywhere changes {together.changeable} nodes at most;")
    print(f"certificates of single nodes alone leave {together.predictions - together.certified_alone} open")


def draw_graph(seed: int) -> tuple[Bits, Bits]:
    """Pages of a group share words and links more often than others."""
    random = np.random.default_rng(seed)
    same = LABELS[:, None] == LABELS[None, :]
    links = np.triu(random.random(same.shape) < np.where(same, 0.08, 0.005), 1)
    own = np.repeat(np.eye(GROUPS), WORDS, axis=1)[LABELS]
    return random.random(own.shape) < np.where(own, 0.4, 0.02), links | links.T


def train(words: Bits, links: Bits) -> Network:
    """On every fifth node. Words are struck as they will be, if less exactly."""
    torch.manual_seed(0)
    network, x = Network(), torch.tensor(words, dtype=torch.float32)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=1e-3)
    edge_index, labels = torch.tensor(np.stack(np.nonzero(links))), torch.tensor(LABELS)
    for _ in range(200):
        flips = torch.rand_like(x) < torch.where(x > 0, 0.6, 0.01)
        loss = torch.nn.functional.cross_entropy(network((x - flips.float()).abs(), edge_index)[::5], labels[::5])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return network


def as_data(words: Bits, links: Bits) -> object:
    """The graph as PyTorch Geometric has it, or as it is."""
    try:
        from torch_geometric.data import Data
    except ModuleNotFoundError:
        return words, links
    return Data(x=torch.tensor(words, dtype=torch.float32), edge_index=torch.tensor(np.stack(np.nonzero(links))))


if __name__ == "__main__":
    main()
