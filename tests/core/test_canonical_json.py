"""A document has one sequence of bytes, and no other bytes are read as it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ellzero.core.canonical_json import NotCanonical, read_canonical, read_small_file, write_canonical

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**100), 2**100) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(DOCUMENTS)
def test_what_is_written_is_read_again_and_is_ascii(document: Any) -> None:
    data = write_canonical(document)
    assert data.isascii()
    assert b"\n" not in data
    assert read_canonical(data) == document


@given(DOCUMENTS, st.data())
def test_other_bytes_are_refused_or_mean_something_else(document: Any, data: st.DataObject) -> None:
    written = bytearray(write_canonical(document))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] = data.draw(st.integers(0, 255))
    try:
        other = read_canonical(bytes(written))
    except NotCanonical:
        return
    assert write_canonical(other) == written
    assert (other == document) is (written == write_canonical(document)) or isinstance(other, bool)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"b":1,"a":2}', "is not canonical JSON"),
        ('{"a":1,"a":1}', "is not canonical JSON"),
        ('{"a": 1}', "is not canonical JSON"),
        ("[1]\n", "is not canonical JSON"),
        ("-0", "is not canonical JSON"),
        ('"é"', "is not canonical JSON"),
        (r'"\u0061"', "is not canonical JSON"),
        (r'"\u00E9"', "is not canonical JSON"),
        ("1.0", "has a number that is no integer: 1.0"),
        ("1e3", "has a number that is no integer: 1e3"),
        ("NaN", "has a number that is no integer: NaN"),
        ("-Infinity", "has a number that is no integer: -Infinity"),
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000 + "]" * 100_000, "is not JSON"),
        ("1" * 5_000, "is not JSON"),
    ],
)
def test_each_other_spelling_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(NotCanonical, match=reason):
        read_canonical(text.encode())


def test_floats_are_never_written() -> None:
    data = json.dumps({"a": 0.5}).encode()
    with pytest.raises(NotCanonical):
        read_canonical(data)


def test_only_ordinary_files_are_read_and_no_more_of_them_than_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    assert read_small_file(tmp_path / "file", 10) == b"12345"
    assert read_small_file(tmp_path / "file", 3) == b"1234"
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "none"):
        with pytest.raises(OSError, match="ordinary|directory|No such"):
            read_small_file(tmp_path / name, 10)
