"""Certifying a data set: what a run is, and what a worker does for a part of it."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ellzero.core.execution.executors import Executor, WorkerResources
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.data.datasets import DataSet, binarize
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.errors import BadData, BadModelFile
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import load_model
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.smoothing.sampling.sampling_task import CertifySettings

_PART_INPUTS = 16
_PROBE_VOTES = 256


@dataclass(frozen=True)
class DataSource:
    """Where inputs come from, in words that every worker understands."""

    uri: str
    split: str
    k: int | None
    image_size: int
    binarize: int | None

    def load(self) -> DataSet:
        """The inputs; of levels bits are made where that is asked for, and what are bits already stay."""
        data = load_data(self.uri, self.split, k=self.k, image_size=self.image_size)
        return data if self.binarize is None or data.levels == 2 else binarize(data, self.binarize)


@dataclass(frozen=True)
class DatasetRun:
    """A model, a data set, a noise and a settings: all that decides the results, and how a worker computes them."""

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

    def manifest(self, card: ModelCard, data: DataSet) -> dict[str, Any]:
        """What must be the same for results to belong together."""
        settings = self.settings
        return {
            "model": {"name": Path(self.model).stem, "architecture": card.architecture, "sha256": self.model_digest},
            "data": {"name": data.name, "split": self.source.split, "sha256": self.data_digest},
            "noise": dict(self.noise),
            "n0": settings.n0,
            "n": settings.n,
            "failure": str(settings.failure),
            "seed": settings.seed,
            "stopping": str(settings.stopping),
            "runner_up": settings.runner_up,
            "precision": self.autocast or "float32",
        }

    def data(self) -> DataSet:
        """The data set that the results will name."""
        found = self.source.load()
        if found.digest != self.data_digest:
            raise BadData(self.source.uri, "is not the data set that this run began with")
        return found

    def classifier(self) -> SmoothedClassifier:
        """The model, ready to vote: the one that the results will name."""
        saved = load_model(Path(self.model), self.allowed)
        if saved.digest != self.model_digest:
            raise BadModelFile(self.model, "is not the model that this run began with")
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
class PartReceipt:
    """What became of a part. The results are in the folder already."""

    inputs: int
    drawn: int
    seconds: float


@dataclass(frozen=True)
class WorkerFactory:
    """Makes a worker: a model in memory and the data set, kept for part after part."""

    run: DatasetRun
    out: str
    stamp: str
    mark: str | None
    threads: int | None

    def __call__(self) -> Callable[[Sequence[int]], PartReceipt]:
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        store = ResultStore(self.out, self.stamp)
        store.folder.check_shared(self.mark)
        classifier, data = self.run.classifier(), self.run.data()

        def certify(indices: Sequence[int]) -> PartReceipt:
            start = time.perf_counter()
            results = classifier.certify_many(data.inputs(indices), self.run.settings)
            rows = [(index, int(data.labels[index]), result) for index, result in zip(indices, results, strict=True)]
            store.write(rows)
            drawn = sum(result.drawn for _, _, result in rows)
            return PartReceipt(len(rows), drawn, time.perf_counter() - start)

        return certify


def check_fit(card: ModelCard, data: DataSet, levels: int, uri: str) -> None:
    """Raise unless the model can take the inputs, and noise of so many levels suits them."""
    if data.shape != card.shape:
        raise BadData(uri, f"has inputs of shape {data.shape}, and the model takes {card.shape}")
    if data.levels != levels:
        advice = f"; --binarize {data.levels // 2} makes bits of them" if levels == 2 else ""
        raise BadData(uri, f"has levels 0..{data.levels - 1}, and the noise is for 0..{levels - 1}{advice}")
    if card.levels != levels:
        raise BadData(uri, f"has levels 0..{levels - 1}, and the model takes 0..{card.levels - 1}")
    wrong = int(data.labels.max(initial=0))
    if wrong >= card.num_classes:
        raise BadData(uri, f"has the class {wrong}, and the model knows {card.num_classes} classes")


def parts(missing: Iterable[int]) -> list[range]:
    """Inputs without a result, as parts of consecutive ones."""
    found: list[range] = []
    for index in sorted(missing):
        last = found[-1] if found else None
        if last is not None and last.stop == index and index % _PART_INPUTS:
            found[-1] = range(last.start, index + 1)
        else:
            found.append(range(index, index + 1))
    return found


def certify_parts(
    run: DatasetRun,
    store: ResultStore,
    wanted: Sequence[range],
    executor: Executor,
    share: WorkerResources,
    threads: int | None,
) -> Iterator[PartReceipt]:
    """Certify all parts; each is in the folder before its receipt comes."""
    with store.folder.run_mark() as mark:
        make = WorkerFactory(run, store.folder.location, store.stamp, mark, threads)
        yield from executor.run_stateful(make, wanted, share)


def votes_per_second(classifier: SmoothedClassifier, data: DataSet) -> float:
    """How fast this machine votes, by a short trial: for what people are told, never for a result."""
    trial = CertifySettings.of(_PROBE_VOTES, 1, "1/2", 0)
    for _ in range(2):  # the first one warms up
        start = time.perf_counter()
        list(classifier.certify_many(data.inputs([0]), trial))
        seconds = time.perf_counter() - start
    return _PROBE_VOTES / seconds
