"""Rows of the paper's algorithm are kept with their d and a bound that is never smaller than it was."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from oracles.tables import with_footer

from ellzero.certificates import Discrete, PaperThreshold, paper_threshold
from ellzero.tables import DamagedShard, NewerFormat, NotATable, PaperTable, lee2019_table

BYTES, BITS = Discrete(255, "1/10"), Discrete(1, "4/5")
ROWS = [paper_threshold(noise, d, r) for noise in (BYTES, BITS) for d in (12, 7) for r in (5, 1)]


def order(row: PaperThreshold) -> tuple[int, object, int, int]:
    return row.noise.k, row.noise.alpha, row.d, row.r


def test_rows_come_back_in_order_and_once(tmp_path: Path) -> None:
    table = PaperTable.create(str(tmp_path))
    table.append(ROWS[:5])
    table.append(ROWS[3:])
    result = PaperTable.open(str(tmp_path)).rows()
    assert [order(row) for row in result] == sorted(order(row) for row in ROWS)
    for row, right in zip(result, sorted(ROWS, key=order), strict=True):
        assert row.value == right.value
        assert 0 <= row.error_bound - right.error_bound <= Decimal(10) ** -37


def test_an_error_bound_is_never_rounded_down() -> None:
    bound = Decimal("1.00000000000000000000000000000000000000000001E-20")
    (row,) = lee2019_table.decode("x", lee2019_table.encode([ROWS[0]._replace(error_bound=bound)]))
    assert row.error_bound >= bound


def test_the_same_rows_in_any_order_are_the_same_bytes() -> None:
    assert lee2019_table.encode(ROWS) == lee2019_table.encode(ROWS[::-1])


def test_the_schema_is_exactly_the_promised_one() -> None:
    schema = pq.read_schema(pa.BufferReader(lee2019_table.encode(ROWS)))
    assert [(field.name, str(field.type)) for field in schema] == [
        ("method", "string"),
        ("d", "int32"),
        ("k", "int32"),
        ("alpha_num", "int64"),
        ("alpha_den", "int64"),
        ("r", "int32"),
        ("threshold", "decimal128(38, 20)"),
        ("error_bound", "decimal128(38, 37)"),
    ]
    assert not any(field.nullable for field in schema)


def test_opening_a_place_without_a_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotATable, match="holds no table$"):
        PaperTable.open(str(tmp_path))
    assert PaperTable.create(str(tmp_path)).rows() == []


def test_other_shards_are_refused() -> None:
    data = lee2019_table.encode(ROWS)
    with pytest.raises(NewerFormat):
        list(lee2019_table.decode("x", with_footer(data, lambda metadata: metadata.update(format=2))))
    with pytest.raises(DamagedShard, match="holds thresholds, not paper thresholds$"):
        list(lee2019_table.decode("x", with_footer(data, lambda metadata: metadata.update(kind="thresholds"))))
    with pytest.raises(DamagedShard, match="is not a Parquet file$"):
        list(lee2019_table.decode("x", data[:-5]))
