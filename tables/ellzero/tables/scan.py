"""Reading a whole table in order, in bounded memory."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterator

from ellzero.certificates import Noise
from ellzero.tables.format import shard
from ellzero.tables.format.rows import ColumnSlice, merged
from ellzero.tables.table import Table

# 25 bytes each: a hundred megabytes. Shards are sorted, so successive columns mostly lie in the same few.
_MOST_ROWS_OPEN = 4_000_000


class _OpenShards:
    """Decoded shards by noise, the last used ones within a number of rows."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._open: OrderedDict[str, dict[Noise, list[ColumnSlice]]] = OrderedDict()
        self._rows: dict[str, int] = {}

    def parts(self, name: str, noise: Noise) -> list[ColumnSlice]:
        """What a shard holds of a noise."""
        if name not in self._open:
            found: dict[Noise, list[ColumnSlice]] = defaultdict(list)
            decoded = shard.decode(name, self._table.store.read(name))
            for part in decoded:
                found[part.noise].append(part)
            self._rows[name] = sum(len(part.rows) for part in decoded)
            while self._open and sum(self._rows.values()) > _MOST_ROWS_OPEN:
                del self._rows[self._open.popitem(last=False)[0]]
            self._open[name] = found
        self._open.move_to_end(name)
        return self._open[name][noise]


def columns_in_order(table: Table, names: list[str]) -> Iterator[tuple[Noise, list[ColumnSlice]]]:
    """The parts of each noise in these shards, in order of (K, α), with few shards in memory at a time."""
    holders: dict[Noise, list[str]] = defaultdict(list)
    for name in names:
        for noise in {noise for noise, _, _ in shard.described(name, table.store.read(name))}:
            holders[noise].append(name)
    opened = _OpenShards(table)
    for noise in sorted(holders, key=lambda noise: (noise.k, noise.alpha)):
        parts = [part for name in holders[noise] for part in opened.parts(name, noise)]
        yield noise, [ColumnSlice(noise, part.first, part.rows.copied(), part.end) for part in parts]


def runs_in_order(table: Table, names: list[str]) -> Iterator[ColumnSlice]:
    """The rows of these shards in order of (K, α, r), each once."""
    for _, parts in columns_in_order(table, names):
        yield from merged(parts)
