"""A lookup never gives another radius than exact arithmetic, whatever the table lacks, and says where it came from."""

import logging
import threading
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nan, nextafter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.brute_force import binomial_tail
from oracles.strategies import noises, probabilities
from oracles.tables import contents, cut, exact_slice, files, list_rows, literal_radius

from ellzero.certificates import Discrete, InvalidInput, Votes, column, radius, radius_from_votes, single_threshold
from ellzero.tables import ABSTAIN, ColumnSlice, End, Extent, RadiusResult, Source, Table, ThresholdIndex
from ellzero.tables.lookup import column_cache

BYTES, BITS, FLAT, WEAK = Discrete(255, "1/10"), Discrete(1, "4/5"), Discrete(3, "1/4"), Discrete(9, "1/50")
LAST = 40


def index_of(*slices: ColumnSlice) -> ThresholdIndex:
    return ThresholdIndex({piece.noise: piece for piece in slices})


@st.composite
def indexes(draw: st.DrawFn, noise: Discrete) -> ThresholdIndex:
    """A table that has all rows of the noise, some, or none."""
    rows = draw(st.sampled_from([0, 0, 1, 2, 5, 15, LAST + 1]))
    return index_of(exact_slice(noise, rows - 1)) if rows else index_of()


@st.composite
def near_thresholds(draw: st.DrawFn, noise: Discrete) -> Any:
    """A probability of any kind at a threshold, the least bit above or below it, or anywhere."""
    row = column(noise, draw(st.integers(0, LAST))).rows[-1]
    exact = single_threshold.threshold(noise, row.r)
    near = draw(st.sampled_from(["double", "decimal", "exact", "one", "any", "half", "wide"]))
    if near == "double":
        towards = draw(st.sampled_from([0.0, row.min_p, 1.0]))
        return draw(st.sampled_from([float, np.float64]))(nextafter(row.min_p, towards))
    if near == "decimal":
        with localcontext(prec=60):
            value = row.value + draw(st.sampled_from([0, 1, -1])) * Decimal(10) ** -draw(st.sampled_from([20, 21, 25]))
        return draw(st.sampled_from([Decimal, str, Fraction]))(min(value, Decimal(1)))
    if near == "exact":
        p = exact + draw(st.sampled_from([0, 1, -1])) * Fraction(1, 10 ** draw(st.sampled_from([22, 40, 90])))
        return min(p, Fraction(1))
    if near == "one":
        p = 1 - Fraction(draw(st.integers(1, 9)), 10 ** draw(st.integers(15, 30)))
        return draw(st.sampled_from([lambda p: p, lambda p: f"{p.numerator}/{p.denominator}"]))(p)
    if near == "wide":
        least = np.longdouble(row.min_p)
        return draw(st.sampled_from([np.nextafter(least, np.longdouble(0)), np.float32(row.min_p), np.float16(0.75)]))
    return draw(
        {
            "any": probabilities() | st.floats(0, 1) | st.decimals(0, 1),
            "half": st.sampled_from([0, 1, 0.5, "0.5", "1/2", Fraction(1, 2), Decimal("0.5"), 1.0, 0.0, "1", -0.0]),
        }[near]
    )


def fraction(p: Any) -> Fraction:
    return Fraction(p) if isinstance(p, str | int | Fraction | Decimal) else Fraction(*map(int, p.as_integer_ratio()))


@settings(max_examples=300)
@given(noises(max_denominator=30), st.data(), st.one_of(st.integers(1, 60), st.just(150_528)))
def test_a_radius_is_what_exact_arithmetic_gives(noise: Discrete, data: st.DataObject, d: int) -> None:
    index, p = data.draw(indexes(noise)), data.draw(near_thresholds(noise))
    result = index.radius(p, noise, d)
    assert result.radius == radius(noise, p, d)
    if d <= 60:
        assert result.radius == literal_radius(noise, fraction(p), d)
    assert result.radius is None or type(result.radius) is int


