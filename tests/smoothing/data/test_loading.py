"""Data sets: what was written is what is read, and a file that holds none is one clear line."""

import gzip
import io
import math
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image
from pyarrow import fs
from s3_server import S3Place

from ellzero.certificates import EllzeroError, InvalidInput
from ellzero.smoothing.data.datasets import ArrayData, DataSet, binarize
from ellzero.smoothing.data.folders import ImageFolder
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
        everything(load_data(str(uri), split, **options))
    line = str(refused.value)
    assert "\n" not in line
    assert str(pickle.loads(pickle.dumps(refused.value))) == line
    return line


def everything(data: DataSet) -> NDArray[Any]:
    return data.inputs(range(len(data.labels)))


# Digits


def test_digits_need_no_files() -> None:
    train, test = load_data("digits", "train"), load_data("digits", "test")
    assert len(train.labels) + len(test.labels) == 1_797
    assert len(test.labels) == 359
    for part in (train, test):
        assert part.shape == (1, 8, 8)
        assert part.levels == 17
        assert part.class_names == tuple("0123456789")
        assert set(part.labels) == set(range(10))
        assert everything(part).shape == (len(part.labels), 1, 8, 8)
        assert everything(part).dtype == np.uint8
        assert (everything(part).min(), everything(part).max()) == (0, 16)


def test_digits_are_shared_out_without_overlap_and_without_loss() -> None:
    from sklearn.datasets import load_digits

    whole = load_digits()
    expected = sorted(zip(whole.images.astype(int).reshape(-1, 64).tolist(), whole.target.tolist(), strict=True))
    parts = [load_data("digits", split) for split in ("train", "test")]
    found = [
        pair
        for part in parts
        for pair in zip(everything(part).reshape(-1, 64).tolist(), part.labels.tolist(), strict=True)
    ]
    assert sorted(found) == expected


def test_digits_are_the_same_every_time() -> None:
    digests = {split: load_data("digits", split).digest for split in ("train", "test")}
    assert digests == {split: load_data("digits", split).digest for split in ("train", "test")}
    assert digests["train"] != digests["test"]


# MNIST's format


def idx(array: Bytes) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_idx(folder: Path, stem: str, images: bytes, labels: bytes, zipped: bool = False) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in (("images-idx3", images), ("labels-idx1", labels)):
        if zipped:
            (folder / f"{stem}-{name}-ubyte.gz").write_bytes(gzip.compress(content))
        else:
            (folder / f"{stem}-{name}-ubyte").write_bytes(content)


IMAGES: Bytes = RANDOM.integers(0, 256, (5, 6, 7), np.uint8)
LABELS: Bytes = np.array([2, 0, 1, 2, 2], np.uint8)


@pytest.mark.parametrize("zipped", [False, True])
def test_idx_files_are_read_zipped_or_not(tmp_path: Path, zipped: bool) -> None:
    write_idx(tmp_path, "train", idx(IMAGES), idx(LABELS), zipped)
    write_idx(tmp_path, "t10k", idx(IMAGES[:2]), idx(LABELS[:2]), zipped)
    for split, count in (("train", 5), ("test", 2)):
        data = load_data(str(tmp_path), split)
        assert (data.shape, data.levels) == ((1, 6, 7), 256)
        assert data.labels.tolist() == LABELS[:count].tolist()
        assert np.array_equal(everything(data)[:, 0], IMAGES[:count])
    assert load_data(str(tmp_path), "train").class_names == ("0", "1", "2")


def test_the_home_directory_may_be_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_idx(tmp_path / "mine", "t10k", idx(IMAGES), idx(LABELS))
    assert len(load_data("~/mine").labels) == 5


