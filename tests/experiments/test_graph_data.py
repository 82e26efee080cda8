"""Citation graphs are read as files keep them, and made undirected and binary."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from ellzero.experiments.graph_data import FILES, make_random_data, read_data
from ellzero.smoothing.errors import BadData

ADJACENCY = np.array([[1, 1, 0], [0, 0, 0], [0, 2, 0]])  # a self-loop, one direction only, a weight
FEATURES = np.array([[0.5, 0, 0], [0, 0, 2], [0, 0, 0]])


def write_file(path: Path, prefix: str, **others: object) -> None:
    arrays: dict[str, object] = {"labels": np.array([0, 1, 1], dtype=np.int8), "names": np.array([{}], dtype=object)}
    for part, dense in (("adj", ADJACENCY), ("attr", FEATURES)):
        matrix = sparse.csr_array(dense)
        for field in ("data", "indices", "indptr", "shape"):
            arrays[f"{part}{prefix}{field}"] = getattr(matrix, field)
    np.savez(path, **{**arrays, **others})  # type: ignore[arg-type]


@pytest.mark.parametrize("prefix", ["_", "_matrix."])
def test_both_forms_of_files_are_the_same_graph(tmp_path: Path, prefix: str) -> None:
    write_file(tmp_path / FILES["CiteSeer"], prefix)
    [data] = read_data(tmp_path, ("CiteSeer",))
    assert data.graph.edges.index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert data.graph.features.toarray().tolist() == (FEATURES > 0).tolist()
    assert data.graph.is_binary
    assert (data.labels.tolist(), data.classes, data.name) == ([0, 1, 1], 2, "CiteSeer")


def test_bad_files_are_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="does not exist"):
        read_data(tmp_path, ("Cora-ML",))
    path = tmp_path / FILES["Cora-ML"]
    path.write_bytes(b"no archive")
    with pytest.raises(BadData, match="is not a graph in the form of public code"):
        read_data(tmp_path, ("Cora-ML",))
    np.savez(path, labels=np.zeros(3))
    with pytest.raises(BadData, match="is not a graph in the form of public code"):
        read_data(tmp_path, ("Cora-ML",))
    write_file(path, "_", labels=np.zeros(2))
    with pytest.raises(BadData, match="must have a class for each node"):
        read_data(tmp_path, ("Cora-ML",))


def test_a_split_is_random_by_its_seed_and_leaves_half_of_each_class() -> None:
    data = make_random_data(0)
    training, test = data.split(10, seed=1)
    assert np.bincount(data.labels[training]).tolist() == [10] * data.classes
    assert sorted([*training, *test]) == list(range(data.graph.nodes))
    assert (data.split(10, seed=1)[0] == training).all()
    assert (data.split(10, seed=2)[0] != training).any()
    assert len(data.split(1_000, seed=1)[0]) == data.graph.nodes // 2
    assert make_random_data(0).graph.digest == data.graph.digest != make_random_data(1).graph.digest