@settings(max_examples=60)
@given(noises(max_denominator=30), st.data(), st.booleans())
def test_earlier_lookups_change_no_answer(noise: Discrete, data: st.DataObject, write_back: bool) -> None:
    """The index keeps rows that it had to compute, and may have written them back."""
    with TemporaryDirectory() as directory:
        table = table_of(Path(directory), *data.draw(indexes(noise))._columns.table_columns.values(), exact_slice(FLAT))
        index = ThresholdIndex.open(table, write_back=write_back)
        for _ in range(5):
            p, d = data.draw(near_thresholds(noise)), data.draw(st.sampled_from([1, 7, 30, 150_528]))
            assert index.radius(p, noise, d).radius == radius(noise, p, d)
            radii = index.radius(np.array([float(fraction(p)), 0.75]), noise, d).radii.tolist()
            expected = (radius(noise, double, d) for double in (float(fraction(p)), 0.75))
            assert radii == [ABSTAIN if certified is None else certified for certified in expected]
        again = ThresholdIndex.open(directory)
        assert again.radius(p, noise, d).radius == radius(noise, p, d)


@settings(max_examples=60)
@given(noises(max_denominator=30), st.data(), st.one_of(st.integers(1, 60), st.just(150_528)))
def test_an_array_gives_the_radii_of_its_elements(noise: Discrete, data: st.DataObject, d: int) -> None:
    index, rows = data.draw(indexes(noise)), exact_slice(noise, LAST).rows
    doubles = [1.0, 0.5, 0.0, *(nextafter(p, towards) for p in rows.min_p for towards in (0.0, p, 1.0))]
    p = np.array(data.draw(st.lists(st.sampled_from(doubles) | st.floats(0, 1), min_size=1, max_size=12)))
    expected = [radius(noise, float(one), d) for one in p]
    result = index.radius(p, noise, d)
    assert [None if r == ABSTAIN else r for r in result.radii.tolist()] == expected
    assert result.radii.dtype == np.int32


@pytest.mark.parametrize("rows", range(1, 9))
@pytest.mark.parametrize("form", [float, Decimal, str, lambda p: np.array([p, 0.5])])
def test_a_cut_column_ends_where_it_ends(rows: int, form: Callable[[float], Any]) -> None:
    """d below, at and beyond the last row of the table; p that passes all of its rows, or all but the last."""
    for d in range(1, 12):
        for r in (rows - 2, rows - 1, rows, rows + 1):
            if r >= 0:
                index, least = index_of(exact_slice(BYTES, rows - 1)), float(exact_slice(BYTES, 20).rows.min_p[r])
                result = index.radius(form(least), BYTES, d)
                certified = result.radius if isinstance(result, RadiusResult) else result.radii[0]
                assert certified == min(r, d)
                assert result.source is (Source.TABLE if r < rows - 1 or d < rows else Source.COMPUTED)


