"""Files in one place: a local directory, or a prefix of an object store.

A file appears whole or not at all, and is durable once `Folder.write` returns. Any number of processes may write, read
and list at once.
"""

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

from ellzero.core.errors import StorageFailed
from ellzero.core.text import first_line, hide_credentials

P = ParamSpec("P")
T = TypeVar("T")

_MOST_BYTES = 16_000_000_000
_SCRATCH = re.compile(r"\.ellzero-[0-9a-f]{32}\.(tmp|run)")
_URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
# Days after which files left by a killed writer are certainly no longer in use.
_SCRATCH_DAYS = {".tmp": 1, ".run": 90}
# These show an object only once it has been uploaded whole; elsewhere a file is written under another name and moved.
_OBJECT_STORES = tuple(
    getattr(fs, name) for name in ("S3FileSystem", "GcsFileSystem", "AzureFileSystem") if hasattr(fs, name)
)


class Folder:
    """The files under one URI: a local path, ``s3://bucket/prefix``, or whatever else pyarrow can open."""

    def __init__(self, uri: str) -> None:
        self.uri = hide_credentials(uri)  # as it is shown
        self._full_uri = uri
        if _URI.match(uri):
            try:
                self._fs, self._path = fs.FileSystem.from_uri(uri)
            except (ArrowException, OSError, ValueError) as error:
                reason = hide_credentials(_reason(error))
                raise StorageFailed(self.uri, f"no such file system: {reason}") from None
        else:
            self._fs, self._path = fs.LocalFileSystem(), str(Path(uri).expanduser().absolute())
        self._local = isinstance(self._fs, fs.LocalFileSystem)

    @property
    def location(self) -> str:
        """The URI, or the absolute path of a local directory: the same in every working directory."""
        return self._path if self._local else self._full_uri

    def files(self) -> dict[str, float]:
        """The names and times of the files here, from one listing; empty if the place does not exist."""
        info = self._call(self._fs.get_file_info, self._path)
        if info.type == fs.FileType.File:
            raise NotADirectoryError(self.uri)
        entries = self._call(self._fs.get_file_info, fs.FileSelector(self._path, allow_not_found=True))
        return {entry.base_name: entry.mtime_ns / 1e9 if entry.mtime_ns else inf for entry in entries}

    def read(self, name: str) -> bytes:
        """The bytes of a file. Raises FileNotFoundError if there is none."""
        try:
            return self._call(self._read_file, name)
        except StorageFailed as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise error.__cause__ from None
            raise

    def write(self, name: str, data: bytes) -> None:
        """Write a file durably, replacing one of the same name."""
        self._call(self._write_file, name, data)

    def size(self, name: str) -> int:
        """The size of a file in bytes."""
        return int(self._call(self._fs.get_file_info, self._at(name)).size or 0)

    def prepare(self) -> None:
        """Create the place if necessary, and check that files can be written there."""
        if isinstance(self._fs, _OBJECT_STORES):
            bucket = self._path.split("/")[0]
            if self._call(self._fs.get_file_info, bucket).type == fs.FileType.NotFound:
                raise StorageFailed(self.uri, f"there is no bucket {bucket}")
        if not self._local:
            return
        self._call(os.makedirs, self._path, exist_ok=True)
        with self.run_mark():
            pass

    def remove(self, names: list[str]) -> None:
        """Delete files; those that are already gone are ignored."""
        for name in names:
            with _ignore_missing():
                self._call(self._fs.delete_file, self._at(name))

    def move(self, name: str, new_name: str) -> None:
        """Rename a file, unless it is already gone."""
        with _ignore_missing():
            self._call(self._fs.move, self._at(name), self._at(new_name))

    def sweep(self) -> None:
        """Delete files left behind by writers that were killed long ago."""
        for name, mtime in self.files().items():
            days = _SCRATCH_DAYS.get(Path(name).suffix, 0)
            if _SCRATCH.fullmatch(name) and time.time() - mtime > days * 86_400:
                self.remove([name])

    @contextmanager
    def run_mark(self) -> Iterator[str | None]:
        """Keep a file here during the block, so that workers know that they see this directory. Yields its name."""
        if not self._local:
            yield None
            return
        name = f".ellzero-{uuid4().hex}.run"
        self._call(Path(self._at(name)).touch)
        try:
            yield name
        finally:
            Path(self._at(name)).unlink(missing_ok=True)

    def check_shared(self, mark: str | None) -> None:
        """Raise unless this process sees the directory in which the mark was made."""
        if mark is not None and not Path(self._at(mark)).exists():
            node = os.uname().nodename
            raise StorageFailed(
                self.uri, f"node {node} does not see the same directory; give a shared one or an s3:// URI"
            )

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

    def _call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function of the file system; its errors become `StorageFailed`."""
        try:
            return function(*args, **kwargs)
        except (ArrowException, OSError) as error:
            raise StorageFailed(self.uri, _reason(error)) from error


def split_uri(uri: str) -> tuple[str, str]:
    """The folder of a file, with the options of its file system, and the file's name."""
    path, mark, options = uri.partition("?") if "://" in uri else (uri, "", "")
    folder, slash, name = path.rpartition("/")
    return f"{folder or slash or '.'}{mark}{options}", name


def read_file(uri: str) -> bytes:
    """The content of a file at any URI. `StorageFailed` has a reason that completes "the file …"."""
    folder, name = split_uri(uri)
    try:
        place = Folder(folder)
        if (size := place.size(name)) <= _MOST_BYTES:
            return place.read(name)
    except FileNotFoundError:
        raise StorageFailed(uri, "does not exist") from None
    except (StorageFailed, RuntimeError) as error:  # RuntimeError: the home directory of an unknown user
        raise StorageFailed(uri, f"cannot be read: {error}") from error
    raise StorageFailed(uri, f"has {size / 1e9:.0f} GB, and at most 16 GB are read into memory")


def _reason(error: Exception) -> str:
    """Why it failed, without the path: the URI is said anyway."""
    return str(getattr(error, "strerror", None) or first_line(error)).splitlines()[0]


def is_scratch(name: str) -> bool:
    """Whether a file is a temporary one of a writer or a run."""
    return bool(_SCRATCH.fullmatch(name))


@contextmanager
def _ignore_missing() -> Iterator[None]:
    """Ignore that a file does not exist any more."""
    try:
        yield
    except StorageFailed as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise


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
