"""The smoothed graph network: each noisy graph gives a vote on every node."""

import hashlib
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.core.cancellation import check_cancelled
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_failure, read_integer
from ellzero.smoothing.graphs.certificates import NodeCertificates
from ellzero.smoothing.graphs.edge_set import Places
from ellzero.smoothing.graphs.feed import GraphFeed, GraphModel, prepare_graph, read_labels
from ellzero.smoothing.graphs.graph import Graph, GraphLike
from ellzero.smoothing.graphs.noise import GraphNoise
from ellzero.smoothing.noise.arrays import read_array
from ellzero.smoothing.noise.random_streams import HostRandomSource, Stage

Integers = npt.NDArray[np.int64]


class SmoothedGraph:
    """g(graph)_v = the most probable class of node v by ``model`` on noisy copies of the graph, with certificates.

    ``model(x, edge_index)`` returns the scores of all nodes, nodes × ``num_classes``, or an output with ``.logits``. A
    torch module is put into evaluation mode and moved to ``device``; any other callable is called as it is. ``feed``
    says in what form it takes the graph (`GraphFeed`).

    Noise is drawn on the CPU, a stream for each noisy graph, named by the seed, the noise, the graph, the stage and the
    number of the sample. So votes depend on nothing else. Memory holds one noisy graph, and never a dense matrix of
    node pairs.
    """

    def __init__(
        self,
        model: GraphModel,
        noise: GraphNoise,
        num_classes: int,
        device: Any = "auto",
        *,
        feed: GraphFeed | str = GraphFeed.DENSE,
    ) -> None:
        if not isinstance(noise, GraphNoise):
            raise InvalidInput("noise", "a GraphNoise, such as GraphNoise(features=Sparse('0.01', '0.6'))", noise)
        if not callable(model):
            raise InvalidInput("model", "a module or a function model(x, edge_index)", model)
        _check_no_cache(model)
        self.noise = noise
        self.num_classes = read_integer(num_classes, "num_classes", 2)
        self.feed = GraphFeed.read(feed)
        self.device = None if self.feed is GraphFeed.SCIPY else _find_device(device)
        self._model: Any = model.to(self.device) if hasattr(model, "to") and self.device is not None else model

    def certify_nodes(
        self,
        graph: GraphLike,
        n0: int = DEFAULT_N0,
        n: int = DEFAULT_N,
        failure: RationalLike = DEFAULT_FAILURE,
        *,
        simultaneous: bool = False,
        directed: bool = False,
        nodes: npt.ArrayLike | None = None,
        seed: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> NodeCertificates:
        """A class and certified budgets for each of ``nodes``, a mask or numbers; by default for all.

        With probability at least 1 − failure, for each node by itself: g keeps that class wherever the graph differs
        within a certified budget. n0 votes select the class, n *fresh* ones bound its probability. With
        ``simultaneous`` each certificate is at failure/#nodes, so that all of them hold at once with probability
        1 − failure. ``progress`` is called with the number of votes so far, and of all.
        """
        epsilon, whole = read_failure(failure), self.read_graph(graph, directed=directed)
        sizes = {
            Stage.SELECT: read_integer(n0, "n0", 1, MAX_VOTES),
            Stage.BOUND: read_integer(n, "n", 1, MAX_VOTES),
        }
        chosen = _read_nodes(nodes, whole.nodes)
        seed = secrets.randbits(63) if seed is None else read_integer(seed, "seed", 0, 2**63 - 1)
        start, done, total = time.perf_counter(), 0, sum(sizes.values())
        votes = {stage: np.zeros((len(chosen), self.num_classes), np.int64) for stage in sizes}
        for stage, size in sizes.items():
            for sample in range(size):
                votes[stage] += self.count_votes(whole, seed, stage, range(sample, sample + 1))[chosen]
                done += 1
                if progress is not None:
                    progress(done, total)
        return self.certify_votes(
            whole,
            votes[Stage.SELECT],
            votes[Stage.BOUND],
            epsilon,
            simultaneous=simultaneous,
            nodes=chosen,
            seed=seed,
            seconds=time.perf_counter() - start,
        )

    def read_graph(self, graph: GraphLike, *, directed: bool = False) -> Graph:
        """The graph as noise takes it. Raises ``InvalidInput`` for what it cannot strike."""
        whole = Graph.of(graph, directed=directed)
        self.noise.check(whole)
        return whole

    def count_votes(self, graph: Graph, seed: int, stage: Stage, samples: range) -> Integers:
        """The votes of these noisy graphs, nodes × classes. Ranges may be drawn in any order, anywhere, and added."""
        key = name_streams(seed, self.noise, graph)
        votes = np.zeros((graph.nodes, self.num_classes), dtype=np.int64)
        every = np.arange(graph.nodes)
        for sample in samples:
            check_cancelled()
            noisy = self.noise.sample(graph, HostRandomSource(key, stage, sample))
            votes[every, self._classify(noisy)] += 1
        return votes

    def certify_votes(
        self,
        graph: Graph,
        selection: Integers,
        counts: Integers,
        failure: RationalLike = DEFAULT_FAILURE,
        *,
        simultaneous: bool = False,
        nodes: npt.ArrayLike | None = None,
        seed: int = 0,
        seconds: float = 0.0,
    ) -> NodeCertificates:
        """The certificates that votes of `count_votes` give: those that select a class, and those that bound it.

        Both have a row for each of ``nodes``: by default for all, and otherwise ``count_votes(…)[nodes]``.
        """
        chosen = _read_nodes(nodes, graph.nodes)
        for name, votes in (("selection", selection), ("counts", counts)):
            if np.shape(votes) != (len(chosen), self.num_classes):
                raise InvalidInput(name, f"of shape {(len(chosen), self.num_classes)}", np.shape(votes))
        return NodeCertificates(
            nodes=chosen,
            selection=selection,
            counts=counts,
            failure=read_failure(failure),
            simultaneous=bool(simultaneous),
            family=self.noise.family,
            d=self.noise.coordinates(graph),
            seed=seed,
            noise=self.noise.describe(graph),
            seconds=seconds,
        )

    def _classify(self, noisy: Graph) -> Integers:
        if hasattr(self._model, "eval"):
            self._model.eval()  # it may have been trained since
        inputs = prepare_graph(noisy, self.feed, self.device)
        with self._inference():
            try:
                scores = self._model(*inputs)
            except (Exception, SystemExit) as error:
                from ellzero.smoothing.models.model_io import make_model_error

                raise make_model_error(error) from error
        return read_labels(scores, noisy.nodes, self.num_classes)

    def _inference(self) -> AbstractContextManager[Any]:
        if self.feed is GraphFeed.SCIPY:
            return nullcontext()
        import torch

        return torch.inference_mode()


def _check_no_cache(model: Any) -> None:
    """Raise for layers that keep what they computed of one graph, as PyTorch Geometric's can: all would vote on it."""
    for name, layer in model.named_modules() if hasattr(model, "named_modules") else ():
        if getattr(layer, "cached", False) is True:
            where = f"{name} = " if name else ""
            raise InvalidInput("model", "without layers that cache a graph (cached=False)", f"{where}{layer}")


def name_streams(seed: int, noise: GraphNoise, graph: Graph) -> bytes:
    """The name of the streams of a graph, each of which draws one noisy graph."""
    digest = hashlib.blake2b(digest_size=16, person=b"ellzero graphs")
    for part in (str(seed), str(noise)):
        digest.update(f"{len(part)}:{part}".encode())
    digest.update(graph.digest)
    return digest.digest()


def _find_device(device: Any) -> Any:
    from ellzero.smoothing.models.devices import find_device

    return find_device(device)


def _read_nodes(nodes: npt.ArrayLike | None, size: int) -> Places:
    """Numbers of nodes, in their order."""
    if nodes is None:
        return np.arange(size)
    allowed = f"a mask of {size} nodes, or different numbers from 0 to {size - 1}"
    given = read_array(nodes)
    if given is None:
        raise InvalidInput("nodes", allowed, str(nodes)[:40])
    if given.dtype == np.bool_ and given.shape == (size,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        raise InvalidInput("nodes", allowed, given.tolist())
    if given.min() < 0 or given.max() >= size or len(np.unique(given)) < given.size:
        raise InvalidInput("nodes", allowed, given.tolist())
    return given.astype(np.int64)