def test_thresholds_that_round_up_to_the_same_decimal_are_distinguished() -> None:
    """α is so close to β that τ_r grows by less than a unit of the last digit; the table is cut between such rows."""
    noise = Discrete(1, f"{2**61 + 1}/{2**62}")
    whole = exact_slice(noise, 400)
    same = [r for r in range(400) if whole.threshold(r).value == whole.threshold(r + 1).value]
    for r in (same[0], same[len(same) // 2], same[-1]):
        unit = Fraction(1, 10**20)
        value = Fraction(whole.threshold(r).value)
        near = [value + shift * unit for shift in (-1, Fraction(-999, 1000), Fraction(-1, 2), 0, Fraction(1, 1000))]
        for p in (*near, (single_threshold.threshold(noise, r) + single_threshold.threshold(noise, r + 1)) / 2):
            certified = radius(noise, p, 401)
            assert certified is not None
            for rows in (r, r + 1, r + 2, 401):
                for d in (r, r + 1, r + 2, 401):
                    assert index_of(cut(whole, 0, rows)).radius(p, noise, d).radius == min(certified, d)


def test_a_row_of_every_kind_is_decided_at_its_last_bit() -> None:
    """τ_0 = 1/2 and τ_1 of K = 1 are decimals; τ_7 of K = 255 is just below its own."""
    bits, whole = index_of(exact_slice(BITS)), index_of(exact_slice(BYTES))
    assert bits.radius("0.875", BITS, 9)[:2] == (0, Source.TABLE)
    assert bits.radius("0.875000000000000000000000000001", BITS, 9)[:2] == (1, Source.TABLE)
    assert whole.radius("0.98739814896523242496", BYTES, 9)[:2] == (7, Source.TABLE)
    assert whole.radius("0.98739814896523242495", BYTES, 9)[:2] == (6, Source.TABLE)
    assert whole.radius("0.5", BYTES, 9).radius is None
    assert whole.radius(nextafter(0.5, 1), BYTES, 9)[:2] == (0, Source.TABLE)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (True, "True"),
        (np.True_, "np.True_"),
        (nan, "nan"),
        (inf, "inf"),
        (-0.1, "-0.1"),
        (1.0000000000000002, "1.0000000000000002"),
        ("1.1", "'1.1'"),
        ("-1/3", "'-1/3'"),
        ("many", "'many'"),
        ("", "''"),
        ("0.9\n", None),
        (2, "2"),
        (Fraction(3, 2), "3/2"),
        (Decimal("NaN"), "Decimal('NaN')"),
        (np.float32("nan"), "np.float32(nan)"),
        (np.float16(1.5), "np.float16(1.5)"),
        (np.longdouble("inf"), "np.longdouble('inf')"),
        (None, "None"),
        ([0.9], "[0.9]"),
        (0.9 + 0j, "(0.9+0j)"),
    ],
)
def test_an_invalid_probability_is_refused_in_one_line(p: Any, text: str | None) -> None:
    index = index_of(exact_slice(BITS, 5))
    if text is None:  # blanks around a number are ignored
        assert index.radius(p, BITS, 9).radius == 1
        return
    for noise in (BITS, BYTES, FLAT):
        with pytest.raises(InvalidInput) as error:
            index.radius(p, noise, 9)
        assert str(error.value) == f"p must be a number from 0 to 1; got {text}"


@pytest.mark.parametrize("d", [0, -1, True, 2.0, "9", 2**31, None])
def test_an_invalid_dimension_is_refused_in_one_line(d: Any) -> None:
    index = index_of(exact_slice(BITS, 5))
    for ask in (
        lambda: index.radius(0.9, BITS, d),
        lambda: index.radius("0.9", BITS, d),
        lambda: index.radius(Votes(9, 9), BITS, d),
        lambda: index.radius(np.array([0.9]), BITS, d),
        lambda: index.radii_of_counts(np.array([5]), 9, "0.1", BITS, d),
    ):
        with pytest.raises(InvalidInput, match="^d must be an integer from 1 to 2147483647; got"):
            ask()


@pytest.mark.parametrize(
    "make",
    [
        lambda p: p.reshape(3, 4, 5),
        lambda p: p.reshape(60, 1)[:, 0],
        lambda p: p.reshape(6, 10).T,
        lambda p: p[::-2],
        lambda p: np.asfortranarray(p.reshape(6, 10)),
        lambda p: p.astype(np.float32),
        lambda p: p.astype(np.float16),
        lambda p: p.astype(">f8"),
        lambda p: p[7],
        lambda p: np.array(p[7]),
        lambda p: p[:0],
        lambda p: p.reshape(6, 10)[:, :0],
    ],
)
@pytest.mark.parametrize("noise", [BYTES, BITS, FLAT, WEAK])
def test_arrays_of_any_shape_and_width_of_float(make: Callable[[Any], Any], noise: Discrete) -> None:
    p = make(np.linspace(0.4, 1, 60))
    result = index_of(exact_slice(BYTES, 5), exact_slice(BITS)).radius(p, noise, 30)
    if isinstance(result, RadiusResult):
        assert result.radius == radius(noise, float(p), 30)
        return
    assert result.radii.shape == p.shape
    for at, one in np.ndenumerate(p):
        certified = radius(noise, float(one), 30)
        assert result.radii[at] == (ABSTAIN if certified is None else certified)


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (np.array([0.9, nan]), "nan"),
        (np.array([[0.9], [-0.5]]), "-0.5"),
        (np.array([1.5, 0.9]), "1.5"),
        (np.array([inf, 0.9]), "inf"),
        (np.array([1]), "dtype('int64')"),
        (np.array([True]), "dtype('bool')"),
        (np.array(["0.9"]), "dtype('<U3')"),
        (np.array([Fraction(9, 10)]), "dtype('O')"),
        (np.array([0.9 + 0j]), "dtype('complex128')"),
        (np.array([0.9], np.longdouble), f"{np.dtype(np.longdouble)!r}"),
    ],
)
def test_arrays_of_anything_else_are_refused_in_one_line(p: Any, text: str) -> None:
    for noise in (BITS, BYTES, FLAT):
        with pytest.raises(InvalidInput) as error:
            index_of(exact_slice(BITS, 5)).radius(p, noise, 9)
        allowed = "an array of float64, float32 or float16 from 0 to 1"
        assert str(error.value) == f"p must be {allowed}; got {text}"


