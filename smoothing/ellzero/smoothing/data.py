"""Data sets of integer arrays: the digits that need no download, and files in the formats that people have.

`load_data` knows them by what lies at a path: MNIST's idx files, CIFAR-10's binary batches, a folder of images with a
folder for each class, an ``.npz``, a Parquet file.
"""

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import InvalidInput, MissingExtra
from ellzero.smoothing.errors import BadData
from ellzero.tables.errors import StorageFailed
from ellzero.tables.folder import Folder

Levels = NDArray[np.uint8] | NDArray[np.int32]
DIGITS = "digits"
SPLITS = ("train", "test")
_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm"}
# The paper's way with ImageNet: the shorter side to 256, the middle 224×224 of it.
_BORDER = 256 / 224
_MOST_BYTES = 16_000_000_000


class DataSet(Protocol):
    """Inputs as levels, with labels."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of an input."""

    @property
    def levels(self) -> int:
        """How many values a number of an input may have."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each input."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, in the order of their numbers."""

    @property
    def digest(self) -> str:
        """Says whether two data sets are the same."""

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        """Some of the inputs, stacked."""


@dataclass(frozen=True, eq=False)
class ArrayData:
    """A data set that lies in memory."""

    name: str
    arrays: Levels
    labels: NDArray[np.int64]
    levels: int
    class_names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.arrays.shape[1:])

    @property
    def digest(self) -> str:
        content = hashlib.sha256(f"{self.arrays.dtype} {self.arrays.shape} {self.levels}".encode())
        content.update(np.ascontiguousarray(self.arrays).tobytes())
        content.update(self.labels.tobytes())
        return content.hexdigest()

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        chosen: Levels = self.arrays[np.asarray(indices, np.int64)]
        return chosen


@dataclass(frozen=True, eq=False)
class ImageFolder:
    """Images in folders that are their classes, read when they are asked for; colours as 3 channels of 256 levels."""

    name: str
    files: tuple[Path, ...]
    labels: NDArray[np.int64]
    class_names: tuple[str, ...]
    size: int
    levels: int = 256

    @property
    def shape(self) -> tuple[int, ...]:
        return 3, self.size, self.size

    @property
    def digest(self) -> str:
        """By names, sizes and the way they are cut: reading a million images only to name them would take hours."""
        entries = [
            (str(file.name), file.stat().st_size, int(label))
            for file, label in zip(self.files, self.labels, strict=True)
        ]
        return hashlib.sha256(json.dumps([self.size, *entries]).encode()).hexdigest()

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        return np.stack([_read_image(self.files[int(index)], self.size) for index in indices])


def load_data(uri: str, split: str = "test", *, k: int | None = None, image_size: int = 224) -> DataSet:
    """The data set at ``uri``: ``digits``, a path, or for single files any URI that pyarrow opens.

    ``split`` is train or test; a file that does not say which inputs are which is given as a whole. ``k`` declares the
    levels 0..k of files that do not say it themselves.
    """
    if split not in SPLITS:
        raise InvalidInput("split", " or ".join(SPLITS), split)
    if uri == DIGITS:
        found: DataSet = _digits(split)
    elif uri.endswith(".npz"):
        found = _npz(uri, split, k)
    elif uri.endswith(".parquet"):
        found = _parquet(uri, split, k)
    else:
        found = _from_folder(Path(uri).expanduser(), split, image_size)
    if not len(found.labels):
        raise BadData(uri, f"has no inputs to {split}")
    return found


def binarized(data: DataSet, threshold: int) -> DataSet:
    """Bits: 1 from a level on, as the paper makes them of MNIST (128, more than half)."""
    if not 1 <= threshold < data.levels:
        raise InvalidInput("binarize", f"a level from 1 to {data.levels - 1}", threshold)
    arrays = data.inputs(range(len(data.labels)))
    return ArrayData(
        f"{data.name}, 1 from level {threshold} on",
        (arrays >= threshold).astype(np.uint8),
        data.labels,
        2,
        data.class_names,
    )


def part_of(data: DataSet, indices: NDArray[np.int64]) -> DataSet:
    """Some inputs of a data set as one of its own."""
    if isinstance(data, ImageFolder):
        return replace(data, files=tuple(data.files[i] for i in indices), labels=data.labels[indices])
    return ArrayData(data.name, data.inputs(indices), data.labels[indices], data.levels, data.class_names)


