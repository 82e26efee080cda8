"""Lookups of budgets from a table answer as exact arithmetic does without one, whatever the table has."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf, nextafter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from oracles.families import all_families, budgets, parameters
from oracles.noises import largest_inverse
from oracles.tables import UNIT, literal_row, literal_slice

from ellzero.certificates import (
    Discrete,
    Family,
    InvalidInput,
    Joint,
    Mask,
    RegionList,
    Sparse,
    Votes,
    certified,
    certified_from_votes,
)
from ellzero.certificates.families.base import Budget, Counts
from ellzero.core.errors import StorageFailed
from ellzero.tables import ColumnSlice, Source, Table, ThresholdIndex, compact, verify
from ellzero.tables.format.keys import BudgetColumn
from ellzero.tables.lookup import budget_cache
from ellzero.tables.lookup.budget_cache import BudgetCache

HALF = Fraction(1, 2)
GRAPH = Sparse("0.01", "0.6")


def box(limits: Counts) -> list[Counts]:
    return list(product(*(range(most + 1) for most in limits)))


def table_of(family: Family, limits: Counts, q: Fraction = HALF) -> ThresholdIndex:
    """A table with all budgets within the limits, each from every outcome of the noise."""
    return ThresholdIndex({}, budgets=slices_of(family, limits, q))


def slices_of(family: Family, limits: Counts, q: Fraction = HALF) -> list[ColumnSlice]:
    return [literal_slice(family, q, fixed, limits[-1]) for fixed in box(limits[:-1])]


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Family, Counts]:
    family = draw(all_families().filter(lambda family: not isinstance(family, Discrete)))
    return family, draw(budgets(family, 3))


@settings(max_examples=40, deadline=None)
@given(boxes(), parameters())
def test_rows_from_a_table_are_those_of_every_outcome(case: tuple[Family, Counts], q: Fraction) -> None:
    family, limits = case
    result = table_of(family, limits, q).budget_rows(family, box(limits), q)
    assert result.source is Source.TABLE
    for row in result.rows:
        expected = literal_row(family, row.counts, q)
        assert row == (row.counts, *expected.ceiling, expected.min_p)


def next_to(tau: Fraction) -> Iterator[Any]:
    """Probabilities for which a lookup is most likely to be wrong: doubles, decimals and fractions at a threshold."""
    near = float(tau)
    yield from (nextafter(near, 0), near, nextafter(near, inf))
    unit = Fraction(1, UNIT)
    ceiling = -(-tau // unit) * unit
    yield from (tau, ceiling, ceiling - unit, ceiling - unit / 2, tau + unit / 1000, tau - unit / 1000)


@settings(max_examples=60, deadline=None)
@given(boxes(), st.data())
def test_a_lookup_is_what_certified_gives_without_a_table(case: tuple[Family, Counts], data: st.DataObject) -> None:
    family, limits = case
    counts = data.draw(st.sampled_from(box(limits)))
    top_k = data.draw(st.sampled_from([1, 1, 2]))
    q = Fraction(1, top_k + 1)
    index, most = table_of(family, limits, q), family.write_budget(limits)
    for p in [*next_to(largest_inverse(family, counts, q)), 1, 1.0, 0, "0.5", 0.75]:
        if 0 <= Fraction(p) <= 1:
            result = index.certified(family, p, limits, top_k=top_k)
            assert result.budgets == certified(family, p, most, top_k=top_k)
            assert result.source is Source.TABLE or not isinstance(p, float)


@settings(max_examples=40, deadline=None)
@given(boxes(), st.integers(1, 400), st.data())
def test_votes_are_looked_up_as_without_a_table(case: tuple[Family, Counts], n: int, data: st.DataObject) -> None:
    family, limits = case
    votes = Votes(data.draw(st.integers(n // 2, n)), n, data.draw(st.sampled_from(["0.001", "0.3", "1/2"])))
    expected = certified_from_votes(family, votes, family.write_budget(limits))
    assert table_of(family, limits).certified(family, votes, limits).budgets == expected


def test_votes_at_a_tie_with_a_threshold_are_decided_exactly() -> None:
    """τ = 3/4 for one change, and P[Bin(1, 3/4) ≥ 1] is ε exactly: not below it."""
    family = Mask("3/4")
    for failure, radius in (("3/4", 0), ("0.7500000000000000000001", 1)):
        result = table_of(family, (1,)).certified(family, Votes(1, 1, failure), (1,))
        assert (result.budgets, result.source) == (radius, Source.TABLE)


def test_p_within_a_unit_below_an_inexact_threshold_takes_exact_arithmetic() -> None:
    family = Mask("1/3")  # τ_1 is 3/2 − 1/3 > 1
    index = table_of(Mask("2/3"), (1,))
    tau = Fraction(3, 2) - Fraction(2, 3)
    assert index.certified(Mask("2/3"), tau, (1,)) == (0, Source.COMPUTED)
    assert index.certified(Mask("2/3"), tau + Fraction(1, 10**30), (1,)) == (1, Source.COMPUTED)
    assert index.certified(Mask("2/3"), tau + Fraction(1, 10**20), (1,)) == (1, Source.TABLE)
    assert table_of(family, (3,)).certified(family, 1, (3,)) == (0, Source.TABLE)


def test_beyond_a_complete_end_what_both_inputs_show_decides() -> None:
    """All thresholds there round up to 1, but only some of them are 1, so that no p certifies them."""
    regions = RegionList([[(1, 2), (2, 1)], [(10**21, 10**21 - 1), (0, 1)], [(1, 0), (0, 1)]])
    lists = table_of(regions, (3,))
    assert [row.min_p for row in lists.budget_rows(regions, [(0,), (3,)]).rows][1] == inf
    graph = Joint(many=Sparse("1e-7", "1e-7"), hidden=Mask("0.6"))
    index = table_of(graph, (0, 3, 0))
    few, more = index.budget_rows(graph, [(0, 3, 0), (0, 3, 1)]).rows
    assert (few.scaled_ceiling, few.min_p) == (more.scaled_ceiling, more.min_p) == (UNIT, 1.0)
    assert index.budget_rows(graph, [(0, 3, 2)]) == ([((0, 3, 2), UNIT, True, inf)], Source.TABLE)
    assert literal_row(graph, (0, 3, 2), HALF).min_p == inf
    limits: Budget = {"many": {"delete": 3}, "hidden": 9}
    assert index.certified(graph, 1, (0, 3, 9)).budgets == certified(graph, 1, limits)
    assert index.certified(graph, nextafter(1, 0), (0, 3, 9)).budgets == certified(graph, nextafter(1, 0), limits)


@pytest.mark.parametrize("p", ["0.9", 0.97, Votes(990, 1000, "0.001")])
def test_what_the_table_lacks_is_computed(p: Any) -> None:
    index = table_of(GRAPH, (1, 2))
    expected = certified_from_votes(GRAPH, p, {"add": 3, "delete": 20}) if isinstance(p, Votes) else None
    expected = expected or certified(GRAPH, p, {"add": 3, "delete": 20})
    for _ in range(2):
        assert index.certified(GRAPH, p, (3, 20)) == (expected, Source.COMPUTED)
    assert index.budget_rows(GRAPH, [(0, 0), (0, 5)]).source is Source.COMPUTED
    assert index.budget_rows(GRAPH, [(0, 0), (1, 2)]).source is Source.TABLE


def test_two_classes_are_computed() -> None:
    result = table_of(GRAPH, (2, 2)).certified(GRAPH, "0.8", (2, 2), p_b="0.1")
    assert result == (certified(GRAPH, "0.8", {"add": 2, "delete": 2}, p_b="0.1"), Source.COMPUTED)


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_cache, "MOST_CACHED_BUDGETS", 20)
    index = ThresholdIndex({})
    for keep in range(1, 9):
        family = Mask(Fraction(keep, 10))
        for _ in range(2):
            rows = index.budget_rows(family, box((15,))).rows
            assert [row.min_p for row in rows[:3]] == [literal_row(family, (r,), HALF).min_p for r in range(3)]
    assert len(index.budget_rows(Mask("0.99"), box((60,))).rows) == 61
    cache = index._budgets
    assert sum(map(len, cache._computed.values())) <= 2 * 20


def test_rows_that_continue_columns_are_written_back(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    table.append(slices_of(GRAPH, (1, 2)))
    index = ThresholdIndex.open(table, write_back=True)
    index.budget_rows(GRAPH, box((2, 4)))
    index.budget_rows(GRAPH, [(5, 7)])  # in no column: kept in memory only
    assert index.budget_rows(GRAPH, box((2, 4))).source is Source.TABLE
    extents = {key.fixed: extent.rows for key, extent in table.extents().items() if isinstance(key, BudgetColumn)}
    assert extents == {(0,): 5, (1,): 5, (2,): 5}
    assert verify(table, share=1).sound
    again = ThresholdIndex.open(table)
    assert again.budget_rows(GRAPH, box((2, 4))).source is Source.TABLE


def test_complete_columns_are_written_back_up_to_their_end(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path))
    ThresholdIndex({}, table).budget_rows(Mask("0.6"), box((9,)))
    assert verify(table, share=1).sound
    assert ThresholdIndex.open(table).budget_rows(Mask("0.6"), box((9,))).source is Source.TABLE


@dataclass(frozen=True, init=False, repr=False)
class MaskWithoutText(Mask):
    """A noise of one's own, which no table could be read with."""


