"""Data sets that are one file: ``.npz`` and Parquet, at any URI that pyarrow opens."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ellzero.core import npy
from ellzero.core.errors import StorageFailed
from ellzero.core.storage import read_file, split_uri
from ellzero.smoothing.data.datasets import ArrayData, Levels
from ellzero.smoothing.errors import BadData

MOST_LEVELS = 2**31 - 1
_MOST_CLASSES = 1_000_000


def read_npz(uri: str, split: str, k: int | None) -> ArrayData:
    """Read arrays ``x`` and ``y``, or ``x_train`` and so on; optionally ``levels``, ``classes``, which are their names,
    and ``protected`` (or ``protected_train``), booleans in the shape of x."""
    content = _read_content(uri)
    try:
        arrays = npy.read_npz(content)
    except ValueError as error:
        raise BadData(uri, f"is not an .npz file of plain arrays: {error}") from error
    names = ("x", "y", "protected")
    x, y, protected = (f"{name}_{split}" for name in names) if f"x_{split}" in arrays else names
    for name in (x, y):
        if name not in arrays:
            raise BadData(uri, f"lacks the array {name}")
    if protected not in arrays and "protected" in arrays:
        raise BadData(uri, f"has `protected` beside {x}; it must be called {protected}")
    levels = arrays["levels"].tolist() if "levels" in arrays else None
    classes = np.atleast_1d(arrays["classes"]).tolist() if "classes" in arrays else []
    data = _check_arrays(uri, arrays[x], arrays[y], levels, k, tuple(map(str, classes)))
    return replace(data, mask=_check_mask(uri, arrays.get(protected), data.arrays))


def read_parquet(uri: str, split: str, k: int | None) -> ArrayData:
    """Read a column ``x`` of lists of integers, and ``y``; optionally ``split``, and ``protected``: lists of booleans.

    The file's metadata may contain ``shape`` and ``levels`` as JSON, and ``padding``: the level that lists of different
    lengths are padded with at their end, to the longest of the file or to ``shape``; that end is protected.
    """
    content = pa.BufferReader(_read_content(uri))
    try:
        # The threads that read_table starts abort a process that ends soon after, as after a mistaken option.
        table = pq.ParquetFile(content).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise BadData(uri, f"is not a Parquet file: {str(error).splitlines()[0]}") from error
    for name in ("x", "y"):
        if name not in table.column_names:
            raise BadData(uri, f"lacks the column {name}")
    if not _has_lists(table, "x"):
        raise BadData(uri, f"must have lists of integers in its column x, and has {table.schema.field('x').type}")
    metadata = _read_metadata(uri, table.schema.metadata or {})
    # Sequences of all splits get one length, so that a model of one takes those of the others.
    longest = int(pc.max(pc.list_value_length(table["x"])).as_py() or 0) if "padding" in metadata else 0
    if "split" in table.column_names:
        if not pa.types.is_string(table.schema.field("split").type):
            raise BadData(uri, f"must have text in its column split, and has {table.schema.field('split').type}")
        table = table.filter(pc.equal(table["split"], split))
    if not len(table):
        raise BadData(uri, f"has no inputs in the {split} split")
    if table["x"].null_count:
        raise BadData(uri, "has rows without x")
    lengths = np.asarray(pc.list_value_length(table["x"]))
    longest = longest or int(lengths.max())
    shape = metadata.get("shape", [longest])
    if not isinstance(shape, list) or any(type(size) is not int or size < 1 for size in shape):
        raise BadData(uri, f"has the shape {shape}, which is not a list of positive integers")
    if not shape or (math.prod(shape) < longest if "padding" in metadata else math.prod(shape) != longest):
        raise BadData(uri, f"has inputs of {longest:,} numbers, and its shape is {tuple(shape)}")
    rows = (len(table), *shape)
    beyond = np.arange(math.prod(shape)) >= lengths[:, None]  # places after the end of a list
    symbols = np.asarray(table["x"].combine_chunks().flatten())
    mask, kind, padding = None, symbols.dtype, 0
    if beyond.any():
        mask, padding = beyond, _read_padding(uri, metadata, lengths)
        kind = np.result_type(kind, np.min_scalar_type(padding))
    flat = np.full(beyond.shape, padding, kind)
    flat[~beyond] = symbols
    if "protected" in table.column_names:
        if not _has_lists(table, "protected"):
            kind = table.schema.field("protected").type
            raise BadData(uri, f"must have lists of booleans in its column protected, and has {kind}")
        if table["protected"].null_count or (np.asarray(pc.list_value_length(table["protected"])) != lengths).any():
            raise BadData(uri, "has lists in its column protected that are not as long as those in x")
        flags = np.asarray(table["protected"].combine_chunks().flatten())
        if flags.dtype != np.bool_:
            raise BadData(uri, f"must have lists of booleans in its column protected, and has {flags.dtype}")
        mask = beyond.copy()
        mask[~beyond] = flags
    data = _check_arrays(uri, flat.reshape(rows), np.asarray(table["y"]), metadata.get("levels"), k, ())
    return data if mask is None else replace(data, mask=_check_mask(uri, mask.reshape(rows), data.arrays))


def _has_lists(table: pa.Table, column: str) -> bool:
    kind = table.schema.field(column).type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _check_arrays(
    uri: str, x: NDArray[Any], y: NDArray[Any], declared: object, k: int | None, classes: tuple[str, ...]
) -> ArrayData:
    if (
        x.dtype.kind not in "biu"
        or y.dtype.kind not in "iu"
        or x.ndim < 2
        or 0 in x.shape[1:]
        or y.ndim != 1
        or len(x) != len(y)
    ):
        shapes = f"x is {x.dtype} {x.shape}, y is {y.dtype} {y.shape}"
        raise BadData(uri, f"must hold integer arrays, x with one input per row and y with its class: {shapes}")
    if declared is not None and (type(declared) is not int or not 2 <= declared <= MOST_LEVELS):
        raise BadData(uri, f"declares {str(declared)[:40]} levels")
    levels = declared or (k + 1 if k is not None else {"uint8": 256, "bool": 2}.get(str(x.dtype)))
    if levels is None:
        raise BadData(uri, f"does not say how many levels its {x.dtype} numbers have; --k does, levels minus one")
    low, high = (int(x.min()), int(x.max())) if x.size else (0, 0)
    if low < 0 or high >= levels:
        raise BadData(uri, f"has the level {low if low < 0 else high}, outside of 0..{levels - 1}")
    if len(y) and int(y.min()) < 0:
        raise BadData(uri, f"has the class {int(y.min())}")
    most = len(classes) or _MOST_CLASSES
    if int(y.max(initial=0)) >= most:
        raise BadData(uri, f"has the class {int(y.max())}, outside of 0..{most - 1:,}")
    names = classes or tuple(str(label) for label in range(int(y.max(initial=0)) + 1))
    arrays: Levels = x.astype(np.uint8) if levels <= 256 else x.astype(np.int32)
    return ArrayData(split_uri(uri)[1], arrays, y.astype(np.int64), levels, names)


def _check_mask(uri: str, mask: NDArray[Any] | None, x: Levels) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    if mask.dtype != np.bool_ or mask.shape != x.shape:
        raise BadData(uri, f"must have booleans of shape {x.shape} as protected, and has {mask.dtype} {mask.shape}")
    wholly = mask.reshape(len(mask), -1).all(1)
    if wholly.any():
        raise BadData(uri, f"has an input, number {int(wholly.argmax())}, all of whose positions are protected")
    return mask


def _read_padding(uri: str, metadata: dict[str, object], lengths: NDArray[Any]) -> int:
    padding = metadata.get("padding")
    if padding is None:
        different = f"{int(lengths.min())} to {int(lengths.max())}"
        raise BadData(
            uri,
            f"has inputs of different lengths, {different}, and no level `padding` in its metadata to fill them with",
        )
    if type(padding) is not int or padding < 0:
        raise BadData(uri, f"declares the padding {str(padding)[:40]}, which is not a level")
    if not lengths.min():
        raise BadData(uri, "has an empty input")
    return padding


def _read_content(uri: str) -> bytes:
    try:
        return read_file(uri)
    except StorageFailed as error:
        raise BadData(uri, error.reason) from error


def _read_metadata(uri: str, metadata: dict[bytes, bytes]) -> dict[str, object]:
    try:
        return {
            key: json.loads(metadata[key.encode()])
            for key in ("shape", "levels", "padding")
            if key.encode() in metadata
        }
    except (ValueError, RecursionError) as error:
        raise BadData(uri, f"states its shape, levels or padding in invalid JSON: {error}") from error
