"""Where shards lie: a flat, grow-only set of immutable files, each named by the SHA-256 of its bytes.

No lock and no log: a shard appears whole or not at all, two writers of the same bytes write the same file, and a
wrong byte shows in the name. Any number of processes may put, read and list at once.

A shard that a compaction wrote also has a generation in its name, one more than those it was made of. So its name is
none that was there before: otherwise one compaction could count on a shard that a slower one is about to delete.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import ParamSpec, TypeVar
from uuid import uuid4

from pyarrow import ArrowException, fs

from ellzero.tables.errors import DamagedShard, NotATable, StorageFailed

P = ParamSpec("P")
T = TypeVar("T")

_SHARD = re.compile(r"(?P<digest>[0-9a-f]{64})(-(?P<generation>[1-9]\d{0,8}))?\.parquet", re.ASCII)
_SCRATCH = re.compile(r"\.ellzero-[0-9a-f]{32}\.(tmp|run)")
_URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_SET_ASIDE = ".damaged"
# What a killed writer left behind is certainly no longer in use after so many days.
_SCRATCH_DAYS = {".tmp": 1, ".run": 90}
# A listing is taken again until it is the same twice: while it goes on, rows may move from a shard that it has not come
# to into one that it has passed.
_MOST_LISTINGS = 20
_MOST_READINGS = 10
_SECRET = re.compile(r"(?<=://)[^/@]*@")
# These show an object only when all of it has arrived; elsewhere a shard is written aside and moved.
_OBJECT_STORES = tuple(
    getattr(fs, name) for name in ("S3FileSystem", "GcsFileSystem", "AzureFileSystem") if hasattr(fs, name)
)


class Store:
    """The shards under one URI: a local path, ``s3://bucket/prefix``, or whatever else pyarrow can open."""

    def __init__(self, uri: str) -> None:
        self.uri = _SECRET.sub("", uri)  # as it is shown
        self._given = uri
        if _URI.match(uri):
            try:
                self._fs, self._path = fs.FileSystem.from_uri(uri)
            except (ArrowException, OSError, ValueError) as error:
                reason = _SECRET.sub("", _first_line(error))
                raise StorageFailed(self.uri, f"no such file system: {reason}") from None
        else:
            self._fs, self._path = fs.LocalFileSystem(), str(Path(uri).expanduser().absolute())
        self._local = isinstance(self._fs, fs.LocalFileSystem)

    @property
    def location(self) -> str:
        """The URI, or the whole path of a local directory: the same place whatever a process's working directory is."""
        return self._path if self._local else self._given

    def names(self) -> list[str]:
        """The names of all shards, sorted. Refuses a place that holds anything else instead of a table."""
        before: set[str] | None = None
        for _ in range(_MOST_LISTINGS):
            found = self._listed()
            shards = {name for name in found if _SHARD.fullmatch(name)}
            if shards == before:
                break
            before = shards
        strange = sorted(name for name in found.keys() - shards if not _is_by_the_way(name))
        for name in strange:
            if name.endswith(".parquet"):
                raise NotATable(self.uri, f"is not a table of ellzero: {name} is not one of its shards")
        if strange and not shards:
            raise NotATable(self.uri, f"is not a table of ellzero: it holds {strange[0]}")
        return sorted(shards)

    def read(self, name: str) -> bytes:
        """The bytes of a shard, which are certainly those that were written. FileNotFoundError if it is gone."""
        try:
            data = self._asked(self._read_file, name)
        except StorageFailed as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise error.__cause__ from None
            raise
        if hashlib.sha256(data).hexdigest() != digest_of(name):
            raise DamagedShard(name, "is damaged: its bytes are not those that its name promises")
        return data

    def undisturbed(self, reading: Callable[[], T]) -> T:
        """What ``reading`` gives; again from its start if a compaction took a shard away that it had listed."""
        for _ in range(_MOST_READINGS - 1):
            try:
                return reading()
            except FileNotFoundError:
                continue
        return reading()

    def size(self, name: str) -> int:
        """How many bytes a shard has."""
        return int(self._asked(self._fs.get_file_info, self._at(name)).size or 0)

    def put(self, data: bytes, generation: int = 0) -> str:
        """Write a shard durably and return its name. It appears whole or not at all, and heals a damaged one."""
        name = f"{hashlib.sha256(data).hexdigest()}{f'-{generation}' if generation else ''}.parquet"
        self._asked(self._write_file, name, data)
        return name

    def prepare(self) -> None:
        """Make the place where shards can be put, and see that they can."""
        if isinstance(self._fs, _OBJECT_STORES):
            bucket = self._path.split("/")[0]
            if self._asked(self._fs.get_file_info, bucket).type == fs.FileType.NotFound:
                raise StorageFailed(self.uri, f"there is no bucket {bucket}")
        if not self._local:
            return
        self._asked(os.makedirs, self._path, exist_ok=True)
        with self.run_mark():
            pass

    def remove(self, names: list[str]) -> None:
        """Delete shards; those that are gone already are no matter."""
        for name in names:
            with _unless_gone():
                self._asked(self._fs.delete_file, self._at(name))

    def set_aside(self, name: str) -> None:
        """Take a damaged shard out of the table, keeping its bytes beside it, unless somebody else has done so."""
        with _unless_gone():
            self._asked(self._fs.move, self._at(name), self._at(name + _SET_ASIDE))

    def sweep(self) -> None:
        """Remove what writers that were killed long ago have left behind."""
        for name, modified in self._listed().items():
            days = _SCRATCH_DAYS.get(Path(name).suffix, 0)
            if _SCRATCH.fullmatch(name) and time.time() - modified > days * 86_400:
                self.remove([name])

    @contextmanager
    def run_mark(self) -> Iterator[str | None]:
        """A file that is there while a run lasts, by which workers see that they share the directory."""
        if not self._local:
            yield None
            return
        name = f".ellzero-{uuid4().hex}.run"
        self._asked(Path(self._at(name)).touch)
        try:
            yield name
        finally:
            Path(self._at(name)).unlink(missing_ok=True)

    def check_shared(self, mark: str | None) -> None:
        """Raise unless the directory of this process is that of the process which made the mark."""
        if mark is not None and not Path(self._at(mark)).exists():
            node = os.uname().nodename
            raise StorageFailed(
                self.uri, f"node {node} does not see the same directory; give a shared one or an s3:// URI"
            )

    def _listed(self) -> dict[str, float]:
        """Names and times of what lies here, as one pass sees it; a place that does not exist has nothing."""
        info = self._asked(self._fs.get_file_info, self._path)
        if info.type == fs.FileType.File:
            raise NotATable(self.uri, "is a file, and a table is a directory")
        listed = self._asked(self._fs.get_file_info, fs.FileSelector(self._path, allow_not_found=True))
        return {entry.base_name: entry.mtime_ns / 1e9 if entry.mtime_ns else inf for entry in listed}

    def _read_file(self, name: str) -> bytes:
        with self._fs.open_input_file(self._at(name)) as source:
            return bytes(source.read())

    def _write_file(self, name: str, data: bytes) -> None:
        if isinstance(self._fs, _OBJECT_STORES):
            self._upload(self._at(name), data)
            return
        scratch = f".ellzero-{uuid4().hex}.tmp"
        try:
            if self._local:
                _write_durably(self._at(scratch), data)
                os.replace(self._at(scratch), self._at(name))
                _sync_directory(self._path)
            else:
                self._fs.create_dir(self._path, recursive=True)
                self._upload(self._at(scratch), data)
                self._fs.move(self._at(scratch), self._at(name))
        except BaseException:
            with suppress(Exception):
                self._fs.delete_file(self._at(scratch))
            raise

    def _upload(self, path: str, data: bytes) -> None:
        # Not in a `with` block: closing after a failure would publish what has arrived so far.
        stream = self._fs.open_output_stream(path)
        stream.write(data)
        stream.close()

    def _at(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}"

    def _asked(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of the file system, its errors as ours."""
        try:
            return what(*args, **kwargs)
        except (ArrowException, OSError) as error:
            raise StorageFailed(self.uri, _first_line(error)) from error


def digest_of(name: str) -> str:
    """The SHA-256 that a shard's name promises."""
    return name[:64]


def generation_of(name: str) -> int:
    """How many compactions lie behind a shard, from its name."""
    found = _SHARD.fullmatch(name)
    return int(found["generation"] or 0) if found else 0


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Nothing happens if the file is not there any more."""
    try:
        yield
    except StorageFailed as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise


def _is_by_the_way(name: str) -> bool:
    """Whether a file belongs to a table without being a shard."""
    return bool(_SCRATCH.fullmatch(name)) or name.endswith(_SET_ASIDE)


def _write_durably(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _first_line(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]
