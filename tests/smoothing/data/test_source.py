"""Sources of data: described so that the same inputs can be loaded from any working directory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData

SOURCE = DataSource("digits", "test", None, 224, 8)


def test_a_description_loads_the_same_inputs_from_another_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "data.npz", x=np.arange(24, dtype=np.uint8).reshape(2, 3, 4), y=[0, 1])
    monkeypatch.chdir(tmp_path)
    source = DataSource("data.npz", "test", 30, 224, 12)
    description = json.loads(json.dumps(source.describe()))
    assert description["uri"] == str(tmp_path / "data.npz")
    digest = source.load().digest
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert DataSource.of(description).load().digest == digest


def test_the_digits_and_uris_stay_as_they_are_without_credentials() -> None:
    assert SOURCE.describe()["uri"] == "digits"
    remote = DataSource("s3://key:secret@bucket/data.npz", "test", None, 224, None)
    assert remote.describe()["uri"] == "s3://bucket/data.npz"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"uri": 5}, "uri is '5'"),
        ({"k": "255"}, "k is '255'"),
        ({"image_size": True}, "image_size is 'True'"),
        ({"image_size": None}, "image_size is 'None'"),
        ({"more": 1}, "it may have uri, split, k, .*, and nothing else"),
    ],
)
def test_a_damaged_description_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadData, match=message):
        DataSource.of({**SOURCE.describe(), **change})


@pytest.mark.parametrize("description", [None, [], "digits", {}, {"uri": "digits", "split": "test"}])
def test_what_is_no_description_is_refused(description: object) -> None:
    with pytest.raises(BadData, match="source.json is damaged"):
        DataSource.of(description)


def test_a_description_without_what_may_be_null_is_complete() -> None:
    """Files of earlier versions know fewer ways to choose inputs."""
    written = {"uri": "digits", "split": "test", "image_size": 224, "binarize": 8}
    assert DataSource.of(written) == SOURCE
