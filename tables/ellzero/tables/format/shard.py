"""Shards of thresholds: sorted rows in one Parquet file with metadata in its footer; written, and read with checks.

A shard has the layout of its format: 1 for the discrete noise, 2 for all other families. A table may have both.
"""

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
from ellzero.tables.errors import DamagedShard, NewerFormat
from ellzero.tables.format.keys import describe_key, order_of, row_axis
from ellzero.tables.format.layouts import LARGEST_COUNT, LAYOUTS, Layout, SliceHead, layout_of
from ellzero.tables.format.rows import DIGITS, ColumnSlice, Rows, end_of, group_by_key, merge_slices

FORMAT = max(LAYOUTS)
"""The newest format. Shards are written in the oldest that has their rows, so that older software reads them."""
KIND = "thresholds"
# A row takes 45 bytes while a shard is written: this keeps a worker's memory small and a shard at about 3 MB.
MOST_ROWS = 262_144
_METADATA_KEY = b"ellzero"


def encode(slices: Sequence[ColumnSlice]) -> bytes:
    """The Parquet file of these slices, all of one layout. Its bytes depend on the rows alone: each is there once, in
    order."""
    slices = sorted((run for group in group_by_key(slices).values() for run in merge_slices(group)), key=sort_key)
    for piece in slices:
        fixed = () if isinstance(piece.key, Discrete) else piece.key.fixed
        if (largest := max(piece.stop - 1, *fixed, 0)) > LARGEST_COUNT:
            raise InvalidInput(row_axis(piece.key), f"at most {LARGEST_COUNT}, the largest int32", largest)
    layout = layout_of(slices[0].key)
    columns = {"columns": layout.describe(slices)}
    return write_parquet(to_arrow(slices), KIND, columns, layout.version, layout.repeated)


def to_arrow(slices: Sequence[ColumnSlice]) -> pa.Table:
    """The rows of these slices as an Arrow table, in the given order."""
    layout = layout_of(slices[0].key)
    units, exact, min_p = (np.concatenate(arrays) for arrays in zip(*(piece.rows for piece in slices), strict=True))
    decimals = layout.schema.field("threshold").type
    arrays = [
        *layout.keys(slices),
        pa.Array.from_buffers(decimals, len(units), [None, pa.py_buffer(units.tobytes())]),
        pa.array(exact),
        pa.array(min_p),
    ]
    return pa.Table.from_arrays(arrays, schema=layout.schema)


def decode(name: str, data: bytes) -> list[ColumnSlice]:
    """The slices in a shard's bytes. Raises `DamagedShard` unless the rows have the keys that the footer lists."""
    layout, heads = _read_heads(name, data)
    table = read_parquet(name, data, layout.schema)
    if sum(len(head.counts) for head in heads) != table.num_rows:
        raise DamagedShard(name, "does not hold the rows that its footer lists")
    units = np.frombuffer(table["threshold"].combine_chunks().buffers()[1], dtype="<u8").reshape(-1, 2)
    rows = Rows(units[: table.num_rows], table["exact"].to_numpy(), table["min_p"].to_numpy())
    cuts = [0, *np.cumsum([len(head.counts) for head in heads]).tolist()]
    decoded = [
        ColumnSlice(head.key, head.counts.start, rows.between(start, stop), head.end)
        for head, (start, stop) in zip(heads, pairwise(cuts), strict=True)
    ]
    for piece in decoded:
        if piece.end is not end_of(piece.key, piece.last_scaled_ceiling):
            raise DamagedShard(name, f"says that {describe_key(piece.key)} is {piece.end}; it is not")
    for field, expected in zip(layout.schema, layout.keys(decoded), strict=False):
        if not table[field.name].combine_chunks().equals(expected):
            raise DamagedShard(name, f"does not hold the {field.name} that its footer lists")
    return decoded


def describe_slices(name: str, data: bytes) -> list[SliceHead]:
    """The column, the counts and the end of each slice, from the footer. Reads no rows."""
    return _read_heads(name, data)[1]


def _read_heads(name: str, data: bytes) -> tuple[Layout, list[SliceHead]]:
    metadata = read_metadata(name, data, KIND)
    try:
        layout = LAYOUTS[int(metadata["format"])]
        heads = list(layout.read(metadata["columns"]))
    except (EllzeroError, KeyError, TypeError, ValueError):
        heads = []
    if not heads:
        raise DamagedShard(name, "has a footer that lists no columns")
    return layout, heads


def read_metadata(name: str, data: bytes, kind: str | None = None, newest: int = FORMAT) -> dict[str, Any]:
    """The metadata in a shard's footer, checked: this version reads its format, digits and conventions.

    If ``kind`` is given, a shard of another kind is refused; a later format than the ``newest`` of its kind is, too.
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
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):  # JSON has numbers and depths without end
        raise DamagedShard(name, "is not a shard of ellzero: its metadata cannot be read") from None
    if version_number > newest:
        raise NewerFormat(name, version_number, newest)
    if metadata.get("digits") != DIGITS or metadata.get("conventions") != CONVENTIONS_DICT:
        raise DamagedShard(name, f"follows other conventions or digits than format {version_number} does")
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


def write_parquet(
    table: pa.Table, kind: str, contents: dict[str, Any], format_number: int, repeated: Sequence[str]
) -> bytes:
    """A table as a Parquet file, in encodings that every reader knows; ``repeated`` columns have few distinct values.

    Its footer has as metadata: format, kind, engine and version, digits, conventions, and these ``contents``.
    """
    metadata = {
        "format": format_number,
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
        use_dictionary=list(repeated),
        store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=MOST_ROWS)
        writer.add_key_value_metadata({_METADATA_KEY: text.encode()})
    return bytes(sink.getvalue())


def sort_key(piece: ColumnSlice) -> tuple[Any, ...]:
    """Slices are sorted by their columns, and by the counts of their rows."""
    return *order_of(piece.key), piece.first
