"""Certificates of nodes against the exact law of a smoothed network on graphs so small that all are enumerated."""

import tracemalloc
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import sparse
from smoothing.geometric_data import GCNConv, make_data

from ellzero.certificates import InvalidInput, Sparse, certify_collectively
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.graphs import EdgeSet, Graph, GraphNoise, NodeCertificates, SmoothedGraph
from ellzero.smoothing.noise.random_streams import Stage

Floats = npt.NDArray[np.float64]
NODES = 4
PAIRS = NODES * (NODES - 1) // 2
FEATURES_ONLY = GraphNoise(features=Sparse("0.05", "0.1"))
EDGES_ONLY = GraphNoise(edges=Sparse("0.05", "0.2"))
BOTH = GraphNoise(Sparse("0.02", "0.05"), Sparse("0.02", "0.08"))


def vote_of_neighbours(x: Any, adjacency: Any) -> Floats:
    """Class 1 where a node and its neighbours have at least two ones between them."""
    ones = (x + adjacency @ x).toarray()[:, 0]
    return np.stack([1.5 - ones, ones - 1.5], axis=1)


class NeighbourVotes(torch.nn.Module):
    """The same in torch."""

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        own = x.to_dense()[:, 0]
        ones = own.index_add(0, edge_index[1], own[edge_index[0]])
        return torch.stack([1.5 - ones, ones - 1.5], dim=1)


def make_graph(bits: tuple[int, ...]) -> Graph:
    """The graph of four nodes with one feature each whose features and pairs are these ten bits."""
    places = np.flatnonzero(np.array(bits[NODES:], dtype=int))
    return Graph(sparse.csr_array(np.array(bits[:NODES], dtype=np.float32)[:, None]), EdgeSet(NODES, False, places))


EVERY = list(product((0, 1), repeat=NODES + PAIRS))
GRAPH = (1, 1, 0, 1, 1, 1, 1, 0, 0, 1)  # edges 0–1, 0–2, 0–3, 2–3
PAIRED = (1, 1, 1, 1, 1, 0, 0, 0, 0, 1)  # edges 0–1, 2–3


@cache
def all_votes() -> npt.NDArray[np.bool_]:
    """Whether the network gives class 1, for each graph and node."""
    return np.array([vote_of_neighbours(*in_scipy(make_graph(bits))).argmax(1) == 1 for bits in EVERY])


def in_scipy(graph: Graph) -> tuple[Any, Any]:
    index = graph.edges.index
    return graph.features, sparse.csr_array((np.ones(index.shape[1]), tuple(index)), shape=(NODES, NODES))


@cache
def probabilities(noise: GraphNoise) -> Floats:
    """P[class 1] of each node for every graph as the input, by enumerating all noisy graphs."""
    votes = all_votes().astype(float).reshape((2,) * (NODES + PAIRS) + (NODES,))
    for bit in range(NODES + PAIRS):
        part = noise.features if bit < NODES else noise.edges
        if part is not None:
            up, down = float(part.p_add), float(part.p_del)
            kernel = np.array([[1 - up, up], [down, 1 - down]])
            votes = np.moveaxis(np.tensordot(kernel, votes, axes=(1, bit)), 0, bit)
    return votes.reshape(len(EVERY), NODES)


def certify(noise: GraphNoise, bits: tuple[int, ...] = GRAPH) -> NodeCertificates:
    smoothed = SmoothedGraph(vote_of_neighbours, noise, 2, feed="scipy")
    return smoothed.certify_nodes(make_graph(bits), n0=50, n=3_000, failure="0.001", seed=5)


@pytest.mark.parametrize("noise", [FEATURES_ONLY, EDGES_ONLY, BOTH], ids=["features", "edges", "both"])
def test_no_graph_within_a_certified_budget_has_another_class(noise: GraphNoise) -> None:
    certificates, exact = certify(noise), probabilities(noise)
    most = {"add": 10, "delete": 10}
    limits = most if noise is not BOTH else {"edges": most, "features": most}
    changed = 0
    for certificate, staircase in zip(certificates, certificates.staircases(limits), strict=True):
        for bits, chances in zip(EVERY, exact, strict=True):
            spent = count_changes(GRAPH, bits, noise)
            if spent is None or not any(
                all(a <= b for a, b in zip(spent, corner, strict=True)) for corner in staircase
            ):
                continue
            chance = chances[certificate.node] if certificate.selected else 1 - chances[certificate.node]
            assert chance > 0.5
            changed += any(spent)
    assert changed, "some certificate is of more than the graph itself"