NOT_IDX = "is not an idx file of bytes with 3 dimensions"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: b"", NOT_IDX),
        (lambda whole: whole[:4], NOT_IDX),
        pytest.param(lambda whole: whole[:7], NOT_IDX),
        (lambda whole: whole[:12], NOT_IDX),
        pytest.param(lambda whole: whole[:15], NOT_IDX),
        (lambda whole: whole[:16], "has the wrong size: (5, 6, 7) needs 210 bytes, and it has 0"),
        (lambda whole: whole[:-1], "has the wrong size: (5, 6, 7) needs 210 bytes, and it has 209"),
        (lambda whole: whole + b"x", "(5, 6, 7) needs 210 bytes, and it has 211"),
        (lambda whole: b"\0\0\x0d\3" + whole[4:], NOT_IDX),
        pytest.param(lambda whole: idx(LABELS), NOT_IDX),
        (lambda whole: b"<!DOCTYPE html><title>404 Not Found</title>", NOT_IDX),
        pytest.param(lambda whole: b"\0\0\x08\3" + struct.pack(">3I", 1 << 31, 1 << 31, 4), "needs 18,446,"),
        (lambda whole: idx(IMAGES[:4]), "has 4 images and 5 labels"),
        (lambda whole: idx(IMAGES[:0]), "has 0 images and 5 labels"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_damaged_idx_file_is_one_line(
    tmp_path: Path, damage: Callable[[bytes], bytes], message: str, zipped: bool
) -> None:
    write_idx(tmp_path, "t10k", damage(idx(IMAGES)), idx(LABELS), zipped)
    assert message in refusal(tmp_path)


def test_damaged_labels_are_one_line(tmp_path: Path) -> None:
    write_idx(tmp_path, "t10k", idx(IMAGES), idx(LABELS)[:-2])
    assert "t10k-labels-idx1-ubyte has the wrong size: (5,) needs 5 bytes, and it has 3" in refusal(tmp_path)
    write_idx(tmp_path, "t10k", idx(IMAGES), idx(IMAGES))
    assert "t10k-labels-idx1-ubyte is not an idx file of bytes with 1 dimensions" in refusal(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-3],
        lambda whole: whole[:1],
        lambda whole: gzip.decompress(whole),
        lambda whole: whole + b"and more",
        lambda whole: whole[:30] + bytes(20) + whole[50:],
    ],
)
def test_a_damaged_gzip_is_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    write_idx(tmp_path, "t10k", idx(IMAGES), idx(LABELS), zipped=True)
    file = tmp_path / "t10k-images-idx3-ubyte.gz"
    file.write_bytes(damage(file.read_bytes()))
    assert refusal(tmp_path).startswith(f"{file} cannot be read: ")


def test_a_missing_idx_file_is_named(tmp_path: Path) -> None:
    write_idx(tmp_path, "t10k", idx(IMAGES), idx(LABELS))
    assert refusal(tmp_path, "train") == f"{tmp_path} lacks train-images-idx3-ubyte or train-images-idx3-ubyte.gz"
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    assert refusal(tmp_path) == f"{tmp_path} lacks t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte.gz"


def test_mnist_is_mnist() -> None:
    place = Path(os.environ.get("ELLZERO_DATA") or Path(__file__).parents[3] / "shared" / "data") / "mnist"
    if not place.is_dir():
        pytest.skip(f"there is no MNIST at {place}; ELLZERO_DATA names the folder that `mnist` lies in")
    counts = {
        "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    }
    for split, expected in counts.items():
        data = load_data(str(place), split)
        assert (data.name, data.shape, data.levels) == ("mnist", (1, 28, 28), 256)
        assert data.class_names == tuple("0123456789")
        assert np.bincount(data.labels).tolist() == expected
        assert everything(data).shape == (sum(expected), 1, 28, 28)
        assert (everything(data).min(), everything(data).max()) == (0, 255)


# CIFAR-10's format


def cifar_rows(labels: list[int], seed: int = 0) -> tuple[bytes, Bytes]:
    """A batch as it lies in a file, and the images in it."""
    images = np.random.default_rng(seed).integers(0, 256, (len(labels), 3, 32, 32), np.uint8)
    return b"".join(bytes((label,)) + image.tobytes() for label, image in zip(labels, images, strict=True)), images


def test_cifar_batches_are_joined_in_their_order(tmp_path: Path) -> None:
    batches = [cifar_rows([number, 9 - number], number) for number in range(1, 6)]
    for number, (content, _) in enumerate(batches, 1):
        (tmp_path / f"data_batch_{number}.bin").write_bytes(content)
    tests, images = cifar_rows([3, 3, 7])
    (tmp_path / "test_batch.bin").write_bytes(tests)
    train, test = load_data(str(tmp_path), "train"), load_data(str(tmp_path), "test")
    assert (train.shape, train.levels, len(train.class_names)) == ((3, 32, 32), 256, 10)
    assert train.labels.tolist() == [1, 8, 2, 7, 3, 6, 4, 5, 5, 4]
    assert np.array_equal(everything(train), np.concatenate([images for _, images in batches]))
    assert test.labels.tolist() == [3, 3, 7]
    assert np.array_equal(everything(test), images)


def test_cifar_classes_have_their_names_where_they_are_told(tmp_path: Path) -> None:
    names = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
    (tmp_path / "test_batch.bin").write_bytes(cifar_rows([3])[0])
    assert load_data(str(tmp_path)).class_names == tuple("0123456789")
    (tmp_path / "batches.meta.txt").write_text("\n".join(names) + "\n\n")  # as CIFAR-10 has it
    assert load_data(str(tmp_path)).class_names == names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (cifar_rows([3, 4])[0][:-1], "test_batch.bin is truncated: its size is not a multiple of 3,073 bytes"),
        (b"\3", "test_batch.bin is truncated"),
        (b"", "has no inputs in the test split"),
        pytest.param(cifar_rows([200])[0], "200"),
    ],
)
def test_a_damaged_cifar_batch_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "test_batch.bin").write_bytes(content)
    assert message in refusal(tmp_path)


