"""Data sets in memory: bits, indices and digests."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from smoothing.data_writers import LEVELS, X, Y, all_inputs, lists, write_image, write_npz, write_parquet

from ellzero.certificates import InvalidInput
from ellzero.smoothing.data.datasets import ArrayData, ReorderedData, binarize
from ellzero.smoothing.data.loading import load_data


def small_data(arrays: NDArray[Any] = LEVELS, labels: NDArray[np.int64] = Y, levels: int = 4) -> ArrayData:
    return ArrayData("small", arrays, labels, levels, ("a", "b", "c"))


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_bits_are_one_from_the_threshold_on(threshold: int) -> None:
    bits = binarize(small_data(), threshold)
    assert bits.levels == 2
    assert all_inputs(bits).dtype == np.uint8
    assert all_inputs(bits).tolist() == [[int(level >= threshold) for level in row] for row in X.tolist()]
    assert bits.labels.tolist() == [0, 1, 2]
    assert (bits.class_names, bits.shape) == (("a", "b", "c"), (4,))
    assert bits.name == f"small, 1 from level {threshold} on"


def test_images_can_be_binarized(tmp_path: Path) -> None:
    pixels = write_image(tmp_path / "a" / "1.png", 16, 16)
    bits = binarize(load_data(str(tmp_path), image_size=14), 128)
    assert np.array_equal(all_inputs(bits)[0], (pixels[1:15, 1:15] >= 128).transpose(2, 0, 1))


@pytest.mark.parametrize("threshold", [0, -1, 4, 1_000])
def test_a_threshold_that_makes_all_bits_equal_is_refused(threshold: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        binarize(small_data(), threshold)
    assert str(refused.value) == f"binarize must be a level from 1 to 3; got {threshold}"


def test_inputs_come_in_the_order_of_their_indices() -> None:
    for indices in ([2, 0, 0], np.array([2, 0, 0]), range(3)):
        assert np.array_equal(small_data().inputs(indices), LEVELS[list(indices)])


def test_a_digest_identifies_a_data_set(tmp_path: Path) -> None:
    changed = LEVELS.copy()
    changed[2, 3] = 0
    different = [
        small_data(),
        small_data(changed),
        small_data(labels=Y[::-1].copy()),
        small_data(levels=5),
        small_data(LEVELS.reshape(3, 2, 2)),
        small_data(LEVELS.astype(np.int32)),
        small_data(LEVELS[:2], Y[:2]),
    ]
    assert len({data.digest for data in different}) == len(different)
    assert small_data(np.asfortranarray(LEVELS)).digest == small_data(LEVELS.copy()).digest == small_data().digest
    read = load_data(write_npz(tmp_path, x=X, y=Y, levels=4))
    assert (
        read.digest
        == load_data(write_parquet(tmp_path, {"levels": "4"}, x=lists(X), y=Y)).digest
        == small_data().digest
    )


def test_shuffled_inputs_are_the_same_ones_in_an_order_of_the_seed() -> None:
    rows = np.arange(40, dtype=np.uint8).reshape(20, 2) % 4
    data = ArrayData("rows", rows, np.arange(20) % 3, 4, ("a", "b", "c"))
    shuffled, again, other = (ReorderedData.shuffle(data, seed) for seed in (7, 7, 8))
    assert sorted(shuffled.order.tolist()) == list(range(20))
    for place, index in enumerate(shuffled.order.tolist()):
        assert np.array_equal(shuffled.inputs([place])[0], rows[index])
        assert shuffled.labels[place] == data.labels[index]
    assert (shuffled.shape, shuffled.levels, shuffled.class_names) == (data.shape, data.levels, data.class_names)
    assert shuffled.digest == again.digest
    assert len({data.digest, shuffled.digest, other.digest}) == 3
    assert shuffled.name == "rows, shuffled by seed 7"