def count_changes(before: tuple[int, ...], after: tuple[int, ...], noise: GraphNoise) -> tuple[int, ...] | None:
    """How many bits of each kind differ, in the order of the family; None if others do."""
    spent: list[int] = []
    changes = list(zip(before, after, strict=True))
    for part, pairs in ((noise.edges, changes[NODES:]), (noise.features, changes[:NODES])):
        if part is not None:
            spent += [pairs.count((0, 1)), pairs.count((1, 0))]
        elif any(a != b for a, b in pairs):
            return None
    return tuple(spent)


def test_no_adversary_changes_more_nodes_at_once_than_the_collective_certificate_says() -> None:
    """Every graph with other features, by the exact law: how many nodes have another class than on the graph itself."""
    graph, exact = make_graph(PAIRED), probabilities(FEATURES_ONLY)
    certificates = certify(FEATURES_ONLY, PAIRED)
    kept = [(exact[:, node] > 0.5) == bool(certificates.selected[node]) for node in range(NODES)]
    fewer = False
    for box in product(range(3), repeat=2):
        collective = certify_collectively(
            certificates.staircases({"add": box[0], "delete": box[1]}), graph.receptive_fields(1), box
        )
        changed = [
            sum(not each[place] for each in kept)
            for place, bits in enumerate(EVERY)
            if (spent := count_changes(PAIRED, bits, FEATURES_ONLY)) is not None
            and all(a <= b for a, b in zip(spent, box, strict=True))
        ]
        assert max(changed) <= collective.changeable
        fewer |= collective.certified > collective.certified_alone
    assert fewer, "together says more than alone for some budget"


def test_certificates_are_false_no_more_often_than_they_say() -> None:
    """A lower bound exceeds the probability in at most one of ten runs at failure 0.1; simultaneously for all nodes."""
    exact = probabilities(BOTH)[EVERY.index(GRAPH)]
    false_alone, false_together, runs = 0, 0, 120
    smoothed, graph = SmoothedGraph(vote_of_neighbours, BOTH, 2, feed="scipy"), make_graph(GRAPH)
    for seed in range(runs):
        selection, counts = (
            smoothed.count_votes(graph, seed, stage, range(size))
            for stage, size in ((Stage.SELECT, 9), (Stage.BOUND, 60))
        )
        alone, together = (
            [
                each.lower_bound > (exact[each.node] if each.selected else 1 - exact[each.node])
                for each in smoothed.certify_votes(graph, selection, counts, "0.1", simultaneous=simultaneous)
            ]
            for simultaneous in (False, True)
        )
        false_alone += alone[0]
        false_together += any(together)
    # 0.1 of 120 runs, and four standard deviations.
    assert false_alone <= 26
    assert false_together <= 26


def test_votes_depend_on_seed_noise_and_graph_only() -> None:
    smoothed, graph = SmoothedGraph(vote_of_neighbours, BOTH, 2, feed="scipy"), make_graph(GRAPH)
    whole = smoothed.certify_nodes(graph, n0=5, n=40, seed=3)
    part = smoothed.certify_nodes(graph, n0=5, n=40, seed=3, nodes=[3, 1])
    mask = smoothed.certify_nodes(graph, n0=5, n=40, seed=3, nodes=[False, True, False, True])
    assert (part.counts == whole.counts[[3, 1]]).all()
    assert (mask.counts == whole.counts[[1, 3]]).all()
    assert mask.nodes.tolist() == [1, 3]
    pieces = [smoothed.count_votes(graph, 3, Stage.BOUND, samples) for samples in (range(25, 40), range(25))]
    assert (pieces[0] + pieces[1] == whole.counts).all()
    assert (smoothed.certify_nodes(graph, n0=5, n=40, seed=4).counts != whole.counts).any()