def test_cifar_without_the_batches_asked_for_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(cifar_rows([3])[0])
    assert refusal(tmp_path, "train") == f"{tmp_path} has no batches of the train split"


def test_a_cifar_batch_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").mkdir()
    assert "test_batch.bin cannot be read: " in refusal(tmp_path)


@pytest.mark.parametrize("names", [b"", b"cat\ndog\n", pytest.param(b"\xff\xfe\n" * 3)])
def test_cifar_classes_whose_names_are_no_ten_are_numbers(tmp_path: Path, names: bytes) -> None:
    (tmp_path / "test_batch.bin").write_bytes(cifar_rows([3])[0])
    (tmp_path / "batches.meta.txt").write_bytes(names)
    assert load_data(str(tmp_path)).class_names == tuple("0123456789")


# Folders of images


def picture(path: Path, width: int, height: int, seed: int = 0) -> Bytes:
    """Write an image of noise; its pixels, rows first."""
    pixels: Bytes = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


def images_of(data: DataSet) -> ImageFolder:
    assert isinstance(data, ImageFolder)
    return data


def test_folders_of_images_are_classes(tmp_path: Path) -> None:
    picture(tmp_path / "dog" / "2.png", 20, 20)
    picture(tmp_path / "dog" / "1.jpg", 20, 20)
    picture(tmp_path / "cat" / "more" / "3.PNG", 20, 20)
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "readme.txt").write_text("no class")
    for split in ("train", "test"):
        data = images_of(load_data(str(tmp_path), split, image_size=14))
        assert (data.shape, data.levels, data.class_names) == ((3, 14, 14), 256, ("cat", "dog"))
        assert [file.name for file in data.files] == ["3.PNG", "1.jpg", "2.png"]
        assert data.labels.tolist() == [0, 1, 1]
        assert everything(data).shape == (3, 3, 14, 14)


@pytest.mark.parametrize("held_out", ["test", "val", "validation"])
def test_folders_may_be_shared_out(tmp_path: Path, held_out: str) -> None:
    picture(tmp_path / "train" / "cat" / "a.png", 20, 20)
    picture(tmp_path / "train" / "dog" / "b.png", 20, 20)
    picture(tmp_path / held_out / "dog" / "c.png", 20, 20)
    picture(tmp_path / held_out / "cat" / "d.png", 20, 20)
    train, test = (images_of(load_data(str(tmp_path), split)) for split in ("train", "test"))
    assert [file.name for file in train.files] == ["a.png", "b.png"]
    assert [file.name for file in test.files] == ["d.png", "c.png"]
    assert train.labels.tolist() == test.labels.tolist() == [0, 1]
    assert train.class_names == test.class_names == ("cat", "dog")


def test_a_split_that_is_not_there_is_refused(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "cat" / "a.png", 20, 20)
    picture(tmp_path / "train" / "dog" / "b.png", 20, 20)
    refusal(tmp_path, "test")


@pytest.mark.parametrize(("width", "height"), [(16, 16), (22, 16), (16, 30)])
def test_the_middle_is_cut_out_and_colours_come_first(tmp_path: Path, width: int, height: int) -> None:
    """16 is what the shorter side is brought to for 14, so nothing is resized here."""
    pixels = picture(tmp_path / "a" / "1.png", width, height)
    data = load_data(str(tmp_path), image_size=14)
    left, top = (width - 14) // 2, (height - 14) // 2
    (found,) = everything(data)
    assert found.dtype == np.uint8
    assert np.array_equal(found, pixels[top : top + 14, left : left + 14].transpose(2, 0, 1))


