"""A shard holds exactly its rows under a fixed schema, says what it is, and is refused if anything does not fit."""

import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from importlib.metadata import version
from math import inf, nan
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises
from oracles.tables import cut, exact_slice, list_rows, parquet, with_footer

from ellzero.certificates import Discrete, Threshold, thresholds
from ellzero.tables import ColumnSlice, DamagedShard, End, NewerFormat, Table, TableError
from ellzero.tables.format import shard
from ellzero.tables.format.layouts import LAYOUTS
from ellzero.tables.store import Store

SLICES = [
    exact_slice(Discrete(255, "1/10")),
    cut(exact_slice(Discrete(255, "1/5"), 30), 7, 20),
    exact_slice(Discrete(3, "1/4")),
    exact_slice(Discrete(3, "1/10"), 12),  # α < β
    exact_slice(Discrete(10**8, f"{2**62 + 1}/{2**63 - 1}"), 3),  # the largest keys
]
SHARD = shard.encode(SLICES)
# Written by ellzero when it had format 1 only, and never since.
FORMAT_1 = Path(__file__).parents[1] / "data" / "format1"


@st.composite
def some_slices(draw: st.DrawFn) -> list[ColumnSlice]:
    """Slices of different noises, some of which do not begin at 0."""
    slices = []
    for noise in draw(st.lists(noises(), min_size=1, max_size=4, unique=True)):
        whole = exact_slice(noise, draw(st.integers(0, 30)))
        first = draw(st.integers(0, whole.stop - 1))
        slices.append(cut(whole, first, draw(st.integers(first + 1, whole.stop))))
    return slices


def in_order(slices: list[ColumnSlice]) -> list[tuple[Discrete, End, list[Threshold]]]:
    return [list_rows(piece) for piece in sorted(slices, key=lambda piece: (piece.noise.k, piece.noise.alpha))]


@settings(max_examples=50)
@given(some_slices())
def test_encoded_slices_are_decoded_unchanged(slices: list[ColumnSlice]) -> None:
    result = shard.decode("x", shard.encode(slices))
    assert [list_rows(piece) for piece in result] == in_order(slices)
    assert [piece.first for piece in result] == [rows[0].r for _, _, rows in in_order(slices)]


@settings(max_examples=50)
@given(some_slices(), st.randoms(use_true_random=False))
def test_the_same_slices_in_any_order_are_the_same_bytes(slices: list[ColumnSlice], random: Any) -> None:
    data = shard.encode(slices)
    permutation = random.sample(slices, len(slices))
    assert shard.encode(permutation) == data
    assert shard.encode(shard.decode("x", data)) == data


def test_the_same_slices_in_any_order_are_the_same_bytes_also_if_they_overlap() -> None:
    whole = exact_slice(Discrete(1, "4/5"), 30)
    slices = [cut(whole, 0, 9), cut(whole, 0, 20)]
    assert shard.encode(slices) == shard.encode(slices[::-1])


def test_the_schema_is_exactly_the_promised_one() -> None:
    expected = [
        ("k", pa.int32()),
        ("alpha_num", pa.int64()),
        ("alpha_den", pa.int64()),
        ("r", pa.int32()),
        ("threshold", pa.decimal128(38, 20)),
        ("exact", pa.bool_()),
        ("min_p", pa.float64()),
    ]
    schema = pq.read_schema(pa.BufferReader(SHARD))
    assert [(field.name, field.type) for field in schema] == expected
    assert not any(field.nullable for field in schema)


def test_every_row_is_in_the_file_as_the_engine_gives_it() -> None:
    rows = pq.read_table(pa.BufferReader(SHARD)).to_pylist()
    expected = [
        {
            "k": row.noise.k,
            "alpha_num": row.noise.alpha.numerator,
            "alpha_den": row.noise.alpha.denominator,
            "r": row.r,
            "threshold": row.value,
            "exact": row.exact,
            "min_p": row.min_p,
        }
        for _, _, piece in in_order(SLICES)
        for row in piece
    ]
    assert rows == expected
    assert rows == sorted(rows, key=lambda row: (row["k"], row["alpha_num"] / row["alpha_den"], row["r"]))
    (value,) = (row["threshold"] for row in rows if (row["k"], row["alpha_den"], row["r"]) == (255, 10, 7))
    assert value == Decimal("0.98739814896523242496") == thresholds(Discrete(255, "1/10"), [7])[0]


