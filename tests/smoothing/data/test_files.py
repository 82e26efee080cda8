"""Data sets in one file: what was written is what is read, here and on S3, and wrong files are one clear line."""

import io
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyarrow import fs
from s3_server import S3Place
from smoothing.data_writers import (
    LEVELS,
    RANDOM,
    X,
    Y,
    all_inputs,
    lists,
    refusal,
    write_npz,
    write_parquet,
)
from smoothing.pickle_payload import Payload

from ellzero.certificates import EllzeroError
from ellzero.smoothing.data.loading import load_data


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_without_splits_is_loaded_as_a_whole(tmp_path: Path, save: Callable[..., None]) -> None:
    save(tmp_path / "mine.npz", x=LEVELS.reshape(3, 1, 2, 2), y=Y)
    for split in ("train", "test"):
        data = load_data(str(tmp_path / "mine.npz"), split)
        assert (data.name, data.shape, data.levels) == ("mine.npz", (1, 2, 2), 256)
        assert data.class_names == ("0", "1", "2")
        assert np.array_equal(all_inputs(data), LEVELS.reshape(3, 1, 2, 2))
        assert data.labels.tolist() == [0, 1, 2]
        assert data.labels.dtype == np.int64


def test_an_npz_may_have_splits(tmp_path: Path) -> None:
    uri = write_npz(tmp_path, x_train=LEVELS, y_train=Y, x_test=LEVELS[:2] + 1, y_test=Y[:2], levels=np.array(5))
    train, test = load_data(uri, "train"), load_data(uri, "test")
    assert np.array_equal(all_inputs(train), LEVELS)
    assert np.array_equal(all_inputs(test), LEVELS[:2] + 1)
    assert (train.levels, test.levels) == (5, 5)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.int64, np.uint64, ">i8"])
def test_an_npz_of_other_integers_needs_declared_levels(tmp_path: Path, kind: Any) -> None:
    x = X.astype(kind)
    bare = write_npz(tmp_path, x=x, y=Y.astype(kind))
    assert (
        refusal(bare) == f"{bare} does not say how many levels its {x.dtype} numbers have; --k does, levels minus one"
    )
    with_k = load_data(bare, k=3)
    declared = load_data(write_npz(tmp_path, x=x, y=Y.astype(kind), levels=np.array(4)), k=9)
    for data in (with_k, declared):
        assert data.levels == 4
        assert all_inputs(data).dtype == np.uint8
        assert np.array_equal(all_inputs(data), X)


def test_bytes_have_256_levels_and_booleans_2_by_default(tmp_path: Path) -> None:
    uri = write_npz(tmp_path, x=LEVELS, y=Y)
    assert load_data(uri).levels == 256
    assert load_data(uri, k=3).levels == 4
    bits = load_data(write_npz(tmp_path, x=LEVELS > 1, y=Y))
    assert bits.levels == 2
    assert np.array_equal(all_inputs(bits), (LEVELS > 1).astype(np.uint8))
    assert all_inputs(bits).dtype == np.uint8


def test_more_than_256_levels_are_kept(tmp_path: Path) -> None:
    tokens = np.array([[0, 30_521], [101, 70_000]])
    data = load_data(write_npz(tmp_path, x=tokens, y=Y[:2]), k=70_000)
    assert data.levels == 70_001
    assert np.array_equal(all_inputs(data), tokens)


def test_levels_are_never_changed_silently(tmp_path: Path) -> None:
    tokens = np.array([[0, 2**40], [1, 2**31]])
    uri = write_npz(tmp_path, x=tokens, y=Y[:2])
    try:
        data = load_data(uri, k=2**41)
    except EllzeroError:
        return
    assert np.array_equal(all_inputs(data), tokens)