@pytest.mark.parametrize(("width", "height"), [(300, 100), (100, 300), (12, 4), (4, 12), (64, 64)])
def test_an_image_of_any_size_is_brought_to_one(tmp_path: Path, width: int, height: int) -> None:
    """The middle half of each side has a colour; of a long side nothing else is seen."""
    pixels = np.zeros((height, width, 3), np.uint8)
    across, down = (side // 4 if side == 3 * min(width, height) else 0 for side in (width, height))
    pixels[down : height - down, across : width - across] = 10, 20, 30
    (tmp_path / "a").mkdir()
    Image.fromarray(pixels).save(tmp_path / "a" / "1.png")
    (found,) = everything(load_data(str(tmp_path), image_size=24))
    assert found.shape == (3, 24, 24)
    assert [set(channel.ravel()) for channel in found] == [{10}, {20}, {30}]


@pytest.mark.parametrize("mode", ["L", "1", "RGBA", "P"])
def test_images_without_three_colours_have_them_afterwards(tmp_path: Path, mode: str) -> None:
    (tmp_path / "a").mkdir()
    Image.new("RGB", (20, 20), (255, 255, 255)).convert(mode).save(tmp_path / "a" / "1.png")
    (found,) = everything(load_data(str(tmp_path), image_size=8))
    assert found.shape == (3, 8, 8)
    assert set(found.ravel()) == {255}


def test_images_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    good, bad = tmp_path / "a" / "1.png", tmp_path / "a" / "2.png"
    picture(good, 20, 20)
    bad.write_text("no image")
    data = load_data(str(tmp_path), image_size=8)
    assert len(data.labels) == 2
    assert data.inputs([0]).shape == (1, 3, 8, 8)
    with pytest.raises(BadData, match="2.png is not an image: "):
        data.inputs([1])


def too_many_pixels(whole: bytes) -> bytes:
    """The same PNG, said to be of 100,000 × 100,000 pixels."""
    import zlib

    header = b"IHDR" + struct.pack(">II", 100_000, 100_000) + whole[24:29]
    return whole[:12] + header + struct.pack(">I", zlib.crc32(header)) + whole[33:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:4],
        lambda whole: whole[:20],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: b"<html>404 Not Found</html>\n",
        pytest.param(lambda whole: whole[:11] + b"\x02" + whole[12:]),
        pytest.param(lambda whole: b"P6\n2x 24\n255\n" + bytes(99)),
        pytest.param(too_many_pixels),
    ],
)
def test_what_is_no_image_is_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "a" / "1.png"
    picture(file, 20, 20)
    file.write_bytes(damage(file.read_bytes()))
    assert refusal(tmp_path, image_size=8).startswith(f"{file} is not an image: ")


def test_an_image_that_has_gone_is_one_line(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "1.png", 20, 20)
    data = load_data(str(tmp_path))
    (tmp_path / "a" / "1.png").unlink()
    with pytest.raises(BadData, match="1.png") as gone:
        data.inputs([0])
    assert "\n" not in str(gone.value)


def test_the_digest_of_images_that_have_gone_is_one_line(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "1.png", 20, 20)
    data = load_data(str(tmp_path))
    (tmp_path / "a" / "1.png").unlink()
    with pytest.raises(BadData, match="1.png"):
        _ = data.digest


def test_a_digest_of_images_says_whether_they_are_the_same(tmp_path: Path) -> None:
    picture(tmp_path / "a" / "1.png", 20, 20)
    picture(tmp_path / "b" / "2.png", 20, 20)
    first = load_data(str(tmp_path)).digest
    assert load_data(str(tmp_path)).digest == first
    assert load_data(str(tmp_path), image_size=8).digest != first
    picture(tmp_path / "b" / "2.png", 21, 20)
    changed = load_data(str(tmp_path)).digest
    assert changed != first
    (tmp_path / "b" / "2.png").rename(tmp_path / "a" / "2.png")
    assert load_data(str(tmp_path)).digest not in (first, changed)


def test_a_digest_of_images_sees_other_pixels_in_a_file_of_the_same_size(tmp_path: Path) -> None:
    file = tmp_path / "a" / "1.bmp"
    file.parent.mkdir()
    Image.new("RGB", (20, 20), "red").save(file)
    first, size = load_data(str(tmp_path)).digest, file.stat().st_size
    Image.new("RGB", (20, 20), "blue").save(file)
    assert file.stat().st_size == size
    assert load_data(str(tmp_path)).digest != first


def test_a_folder_without_data_is_one_line(tmp_path: Path) -> None:
    expected = f"{tmp_path} holds no idx files, no CIFAR-10 batches, and no folders of images"
    assert refusal(tmp_path) == expected
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "notes.txt").write_text("no image")
    assert refusal(tmp_path) == expected


# .npz


def npz(folder: Path, **arrays: Any) -> str:
    np.savez(folder / "data.npz", **arrays)
    return str(folder / "data.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_without_splits_is_given_as_a_whole(tmp_path: Path, save: Callable[..., None]) -> None:
    save(tmp_path / "mine.npz", x=LEVELS.reshape(3, 1, 2, 2), y=Y)
    for split in ("train", "test"):
        data = load_data(str(tmp_path / "mine.npz"), split)
        assert (data.name, data.shape, data.levels) == ("mine.npz", (1, 2, 2), 256)
        assert data.class_names == ("0", "1", "2")
        assert np.array_equal(everything(data), LEVELS.reshape(3, 1, 2, 2))
        assert data.labels.tolist() == [0, 1, 2]
        assert data.labels.dtype == np.int64


def test_an_npz_may_be_shared_out(tmp_path: Path) -> None:
    uri = npz(tmp_path, x_train=LEVELS, y_train=Y, x_test=LEVELS[:2] + 1, y_test=Y[:2], levels=np.array(5))
    train, test = load_data(uri, "train"), load_data(uri, "test")
    assert np.array_equal(everything(train), LEVELS)
    assert np.array_equal(everything(test), LEVELS[:2] + 1)
    assert (train.levels, test.levels) == (5, 5)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.int64, np.uint64, ">i8"])
