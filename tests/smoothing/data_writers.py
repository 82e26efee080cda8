"""Small data sets in the formats that are read, and the line with which a wrong one is refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image

from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.errors import BadData

Bytes = NDArray[np.uint8]
RANDOM = np.random.default_rng(8)
X = (np.arange(12) % 4).reshape(3, 4)
Y = np.array([0, 1, 2])
LEVELS = X.astype(np.uint8)


def refusal(uri: object, split: str = "test", **options: Any) -> str:
    """The one line with which a data set is refused, when it is opened or when its inputs are read."""
    with pytest.raises(BadData) as refused:
        all_inputs(load_data(str(uri), split, **options))
    line = str(refused.value)
    assert "\n" not in line
    assert str(pickle.loads(pickle.dumps(refused.value))) == line
    return line


def all_inputs(data: DataSet) -> NDArray[Any]:
    return data.inputs(range(len(data.labels)))


def write_image(path: Path, width: int, height: int, seed: int = 0) -> Bytes:
    """Write an image of noise; its pixels, rows first."""
    pixels: Bytes = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


def write_npz(folder: Path, **arrays: Any) -> str:
    np.savez(folder / "data.npz", **arrays)
    return str(folder / "data.npz")


def lists(x: NDArray[Any], kind: Any = None) -> Any:
    return pa.array(x.reshape(len(x), -1).tolist(), pa.list_(kind or pa.uint8()))


def write_parquet(folder: Path, metadata: dict[str, str] | None = None, **columns: Any) -> str:
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, folder / "data.parquet", row_group_size=2)
    return str(folder / "data.parquet")