@settings(max_examples=60)
@given(
    noises(max_denominator=30),
    st.data(),
    st.integers(1, 400),
    st.sampled_from(["0.001", "1/2", "0.05", "1e-9", Fraction(1, 1024)]),
    st.integers(1, 30),
)
def test_votes_certify_what_they_do_without_a_table(
    noise: Discrete, data: st.DataObject, n: int, failure: str, d: int
) -> None:
    votes = Votes(n - data.draw(st.integers(0, min(n, 9))), n, failure)
    index = data.draw(indexes(noise))
    assert index.radius(votes, noise, d).radius == radius_from_votes(noise, votes, d)


@pytest.mark.parametrize("r", [0, 3, 8])
def test_votes_whose_bound_lies_between_a_threshold_and_the_next_double(r: int) -> None:
    """Rounded to a double, the bound would not certify r; the votes do."""
    tail = binomial_tail(40, 39, single_threshold.threshold(BYTES, r))
    for shift, certified in ((Fraction(1, 10**30), r), (0, r - 1), (-Fraction(1, 10**30), r - 1)):
        votes = Votes(39, 40, tail + shift)
        for index in (index_of(), index_of(exact_slice(BYTES, 3)), index_of(exact_slice(BYTES))):
            assert index.radius(votes, BYTES, 99).radius == (None if certified < 0 else certified)
            counts = np.array([39, 0])
            assert index.radii_of_counts(counts, 40, votes.failure, BYTES, 99).radii.tolist() == [certified, ABSTAIN]


@pytest.mark.parametrize("noise", [BYTES, BITS, FLAT, WEAK, Discrete(255, "3/4")])
@pytest.mark.parametrize(("n", "failure"), [(1, "0.6"), (10, Fraction(1, 1024)), (60, "0.001"), (60, "0.3")])
def test_every_count_gets_the_radius_of_its_votes(noise: Discrete, n: int, failure: str) -> None:
    counts, d = np.arange(n + 1), 6
    expected = [radius_from_votes(noise, Votes(count, n, failure), d) for count in range(n + 1)]
    for index in (index_of(), index_of(exact_slice(noise, 1)), index_of(exact_slice(noise, 50))):
        result = index.radii_of_counts(counts, n, failure, noise, d)
        assert [None if r == ABSTAIN else r for r in result.radii.tolist()] == expected
        assert result.radii.dtype == np.int32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.int64])
def test_counts_of_any_shape_and_width(dtype: type) -> None:
    index = index_of(exact_slice(BYTES))
    counts: Any = np.arange(60, 0, -1, dtype=dtype).reshape(3, 4, 5)
    result = index.radii_of_counts(counts, 60, "0.01", BYTES, 9)
    assert result.source is Source.TABLE
    assert result.radii.shape == counts.shape
    for at, count in np.ndenumerate(counts):
        certified = radius_from_votes(BYTES, Votes(int(count), 60, "0.01"), 9)
        assert result.radii[at] == (ABSTAIN if certified is None else certified)
    assert index.radii_of_counts(counts[:, ::2].T, 60, "0.01", BYTES, 9).radii.shape == (5, 2, 3)
    assert index.radii_of_counts(counts[:0], 60, "0.01", BYTES, 9).radii.shape == (0, 4, 5)
    assert index.radii_of_counts(np.array(60, dtype), 60, "0.01", BYTES, 9).radii == result.radii[0, 0, 0]