def test_the_footer_says_what_the_shard_is() -> None:
    metadata = json.loads(pq.read_metadata(pa.BufferReader(SHARD)).metadata[b"ellzero"])
    columns = metadata.pop("columns")
    assert metadata == {
        "format": 1,
        "kind": "thresholds",
        "engine": "ellzero.certificates",
        "version": version("ellzero"),
        "digits": 20,
        "conventions": {
            "k": "number of categories minus one",
            "alpha": "total probability of staying",
            "r": "at most r coordinates changed",
        },
    }
    assert columns[:4] == [
        {"k": 3, "alpha": "1/10", "first": 0, "last": 12, "end": "cut"},
        {"k": 3, "alpha": "1/4", "first": 0, "last": 0, "end": "flat"},
        {"k": 255, "alpha": "1/10", "first": 0, "last": 135, "end": "complete"},
        {"k": 255, "alpha": "1/5", "first": 7, "last": 19, "end": "cut"},
    ]
    assert shard.describe_slices("x", SHARD) == [
        (piece.noise, range(piece.first, piece.stop), piece.end) for piece in shard.decode("x", SHARD)
    ]


def test_duckdb_and_polars_read_the_same_rows(tmp_path: Path) -> None:
    file = tmp_path / "shard.parquet"
    file.write_bytes(SHARD)
    query = duckdb.connect().execute
    expected = [tuple(row.values()) for row in pq.read_table(pa.BufferReader(SHARD)).to_pylist()]
    assert query(f"from '{file}'").fetchall() == expected
    types = query(f"select typeof(threshold), typeof(min_p), typeof(r) from '{file}' limit 1").fetchall()
    assert types == [("DECIMAL(38,20)", "DOUBLE", "INTEGER")]
    frame = polars.read_parquet(file)
    assert frame.rows() == expected
    assert frame.schema["threshold"] == polars.Decimal(38, 20)
    condition = "k = 255 and alpha_den = 10 and threshold = 0.98739814896523242496"
    assert query(f"select r from '{file}' where {condition}").fetchall() == [(7,)]


def check_refused(data: bytes, error: type[TableError], text: str) -> None:
    """Every way of reading these bytes gives this one line."""
    with pytest.raises(error) as caught:
        shard.decode("x", data)
    assert type(caught.value) is error
    assert str(caught.value) == f"shard x {text}"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", [0, 1, 4, 100, len(SHARD) // 2, len(SHARD) - 1])
def test_truncated_bytes_are_refused(length: int) -> None:
    check_refused(SHARD[:length], DamagedShard, "is not a Parquet file")


@settings(max_examples=100)
@given(st.integers(0, len(SHARD) - 1), st.integers(1, 255))
def test_any_wrong_byte_is_detected(at: int, flip: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        store = Store(directory)
        name = store.put(SHARD)
        corrupt = bytearray(SHARD)
        corrupt[at] ^= flip
        Path(directory, name).write_bytes(corrupt)
        with pytest.raises(DamagedShard) as error:
            store.read(name)
        assert str(error.value) == f"shard {name} is damaged: its bytes are not those that its name promises"


def test_a_foreign_parquet_file_is_refused() -> None:
    rows = pq.read_table(pa.BufferReader(SHARD))
    check_refused(parquet(rows, {}), DamagedShard, "is not a shard of ellzero: its footer has no metadata of ellzero")
    check_refused(
        parquet(rows, {b"other": b"{}"}),
        DamagedShard,
        "is not a shard of ellzero: its footer has no metadata of ellzero",
    )
    for text in (b"{", b"[]", b"7", b"{}", b'{"format": null}', b'{"format": "new"}', b"\xff"):
        check_refused(
            parquet(rows, {b"ellzero": text}), DamagedShard, "is not a shard of ellzero: its metadata cannot be read"
        )


def test_a_newer_format_asks_for_an_upgrade() -> None:
    newer = with_footer(SHARD, lambda metadata: metadata.update(format=3))
    check_refused(newer, NewerFormat, "has format 3, and this ellzero reads up to 2: upgrade ellzero")


@pytest.mark.parametrize(
    "change",
    [
        lambda metadata: metadata.update(digits=19),
        lambda metadata: metadata.update(digits="20"),
        lambda metadata: metadata.pop("digits"),
        lambda metadata: metadata["conventions"].update(alpha="probability of resampling"),
        lambda metadata: metadata["conventions"].update(more="and more"),
        lambda metadata: metadata.pop("conventions"),
    ],
)
def test_other_digits_or_conventions_are_refused(change: Callable[[dict[str, Any]], object]) -> None:
    check_refused(with_footer(SHARD, change), DamagedShard, "follows other conventions or digits than format 1 does")


def test_another_kind_of_rows_is_refused() -> None:
    other = with_footer(SHARD, lambda metadata: metadata.update(kind="paper thresholds"))
    check_refused(other, DamagedShard, "holds paper thresholds, not thresholds")


def column_update(at: int, **changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda metadata: metadata["columns"][at].update(changes)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (column_update(0, k=2), "does not hold the k that its footer lists"),
        (column_update(0, alpha="3/10"), "does not hold the alpha_num that its footer lists"),
        (column_update(0, alpha="1/11"), "does not hold the alpha_den that its footer lists"),
        (column_update(3, first=6, last=18), "does not hold the r that its footer lists"),
        (column_update(0, last=13), "does not hold the rows that its footer lists"),
        (column_update(0, last=11), "does not hold the rows that its footer lists"),
        (column_update(0, last=10**9), "does not hold the rows that its footer lists"),
        (lambda metadata: metadata["columns"].pop(), "does not hold the rows that its footer lists"),
        (column_update(0, end="finished"), "has a footer that lists no columns"),
        (column_update(0, alpha="11/10"), "has a footer that lists no columns"),
        (column_update(0, k=0), "has a footer that lists no columns"),
        (column_update(0, first=None), "has a footer that lists no columns"),
        (lambda metadata: metadata["columns"][0].pop("k"), "has a footer that lists no columns"),
        (lambda metadata: metadata.pop("columns"), "has a footer that lists no columns"),
        (lambda metadata: metadata.update(columns=7), "has a footer that lists no columns"),
    ],
)
def test_a_footer_that_lists_anything_else_is_refused(change: Callable[[dict[str, Any]], object], text: str) -> None:
    check_refused(with_footer(SHARD, change), DamagedShard, text)