def _digits(split: str) -> ArrayData:
    """scikit-learn's digits: 1,797 images 8×8 of levels 0..16. Every fifth of a fixed order is for tests."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as missing:
        raise MissingExtra("the data set of digits", "predict") from missing
    bunch = load_digits()
    order = np.random.Generator(np.random.Philox(key=1797)).permutation(len(bunch.target))
    mine = order[4::5] if split == "test" else order[np.arange(len(order)) % 5 != 4]
    images = bunch.images.astype(np.uint8)[mine][:, None]
    return ArrayData("digits", images, bunch.target.astype(np.int64)[mine], 17, tuple("0123456789"))


def _from_folder(folder: Path, split: str, image_size: int) -> DataSet:
    if not folder.is_dir():
        raise BadData(str(folder), "is no folder with a data set; `digits` needs no files")
    if any(folder.glob("*-images-idx3-ubyte*")):
        return _idx(folder, split)
    if any(folder.glob("*_batch*.bin")):
        return _cifar(folder, split)
    return _images(folder, split, image_size)


def _idx(folder: Path, split: str) -> ArrayData:
    """MNIST and what has its format: big-endian sizes, then bytes; gzipped or not."""
    stem = "train" if split == "train" else "t10k"
    images = _idx_array(_one_of(folder, f"{stem}-images-idx3-ubyte"), 3)
    labels = _idx_array(_one_of(folder, f"{stem}-labels-idx1-ubyte"), 1).astype(np.int64)
    if len(images) != len(labels):
        raise BadData(str(folder), f"has {len(images):,} images and {len(labels):,} labels")
    classes = tuple(str(label) for label in range(int(labels.max(initial=0)) + 1))
    return ArrayData(folder.name, images[:, None], labels, 256, classes)


def _one_of(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise BadData(str(folder), f"lacks {name} or {name}.gz")


def _idx_array(path: Path, dimensions: int) -> NDArray[np.uint8]:
    try:
        raw = path.read_bytes()
        content = gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise BadData(str(path), f"cannot be read: {error}") from error
    start = 4 + 4 * dimensions
    sizes = tuple(int(size) for size in np.frombuffer(content[4:start], ">u4"))
    if content[:4] != bytes((0, 0, 8, dimensions)) or len(sizes) != dimensions:
        raise BadData(str(path), f"is no idx file of bytes with {dimensions} dimensions")
    if len(content) - start != int(np.prod(sizes)):
        raise BadData(
            str(path), f"is cut: {sizes} needs {int(np.prod(sizes)):,} bytes, and it has {len(content) - start:,}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(sizes)


def _cifar(folder: Path, split: str) -> ArrayData:
    """CIFAR-10's binary version: a label byte, then 3 × 32 × 32 bytes, 10,000 times a file."""
    names = sorted(folder.glob("data_batch_*.bin" if split == "train" else "test_batch.bin"))
    if not names:
        raise BadData(str(folder), f"has no batches to {split}")
    parts = []
    for name in names:
        content = np.frombuffer(name.read_bytes(), np.uint8)
        if len(content) % 3_073:
            raise BadData(str(name), "is cut: its size is no multiple of 3,073 bytes")
        parts.append(content.reshape(-1, 3_073))
    rows = np.concatenate(parts)
    meta = folder / "batches.meta.txt"
    known = tuple(meta.read_text().split()) if meta.is_file() else ()
    classes = known if len(known) == 10 else tuple(str(label) for label in range(10))
    return ArrayData("CIFAR-10", rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(np.int64), 256, classes)


def _images(folder: Path, split: str, size: int) -> ImageFolder:
    root = next((folder / name for name in _split_names(split) if (folder / name).is_dir()), folder)
    classes = sorted(path.name for path in root.iterdir() if path.is_dir())
    found = [
        (file, label)
        for label, name in enumerate(classes)
        for file in sorted((root / name).rglob("*"))
        if file.suffix.lower() in _IMAGES
    ]
    if not found:
        raise BadData(str(folder), "holds no idx files, no CIFAR-10 batches, and no folders of images")
    labels = np.array([label for _, label in found], np.int64)
    return ImageFolder(folder.name, tuple(file for file, _ in found), labels, tuple(classes), size)


def _split_names(split: str) -> tuple[str, ...]:
    return ("train",) if split == "train" else ("test", "val", "validation")