def test_an_npz_of_any_integers_says_its_levels_or_is_told(tmp_path: Path, kind: Any) -> None:
    x = X.astype(kind)
    bare = npz(tmp_path, x=x, y=Y.astype(kind))
    assert (
        refusal(bare) == f"{bare} does not say how many levels its {x.dtype} numbers have; --k does, levels minus one"
    )
    told = load_data(bare, k=3)
    said = load_data(npz(tmp_path, x=x, y=Y.astype(kind), levels=np.array(4)), k=9)
    for data in (told, said):
        assert data.levels == 4
        assert everything(data).dtype == np.uint8
        assert np.array_equal(everything(data), X)


def test_bytes_have_256_levels_and_booleans_2_unless_told(tmp_path: Path) -> None:
    uri = npz(tmp_path, x=LEVELS, y=Y)
    assert load_data(uri).levels == 256
    assert load_data(uri, k=3).levels == 4
    bits = load_data(npz(tmp_path, x=LEVELS > 1, y=Y))
    assert bits.levels == 2
    assert np.array_equal(everything(bits), (LEVELS > 1).astype(np.uint8))
    assert everything(bits).dtype == np.uint8


def test_more_than_256_levels_are_kept(tmp_path: Path) -> None:
    tokens = np.array([[0, 30_521], [101, 70_000]])
    data = load_data(npz(tmp_path, x=tokens, y=Y[:2]), k=70_000)
    assert data.levels == 70_001
    assert np.array_equal(everything(data), tokens)


def test_levels_are_never_changed_silently(tmp_path: Path) -> None:
    tokens = np.array([[0, 2**40], [1, 2**31]])
    uri = npz(tmp_path, x=tokens, y=Y[:2])
    try:
        data = load_data(uri, k=2**41)
    except EllzeroError:
        return
    assert np.array_equal(everything(data), tokens)