@pytest.mark.parametrize(
    ("family", "q"), [(Mask("0.9"), Fraction(0)), (Mask("0.9"), Fraction(1)), (MaskWithoutText("0.9"), HALF)]
)
def test_what_no_table_could_be_read_with_is_not_written_back(tmp_path: Path, family: Family, q: Fraction) -> None:
    table = Table.create(str(tmp_path))
    table.append(slices_of(GRAPH, (1, 2)))
    rows = ThresholdIndex.open(table, write_back=True).budget_rows(family, box((3,)), q).rows
    assert [row.min_p for row in rows] == [literal_row(Mask("0.9"), row.counts, q).min_p for row in rows]
    assert [each.family for each in ThresholdIndex.open(str(tmp_path)).budget_extents()] == [GRAPH]


def test_nothing_follows_a_column_that_another_thread_completes_meanwhile(tmp_path: Path) -> None:
    family = Mask("0.6")  # its column is complete at 2
    table = Table.create(str(tmp_path))
    table.append(slices_of(family, (0,)))
    cache = BudgetCache(slices_of(family, (0,)), table)
    one, other = cache.rows_of(family, HALF), cache.rows_of(family, HALF)
    for r in (1, 2, 3):
        one.row((r,))
    other.row((4,))
    cache.write_back(one)
    cache.write_back(other)
    assert {key: extent.rows for key, extent in table.extents().items()} == {BudgetColumn(family, HALF, ()): 3}
    compact(table)
    assert verify(table, share=1).sound