@pytest.mark.parametrize(
    ("counts", "n", "failure", "line"),
    [
        (np.array([5.0]), 9, "0.1", "counts must be an array of integers from 0 to n; got dtype('float64')"),
        (np.array([True]), 9, "0.1", "counts must be an array of integers from 0 to n; got dtype('bool')"),
        (np.array([0, 10]), 9, "0.1", "counts must be an array of integers from 0 to n; got np.int64(10)"),
        (np.array([-1, 3]), 9, "0.1", "counts must be an array of integers from 0 to n; got np.int64(-1)"),
        (np.array([2**64 - 1], np.uint64), 9, "0.1", "counts must be an array of integers from 0 to n; got np.uint64"),
        (np.array([1]), 0, "0.1", "n must be an integer from 1 to 100000000; got 0"),
        (np.array([1]), 9, "1.5", "failure must be a number strictly between 0 and 1; got '1.5'"),
        (np.array([], np.int64), 9, 0, "failure must be a number strictly between 0 and 1; got 0"),
    ],
)
def test_counts_that_cannot_be_are_refused_in_one_line(counts: Any, n: Any, failure: Any, line: str) -> None:
    with pytest.raises(InvalidInput) as error:
        index_of(exact_slice(BITS)).radii_of_counts(counts, n, failure, BITS, 9)
    assert str(error.value).startswith(line)


def test_the_answer_says_where_it_came_from() -> None:
    index = index_of(exact_slice(BYTES), exact_slice(BITS, 5), exact_slice(FLAT))
    within, beyond, top = (float(exact_slice(BITS).rows.min_p[r]) for r in (3, 5, 9))
    table, computed = Source.TABLE, Source.COMPUTED
    # A complete column answers everything, whatever d is.
    for p in (0.3, 0.5, 0.6, 0.99, 0.9999999999999999, 1.0, "0.99", Fraction(2, 3), 1, Votes(99, 100)):
        assert index.radius(p, BYTES, 150_528).source is table, p
    assert index.radius(np.linspace(0, 1, 50), BYTES, 150_528).source is table
    assert index.radius(0.6, FLAT, 9)[:2] == (9, table)
    assert index.radius(np.array([0.6]), FLAT, 9).source is table
    # A cut one answers as far as it goes: up to its last row if that is d.
    assert index.radius(within, BITS, 100)[:2] == (3, table)
    assert index.radius(top, BITS, 5)[:2] == (5, table)
    assert index.radius(Decimal(within), BITS, 100)[:2] == (3, table)
    assert index.radius(Decimal(top), BITS, 5)[:2] == (5, table)
    assert index.radius(np.array([within, 0.1]), BITS, 100).source is table
    assert index.radius(np.array([top]), BITS, 5).source is table
    assert index.radius(Decimal(beyond), BITS, 100)[:2] == (5, computed)
    assert index.radius(Decimal(top), BITS, 100)[:2] == (9, computed)
    assert index.radius(np.array([within, top]), BITS, 100).source is computed
    assert index.radius(beyond, BITS, 100)[:2] == (5, computed)
    assert index.radius(top, BITS, 100)[:2] == (9, computed)
    assert index.radius(Votes(10**6, 10**6), BITS, 100).source is computed
    # A noise that the table has not.
    for p in (0.6, "0.6", Votes(99, 100)):
        assert index.radius(p, WEAK, 9).source is computed
    assert index.radius(np.array([0.6]), WEAK, 9).source is computed
    assert index.noises == [BYTES, BITS, FLAT]


