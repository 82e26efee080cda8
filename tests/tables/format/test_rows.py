"""Slices of columns join to what they were cut from, and rows that contradict each other are never joined."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises
from oracles.tables import alter_row, cut, exact_slice, list_rows

from ellzero.certificates import Discrete, column
from ellzero.certificates.exact_thresholds import iter_column_rows
from ellzero.tables import ColumnSlice, Contradiction, End
from ellzero.tables.format.rows import RowBuffer, end_of, merge_slices


@st.composite
def pieces_of(draw: st.DrawFn, piece: ColumnSlice, covering: bool) -> list[ColumnSlice]:
    """Some pieces of a column, overlapping as they like, in any order; together all of it if ``covering``."""
    radii = st.integers(0, piece.stop)
    ends = draw(st.lists(st.tuples(radii, radii).filter(lambda ends: ends[0] != ends[1]), max_size=6))
    if covering:
        ends += pairwise(sorted({0, piece.stop, *draw(st.lists(radii, max_size=4))}))
    return [cut(piece, min(two), max(two)) for two in draw(st.permutations(ends))]


@settings(max_examples=60)
@given(noises(), st.integers(0, 60), st.data())
def test_pieces_that_cover_a_column_give_it_back(noise: Discrete, r_max: int, data: st.DataObject) -> None:
    whole = exact_slice(noise, r_max)
    (run,) = merge_slices(data.draw(pieces_of(whole, covering=True)))
    assert list_rows(run) == list_rows(whole)
    assert run.first == 0


@settings(max_examples=60)
@given(st.data())
def test_gaps_stay_gaps_and_pieces_that_touch_are_one_run(data: st.DataObject) -> None:
    whole = exact_slice(Discrete(255, "1/10"), 40)
    pieces = data.draw(pieces_of(whole, covering=False))
    there = {r for piece in pieces for r in range(piece.first, piece.stop)}
    starts = sorted(r for r in there if r - 1 not in there)
    stops = sorted(r + 1 for r in there if r + 1 not in there)
    runs = merge_slices(pieces)
    assert [(run.first, run.stop) for run in runs] == list(zip(starts, stops, strict=True))
    assert [list_rows(run) for run in runs] == [list_rows(cut(whole, run.first, run.stop)) for run in runs]


def test_a_run_ends_for_the_reason_of_its_last_row() -> None:
    whole = exact_slice(Discrete(1, "4/5"))
    assert whole.end is End.COMPLETE
    assert [run.end for run in merge_slices([cut(whole, 0, 9), cut(whole, 5, whole.stop)])] == [End.COMPLETE]
    assert [run.end for run in merge_slices([cut(whole, 0, 9), cut(whole, 5, 20)])] == [End.CUT]
    assert [run.end for run in merge_slices([cut(whole, 12, whole.stop), cut(whole, 5, 10)])] == [End.CUT, End.COMPLETE]
    assert merge_slices([]) == []


@settings(max_examples=60)
@given(st.data())
def test_one_altered_row_in_an_overlap_is_a_contradiction(data: st.DataObject) -> None:
    whole = exact_slice(Discrete(255, "1/10"), 40)
    pieces = data.draw(pieces_of(whole, covering=True))
    first, stop = sorted(data.draw(st.lists(st.integers(0, whole.stop), min_size=2, max_size=2, unique=True)))
    r = data.draw(st.integers(first, stop - 1))
    change = data.draw(st.sampled_from([{"units": 1}, {"units": -1}, {"units": 1 << 64}, {"exact": True}, {"ulps": 1}]))
    wrong = alter_row(cut(whole, first, stop), r, **change)  # type: ignore[arg-type]
    with pytest.raises(Contradiction) as error:
        merge_slices(data.draw(st.permutations([*pieces, wrong])))
    where = re.match(r"shards disagree about K = 255, α = 1/10, r from (\d+) to (\d+)", str(error.value))
    assert where is not None
    assert int(where[1]) <= r <= int(where[2])


@settings(max_examples=60)
@given(noises(), st.integers(0, 60))
def test_rows_collected_from_the_engine_are_its_thresholds(noise: Discrete, r_max: int) -> None:
    buffer = RowBuffer()
    for row in iter_column_rows(noise, r_max):
        buffer.add(row)
    result = column(noise, r_max)
    rows = buffer.rows()
    assert len(buffer) == len(rows) == len(result.rows)
    end = end_of(noise, rows.scaled_ceiling(len(rows) - 1))
    assert [*list_rows(ColumnSlice(noise, 0, rows, end))[2]] == [*result.rows]
    assert end is (End.FLAT if noise.is_flat else End.COMPLETE if result.saturated else End.CUT)


def test_a_buffer_goes_on_after_its_rows_were_read() -> None:
    buffer, answers = RowBuffer(), iter_column_rows(Discrete(1, "4/5"))
    assert len(buffer) == 0
    buffer.add(next(answers))
    early = buffer.rows()
    for row in answers:
        buffer.add(row)
    assert (len(early), len(buffer.rows())) == (1, 53)
    assert early.same_as(buffer.rows().between(0, 1))


def test_rows_are_the_same_only_in_every_field() -> None:
    piece = exact_slice(Discrete(1, "4/5"), 5)
    assert piece.rows.same_as(exact_slice(Discrete(1, "4/5"), 5).rows)
    assert not piece.rows.same_as(piece.rows.between(0, 5))
    for change in ({"units": 1}, {"exact": True}, {"ulps": -1}):
        assert not piece.rows.same_as(alter_row(piece, 3, **change).rows)
