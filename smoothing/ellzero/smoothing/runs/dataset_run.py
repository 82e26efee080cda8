"""Certifying a data set: what decides a run's results, and how a worker certifies chunks of inputs."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ellzero.core.execution.executors import Executor, LocalExecutor, WorkerResources
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.data.datasets import DataSet, read_one
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData, BadModelFile
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import SavedModel, load_model
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.runs.model_function import CalledModel, ModelFunction
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.smoothing.sampling.sampling_task import CertifySettings, CertifyTask

_PROBE_VOTES = (16, 16, 512)  # the first ones warm up
_PROBE_SECONDS = 0.1


@dataclass(frozen=True)
class DatasetRun:
    """A model, a data set, a noise and settings: all that decides the results, and how workers compute them.

    ``model`` is a file and ``model_digest`` its SHA-256, both empty if a ``function`` makes the model.
    """

    model: str
    model_digest: str
    allowed: tuple[str, ...]
    source: DataSource
    data_digest: str
    noise: Mapping[str, Any]
    settings: CertifySettings
    device: str
    batch_size: int | None
    autocast: str | None
    compile: bool
    function: ModelFunction | None = None

    def manifest(self, card: ModelCard, data: DataSet) -> dict[str, Any]:
        """What must be the same for results to belong together."""
        settings = self.settings
        return {
            "model": self._describe_model(card),
            "data": {"name": data.name, "split": self.source.split, "sha256": self.data_digest},
            "noise": dict(self.noise),
            "n0": settings.n0,
            "n": settings.n,
            "failure": str(settings.failure),
            "seed": settings.seed,
            "stopping": str(settings.stopping),
            "runner_up": settings.runner_up,
            **({"top_k": settings.top_k} if settings.top_k > 1 else {}),
            "precision": self.autocast or "float32",
            **({"looks": looks} if (looks := self._describe_looks()) else {}),
        }

    def _describe_model(self, card: ModelCard) -> dict[str, str]:
        if self.function is not None:
            return {"name": self.function.name, "architecture": card.architecture}
        return {"name": Path(self.model).stem, "architecture": card.architecture, "sha256": self.model_digest}

    def _describe_looks(self) -> list[list[int | str]]:
        """The planned looks, each as its number of votes and its share of the failure; none if the rule has none."""
        settings = self.settings
        return [[look.n, str(look.failure)] for look in settings.stopping.plan(settings.n, settings.failure)]

    def load_data(self) -> DataSet:
        """Load the data set; raise unless it is the one that the results name."""
        data = self.source.load()
        if data.digest != self.data_digest:
            raise BadData(self.source.uri, "is not the data set that this run began with")
        return data

    def load_model(self) -> SavedModel | CalledModel:
        """Load the model; raise unless it is the one that the results name, as far as that can be seen."""
        if self.function is not None:
            return self.function.call(self.allowed)
        saved = load_model(Path(self.model), self.allowed)
        if saved.digest != self.model_digest:
            raise BadModelFile(self.model, "is not the model that this run began with")
        return saved

    def make_classifier(self, saved: SavedModel | CalledModel) -> SmoothedClassifier:
        """The smoothed classifier of a model that has been loaded."""
        return SmoothedClassifier(
            saved.network,
            make_noise(self.noise),
            saved.card.num_classes,
            self.device,
            feed=saved.card.feed,
            batch_size=self.batch_size,
            autocast=self.autocast,
            compile=self.compile,
        )


@dataclass(frozen=True)
class ChunkReceipt:
    """What certifying a chunk of inputs took. Its results are in the store already."""

    inputs: int
    drawn: int
    seconds: float


class ChunkWorker:
    """Certifies chunks of a data set's inputs, with the model in memory."""

    def __init__(self, run: DatasetRun, store: ResultStore, saved: SavedModel | CalledModel, data: DataSet) -> None:
        self._settings, self._store, self._data = run.settings, store, data
        self._classifier = run.make_classifier(saved)

    def __call__(self, indices: Sequence[int]) -> ChunkReceipt:
        """Certify these inputs and write their results."""
        start = time.perf_counter()
        results = self._classifier.sampler.run(self._make_tasks(indices))
        rows = [(index, int(self._data.labels[index]), result) for index, result in zip(indices, results, strict=True)]
        self._store.write(rows)
        drawn = sum(result.drawn for _, _, result in rows)
        return ChunkReceipt(len(rows), drawn, time.perf_counter() - start)

    def _make_tasks(self, indices: Sequence[int]) -> Iterator[CertifyTask]:
        inputs, masks = self._data.inputs(indices), self._data.protected(indices)
        for place, x in enumerate(inputs):
            yield self._classifier.task(x, self._settings, None if masks is None else masks[place])


@dataclass(frozen=True)
class WorkerFactory:
    """Makes a worker in another process, which loads model and data itself and checks that they are the run's."""

    run: DatasetRun
    out: str
    stamp: str
    mark: str | None
    threads: int | None

    def __call__(self) -> ChunkWorker:
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        store = ResultStore(self.out, self.stamp)
        store.folder.check_shared(self.mark)
        return ChunkWorker(self.run, store, self.run.load_model(), self.run.load_data())


def check_fit(card: ModelCard, data: DataSet, levels: int, uri: str) -> None:
    """Raise unless model, inputs and a noise of so many levels fit together."""
    if data.shape != card.shape:
        raise BadData(uri, f"has inputs of shape {data.shape}, and the model takes {card.shape}")
    if data.levels != levels:
        advice = f"; --binarize {data.levels // 2} turns them into bits" if levels == 2 else ""
        raise BadData(uri, f"has levels 0..{data.levels - 1}, and the noise is for 0..{levels - 1}{advice}")
    if card.levels != levels:
        raise BadData(uri, f"has levels 0..{levels - 1}, and the model takes 0..{card.levels - 1}")
    wrong = int(data.labels.max(initial=0))
    if wrong >= card.num_classes:
        raise BadData(uri, f"has the class {wrong}, and the model knows {card.num_classes} classes")


def certify_chunks(
    run: DatasetRun,
    store: ResultStore,
    chunks: Sequence[range],
    executor: Executor,
    share: WorkerResources,
    threads: int | None,
    saved: SavedModel | CalledModel,
    data: DataSet,
) -> Iterator[ChunkReceipt]:
    """Certify all chunks; the results of each are in the store before its receipt is yielded.

    A worker in this process uses ``saved`` and ``data``; those on Ray load their own.
    """
    if isinstance(executor, LocalExecutor):
        worker = ChunkWorker(run, store, saved, data)
        yield from executor.run_stateful(lambda: worker, chunks, share)
        return
    with store.folder.run_mark() as mark:
        make = WorkerFactory(run, store.folder.location, store.stamp, mark, threads)
        yield from executor.run_stateful(make, chunks, share)


def votes_per_second(classifier: SmoothedClassifier, data: DataSet) -> float:
    """How fast this machine votes, by a short trial. An estimate to show to people; no result depends on it."""
    rate = 0.0
    x, protected = read_one(data, 0)
    for number, votes in enumerate(_PROBE_VOTES):
        settings = CertifySettings.of(votes, 1, "1/2", 0)
        start = time.perf_counter()
        list(classifier.sampler.run([classifier.task(x, settings, protected)]))
        seconds = time.perf_counter() - start
        rate = votes / seconds
        if number and seconds > _PROBE_SECONDS:
            break  # a large network, for which few votes tell enough
    return rate
