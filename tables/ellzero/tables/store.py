"""Where shards lie: a flat, grow-only set of immutable files, each named by the SHA-256 of its bytes.

No lock and no log: a shard appears whole or not at all, two writers of the same bytes write the same file, and a
wrong byte shows in the name. Any number of processes may put, read and list at once.

A shard that a compaction wrote also has a generation in its name, one more than those it was made of. So its name is
none that was there before: otherwise one compaction could count on a shard that a slower one is about to delete.
"""

import hashlib
import re
from collections.abc import Callable
from typing import TypeVar

from ellzero.core.storage import Folder, is_scratch
from ellzero.tables.errors import DamagedShard, NotATable

T = TypeVar("T")

_SHARD = re.compile(r"(?P<digest>[0-9a-f]{64})(-(?P<generation>[1-9]\d{0,8}))?\.parquet", re.ASCII)
_SET_ASIDE = ".damaged"
# A listing is taken again until it is the same twice: while it goes on, rows may move from a shard that it has not come
# to into one that it has passed.
_MOST_LISTINGS = 20
_MOST_READINGS = 10


class Store(Folder):
    """The shards under one URI, see `Folder`."""

    def names(self) -> list[str]:
        """The names of all shards, sorted. Refuses a place that holds anything else instead of a table."""
        before: set[str] | None = None
        for _ in range(_MOST_LISTINGS):
            found = self._found()
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
        data = super().read(name)
        if hashlib.sha256(data).hexdigest() != digest_of(name):
            raise DamagedShard(name, "is damaged: its bytes are not those that its name promises")
        return data

    def retry_reading(self, reading: Callable[[], T]) -> T:
        """What ``reading`` gives; again from its start if a compaction took a shard away that it had listed."""
        for _ in range(_MOST_READINGS - 1):
            try:
                return reading()
            except FileNotFoundError:
                continue
        return reading()

    def put(self, data: bytes, generation: int = 0) -> str:
        """Write a shard durably and return its name. It appears whole or not at all, and heals a damaged one."""
        name = f"{hashlib.sha256(data).hexdigest()}{f'-{generation}' if generation else ''}.parquet"
        self.write(name, data)
        return name

    def set_aside(self, name: str) -> None:
        """Take a damaged shard out of the table, keeping its bytes beside it, unless somebody else has done so."""
        self.move(name, name + _SET_ASIDE)

    def _found(self) -> dict[str, float]:
        try:
            return self.files()
        except NotADirectoryError:
            raise NotATable(self.uri, "is a file, and a table is a directory") from None


def digest_of(name: str) -> str:
    """The SHA-256 that a shard's name promises."""
    return name[:64]


def generation_of(name: str) -> int:
    """How many compactions lie behind a shard, from its name."""
    found = _SHARD.fullmatch(name)
    return int(found["generation"] or 0) if found else 0


def _is_by_the_way(name: str) -> bool:
    """Whether a file belongs to a table without being a shard."""
    return is_scratch(name) or name.endswith(_SET_ASIDE)
