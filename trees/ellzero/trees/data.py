"""Binary features and labels from CSV, Parquet or ``.npz`` files, and from tables of molecules."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput, StorageFailed
from ellzero.core.npy import read_npz
from ellzero.core.storage import read_file, split_uri
from ellzero.core.text import first_line
from ellzero.trees.errors import UnreadableFile, UnusableFeatures
from ellzero.trees.molecules import DataSplit, compute_fingerprints, split_by_scaffold, split_randomly

SPLITS: Final = ("none", "scaffold", "random")
PARTS: Final = ("train", "validation", "test")
_DEFAULT_LABEL = "y"


@dataclass(frozen=True, eq=False)
class BinaryData:
    """Inputs of bits with their labels. ``digest`` is the SHA-256 of both."""

    name: str
    features: NDArray[np.uint8]
    labels: NDArray[Any]
    feature_names: list[str] | None = None
    """The columns of a table; an array or a molecule's fingerprint has none."""

    @property
    def digest(self) -> str:
        shape = f"{self.features.shape} {self.labels.tolist()}"
        return hashlib.sha256(shape.encode() + np.packbits(self.features).tobytes()).hexdigest()


@dataclass(frozen=True)
class BinaryDataSource:
    """Where inputs come from, in words that every worker understands.

    ``label`` is the column (or the array of an ``.npz``) of labels; all others are features, or, where ``smiles`` is a
    column, the fingerprints of its molecules are. ``part`` is one of the three parts of a ``split``.
    """

    uri: str
    label: str = _DEFAULT_LABEL
    smiles: str | None = None
    split: str = "none"
    part: str = "train"
    seed: int = 0

    def load(self) -> BinaryData:
        """The inputs of the part, or all of them where there is no split."""
        if self.split not in SPLITS:
            raise InvalidInput("split", ", ".join(SPLITS), self.split)
        if self.part not in PARTS:
            raise InvalidInput("part", ", ".join(PARTS), self.part)
        if self.split == "scaffold" and self.smiles is None:
            raise InvalidInput("split", "none or random where no column of SMILES is named", self.split)
        name, columns, labels, feature_names = _read_columns(self.uri, self.label, self.smiles)
        try:
            features = compute_fingerprints(columns) if self.smiles is not None else _read_bits(columns)
            rows = self._rows(len(labels), columns)
        except UnusableFeatures as error:
            raise UnreadableFile(self.uri, f"has features that cannot be used: {error}") from error
        if not len(rows):
            raise UnreadableFile(self.uri, f"has no inputs in its part {self.part}")
        return BinaryData(name, features[rows], labels[rows], feature_names)

    def describe(self) -> dict[str, Any]:
        """The part of the data, for people and for the descriptions of runs."""
        split = {"split": self.split, "part": self.part} if self.split != "none" else {"split": "all rows"}
        return split | ({"seed": self.seed} if self.split == "random" else {})

    def _rows(self, inputs: int, columns: Any) -> NDArray[np.int64]:
        if self.split == "none":
            return np.arange(inputs)
        split: DataSplit = split_by_scaffold(columns) if self.split == "scaffold" else split_randomly(inputs, self.seed)
        rows: NDArray[np.int64] = getattr(split, self.part)
        return rows


def load_binary_data(
    uri: str, label: str = "y", smiles: str | None = None, split: str = "none", part: str = "train", seed: int = 0
) -> BinaryData:
    """Read binary features and labels from a ``.csv``, ``.parquet`` or ``.npz`` file: see `BinaryDataSource`.

    An ``.npz`` has an array ``x`` of features and one of labels. A table has a column for each feature and one of
    labels; or, with ``smiles``, a column of molecules, of which Morgan fingerprints are made.
    """
    return BinaryDataSource(uri, label, smiles, split, part, seed).load()


