"""A table is the union of its shards, however they were cut; compaction changes shards and never rows."""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pyarrow
import pytest
from command_line import Ellzero, run_together
from hypothesis import given, settings, strategies as st
from oracles.tables import UNIT, alter_row, contents, cut, exact_slice, files, list_rows, rows_from, with_footer
from s3_server import S3Place

from ellzero.certificates import Discrete, InvalidInput, paper_threshold
from ellzero.tables import (
    ColumnSlice,
    CompactionReport,
    Contradiction,
    DamagedShard,
    End,
    Extent,
    NotATable,
    PaperTable,
    Table,
    TableError,
    ThresholdIndex,
    compact,
    lee2019_table,
    verify,
)
from ellzero.tables.format import shard
from ellzero.tables.store import Store, digest_of, generation_of
from ellzero.tables.verification import compare_tables

BYTES, BITS, DNA, FLAT = Discrete(255, "1/10"), Discrete(1, "4/5"), Discrete(3, "1/3"), Discrete(3, "1/4")
WHOLE = {noise: exact_slice(noise, r_max) for noise, r_max in ((BYTES, None), (BITS, None), (DNA, 40), (FLAT, None))}


@st.composite
def shards_of(draw: st.DrawFn) -> list[list[ColumnSlice]]:
    """All rows of the four columns, some more than once, cut into slices and the slices into shards."""
    slices = []
    for whole in WHOLE.values():
        cuts = sorted({0, whole.stop, *draw(st.lists(st.integers(0, whole.stop), max_size=3))})
        again = draw(st.lists(st.tuples(st.sampled_from(cuts), st.sampled_from(cuts)), max_size=2))
        ends = [*pairwise(cuts), *(two for two in again if two[0] < two[1])]
        slices += [cut(whole, first, stop) for first, stop in ends]
    shards: dict[int, list[ColumnSlice]] = {}
    for piece in draw(st.permutations(slices)):
        shards.setdefault(draw(st.integers(0, 5)), []).append(piece)
    return list(shards.values())


def compact_files(shards: list[list[ColumnSlice]], most_rows: int) -> tuple[dict[str, bytes], CompactionReport]:
    """The files of a table after compaction."""
    with TemporaryDirectory() as directory, patch.object(shard, "MOST_ROWS", most_rows):
        table = Table.create(directory)
        for slices in shards:
            table.append(slices)
        before = contents(table)
        report = compact(table)
        after = files(Path(directory))
        assert contents(table) == before == {noise: [list_rows(WHOLE[noise])] for noise in sorted_noises()}
        assert compact(table) == (report.shards_after, report.shards_after, report.bytes_after, report.bytes_after)
        assert files(Path(directory)) == after
    return after, report


def sorted_noises() -> list[Discrete]:
    return sorted(WHOLE, key=lambda noise: (noise.k, noise.alpha))


