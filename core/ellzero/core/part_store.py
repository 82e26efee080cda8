"""The results of a run over a data set: Parquet files in a folder, and ``run.json``, which describes the run.

Each file holds the results of consecutive inputs, is named by the first and last of them, and appears complete or not
at all. So file names show which inputs are missing, writing a file twice changes nothing, and a run can be resumed.
"""

import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq

from ellzero.core.cancellation import check_cancelled
from ellzero.core.errors import BadResults
from ellzero.core.manifest import list_differences
from ellzero.core.storage import Folder

RUN_MANIFEST: Final = "run.json"
_PART = re.compile(r"part-(\d{9})-(\d{9})\.parquet", re.ASCII)
_VERSION = 1
_RUN = b"ellzero run"


class PartStore:
    """The results in a folder, in rows of this schema, which has a column ``index``.

    ``stamp`` identifies the run that writes; `begin` sets it. The keys in ``optional`` are in the description of a run
    only where it has them: without one it is another run than with it.
    """

    optional: ClassVar[tuple[str, ...]] = ()

    def __init__(self, uri: str, schema: pa.Schema, stamp: str = "") -> None:
        self.folder, self.schema, self.stamp = Folder(uri), schema, stamp

    @property
    def uri(self) -> str:
        return self.folder.uri

    def manifest(self) -> dict[str, Any] | None:
        """The description of the run; None if the folder has no run yet."""
        try:
            read = json.loads(self.folder.read(RUN_MANIFEST))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise BadResults(f"{self.uri}/{RUN_MANIFEST}", "is damaged") from error
        if not isinstance(read, dict) or read.get("format") != "ellzero results":
            raise BadResults(self.uri, "holds no results of ellzero")
        version = read.get("version")
        if not isinstance(version, int):
            raise BadResults(f"{self.uri}/{RUN_MANIFEST}", "is damaged")
        if version > _VERSION:
            raise BadResults(self.uri, "was written by a later version of ellzero")
        return {str(key): value for key, value in read.items() if key not in ("format", "version")}

    def begin(self, run: Mapping[str, Any]) -> None:
        """Write the description of the run; raise if the folder has another run."""
        manifest = self.manifest()
        if manifest is None:
            if any(_PART.fullmatch(name) for name in self.folder.files()):
                raise BadResults(self.uri, f"has result files, but no {RUN_MANIFEST} that describes their run")
            self.folder.prepare()
            content = {"format": "ellzero results", "version": _VERSION, **run}
            self.folder.write(RUN_MANIFEST, json.dumps(content, indent=1).encode() + b"\n")
            manifest = self.manifest() or {}  # another run may have written its own at the same time
        differences = list_differences(manifest, {**dict.fromkeys(self.optional), **run})
        if differences:
            advice = "give another --out, or --overwrite to replace it"
            raise BadResults(self.uri, f"holds another run: {'; '.join(differences)}; {advice}")
        self.stamp = _stamp(run)

    def clear(self) -> None:
        """Remove the results of any run in the folder: result files, then ``run.json``, and no other file."""
        if self.manifest() is None:
            return
        self.folder.remove([name for name in self.folder.files() if _PART.fullmatch(name)])
        self.folder.remove([RUN_MANIFEST])

    def count_claimed(self) -> int:
        """How many results the files have by their names; one that two files have counts twice."""
        return sum(last - first + 1 for first, last in self._list_ranges())

    def present(self) -> set[int]:
        """The indices of the inputs that have a result."""
        return {index for first, last in self._list_ranges() for index in range(first, last + 1)}

    def write_rows(self, rows: Sequence[Mapping[str, Any]]) -> str:
        """Write the results of consecutive inputs, and return the name of their file."""
        name = f"part-{rows[0]['index']:09d}-{rows[-1]['index']:09d}.parquet"
        table = pa.Table.from_pylist(list(rows), schema=self.schema.with_metadata({_RUN: self.stamp}))
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        self.folder.write(name, content.getvalue())
        return name

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All results, or these columns of them, ``index`` included: each input once, in the order of the inputs.

        Raises if a file belongs to another run.
        """
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        tables = []
        stamp = _stamp(self.manifest() or {}).encode()
        for first, last in self._list_ranges():
            check_cancelled()
            name = f"part-{first:09d}-{last:09d}.parquet"
            try:
                file = pq.ParquetFile(pa.BufferReader(self.folder.read(name)))
                there = [each for each in schema.names if each in file.schema_arrow.names]
                table = file.read(columns=there)
                written_by = (table.schema.metadata or {}).get(_RUN)
                table = _add_new_columns(table, schema).cast(schema)
            except (pa.ArrowException, OSError, ValueError) as error:  # OSError: of a page that is damaged
                raise BadResults(
                    f"{self.uri}/{name}", "is damaged; remove it and run the same command again"
                ) from error
            if written_by != stamp:
                raise BadResults(f"{self.uri}/{name}", "belongs to another run; remove it and run the command again")
            if len(table) != last - first + 1 or table["index"].to_pylist() != list(range(first, last + 1)):
                raise BadResults(f"{self.uri}/{name}", "does not hold the inputs that its name says")
            tables.append(table)
        if not tables:
            raise BadResults(self.uri, "holds no results yet")
        rows = pa.concat_tables(tables).sort_by("index")
        indices = rows["index"].to_pylist()
        first_rows = [row for row, index in enumerate(indices) if row == 0 or indices[row - 1] != index]
        return rows.take(first_rows)

    def _list_ranges(self) -> list[tuple[int, int]]:
        """The first and last input of each file."""
        names = (_PART.fullmatch(name) for name in self.folder.files())
        return sorted((int(name[1]), int(name[2])) for name in names if name is not None)


def split_chunks(indices: Iterable[int], size: int = 16) -> list[range]:
    """Split inputs into chunks of at most ``size`` consecutive ones."""
    chunks: list[range] = []
    for index in sorted(indices):
        last = chunks[-1] if chunks else None
        if last is not None and last.stop == index and index % size:
            chunks[-1] = range(last.start, index + 1)
        else:
            chunks.append(range(index, index + 1))
    return chunks


def _add_new_columns(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with columns that came after it was written, as nulls: an older version had nothing to put there."""
    for place, field in enumerate(schema):
        if field.nullable and field.name not in table.column_names:
            table = table.add_column(place, field, pa.nulls(len(table), field.type))
    return table


def _stamp(run: Mapping[str, Any]) -> str:
    """Identifies a run in the files that it writes: another run may replace ``run.json`` in the meantime."""
    return hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()
