"""The graph network of the experiment: two layers of graph convolution in plain torch, trained on noisy graphs.

Kipf and Welling: *Semi-Supervised Classification with Graph Convolutional Networks*, ICLR 2017,
https://arxiv.org/abs/1609.02907.
"""

from dataclasses import asdict, dataclass
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ellzero.experiments.graph_data import GraphData
from ellzero.smoothing.graphs import GraphFeed, GraphNoise
from ellzero.smoothing.graphs.feed import prepare_graph
from ellzero.smoothing.graphs.smoothed_graph import name_streams
from ellzero.smoothing.noise.random_streams import HostRandomSource, Stage


@dataclass(frozen=True)
class GraphRecipe:
    """How a network is trained: each epoch is one step on one noisy graph."""

    epochs: int = 300
    rate: float = 0.01
    weight_decay: float = 1e-3
    hidden: int = 64
    dropout: float = 0.5
    seed: int = 0

    def describe(self) -> dict[str, Any]:
        return asdict(self)


class GraphConvolutions(nn.Module):
    """scores = Â relu(Â X W₁) W₂ with Â = D^-1/2 (A + I) D^-1/2: a node's scores depend on what is within two edges."""

    LAYERS = 2

    def __init__(self, columns: int, classes: int, recipe: GraphRecipe) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.empty(columns, recipe.hidden))
        self.second = nn.Parameter(torch.empty(recipe.hidden, classes))
        self.dropout = nn.Dropout(recipe.dropout)
        for weights in self.parameters():
            nn.init.xavier_uniform_(weights)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        hidden = self.dropout(torch.relu(_propagate(x @ self.first, edge_index)))
        return _propagate(hidden @ self.second, edge_index)

    def save(self) -> bytes:
        """The weights as .npz."""
        buffer = BytesIO()
        np.savez(buffer, first=self.first.detach().numpy(), second=self.second.detach().numpy())
        return buffer.getvalue()

    def load(self, saved: bytes) -> None:
        """Take the weights that `save` gave."""
        with np.load(BytesIO(saved)) as arrays:
            self.load_state_dict({name: torch.from_numpy(arrays[name]) for name in arrays})


def train_network(
    data: GraphData, training: npt.NDArray[np.int64], noise: GraphNoise, recipe: GraphRecipe
) -> GraphConvolutions:
    """Train on a fresh noisy graph in every epoch, by the classes of the training nodes. Random by the seed alone."""
    key = name_streams(recipe.seed, noise, data.graph)
    nodes, labels = torch.from_numpy(training), torch.from_numpy(data.labels[training])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        network = GraphConvolutions(data.graph.columns, data.classes, recipe)
        optimizer = torch.optim.Adam(network.parameters(), lr=recipe.rate, weight_decay=recipe.weight_decay)
        for epoch in range(recipe.epochs):
            noisy = noise.sample(data.graph, HostRandomSource(key, Stage.TRAIN, epoch))
            scores = network(*prepare_graph(noisy, GraphFeed.SPARSE, torch.device("cpu")))
            loss = nn.functional.cross_entropy(scores[nodes], labels)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return network.eval()


def _propagate(values: Tensor, edge_index: Tensor) -> Tensor:
    sources, targets = edge_index
    degrees = torch.ones(len(values)).index_add(0, targets, torch.ones(len(targets)))
    scaled = values / degrees.sqrt()[:, None]
    return scaled.index_add(0, targets, scaled[sources]) / degrees.sqrt()[:, None]