@pytest.mark.parametrize("noise", [FEATURES_ONLY, EDGES_ONLY, BOTH], ids=["features", "edges", "both"])
def test_every_form_of_input_and_model_has_the_same_votes(noise: GraphNoise) -> None:
    graph = make_graph(GRAPH)
    features, adjacency = in_scipy(graph)
    data = make_data(x=torch.tensor(features.toarray()), edge_index=torch.tensor(graph.edges.index[:, ::-1].copy()))

    class Output:
        def __init__(self, logits: torch.Tensor) -> None:
            self.logits = logits

    network = NeighbourVotes()
    votes = [
        SmoothedGraph(model, noise, 2, "cpu", feed=feed).certify_nodes(form, n0=7, n=50, seed=11).counts.tolist()
        for model, feed, form in (
            (vote_of_neighbours, "scipy", graph),
            (network, "dense", data),
            (network, "sparse", (features, adjacency)),
            (lambda x, edges: Output(network(x, edges)), "dense", (features.toarray(), adjacency.toarray())),
        )
    ]
    assert votes == [votes[0]] * 4


def test_a_network_of_pytorch_geometric_is_certified_as_it_is() -> None:
    torch.manual_seed(0)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.dropout = GCNConv(3, 8), GCNConv(8, 2), torch.nn.Dropout(0.9)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            hidden: torch.Tensor = self.first(x, edge_index).relu()
            return self.second(self.dropout(hidden), edge_index)  # type: ignore[no-any-return]

    data = make_data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    smoothed = SmoothedGraph(Network().train(), GraphNoise(features=Sparse("0.01", "0.2")), 2, "cpu")
    first, second = (smoothed.certify_nodes(data, n0=20, n=200, seed=1) for _ in range(2))
    assert (first.counts == second.counts).all(), "dropout is off"
    assert first.n == 200
    assert len(first) == 3


@pytest.mark.parametrize("noise", [FEATURES_ONLY, EDGES_ONLY], ids=["features", "edges"])
@pytest.mark.parametrize("feed", ["dense", "sparse", "scipy"])
def test_a_model_that_works_in_place_does_not_change_the_graph(noise: GraphNoise, feed: str) -> None:
    def count(x: Any, edges: Any, spoil: bool) -> Any:
        """How many features and edges there are decides; then they are gone."""
        parts = {"dense": (x, edges), "sparse": (x, edges), "scipy": (x.data, edges.data) if feed == "scipy" else ()}
        values = [part.values() if feed == "sparse" and part is x else part for part in parts[feed]]
        total = float(sum(float(part.sum()) for part in values))
        for part in values if spoil else ():
            part *= 0
        return np.full((NODES, 2), [total % 2, 0.5])

    graph = make_graph(GRAPH)
    spoilt, untouched = (
        SmoothedGraph(partial(count, spoil=spoil), noise, 2, "cpu", feed=feed)
        .certify_nodes(graph, n0=10, n=50, seed=3)
        .counts.tolist()
        for spoil in (True, False)
    )
    assert spoilt == untouched


def test_a_layer_that_keeps_what_it_computed_of_one_graph_is_refused() -> None:
    network = torch.nn.Sequential(GCNConv(3, 2, cached=True))
    with pytest.raises(
        InvalidInput, match=r"model must be without layers that cache a graph \(cached=False\); got '0 ="
    ):
        SmoothedGraph(network, EDGES_ONLY, 2, "cpu")


def test_votes_of_some_nodes_have_a_row_for_each_of_them() -> None:
    smoothed, graph = SmoothedGraph(vote_of_neighbours, BOTH, 2, feed="scipy"), make_graph(GRAPH)
    selection, counts = (smoothed.count_votes(graph, 1, stage, range(9)) for stage in (Stage.SELECT, Stage.BOUND))
    (last,) = smoothed.certify_votes(graph, selection[[3]], counts[[3]], nodes=[3])
    assert (last.node, last.count) == (3, counts[3, selection[3].argmax()])
    with pytest.raises(InvalidInput, match=r"counts must be of shape \(1, 2\); got \(4, 2\)"):
        smoothed.certify_votes(graph, selection[[3]], counts, nodes=[3])


