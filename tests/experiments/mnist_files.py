"""A small stand-in for MNIST in its own format: the digits as 16×16 grey images, as four gzipped idx files."""

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ellzero.smoothing.data.loading import DIGITS, load_data


def write_mnist(folder: Path, training: int = 600, test: int = 40) -> Path:
    """Write so many images of each split; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, stem, count in (("train", "train", training), ("test", "t10k", test)):
        digits = load_data(DIGITS, split)
        indices = range(count)
        small = digits.inputs(indices)[:, 0].astype(np.uint8) * 15
        write_idx(folder / f"{stem}-images-idx3-ubyte.gz", small.repeat(2, 1).repeat(2, 2))
        write_idx(folder / f"{stem}-labels-idx1-ubyte.gz", digits.labels[list(indices)].astype(np.uint8))
    return folder


def write_idx(path: Path, array: NDArray[np.uint8]) -> None:
    head = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(head + array.tobytes()))
