"""Compaction: many shards become few, and what was merged goes."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from ellzero.tables.format import shard
from ellzero.tables.scan import runs_in_order
from ellzero.tables.store import digest_of, generation_of
from ellzero.tables.table import Table, batches


class Compacted(NamedTuple):
    """What a compaction did."""

    shards_before: int
    shards_after: int
    bytes_before: int
    bytes_after: int


def compact(table: Table) -> Compacted:
    """Merge all shards into as few as possible, sorted and without double rows, then delete exactly those merged.

    Safe beside readers, writers and other compactions: a shard goes only after all its rows lie durably in another one,
    of a later generation, which nobody who listed the table before can be about to delete. The bytes of the result
    depend on the rows alone, not on the shards they came in. Memory is bounded by the largest column.
    """

    def once() -> Compacted:
        before = table.store.names()
        bytes_before = sum(table.store.size(name) for name in before)
        if _is_compact(table, before):
            return Compacted(len(before), len(before), bytes_before, bytes_before)
        generation = 1 + max(map(generation_of, before), default=0)
        written = [table.store.put(data, generation) for data in _merged_shards(table, before)]
        table.store.remove(before)
        return Compacted(len(before), len(written), bytes_before, sum(map(table.store.size, written)))

    done = table.store.retry_reading(once)
    table.store.sweep()
    return done


def _merged_shards(table: Table, names: list[str]) -> Iterator[bytes]:
    return map(shard.encode, batches(runs_in_order(table, names)))


def _is_compact(table: Table, names: list[str]) -> bool:
    """Whether these shards are what merging them would give."""
    rows = sum(len(radii) for name in names for _, radii, _ in shard.describe_slices(name, table.store.read(name)))
    if len(names) > -(-rows // shard.MOST_ROWS):
        return False
    digests = [hashlib.sha256(data).hexdigest() for data in _merged_shards(table, names)]
    return sorted(digests) == sorted(map(digest_of, names))
