"""A table: the rows of all shards under one URI."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from cachetools import LRUCache, cached

from ellzero.tables.errors import DamagedShard, NotATable
from ellzero.tables.format import shard
from ellzero.tables.format.keys import ColumnKey, order_of
from ellzero.tables.format.layouts import Layout, layout_of
from ellzero.tables.format.rows import ColumnSlice, End, group_by_key, merge_slices
from ellzero.tables.store import Store

# 25 bytes each: a hundred megabytes. Shards are sorted, so successive columns mostly lie in the same few.
_MOST_ROWS_OPEN = 4_000_000


@dataclass(frozen=True)
class Extent:
    """How far a column extends without a gap: rows 0..rows−1, and why it ends there."""

    rows: int
    end: End

    def lacks(self, last: int) -> bool:
        """Whether one of the rows 0..last is missing."""
        return self.end is End.CUT and self.rows <= last


class Table:
    """A grow-only set of immutable shards. Appending needs no lock; every read checks every byte."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, uri: str) -> "Table":
        """The table at a path or URI, which must hold one."""
        return cls(open_store(uri, shard.KIND))

    @classmethod
    def create(cls, uri: str) -> "Table":
        """The table at a path or URI, empty if there is nothing yet. Raises `NotATable` for anything else."""
        return cls(open_store(uri, shard.KIND, create=True))

    def append(self, slices: Iterable[ColumnSlice]) -> list[str]:
        """Add rows as new shards of bounded size and return their names. Adding rows twice changes nothing."""
        return [self.store.put(shard.encode(batch)) for batch in split_batches(slices)]

    def shards(self) -> Iterator[tuple[str, list[ColumnSlice]]]:
        """All shards, one after the other, with every byte checked."""
        for name in self.store.names():
            yield name, shard.decode(name, self.store.read(name))

    def columns(self) -> dict[ColumnKey, list[ColumnSlice]]:
        """All rows, by column in their order: disjoint runs, the first of which begins at 0 if it can."""

        def load() -> dict[ColumnKey, list[ColumnSlice]]:
            by_key = group_by_key(piece for _, slices in self.shards() for piece in slices)
            return {key: merge_slices(by_key[key]) for key in sorted(by_key, key=order_of)}

        return self.store.retry_reading(load)

    def column(self, key: ColumnKey) -> list[ColumnSlice]:
        """The rows of one column as in `columns`, read only from shards that have any; empty if the table has none."""

        def load() -> list[ColumnSlice]:
            slices: list[ColumnSlice] = []
            for name in self.store.names():
                data = self.store.read(name)
                if any(key == head.key for head in shard.describe_slices(name, data)):
                    slices += [piece for piece in shard.decode(name, data) if piece.key == key]
            return merge_slices(slices)

        return self.store.retry_reading(load)

    def iter_columns(self, names: list[str]) -> Iterator[tuple[ColumnKey, list[ColumnSlice]]]:
        """The slices of each column in these shards, in their order, with only a few shards in memory at a time."""
        holders: dict[ColumnKey, list[str]] = defaultdict(list)
        for name in names:
            for key in {head.key for head in shard.describe_slices(name, self.store.read(name))}:
                holders[key].append(name)
        # A single shard has at most `shard.MOST_ROWS` rows, so it always fits.
        cache: LRUCache[str, dict[ColumnKey, list[ColumnSlice]]] = LRUCache(_MOST_ROWS_OPEN, _count_rows)
        read = cached(cache, key=lambda name: name)(
            lambda name: group_by_key(shard.decode(name, self.store.read(name)))
        )
        for key in sorted(holders, key=order_of):
            slices = [piece for name in holders[key] for piece in read(name)[key]]
            yield key, [ColumnSlice(key, piece.first, piece.rows.copy(), piece.end) for piece in slices]

    def iter_runs(self, names: list[str]) -> Iterator[ColumnSlice]:
        """The rows of these shards in order, each once, in bounded memory."""
        for _, slices in self.iter_columns(names):
            yield from merge_slices(slices)

    def extents(self, on_damage: Callable[[DamagedShard], None] | None = None) -> dict[ColumnKey, Extent]:
        """How far each column extends, from the footers alone, in memory that does not grow with the rows.

        Every byte is checked; a damaged shard raises, or its error is passed to ``on_damage`` and it counts as missing.
        """

        def survey() -> dict[ColumnKey, Extent]:
            by_key: dict[ColumnKey, list[tuple[range, End]]] = defaultdict(list)
            for name in self.store.names():
                try:
                    data = self.store.read(name)
                except DamagedShard as error:
                    if on_damage is None:
                        raise
                    on_damage(error)
                    continue
                for head in shard.describe_slices(name, data):
                    by_key[head.key].append((head.counts, head.end))
            return {key: _extent(slices) for key, slices in by_key.items()}

        return self.store.retry_reading(survey)


def open_store(uri: str, expected_kind: str, create: bool = False) -> Store:
    """The store at a path or URI, which must hold a table of this kind; with ``create`` it may also be empty."""
    store = Store(uri)
    try:
        kind = read_kind(store)
    except DamagedShard:
        if not create:
            raise
        kind = expected_kind  # reading its rows would fail
    if kind is None and not create:
        raise NotATable(store.uri, "holds no table")
    if kind not in (None, expected_kind):
        raise NotATable(store.uri, f"holds a table of {kind}, not of {expected_kind}")
    if create:
        store.prepare()
    return store


def read_kind(store: Store) -> str | None:
    """The kind of the table in a store, from its first undamaged shard; None if there are no shards."""

    def read_first() -> str | None:
        failure: Exception | None = None
        for name in store.names():
            try:
                return str(shard.read_metadata(name, store.read(name))["kind"])
            except (FileNotFoundError, DamagedShard) as error:
                failure = error
        if failure is not None:
            raise failure
        return None

    return store.retry_reading(read_first)


def split_batches(slices: Iterable[ColumnSlice]) -> Iterator[list[ColumnSlice]]:
    """The slices in groups of one layout and of at most MOST_ROWS rows, cut where necessary."""
    batch: list[ColumnSlice] = []
    room = shard.MOST_ROWS
    layout: Layout | None = None
    for piece in slices:
        if batch and layout_of(piece.key) is not layout:
            yield batch
            batch, room = [], shard.MOST_ROWS
        layout = layout_of(piece.key)
        start = 0
        while start < len(piece.rows):
            stop = min(len(piece.rows), start + room)
            end = piece.end if stop == len(piece.rows) else End.CUT
            batch.append(ColumnSlice(piece.key, piece.first + start, piece.rows.between(start, stop), end))
            room -= stop - start
            start = stop
            if not room:
                yield batch
                batch, room = [], shard.MOST_ROWS
    if batch:
        yield batch


def _extent(slices: list[tuple[range, End]]) -> Extent:
    rows, end = 0, End.CUT
    for counts, reason in sorted(slices, key=lambda piece: (piece[0].start, piece[0].stop)):
        if counts.start > rows:
            break
        if counts.stop > rows:
            rows, end = counts.stop, reason
    return Extent(rows, end)


def _count_rows(by_key: dict[ColumnKey, list[ColumnSlice]]) -> int:
    return sum(len(piece.rows) for slices in by_key.values() for piece in slices)
