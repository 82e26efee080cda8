"""Shards of thresholds: sorted rows of parts of columns as one Parquet file, and back with every check."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ellzero.certificates import Noise
from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.tables.errors import DamagedShard
from ellzero.tables.format import shard_metadata
from ellzero.tables.format.rows import DIGITS, ColumnSlice, End, Rows, end_of, merged

KIND = "thresholds"
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("alpha_num", pa.int64(), nullable=False),
        pa.field("alpha_den", pa.int64(), nullable=False),
        pa.field("r", pa.int32(), nullable=False),
        pa.field("threshold", pa.decimal128(38, DIGITS), nullable=False),
        pa.field("exact", pa.bool_(), nullable=False),
        pa.field("min_p", pa.float64(), nullable=False),
    ]
)
# A row takes 45 bytes while a shard is made: this keeps a worker's memory small and a shard at about 3 MB.
MOST_ROWS = 262_144
_LARGEST_RADIUS = 2**31 - 1


def encode(parts: Sequence[ColumnSlice]) -> bytes:
    """The Parquet file of these parts, a function of their rows alone: each is there once, in order."""
    by_noise: dict[Noise, list[ColumnSlice]] = defaultdict(list)
    for part in parts:
        by_noise[part.noise].append(part)
    parts = sorted((run for runs in by_noise.values() for run in merged(runs)), key=order)
    if any(part.stop - 1 > _LARGEST_RADIUS for part in parts):
        raise InvalidInput("r", f"at most {_LARGEST_RADIUS}, the largest int32", max(part.stop - 1 for part in parts))
    return parquet(arrow(parts), shard_metadata.encode(KIND, {"columns": [_described(part) for part in parts]}))


def arrow(parts: Sequence[ColumnSlice]) -> pa.Table:
    """The rows of these parts as Arrow has them, in the order given."""
    rows = [np.concatenate(arrays) for arrays in zip(*(part.rows for part in parts), strict=True)]
    units, exact, min_p = rows
    arrays = [
        *(pa.array(key, field.type) for key, field in zip(_keys(parts), SCHEMA, strict=False)),
        pa.Array.from_buffers(SCHEMA.field("threshold").type, len(units), [None, pa.py_buffer(units.tobytes())]),
        pa.array(exact),
        pa.array(min_p),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def decode(name: str, data: bytes) -> list[ColumnSlice]:
    """The parts in a shard's bytes. Rows whose keys are not those that the footer announces are refused."""
    parts = described(name, data)
    table = read(name, data, SCHEMA)
    if sum(len(radii) for _, radii, _ in parts) != table.num_rows:
        raise DamagedShard(name, "does not hold the rows that its footer announces")
    units = np.frombuffer(table["threshold"].combine_chunks().buffers()[1], dtype="<u8").reshape(-1, 2)
    rows = Rows(units[: table.num_rows], table["exact"].to_numpy(), table["min_p"].to_numpy())
    cuts = [0, *np.cumsum([len(radii) for _, radii, _ in parts]).tolist()]
    found = [
        ColumnSlice(noise, radii.start, rows.between(start, stop), end)
        for (noise, radii, end), (start, stop) in zip(parts, pairwise(cuts), strict=True)
    ]
    for part in found:
        if part.end is not end_of(part.noise, part.rows.unit(len(part.rows) - 1)):
            raise DamagedShard(
                name, f"announces that K = {part.noise.k}, α = {part.noise.alpha} is {part.end}; it is not"
            )
    for field, expected in zip(SCHEMA, _keys(found), strict=False):
        if not np.array_equal(table[field.name].to_numpy(), expected):
            raise DamagedShard(name, f"does not hold the {field.name} that its footer announces")
    return found


def described(name: str, data: bytes) -> list[tuple[Noise, range, End]]:
    """What the footer announces: the noise, the radii and the end of each part. Reads no rows."""
    stated = stated_by(name, data, KIND)
    try:
        columns = [
            (Noise(part["k"], part["alpha"]), _radii(part["first"], part["last"]), End(part["end"]))
            for part in stated["columns"]
        ]
    except (EllzeroError, KeyError, TypeError, ValueError):
        columns = []
    if not columns:
        raise DamagedShard(name, "has a footer that announces no columns")
    return columns


def stated_by(name: str, data: bytes, kind: str | None = None) -> dict[str, Any]:
    """The footer of a shard, of this kind if one is given."""
    try:
        metadata = pq.read_metadata(pa.BufferReader(data)).metadata
    except (pa.ArrowException, OSError):
        raise DamagedShard(name, "is not a Parquet file") from None
    stated = shard_metadata.decode(name, metadata)
    if kind is not None and stated["kind"] != kind:
        raise DamagedShard(name, f"holds {stated['kind']}, not {kind}")
    return stated


def read(name: str, data: bytes, schema: pa.Schema) -> pa.Table:
    """All columns of a Parquet file, which must have exactly this schema."""
    try:
        # read_table would do, but brings Arrow's query engine along: 30 MB for a service that reads its table once.
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    except (pa.ArrowException, OSError):
        raise DamagedShard(name, "cannot be read as Parquet") from None
    if not table.schema.equals(schema, check_metadata=False):
        raise DamagedShard(name, "has other columns or types than its format says")
    return table


def parquet(table: pa.Table, metadata: dict[bytes, bytes]) -> bytes:
    """A table as Parquet, by encodings that every reader knows, with this metadata in its shard_metadata."""
    sink = pa.BufferOutputStream()
    # Without Arrow's own copy of the schema, which would hold the metadata a second time.
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        compression_level=9,
        use_dictionary=["k", "alpha_num", "alpha_den"],
        store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=MOST_ROWS)
        writer.add_key_value_metadata(metadata)
    return bytes(sink.getvalue())


def order(part: ColumnSlice) -> tuple[int, Any, int]:
    """Rows are sorted by K, the value of α, and r."""
    return part.noise.k, part.noise.alpha, part.first


def _radii(first: object, last: object) -> range:
    low = read_integer(first, "first", 0, _LARGEST_RADIUS)
    return range(low, read_integer(last, "last", low, _LARGEST_RADIUS) + 1)


def _described(part: ColumnSlice) -> dict[str, Any]:
    return {
        "k": part.noise.k,
        "alpha": str(part.noise.alpha),
        "first": part.first,
        "last": part.stop - 1,
        "end": end_of(part.noise, part.rows.unit(len(part.rows) - 1)).value,
    }


def _keys(parts: Sequence[ColumnSlice]) -> list[np.ndarray[Any, Any]]:
    """The columns k, alpha_num, alpha_den and r of these parts."""
    counts = [len(part.rows) for part in parts]
    alphas = [part.noise.alpha for part in parts]
    return [
        np.repeat(np.array([part.noise.k for part in parts], dtype=np.int32), counts),
        np.repeat(np.array([alpha.numerator for alpha in alphas], dtype=np.int64), counts),
        np.repeat(np.array([alpha.denominator for alpha in alphas], dtype=np.int64), counts),
        np.concatenate([np.arange(part.first, part.stop, dtype=np.int32) for part in parts]),
    ]