def test_an_npz_may_name_its_classes(tmp_path: Path) -> None:
    data = load_data(write_npz(tmp_path, x=LEVELS, y=Y, classes=np.array(["cat", "dog", "frog"])))
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
def test_an_npz_without_a_data_set_is_one_line(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    line = refusal(write_npz(tmp_path, **arrays))
    assert all(part in line for part in message.split(".*"))


def test_a_k_that_is_too_small_is_refused(tmp_path: Path) -> None:
    assert "has the level 3, outside of 0..2" in refusal(write_npz(tmp_path, x=X, y=Y), k=2)


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
    file = Path(write_npz(tmp_path, x=LEVELS, y=Y))
    file.write_bytes(damage(file.read_bytes()))
    assert refusal(file).startswith(f"{file} is not an .npz file of plain arrays: ")


def test_a_single_array_that_is_called_npz_is_one_line(tmp_path: Path) -> None:
    with (tmp_path / "x.npz").open("wb") as file:
        np.save(file, LEVELS)
    refusal(tmp_path / "x.npz")


def test_an_npz_never_runs_code(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    pickle.loads(pickle.dumps(Payload(trace)))
    assert trace.exists()
    trace.unlink()
    array = np.empty((1, 1), object)
    array[0, 0] = Payload(trace)
    refusal(write_npz(tmp_path, x=array, y=Y[:1]))
    (tmp_path / "whole.npz").write_bytes(pickle.dumps(Payload(trace)))
    refusal(tmp_path / "whole.npz")
    assert not trace.exists()


@pytest.mark.parametrize(
    "column",
    [
        lists(LEVELS),
        pa.array(LEVELS.tolist(), pa.large_list(pa.uint8())),
        pa.FixedSizeListArray.from_arrays(pa.array(LEVELS.ravel()), 4),
    ],
)
def test_a_parquet_file_holds_lists_and_classes(tmp_path: Path, column: Any) -> None:
    uri = write_parquet(tmp_path, x=column, y=Y)
    for split in ("train", "test"):
        data = load_data(uri, split)
        assert (data.name, data.shape, data.levels) == ("data.parquet", (4,), 256)
        assert np.array_equal(all_inputs(data), LEVELS)
        assert data.labels.tolist() == [0, 1, 2]
        assert data.class_names == ("0", "1", "2")


def test_a_parquet_file_may_declare_its_shape_and_levels(tmp_path: Path) -> None:
    metadata = {"shape": "[1, 2, 2]", "levels": "4"}
    data = load_data(write_parquet(tmp_path, metadata, x=lists(X, pa.int64()), y=Y))
    assert (data.shape, data.levels) == ((1, 2, 2), 4)
    assert np.array_equal(all_inputs(data), X.reshape(3, 1, 2, 2))
    assert all_inputs(data).dtype == np.uint8


def test_a_parquet_file_of_bits_has_two_levels(tmp_path: Path) -> None:
    assert load_data(write_parquet(tmp_path, x=lists(LEVELS > 1, pa.bool_()), y=Y)).levels == 2


def test_a_parquet_file_may_have_splits(tmp_path: Path) -> None:
    many = RANDOM.integers(0, 256, (9, 4), np.uint8)
    splits = np.array(["train", "test", "train"] * 3)
    uri = write_parquet(tmp_path, x=lists(many), y=np.arange(9), split=splits)
    for split in ("train", "test"):
        data = load_data(uri, split)
        assert np.array_equal(all_inputs(data), many[splits == split])
        assert data.labels.tolist() == np.flatnonzero(splits == split).tolist()


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64()])
def test_a_parquet_file_of_other_integers_needs_declared_levels(tmp_path: Path, kind: Any) -> None:
    uri = write_parquet(tmp_path, x=lists(X, kind), y=Y)
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
def test_a_parquet_file_without_a_data_set_is_one_line(
    tmp_path: Path, columns: dict[str, Any], metadata: dict[str, str], message: str
) -> None:
    present = {name: column for name, column in {"y": Y, **columns}.items() if column is not None}
    line = refusal(write_parquet(tmp_path, metadata, **present))
    assert all(part in line for part in message.split(".*"))


