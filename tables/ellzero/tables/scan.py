"""Reading a whole table in order, in bounded memory."""

from collections import defaultdict
from collections.abc import Iterator

from cachetools import LRUCache, cached

from ellzero.certificates import Noise
from ellzero.tables.format import shard
from ellzero.tables.format.rows import ColumnSlice, merge_slices
from ellzero.tables.table import Table

# 25 bytes each: a hundred megabytes. Shards are sorted, so successive columns mostly lie in the same few.
_MOST_ROWS_OPEN = 4_000_000


def _decode(table: Table, name: str) -> dict[Noise, list[ColumnSlice]]:
    """The slices of a shard, by noise."""
    by_noise: dict[Noise, list[ColumnSlice]] = defaultdict(list)
    for piece in shard.decode(name, table.store.read(name)):
        by_noise[piece.noise].append(piece)
    return by_noise


def _count_rows(by_noise: dict[Noise, list[ColumnSlice]]) -> int:
    return sum(len(piece.rows) for slices in by_noise.values() for piece in slices)


def columns_in_order(table: Table, names: list[str]) -> Iterator[tuple[Noise, list[ColumnSlice]]]:
    """The slices of each noise in these shards, in order of (K, α), with few shards in memory at a time."""
    holders: dict[Noise, list[str]] = defaultdict(list)
    for name in names:
        for noise in {noise for noise, _, _ in shard.describe_slices(name, table.store.read(name))}:
            holders[noise].append(name)
    # A single shard has at most `shard.MOST_ROWS` rows, so that it always fits.
    opened: LRUCache[str, dict[Noise, list[ColumnSlice]]] = LRUCache(_MOST_ROWS_OPEN, _count_rows)
    decode = cached(opened, key=lambda name: name)(lambda name: _decode(table, name))
    for noise in sorted(holders, key=lambda noise: (noise.k, noise.alpha)):
        slices = [piece for name in holders[noise] for piece in decode(name)[noise]]
        yield noise, [ColumnSlice(noise, piece.first, piece.rows.copy(), piece.end) for piece in slices]


def runs_in_order(table: Table, names: list[str]) -> Iterator[ColumnSlice]:
    """The rows of these shards in order of (K, α, r), each once."""
    for _, slices in columns_in_order(table, names):
        yield from merge_slices(slices)