def _read_columns(uri: str, label: str, smiles: str | None) -> tuple[str, Any, NDArray[Any], list[str] | None]:
    """The file's name, its features (or SMILES), its labels, and the names of its features."""
    content, name = _read_content(uri)
    suffix = name.rpartition(".")[2].lower()
    if suffix == "npz":
        if smiles is not None:
            raise UnreadableFile(uri, "holds arrays; SMILES are read from .csv and .parquet files")
        arrays = _read_arrays(uri, content)
        return name, arrays["x"], _check_labels(uri, _one_of(uri, arrays, label, "array"), len(arrays["x"])), None
    if suffix not in ("csv", "parquet"):
        raise UnreadableFile(uri, "must be a .csv, .parquet or .npz file")
    try:
        reader = pa.BufferReader(content)
        table = pyarrow.csv.read_csv(reader) if suffix == "csv" else pq.ParquetFile(reader).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFile(uri, f"cannot be read as {suffix}: {first_line(error)}") from error
    if not len(table):
        raise UnreadableFile(uri, "has no rows")
    if len(set(table.column_names)) < len(table.column_names):
        raise UnreadableFile(uri, "has two columns of the same name")
    columns = dict(zip(table.column_names, table.columns, strict=True))
    marks = _one_of(uri, columns, label, "column")
    if marks.null_count:
        raise UnreadableFile(uri, f"has rows without a {label}")
    labels = _check_labels(uri, np.asarray(marks.to_pylist()), len(table))
    if smiles is not None:
        return name, _one_of(uri, columns, smiles, "column").to_pylist(), labels, None
    features = [column for column in columns if column != label]
    if not features:
        raise UnreadableFile(uri, "has no features besides its labels")
    for column in features:
        kind = columns[column].type
        if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)):
            advice = "; --smiles names a column of molecules" if pa.types.is_string(kind) else ""
            raise UnreadableFile(uri, f"must have 0 and 1 in its column {column}, and has {kind}{advice}")
        if columns[column].null_count:
            raise UnreadableFile(uri, f"has rows without a value in its column {column}")
    values = np.stack([np.asarray(columns[column]).astype(np.float64) for column in features], axis=1)
    return name, values, labels, features


def _read_arrays(uri: str, content: bytes) -> dict[str, NDArray[Any]]:
    try:
        arrays = read_npz(content)
    except ValueError as error:
        raise UnreadableFile(uri, f"is not an .npz file of plain arrays: {first_line(error)}") from error
    x = _one_of(uri, arrays, "x", "array")
    if x.ndim != 2 or 0 in x.shape or x.dtype.kind not in "biuf":
        raise UnreadableFile(uri, f"must have features in x, an input a row; got {x.dtype} of shape {x.shape}")
    return arrays


def _one_of(uri: str, there: dict[str, Any], name: str, what: str) -> Any:
    if name not in there:
        names = ", ".join(list(there)[:8]) + (", …" if len(there) > 8 else "")
        raise UnreadableFile(uri, f"has no {what} {name}; it has {names}")
    return there[name]


def _check_labels(uri: str, labels: NDArray[Any], inputs: int) -> NDArray[Any]:
    if labels.shape != (inputs,) or labels.dtype.kind not in "biufU":
        raise UnreadableFile(uri, f"must have one label an input, text or a number; got {labels.dtype} {labels.shape}")
    return labels


def _read_bits(features: NDArray[Any]) -> NDArray[np.uint8]:
    wrong = (features != 0) & (features != 1)
    if wrong.any():
        row, column = (int(place[0]) for place in np.nonzero(wrong))
        value = features[row, column].item()
        raise UnusableFeatures(f"every feature must be 0 or 1; row {row} has {value!r} as feature {column}")
    return features.astype(np.uint8)


def _read_content(uri: str) -> tuple[bytes, str]:
    try:
        return read_file(uri), split_uri(uri)[1]
    except StorageFailed as error:
        raise UnreadableFile(uri, error.reason) from error
