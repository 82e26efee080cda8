"""Graphs are read from what people have; what certificates do not cover is refused in one line."""

from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from ellzero.certificates import InvalidInput
from ellzero.smoothing.graphs import Graph
from smoothing import geometric_data

FEATURES = np.array([[1, 0], [0, 1], [0, 0]])
PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
INDEX = torch.tensor([[2, 1, 0, 1], [1, 2, 1, 0]])


def make_data(**fields: Any) -> Any:
    return geometric_data.make_data(**{"x": torch.tensor(FEATURES, dtype=torch.float32), "edge_index": INDEX, **fields})


def test_the_same_graph_is_read_from_every_form() -> None:
    forms = [
        (FEATURES, PATH),
        (FEATURES.astype(bool), PATH.astype(np.float64)),
        (sparse.coo_matrix(FEATURES), sparse.csc_array(PATH)),
        (torch.tensor(FEATURES), sparse.coo_array(PATH)),
        (torch.tensor(FEATURES, dtype=torch.float64, requires_grad=True), PATH.tolist()),
        make_data(),
    ]
    graphs = [Graph.of(form) for form in forms]
    assert len({graph.digest for graph in graphs}) == 1
    assert [graph.edges.index.tolist() for graph in graphs] == [[[0, 1, 1, 2], [1, 0, 2, 1]]] * len(forms)
    assert Graph.of(graphs[0]) is graphs[0]
    other = FEATURES.copy()
    other[2, 1] = 1
    assert Graph.of((other, PATH)).digest != graphs[0].digest


def test_matrices_stay_as_they_are() -> None:
    stored = (np.array([1.0, 0.0, 1.0]), (np.array([0, 0, 1]), np.array([1, 0, 0])))
    features, adjacency = (sparse.csr_array(stored, shape=(2, 2)) for _ in range(2))
    graph = Graph.of((features, adjacency))
    assert graph.features.nnz == 2
    assert (features.nnz, adjacency.nnz) == (3, 3)


def test_a_graph_without_edges_is_one() -> None:
    graph = Graph.of((FEATURES, np.zeros((3, 3))))
    assert graph.edges.index.shape == (2, 0)
    assert graph.digest == Graph.of(make_data(edge_index=torch.zeros(2, 0, dtype=torch.int64))).digest


def test_receptive_fields_are_paths_that_lead_to_a_node() -> None:
    path = Graph.of((FEATURES, PATH))
    assert path.receptive_fields(0).toarray().tolist() == np.eye(3, dtype=bool).tolist()
    assert path.receptive_fields(1).toarray().tolist() == (PATH + np.eye(3) > 0).tolist()
    assert path.receptive_fields(2).toarray().all()
    arrows = Graph.of((FEATURES, np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])), directed=True)  # 0 → 1 → 2
    assert arrows.receptive_fields(1).toarray().tolist() == [
        [True, False, False],
        [True, True, False],
        [False, True, True],
    ]
    assert arrows.receptive_fields(5).toarray()[2].all()


LOOP, ARROW, WEIGHT = PATH.copy(), PATH.copy(), PATH.astype(float)
LOOP[1, 1] = 1
ARROW[0, 2] = 1
WEIGHT[0, 1] = WEIGHT[1, 0] = 0.5


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ((FEATURES, LOOP), r"adjacency must be without self-loops, which a network adds by itself; got \(1, 1\)"),
        ((FEATURES, ARROW), r"adjacency must be symmetric, .* unless directed=True; got \(0, 2\)"),
        ((FEATURES, WEIGHT), "adjacency must be 0 or 1: certificates are of edges without weights"),
        ((FEATURES, PATH[:2, :2]), r"adjacency must be of shape \(3, 3\), a row for each node"),
        ((FEATURES[0], PATH), "features must be a matrix with a row for each node"),
        ((FEATURES[:0], PATH), "features must be a matrix with a row for each node"),
        ((FEATURES * float("nan"), PATH), "features must be finite numbers"),
        (([["a"]], PATH), "features must be a matrix"),
        ("graph.npz", "graph must be a pair"),
        ((FEATURES, PATH, PATH), r"graph must be a pair .* got 'tuple'"),
        (make_data(x=None), "features must be a matrix"),
        ((torch.tensor(FEATURES).to_sparse(), PATH), "features must be a matrix .* got 'Tensor'"),
        (make_data(edge_index=torch.tensor([[0, 1], [1, 3]])), "edge_index must be nodes from 0 to 2; got 3"),
        (make_data(edge_index=torch.tensor([[0, 0, 1, 1], [1, 1, 0, 0]])), "edge_index must be each edge once"),
        (make_data(edge_index=torch.tensor([[0, 1, 2]])), r"edge_index must be integers of shape \(2, edges\)"),
        (make_data(edge_index=torch.tensor([[0.0], [1.0]])), r"edge_index must be integers of shape \(2, edges\)"),
        (make_data(edge_index=torch.tensor([[0], [1]])), "edge_index must be symmetric"),
        (make_data(edge_index=torch.tensor([[0], [0]])), "edge_index must be without self-loops"),
        (make_data(edge_index=None), r"edge_index must be integers of shape \(2, edges\)"),
        (make_data(edge_attr=torch.ones(4)), "edge_attr must be left out"),
        (make_data(edge_weight=torch.ones(4)), "edge_weight must be left out"),
    ],
)
def test_what_certificates_do_not_cover_is_one_clear_line(graph: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as raised:
        Graph.of(graph)
    assert "\n" not in str(raised.value)


def test_directed_graphs_are_read_if_so_asked() -> None:
    graph = Graph.of((FEATURES, ARROW), directed=True)
    assert len(graph.edges.places) == 5
    with pytest.raises(InvalidInput, match="directed must be True, as the graph is"):
        Graph.of(graph)
