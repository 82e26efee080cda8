"""Shards of thresholds: sorted rows of slices of columns as one Parquet file, and back with every check."""

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
from ellzero.tables.format.rows import DIGITS, ColumnSlice, End, Rows, end_of, merge_slices

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


def encode(slices: Sequence[ColumnSlice]) -> bytes:
    """The Parquet file of these slices, a function of their rows alone: each is there once, in order."""
    by_noise: dict[Noise, list[ColumnSlice]] = defaultdict(list)
    for piece in slices:
        by_noise[piece.noise].append(piece)
    slices = sorted((run for runs in by_noise.values() for run in merge_slices(runs)), key=order)
    if any(piece.stop - 1 > _LARGEST_RADIUS for piece in slices):
        raise InvalidInput(
            "r", f"at most {_LARGEST_RADIUS}, the largest int32", max(piece.stop - 1 for piece in slices)
        )
    return parquet(arrow(slices), shard_metadata.encode(KIND, {"columns": [_described(piece) for piece in slices]}))


def arrow(slices: Sequence[ColumnSlice]) -> pa.Table:
    """The rows of these slices as Arrow has them, in the order given."""
    rows = [np.concatenate(arrays) for arrays in zip(*(piece.rows for piece in slices), strict=True)]
    units, exact, min_p = rows
    arrays = [
        *(pa.array(key, field.type) for key, field in zip(_keys(slices), SCHEMA, strict=False)),
        pa.Array.from_buffers(SCHEMA.field("threshold").type, len(units), [None, pa.py_buffer(units.tobytes())]),
        pa.array(exact),
        pa.array(min_p),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def decode(name: str, data: bytes) -> list[ColumnSlice]:
    """The slices in a shard's bytes. Rows whose keys are not those that the footer announces are refused."""
    slices = describe_slices(name, data)
    table = read(name, data, SCHEMA)
    if sum(len(radii) for _, radii, _ in slices) != table.num_rows:
        raise DamagedShard(name, "does not hold the rows that its footer announces")
    units = np.frombuffer(table["threshold"].combine_chunks().buffers()[1], dtype="<u8").reshape(-1, 2)
    rows = Rows(units[: table.num_rows], table["exact"].to_numpy(), table["min_p"].to_numpy())
    cuts = [0, *np.cumsum([len(radii) for _, radii, _ in slices]).tolist()]
    found = [
        ColumnSlice(noise, radii.start, rows.between(start, stop), end)
        for (noise, radii, end), (start, stop) in zip(slices, pairwise(cuts), strict=True)
    ]
    for piece in found:
        if piece.end is not end_of(piece.noise, piece.rows.scaled_ceiling(len(piece.rows) - 1)):
            raise DamagedShard(
                name, f"announces that K = {piece.noise.k}, α = {piece.noise.alpha} is {piece.end}; it is not"
            )
    for field, expected in zip(SCHEMA, _keys(found), strict=False):
        if not np.array_equal(table[field.name].to_numpy(), expected):
            raise DamagedShard(name, f"does not hold the {field.name} that its footer announces")
    return found


def describe_slices(name: str, data: bytes) -> list[tuple[Noise, range, End]]:
    """What the footer announces: the noise, the radii and the end of each slice. Reads no rows."""
    stated = read_metadata(name, data, KIND)
    try:
        columns = [
            (Noise(piece["k"], piece["alpha"]), _radii(piece["first"], piece["last"]), End(piece["end"]))
            for piece in stated["columns"]
        ]
    except (EllzeroError, KeyError, TypeError, ValueError):
        columns = []
    if not columns:
        raise DamagedShard(name, "has a footer that announces no columns")
    return columns


def read_metadata(name: str, data: bytes, kind: str | None = None) -> dict[str, Any]:
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


def order(piece: ColumnSlice) -> tuple[int, Any, int]:
    """Rows are sorted by K, the value of α, and r."""
    return piece.noise.k, piece.noise.alpha, piece.first


def _radii(first: object, last: object) -> range:
    low = read_integer(first, "first", 0, _LARGEST_RADIUS)
    return range(low, read_integer(last, "last", low, _LARGEST_RADIUS) + 1)


def _described(piece: ColumnSlice) -> dict[str, Any]:
    return {
        "k": piece.noise.k,
        "alpha": str(piece.noise.alpha),
        "first": piece.first,
        "last": piece.stop - 1,
        "end": end_of(piece.noise, piece.rows.scaled_ceiling(len(piece.rows) - 1)).value,
    }


def _keys(slices: Sequence[ColumnSlice]) -> list[np.ndarray[Any, Any]]:
    """The columns k, alpha_num, alpha_den and r of these slices."""
    counts = [len(piece.rows) for piece in slices]
    alphas = [piece.noise.alpha for piece in slices]
    return [
        np.repeat(np.array([piece.noise.k for piece in slices], dtype=np.int32), counts),
        np.repeat(np.array([alpha.numerator for alpha in alphas], dtype=np.int64), counts),
        np.repeat(np.array([alpha.denominator for alpha in alphas], dtype=np.int64), counts),
        np.concatenate([np.arange(piece.first, piece.stop, dtype=np.int32) for piece in slices]),
    ]
