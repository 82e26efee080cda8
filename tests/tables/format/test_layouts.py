"""Shards of budgets hold exactly their rows, whatever the family, and are refused if anything does not fit."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from oracles.families import columns
from oracles.tables import cut, exact_slice, list_budgets, literal_slice, with_footer

from ellzero.certificates import Discrete, Joint, Sparse
from ellzero.certificates.families.base import Counts
from ellzero.tables import ColumnSlice, DamagedShard, Table, compact
from ellzero.tables.format import shard
from ellzero.tables.format.keys import order_of, write_family

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
GRAPH = Sparse("0.01", "0.6")
BOTH = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.1", "0.2"))
SLICES = [
    literal_slice(GRAPH, HALF, (0,), 4),
    literal_slice(GRAPH, HALF, (2,), 2),
    literal_slice(GRAPH, THIRD, (1,), 2),
    literal_slice(BOTH, HALF, (0, 1, 0), 1),
    literal_slice(Discrete(1, "4/5"), THIRD, (), 3),
]
SHARD = shard.encode(SLICES)


@settings(max_examples=40, deadline=None)
@given(st.lists(columns(), min_size=1, max_size=3, unique_by=lambda column: column[:3]), st.data())
def test_any_columns_are_decoded_unchanged(drawn: list[tuple[Any, Fraction, Counts, int]], data: st.DataObject) -> None:
    slices = []
    for column in drawn:
        whole = literal_slice(*column)
        first = data.draw(st.integers(0, whole.stop - 1))
        slices.append(cut(whole, first, data.draw(st.integers(first + 1, whole.stop))))
    encoded = shard.encode(slices)
    assert [list_budgets(piece) for piece in shard.decode("x", encoded)] == [
        list_budgets(piece) for piece in sorted(slices, key=lambda piece: order_of(piece.key))
    ]
    assert shard.encode(data.draw(st.permutations(slices))) == encoded


def rows_of(slices: list[ColumnSlice]) -> list[tuple[str, str, list[int], str, bool, float]]:
    return [
        (
            write_family(piece.key.family),  # type: ignore[union-attr]
            str(piece.key.q),  # type: ignore[union-attr]
            [*piece.key.fixed, count],  # type: ignore[union-attr]
            f"{piece.row(count).ceiling.units / 10**20:.6f}",
            piece.row(count).ceiling.exact,
            piece.row(count).min_p,
        )
        for piece in slices
        for count in range(piece.first, piece.stop)
    ]


def test_duckdb_and_polars_read_the_same_rows(tmp_path: Path) -> None:
    """Every row is there under its family, q and budget, in their order."""
    file = tmp_path / "shard.parquet"
    file.write_bytes(SHARD)
    expected = rows_of(sorted(SLICES, key=lambda piece: order_of(piece.key)))
    for read in (
        duckdb.connect().execute(f"SELECT * FROM '{file}'").fetchall(),
        polars.read_parquet(file).rows(),
        [tuple(row.values()) for row in pq.read_table(file).to_pylist()],
    ):
        assert [(*row[:3], f"{row[3]:.6f}", *row[4:]) for row in read] == expected


def test_the_schema_is_exactly_the_promised_one() -> None:
    schema = pq.read_schema(pa.BufferReader(SHARD))
    assert [(field.name, str(field.type), field.nullable) for field in schema] == [
        ("family", "string", False),
        ("q", "string", False),
        ("budget", "list<element: int32 not null>", False),
        ("threshold", "decimal128(38, 20)", False),
        ("exact", "bool", False),
        ("min_p", "double", False),
    ]


def test_the_footer_lists_each_family_once() -> None:
    metadata = json.loads(pq.read_metadata(pa.BufferReader(SHARD)).metadata[b"ellzero"])
    assert (metadata["format"], metadata["kind"], metadata["digits"]) == (2, "thresholds", 20)
    assert metadata["columns"] == [
        {
            "family": {"family": "discrete", "k": 1, "alpha": "4/5"},
            "q": "1/3",
            "slices": [{"fixed": [], "first": 0, "last": 3, "end": "cut"}],
        },
        {
            "family": {
                "family": "joint",
                "members": {
                    "edges": {"family": "sparse", "p_add": "1/100", "p_del": "3/5"},
                    "attributes": {"family": "sparse", "p_add": "1/10", "p_del": "1/5"},
                },
            },
            "q": "1/2",
            "slices": [{"fixed": [0, 1, 0], "first": 0, "last": 1, "end": "cut"}],
        },
        {
            "family": {"family": "sparse", "p_add": "1/100", "p_del": "3/5"},
            "q": "1/3",
            "slices": [{"fixed": [1], "first": 0, "last": 2, "end": "cut"}],
        },
        {
            "family": {"family": "sparse", "p_add": "1/100", "p_del": "3/5"},
            "q": "1/2",
            "slices": [
                {"fixed": [0], "first": 0, "last": 4, "end": "cut"},
                {"fixed": [2], "first": 0, "last": 2, "end": "cut"},
            ],
        },
    ]


def entry_update(at: int, **changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda metadata: metadata["columns"][at].update(changes)


def slice_update(at: int, **changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda metadata: metadata["columns"][at]["slices"][0].update(changes)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (entry_update(2, family={"family": "sparse", "p_add": "1/9", "p_del": "3/5"}), "does not hold the family"),
        (entry_update(2, q="1/4"), "does not hold the q"),
        (slice_update(2, fixed=[2]), "does not hold the budget"),
        (slice_update(2, first=1, last=3), "does not hold the budget"),
        (slice_update(2, last=3), "does not hold the rows"),
        (slice_update(2, end="complete"), "is complete; it is not"),
        (slice_update(2, end="flat"), "is flat; it is not"),
        (slice_update(2, fixed=[]), "has a footer that lists no columns"),
        (slice_update(2, fixed=[-1]), "has a footer that lists no columns"),
        (slice_update(2, fixed=7), "has a footer that lists no columns"),
        (slice_update(2, end="finished"), "has a footer that lists no columns"),
        (entry_update(0, q="1/2"), "has a footer that lists no columns"),
        (entry_update(0, q="1"), "has a footer that lists no columns"),
        (entry_update(2, family={"family": "dense"}), "has a footer that lists no columns"),
        (entry_update(2, slices=None), "has a footer that lists no columns"),
        (lambda metadata: metadata.update(format=1), "has a footer that lists no columns"),
    ],
)
def test_a_footer_that_lists_anything_else_is_refused(change: Callable[[dict[str, Any]], object], text: str) -> None:
    with pytest.raises(DamagedShard, match=text):
        shard.decode("x", with_footer(SHARD, change))


def test_one_table_holds_both_layouts_and_compacts_to_the_same_bytes(tmp_path: Path) -> None:
    bits = exact_slice(Discrete(1, "4/5"), 30)
    one, other = Table.create(str(tmp_path / "one")), Table.create(str(tmp_path / "other"))
    one.append([*SLICES, bits])
    for piece in [*reversed(SLICES), cut(bits, 10, 31), cut(bits, 0, 12)]:
        other.append([cut(piece, max(piece.first, piece.stop - 2), piece.stop)])
        other.append([piece])
    assert [compact(table).shards_after for table in (one, other)] == [2, 2]
    digests = [sorted(name[:64] for name in table.store.names()) for table in (one, other)]
    assert digests[0] == digests[1]
    assert compact(other).shards_before == 2
    assert next(key for key, _ in other.iter_columns(other.store.names())) == Discrete(1, "4/5")
    query = f"SELECT k, q, budget FROM read_parquet('{tmp_path}/one/*.parquet', union_by_name = true)"
    rows = duckdb.connect().execute(query).fetchall()
    assert len(rows) == sum(len(piece.rows) for piece in [*SLICES, bits])
    assert (1, None, None) in rows
    assert (None, "1/2", [2, 2]) in rows
    assert {key: [list_budgets(run) for run in runs] for key, runs in other.columns().items()} == {
        piece.key: [list_budgets(piece)] for piece in [*SLICES, bits]
    }