@pytest.mark.parametrize("p", [0.3, "0.3", 1, 1.0, 0.5])
@pytest.mark.parametrize("noise", [BITS, WEAK])
def test_the_same_question_has_the_same_source_in_every_form(p: Any, noise: Discrete) -> None:
    """What needs no row at all (p ≤ 1/2, p = 1) is no work of the engine, alone or in an array."""
    index = index_of(exact_slice(BITS, 5))
    sources = [index.radius(form, noise, 100).source for form in (p, float(p), str(p), np.array([float(p)]))]
    assert len(set(sources)) == 1, sources


def test_a_radius_beyond_the_table_is_computed_once_and_then_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    index, far = index_of(exact_slice(BITS, 5)), float(exact_slice(BITS).rows.min_p[20])
    assert index.radius(far, BITS, 100)[:2] == (20, Source.COMPUTED)

    def never(*arguments: Any) -> Any:
        raise AssertionError("computed again")

    monkeypatch.setattr(column_cache, "iter_column_rows", never)
    for r in range(21):
        p = float(exact_slice(BITS).rows.min_p[r])
        assert index.radius(p, BITS, 100).radius == r
        assert index.radius(np.array([p]), BITS, 100).radii.tolist() == [r]
    with pytest.raises(AssertionError, match="computed again"):
        index.radius(float(exact_slice(BITS).rows.min_p[25]), BITS, 100)


def test_the_cache_of_columns_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_cache, "MOST_CACHED_ROWS", 100)
    index = index_of()
    for k in range(1, 40):
        noise = Discrete(k, "9/10")
        for p in (0.99, nextafter(1, 0)):
            assert index.radius(p, noise, 60).radius == radius(noise, p, 60)
        assert sum(len(piece.rows) for piece in index._columns._computed.values()) <= 100
    assert index._columns._computed


def test_many_short_columns_count_for_more_than_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_cache, "MOST_CACHED_ROWS", 1_000)
    index = index_of()
    for k in range(1, 40):
        index.radius(0.51, Discrete(k, "9/10"), 60)
    assert len(index._columns._computed) == 12
    for k in range(1, 40):
        assert index.radius(0.51, Discrete(k, "9/10"), 60).radius == 0


@pytest.mark.parametrize("ask", ["0.99999999999999999", "0." + "9" * 30, None], ids=["17 nines", "30 nines", "column"])
def test_all_rows_of_a_column_are_computed_once(monkeypatch: pytest.MonkeyPatch, ask: str | None) -> None:
    """By numbers too close to 1 for doubles, and by those who want the column itself."""
    index = index_of()
    first = index.thresholds(BITS).column if ask is None else index.radius(ask, BITS, 10_000)
    assert index.is_whole(BITS)

    def never(*arguments: Any) -> Any:
        raise AssertionError("computed again")

    monkeypatch.setattr(column_cache, "iter_column_rows", never)
    if ask is None:
        assert index.thresholds(BITS).column is first
        assert list_rows(index.thresholds(BITS, 5).column) == list_rows(exact_slice(BITS, 5))
    else:
        assert index.radius(ask, BITS, 10_000) == first
        assert first[:2] == (radius(BITS, ask, 10_000), Source.COMPUTED)


def test_a_column_too_long_for_the_cache_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_cache, "MOST_CACHED_ROWS", 10)
    index = index_of()
    assert index.radius(nextafter(1, 0), BYTES, 150_528).radius == radius(BYTES, nextafter(1, 0), 150_528)
    assert not index._columns._computed


@settings(max_examples=60)
@given(noises(), st.data(), st.integers(0, 60))
def test_thresholds_are_the_engine_s(noise: Discrete, data: st.DataObject, r_max: int) -> None:
    index = data.draw(indexes(noise))
    result = index.thresholds(noise, r_max)
    assert list_rows(result.column) == list_rows(exact_slice(noise, r_max))
    table_columns = index._columns.table_columns.get(noise)
    enough = table_columns is not None and (table_columns.end is not End.CUT or r_max < table_columns.stop)
    assert result.source is (Source.TABLE if enough else Source.COMPUTED)


