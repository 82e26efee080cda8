"""The results of a run over a data set: Parquet parts in a folder, and ``run.json``, which says of what.

A part holds whole inputs, appears whole or not at all, and is named by the first and last of them. So what is missing
can be seen, a part written twice is the same part, and a stopped run goes on.
"""

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ellzero.core.storage import Folder
from ellzero.smoothing.errors import BadResults
from ellzero.smoothing.results import Certified

_MANIFEST = "run.json"
_PART = re.compile(r"part-(\d{9})-(\d{9})\.parquet", re.ASCII)
_VERSION = 1
_RUN = b"ellzero run"
SCHEMA = pa.schema(
    [
        pa.field("index", pa.int64(), nullable=False),
        pa.field("label", pa.int32(), nullable=False),
        pa.field("prediction", pa.int32(), nullable=False),  # −1: abstains
        pa.field("radius", pa.int32()),  # null: abstains
        pa.field("selected", pa.int32(), nullable=False),
        pa.field("count", pa.int64(), nullable=False),
        pa.field("drawn", pa.int64(), nullable=False),
        pa.field("counts", pa.list_(pa.int64()), nullable=False),
        pa.field("selection", pa.list_(pa.int64()), nullable=False),
        pa.field("lower_bound", pa.float64(), nullable=False),
        pa.field("upper_bound", pa.float64()),
        pa.field("l1", pa.float64()),
        pa.field("l2", pa.float64()),
        pa.field("linf", pa.float64()),
        pa.field("d", pa.int32(), nullable=False),
        pa.field("seconds", pa.float64(), nullable=False),
    ]
)


class ResultStore:
    """The results in a folder. ``stamp`` names the run that writes, as `begin` has found it."""

    def __init__(self, uri: str, stamp: str = "") -> None:
        self.folder, self.stamp = Folder(uri), stamp

    @property
    def uri(self) -> str:
        return self.folder.uri

    def manifest(self) -> dict[str, Any] | None:
        """What the run is; None where there is none yet."""
        try:
            read = json.loads(self.folder.read(_MANIFEST))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise BadResults(f"{self.uri}/{_MANIFEST}", "is damaged") from error
        if not isinstance(read, dict) or read.get("format") != "ellzero results":
            raise BadResults(self.uri, "holds no results of ellzero")
        if read.get("version", 0) > _VERSION:
            raise BadResults(self.uri, "was written by a later version of ellzero")
        return {str(key): value for key, value in read.items() if key not in ("format", "version")}

    def begin(self, run: Mapping[str, Any]) -> None:
        """Say what the run is, unless it has been said; it must be the same then."""
        known = self.manifest()
        if known is None:
            if any(_PART.fullmatch(name) for name in self.folder.files()):
                raise BadResults(self.uri, f"has parts of results, but no {_MANIFEST} that says of what")
            self.folder.prepare()
            content = {"format": "ellzero results", "version": _VERSION, **run}
            self.folder.write(_MANIFEST, json.dumps(content, indent=1).encode() + b"\n")
            known = self.manifest() or {}  # of two runs that begin together one has written last
        differences = _differences(known, run)
        if differences:
            advice = "give another --out, or --overwrite to replace it"
            raise BadResults(self.uri, f"holds another run: {'; '.join(differences)}; {advice}")
        self.stamp = _stamp(run)

    def clear(self) -> None:
        """Remove the results of whatever run is here: its parts, then its manifest, and no other file."""
        if self.manifest() is None:
            return
        self.folder.remove([name for name in self.folder.files() if _PART.fullmatch(name)])
        self.folder.remove([_MANIFEST])

    def present(self) -> set[int]:
        """The inputs that have a result."""
        return {index for first, last in self._parts() for index in range(first, last + 1)}

    def write(self, rows: Sequence[tuple[int, int, Certified]]) -> str:
        """Put the results of consecutive inputs, given as (index, label, result); the name of their part."""
        name = f"part-{rows[0][0]:09d}-{rows[-1][0]:09d}.parquet"
        schema = SCHEMA.with_metadata({_RUN: self.stamp})
        table = pa.Table.from_pylist([_row(*row) for row in rows], schema=schema)
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        self.folder.write(name, content.getvalue())
        return name

    def table(self) -> pa.Table:
        """All results, an input once, in the order of the inputs; each part must be of the run that is named here."""
        parts = []
        stamp = _stamp(self.manifest() or {}).encode()
        for first, last in self._parts():
            name = f"part-{first:09d}-{last:09d}.parquet"
            try:
                part = pq.read_table(pa.BufferReader(self.folder.read(name)))
                written_by = (part.schema.metadata or {}).get(_RUN)
                part = part.cast(SCHEMA)
            except (pa.ArrowException, FileNotFoundError, ValueError) as error:
                raise BadResults(
                    f"{self.uri}/{name}", "is damaged; remove it and run the same command again"
                ) from error
            if written_by != stamp:
                raise BadResults(f"{self.uri}/{name}", "belongs to another run; remove it and run the command again")
            if part["index"].to_pylist() != list(range(first, last + 1)):
                raise BadResults(f"{self.uri}/{name}", "does not hold the inputs that its name promises")
            parts.append(part)
        if not parts:
            raise BadResults(self.uri, "holds no results yet")
        rows = pa.concat_tables(parts).sort_by("index")
        indices = rows["index"].to_pylist()
        once = [place for place, index in enumerate(indices) if place == 0 or indices[place - 1] != index]
        return rows.take(once)

    def _parts(self) -> list[tuple[int, int]]:
        found = (_PART.fullmatch(name) for name in self.folder.files())
        return sorted((int(part[1]), int(part[2])) for part in found if part is not None)


def _stamp(run: Mapping[str, Any]) -> str:
    """Says which run a part belongs to, by what the run itself knows: another may write ``run.json`` meanwhile."""
    return hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()


def _row(index: int, label: int, result: Certified) -> dict[str, Any]:
    return {
        "index": index,
        "label": label,
        "prediction": result.prediction,
        "radius": result.radius,
        "selected": result.selected,
        "count": result.count,
        "drawn": result.drawn,
        "counts": list(result.counts),
        "selection": list(result.selection),
        "lower_bound": result.lower_bound,
        "upper_bound": result.upper_bound,
        **{norm: result.other_radii.get(norm) for norm in ("l1", "l2", "linf")},
        "d": result.d,
        "seconds": result.seconds,
    }


def _differences(there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Every value that differs, in full, by its dotted name."""
    lines = []
    for key, value in here.items():
        other = there.get(key)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            lines += _differences(other, value, f"{prefix}{key}.")
            gone = sorted(other.keys() - value.keys())
            lines += [f"{prefix}{key}.{name} is {json.dumps(other[name])} there and missing here" for name in gone]
        elif other != value:
            lines.append(f"{prefix}{key} is {json.dumps(other)} there and {json.dumps(value)} here")
    return lines
