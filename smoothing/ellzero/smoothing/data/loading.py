"""Data sets by name or URI: the digits, which need no download, and files in common formats."""

from pathlib import Path

import numpy as np

from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.core.numbers import read_integer
from ellzero.smoothing.data.datasets import ArrayData, DataSet
from ellzero.smoothing.data.files import MOST_LEVELS, read_npz, read_parquet
from ellzero.smoothing.data.folders import open_images, read_cifar, read_idx
from ellzero.smoothing.errors import BadData

DIGITS = "digits"
SPLITS = ("train", "test")


def load_data(uri: str, split: str = "test", *, k: int | None = None, image_size: int = 224) -> DataSet:
    """Load the data set at ``uri``: ``digits``, a path, or for single files any URI that pyarrow opens.

    ``split`` is train or test; a file without splits is loaded as a whole. ``k`` declares the levels 0..k of files that
    do not declare them.
    """
    if split not in SPLITS:
        raise InvalidInput("split", " or ".join(SPLITS), split)
    if k is not None:
        read_integer(k, "k", 1, MOST_LEVELS - 1)
    read_integer(image_size, "image_size", 1, 10_000)
    path = uri.partition("?")[0] if "://" in uri else uri
    if uri == DIGITS:
        data: DataSet = _load_digits(split)
    elif path.endswith(".npz"):
        data = read_npz(uri, split, k)
    elif path.endswith(".parquet"):
        data = read_parquet(uri, split, k)
    else:
        data = _load_folder(uri, split, image_size)
    if not len(data.labels):
        raise BadData(uri, f"has no inputs in the {split} split")
    return data


def _load_digits(split: str) -> ArrayData:
    """Load scikit-learn's digits: 1,797 images 8×8 of levels 0..16. Every fifth of a fixed order is for tests."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as missing:
        raise MissingExtra("the data set of digits", "predict") from missing
    bunch = load_digits()
    order = np.random.Generator(np.random.Philox(key=1797)).permutation(len(bunch.target))
    indices = order[4::5] if split == "test" else order[np.arange(len(order)) % 5 != 4]
    images = bunch.images.astype(np.uint8)[indices][:, None]
    return ArrayData("digits", images, bunch.target.astype(np.int64)[indices], 17, tuple("0123456789"))


def _load_folder(uri: str, split: str, image_size: int) -> DataSet:
    try:
        folder = Path(uri).expanduser()
        exists = folder.is_dir()
    except (OSError, RuntimeError) as error:  # a name that is too long, the home directory of an unknown user
        raise BadData(uri, f"cannot be read: {error}") from error
    if not exists:
        raise BadData(str(folder), "is not a folder with a data set; `digits` needs no files")
    if any(folder.glob("*-images-idx3-ubyte*")):
        return read_idx(folder, split)
    if any(folder.glob("*_batch*.bin")):
        return read_cifar(folder, split)
    return open_images(folder, split, image_size)
