"""Folders of data: what was written is what is read, and damaged files are one clear line."""

import gzip
import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from smoothing.data_writers import RANDOM, Bytes, all_inputs, refusal, write_image

from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.data.folders import ImageFolder
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.errors import BadData


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
        assert np.array_equal(all_inputs(data)[:, 0], IMAGES[:count])
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
        assert all_inputs(data).shape == (sum(expected), 1, 28, 28)
        assert (all_inputs(data).min(), all_inputs(data).max()) == (0, 255)


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
    assert np.array_equal(all_inputs(train), np.concatenate([images for _, images in batches]))
    assert test.labels.tolist() == [3, 3, 7]
    assert np.array_equal(all_inputs(test), images)


def test_cifar_classes_have_the_names_in_the_metadata_file(tmp_path: Path) -> None:
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


def test_cifar_without_the_batches_of_a_split_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").write_bytes(cifar_rows([3])[0])
    assert refusal(tmp_path, "train") == f"{tmp_path} has no batches of the train split"


def test_a_cifar_batch_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_batch.bin").mkdir()
    assert "test_batch.bin cannot be read: " in refusal(tmp_path)


@pytest.mark.parametrize("names", [b"", b"cat\ndog\n", pytest.param(b"\xff\xfe\n" * 3)])
def test_cifar_classes_are_numbers_unless_there_are_ten_names(tmp_path: Path, names: bytes) -> None:
    (tmp_path / "test_batch.bin").write_bytes(cifar_rows([3])[0])
    (tmp_path / "batches.meta.txt").write_bytes(names)
    assert load_data(str(tmp_path)).class_names == tuple("0123456789")


def as_image_folder(data: DataSet) -> ImageFolder:
    assert isinstance(data, ImageFolder)
    return data


def test_folders_of_images_are_classes(tmp_path: Path) -> None:
    write_image(tmp_path / "dog" / "2.png", 20, 20)
    write_image(tmp_path / "dog" / "1.jpg", 20, 20)
    write_image(tmp_path / "cat" / "more" / "3.PNG", 20, 20)
    (tmp_path / "dog" / "notes.txt").write_text("no image")
    (tmp_path / "readme.txt").write_text("no class")
    for split in ("train", "test"):
        data = as_image_folder(load_data(str(tmp_path), split, image_size=14))
        assert (data.shape, data.levels, data.class_names) == ((3, 14, 14), 256, ("cat", "dog"))
        assert [file.name for file in data.files] == ["3.PNG", "1.jpg", "2.png"]
        assert data.labels.tolist() == [0, 1, 1]
        assert all_inputs(data).shape == (3, 3, 14, 14)


@pytest.mark.parametrize("held_out", ["test", "val", "validation"])
def test_images_may_be_split_into_folders(tmp_path: Path, held_out: str) -> None:
    write_image(tmp_path / "train" / "cat" / "a.png", 20, 20)
    write_image(tmp_path / "train" / "dog" / "b.png", 20, 20)
    write_image(tmp_path / held_out / "dog" / "c.png", 20, 20)
    write_image(tmp_path / held_out / "cat" / "d.png", 20, 20)
    train, test = (as_image_folder(load_data(str(tmp_path), split)) for split in ("train", "test"))
    assert [file.name for file in train.files] == ["a.png", "b.png"]
    assert [file.name for file in test.files] == ["d.png", "c.png"]
    assert train.labels.tolist() == test.labels.tolist() == [0, 1]
    assert train.class_names == test.class_names == ("cat", "dog")


def test_a_missing_split_is_refused(tmp_path: Path) -> None:
    write_image(tmp_path / "train" / "cat" / "a.png", 20, 20)
    write_image(tmp_path / "train" / "dog" / "b.png", 20, 20)
    refusal(tmp_path, "test")


@pytest.mark.parametrize(("width", "height"), [(16, 16), (22, 16), (16, 30)])
def test_the_middle_is_cut_out_and_colours_come_first(tmp_path: Path, width: int, height: int) -> None:
    """16 is what the shorter side is brought to for 14, so nothing is resized here."""
    pixels = write_image(tmp_path / "a" / "1.png", width, height)
    data = load_data(str(tmp_path), image_size=14)
    left, top = (width - 14) // 2, (height - 14) // 2
    (image,) = all_inputs(data)
    assert image.dtype == np.uint8
    assert np.array_equal(image, pixels[top : top + 14, left : left + 14].transpose(2, 0, 1))


