"""The inputs that runs certified: data sets that are loaded again, and checked to be those of the run."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from zipfile import BadZipFile, ZipFile

from cachetools import LRUCache

from ellzero.core.errors import EllzeroError
from ellzero.core.text import escape_line, first_line
from ellzero.serve.results.certified_run import CertifiedRun
from ellzero.serve.results.folders import Signature, sign_folder
from ellzero.smoothing.data.datasets import ArrayData, DataSet, Levels, ReorderedData
from ellzero.smoothing.data.folders import ImageFolder
from ellzero.smoothing.data.loading import DIGITS
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.runs.result_store import SOURCE, ResultStore

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 512 * 2**20  # of data sets in memory, together
_BYTES_OF_FILE = 300  # of one that is read when it is needed: its path, size and time
_MOST_DESCRIPTION = 2**16  # bytes of a source.json
_FEATURES = "a tree or forest was certified on features, not on images"
_NO_SOURCE = "its folder has no source.json, which says where the data is; the same ellzero certify writes it"

FileState: TypeAlias = tuple[int, int]


@dataclass(frozen=True, eq=False)
class RunInput:
    """An input that a run certified: its levels, of 0..levels−1, and its class."""

    x: Levels
    label: int
    levels: int


@dataclass(frozen=True, eq=False)
class RunData:
    """The data set of a run. ``states`` are those of files that are read later, when an input is asked for."""

    data: DataSet
    states: Mapping[Path, FileState]

    def read(self, index: int) -> RunInput:
        """Read an input. `BadData` if its file is not the one that the run certified any more."""
        file = _find_file(self.data, index)
        if file is not None and _sign_file(file) != self.states[file]:
            raise BadData(str(file), "has changed since this run")
        x: Levels = self.data.inputs([index])[0]
        return RunInput(x, int(self.data.labels[index]), self.data.levels)


class RunDataCache:
    """The data sets of runs, loaded on first use. For one thread at a time."""

    def __init__(self) -> None:
        self._loaded: LRUCache[tuple[DataSource, Signature, str], RunData] = LRUCache(_MOST_BYTES, _count_bytes)

    def find(self, run: CertifiedRun) -> RunData | str:
        """Return the data set of a run, or the reason why its inputs cannot be shown."""
        if not run.by_votes:
            return _FEATURES
        try:
            file = run.path / SOURCE
            if not file.is_file():
                return _NO_SOURCE
            if file.stat().st_size > _MOST_DESCRIPTION:
                raise BadData(str(file), f"has more than {_MOST_DESCRIPTION:,} bytes")
            source = ResultStore(str(run.path)).source()
            if source is None:
                return _NO_SOURCE
            key = source, _sign(source.uri), run.data_digest
            if key not in self._loaded:
                self._load(key)
            return self._loaded[key]
        except BadData as error:
            reason = f"{Path(error.place).name or error.place} {error.reason}"
        except OSError as error:
            reason = f"{Path(str(error.filename or SOURCE)).name} cannot be read: {error.strerror or first_line(error)}"
        except (EllzeroError, ValueError, OverflowError) as error:
            reason = f"{SOURCE} names data that cannot be loaded: {first_line(error)}"
        reason = escape_line(reason)
        _LOG.warning("the inputs of %s cannot be shown: %s", run.name, reason)
        return reason

    def _load(self, key: tuple[DataSource, Signature, str]) -> None:
        source, _, digest = key
        _check_size(source.uri)
        data = source.load()
        stored = _find_stored(data)
        files = stored.files if isinstance(stored, ImageFolder) else ()
        states = {file: _sign_file(file) for file in files}
        if data.digest != digest:
            raise BadData(source.uri, "is not the data set that this run certified")
        loaded = RunData(data, states)
        if _count_bytes(loaded) > _MOST_BYTES:
            raise BadData(source.uri, f"needs more than {_MOST_BYTES:,} bytes of memory")
        self._loaded[key] = loaded


def _find_stored(data: DataSet) -> DataSet:
    """The data set as it is stored, whatever the order of the run."""
    return _find_stored(data.data) if isinstance(data, ReorderedData) else data


def _find_file(data: DataSet, index: int) -> Path | None:
    """The file of an input, if each has its own."""
    if isinstance(data, ReorderedData):
        return _find_file(data.data, int(data.order[index]))
    return data.files[index] if isinstance(data, ImageFolder) else None


def _sign(uri: str) -> Signature:
    """What changes with a local file, or with the files of a local folder; other places are read once."""
    if uri == DIGITS or "://" in uri:
        return ()
    path = Path(uri)
    if not path.is_dir() and path.exists() and not path.is_file():
        raise BadData(uri, "is neither a file nor a folder")
    return sign_folder(path) if path.is_dir() else ((path.name, *_sign_file(path)),)


def _sign_file(path: Path) -> FileState:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        raise BadData(str(path), "does not exist") from None
    return stat.st_size, stat.st_mtime_ns


def _check_size(uri: str) -> None:
    """Refuse an archive that is larger than memory should be, before it is unpacked."""
    if not uri.endswith(".npz") or "://" in uri:
        return
    try:
        with ZipFile(uri) as archive:
            size = sum(file.file_size for file in archive.infolist())
    except BadZipFile:
        return  # loading it says what is wrong
    if size > _MOST_BYTES:
        raise BadData(uri, f"has {size:,} bytes of arrays, and the service reads at most {_MOST_BYTES:,}")


def _count_bytes(loaded: RunData) -> int:
    stored = _find_stored(loaded.data)
    arrays = stored.arrays.nbytes if isinstance(stored, ArrayData) else 0
    return int(arrays + 2 * stored.labels.nbytes + _BYTES_OF_FILE * len(loaded.states))