def _read_image(path: Path, size: int) -> NDArray[np.uint8]:
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as missing:
        raise MissingExtra("reading images", "predict") from missing
    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except (OSError, UnidentifiedImageError) as error:
        raise BadData(str(path), f"is no image: {error}") from error
    scale = round(size * _BORDER) / min(image.size)
    width, height = (max(size, round(side * scale)) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - size) // 2, (height - size) // 2
    return np.asarray(image.crop((left, top, left + size, top + size)), np.uint8).transpose(2, 0, 1)


def _npz(uri: str, split: str, k: int | None) -> ArrayData:
    """Arrays ``x`` and ``y``, or ``x_train`` and so on; perhaps ``levels``, and ``classes``, their names."""
    try:
        with np.load(io.BytesIO(_content(uri)), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zlib.error, EOFError) as error:
        raise BadData(uri, f"is no .npz of plain arrays: {error}") from error
    ours = (f"x_{split}", f"y_{split}") if f"x_{split}" in arrays else ("x", "y")
    for name in ours:
        if name not in arrays:
            raise BadData(uri, f"lacks the array {name}")
    declared = int(arrays["levels"]) if "levels" in arrays else None
    classes = tuple(str(name) for name in arrays["classes"]) if "classes" in arrays else ()
    return _checked(uri, arrays[ours[0]], arrays[ours[1]], declared, k, classes)


def _parquet(uri: str, split: str, k: int | None) -> ArrayData:
    """A column ``x`` of lists of integers, all of one length, and ``y``; ``split`` if there is one.

    The file's metadata may say ``shape`` and ``levels`` as JSON.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(_content(uri)))
    except (pa.ArrowException, OSError) as error:
        raise BadData(uri, f"is no Parquet file: {str(error).splitlines()[0]}") from error
    for name in ("x", "y"):
        if name not in table.column_names:
            raise BadData(uri, f"lacks the column {name}")
    if "split" in table.column_names:
        import pyarrow.compute as pc

        table = table.filter(pc.equal(table["split"], split))
    lengths = {len(row) for row in table["x"]}
    if len(lengths) > 1:
        raise BadData(uri, f"has inputs of different lengths, {min(lengths)} to {max(lengths)}")
    stated = {
        key.decode(): json.loads(value)
        for key, value in (table.schema.metadata or {}).items()
        if key in (b"shape", b"levels")
    }
    flat = np.asarray(table["x"].combine_chunks().flatten())
    shape = tuple(stated.get("shape", (*lengths,)))
    try:
        arrays = flat.reshape(len(table), *shape)
    except ValueError:
        raise BadData(uri, f"has inputs of {lengths} numbers, and its shape is {shape}") from None
    return _checked(uri, arrays, np.asarray(table["y"]), stated.get("levels"), k, ())


def _checked(
    uri: str, x: NDArray[Any], y: NDArray[Any], declared: int | None, k: int | None, classes: tuple[str, ...]
) -> ArrayData:
    if x.dtype.kind not in "biu" or y.dtype.kind not in "iu" or x.ndim < 2 or y.ndim != 1 or len(x) != len(y):
        shapes = f"x is {x.dtype} {x.shape}, y is {y.dtype} {y.shape}"
        raise BadData(uri, f"must hold integer arrays, x with an input a row and y with its class: {shapes}")
    levels = declared or (k + 1 if k is not None else {"uint8": 256, "bool": 2}.get(str(x.dtype)))
    if levels is None:
        raise BadData(uri, f"does not say how many levels its {x.dtype} numbers have; --k does, levels minus one")
    low, high = (int(x.min()), int(x.max())) if x.size else (0, 0)
    if low < 0 or high >= levels:
        raise BadData(uri, f"has the level {low if low < 0 else high}, outside of 0..{levels - 1}")
    if len(y) and int(y.min()) < 0:
        raise BadData(uri, f"has the class {int(y.min())}")
    names = classes or tuple(str(label) for label in range(int(y.max(initial=0)) + 1))
    arrays: Levels = x.astype(np.uint8) if levels <= 256 else x.astype(np.int32)
    return ArrayData(uri.rsplit("/", 1)[-1], arrays, y.astype(np.int64), levels, names)


def _content(uri: str) -> bytes:
    folder, _, name = uri.rpartition("/")
    try:
        place = Folder(folder or ".")
        if place.size(name) > _MOST_BYTES:
            raise BadData(uri, "is larger than what is read into memory, 16 GB")
        return place.read(name)
    except FileNotFoundError:
        raise BadData(uri, "is not there") from None
    except StorageFailed as error:
        raise BadData(uri, f"cannot be read: {error}") from error
