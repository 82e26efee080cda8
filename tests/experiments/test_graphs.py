"""The experiment on graphs, on a small random one: it resumes, and its tables say what its votes certify."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ellzero.core.errors import BadResults
from ellzero.experiments import Estimate, ExperimentFolder
from ellzero.experiments.graph_data import make_random_data
from ellzero.experiments.graph_network import GraphConvolutions, GraphRecipe
from ellzero.experiments.graph_settings import GraphSettings
from ellzero.experiments.graphs import run_graphs

SMALL = GraphSettings(("features", "both"), GraphRecipe(epochs=25, hidden=16), per_class=15, n0=20, n=150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graphs")
    run_graphs(ExperimentFolder(path), [make_random_data(0)], SMALL)
    return path


def test_votes_that_are_missing_are_drawn_again_and_are_the_same(folder: Path) -> None:
    before = ExperimentFolder(folder).result()
    assert before is not None
    votes = sorted(folder.glob("votes/*/*.npy"))
    assert len(votes) == 4
    votes[0].unlink()
    after = run_graphs(ExperimentFolder(folder), [make_random_data(0)], SMALL)
    assert after.tables == before.tables
    assert (folder / "maps.svg").is_file()
    assert sum(len(np.load(path)) for path in folder.glob("votes/*/*.npy")) == 4 * 90


def test_another_setting_is_refused(folder: Path) -> None:
    with pytest.raises(BadResults, match="holds another experiment: .*n"):
        run_graphs(ExperimentFolder(folder), [make_random_data(0)], replace(SMALL, n=160))
    with pytest.raises(BadResults, match="holds another experiment"):
        run_graphs(ExperimentFolder(folder), [make_random_data(1)], SMALL)


def test_tables_agree_with_each_other(folder: Path) -> None:
    result = ExperimentFolder(folder).result()
    assert result is not None
    overview, features = result.table("overview"), result.table("random-features")
    unchanged, start = overview.rows[0][-1], features.rows[0][1]
    assert isinstance(start, Estimate)
    assert start == unchanged
    shares = [[cell.value for cell in row[1:] if isinstance(cell, Estimate)] for row in features.rows]
    assert (np.diff(np.array(shares, dtype=float), axis=0) <= 0).all()
    for _, _, _, predictions, alone, together, *_ in result.table("collective").rows:
        assert int(alone) <= int(together) <= int(predictions)  # type: ignore[arg-type]
    assert [row[0] for row in result.table("float").rows] == [
        "random, noise on features",
        "random, noise on features and edges",
    ]


def test_a_node_s_scores_depend_on_what_is_within_its_layers() -> None:
    graph, recipe = make_random_data(0).graph, GraphRecipe(hidden=8)
    network = GraphConvolutions(graph.columns, 3, recipe).eval()
    x = torch.from_numpy(graph.features.toarray()).requires_grad_()
    scores = network(x, torch.from_numpy(graph.edges.index))
    (gradient,) = torch.autograd.grad(scores[7].sum(), x)
    reached = set(gradient.abs().sum(1).nonzero().flatten().tolist())
    assert 7 in reached
    assert reached <= set(graph.receptive_fields(GraphConvolutions.LAYERS)[[7]].indices.tolist())


def test_weights_are_kept_to_the_bit() -> None:
    recipe = GraphRecipe(hidden=4)
    first, second = (GraphConvolutions(5, 3, recipe) for _ in range(2))
    second.load(first.save())
    assert all((a == b).all() for a, b in zip(first.parameters(), second.parameters(), strict=True))
