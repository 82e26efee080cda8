"""Where shards are stored: a flat, grow-only set of immutable files, each named by the SHA-256 of its bytes.

It needs no lock and no log: a shard appears whole or not at all, two writers of the same bytes write the same file, and
a wrong byte contradicts the name. Any number of processes may put, read and list at once.

A shard written by a compaction also has a generation in its name, one more than the highest it was merged from. So its
name has never been used before: otherwise a compaction could rely on a shard that a slower one is about to delete.
"""

import hashlib
import re
from collections.abc import Callable
from typing import TypeVar

from ellzero.core.storage import Folder, is_scratch
from ellzero.tables.errors import DamagedShard, NotATable

T = TypeVar("T")

_SHARD = re.compile(r"(?P<digest>[0-9a-f]{64})(-(?P<generation>[1-9]\d{0,8}))?\.parquet", re.ASCII)
_DAMAGED_SUFFIX = ".damaged"
# Listing is repeated until two listings are the same: meanwhile rows may move from a shard not listed yet to one that
# appears behind the listing.
_MOST_LISTINGS = 20
_MOST_READINGS = 10


class Store(Folder):
    """The shards under one URI, see `Folder`."""

    def names(self) -> list[str]:
        """The names of all shards, sorted. Raises `NotATable` for a place that holds something else."""
        before: set[str] | None = None
        for _ in range(_MOST_LISTINGS):
            files = self._list_files()
            shards = {name for name in files if _SHARD.fullmatch(name)}
            if shards == before:
                break
            before = shards
        strange = sorted(name for name in files.keys() - shards if not _is_auxiliary(name))
        for name in strange:
            if name.endswith(".parquet"):
                raise NotATable(self.uri, f"is not a table of ellzero: {name} is not one of its shards")
        if strange and not shards:
            raise NotATable(self.uri, f"is not a table of ellzero: it holds {strange[0]}")
        return sorted(shards)

    def read(self, name: str) -> bytes:
        """The bytes of a shard, checked to be those that were written. Raises FileNotFoundError if it is gone."""
        data = super().read(name)
        if hashlib.sha256(data).hexdigest() != digest_of(name):
            raise DamagedShard(name, "is damaged: its bytes are not those that its name promises")
        return data

    def retry_reading(self, reading: Callable[[], T]) -> T:
        """The result of ``reading``, which is started again if a compaction deletes a shard that it has listed."""
        for _ in range(_MOST_READINGS - 1):
            try:
                return reading()
            except FileNotFoundError:
                continue
        return reading()

    def put(self, data: bytes, generation: int = 0) -> str:
        """Write a shard durably and return its name. It appears whole or not at all, and replaces a damaged copy."""
        name = f"{hashlib.sha256(data).hexdigest()}{f'-{generation}' if generation else ''}.parquet"
        self.write(name, data)
        return name

    def set_aside(self, name: str) -> None:
        """Rename a damaged shard so that it leaves the table but its bytes are kept, unless that has been done."""
        self.move(name, name + _DAMAGED_SUFFIX)

    def _list_files(self) -> dict[str, float]:
        try:
            return self.files()
        except NotADirectoryError:
            raise NotATable(self.uri, "is a file, and a table is a directory") from None


def digest_of(name: str) -> str:
    """The SHA-256 that a shard's name promises."""
    return name[:64]


def generation_of(name: str) -> int:
    """How many compactions led to a shard, from its name."""
    match = _SHARD.fullmatch(name)
    return int(match["generation"] or 0) if match else 0


def _is_auxiliary(name: str) -> bool:
    """Whether a file belongs to a table without being a shard."""
    return is_scratch(name) or name.endswith(_DAMAGED_SUFFIX)
