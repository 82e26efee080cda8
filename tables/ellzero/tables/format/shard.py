"""Shards of thresholds: sorted rows in one Parquet file with metadata in its footer; written, and read with checks."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ellzero.certificates import Discrete
from ellzero.core.conventions import CONVENTIONS_DICT
from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.tables.errors import DamagedShard, NewerFormat
from ellzero.tables.format.rows import DIGITS, ColumnSlice, End, Rows, end_of, group_by_noise, merge_slices

FORMAT = 1
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
# A row takes 45 bytes while a shard is written: this keeps a worker's memory small and a shard at about 3 MB.
MOST_ROWS = 262_144
_LARGEST_RADIUS = 2**31 - 1
_METADATA_KEY = b"ellzero"


def encode(slices: Sequence[ColumnSlice]) -> bytes:
    """The Parquet file of these slices. Its bytes depend on the rows alone: each is there once, in order."""
    slices = sorted((run for group in group_by_noise(slices).values() for run in merge_slices(group)), key=sort_key)
    if any(piece.stop - 1 > _LARGEST_RADIUS for piece in slices):
        raise InvalidInput(
            "r", f"at most {_LARGEST_RADIUS}, the largest int32", max(piece.stop - 1 for piece in slices)
        )
    return write_parquet(to_arrow(slices), KIND, {"columns": [_describe(piece) for piece in slices]})


def to_arrow(slices: Sequence[ColumnSlice]) -> pa.Table:
    """The rows of these slices as an Arrow table, in the given order."""
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
    """The slices in a shard's bytes. Raises `DamagedShard` unless the rows have the keys that the footer lists."""
    slices = describe_slices(name, data)
    table = read_parquet(name, data, SCHEMA)
    if sum(len(radii) for _, radii, _ in slices) != table.num_rows:
        raise DamagedShard(name, "does not hold the rows that its footer lists")
    units = np.frombuffer(table["threshold"].combine_chunks().buffers()[1], dtype="<u8").reshape(-1, 2)
    rows = Rows(units[: table.num_rows], table["exact"].to_numpy(), table["min_p"].to_numpy())
    cuts = [0, *np.cumsum([len(radii) for _, radii, _ in slices]).tolist()]
    decoded = [
        ColumnSlice(noise, radii.start, rows.between(start, stop), end)
        for (noise, radii, end), (start, stop) in zip(slices, pairwise(cuts), strict=True)
    ]
    for piece in decoded:
        if piece.end is not end_of(piece.noise, piece.rows.scaled_ceiling(len(piece.rows) - 1)):
            raise DamagedShard(
                name, f"says that K = {piece.noise.k}, α = {piece.noise.alpha} is {piece.end}; it is not"
            )
    for field, expected in zip(SCHEMA, _keys(decoded), strict=False):
        if not np.array_equal(table[field.name].to_numpy(), expected):
            raise DamagedShard(name, f"does not hold the {field.name} that its footer lists")
    return decoded


def describe_slices(name: str, data: bytes) -> list[tuple[Discrete, range, End]]:
    """The noise, the radii and the end of each slice, from the footer. Reads no rows."""
    metadata = read_metadata(name, data, KIND)
    try:
        columns = [
            (Discrete(piece["k"], piece["alpha"]), _radii(piece["first"], piece["last"]), End(piece["end"]))
            for piece in metadata["columns"]
        ]
    except (EllzeroError, KeyError, TypeError, ValueError):
        columns = []
    if not columns:
        raise DamagedShard(name, "has a footer that lists no columns")
    return columns


def read_metadata(name: str, data: bytes, kind: str | None = None) -> dict[str, Any]:
    """The metadata in a shard's footer, checked: this version reads its format, digits and conventions.

    If ``kind`` is given, a shard of another kind is refused.
    """
    try:
        footer = pq.read_metadata(pa.BufferReader(data)).metadata
    except (pa.ArrowException, OSError):
        raise DamagedShard(name, "is not a Parquet file") from None
    if footer is None or _METADATA_KEY not in footer:
        raise DamagedShard(name, "is not a shard of ellzero: its footer has no metadata of ellzero")
    try:
        metadata = json.loads(footer[_METADATA_KEY])
        version_number = int(metadata["format"])
        str(metadata["kind"])
    except (ValueError, KeyError, TypeError):
        raise DamagedShard(name, "is not a shard of ellzero: its metadata cannot be read") from None
    if version_number > FORMAT:
        raise NewerFormat(name, version_number, FORMAT)
    if metadata.get("digits") != DIGITS or metadata.get("conventions") != CONVENTIONS_DICT:
        raise DamagedShard(name, "follows other conventions or digits than format 1 does")
    if kind is not None and metadata["kind"] != kind:
        raise DamagedShard(name, f"holds {metadata['kind']}, not {kind}")
    return dict(metadata)


def read_parquet(name: str, data: bytes, schema: pa.Schema) -> pa.Table:
    """All columns of a Parquet file, which must have exactly this schema."""
    try:
        # read_table would load Arrow's query engine too: 30 MB for a service that reads its table once.
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    except (pa.ArrowException, OSError):
        raise DamagedShard(name, "cannot be read as Parquet") from None
    if not table.schema.equals(schema, check_metadata=False):
        raise DamagedShard(name, "has other columns or types than its format")
    return table


def write_parquet(table: pa.Table, kind: str, contents: dict[str, Any]) -> bytes:
    """A table as a Parquet file, in encodings that every reader knows.

    Its footer has as metadata: format, kind, engine and version, digits, conventions, and these ``contents``.
    """
    metadata = {
        "format": FORMAT,
        "kind": kind,
        "engine": "ellzero.certificates",
        "version": version("ellzero"),
        "digits": DIGITS,
        "conventions": CONVENTIONS_DICT,
        **contents,
    }
    text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
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
        writer.add_key_value_metadata({_METADATA_KEY: text.encode()})
    return bytes(sink.getvalue())


def sort_key(piece: ColumnSlice) -> tuple[int, Any, int]:
    """Slices are sorted by K, the value of α, and r."""
    return piece.noise.k, piece.noise.alpha, piece.first


def _radii(first: object, last: object) -> range:
    low = read_integer(first, "first", 0, _LARGEST_RADIUS)
    return range(low, read_integer(last, "last", low, _LARGEST_RADIUS) + 1)


def _describe(piece: ColumnSlice) -> dict[str, Any]:
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
