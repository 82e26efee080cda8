"""Certificates of nodes in citation graphs: maps of certified accuracy, what float code claims for the same votes, and
how many predictions one adversary can change at once.

After Bojchevski, Klicpera and Günnemann (ICML 2020), whose noise this is, and Schuchardt et al. (ICLR 2021).
"""

import time
from collections.abc import Sequence
from io import BytesIO
from typing import Final

import numpy as np
import numpy.typing as npt

from ellzero.certificates import CollectiveCertificate, certify_collectively
from ellzero.certificates.families.base import Counts
from ellzero.core.progress import announce, show_progress
from ellzero.core.storage import Folder
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.graph_data import GraphData
from ellzero.experiments.graph_figures import plot_maps
from ellzero.experiments.graph_network import GraphConvolutions, train_network
from ellzero.experiments.graph_settings import COLLECTIVE_BUDGETS, NOISES, GraphSettings
from ellzero.experiments.graph_tables import (
    CertifiedGraph,
    make_accuracy_tables,
    make_collective_table,
    make_float_table,
    make_notes,
    make_overview_table,
)
from ellzero.experiments.one_thread import use_one_thread
from ellzero.experiments.result import ExperimentResult
from ellzero.smoothing.graphs import SmoothedGraph
from ellzero.smoothing.noise.random_streams import Stage

NAME: Final = "graphs"
_CHUNK = 250  # noisy graphs whose votes are kept together
_PROBES = 3
_NETWORKS, _VOTES, _FIGURE = "networks", "votes", "maps.svg"

Integers = npt.NDArray[np.int64]


def run_graphs(folder: ExperimentFolder, data: Sequence[GraphData], settings: GraphSettings) -> ExperimentResult:
    """Train, draw votes, certify and compare. Networks and votes are kept as they come."""
    graphs = {each.name: each.graph.digest.hex() for each in data}
    folder.begin(NAME, {"data": graphs, **settings.describe()})
    with use_one_thread():
        certified = [_certify(folder, each, name, settings) for each in data for name in settings.noises]
        collective = [
            (each, [_certify_collectively(each, budget) for budget in COLLECTIVE_BUDGETS])
            for each in certified
            if each.noise == "features"
        ]
    tables = [
        make_overview_table(certified),
        *make_accuracy_tables(certified),
        make_float_table(certified),
        *([make_collective_table(collective)] if collective else []),
    ]
    maps = [each for each in certified if each.noise != "both"]
    plots = [_FIGURE] if maps else []
    if maps:
        plot_maps(maps, folder.path / _FIGURE)
    folder.log("compared and drawn", show=False)
    return folder.finish(tables, {"graphs": graphs}, make_notes(certified, settings), plots)


def _certify(folder: ExperimentFolder, data: GraphData, noise: str, settings: GraphSettings) -> CertifiedGraph:
    training, test = data.split(settings.per_class, settings.seed)
    name = f"{data.name.lower()}-{noise}"
    network = _load_network(folder, data, training, noise, settings)
    smoothed = SmoothedGraph(network, NOISES[noise], data.classes, "cpu", feed="sparse")
    graph = smoothed.read_graph(data.graph)
    votes = {
        stage: _collect_votes(folder, name, smoothed, data, stage, size, settings.seed)[test]
        for stage, size in ((Stage.SELECT, settings.n0), (Stage.BOUND, settings.n))
    }
    alone, together = (
        smoothed.certify_votes(
            graph,
            votes[Stage.SELECT],
            votes[Stage.BOUND],
            settings.failure,
            simultaneous=simultaneous,
            nodes=test,
            seed=settings.seed,
        )
        for simultaneous in (False, True)
    )
    return CertifiedGraph(data, noise, training, alone, together, data.labels[test])


def _load_network(
    folder: ExperimentFolder, data: GraphData, training: Integers, noise: str, settings: GraphSettings
) -> GraphConvolutions:
    """The trained network, from the folder if it is there."""
    kept, file = Folder(str(folder.subfolder(_NETWORKS))), f"{data.name.lower()}-{noise}.npz"
    if file in kept.files():
        network = GraphConvolutions(data.graph.columns, data.classes, settings.recipe)
        network.load(kept.read(file))
        return network.eval()
    network = train_network(data, training, NOISES[noise], settings.recipe)
    kept.write(file, network.save())
    folder.log(f"{data.name}, noise on {noise}: network trained, {settings.recipe.epochs} epochs")
    return network


def _collect_votes(
    folder: ExperimentFolder,
    name: str,
    smoothed: SmoothedGraph,
    data: GraphData,
    stage: Stage,
    size: int,
    seed: int,
) -> Integers:
    """The votes of a stage; each chunk is kept as soon as it is drawn, and those there are not drawn again."""
    kept = Folder(str(folder.subfolder(f"{_VOTES}/{name}")))
    chunks = {
        f"{stage.name.lower()}-{start}-{min(start + _CHUNK, size)}.npy": range(start, min(start + _CHUNK, size))
        for start in range(0, size, _CHUNK)
    }
    missing = {file: samples for file, samples in chunks.items() if file not in set(kept.files())}
    if missing:
        graphs = sum(map(len, missing.values()))
        seconds = graphs * _seconds_a_vote(smoothed, data)
        announce(f"{name}: {graphs:,} noisy graphs", seconds)
        with show_progress(graphs, "noisy graphs", seconds) as bar:
            for file, samples in missing.items():
                buffer = BytesIO()
                np.save(buffer, smoothed.count_votes(data.graph, seed, stage, samples))
                kept.write(file, buffer.getvalue())
                bar.advance(len(samples))
                folder.log_progress(f"{name}: {file} drawn")
        folder.log(f"{name}: {graphs:,} noisy graphs drawn", show=False)
    votes: Integers = np.sum([np.load(BytesIO(kept.read(file))) for file in chunks], axis=0)
    return votes


def _seconds_a_vote(smoothed: SmoothedGraph, data: GraphData) -> float:
    """By a short trial, only to say it beforehand."""
    start = time.perf_counter()
    smoothed.count_votes(data.graph, 0, Stage.SHOW, range(_PROBES))
    return (time.perf_counter() - start) / _PROBES


def _certify_collectively(certified: CertifiedGraph, budget: Counts) -> CollectiveCertificate:
    """Of the test nodes whose class is right, how many one adversary cannot change within the budget."""
    graph, right = certified.data.graph, certified.right
    certificates = certified.together
    staircases = certificates.staircases({"add": budget[0], "delete": budget[1]})
    fields = graph.receptive_fields(GraphConvolutions.LAYERS)[certificates.nodes[right]]
    ones = np.diff(graph.features.indptr).astype(np.int64)
    capacities = np.stack([graph.columns - ones, ones], axis=1)
    return certify_collectively(
        [staircase for staircase, kept in zip(staircases, right, strict=True) if kept], fields, budget, capacities
    )
