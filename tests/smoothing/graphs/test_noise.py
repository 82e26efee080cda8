"""Noisy graphs have exactly the law that is certified, and depend on the names of their streams only."""

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import pytest
from scipy import stats

from ellzero.certificates import InvalidInput, Joint, Sparse
from ellzero.smoothing.graphs import EdgeSet, Graph, GraphNoise, noise as noise_module
from ellzero.smoothing.graphs.noise import flip
from ellzero.smoothing.noise.random_streams import HostRandomSource, Stage

KEY = bytes(range(16))
FEATURES = np.array([[1, 0], [0, 1], [0, 0]])
NOISES = [
    GraphNoise(features=Sparse("0.3", "0.4")),
    GraphNoise(edges=Sparse("1/3", "2/7")),
    GraphNoise(Sparse("0.2", "0.5"), Sparse("0.4", "0.6")),
]


def small_graph(*, directed: bool) -> Graph:
    """Three nodes, one edge, six bits."""
    adjacency = np.array([[0, 1, 0], [0 if directed else 1, 0, 0], [0, 0, 0]])
    return Graph.of((FEATURES, adjacency), directed=directed)


def read_bits(graph: Graph) -> tuple[tuple[int, ...], tuple[int, ...]]:
    pairs = np.zeros(graph.edges.pairs, dtype=int)
    pairs[graph.edges.places] = 1
    return tuple(graph.features.toarray().astype(int).reshape(-1).tolist()), tuple(pairs.tolist())


def chance(before: tuple[int, ...], after: tuple[int, ...], noise: Sparse | None) -> float:
    """The probability of these bits after noise."""
    if noise is None:
        return float(before == after)
    flips = (float(noise.p_del if bit else noise.p_add) for bit in before)
    return prod(flip if x != y else 1 - flip for flip, x, y in zip(flips, before, after, strict=True))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("noise", NOISES, ids=["features", "edges", "both"])
def test_samples_have_the_exact_law(noise: GraphNoise, directed: bool) -> None:
    graph, draws = small_graph(directed=directed), 12_000
    seen = Counter(
        read_bits(noise.sample(graph, HostRandomSource(KEY, Stage.BOUND, number))) for number in range(draws)
    )
    features, pairs = read_bits(graph)
    law = {
        (x, e): chance(features, x, noise.features) * chance(pairs, e, noise.edges)
        for x in (product((0, 1), repeat=6) if noise.features else [features])
        for e in (product((0, 1), repeat=len(pairs)) if noise.edges else [pairs])
    }
    assert set(seen) <= set(law)
    rare = [outcome for outcome, p in law.items() if p * draws < 5]
    kept = [outcome for outcome in law if law[outcome] * draws >= 5]
    observed = [*(seen[each] for each in kept), sum(seen[each] for each in rare)]
    expected = [*(draws * law[each] for each in kept), draws * sum(law[each] for each in rare)]
    if not rare:
        observed, expected = observed[:-1], expected[:-1]
    assert stats.chisquare(observed, np.array(expected) * draws / sum(expected)).pvalue > 1e-4


def test_noisy_graphs_stay_undirected_and_without_loops() -> None:
    noisy = NOISES[2].sample(small_graph(directed=False), HostRandomSource(KEY, Stage.BOUND, 3))
    matrix = np.zeros((3, 3))
    matrix[tuple(noisy.edges.index)] = 1
    assert (matrix == matrix.T).all()
    assert not matrix.diagonal().any()


def test_bits_beyond_a_block_of_coins_are_struck_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_module, "_BLOCK", 1 << 12)
    count, noise = 200_000, Sparse("0.02", "0.7")
    ones = np.arange(0, count, 5)
    noisy = flip(ones, count, noise, HostRandomSource(KEY, Stage.BOUND, 0))
    assert (np.diff(noisy) > 0).all()
    stayed = np.isin(ones, noisy)
    added = np.setdiff1d(noisy, ones)
    for hits, size, share in ((stayed.sum(), len(ones), 0.3), (len(added), count - len(ones), 0.02)):
        assert abs(hits - size * share) < 5 * np.sqrt(size * share * (1 - share))
    halves = [len(added[added < count // 2]), len(added[added >= count // 2])]
    assert stats.chisquare(halves).pvalue > 1e-4


def test_the_same_stream_draws_the_same_graph_and_others_do_not() -> None:
    graph = small_graph(directed=False)
    names = [(KEY, Stage.BOUND, 0), (KEY, Stage.BOUND, 1), (KEY, Stage.SELECT, 0), (KEY[::-1], Stage.BOUND, 0)]
    wide = Graph.of((np.tile(FEATURES, 40), np.zeros((3, 3))))
    drawn = [NOISES[0].sample(wide, HostRandomSource(*name)).digest for name in [*names, *names]]
    assert drawn[:4] == drawn[4:]
    assert len(set(drawn)) == 4
    assert NOISES[1].sample(graph, HostRandomSource(*names[0])).features is graph.features
    assert NOISES[0].sample(graph, HostRandomSource(*names[0])).edges is graph.edges


def test_the_family_and_the_description_say_what_is_struck() -> None:
    graph = small_graph(directed=False)
    assert [noise.coordinates(graph) for noise in NOISES] == [6, 3, 9]
    assert NOISES[0].family == Sparse("0.3", "0.4")
    assert NOISES[2].family == Joint(edges=Sparse("0.4", "0.6"), features=Sparse("0.2", "0.5"))
    assert "unordered pair" in NOISES[1].describe(graph)["edges"]["unit"]
    assert "an ordered pair" in NOISES[1].describe(small_graph(directed=True))["edges"]["unit"]
    assert set(NOISES[0].describe(graph)) == {"features"}


def test_bad_noise_is_one_clear_line() -> None:
    counts = Graph.of((FEATURES * 3, np.zeros((3, 3))))
    for noise in (NOISES[0], NOISES[2]):
        with pytest.raises(InvalidInput, match="features must be 0 or 1 for noise on them; .* got 3.0"):
            noise.check(counts)
    NOISES[1].check(counts)
    with pytest.raises(InvalidInput, match="graph must be of at least two nodes"):
        NOISES[1].check(Graph(FEATURES, EdgeSet(1, False, np.zeros(0, np.int64))))
    with pytest.raises(InvalidInput, match="noise must be on features, on edges, or on both"):
        GraphNoise()
    with pytest.raises(InvalidInput, match="edges must be a Sparse"):
        GraphNoise(edges="0.1")  # type: ignore[arg-type]