@pytest.mark.parametrize("keep", [0, 3, 10, -5])
def test_a_damaged_parquet_file_is_one_line(tmp_path: Path, keep: int) -> None:
    file = Path(write_parquet(tmp_path, x=lists(LEVELS), y=Y))
    file.write_bytes(file.read_bytes()[:keep])
    assert refusal(file).startswith(f"{file} is not a Parquet file: ")


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
def test_a_file_may_be_on_s3(s3_folder: str, suffix: str) -> None:
    data = load_data(f"{s3_folder}/data.{suffix}")
    assert data.name == f"data.{suffix}"
    assert np.array_equal(all_inputs(data), LEVELS)
    assert data.labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_an_s3_uri_may_have_options(s3_folder: str, s3_options: str, suffix: str) -> None:
    data = load_data(f"{s3_folder}/data.{suffix}?{s3_options}")
    assert data.name == f"data.{suffix}"
    assert np.array_equal(all_inputs(data), LEVELS)


@pytest.mark.parametrize("suffix", [pytest.param("npz"), "parquet"])
def test_a_file_missing_on_s3_is_one_line(s3_folder: str, suffix: str) -> None:
    for missing in (f"{s3_folder}/other.{suffix}", f"s3://no-such-bucket/data.{suffix}"):
        assert refusal(missing) == f"{missing} does not exist"


def test_keys_in_a_uri_are_not_shown(s3_folder: str) -> None:
    assert "hidden" not in refusal(f"{s3_folder}/other.npz".replace("s3://", "s3://testing:hidden@"))


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_file_may_be_named_by_a_uri_or_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    (tmp_path / f"data.{suffix}").write_bytes(content_of(suffix))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for uri in (f"file://{tmp_path}/data.{suffix}", f"data.{suffix}", f"./data.{suffix}", f"~/data.{suffix}"):
        assert np.array_equal(all_inputs(load_data(uri)), LEVELS)


def test_a_file_in_the_root_is_not_read_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"{tmp_path.name}-not-in-the-root.npz"
    (tmp_path / name).write_bytes(content_of("npz"))
    monkeypatch.chdir(tmp_path)
    assert "does not exist" in refusal(f"/{name}")


@pytest.mark.parametrize("suffix", [pytest.param("npz"), "parquet"])
@pytest.mark.parametrize("folder", ["", "nowhere/"])
def test_a_missing_file_is_one_line(tmp_path: Path, folder: str, suffix: str) -> None:
    missing = f"{tmp_path}/{folder}data.{suffix}"
    assert refusal(missing) == f"{missing} does not exist"


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_a_folder_with_the_name_of_a_file_is_one_line(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"data.{suffix}").mkdir()
    assert "cannot be read: " in refusal(tmp_path / f"data.{suffix}")


def test_an_npz_may_say_which_positions_are_protected(tmp_path: Path) -> None:
    mask = RANDOM.random(X.shape) < 0.5
    mask[:, 0] = False
    data = load_data(write_npz(tmp_path, x=LEVELS, y=Y, protected=mask))
    read = data.protected([2, 0])
    assert read is not None
    assert np.array_equal(read, mask[[2, 0]])
    plain = load_data(write_npz(tmp_path, x=LEVELS, y=Y))
    assert plain.protected([0]) is None
    assert plain.digest != data.digest
    train = load_data(write_npz(tmp_path, x_train=LEVELS, y_train=Y, protected_train=mask), "train")
    assert np.array_equal(train.mask, mask)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.zeros((3, 3), bool), "must have booleans of shape (3, 4) as protected, and has bool (3, 3)"),
        (np.zeros((3, 4), int), "must have booleans of shape (3, 4) as protected, and has int64 (3, 4)"),
        (np.arange(12).reshape(3, 4) > 7, "has an input, number 2, all of whose positions are protected"),
    ],
)
def test_wrong_masks_in_an_npz_are_one_line(tmp_path: Path, mask: NDArray[Any], message: str) -> None:
    assert message in refusal(write_npz(tmp_path, x=LEVELS, y=Y, protected=mask))


