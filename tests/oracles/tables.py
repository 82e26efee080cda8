"""Rows of tables made by hand from exact thresholds, and radii from comparing with each of them."""

import json
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import inf, nextafter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from oracles.noises import largest_inverse

from ellzero.certificates import Column, Discrete, Family, Threshold, column, single_threshold
from ellzero.certificates.families.base import Counts
from ellzero.certificates.rounding import Ceiling, Row
from ellzero.tables import ColumnSlice, End, Table
from ellzero.tables.format.keys import BudgetColumn, ColumnKey
from ellzero.tables.format.rows import Rows, slice_of

UNIT = 10**20


def rows_from(units: Iterable[int], exact: Iterable[bool], min_p: Iterable[float]) -> Rows:
    """Any rows, right or wrong."""
    words = [(unit % 2**64, unit // 2**64) for unit in units]
    return Rows(np.array(words, np.uint64).reshape(-1, 2), np.array([*exact], np.bool_), np.array([*min_p], np.float64))


def slice_of_column(source: Column) -> ColumnSlice:
    """A column of the engine as a table stores it."""
    end = End.COMPLETE if source.saturated else End.FLAT if source.noise.is_flat else End.CUT
    rows = source.rows
    units = [int(Fraction(row.value) * UNIT) for row in rows]
    return ColumnSlice(source.noise, 0, rows_from(units, [row.exact for row in rows], [row.min_p for row in rows]), end)


def exact_slice(noise: Discrete, r_max: int | None = None) -> ColumnSlice:
    """The rows 0..r_max of a noise, or all that there are."""
    return slice_of_column(column(noise, r_max))


def list_budgets(piece: ColumnSlice) -> tuple[ColumnKey, End, int, list[Row]]:
    """Everything in a slice of any column, in a form that can be compared."""
    return piece.key, piece.end, piece.first, [piece.row(count) for count in range(piece.first, piece.stop)]


def cut(piece: ColumnSlice, first: int, stop: int) -> ColumnSlice:
    """The rows first..stop−1."""
    rows = piece.rows.between(first - piece.first, stop - piece.first)
    return ColumnSlice(piece.key, first, rows, piece.end if stop == piece.stop else End.CUT)


def alter_row(
    piece: ColumnSlice, r: int, units: int = 0, exact: bool = False, ulps: int = 0, end: End | None = None
) -> ColumnSlice:
    """A slice with one wrong row: off by so many units and doubles, and with the other flag if ``exact``."""
    at = r - piece.first
    all_units = [piece.rows.scaled_ceiling(index) for index in range(len(piece.rows))]
    all_units[at] += units
    flags, doubles = piece.rows.exact.copy(), piece.rows.min_p.copy()
    flags[at] ^= exact
    doubles[at] += ulps * 2.0**-53
    return ColumnSlice(piece.key, piece.first, rows_from(all_units, flags, doubles), end or piece.end)


def list_rows(piece: ColumnSlice) -> tuple[Discrete, End, list[Threshold]]:
    """Everything in a slice, in a form that can be compared."""
    return piece.noise, piece.end, [piece.threshold(r) for r in range(piece.first, piece.stop)]


def contents(table: Table) -> dict[ColumnKey, list[tuple[Discrete, End, list[Threshold]]]]:
    """Everything in a table of the discrete noise."""
    return {key: [list_rows(run) for run in runs] for key, runs in table.columns().items()}


def literal_radius(noise: Discrete, p: Fraction, d: int) -> int | None:
    """The largest r ≤ d with p > τ_r, each τ_r an exact fraction."""
    certified = None
    for r in range(d + 1):
        if p <= single_threshold.threshold(noise, r):
            break
        certified = r
    return certified


def with_footer(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same Parquet file with another ``ellzero`` entry in its footer, written by pyarrow alone."""
    table = pq.read_table(pa.BufferReader(data))
    metadata = json.loads(pq.read_metadata(pa.BufferReader(data)).metadata[b"ellzero"])
    change(metadata)
    return parquet(table, {b"ellzero": json.dumps(metadata).encode()})


def parquet(table: pa.Table, metadata: dict[bytes, bytes]) -> bytes:
    """Any Parquet file."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    return bytes(sink.getvalue())


def files(directory: Path) -> dict[str, bytes]:
    """Every file below a directory with its bytes, to see that nothing was written."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def row_from(tau: Fraction) -> Row:
    """The row of a threshold, rounded one unit and one double at a time."""
    units = next(unit for unit in range(int(tau * UNIT), UNIT + 1) if Fraction(unit, UNIT) >= tau)
    double = nextafter(float(tau), 0)
    while double <= tau and tau < 1:  # comparing a float with a Fraction is exact
        double = nextafter(double, 2)
    return Row(Ceiling(units, Fraction(units, UNIT) == tau), double if tau < 1 else inf)


def literal_row(family: Family, counts: Sequence[int], q: Fraction) -> Row:
    """The row of a budget, from every outcome of the noise."""
    return row_from(largest_inverse(family, counts, q))


def literal_slice(family: Family, q: Fraction, fixed: Counts, last: int) -> ColumnSlice:
    """The rows 0..last of a column of budgets, or up to the first that rounds up to 1, from every outcome."""
    key = BudgetColumn(family, q, fixed)
    rows = []
    for count in range((0 if key.is_flat else last) + 1):
        rows.append(literal_row(family, (*fixed, count), q))
        if rows[-1].ceiling.units == UNIT:
            break
    arrays = rows_from(*zip(*((row.ceiling.units, row.ceiling.exact, row.min_p) for row in rows), strict=True))
    return slice_of(key, 0, arrays)