@pytest.mark.parametrize("noise", [BYTES, BITS, FLAT])
def test_thresholds_go_to_saturation_by_themselves(noise: Discrete) -> None:
    for index in (index_of(), index_of(exact_slice(noise, 5)), index_of(exact_slice(noise))):
        assert list_rows(index.thresholds(noise).column) == list_rows(exact_slice(noise))
        assert index.thresholds(noise, 0).column.stop == 1


@pytest.mark.parametrize("r_max", [-1, True, 1.5, "5"])
def test_an_invalid_radius_is_refused_in_one_line(r_max: Any) -> None:
    for index in (index_of(), index_of(exact_slice(BITS, 5)), index_of(exact_slice(BITS))):
        with pytest.raises(InvalidInput, match="^r_max must be an integer of at least 0; got"):
            index.thresholds(BITS, r_max)


def table_of(directory: Path, *slices: ColumnSlice) -> Table:
    table = Table.create(str(directory))
    table.append(slices)
    return table


def test_rows_are_written_back_and_then_are_the_table_s(tmp_path: Path) -> None:
    whole = exact_slice(BYTES)
    table = table_of(tmp_path, cut(whole, 0, 6))
    index = ThresholdIndex.open(table, write_back=True)
    p = float(whole.rows.min_p[20])
    assert index.radius(p, BYTES, 150_528)[:2] == (20, Source.COMPUTED)
    assert table.extents() == {BYTES: Extent(22, End.CUT)}  # the row that p does not pass was needed too
    assert [(piece.first, piece.stop) for _, slices in table.shards() for piece in slices if piece.first] == [(6, 22)]
    assert index.radius(p, BYTES, 150_528)[:2] == (20, Source.TABLE)
    before = files(tmp_path)
    for again in (index, ThresholdIndex.open(str(tmp_path)), ThresholdIndex.open(str(tmp_path), write_back=True)):
        assert again.radius(p, BYTES, 150_528)[:2] == (20, Source.TABLE)
        assert again.radius(np.array([p, 0.6]), BYTES, 150_528).source is Source.TABLE
    assert files(tmp_path) == before


def test_a_noise_that_the_table_lacks_is_written_back_too(tmp_path: Path) -> None:
    table = table_of(tmp_path, exact_slice(BYTES))
    index = ThresholdIndex.open(table, write_back=True)
    assert index.radius(np.array([0.9, nextafter(1, 0)]), BITS, 150_528).source is Source.COMPUTED
    again = ThresholdIndex.open(str(tmp_path))
    assert again.radius(nextafter(1, 0), BITS, 150_528) == index.radius(nextafter(1, 0), BITS, 150_528)
    assert again.radius(0.9, BITS, 150_528).source is Source.TABLE
    assert contents(table)[BYTES] == [list_rows(exact_slice(BYTES))]


def test_a_slow_write_of_few_rows_does_not_replace_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(tmp_path / "table")
    index, append, go_on = ThresholdIndex.open(table, write_back=True), Table.append, threading.Event()

    def slowly(table: Table, slices: Any) -> Any:
        if len(slices[0].rows) < 10:
            go_on.wait(30)
        return append(table, slices)

    monkeypatch.setattr(Table, "append", slowly)
    few = threading.Thread(target=index.extend_to, args=(BITS, 5))
    few.start()
    index.extend_to(BITS, 30)
    go_on.set()
    few.join()
    assert index.is_whole(BITS, 30)
    assert index.extents()[BITS].rows == 31


def test_only_rows_that_no_shard_has_are_written_back(tmp_path: Path) -> None:
    whole = exact_slice(BYTES)
    table = table_of(tmp_path, cut(whole, 0, 3))
    index = ThresholdIndex.open(table, write_back=True)
    for r in (5, 4, 9, 9, 7, 30, 12):
        assert index.radius(float(whole.rows.min_p[r]), BYTES, 150_528).radius == r
    slices = sorted((piece.first, piece.stop) for _, shard in table.shards() for piece in shard)
    assert slices == [(0, 3), (3, 7), (7, 14), (14, 32)]  # each at least doubles what there is
    assert contents(table) == {BYTES: [list_rows(cut(whole, 0, 32))]}