def test_progress_counts_all_votes() -> None:
    steps: list[tuple[int, int]] = []
    smoothed = SmoothedGraph(vote_of_neighbours, BOTH, 2, feed="scipy")
    result = smoothed.certify_nodes(make_graph(GRAPH), n0=2, n=3, progress=lambda *step: steps.append(step))
    assert steps == [(done, 5) for done in range(1, 6)]
    assert 0 <= result.seed < 2**63
    assert result.d == NODES + PAIRS


def test_memory_holds_no_matrix_of_node_pairs() -> None:
    """8,000 nodes have 32 million pairs: a byte for each would be 32 MB, a float32 matrix 256 MB."""
    nodes = 8_000
    ring = np.arange(nodes)
    adjacency = sparse.csr_array((np.ones(nodes), (ring, (ring + 1) % nodes)), shape=(nodes, nodes))
    features = sparse.csr_array((np.ones(nodes), (ring, ring % 50)), shape=(nodes, 50))
    smoothed = SmoothedGraph(
        lambda x, adjacency: (adjacency @ x)[:, [0, 1]].toarray(),
        GraphNoise(Sparse("0.0001", "0.5"), Sparse("0.00001", "0.5")),
        2,
        feed="scipy",
    )
    tracemalloc.start()
    try:
        smoothed.certify_nodes((features, adjacency + adjacency.T), n0=1, n=2, seed=0)
        assert tracemalloc.get_traced_memory()[1] < 24_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda x, a: np.zeros((NODES, 3)), r"returned scores of shape \(4, 3\) for 4 nodes; \(4, 2\) is what"),
        (lambda x, a: np.full((NODES, 2), np.nan), "returned NaN, which is not a vote"),
        (lambda x, a: "class 1", "returned str instead of a tensor or an array"),
        (lambda x, a: np.full((NODES, 2), "1"), "returned <U1, which is no score"),
        (lambda x, a: np.full((NODES, 2), 1j), "returned complex128, which is no score"),
        (lambda x, a: x.missing, "raised AttributeError"),
    ],
)
def test_a_model_that_cannot_vote_is_one_clear_line(model: Any, message: str) -> None:
    with pytest.raises(ModelFailed, match=message):
        SmoothedGraph(model, BOTH, 2, feed="scipy").certify_nodes(make_graph(GRAPH), n0=1, n=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": [4]}, "nodes must be a mask of 4 nodes, or different numbers from 0 to 3"),
        ({"nodes": [1, 1]}, "nodes must be a mask of 4 nodes"),
        ({"nodes": [True, False]}, "nodes must be a mask of 4 nodes"),
        ({"nodes": []}, "nodes must be a mask of 4 nodes"),
        ({"nodes": [[1], [1, 2]]}, "nodes must be a mask of 4 nodes"),
        ({"n": 0}, "n must be an integer from 1"),
        ({"n0": True}, "n0 must be an integer from 1"),
        ({"failure": 1}, "failure must be a number strictly between 0 and 1"),
        ({"seed": -1}, "seed must be an integer from 0"),
        ({"directed": True}, "directed must be False, as the graph is"),
    ],
)
def test_bad_settings_are_one_clear_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SmoothedGraph(vote_of_neighbours, BOTH, 2, feed="scipy").certify_nodes(make_graph(GRAPH), **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((vote_of_neighbours, Sparse("0.1", "0.1"), 2), "noise must be a GraphNoise, such as"),
        (("model.pt", BOTH, 2), "model must be a module or a function"),
        ((vote_of_neighbours, BOTH, 1), "num_classes must be an integer of at least 2"),
        ((vote_of_neighbours, BOTH, 2, "cpu", "graph"), "feed must be dense or sparse or scipy"),
    ],
)
def test_a_smoothed_graph_needs_a_model_and_noise(arguments: tuple[Any, ...], message: str) -> None:
    *positional, feed = arguments if len(arguments) == 5 else (*arguments, "dense")
    with pytest.raises(InvalidInput, match=message):
        SmoothedGraph(*positional, feed=feed)
