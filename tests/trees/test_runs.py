"""Data sets certified by trees: the same rows in this process and on Ray, of the model and data that the run names."""

from pathlib import Path

import numpy as np
import pytest

from ellzero.core.execution.executors import Executor, LocalExecutor
from ellzero.core.execution.ray_executor import RayExecutor
from ellzero.core.part_store import PartStore
from ellzero.trees import SmoothedTreeClassifier, UnreadableFile, save_trees
from ellzero.trees.data import BinaryDataSource
from ellzero.trees.result_schema import SCHEMA
from ellzero.trees.runs import TreeRun, certify_chunks_by_trees, missing_chunks


def begin(folder: Path) -> TreeRun:
    """600 inputs, of which some have p = 1/2 exactly."""
    random = np.random.default_rng(1)
    np.savez(folder / "bits.npz", x=random.integers(0, 2, (600, 9)), y=random.integers(0, 2, 600))
    tree = SmoothedTreeClassifier.from_arrays(
        [4, -1, 7, -1, -1], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, 0.5, 0, 0.25, 0.75], n_features=9, alpha="3/4"
    )
    digest = save_trees(tree, folder / "model.json")
    source = BinaryDataSource(str(folder / "bits.npz"))
    return TreeRun(str(folder / "model.json"), digest, source, source.load().digest, 2)


def certify(run: TreeRun, out: Path, executor: Executor) -> PartStore:
    store = PartStore(str(out), SCHEMA)
    store.begin(run.describe(*run.load()))
    chunks = missing_chunks(store, 600)
    assert sum(certify_chunks_by_trees(run, store, chunks, executor)) == 600
    return store


def test_ray_and_this_process_write_the_same_rows(tmp_path: Path, ray_executor: RayExecutor) -> None:
    run = begin(tmp_path)
    here, there = (
        certify(run, tmp_path / name, executor).table().drop_columns(["seconds"])
        for name, executor in (("here", LocalExecutor()), ("there", ray_executor))
    )
    assert here.equals(there)
    assert here["index"].to_pylist() == list(range(600))


def test_a_row_says_what_the_estimator_says(tmp_path: Path) -> None:
    run = begin(tmp_path)
    table = certify(run, tmp_path / "results", LocalExecutor()).table()
    saved, data = run.load()
    radii = saved.estimator.certified_radius(data.features)
    low, high = saved.estimator.probability_bounds(data.features, 2)
    assert [-1 if radius is None else radius for radius in table["radius"].to_pylist()] == radii.tolist()
    assert table["low"].to_pylist() == low.tolist()
    assert table["high"].to_pylist() == high.tolist()
    assert table["label"].to_pylist() == data.labels.tolist()
    for radius, prediction in zip(radii, table["prediction"].to_pylist(), strict=True):
        assert (prediction == -1) == (radius == -1), "no class where p = 1/2"


@pytest.mark.parametrize("name", ["model", "data"])
def test_a_worker_refuses_another_model_or_other_data(tmp_path: Path, name: str) -> None:
    run = begin(tmp_path)
    if name == "model":
        save_trees(run.load()[0].estimator, run.model, {"another": "file"})
    else:
        np.savez(tmp_path / "bits.npz", x=np.eye(9, dtype=int), y=np.arange(9) % 2)
    with pytest.raises(UnreadableFile, match=f"is not the {name} that this run began with"):
        run.load()
