"""Binary features from files: what is read is what was written, and what cannot be is one clear error."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ellzero.core.errors import InvalidInput
from ellzero.trees import UnreadableFile, load_binary_data

FEATURES = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]], np.uint8)
LABELS = np.array([0, 1, 1, 0])


@pytest.fixture(params=["data.csv", "data.parquet", "data.npz"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / request.param
    if path.suffix == ".npz":
        np.savez(path, x=FEATURES, y=LABELS)
    else:
        table = pa.table({"a": FEATURES[:, 0], "y": LABELS, "b": FEATURES[:, 1], "c": FEATURES[:, 2].astype(bool)})
        (pq.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)
    return str(path)


def test_features_and_labels_are_read_in_their_order(file: str) -> None:
    data = load_binary_data(file)
    assert (data.features == FEATURES).all()
    assert (data.labels == LABELS).all()
    assert data.name == Path(file).name
    assert len(data.digest) == 64


def test_a_digest_names_features_and_labels(tmp_path: Path) -> None:
    digests = set()
    for number, (x, y) in enumerate([(FEATURES, LABELS), (1 - FEATURES, LABELS), (FEATURES, 1 - LABELS)]):
        np.savez(tmp_path / f"{number}.npz", x=x, y=y)
        digests.add(load_binary_data(str(tmp_path / f"{number}.npz")).digest)
    assert len(digests) == 3


def test_a_random_split_has_three_parts(tmp_path: Path) -> None:
    path = str(tmp_path / "data.npz")
    np.savez(path, x=np.eye(20, dtype=np.uint8), y=np.arange(20) % 2)
    parts = [load_binary_data(path, split="random", part=part, seed=3) for part in ("train", "validation", "test")]
    assert [len(part.labels) for part in parts] == [16, 2, 2]
    assert (np.concatenate([part.features for part in parts]).sum(axis=0) == 1).all()


def test_molecules_come_from_a_column(tmp_path: Path) -> None:
    path = tmp_path / "molecules.csv"
    path.write_text("mol,name,active\nCCO,ethanol,yes\nc1ccccc1,benzene,no\n")
    data = load_binary_data(str(path), "active", "mol")
    assert data.features.shape == (2, 1024)
    assert data.labels.tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a,y\n0,1\n2,0\n", {}, "every feature must be 0 or 1; row 1 has 2.0 as feature 0"),
        ("a,y\n0,1\n,0\n", {}, "has rows without a value in its column a"),
        ("a,y\nnan,1\n1,0\n", {}, "has rows without a value in its column a"),
        ("a,y\n0,1\n1,\n", {}, "has rows without a y"),
        ("a,b\n0,1\n", {}, "has no column y; it has a, b"),
        ("a,y\n0,1\n", {"smiles": "mol"}, "has no column mol; it has a, y"),
        ("mol,y\nCCO,1\nC(C,0\n", {"smiles": "mol"}, "row 1 is not a molecule that RDKit can read: 'C\\(C'"),
        ("mol,y\nCCO,1\n", {}, "must have 0 and 1 in its column mol, and has string; --smiles names a column"),
        ("y\n1\n", {}, "has no features besides its labels"),
        ("a,y\n", {}, "has no rows"),
        ("a,y\n0,1,1\n", {}, "cannot be read as csv"),
        ("", {}, "cannot be read as csv"),
        ("a,a,y\n0,1,1\n", {}, "has two columns of the same name"),
        ("a,y\n0,1\n1,0\n", {"split": "random", "part": "validation"}, "has no inputs in its part validation"),
    ],
)
def test_a_table_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, text: str, arguments: dict[str, Any], message: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=message):
        load_binary_data(str(path), **arguments)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": FEATURES}, "has no array y; it has x"),
        ({"y": LABELS}, "has no array x; it has y"),
        ({"x": FEATURES[0], "y": LABELS}, "must have features in x, an input a row"),
        ({"x": FEATURES, "y": LABELS[:2]}, "must have one label an input"),
        ({"x": FEATURES * 0.5, "y": LABELS}, "every feature must be 0 or 1; row 0 has 0.5 as feature 1"),
        ({"x": np.full((4, 2), np.nan), "y": LABELS}, "row 0 has nan as feature 0"),
    ],
)
def test_arrays_that_cannot_be_used_are_one_clear_error(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(UnreadableFile, match=message):
        load_binary_data(str(tmp_path / "data.npz"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("data.txt", "must be a .csv, .parquet or .npz"),
        ("data.npz", "is not an .npz file"),
        ("data.parquet", "cannot be read as"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_bytes(b"something else")
    with pytest.raises(UnreadableFile, match=message):
        load_binary_data(str(tmp_path / name))
    with pytest.raises(UnreadableFile, match="does not exist"):
        load_binary_data(str(tmp_path / "absent.csv"))


@pytest.mark.parametrize("arguments", [{"split": "scaffold"}, {"split": "other"}, {"part": "other"}])
def test_a_split_by_scaffold_needs_molecules(file: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"(split|part) must be"):
        load_binary_data(file, **arguments)