def test_a_mask_of_no_split_is_not_left_out_silently(tmp_path: Path) -> None:
    uri = write_npz(tmp_path, x_train=LEVELS, y_train=Y, x_test=LEVELS, y_test=Y, protected=X > 5)
    assert refusal(uri) == f"{uri} has `protected` beside x_test; it must be called protected_test"


def write_sequences(path: Path, rows: list[list[int]], protected: object = None, **metadata: object) -> str:
    columns = {"x": pa.array(rows, pa.list_(pa.int32())), "y": pa.array([0] * len(rows))}
    if protected is not None:
        columns["protected"] = pa.array(protected)
    table = pa.table(columns).replace_schema_metadata({name: json.dumps(value) for name, value in metadata.items()})
    pq.write_table(table, path / "sequences.parquet")
    return str(path / "sequences.parquet")


def test_sequences_of_different_lengths_are_padded_and_their_padding_is_protected(tmp_path: Path) -> None:
    uri = write_sequences(tmp_path, [[3, 1], [2, 2, 5, 1], [4]], levels=7, padding=6)
    data = load_data(uri)
    assert (data.shape, data.levels) == ((4,), 7)
    assert all_inputs(data).tolist() == [[3, 1, 6, 6], [2, 2, 5, 1], [4, 6, 6, 6]]
    mask = data.protected(range(3))
    assert mask is not None
    assert mask.tolist() == [[False, False, True, True], [False] * 4, [False, True, True, True]]


def test_sequences_may_have_protected_positions_of_their_own(tmp_path: Path) -> None:
    rows = [[3, 1], [2, 2, 5]]
    data = load_data(write_sequences(tmp_path, rows, [[True, False], [True, False, False]], levels=7, padding=0))
    mask = data.protected([0, 1])
    assert mask is not None
    assert mask.tolist() == [[True, False, True], [True, False, False]]
    assert "not as long as those in x" in refusal(
        write_sequences(tmp_path, rows, [[True], [True] * 3], levels=7, padding=0)
    )
    assert "all of whose positions" in refusal(
        write_sequences(tmp_path, rows, [[True, True], [True, False, False]], levels=7, padding=0)
    )
    assert "must have lists of booleans in its column protected, and has int64" in refusal(
        write_sequences(tmp_path, rows, [[1, 0], [0, 0, 0]], levels=7, padding=0)
    )
    assert "must have lists of booleans in its column protected, and has string" in refusal(
        write_sequences(tmp_path, rows, ["a", "b"], levels=7, padding=0)
    )


def test_sequences_of_different_lengths_need_a_level_to_fill_them_with(tmp_path: Path) -> None:
    assert "no level `padding` in its metadata" in refusal(write_sequences(tmp_path, [[1], [1, 2]], levels=4))
    assert "has the level 9, outside of 0..3" in refusal(write_sequences(tmp_path, [[1], [1, 2]], levels=4, padding=9))
    assert "declares the padding 1.5" in refusal(write_sequences(tmp_path, [[1], [1, 2]], levels=4, padding=1.5))
    assert "has an empty input" in refusal(write_sequences(tmp_path, [[], [1, 2]], levels=4, padding=3))


def test_sequences_of_all_splits_have_one_length(tmp_path: Path) -> None:
    table = pa.table({"x": [[1, 2, 3], [2]], "y": [0, 1], "split": ["train", "test"]})
    for shape, length in (({}, 3), ({"shape": [5]}, 5)):
        metadata = {name: json.dumps(value) for name, value in {"levels": 5, "padding": 4, **shape}.items()}
        pq.write_table(table.replace_schema_metadata(metadata), tmp_path / "both.parquet")
        assert [load_data(str(tmp_path / "both.parquet"), split).shape for split in ("train", "test")] == [
            (length,)
        ] * 2
    short = table.replace_schema_metadata({"levels": "5", "padding": "4", "shape": "[2]"})
    pq.write_table(short, tmp_path / "short.parquet")
    assert "has inputs of 3 numbers, and its shape is (2,)" in refusal(tmp_path / "short.parquet")
