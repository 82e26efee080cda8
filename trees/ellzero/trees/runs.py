"""Certifying a data set by a tree or forest: what decides the results, and how a worker certifies chunks of inputs."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ellzero.core.execution.executors import Executor, WorkerResources
from ellzero.core.part_store import PartStore, split_chunks
from ellzero.trees.data import BinaryData, BinaryDataSource
from ellzero.trees.errors import UnreadableFile
from ellzero.trees.model_file import SavedTrees, load_trees
from ellzero.trees.result_schema import KIND, SCHEMA

_CHUNK_INPUTS = 256
_PROBE_INPUTS = 64


@dataclass(frozen=True)
class TreeRun:
    """A model, a data set and a largest number of changes: all that decides the results."""

    model: str
    model_digest: str
    source: BinaryDataSource
    data_digest: str
    r_max: int

    def describe(self, saved: SavedTrees, data: BinaryData) -> dict[str, Any]:
        """What must be the same for results to belong together."""
        return {
            "kind": KIND,
            "model": {"name": Path(self.model).stem, "architecture": saved.kind, "sha256": self.model_digest},
            "data": {"name": data.name, **self.source.describe(), "sha256": self.data_digest},
            "noise": {"family": "discrete", "k": 1, "alpha": str(saved.estimator.alpha_), "unit": "coordinate"},
            "r_max": self.r_max,
        }

    def load(self) -> tuple[SavedTrees, BinaryData]:
        """Model and data, once they are seen to be those that this run began with."""
        saved, data = load_trees(self.model), self.source.load()
        if saved.digest != self.model_digest:
            raise UnreadableFile(self.model, "is not the model that this run began with")
        if data.digest != self.data_digest:
            raise UnreadableFile(self.source.uri, "is not the data that this run began with")
        return saved, data


class TreeWorker:
    """Certifies chunks of a data set's inputs, with the model in memory."""

    def __init__(self, run: TreeRun, store: PartStore, saved: SavedTrees, data: BinaryData) -> None:
        self._run, self._store, self._estimator, self._data = run, store, saved.estimator, data
        self._labels = place_labels(saved, data, run.source.uri)

    def __call__(self, indices: Sequence[int]) -> int:
        """Certify these inputs and write their results; how many they are."""
        start, chosen = time.perf_counter(), list(indices)
        x = self._data.features[chosen]
        low, high = self._estimator.probability_bounds(x, self._run.r_max)
        p, radii = self._estimator.predict_proba(x)[:, 1], self._estimator.certified_radius(x)
        predictions = self._estimator.predict(x) == self._estimator.classes_[1]
        seconds = (time.perf_counter() - start) / len(chosen)
        self._store.write_rows(
            [
                {
                    "index": index,
                    "label": int(self._labels[index]),
                    "prediction": int(predictions[row]) if radii[row] >= 0 else -1,
                    "radius": int(radii[row]) if radii[row] >= 0 else None,
                    "p": float(p[row]),
                    "low": low[row].tolist(),
                    "high": high[row].tolist(),
                    "d": x.shape[1],
                    "seconds": seconds,
                }
                for row, index in enumerate(chosen)
            ]
        )
        return len(chosen)


@dataclass(frozen=True)
class TreeWorkerFactory:
    """Makes a worker where it works: model and data are read there."""

    run: TreeRun
    out: str
    stamp: str
    mark: str | None

    def __call__(self) -> TreeWorker:
        store = PartStore(self.out, SCHEMA, self.stamp)
        store.folder.check_shared(self.mark)
        return TreeWorker(self.run, store, *self.run.load())


def place_labels(saved: SavedTrees, data: BinaryData, uri: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Labels as places in the model's classes, once model and data are seen to fit each other."""
    d, classes = saved.estimator.n_features_in_, saved.estimator.classes_.tolist()
    if data.features.shape[1] != d:
        raise UnreadableFile(uri, f"has {data.features.shape[1]:,} features, and the model takes {d:,}")
    for name, expected in zip(data.feature_names or (), saved.feature_names or (), strict=False):
        if name != expected:
            raise UnreadableFile(uri, f"has the feature {name} where the model has {expected}; the order counts too")
    labels = data.labels.tolist()
    for label in labels:
        if label not in classes:
            raise UnreadableFile(uri, f"has the label {label!r}, and the model knows {classes[0]!r} and {classes[1]!r}")
    return np.array([classes.index(label) for label in labels], np.int64)


def missing_chunks(store: PartStore, inputs: int) -> list[range]:
    """The inputs that have no result yet."""
    return split_chunks(set(range(inputs)) - store.present(), _CHUNK_INPUTS)


def certify_chunks_by_trees(
    run: TreeRun, store: PartStore, chunks: Sequence[range], executor: Executor
) -> Iterator[int]:
    """Certify all chunks; the results of each are in the store before its number of inputs is yielded."""
    with store.folder.run_mark() as mark:
        make = TreeWorkerFactory(run, store.folder.location, store.stamp, mark)
        yield from executor.run_stateful(make, chunks, WorkerResources())


def seconds_per_input(saved: SavedTrees, data: BinaryData, r_max: int) -> float:
    """How long an input takes on this machine, by a short trial. No result depends on it."""
    x = data.features[:_PROBE_INPUTS]
    start = time.perf_counter()
    saved.estimator.probability_bounds(x, r_max)
    saved.estimator.predict_proba(x)
    saved.estimator.certified_radius(x)
    return (time.perf_counter() - start) / len(x)
