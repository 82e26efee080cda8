"""Every pair of nodes has a number of its own, and the other way round."""

from itertools import combinations, permutations

import numpy as np
import pytest

from ellzero.smoothing.graphs import EdgeSet


@pytest.mark.parametrize("nodes", [1, 2, 3, 6])
@pytest.mark.parametrize("directed", [False, True])
def test_pairs_are_numbered_row_by_row(nodes: int, directed: bool) -> None:
    pairs = list((permutations if directed else combinations)(range(nodes), 2))
    everything = EdgeSet(nodes, directed, np.arange(len(pairs)))
    assert everything.pairs == len(pairs)
    assert list(zip(*map(np.ndarray.tolist, everything.endpoints), strict=True)) == sorted(pairs)
    shuffled = np.array(pairs[::-1], dtype=np.int64).reshape(-1, 2)
    assert EdgeSet.of_pairs(shuffled[:, 0], shuffled[:, 1], nodes, directed=directed).places.tolist() == list(
        range(len(pairs))
    )


def test_an_undirected_edge_is_one_pair_and_two_columns_of_the_index() -> None:
    edges = EdgeSet.of_pairs(np.array([2, 0, 1]), np.array([0, 2, 2]), 3, directed=False)
    assert edges.places.tolist() == [1, 2]
    assert edges.index.tolist() == [[0, 1, 2, 2], [2, 2, 0, 1]]
    assert "unordered" in edges.unit
    directed = EdgeSet.of_pairs(np.array([2, 0]), np.array([0, 1]), 3, directed=True)
    assert directed.index.tolist() == [[0, 2], [1, 0]]
    assert "an ordered pair" in directed.unit


def test_numbers_stay_exact_where_there_are_many_nodes() -> None:
    nodes = 3_000_000
    sources, targets = np.array([nodes - 2, 0, 1_234_567]), np.array([nodes - 1, nodes - 1, 2_999_998])
    for directed in (False, True):
        edges = EdgeSet.of_pairs(sources, targets, nodes, directed=directed)
        assert sorted(zip(*edges.endpoints, strict=True)) == sorted(zip(sources, targets, strict=True))
        assert edges.places[-1] < edges.pairs
