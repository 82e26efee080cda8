"""Folders of results for the service's tests: runs of the command line, and rows that the result stores write."""

import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ellzero.core.execution.executors import LocalExecutor
from ellzero.core.part_store import PartStore
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.results import ABSTAIN, Certified
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.trees import SmoothedTreeClassifier, save_trees
from ellzero.trees.data import BinaryDataSource
from ellzero.trees.result_schema import SCHEMA
from ellzero.trees.runs import TreeRun, certify_chunks_by_trees, missing_chunks

N = 1_000
RUN: dict[str, Any] = {
    "model": {"name": "network", "architecture": "mlp", "sha256": "0" * 64},
    "data": {"name": "data", "split": "test", "sha256": "0" * 64},
    "noise": {"family": "discrete", "k": 255, "alpha": "1/5", "unit": "coordinate", "levels": 256, "channels": 3},
    "n0": 100,
    "n": N,
    "failure": "1/1000",
    "seed": 2**60 + 1,
    "stopping": "settled",
}
CLASSES = ("airplane", "ship", "frog")


def certify_digits(out: Path, alpha: str, limit: int) -> None:
    """Certify some of the digits with the demo model, as a user does."""
    options = ["--n", "2000", "--seed", "1", "--executor", "local", "--alpha", alpha, "--limit", str(limit)]
    command = [sys.executable, "-m", "ellzero", "certify", "--model", "demo-digits", "--data", "digits", *options]
    subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)


def certified(selected: int, radius: int | None, count: int = 900, drawn: int = N) -> Certified:
    """A result of votes for three classes."""
    counts = [0, 0, 0]
    counts[selected] = count
    counts[selected - 1] = drawn - count
    return Certified(
        prediction=ABSTAIN if radius is None else selected,
        radius=radius,
        selected=selected,
        count=count,
        drawn=drawn,
        counts=tuple(counts),
        selection=(100, 0, 0),
        lower_bound=count / drawn - 0.03,
        upper_bound=None,
        other_radii={},
        n0=100,
        n=N,
        failure=Fraction(1, 1000),
        seed=1,
        stopping="settled",
        noise=RUN["noise"],
        d=12,
        seconds=0.1,
    )


def write_results(
    out: Path, rows: Sequence[tuple[int, Certified]], first: int = 0, source: DataSource | None = None
) -> ResultStore:
    """Write results as (label, result), and a run of this data set, or of none."""
    store = ResultStore(str(out))
    data = RUN["data"] if source is None else {**RUN["data"], "sha256": source.load().digest}
    store.begin({**RUN, "data": data})
    if source is not None:
        store.write_source(source)
    if rows:
        store.write([(first + place, label, result) for place, (label, result) in enumerate(rows)])
    return store


def write_images(path: Path, images: int = 4, shape: tuple[int, ...] = (3, 2, 2), seed: int = 1) -> DataSource:
    """An ``.npz`` of bytes in three classes."""
    x = np.random.default_rng(seed).integers(0, 256, (images, *shape)).astype(np.uint8)
    np.savez(path, x=x, y=np.arange(images) % 3, classes=CLASSES)
    return DataSource(str(path), "test", None, 224, None)


def certify_bits(folder: Path, out: Path) -> TreeRun:
    """Certify sixty inputs by a tree without noise; some are at a tie."""
    random = np.random.default_rng(1)
    np.savez(folder / "bits.npz", x=random.integers(0, 2, (60, 9)), y=random.integers(0, 2, 60))
    tree = SmoothedTreeClassifier.from_arrays(
        [4, -1, 7, -1, -1], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, 0.5, 0, 0.25, 0.75], n_features=9, alpha=1
    )
    source = BinaryDataSource(str(folder / "bits.npz"))
    run = TreeRun(str(folder / "tree.json"), save_trees(tree, folder / "tree.json"), source, source.load().digest, 2)
    store = PartStore(str(out), SCHEMA)
    store.begin(run.describe(*run.load()))
    assert sum(certify_chunks_by_trees(run, store, missing_chunks(store, 60), LocalExecutor())) == 60
    return run