def test_an_npz_may_name_its_classes(tmp_path: Path) -> None:
    data = load_data(npz(tmp_path, x=LEVELS, y=Y, classes=np.array(["cat", "dog", "frog"])))
    assert data.class_names == ("cat", "dog", "frog")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": LEVELS, "y": Y, "levels": 3}, "has the level 3, outside of 0..2"),
        ({"x": X - 1, "y": Y, "levels": 4}, "has the level -1, outside of 0..3"),
        ({"x": LEVELS, "y": Y - 1}, "has the class -1"),
        ({"x": LEVELS / 4, "y": Y}, "must hold integer arrays, .*x is float64 (3, 4), y is int64 (3,)"),
        ({"x": LEVELS, "y": Y / 2}, "must hold integer arrays, .*y is float64 (3,)"),
        ({"x": LEVELS, "y": np.array(["a", "b", "c"])}, "must hold integer arrays, .*y is <U1 (3,)"),
        ({"x": LEVELS, "y": Y > 0}, "must hold integer arrays, .*y is bool (3,)"),
        ({"x": LEVELS, "y": Y[:2]}, "must hold integer arrays, .*x is uint8 (3, 4), y is int64 (2,)"),
        ({"x": LEVELS[0], "y": Y}, "must hold integer arrays, .*x is uint8 (4,)"),
        ({"x": LEVELS, "y": Y[:, None]}, "must hold integer arrays, .*y is int64 (3, 1)"),
        ({"x": np.uint8(3), "y": Y}, "must hold integer arrays, .*x is uint8 ()"),
        ({"x": LEVELS}, "lacks the array y"),
        ({"y": Y}, "lacks the array x"),
        ({"x_test": LEVELS, "y": Y}, "lacks the array y_test"),
        ({"x_train": LEVELS, "y_train": Y}, "lacks the array x"),
        ({}, "lacks the array x"),
        ({"x": LEVELS[:0], "y": Y[:0]}, "has no inputs in the test split"),
        (
            {"x": np.array([[1, None]], object), "y": Y[:1]},
            "is not an .npz file of plain arrays: Object arrays cannot be loaded",
        ),
        *(
            pytest.param({"x": LEVELS * 0, "y": Y, "levels": levels}, "levels")
            for levels in (0, 1, 4.7, math.nan, "four", [4, 5])
        ),
        *(pytest.param({"x": LEVELS, "y": Y, "classes": classes}, "class") for classes in ("cat", ["cat", "dog"])),
        pytest.param({"x": LEVELS, "y": np.array([0, 1, 2**63 - 1])}, "class"),
        pytest.param({"x": LEVELS[:, :0], "y": Y}, "x is uint8 (3, 0)"),
    ],
)
def test_an_npz_that_holds_no_data_set_is_one_line(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    line = refusal(npz(tmp_path, **arrays))
    assert all(part in line for part in message.split(".*"))


def test_a_k_that_is_too_small_is_refused(tmp_path: Path) -> None:
    assert "has the level 3, outside of 0..2" in refusal(npz(tmp_path, x=X, y=Y), k=2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        pytest.param(lambda whole: whole[:10]),
        pytest.param(lambda whole: whole[: len(whole) // 2]),
        pytest.param(lambda whole: whole[:-5]),
        pytest.param(lambda whole: whole.replace(LEVELS.tobytes(), LEVELS.tobytes()[::-1])),
        lambda whole: b"no archive\n" * 100,
        lambda whole: pickle.dumps({"x": LEVELS, "y": Y}),
    ],
)
def test_a_damaged_npz_is_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = Path(npz(tmp_path, x=LEVELS, y=Y))
    file.write_bytes(damage(file.read_bytes()))
    assert refusal(file).startswith(f"{file} is not an .npz file of plain arrays: ")


def test_a_single_array_that_is_called_npz_is_one_line(tmp_path: Path) -> None:
    with (tmp_path / "x.npz").open("wb") as file:
        np.save(file, LEVELS)
    refusal(tmp_path / "x.npz")


class Payload:
    """What runs when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_an_npz_never_runs_code(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    pickle.loads(pickle.dumps(Payload(trace)))
    assert trace.exists()
    trace.unlink()
    array = np.empty((1, 1), object)
    array[0, 0] = Payload(trace)
    refusal(npz(tmp_path, x=array, y=Y[:1]))
    (tmp_path / "whole.npz").write_bytes(pickle.dumps(Payload(trace)))
    refusal(tmp_path / "whole.npz")
    assert not trace.exists()


# Parquet


def lists(x: NDArray[Any], kind: Any = None) -> Any:
    return pa.array(x.reshape(len(x), -1).tolist(), pa.list_(kind or pa.uint8()))


def parquet(folder: Path, metadata: dict[str, str] | None = None, **columns: Any) -> str:
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, folder / "data.parquet", row_group_size=2)
    return str(folder / "data.parquet")


@pytest.mark.parametrize(
    "column",
    [
        lists(LEVELS),
        pa.array(LEVELS.tolist(), pa.large_list(pa.uint8())),
        pa.FixedSizeListArray.from_arrays(pa.array(LEVELS.ravel()), 4),
    ],
)
def test_a_parquet_file_holds_lists_and_classes(tmp_path: Path, column: Any) -> None:
    uri = parquet(tmp_path, x=column, y=Y)
    for split in ("train", "test"):
        data = load_data(uri, split)
        assert (data.name, data.shape, data.levels) == ("data.parquet", (4,), 256)
        assert np.array_equal(everything(data), LEVELS)
        assert data.labels.tolist() == [0, 1, 2]
        assert data.class_names == ("0", "1", "2")


def test_a_parquet_file_may_say_its_shape_and_levels(tmp_path: Path) -> None:
    metadata = {"shape": "[1, 2, 2]", "levels": "4"}
    data = load_data(parquet(tmp_path, metadata, x=lists(X, pa.int64()), y=Y))
    assert (data.shape, data.levels) == ((1, 2, 2), 4)
    assert np.array_equal(everything(data), X.reshape(3, 1, 2, 2))
    assert everything(data).dtype == np.uint8


def test_a_parquet_file_of_bits_has_two_levels(tmp_path: Path) -> None:
    assert load_data(parquet(tmp_path, x=lists(LEVELS > 1, pa.bool_()), y=Y)).levels == 2


def test_a_parquet_file_may_be_shared_out(tmp_path: Path) -> None:
    many = RANDOM.integers(0, 256, (9, 4), np.uint8)
    splits = np.array(["train", "test", "train"] * 3)
    uri = parquet(tmp_path, x=lists(many), y=np.arange(9), split=splits)
    for split in ("train", "test"):
        data = load_data(uri, split)
        assert np.array_equal(everything(data), many[splits == split])
        assert data.labels.tolist() == np.flatnonzero(splits == split).tolist()


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64()])
def test_a_parquet_file_of_other_integers_says_its_levels_or_is_told(tmp_path: Path, kind: Any) -> None:
    uri = parquet(tmp_path, x=lists(X, kind), y=Y)
    assert f"does not say how many levels its {kind} numbers have; --k does, levels minus one" in refusal(uri)
    assert load_data(uri, k=3).levels == 4
    assert "has the level 3, outside of 0..2" in refusal(uri, k=2)


@pytest.mark.parametrize(
    ("columns", "metadata", "message"),
    [
        ({"x": pa.array([[1], [1, 2], [3]], pa.list_(pa.uint8()))}, {}, "has inputs of different lengths, 1 to 2"),
        ({"x": lists(LEVELS)}, {"shape": "[1, 2, 3]"}, "and its shape is (1, 2, 3)"),
        ({"x": lists(LEVELS)}, {"shape": "[]"}, "and its shape is ()"),
        ({"x": lists(LEVELS)}, {"levels": "3"}, "has the level 3, outside of 0..2"),
        ({"x": lists(LEVELS, pa.float64())}, {}, "must hold integer arrays, .*x is float64 (3, 4)"),
        ({"x": pa.array([[1], [None], [3]], pa.list_(pa.uint8()))}, {}, "must hold integer arrays"),
        ({"x": lists(LEVELS), "y": ["a", "b", "c"]}, {}, "must hold integer arrays"),
        ({"x": lists(LEVELS), "y": [0, None, 1]}, {}, "must hold integer arrays"),
        ({"x": lists(LEVELS), "y": [0, -1, 1]}, {}, "has the class -1"),
        ({}, {}, "lacks the column x"),
        ({"x": lists(LEVELS), "y": None}, {}, "lacks the column y"),
        ({"x": lists(LEVELS)[:0], "y": Y[:0]}, {"shape": "[4]"}, "has no inputs in the test split"),
        pytest.param({"x": lists(LEVELS), "split": ["train"] * 3}, {}, "has no inputs in the test split"),
        *(
            pytest.param({"x": lists(LEVELS)}, {"shape": shape}, "shape")
            for shape in ("4", '"ab"', "[4.0]", "null", "1x2")
        ),
        *(
            pytest.param({"x": lists(LEVELS)}, {"levels": levels}, "levels")
            for levels in ('"4"', "4.5", "[4]", "four", "0")
        ),
        *(
            pytest.param({"x": x}, {}, "x")
            for x in (Y, ["a", "b", "c"], pa.array([[1], None, [3]], pa.list_(pa.uint8())))
        ),
        pytest.param({"x": lists(LEVELS), "split": Y}, {}, "split"),
    ],
)
def test_a_parquet_file_that_holds_no_data_set_is_one_line(
    tmp_path: Path, columns: dict[str, Any], metadata: dict[str, str], message: str
) -> None:
    given = {name: column for name, column in {"y": Y, **columns}.items() if column is not None}
    line = refusal(parquet(tmp_path, metadata, **given))
    assert all(part in line for part in message.split(".*"))


@pytest.mark.parametrize("keep", [0, 3, 10, -5])
def test_a_damaged_parquet_file_is_one_line(tmp_path: Path, keep: int) -> None:
    file = Path(parquet(tmp_path, x=lists(LEVELS), y=Y))
    file.write_bytes(file.read_bytes()[:keep])
    assert refusal(file).startswith(f"{file} is not a Parquet file: ")


# Places


def content_of(suffix: str) -> bytes:
    file = io.BytesIO()
    if suffix == "npz":
        np.savez(file, x=LEVELS, y=Y)
    else:
        pq.write_table(pa.table({"x": lists(LEVELS), "y": Y}), file)
    return file.getvalue()


@pytest.fixture
def s3_folder(s3_place: S3Place, s3_options: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place in a bucket that holds data.npz and data.parquet; the server is named by the environment."""
    server = s3_options.rpartition("endpoint_override=")[2]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{server}")
    place = s3_place()
    store, path = fs.FileSystem.from_uri(place)
    for suffix in ("npz", "parquet"):
        with store.open_output_stream(f"{path}/data.{suffix}") as stream:
            stream.write(content_of(suffix))
    return place.partition("?")[0]


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_file_may_lie_on_s3(s3_folder: str, suffix: str) -> None:
    data = load_data(f"{s3_folder}/data.{suffix}")
    assert data.name == f"data.{suffix}"
    assert np.array_equal(everything(data), LEVELS)
    assert data.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_an_s3_uri_may_have_options(s3_folder: str, s3_options: str, suffix: str) -> None:
    data = load_data(f"{s3_folder}/data.{suffix}?{s3_options}")
    assert data.name == f"data.{suffix}"
    assert np.array_equal(everything(data), LEVELS)


@pytest.mark.parametrize("suffix", [pytest.param("npz"), "parquet"])
def test_a_file_that_is_not_on_s3_is_one_line(s3_folder: str, suffix: str) -> None:
    for missing in (f"{s3_folder}/other.{suffix}", f"s3://no-such-bucket/data.{suffix}"):
        assert refusal(missing) == f"{missing} does not exist"


def test_keys_in_a_uri_are_not_shown(s3_folder: str) -> None:
    assert "hidden" not in refusal(f"{s3_folder}/other.npz".replace("s3://", "s3://testing:hidden@"))


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_file_may_be_named_by_a_uri_or_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    (tmp_path / f"data.{suffix}").write_bytes(content_of(suffix))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for uri in (f"file://{tmp_path}/data.{suffix}", f"data.{suffix}", f"./data.{suffix}", f"~/data.{suffix}"):
        assert np.array_equal(everything(load_data(uri)), LEVELS)


def test_a_file_in_the_root_directory_is_not_looked_for_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{tmp_path.name}-not-in-the-root.npz"
    (tmp_path / name).write_bytes(content_of("npz"))
    monkeypatch.chdir(tmp_path)
    assert "does not exist" in refusal(f"/{name}")


@pytest.mark.parametrize("suffix", [pytest.param("npz"), "parquet"])
@pytest.mark.parametrize("folder", ["", "nowhere/"])
def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, folder: str, suffix: str) -> None:
    missing = f"{tmp_path}/{folder}data.{suffix}"
    assert refusal(missing) == f"{missing} does not exist"


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_folder_with_the_name_of_a_file_is_one_line(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"data.{suffix}").mkdir()
    assert "cannot be read: " in refusal(tmp_path / f"data.{suffix}")


def test_what_is_no_data_set_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no data")
    for place in (tmp_path / "nowhere", tmp_path / "notes.txt"):
        assert refusal(place) == f"{place} is not a folder with a data set; `digits` needs no files"
    assert "no such file system" in refusal("ftp://somewhere/data.parquet")


@pytest.mark.parametrize(
    "place",
    [
        "a\0b",
        "a\0b.npz",
        "a" * 5_000 + ".npz",
        pytest.param("a" * 5_000),
        pytest.param("~nobody-is-called-this/x"),
        pytest.param("~nobody-is-called-this/x.npz"),
        pytest.param("a\nb"),
    ],
)
def test_a_strange_name_is_one_line(place: str) -> None:
    refusal(place)


@pytest.mark.parametrize("split", ["val", "", "Train"])
@pytest.mark.parametrize("uri", ["digits", "nowhere", "nowhere.npz"])
def test_an_unknown_split_is_refused(uri: str, split: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load_data(uri, split)
    assert str(refused.value) == f"split must be train or test; got {split!r}"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        pytest.param({"k": 0}, "k must be"),
        pytest.param({"k": -1}, "k must be"),
        pytest.param({"image_size": 0}, "image_size must be"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(tmp_path: Path, options: dict[str, Any], field: str) -> None:
    picture(tmp_path / "a" / "1.png", 20, 20)
    uri = npz(tmp_path, x=X * 0, y=Y) if "k" in options else str(tmp_path)
    with pytest.raises(InvalidInput, match=field):
        everything(load_data(uri, **options))


# Bits, parts and digests


def small(arrays: NDArray[Any] = LEVELS, labels: NDArray[np.int64] = Y, levels: int = 4) -> ArrayData:
    return ArrayData("small", arrays, labels, levels, ("a", "b", "c"))


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_bits_are_one_from_the_threshold_on(threshold: int) -> None:
    bits = binarize(small(), threshold)
    assert bits.levels == 2
    assert everything(bits).dtype == np.uint8
    assert everything(bits).tolist() == [[int(level >= threshold) for level in row] for row in X.tolist()]
    assert bits.labels.tolist() == [0, 1, 2]
    assert (bits.class_names, bits.shape) == (("a", "b", "c"), (4,))
    assert bits.name == f"small, 1 from level {threshold} on"


def test_images_can_be_made_bits(tmp_path: Path) -> None:
    pixels = picture(tmp_path / "a" / "1.png", 16, 16)
    bits = binarize(load_data(str(tmp_path), image_size=14), 128)
    assert np.array_equal(everything(bits)[0], (pixels[1:15, 1:15] >= 128).transpose(2, 0, 1))


@pytest.mark.parametrize("threshold", [0, -1, 4, 1_000])
def test_a_threshold_that_makes_all_bits_equal_is_refused(threshold: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        binarize(small(), threshold)
    assert str(refused.value) == f"binarize must be a level from 1 to 3; got {threshold}"


def test_inputs_come_in_the_order_that_is_asked_for() -> None:
    for indices in ([2, 0, 0], np.array([2, 0, 0]), range(3)):
        assert np.array_equal(small().inputs(indices), LEVELS[list(indices)])


def test_a_digest_says_whether_two_data_sets_are_the_same(tmp_path: Path) -> None:
    changed = LEVELS.copy()
    changed[2, 3] = 0
    different = [
        small(),
        small(changed),
        small(labels=Y[::-1].copy()),
        small(levels=5),
        small(LEVELS.reshape(3, 2, 2)),
        small(LEVELS.astype(np.int32)),
        small(LEVELS[:2], Y[:2]),
    ]
    assert len({data.digest for data in different}) == len(different)
    assert small(np.asfortranarray(LEVELS)).digest == small(LEVELS.copy()).digest == small().digest
    read = load_data(npz(tmp_path, x=X, y=Y, levels=4))
    assert read.digest == load_data(parquet(tmp_path, {"levels": "4"}, x=lists(X), y=Y)).digest == small().digest
