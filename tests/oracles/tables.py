"""Rows of tables made by hand from exact thresholds, and radii found by comparing with each of them."""

import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ellzero.certificates import Column, Noise, Threshold, column, single_threshold
from ellzero.tables import ColumnSlice, End, Table
from ellzero.tables.format.rows import Rows

UNIT = 10**20


def rows_from(units: Iterable[int], exact: Iterable[bool], min_p: Iterable[float]) -> Rows:
    """Any rows, right or wrong."""
    words = [(unit % 2**64, unit // 2**64) for unit in units]
    return Rows(np.array(words, np.uint64).reshape(-1, 2), np.array([*exact], np.bool_), np.array([*min_p], np.float64))


def part_of(found: Column) -> ColumnSlice:
    """A column of the engine as a table keeps it."""
    end = End.COMPLETE if found.saturated else End.FLAT if found.noise.is_flat else End.CUT
    rows = found.rows
    units = [int(Fraction(row.value) * UNIT) for row in rows]
    return ColumnSlice(found.noise, 0, rows_from(units, [row.exact for row in rows], [row.min_p for row in rows]), end)


def exact_part(noise: Noise, r_max: int | None = None) -> ColumnSlice:
    """The rows 0..r_max of a noise, or all that there are."""
    return part_of(column(noise, r_max))


def cut(part: ColumnSlice, first: int, stop: int) -> ColumnSlice:
    """The rows first..stop−1."""
    rows = part.rows.between(first - part.first, stop - part.first)
    return ColumnSlice(part.noise, first, rows, part.end if stop == part.stop else End.CUT)


def altered(
    part: ColumnSlice, r: int, units: int = 0, exact: bool = False, ulps: int = 0, end: End | None = None
) -> ColumnSlice:
    """A part with one wrong row: so many units and doubles away, and with the other flag if ``exact``."""
    at = r - part.first
    all_units = [part.rows.scaled_ceiling(index) for index in range(len(part.rows))]
    all_units[at] += units
    flags, doubles = part.rows.exact.copy(), part.rows.min_p.copy()
    flags[at] ^= exact
    doubles[at] += ulps * 2.0**-53
    return ColumnSlice(part.noise, part.first, rows_from(all_units, flags, doubles), end or part.end)


def listed(part: ColumnSlice) -> tuple[Noise, End, list[Threshold]]:
    """Everything a part says, in a form that compares."""
    return part.noise, part.end, [part.threshold(r) for r in range(part.first, part.stop)]


def contents(table: Table) -> dict[Noise, list[tuple[Noise, End, list[Threshold]]]]:
    """All that a table says."""
    return {noise: [listed(run) for run in runs] for noise, runs in table.columns().items()}


def literal_radius(noise: Noise, p: Fraction, d: int) -> int | None:
    """The largest r ≤ d with p > τ_r, each τ_r taken as the exact fraction that it is."""
    certified = None
    for r in range(d + 1):
        if p <= single_threshold.threshold(noise, r):
            break
        certified = r
    return certified


def with_footer(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """The same Parquet file with another ``ellzero`` entry in its footer, written by pyarrow alone."""
    table = pq.read_table(pa.BufferReader(data))
    stated = json.loads(pq.read_metadata(pa.BufferReader(data)).metadata[b"ellzero"])
    change(stated)
    return parquet(table, {b"ellzero": json.dumps(stated).encode()})


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
