"""Searching for adversaries of a smoothed classifier on bits: every single flip of an input, and pairs of flips.

What a search does not find bounds the accuracy under attack from above; certificates bound it from below. Whether an
input's neighbour is classified rightly is decided by votes: a class has won when it beats the second by a two-sided
binomial test at `FAILURE`, after 32, 64, … votes. A neighbour that is undecided after `MOST_VOTES` counts as no
adversary. A search proves nothing: it is what certificates are compared with.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from ellzero.certificates import outvotes
from ellzero.core.cancellation import check_cancelled
from ellzero.core.execution.executors import Executor, LocalExecutor, WorkerResources
from ellzero.core.part_store import PartStore
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.models.files import SavedModel
from ellzero.smoothing.models.model_io import InputLike
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.model_function import CalledModel

FAILURE: Final = "1e-9"  # of each of up to a million tests
FIRST_VOTES: Final = 32
MOST_VOTES: Final = 8_192
_BATCH: Final = 1_024  # samples at once; votes depend on it
SEARCH_SCHEMA: Final = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),
        pa.field("wrong", pa.bool_(), nullable=False),  # without any change
        pa.field("adversary", pa.list_(pa.int32())),  # the fewest coordinates found; null: none found
        pa.field("singles", pa.int32(), nullable=False),
        pa.field("pairs", pa.int32(), nullable=False),
        pa.field("undecided", pa.int32(), nullable=False),
        pa.field("votes", pa.int64(), nullable=False),
    ]
)


@dataclass(frozen=True)
class SearchSettings:
    """Of how many of the most harmful single flips all pairs are tried, how many random pairs, and a seed."""

    harmful: int = 40
    random_pairs: int = 400
    seed: int = 0


@dataclass(frozen=True)
class SearchedInput:
    """What was found about one input: ``adversary`` has the coordinates whose flips change the answer, () if it is
    wrong by itself, None if nothing was found. ``undecided`` neighbours may be adversaries too."""

    adversary: tuple[int, ...] | None
    singles: int
    pairs: int
    undecided: int
    votes: int


def search_adversary(
    classifier: SmoothedClassifier, x: InputLike, label: int, settings: SearchSettings
) -> SearchedInput:
    """Search for the fewest flips of ``x`` that change the answer ``label``: every single one, then some pairs."""
    levels = classifier.levels(x)
    search = _NeighbourVotes(classifier, levels, label, settings.seed)
    if search.try_flips([()])[0] is False:
        return SearchedInput((), 0, 0, search.undecided, search.votes)
    d = levels.size
    singles: list[tuple[int, ...]] = [(place,) for place in range(d)]
    right = search.try_flips(singles)
    if False in right:
        return SearchedInput(singles[right.index(False)], d, 0, search.undecided, search.votes)
    order = np.argsort(search.shares, kind="stable")[: settings.harmful].tolist()
    pairs = {tuple(sorted((a, b))) for n, a in enumerate(order) for b in order[:n]}
    draw = np.random.Generator(np.random.Philox(key=settings.seed))
    wanted = min(len(pairs) + settings.random_pairs, d * (d - 1) // 2)
    while len(pairs) < wanted:
        pairs.add(tuple(sorted(draw.choice(d, 2, replace=False).tolist())))
    chosen = sorted(pairs)
    right = search.try_flips(chosen)
    found = chosen[right.index(False)] if False in right else None
    return SearchedInput(found, d, len(chosen), search.undecided, search.votes)


class _NeighbourVotes:
    """The votes on neighbours of one input; every batch has random numbers of its own."""

    def __init__(self, classifier: SmoothedClassifier, x: NDArray[Any], label: int, seed: int) -> None:
        self._classifier, self._x, self._label = classifier, x, label
        self._key = stream_key(seed, f"search {classifier.noise.tag}", x)
        self._batches = 0
        self.votes = self.undecided = 0
        self.shares: NDArray[np.float64] = np.zeros(0)  # of the label among the votes on each neighbour of the last try

    def try_flips(self, flips: Sequence[tuple[int, ...]]) -> list[bool | None]:
        """Whether the answer at x with these coordinates flipped is the label; None if the votes do not decide."""
        counts = np.zeros((len(flips), self._classifier.num_classes), np.int64)
        right: list[bool | None] = [None] * len(flips)
        open_places, votes = list(range(len(flips))), FIRST_VOTES
        while open_places and votes <= MOST_VOTES:
            check_cancelled()
            self._draw(flips, open_places, votes, counts)
            for place in open_places:
                right[place] = self._judge(counts[place])
            open_places = [place for place in open_places if right[place] is None]
            if False in right:
                open_places = []  # one is enough
            votes *= 2
        self.undecided += len(open_places)
        self.shares = counts[:, self._label] / np.maximum(1, counts.sum(1))
        return right

    def _judge(self, counts: NDArray[np.int64]) -> bool | None:
        top = int(counts.argmax())
        second = int(np.partition(counts, -2)[-2])
        return top == self._label if _wins(int(counts[top]), second) else None

    def _draw(
        self, flips: Sequence[tuple[int, ...]], places: Sequence[int], votes: int, counts: NDArray[np.int64]
    ) -> None:
        """Add so many votes for each of these neighbours to ``counts``."""
        owners = np.repeat(np.asarray(places, np.int64), votes)
        for start in range(0, len(owners), _BATCH):
            part = owners[start : start + _BATCH]
            neighbours = np.tile(self._x.reshape(-1), (len(part), 1))
            for row, place in enumerate(part.tolist()):
                for coordinate in flips[place]:
                    neighbours[row, coordinate] = 1 - neighbours[row, coordinate]
            source = open_source(self._key, Stage.PREDICT, self._batches, self._classifier.device)
            self._batches += 1
            noisy = self._classifier.noise.sample_batch(neighbours.reshape(len(part), *self._x.shape), source)
            labels = self._classifier.sampler.label(noisy)
            np.add.at(counts, (part, labels), 1)
        self.votes += len(owners)


@lru_cache(maxsize=100_000)
def _wins(top: int, second: int) -> bool:
    return outvotes(top, second, FAILURE)


class SearchWorker:
    """Searches for adversaries of chunks of inputs, and writes what it finds."""

    def __init__(
        self,
        run: DatasetRun,
        store: PartStore,
        settings: SearchSettings,
        saved: SavedModel | CalledModel,
        data: DataSet,
    ):
        self._classifier, self._store, self._settings, self._data = run.make_classifier(saved), store, settings, data

    def __call__(self, indices: Sequence[int]) -> int:
        rows = []
        for index in indices:
            x = self._data.inputs([index])[0]
            label = int(self._data.labels[index])
            found = search_adversary(self._classifier, x, label, self._settings)
            rows.append(
                {
                    "index": index,
                    "label": label,
                    "wrong": found.adversary == (),
                    "adversary": None if found.adversary is None else list(found.adversary),
                    "singles": found.singles,
                    "pairs": found.pairs,
                    "undecided": found.undecided,
                    "votes": found.votes,
                }
            )
        self._store.write_rows(rows)
        return len(rows)


@dataclass(frozen=True)
class SearchFactory:
    """Makes a worker in another process, which loads model and data itself and checks that they are the run's."""

    run: DatasetRun
    out: str
    stamp: str
    settings: SearchSettings

    def __call__(self) -> SearchWorker:
        torch.set_num_threads(1)
        store = PartStore(self.out, SEARCH_SCHEMA, self.stamp)
        return SearchWorker(self.run, store, self.settings, self.run.load_model(), self.run.load_data())


def run_searches(
    run: DatasetRun,
    store: PartStore,
    settings: SearchSettings,
    chunks: Sequence[range],
    executor: Executor,
    saved: SavedModel,
    data: DataSet,
) -> Iterator[int]:
    """Search the inputs of all chunks; yield how many each had, once its results are in the store."""
    if isinstance(executor, LocalExecutor):
        worker = SearchWorker(run, store, settings, saved, data)
        yield from executor.run_stateful(lambda: worker, chunks, WorkerResources(1))
        return
    make = SearchFactory(run, store.folder.location, store.stamp, settings)
    yield from executor.run_stateful(make, chunks, WorkerResources(1))