def test_an_answer_does_not_fail_with_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Table, slices: object) -> list[str]:
        raise StorageFailed(str(tmp_path), "no space")

    monkeypatch.setattr(Table, "append", fail)
    index = ThresholdIndex({}, Table.create(str(tmp_path)))
    assert len(index.budget_rows(GRAPH, box((1, 1))).rows) == 4


def test_the_discrete_noise_has_its_own_columns() -> None:
    noise = Discrete(1, "4/5")
    index = ThresholdIndex({})
    rows = index.budget_rows(noise, [(0,), (3,)]).rows
    assert [(row.scaled_ceiling, row.exact, row.min_p) for row in rows] == [
        (*row.ceiling, row.min_p) for row in (literal_row(noise, (r,), HALF) for r in (0, 3))
    ]
    index.extend_to(noise)
    for limit in (0, 5, 70):
        for p in ("0.99", 0.75, 1, Votes(999, 1000)):
            expected = certified_from_votes(noise, p, limit) if isinstance(p, Votes) else certified(noise, p, limit)
            assert index.certified(noise, p, (limit,)).budgets == expected
    assert index.certified(noise, "0.6", (5,), top_k=2).budgets == certified(noise, "0.6", 5, top_k=2)
    assert index.budget_rows(noise, [(200,)]).rows[0].min_p == 1.0


def test_votes_do_not_go_with_p_b() -> None:
    with pytest.raises(InvalidInput, match="^p_b must be given only with a single probability p"):
        ThresholdIndex({}).certified(GRAPH, Votes(1, 2), (1, 1), p_b="0.1")