@pytest.mark.parametrize("p", ["0.9999999", Fraction(9_999_999, 10**7), Decimal("0.9999999")])
def test_exact_probabilities_are_written_back_as_doubles_are(tmp_path: Path, p: Any) -> None:
    ThresholdIndex.open(table_of(tmp_path, exact_slice(BYTES, 3)), write_back=True).radius(p, BYTES, 150_528)
    assert ThresholdIndex.open(str(tmp_path)).radius(p, BYTES, 150_528).source is Source.TABLE


@pytest.mark.parametrize("p", [0.3, 0.5, 1.0, "0.3", 1])
def test_a_lookup_that_needs_no_row_writes_none(tmp_path: Path, p: Any) -> None:
    index = ThresholdIndex.open(table_of(tmp_path, exact_slice(BITS, 3)), write_back=True)
    before = files(tmp_path)
    index.radius(p, BYTES, 150_528)
    index.radius(p, BITS, 150_528)
    assert files(tmp_path) == before


def test_without_write_back_nothing_is_written(tmp_path: Path) -> None:
    index = ThresholdIndex.open(table_of(tmp_path, exact_slice(BITS, 3)))
    before = files(tmp_path)
    assert index.radius(0.999999, BITS, 99).source is Source.COMPUTED
    assert index.radius(0.999999, BYTES, 99).source is Source.COMPUTED
    assert files(tmp_path) == before


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_an_answer_does_not_depend_on_write_back(tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture) -> None:
    place = tmp_path / "table"
    index = ThresholdIndex.open(table_of(place, exact_slice(BITS, 3)), write_back=True)
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    if how == "replaced":
        place.write_text("a file")
    with caplog.at_level(logging.WARNING):
        assert index.radius(0.999999, BITS, 99)[:2] == (radius(BITS, 0.999999, 99), Source.COMPUTED)
    (record,) = caplog.records
    assert str(place) in record.getMessage()


def test_rows_after_a_gap_are_not_used_for_those_before_it(tmp_path: Path) -> None:
    whole = exact_slice(BYTES)
    index = ThresholdIndex.open(table_of(tmp_path, cut(whole, 0, 4), cut(whole, 9, 136)))
    for r in (2, 3, 6, 20):
        p = float(whole.rows.min_p[r])
        assert index.radius(p, BYTES, 999)[:2] == (r, Source.TABLE if r < 3 else Source.COMPUTED)
    only_late = ThresholdIndex.open(table_of(tmp_path / "late", cut(whole, 9, 136)))
    assert only_late.noises == []
    assert only_late.radius(0.99, BYTES, 999).radius == radius(BYTES, 0.99, 999)


def test_many_threads_get_the_same_answers(tmp_path: Path) -> None:
    noises = [BYTES, BITS, WEAK, FLAT, Discrete(9, "1/3")]
    index = ThresholdIndex.open(table_of(tmp_path, exact_slice(BYTES, 5), exact_slice(FLAT)), write_back=True)
    doubles = np.random.default_rng(0).random(40) * 0.5 + 0.5
    expected = {noise: [radius(noise, p, 99) for p in doubles.tolist()] for noise in noises}
    wrong: list[Any] = []

    def look(seed: int) -> None:
        try:
            for at in np.random.default_rng(seed).permutation(40).tolist():
                for noise in noises:
                    result = index.radius(float(doubles[at]), noise, 99).radius
                    if result != expected[noise][at]:
                        wrong.append((noise, doubles[at], result))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=look, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    for noise, runs in Table.open(str(tmp_path)).columns().items():
        assert isinstance(noise, Discrete)
        assert [list_rows(run) for run in runs] == [list_rows(exact_slice(noise, runs[0].stop - 1))]
    assert set(ThresholdIndex.open(str(tmp_path)).noises) == set(noises)


def test_a_table_is_opened_by_path_or_uri(tmp_path: Path) -> None:
    table = table_of(tmp_path, exact_slice(BITS))
    for place in (str(tmp_path), f"file://{tmp_path}", table):
        assert ThresholdIndex.open(place).noises == [BITS]