@settings(max_examples=8)
@given(shards_of(), st.sampled_from([30, 100, 262_144]))
def test_compaction_keeps_every_row_and_its_bytes_depend_on_the_rows_alone(
    shards: list[list[ColumnSlice]], most_rows: int
) -> None:
    after, report = compact_files(shards, most_rows)
    expected = compact_files([list(WHOLE.values())], most_rows)[0]
    assert {digest_of(name): data for name, data in after.items()} == {
        digest_of(name): data for name, data in expected.items()
    }
    rows = sum(whole.stop for whole in WHOLE.values())
    assert len(after) == report.shards_after == -(-rows // most_rows)
    assert sum(map(len, after.values())) == report.bytes_after


def test_appending_what_is_there_changes_nothing(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    names = table.append(WHOLE.values())
    before = files(tmp_path)
    assert table.append(WHOLE.values()) == names
    assert files(tmp_path) == before
    assert list(before) == names


def test_rows_that_are_appended_twice_at_once_are_in_the_shard_once(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    table.append([WHOLE[BITS], WHOLE[BITS], cut(WHOLE[BITS], 0, 5)])
    assert contents(table) == {BITS: [list_rows(WHOLE[BITS])]}
    assert verify(table).problems == []


def test_a_slice_that_is_not_what_it_says_is_not_appended(tmp_path: Path) -> None:
    """It could not be read again, and with it the whole table could not."""
    table = Table.create(str(tmp_path))
    table.append([WHOLE[BYTES]])
    before = files(tmp_path)
    wrong = ColumnSlice(BITS, 0, WHOLE[BITS].rows.between(0, 9), End.COMPLETE)
    with suppress(TableError, InvalidInput):
        table.append([wrong])
        assert table.extents()[BITS] == Extent(9, End.CUT)
    assert contents(table)[BYTES] == [list_rows(WHOLE[BYTES])]
    assert files(tmp_path).items() >= before.items()


def test_a_large_column_is_appended_as_shards_of_bounded_size(tmp_path: Path) -> None:
    with patch.object(shard, "MOST_ROWS", 50):
        table = Table.create(str(tmp_path))
        names = table.append([WHOLE[BYTES], WHOLE[BITS]])
    assert len(names) == 4
    slices = [(piece.noise.k, piece.first, piece.stop, piece.end) for _, slices in table.shards() for piece in slices]
    assert sorted(slices) == [
        (1, 0, 14, End.CUT),
        (1, 14, 53, End.COMPLETE),
        (255, 0, 50, End.CUT),
        (255, 50, 100, End.CUT),
        (255, 100, 136, End.COMPLETE),
    ]
    assert contents(table) == {BITS: [list_rows(WHOLE[BITS])], BYTES: [list_rows(WHOLE[BYTES])]}
    assert table.extents() == {BYTES: Extent(136, End.COMPLETE), BITS: Extent(53, End.COMPLETE)}
    assert table.append([]) == []


def test_opening_a_place_without_a_table_is_an_error(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(NotATable) as error:
            Table.open(str(place))
        assert str(error.value) == f"{place} holds no table"
    assert files(tmp_path) == {}
    assert not (tmp_path / "missing").exists()


def test_a_table_of_the_paper_is_another_table(tmp_path: Path) -> None:
    uri = str(tmp_path)
    PaperTable.create(uri).append([paper_threshold(BITS, 5, 1)])
    for make in (Table.open, Table.create):
        with pytest.raises(NotATable) as error:
            make(uri)
        assert str(error.value) == f"{tmp_path} holds a table of paper thresholds, not of thresholds"
    other = str(tmp_path / "other")
    Table.create(other).append([WHOLE[FLAT]])
    for make_other in (PaperTable.open, PaperTable.create):
        with pytest.raises(NotATable) as error:
            make_other(other)
        assert str(error.value) == f"{other} holds a table of thresholds, not of paper thresholds"


def test_extents_say_how_far_columns_go_without_a_gap(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    table.append([cut(WHOLE[BYTES], 0, 9), cut(WHOLE[DNA], 5, 9), WHOLE[FLAT]])
    assert table.extents() == {BYTES: Extent(9, End.CUT), DNA: Extent(0, End.CUT), FLAT: Extent(1, End.FLAT)}
    table.append([cut(WHOLE[BYTES], 20, 136)])
    assert table.extents()[BYTES] == Extent(9, End.CUT)
    table.append([cut(WHOLE[BYTES], 3, 19)])
    assert table.extents()[BYTES] == Extent(19, End.CUT)
    table.append([cut(WHOLE[BYTES], 19, 20)])
    assert table.extents()[BYTES] == Extent(136, End.COMPLETE)
    table.append([cut(WHOLE[DNA], 0, 41)])
    assert table.extents()[DNA] == Extent(41, End.CUT)


def test_extents_know_what_is_lacking() -> None:
    assert [Extent(9, End.CUT).lacks(r) for r in (0, 8, 9, 1000)] == [False, False, True, True]
    assert not Extent(9, End.COMPLETE).lacks(1000)
    assert not Extent(1, End.FLAT).lacks(1000)
    assert Extent(0, End.CUT).lacks(0)


@settings(max_examples=20)
@given(shards_of())
def test_extents_of_any_shards_are_those_of_the_columns(shards: list[list[ColumnSlice]]) -> None:
    with TemporaryDirectory() as directory:
        table = Table.create(directory)
        for slices in shards[1:]:  # one is left out, so that there are gaps
            table.append(slices)
        columns = table.columns()
        expected = {
            noise: Extent(runs[0].stop, runs[0].end) if runs[0].first == 0 else Extent(0, End.CUT)
            for noise, runs in columns.items()
        }
        assert table.extents() == expected
        discrete = [noise for noise in columns if isinstance(noise, Discrete)]
        assert [*columns] == sorted(discrete, key=lambda noise: (noise.k, noise.alpha))
        for noise, runs in zip(discrete, columns.values(), strict=True):
            assert [list_rows(run) for run in runs] == [
                list_rows(cut(WHOLE[noise], run.first, run.stop)) for run in runs
            ]


def test_a_shard_of_another_kind_or_of_none_is_one_line(tmp_path: Path) -> None:
    data = shard.encode([WHOLE[BITS]])
    kindless = Table.create(str(tmp_path / "kindless"))
    kindless.store.put(with_footer(data, lambda metadata: metadata.pop("kind")))
    mixture = Table.create(str(tmp_path / "mixed"))
    mixture.append([WHOLE[BITS]])
    mixture.store.put(lee2019_table.encode([paper_threshold(BITS, 5, 1)]))
    for table in (kindless, mixture):
        with pytest.raises(TableError) as error:
            Table.open(table.store.uri).columns()
        assert "\n" not in str(error.value)


def damaged_table(directory: Path) -> tuple[Table, str]:
    table = Table.create(str(directory))
    table.append([WHOLE[BYTES]])
    (name,) = table.append([cut(WHOLE[BITS], 0, 20)])
    table.append([cut(WHOLE[BITS], 20, 53)])
    data = bytearray((directory / name).read_bytes())
    data[len(data) // 2] ^= 1
    (directory / name).write_bytes(data)
    return table, name


def test_a_damaged_shard_stops_every_reader_that_does_not_handle_it(tmp_path: Path) -> None:
    table, name = damaged_table(tmp_path)
    for read in (table.columns, table.extents, lambda: list(table.shards())):
        with pytest.raises(DamagedShard, match=f"^shard {name} is damaged"):
            read()
    errors: list[DamagedShard] = []
    assert table.extents(errors.append) == {BYTES: Extent(136, End.COMPLETE), BITS: Extent(0, End.CUT)}
    assert [error.name for error in errors] == [name]


def test_a_table_of_damaged_shards_only_can_be_written_on_and_not_be_read(tmp_path: Path) -> None:
    (name,) = Table.create(str(tmp_path)).append([WHOLE[BITS]])
    (tmp_path / name).write_bytes(b"PAR1")
    with pytest.raises(DamagedShard):
        Table.open(str(tmp_path))
    table = Table.create(str(tmp_path))
    assert table.append([WHOLE[BITS]]) == [name]
    assert contents(table) == {BITS: [list_rows(WHOLE[BITS])]}


def test_compaction_of_a_damaged_table_deletes_nothing(tmp_path: Path) -> None:
    table, name = damaged_table(tmp_path)
    before = files(tmp_path)
    with pytest.raises(DamagedShard, match=f"^shard {name} is damaged"):
        compact(table)
    assert files(tmp_path).items() >= before.items()


def test_compaction_of_shards_that_contradict_each_other_deletes_nothing(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    table.append([cut(WHOLE[BYTES], 0, 20)])
    table.append([cut(alter_row(WHOLE[BYTES], 9, units=1), 5, 40)])
    before = files(tmp_path)
    with pytest.raises(Contradiction, match="K = 255, α = 1/10, r from 5 to 19"):
        compact(table)
    assert files(tmp_path).items() >= before.items()


def test_a_compaction_that_fails_to_write_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table.create(str(tmp_path))
    for noise in (BYTES, BITS, DNA):
        table.append([WHOLE[noise]])
    before = files(tmp_path)

    def full(data: bytes, generation: int = 0) -> str:
        raise OSError("No space left on device")

    monkeypatch.setattr(table.store, "put", full)
    with pytest.raises(OSError, match="No space left"):
        compact(table)
    assert files(tmp_path) == before


def test_rows_appended_during_a_compaction_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, other = Table.create(str(tmp_path)), Table.create(str(tmp_path))
    for noise in (BYTES, BITS):
        table.append([cut(WHOLE[noise], 0, 20)])
    real = {name: getattr(table.store, name) for name in ("put", "remove")}

    def put(data: bytes, generation: int = 0) -> str:
        other.append([WHOLE[DNA]])
        other.append([cut(WHOLE[BITS], 10, 53)])
        return str(real["put"](data, generation))

    def remove(names: list[str]) -> None:
        other.append([WHOLE[FLAT]])
        real["remove"](names)

    monkeypatch.setattr(table.store, "put", put)
    monkeypatch.setattr(table.store, "remove", remove)
    compact(table)
    assert table.extents() == {
        BYTES: Extent(20, End.CUT),
        BITS: Extent(53, End.COMPLETE),
        DNA: Extent(41, End.CUT),
        FLAT: Extent(1, End.FLAT),
    }


def test_readers_see_every_row_while_others_write_and_compact(tmp_path: Path) -> None:
    whole, table, mirror = WHOLE[BYTES], Table.create(str(tmp_path)), Table(Table.create(str(tmp_path)).store)
    durable, report = [0], threading.Event()
    wrong: list[Any] = []
    reads = [0]

    def read() -> None:
        while not report.is_set():
            least = durable[0]
            lengths = (mirror.extents()[BYTES].rows, mirror.columns()[BYTES][0].stop)
            wrong.extend((rows, least) for rows in lengths if rows < least)
            reads[0] += 1

    table.append([cut(whole, 0, 1)])
    readers = [threading.Thread(target=_reporting(read, wrong)) for _ in range(2)]
    for reader in readers:
        reader.start()
    for r in range(1, whole.stop):
        table.append([cut(whole, max(0, r - 3), r + 1)])
        durable[0] = r + 1
        if r % 3 == 0:
            compact(table)
    report.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert reads[0] > 10


def _reporting(work: Callable[[], None], wrong: list[Any]) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        except Exception as error:
            wrong.append(error)

    return run


def merged_while_read(directory: Path, monkeypatch: pytest.MonkeyPatch, after: int = 0) -> Table:
    """A table of two shards that another process merges just when a shard is about to be read, after some others."""
    table = Table.create(str(directory))
    table.append([cut(WHOLE[BYTES], 0, 9)])
    table.append([cut(WHOLE[BYTES], 9, 136)])
    real, reads_left = Store.read, [after]

    def read(store: Store, name: str) -> bytes:
        reads_left[0] -= 1
        if reads_left[0] == -1:
            compact(Table(Store(str(directory))))
        return real(store, name)

    monkeypatch.setattr(Store, "read", read)
    return table


@pytest.mark.parametrize("after", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "command",
    [
        "tables info {table}",
        "tables show {table}",
        "tables export {table} --out {out}",
        "tables verify {table}",
        "tables compact {table}",
        "radius --table {table} --k 255 --alpha 0.1 --d 9 --p 0.99",
    ],
)
def test_shards_that_are_merged_under_a_command_do_not_disturb_it(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, after: int
) -> None:
    merged_while_read(tmp_path / "table", monkeypatch, after)
    run = ellzero(command.format(table=tmp_path / "table", out=tmp_path / "rows.csv"))
    assert (run.code, run.err) == (0, "")
    assert "export" not in command or len((tmp_path / "rows.csv").read_text().splitlines()) == 137


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (contents, {BYTES: [list_rows(WHOLE[BYTES])]}),
        (Table.extents, {BYTES: Extent(136, End.COMPLETE)}),
        (compact, CompactionReport),
        (lambda table: verify(table, 0).problems, []),
        (lambda table: compare_tables(table, table).problems, []),
        (lambda table: ThresholdIndex.open(table.store.uri).noises, [BYTES]),
        (lambda table: Table.open(table.store.uri).extents(), {BYTES: Extent(136, End.COMPLETE)}),
        (lambda table: Table.create(table.store.uri).extents(), {BYTES: Extent(136, End.COMPLETE)}),
    ],
)
@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_shards_that_are_merged_under_a_reader_do_not_disturb_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Table], Any], expected: Any, after: int
) -> None:
    result = read(merged_while_read(tmp_path, monkeypatch, after))
    assert result == expected or expected is type(result)
    monkeypatch.undo()
    assert contents(Table.open(str(tmp_path))) == {BYTES: [list_rows(WHOLE[BYTES])]}


_COMPACT = """
import sys
from ellzero.tables import Table, compact
table = Table.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(3):
    compact(table)
"""


def test_two_compactions_at_once_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    table = Table.create(str(tmp_path))
    for whole in WHOLE.values():
        for first in range(0, whole.stop, 4):
            table.append([cut(whole, first, min(first + 7, whole.stop))])
    expected = contents(table)
    run_together(_COMPACT, [[str(tmp_path)]] * 2)
    assert contents(table) == expected == {noise: [list_rows(WHOLE[noise])] for noise in sorted_noises()}
    assert len(table.store.names()) == 1


@pytest.mark.parametrize("compactions", [0, 1, 2])
def test_a_slow_compaction_deletes_nothing_that_another_one_relies_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compactions: int
) -> None:
    """Its merged shards may be merged again, into one that has the bytes of a shard it is about to delete."""
    monkeypatch.setattr(shard, "MOST_ROWS", 8)
    bits, dna = exact_slice(BITS, 7), exact_slice(DNA, 7)
    slow, other = Table.create(str(tmp_path)), Table.create(str(tmp_path))
    for first in range(compactions):
        slow.append([cut(dna, 0, first + 3)])
        slow.append([cut(dna, first + 3, 8)])
        compact(slow)
    slow.append([dna] if not compactions else [])
    slow.append([cut(bits, 0, 4)])
    remove = slow.store.remove

    def late(names: list[str]) -> None:
        other.append([cut(bits, 4, 8)])
        compact(other)
        remove(names)

    monkeypatch.setattr(slow.store, "remove", late)
    compact(slow)
    assert contents(other) == {BITS: [list_rows(bits)], DNA: [list_rows(dna)]}


def test_compaction_needs_no_more_memory_than_the_table_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve runs over interleaved grids, as they come about when a table is refined again and again."""
    table, rows = Table.create(str(tmp_path)), rows_from([UNIT // 2] * 300, [True] * 300, [0.5 + 2.0**-53] * 300)
    for start in range(12):
        noises = [Discrete(1, f"{at}/100000") for at in range(60_000 + start, 60_000 + 12 * 30, 12)]
        table.append([ColumnSlice(noise, 0, rows, End.CUT) for noise in noises])
    before, most, put = pyarrow.total_allocated_bytes(), [0], table.store.put

    def put_and_measure(data: bytes, generation: int = 0) -> str:
        most[0] = max(most[0], pyarrow.total_allocated_bytes())
        return put(data, generation)

    monkeypatch.setattr(table.store, "put", put_and_measure)
    compact(table)
    assert most[0] - before < 2 * 12 * 30 * 300 * 45


def test_a_table_on_s3_is_a_table(s3_place: S3Place) -> None:
    uri = s3_place()
    with pytest.raises(NotATable, match="holds no table$"):
        Table.open(uri)
    table = Table.create(uri)
    for first in range(0, 136, 34):
        table.append([cut(WHOLE[BYTES], first, first + 34)])
    table.append([WHOLE[FLAT]])
    reopened = Table.open(uri)
    assert reopened.extents() == {BYTES: Extent(136, End.COMPLETE), FLAT: Extent(1, End.FLAT)}
    expected = contents(reopened)
    report = compact(reopened)
    assert (report.shards_before, report.shards_after) == (5, 1)
    (name,) = reopened.store.names()
    assert generation_of(name) == 1
    (again,) = reopened.append([WHOLE[FLAT], WHOLE[BYTES]])
    assert digest_of(again) == digest_of(name)
    reopened.store.remove([again])
    assert contents(Table.open(uri)) == expected == {FLAT: [list_rows(WHOLE[FLAT])], BYTES: [list_rows(WHOLE[BYTES])]}
    verdict = verify(reopened, share=0)
    assert (verdict.sound, verdict.shards, verdict.columns, verdict.rows) == (True, 1, 2, 137)
