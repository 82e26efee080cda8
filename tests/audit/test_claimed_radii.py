"""Result files of others are read as they were written, exactly, or refused in one line."""

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ellzero.audit.claimed_radii import ClaimedRadius, read_claims
from ellzero.audit.errors import UnreadableClaims

COHEN = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n0\t3\t3\t1.53\t1\t0:01:02.1\n20\t8\t-1\t0.0\t0\t0:01:02.3\n"


def read(tmp_path: Path, content: str | bytes) -> list[ClaimedRadius]:
    path = tmp_path / "file"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_claims(path)


def test_the_layout_of_cohen_et_al(tmp_path: Path) -> None:
    first, second = read(tmp_path, COHEN)
    assert first == ClaimedRadius("0", Fraction("1.53"), Fraction("0.01"), None, None, None)
    assert (second.index, second.radius) == ("20", None)
    assert read(tmp_path, "\ufeff" + COHEN.replace("\n", "\r\n")) == [first, second]


@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_columns_are_found_by_name_in_any_case_and_order(tmp_path: Path, delimiter: str) -> None:
    rows = [
        ["Radius", "nA", "N", "pABar", "Idx", "other"],
        ["4.0", "990", "1000", "0.98", "7", "x"],
        ["3", "", "", "", "", ""],
    ]
    text = "".join(delimiter.join(row) + "\n" for row in rows)
    first, second = read(tmp_path, text)
    assert first == ClaimedRadius("7", Fraction(4), Fraction(1, 10), 990, 1_000, Fraction(98, 100))
    assert second == ClaimedRadius("2", Fraction(3), Fraction(1), None, None, None)


def test_parquet_has_the_same_columns(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"idx": [5], "prediction": [1], "RADIUS": [2.5], "count": [99], "p": [0.1]}), path)
    assert read_claims(path) == [ClaimedRadius("5", Fraction(5, 2), Fraction(1, 10), 99, None, Fraction("0.1"))]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is no table with a header"),
        (b"\xff\xfe\x00", "is neither text nor Parquet"),
        (b"PAR1 and more", "is damaged Parquet"),
        (b"radius\n", "has no rows"),
        (b"label\tpredict\n1\t1\n", "has no column radius"),
        (b"radius\tRadius\n1\t1\n", "has several columns radius"),
        (b"radius\nnan\n", "has no such row as number 1: radius must be a finite number"),
        (b"radius\n1\n-2\n", "has no such row as number 2: radius must be a finite number of at least 0"),
        (b"radius\n1e999999\n", "has no such row as number 1: radius must be a finite number"),
        (b"radius,count\n1,1.5\n", "has no such row as number 1: count must be an integer"),
        (b"radius,p\n1,1.5\n", "has no such row as number 1: p must be a number from 0 to 1"),
        (b'radius,p\n"1,1.5\n', "is no table with a header"),
        (b"radius,selection,drawn\n1,1,1\n", "is of a run of ellzero"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableClaims) as unreadable:
        read(tmp_path, content)
    assert unreadable.value.reason.startswith(reason)
