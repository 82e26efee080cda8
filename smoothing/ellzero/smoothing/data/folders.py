"""Data sets that are folders: MNIST's idx files, CIFAR-10's binary batches, images in a folder for each class."""

import gzip
import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import MissingExtra
from ellzero.smoothing.data.datasets import ArrayData, Levels
from ellzero.smoothing.errors import BadData

_IMAGES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".ppm"}
_SPLIT_NAMES = {"train": ("train",), "test": ("test", "val", "validation")}


@dataclass(frozen=True, eq=False)
class ImageFolder:
    """Images in a folder for each class, read when they are needed; colours as 3 channels of 256 levels."""

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
        """Of image size, file names, file sizes and modification times: reading a million images would take hours."""
        entries = [(file.name, *_stat(file), int(label)) for file, label in zip(self.files, self.labels, strict=True)]
        return hashlib.sha256(json.dumps([self.size, *entries]).encode()).hexdigest()

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        return self._read(lambda index: _read_image(self.files[index], self.size), indices)

    def protected(self, indices: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_] | None:
        return None

    def random_crops(self, indices: Sequence[int] | NDArray[np.int64], stream: str) -> Levels:
        return self._read(
            lambda index: _read_image(self.files[index], self.size, _make_generator(stream, index)), indices
        )

    def _read(self, read: Callable[[int], NDArray[np.uint8]], indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        """Images are decoded by a thread per core, since Pillow leaves Python's lock to others meanwhile."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return np.stack(list(pool.map(read, (int(index) for index in indices))))


def read_idx(folder: Path, split: str) -> ArrayData:
    """Read MNIST and data sets in its format: big-endian sizes, then bytes; gzipped or not."""
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
    if content[:4] != bytes((0, 0, 8, dimensions)) or len(content) < start:
        raise BadData(str(path), f"is not an idx file of bytes with {dimensions} dimensions")
    sizes = tuple(int(size) for size in np.frombuffer(content[4:start], ">u4"))
    needed = math.prod(sizes)
    if len(content) - start != needed:
        raise BadData(
            str(path), f"has the wrong size: {sizes} needs {needed:,} bytes, and it has {len(content) - start:,}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(sizes)


def read_cifar(folder: Path, split: str) -> ArrayData:
    """Read CIFAR-10's binary version: a label byte, then 3 × 32 × 32 bytes, 10,000 times per file."""
    files = sorted(folder.glob("data_batch_*.bin" if split == "train" else "test_batch.bin"))
    if not files:
        raise BadData(str(folder), f"has no batches of the {split} split")
    batches = []
    for file in files:
        content = np.frombuffer(_bytes(file), np.uint8)
        if len(content) % 3_073:
            raise BadData(str(file), "is truncated: its size is not a multiple of 3,073 bytes")
        rows = content.reshape(-1, 3_073)
        if rows[:, 0].max(initial=0) > 9:
            raise BadData(str(file), f"has the class {rows[:, 0].max()}, outside of 0..9")
        batches.append(rows)
    rows = np.concatenate(batches)
    meta = folder / "batches.meta.txt"
    names = tuple(_bytes(meta).decode(errors="replace").split()) if meta.is_file() else ()
    classes = names if len(names) == 10 else tuple(str(label) for label in range(10))
    return ArrayData("CIFAR-10", rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0].astype(np.int64), 256, classes)


def open_images(folder: Path, split: str, size: int) -> ImageFolder:
    root = next((folder / name for name in _SPLIT_NAMES[split] if (folder / name).is_dir()), folder)
    if root == folder and any((folder / name).is_dir() for names in _SPLIT_NAMES.values() for name in names):
        raise BadData(str(folder), f"has no folder {' or '.join(_SPLIT_NAMES[split])}")
    if root == folder and split == "train" and folder.name in _SPLIT_NAMES["test"]:
        raise BadData(str(folder), "has test images, by its name; give the folder above it, with train beside it")
    classes = sorted(path.name for path in root.iterdir() if path.is_dir())
    images = [
        (file, label)
        for label, name in enumerate(classes)
        for file in sorted((root / name).rglob("*"))
        if file.suffix.lower() in _IMAGES and not file.name.startswith(".")
    ]
    if not images:
        raise BadData(str(folder), "holds no idx files, no CIFAR-10 batches, and no folders of images")
    labels = np.array([label for _, label in images], np.int64)
    return ImageFolder(folder.name, tuple(file for file, _ in images), labels, tuple(classes), size)


def _read_image(path: Path, size: int, generator: np.random.Generator | None = None) -> NDArray[np.uint8]:
    """The middle of an image, or with a generator a random part of it."""
    try:
        from PIL import Image, UnidentifiedImageError

        from ellzero.smoothing.data.crops import crop_centre, crop_randomly
    except ModuleNotFoundError as missing:
        raise MissingExtra("reading images", "predict") from missing
    try:
        with Image.open(path) as opened:
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise BadData(str(path), f"is not an image: {error}") from error
    cropped = crop_centre(image, size) if generator is None else crop_randomly(image, size, generator)
    return np.asarray(cropped, np.uint8).transpose(2, 0, 1)


def _make_generator(stream: str, index: int) -> np.random.Generator:
    """The random numbers of one image: they depend neither on its batch nor on other images."""
    digest = hashlib.blake2b(f"{stream} {index}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadData(str(path), f"cannot be read: {error}") from error


def _stat(path: Path) -> tuple[int, int]:
    """Size, and time of the last modification."""
    try:
        stat = path.stat()
        return stat.st_size, stat.st_mtime_ns
    except OSError as error:
        raise BadData(str(path), f"cannot be read: {error}") from error
