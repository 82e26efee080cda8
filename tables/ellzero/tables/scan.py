"""Reading a whole table in order, in bounded memory."""

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

from ellzero.certificates import Noise
from ellzero.tables import shard
from ellzero.tables.rows import Part, merged
from ellzero.tables.table import Table

# Shards are sorted, so successive columns mostly lie in the same few: 7 MB each in memory at most.
_OPEN_SHARDS = 8


def columns_in_order(table: Table, names: list[str]) -> Iterator[tuple[Noise, list[Part]]]:
    """The parts of each noise in these shards, in order of (K, α), with few shards in memory at a time."""
    holders: dict[Noise, list[str]] = defaultdict(list)
    for name in names:
        for noise in {noise for noise, _, _ in shard.described(name, table.store.read(name))}:
            holders[noise].append(name)
    by_noise = lru_cache(_OPEN_SHARDS)(lambda name: _by_noise(table, name))
    for noise in sorted(holders, key=lambda noise: (noise.k, noise.alpha)):
        parts = [part for name in holders[noise] for part in by_noise(name)[noise]]
        yield noise, [Part(noise, part.first, part.rows.copied(), part.end) for part in parts]


def runs_in_order(table: Table, names: list[str]) -> Iterator[Part]:
    """The rows of these shards in order of (K, α, r), each once."""
    for _, parts in columns_in_order(table, names):
        yield from merged(parts)


def _by_noise(table: Table, name: str) -> dict[Noise, list[Part]]:
    found: dict[Noise, list[Part]] = defaultdict(list)
    for part in shard.decode(name, table.store.read(name)):
        found[part.noise].append(part)
    return found