@pytest.mark.parametrize(("width", "height"), [(300, 100), (100, 300), (12, 4), (4, 12), (64, 64)])
def test_images_of_any_size_are_scaled_to_one_size(tmp_path: Path, width: int, height: int) -> None:
    """The middle half of each side has a colour; of a long side nothing else is seen."""
    pixels = np.zeros((height, width, 3), np.uint8)
    across, down = (side // 4 if side == 3 * min(width, height) else 0 for side in (width, height))
    pixels[down : height - down, across : width - across] = 10, 20, 30
    (tmp_path / "a").mkdir()
    Image.fromarray(pixels).save(tmp_path / "a" / "1.png")
    (image,) = all_inputs(load_data(str(tmp_path), image_size=24))
    assert image.shape == (3, 24, 24)
    assert [set(channel.ravel()) for channel in image] == [{10}, {20}, {30}]


def test_random_crops_depend_on_the_stream_and_the_image_alone(tmp_path: Path) -> None:
    for number in range(5):
        write_image(tmp_path / "a" / f"{number}.png", 60, 40, number)
    data = as_image_folder(load_data(str(tmp_path), image_size=16))
    crops = data.random_crops(range(5), "one")
    assert crops.shape == (5, 3, 16, 16)
    assert crops.dtype == np.uint8
    assert np.array_equal(data.random_crops([3, 1], "one"), crops[[3, 1]])
    assert all((data.random_crops([number], "two")[0] != crops[number]).any() for number in range(5))
    write_image(tmp_path / "a" / "1.png", 60, 40, 0)  # the same pixels as 0.png, and still another crop
    assert (data.random_crops([1], "one")[0] != crops[0]).any()


def test_images_come_in_the_order_of_their_indices(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / "a").mkdir(exist_ok=True)
        Image.new("RGB", (20, 20), (number, 0, 0)).save(tmp_path / "a" / f"{number:02d}.png")
    data = load_data(str(tmp_path), image_size=8)
    order = np.random.default_rng(0).permutation(40)
    assert data.inputs(order)[:, 0, 0, 0].tolist() == order.tolist()


@pytest.mark.parametrize("mode", ["L", "1", "RGBA", "P"])
def test_images_without_three_channels_get_them(tmp_path: Path, mode: str) -> None:
    (tmp_path / "a").mkdir()
    Image.new("RGB", (20, 20), (255, 255, 255)).convert(mode).save(tmp_path / "a" / "1.png")
    (image,) = all_inputs(load_data(str(tmp_path), image_size=8))
    assert image.shape == (3, 8, 8)
    assert set(image.ravel()) == {255}


def test_images_are_read_when_they_are_needed(tmp_path: Path) -> None:
    good, bad = tmp_path / "a" / "1.png", tmp_path / "a" / "2.png"
    write_image(good, 20, 20)
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
def test_a_file_that_is_not_an_image_is_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "a" / "1.png"
    write_image(file, 20, 20)
    file.write_bytes(damage(file.read_bytes()))
    assert refusal(tmp_path, image_size=8).startswith(f"{file} is not an image: ")


def test_a_deleted_image_is_one_line(tmp_path: Path) -> None:
    write_image(tmp_path / "a" / "1.png", 20, 20)
    data = load_data(str(tmp_path))
    (tmp_path / "a" / "1.png").unlink()
    with pytest.raises(BadData, match="1.png") as gone:
        data.inputs([0])
    assert "\n" not in str(gone.value)


def test_the_digest_of_deleted_images_is_one_line(tmp_path: Path) -> None:
    write_image(tmp_path / "a" / "1.png", 20, 20)
    data = load_data(str(tmp_path))
    (tmp_path / "a" / "1.png").unlink()
    with pytest.raises(BadData, match="1.png"):
        _ = data.digest


def test_a_digest_of_images_changes_with_names_sizes_and_labels(tmp_path: Path) -> None:
    write_image(tmp_path / "a" / "1.png", 20, 20)
    write_image(tmp_path / "b" / "2.png", 20, 20)
    first = load_data(str(tmp_path)).digest
    assert load_data(str(tmp_path)).digest == first
    assert load_data(str(tmp_path), image_size=8).digest != first
    write_image(tmp_path / "b" / "2.png", 21, 20)
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
