"""Compaction: merging many shards into few."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ellzero.tables.format import shard
from ellzero.tables.format.layouts import layout_of
from ellzero.tables.store import digest_of, generation_of
from ellzero.tables.table import Table, split_batches


class CompactionReport(NamedTuple):
    """What a compaction did."""

    shards_before: int
    shards_after: int
    bytes_before: int
    bytes_after: int


def compact(table: Table) -> CompactionReport:
    """Merge all shards into as few as possible, sorted and without duplicate rows, then delete exactly those merged.

    Safe while others read, write or compact: a shard is deleted only after all its rows are stored durably in another
    one, of a later generation, which nobody who listed the table before can be about to delete. The bytes of the result
    depend on the rows alone, not on the shards they were in. Memory is bounded by the largest column.
    """

    def run() -> CompactionReport:
        before = table.store.names()
        bytes_before = sum(table.store.size(name) for name in before)
        if _is_compact(table, before):
            return CompactionReport(len(before), len(before), bytes_before, bytes_before)
        generation = 1 + max(map(generation_of, before), default=0)
        shards = [table.store.put(data, generation) for data in _merge_shards(table, before)]
        table.store.remove(before)
        return CompactionReport(len(before), len(shards), bytes_before, sum(map(table.store.size, shards)))

    report = table.store.retry_reading(run)
    table.store.sweep()
    return report


def _merge_shards(table: Table, names: list[str]) -> Iterator[bytes]:
    return map(shard.encode, split_batches(table.iter_runs(names)))


def _is_compact(table: Table, names: list[str]) -> bool:
    """Whether merging these shards would give the same shards."""
    rows: Counter[int] = Counter()  # by layout: a shard has one
    for name in names:
        for head in shard.describe_slices(name, table.store.read(name)):
            rows[layout_of(head.key).version] += len(head.counts)
    if len(names) > sum(-(-count // shard.MOST_ROWS) for count in rows.values()):
        return False
    digests = [hashlib.sha256(data).hexdigest() for data in _merge_shards(table, names)]
    return sorted(digests) == sorted(map(digest_of, names))
