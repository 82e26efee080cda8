"""Data sets by name or URI: the digits, and wrong names and options as one clear line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from smoothing.data_writers import X, Y, all_inputs, refusal, write_image, write_npz

from ellzero.certificates import InvalidInput
from ellzero.smoothing.data.loading import load_data


def test_digits_need_no_files() -> None:
    train, test = load_data("digits", "train"), load_data("digits", "test")
    assert len(train.labels) + len(test.labels) == 1_797
    assert len(test.labels) == 359
    for part in (train, test):
        assert part.shape == (1, 8, 8)
        assert part.levels == 17
        assert part.class_names == tuple("0123456789")
        assert set(part.labels) == set(range(10))
        assert all_inputs(part).shape == (len(part.labels), 1, 8, 8)
        assert all_inputs(part).dtype == np.uint8
        assert (all_inputs(part).min(), all_inputs(part).max()) == (0, 16)


def test_splits_of_the_digits_do_not_overlap_and_lose_nothing() -> None:
    from sklearn.datasets import load_digits

    whole = load_digits()
    expected = sorted(zip(whole.images.astype(int).reshape(-1, 64).tolist(), whole.target.tolist(), strict=True))
    parts = [load_data("digits", split) for split in ("train", "test")]
    pairs = [
        pair
        for part in parts
        for pair in zip(all_inputs(part).reshape(-1, 64).tolist(), part.labels.tolist(), strict=True)
    ]
    assert sorted(pairs) == expected


def test_digits_are_the_same_every_time() -> None:
    digests = {split: load_data("digits", split).digest for split in ("train", "test")}
    assert digests == {split: load_data("digits", split).digest for split in ("train", "test")}
    assert digests["train"] != digests["test"]


def test_a_uri_without_a_data_set_is_one_line(tmp_path: Path) -> None:
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
    write_image(tmp_path / "a" / "1.png", 20, 20)
    uri = write_npz(tmp_path, x=X * 0, y=Y) if "k" in options else str(tmp_path)
    with pytest.raises(InvalidInput, match=field):
        all_inputs(load_data(uri, **options))
