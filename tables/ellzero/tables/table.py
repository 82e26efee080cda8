"""A table: what the shards under one URI say together."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from ellzero.certificates import Noise
from ellzero.tables.errors import DamagedShard, NotATable
from ellzero.tables.format import shard
from ellzero.tables.format.rows import ColumnSlice, End, merge_slices
from ellzero.tables.store import Store

T = TypeVar("T")


@dataclass(frozen=True)
class Extent:
    """How far a column goes without a gap: rows 0..rows−1, and why it ends there."""

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
        return cls(store_of(uri, shard.KIND))

    @classmethod
    def create(cls, uri: str) -> "Table":
        """The table at a path or URI, empty if there is nothing yet. Refuses a place that holds anything else."""
        return cls(store_of(uri, shard.KIND, create=True))

    def append(self, slices: Iterable[ColumnSlice]) -> list[str]:
        """Add rows as new shards of bounded size and return their names. Adding what is there changes nothing."""
        return [self.store.put(shard.encode(batch)) for batch in batches(slices)]

    def shards(self) -> Iterator[tuple[str, list[ColumnSlice]]]:
        """All shards, one after the other, each checked to the byte."""
        for name in self.store.names():
            yield name, shard.decode(name, self.store.read(name))

    def columns(self) -> dict[Noise, list[ColumnSlice]]:
        """All rows, by noise in order of K and α: disjoint runs, the first of which begins at r = 0 if it can."""

        def load() -> dict[Noise, list[ColumnSlice]]:
            found: dict[Noise, list[ColumnSlice]] = defaultdict(list)
            for _, slices in self.shards():
                for piece in slices:
                    found[piece.noise].append(piece)
            return {
                noise: merge_slices(found[noise]) for noise in sorted(found, key=lambda noise: (noise.k, noise.alpha))
            }

        return self.store.retry_reading(load)

    def column(self, noise: Noise) -> list[ColumnSlice]:
        """The rows of one noise as `columns` has them, from the shards that hold any; none if the table lacks it."""

        def load() -> list[ColumnSlice]:
            found: list[ColumnSlice] = []
            for name in self.store.names():
                data = self.store.read(name)
                if any(noise == announced for announced, _, _ in shard.describe_slices(name, data)):
                    found += [piece for piece in shard.decode(name, data) if piece.noise == noise]
            return merge_slices(found)

        return self.store.retry_reading(load)

    def extents(self, damaged: Callable[[DamagedShard], None] | None = None) -> dict[Noise, Extent]:
        """How far each column goes, from the footers alone, in memory that does not grow with the rows.

        Every byte is checked; a shard with a wrong one raises, or is handed to ``damaged`` and counts as absent.
        """

        def survey() -> dict[Noise, Extent]:
            found: dict[Noise, list[tuple[range, End]]] = defaultdict(list)
            for name in self.store.names():
                try:
                    data = self.store.read(name)
                except DamagedShard as error:
                    if damaged is None:
                        raise
                    damaged(error)
                    continue
                for noise, radii, end in shard.describe_slices(name, data):
                    found[noise].append((radii, end))
            return {noise: _extent(slices) for noise, slices in found.items()}

        return self.store.retry_reading(survey)


def store_of(uri: str, wanted: str, create: bool = False) -> Store:
    """The store at a path or URI, which holds a table of the wanted kind; with ``create`` it may also be empty."""
    store = Store(uri)
    try:
        found = kind(store)
    except DamagedShard:
        if not create:
            raise
        found = wanted  # as far as anyone can tell; reading it tells more
    if found is None and not create:
        raise NotATable(store.uri, "holds no table")
    if found not in (None, wanted):
        raise NotATable(store.uri, f"holds a table of {found}, not of {wanted}")
    if create:
        store.prepare()
    return store


def kind(store: Store) -> str | None:
    """What the shards of a store hold, None where there are none. If a shard is damaged the next one is asked."""

    def first_answer() -> str | None:
        trouble: Exception | None = None
        for name in store.names():
            try:
                return str(shard.read_metadata(name, store.read(name))["kind"])
            except (FileNotFoundError, DamagedShard) as error:
                trouble = error
        if trouble is not None:
            raise trouble
        return None

    return store.retry_reading(first_answer)


def batches(slices: Iterable[ColumnSlice]) -> Iterator[list[ColumnSlice]]:
    """Parts in groups of at most MOST_ROWS rows, cut where they have to be."""
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