@pytest.mark.parametrize(
    "change",
    [
        column_update(0, last=10**30),
        lambda metadata: metadata.update(columns=[]),
        lambda metadata: metadata.update(format=inf),
        lambda metadata: metadata.update(format=nan),
        lambda metadata: metadata.update(format=-1),
    ],
)
def test_absurd_footers_are_refused_too(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(DamagedShard):
        shard.decode("x", with_footer(SHARD, change))


def test_a_shard_without_rows_is_refused_or_has_no_parts() -> None:
    metadata = with_footer(SHARD, lambda metadata: metadata.update(columns=[]))
    metadata = pq.read_metadata(pa.BufferReader(metadata)).metadata
    with suppress(DamagedShard):
        assert shard.decode("x", parquet(LAYOUTS[1].schema.empty_table(), {b"ellzero": metadata[b"ellzero"]})) == []


@pytest.mark.parametrize("end", ["complete", "flat"])
def test_a_footer_cannot_give_a_column_a_wrong_end(end: str) -> None:
    """A lookup would give d to every p above the last row: a wrong certificate."""
    with pytest.raises(DamagedShard):
        shard.decode("x", with_footer(SHARD, column_update(0, end=end)))


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.drop_columns("min_p"),
        lambda rows: rows.append_column("more", rows["r"]),
        lambda rows: rows.select([1, 0, 2, 3, 4, 5, 6]),
        lambda rows: rows.rename_columns(["K", *rows.column_names[1:]]),
        lambda rows: rows.cast(rows.schema.set(0, pa.field("k", pa.int64(), nullable=False))),
        lambda rows: rows.cast(rows.schema.set(4, pa.field("threshold", pa.decimal128(38, 21), nullable=False))),
        lambda rows: rows.cast(rows.schema.set(4, pa.field("threshold", pa.float64(), nullable=False))),
        lambda rows: rows.cast(rows.schema.set(6, pa.field("min_p", pa.float64(), nullable=True))),
    ],
)
def test_other_columns_or_types_are_refused(change: Callable[[pa.Table], pa.Table]) -> None:
    metadata = pq.read_metadata(pa.BufferReader(SHARD)).metadata
    rows = change(pq.read_table(pa.BufferReader(SHARD)).replace_schema_metadata(None))
    check_refused(
        parquet(rows, {b"ellzero": metadata[b"ellzero"]}),
        DamagedShard,
        "has other columns or types than its format",
    )


def test_files_that_format_1_wrote_open() -> None:
    table = Table.open(str(FORMAT_1))
    assert [shard.read_metadata(name, table.store.read(name))["format"] for name in table.store.names()] == [1, 1, 1]
    assert [list_rows(run) for runs in table.columns().values() for run in runs] == [
        list_rows(exact_slice(Discrete(1, "4/5"))),
        list_rows(exact_slice(Discrete(3, "1/4"))),
        list_rows(exact_slice(Discrete(255, "1/10"), 59)),
    ]


def test_shards_of_the_discrete_noise_are_still_as_format_1_has_them() -> None:
    """So tables that exist need not be written anew, and older versions of ellzero read new ones."""
    store = Store(str(FORMAT_1))
    for name in store.names():
        written = store.read(name)
        anew = shard.encode(shard.decode(name, written))
        before, now = shard.read_metadata(name, written), shard.read_metadata(name, anew)
        assert now == before | {"version": version("ellzero")}
        assert pq.read_table(pa.BufferReader(anew)) == pq.read_table(pa.BufferReader(written))
