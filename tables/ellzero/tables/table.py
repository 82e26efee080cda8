"""A table: the rows of all shards under one URI."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from cachetools import LRUCache, cached

from ellzero.certificates import Discrete
from ellzero.tables.errors import DamagedShard, NotATable
from ellzero.tables.format import shard
from ellzero.tables.format.rows import ColumnSlice, End, group_by_noise, merge_slices
from ellzero.tables.store import Store

# 25 bytes each: a hundred megabytes. Shards are sorted, so successive columns mostly lie in the same few.
_MOST_ROWS_OPEN = 4_000_000


@dataclass(frozen=True)
class Extent:
    """How far a column extends without a gap: rows 0..rows−1, and why it ends there."""

    rows: int
    end: End

    def lacks(self, r_end: int) -> bool:
        """Whether a row r ≤ r_end is missing."""
        return self.end is End.CUT and self.rows <= r_end


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

    def columns(self) -> dict[Discrete, list[ColumnSlice]]:
        """All rows, by noise in order of K and α: disjoint runs, the first of which begins at r = 0 if it can."""

        def load() -> dict[Discrete, list[ColumnSlice]]:
            by_noise = group_by_noise(piece for _, slices in self.shards() for piece in slices)
            return {noise: merge_slices(by_noise[noise]) for noise in sorted(by_noise, key=_noise_key)}

        return self.store.retry_reading(load)

    def column(self, noise: Discrete) -> list[ColumnSlice]:
        """The rows of one noise as in `columns`, read only from shards that have any; empty if the table has none."""

        def load() -> list[ColumnSlice]:
            slices: list[ColumnSlice] = []
            for name in self.store.names():
                data = self.store.read(name)
                if any(noise == other for other, _, _ in shard.describe_slices(name, data)):
                    slices += [piece for piece in shard.decode(name, data) if piece.noise == noise]
            return merge_slices(slices)

        return self.store.retry_reading(load)

    def iter_columns(self, names: list[str]) -> Iterator[tuple[Discrete, list[ColumnSlice]]]:
        """The slices of each noise in these shards, in order of (K, α), with only a few shards in memory at a time."""
        holders: dict[Discrete, list[str]] = defaultdict(list)
        for name in names:
            for noise in {noise for noise, _, _ in shard.describe_slices(name, self.store.read(name))}:
                holders[noise].append(name)
        # A single shard has at most `shard.MOST_ROWS` rows, so it always fits.
        cache: LRUCache[str, dict[Discrete, list[ColumnSlice]]] = LRUCache(_MOST_ROWS_OPEN, _count_rows)
        read = cached(cache, key=lambda name: name)(
            lambda name: group_by_noise(shard.decode(name, self.store.read(name)))
        )
        for noise in sorted(holders, key=_noise_key):
            slices = [piece for name in holders[noise] for piece in read(name)[noise]]
            yield noise, [ColumnSlice(noise, piece.first, piece.rows.copy(), piece.end) for piece in slices]

    def iter_runs(self, names: list[str]) -> Iterator[ColumnSlice]:
        """The rows of these shards in order of (K, α, r), each once, in bounded memory."""
        for _, slices in self.iter_columns(names):
            yield from merge_slices(slices)

    def extents(self, on_damage: Callable[[DamagedShard], None] | None = None) -> dict[Discrete, Extent]:
        """How far each column extends, from the footers alone, in memory that does not grow with the rows.

        Every byte is checked; a damaged shard raises, or its error is passed to ``on_damage`` and it counts as missing.
        """

        def survey() -> dict[Discrete, Extent]:
            by_noise: dict[Discrete, list[tuple[range, End]]] = defaultdict(list)
            for name in self.store.names():
                try:
                    data = self.store.read(name)
                except DamagedShard as error:
                    if on_damage is None:
                        raise
                    on_damage(error)
                    continue
                for noise, radii, end in shard.describe_slices(name, data):
                    by_noise[noise].append((radii, end))
            return {noise: _extent(slices) for noise, slices in by_noise.items()}

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
    """The slices in groups of at most MOST_ROWS rows, cut where necessary."""
    batch: list[ColumnSlice] = []
    room = shard.MOST_ROWS
    for piece in slices:
        start = 0
        while start < len(piece.rows):
            stop = min(len(piece.rows), start + room)
            end = piece.end if stop == len(piece.rows) else End.CUT
            batch.append(ColumnSlice(piece.noise, piece.first + start, piece.rows.between(start, stop), end))
            room -= stop - start
            start = stop
            if not room:
                yield batch
                batch, room = [], shard.MOST_ROWS
    if batch:
        yield batch


def _extent(slices: list[tuple[range, End]]) -> Extent:
    rows, end = 0, End.CUT
    for radii, reason in sorted(slices, key=lambda piece: (piece[0].start, piece[0].stop)):
        if radii.start > rows:
            break
        if radii.stop > rows:
            rows, end = radii.stop, reason
    return Extent(rows, end)


def _noise_key(noise: Discrete) -> tuple[int, Fraction]:
    return noise.k, noise.alpha


def _count_rows(by_noise: dict[Discrete, list[ColumnSlice]]) -> int:
    return sum(len(piece.rows) for slices in by_noise.values() for piece in slices)
