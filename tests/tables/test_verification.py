"""Verification finds whatever is wrong with a table, says where, and finds nothing where nothing is."""

import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given, settings, strategies as st
from oracles.families import columns
from oracles.strategies import noises
from oracles.tables import UNIT, alter_row, cut, exact_slice, literal_slice, rows_from, with_footer

from ellzero.certificates import (
    Discrete,
    Family,
    PaperThreshold,
    Sparse,
    paper_threshold,
    rho_inverse,
    thresholds,
)
from ellzero.certificates.families.base import Counts
from ellzero.tables import ColumnSlice, End, PaperTable, Table, VerificationReport, audit, compact, verify
from ellzero.tables.format import shard
from ellzero.tables.verification import JudgedRow, compare_tables, judge_list

BYTES, BITS, FLAT, WEAK = Discrete(255, "1/10"), Discrete(1, "4/5"), Discrete(3, "1/4"), Discrete(9, "1/50")
WHOLE, CUT = exact_slice(BYTES), exact_slice(BITS, 20)


def by_verdict(rows: list[JudgedRow]) -> dict[str, list[int]]:
    """The radii of each verdict, in order."""
    verdicts = ("unsound", "equal", "loose")
    return {verdict: sorted(row.r for row in rows if row.verdict == verdict) for verdict in verdicts}


def table_of(directory: Path, *shards: list[ColumnSlice]) -> Table:
    table = Table.create(str(directory))
    for slices in shards:
        table.append(slices)
    return table


@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_a_right_table_is_sound(tmp_path: Path, share: float) -> None:
    slices = [exact_slice(noise) for noise in (BYTES, FLAT)] + [exact_slice(WEAK, 30), CUT]
    table = table_of(tmp_path, slices[:2], slices[2:], [cut(WHOLE, 3, 50)])
    report = verify(table, share)
    rows = sum(piece.stop for piece in slices)
    assert (report.sound, report.problems) == (True, [])
    assert (report.shards, report.columns, report.rows) == (3, 4, rows)
    total = rows + 47
    assert 9 <= report.recomputed <= total  # at least the first and the last of each slice
    assert report.recomputed == (9 if share == 0 else total) or share == 0.3
    escape = f"; with a share of {share}, a single wrong row escapes with probability {1 - share}" if share < 1 else ""
    assert str(report) == f"sound: {rows} rows of 4 columns in 3 shards, {report.recomputed} recomputed{escape}"
    compact(table)
    assert verify(table, share).sound


def test_the_rows_to_recompute_are_chosen_by_the_seed(tmp_path: Path) -> None:
    wrong = table_of(tmp_path, [alter_row(WHOLE, 60, units=1)])
    result = [verify(wrong, 0.2, seed).sound for seed in range(30)]
    assert result == [verify(wrong, 0.2, seed).sound for seed in range(30)]
    assert set(result) == {True, False}


def with_slice(piece: ColumnSlice) -> Callable[[Path], Table]:
    return lambda directory: table_of(directory, [exact_slice(FLAT)], [piece])


def with_shards(*shards: list[ColumnSlice]) -> Callable[[Path], Table]:
    return lambda directory: table_of(directory, [exact_slice(FLAT)], *shards)


def claim_end(piece: ColumnSlice, end: End) -> Callable[[Path], Table]:
    """A table with a shard whose footer gives a wrong end for its column."""

    def plant(directory: Path) -> Table:
        table = table_of(directory, [exact_slice(FLAT)])
        table.store.put(
            with_footer(shard.encode([piece]), lambda metadata: metadata["columns"][0].update(end=end.value))
        )
        return table

    return plant


def corrupt_byte(directory: Path) -> Table:
    table = table_of(directory, [exact_slice(FLAT)], [CUT])
    (name,) = (name for name, slices in table.shards() if slices[0].noise == BITS)
    data = bytearray((directory / name).read_bytes())
    data[40] ^= 64
    (directory / name).write_bytes(data)
    return table


def truncate_shards(directory: Path) -> Table:
    table = corrupt_byte(directory)
    for name in table.store.names():
        (directory / name).write_bytes((directory / name).read_bytes()[:-30])
    return table


TWO_FLAT = ColumnSlice(FLAT, 0, rows_from([UNIT // 2] * 2, [True] * 2, [0.5 + 2.0**-53] * 2), End.FLAT)
LONG = exact_slice(BITS)
BEYOND = ColumnSlice(
    BITS,
    0,
    rows_from([*map(LONG.rows.scaled_ceiling, range(53)), UNIT], [*LONG.rows.exact, False], [*LONG.rows.min_p, 1.0]),
    End.COMPLETE,
)
NEEDS_RECOMPUTING = [
    (with_slice(alter_row(WHOLE, 60, units=-1)), "K = 255, α = 1/10, r = 60: not what exact arithmetic gives"),
    (with_slice(alter_row(WHOLE, 60, units=1)), "K = 255, α = 1/10, r = 60: not what exact arithmetic gives"),
    (with_slice(alter_row(WHOLE, 60, exact=True)), "K = 255, α = 1/10, r = 60: not what exact arithmetic gives"),
    (with_slice(alter_row(CUT, 1, exact=True)), "K = 1, α = 4/5, r = 1: not what exact arithmetic gives"),
]
AT_THE_ENDS = [
    (with_slice(alter_row(WHOLE, 0, units=1)), "K = 255, α = 1/10, r = 0: not what exact arithmetic gives"),
    (with_slice(alter_row(CUT, 20, units=-1)), "K = 1, α = 4/5, r = 20: not what exact arithmetic gives"),
]
PLAIN = [
    (with_slice(alter_row(WHOLE, 60, ulps=-1)), "K = 255, α = 1/10, r = 60: min_p does not fit the threshold"),
    (with_slice(alter_row(WHOLE, 60, ulps=1)), "K = 255, α = 1/10, r = 60: min_p does not fit the threshold"),
    (with_slice(alter_row(WHOLE, 60, ulps=1 << 52)), "K = 255, α = 1/10, r = 60: min_p does not fit the threshold"),
    (with_slice(alter_row(WHOLE, 60, units=-UNIT // 3)), "K = 255, α = 1/10: thresholds decrease"),
    (with_shards([cut(WHOLE, 0, 60), cut(WHOLE, 61, 136)]), "K = 255, α = 1/10: rows 60 to 60 are missing"),
    (with_shards([cut(WHOLE, 0, 60)], [cut(WHOLE, 61, 136)]), "K = 255, α = 1/10: rows 60 to 60 are missing"),
    (with_slice(cut(WHOLE, 1, 136)), "K = 255, α = 1/10: rows 0 to 0 are missing"),
    (claim_end(WHOLE, End.CUT), "says that K = 255, α = 1/10 is cut; it is not"),
    (claim_end(CUT, End.COMPLETE), "says that K = 1, α = 4/5 is complete; it is not"),
    (claim_end(CUT, End.FLAT), "says that K = 1, α = 4/5 is flat; it is not"),
    (lambda directory: table_of(directory, [TWO_FLAT], [CUT]), "K = 3, α = 1/4: is flat and has more than one row"),
    (with_slice(BEYOND), "K = 1, α = 4/5: continues after saturation"),
    (
        with_shards([cut(WHOLE, 0, 70)], [alter_row(cut(WHOLE, 50, 136), 60, units=1)]),
        "shards disagree about K = 255, α = 1/1",
    ),
    (corrupt_byte, r"shard [0-9a-f]{64}.parquet is damaged: its bytes are not those that its name promises"),
    (truncate_shards, r"shard [0-9a-f]{64}.parquet is damaged: its bytes are not those that its name promises"),
]


@pytest.mark.parametrize(("plant", "problem"), NEEDS_RECOMPUTING + AT_THE_ENDS + PLAIN)
def test_every_planted_fault_is_found(tmp_path: Path, plant: Callable[[Path], Table], problem: str) -> None:
    report = verify(plant(tmp_path), share=1)
    assert not report.sound
    assert any(re.search(problem, result) for result in report.problems), report.problems
    assert all("\n" not in result for result in report.problems)
    assert str(report).startswith("NOT SOUND: ")


@pytest.mark.parametrize(("plant", "problem"), AT_THE_ENDS + PLAIN)
def test_flaws_that_show_without_recomputing_are_found(
    tmp_path: Path, plant: Callable[[Path], Table], problem: str
) -> None:
    report = verify(plant(tmp_path), share=0)
    assert any(re.search(problem, result) for result in report.problems), report.problems


@settings(max_examples=40)
@given(noise=noises(), data=st.data())
def test_any_wrong_row_is_found(tmp_path_factory: pytest.TempPathFactory, noise: Discrete, data: st.DataObject) -> None:
    piece = exact_slice(noise, data.draw(st.integers(0, 40)))
    r = data.draw(st.integers(0, piece.stop - 1))
    change = data.draw(
        st.fixed_dictionaries({"units": st.integers(-2, 2), "exact": st.booleans(), "ulps": st.integers(-2, 2)})
    )
    altered = alter_row(piece, r, **change)  # type: ignore[arg-type]  # above 1 doubles are further apart: it may stay 1
    table = table_of(tmp_path_factory.mktemp("table"), [altered])
    assert verify(table, share=1).sound == altered.rows.same_as(piece.rows)


@settings(max_examples=30, deadline=None)
@given(column=columns(), data=st.data())
def test_any_wrong_row_of_a_family_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    column: tuple[Family, Fraction, Counts, int],
    data: st.DataObject,
) -> None:
    """Right rows are those of every outcome of the noise, and the general product agrees with them."""
    piece = literal_slice(*column)
    at = data.draw(st.integers(0, piece.stop - 1))
    change = data.draw(
        st.fixed_dictionaries({"units": st.integers(-2, 2), "exact": st.booleans(), "ulps": st.integers(-2, 2)})
    )
    wrong = alter_row(piece, at, **change)  # type: ignore[arg-type]
    assume(wrong.rows.row(at).ceiling.units >= 0)
    table = table_of(tmp_path_factory.mktemp("table"), [piece if wrong.rows.same_as(piece.rows) else wrong])
    assert verify(table, share=1).sound == wrong.rows.same_as(piece.rows)


def test_budgets_of_a_family_are_named_where_rows_are_wrong(tmp_path: Path) -> None:
    rows = [literal_slice(Sparse("0.01", "0.6"), Fraction(1, 2), (add,), 3) for add in range(3)]
    table = table_of(tmp_path, [rows[0]], [alter_row(rows[1], 2, units=1), cut(rows[2], 1, 4)], [rows[0]])
    report = verify(table, share=1)
    where = "Sparse(p_add='1/100', p_del='3/5'), q = 1/2"
    assert [problem.partition("parquet: ")[2] or problem for problem in report.problems] == [
        f"{where}, add = 1, delete = 2: not what exact arithmetic gives",
        f"{where}, add = 2: rows 0 to 0 are missing",
    ]
    assert (report.columns, report.rows, report.shards) == (3, 11, 2)


def test_shards_that_disagree_about_budgets_are_named(tmp_path: Path) -> None:
    rows = literal_slice(Sparse("0.01", "0.6"), Fraction(1, 2), (1,), 3)
    problems = verify(table_of(tmp_path, [rows], [alter_row(rows, 2, units=1)]), share=0).problems
    where = "Sparse(p_add='1/100', p_del='3/5'), q = 1/2, add = 1"
    assert any(problem.startswith(f"shards disagree about {where}, delete from 0 to 3") for problem in problems)
    assert any(problem.endswith(f"{where}, delete = 2: not what exact arithmetic gives") for problem in problems)


def test_one_bad_column_does_not_hide_another(tmp_path: Path) -> None:
    """K = 1 comes before K = 255, so a contradiction about it must not end the search."""
    table = table_of(tmp_path, [alter_row(CUT, 7, units=1)], [CUT], [alter_row(WHOLE, 60, ulps=-1)])
    problems = verify(table, share=0).problems
    assert any("K = 1, α = 4/5" in problem for problem in problems)
    assert any("K = 255, α = 1/10, r = 60" in problem for problem in problems)


def test_a_contradiction_does_not_hide_a_gap(tmp_path: Path) -> None:
    gap = [cut(WHOLE, 0, 60), cut(WHOLE, 70, 136)]
    problems = verify(table_of(tmp_path, [alter_row(CUT, 7, units=1)], [CUT], gap), share=0).problems
    assert any(problem.startswith("shards disagree about K = 1, α = 4/5") for problem in problems)
    assert "K = 255, α = 1/10: rows 60 to 69 are missing" in problems


def test_of_two_shards_that_disagree_the_wrong_one_is_named(tmp_path: Path) -> None:
    """Whoever meets a contradiction is told to verify, to see which is wrong."""
    table = table_of(tmp_path, [CUT], [alter_row(CUT, 7, units=1)])
    (wrong,) = (name for name, slices in table.shards() if slices[0].threshold(7) != CUT.threshold(7))
    problems = verify(table).problems
    assert any(wrong in problem for problem in problems), problems


def test_a_wrong_end_in_one_of_two_shards_with_the_same_rows_is_found(tmp_path: Path) -> None:
    table = claim_end(CUT, End.COMPLETE)(tmp_path)
    table.append([CUT])
    assert not verify(table, share=1).sound


PAPER = [
    paper_threshold(noise, d, r)
    for noise, d, radii in ((BYTES, 784, (1, 7)), (BYTES, 12, (0, 12)), (BITS, 9, (1, 5, 9)), (FLAT, 6, (0, 3)))
    for r in radii
]


def test_rows_of_the_paper_s_algorithm_agree_with_the_table(tmp_path: Path) -> None:
    table = table_of(tmp_path / "table", [WHOLE, CUT, exact_slice(FLAT)])
    report = audit(PAPER, table)
    assert (report.sound, report.rows, report.recomputed) == (True, 9, 9)
    assert str(report) == "sound: 9 rows of 3 columns in 1 shard, 9 compared with the paper's algorithm"
    paper = PaperTable.create(str(tmp_path / "paper"))
    paper.append(PAPER)
    assert audit(paper.rows(), table).sound


def test_rows_beyond_saturation_are_compared_with_one(tmp_path: Path) -> None:
    table = table_of(tmp_path, [exact_slice(Discrete(1, "99/100"))])
    far = paper_threshold(Discrete(1, "99/100"), 60, 50)
    assert far.value == 1
    assert audit([far], table).sound


@pytest.mark.parametrize("units", [-2, 1, -(10**9), 10**9])
def test_a_wrong_row_of_the_table_does_not_agree_with_the_paper_s(tmp_path: Path, units: int) -> None:
    """One unit too low is within the error bound of the paper's algorithm."""
    report = audit(PAPER[:2], table_of(tmp_path, [alter_row(WHOLE, 7, units=units)]))
    (problem,) = report.problems
    assert problem.startswith(
        "K = 255, α = 1/10, d = 784, r = 7: 0.98739814896523242496 by the paper's algorithm, 0.98739814"
    )


@pytest.mark.parametrize("units", [-1, 2, -(10**9), 10**9])
def test_a_wrong_row_of_the_paper_s_algorithm_is_found(tmp_path: Path, units: int) -> None:
    table = table_of(tmp_path, [WHOLE, CUT, exact_slice(FLAT)])
    right = PAPER[1]
    wrong = PaperThreshold(right.noise, right.d, right.r, right.value + Decimal(units).scaleb(-20), right.error_bound)
    report = audit([*PAPER, wrong], table)
    (problem,) = report.problems
    assert problem.startswith("K = 255, α = 1/10, d = 784, r = 7: ")
    assert str(report).startswith("NOT SOUND: 1 problem in 10 rows")


def test_rows_that_the_table_lacks_cannot_be_audited(tmp_path: Path) -> None:
    table = table_of(tmp_path, [cut(WHOLE, 0, 5), cut(WHOLE, 9, 136)])
    report = audit([paper_threshold(BYTES, 12, r) for r in (4, 7, 9)] + [paper_threshold(WEAK, 5, 1)], table)
    assert report.recomputed == 2
    assert report.problems == [
        "K = 255, α = 1/10, r = 7: the table has no such row",
        "K = 9, α = 1/50, r = 1: the table has no such row",
    ]


def test_two_tables_agree_on_what_they_share(tmp_path: Path) -> None:
    first = table_of(tmp_path / "one", [cut(WHOLE, 0, 50), CUT])
    other = table_of(tmp_path / "other", [cut(WHOLE, 30, 136)], [exact_slice(FLAT)])
    report = compare_tables(first, other)
    assert (report.sound, report.columns, report.rows, report.recomputed) == (True, 1, 20, 20)
    assert str(report) == "sound: 20 rows of 1 column in 3 shards, 20 the same in both"


@pytest.mark.parametrize("change", [{"units": 1}, {"units": -1}, {"exact": True}, {"ulps": 1}])
def test_two_tables_that_differ_in_any_field_do_not_agree(tmp_path: Path, change: dict[str, int]) -> None:
    first = table_of(tmp_path / "one", [WHOLE, CUT])
    other = table_of(tmp_path / "other", [alter_row(WHOLE, 60, **change), CUT])  # type: ignore[arg-type]
    (problem,) = compare_tables(first, other).problems
    assert "K = 255, α = 1/10, r from 0 to 135" in problem
    assert str(compare_tables(first, other)).startswith("NOT SOUND: 1 problem in 157 rows of 2 columns")


def test_only_rows_that_are_the_same_are_counted_as_the_same(tmp_path: Path) -> None:
    first = table_of(tmp_path / "one", [WHOLE, CUT])
    other = table_of(tmp_path / "other", [alter_row(WHOLE, 60, units=1), CUT])
    assert compare_tables(first, other).recomputed == 21


def test_tables_without_common_rows_prove_nothing(tmp_path: Path) -> None:
    report = compare_tables(table_of(tmp_path / "one", [CUT]), table_of(tmp_path / "other", [WHOLE]))
    assert report.problems == ["the tables share no rows"]


def test_a_threshold_list_is_judged_row_by_row() -> None:
    lines = [
        (0, "0.5"),
        (1, "0.59647058823529411765"),
        (7, "0.98739814896523242495"),
        (8, "1"),
        (7, "0.98739814896523242497"),
    ]
    result = judge_list(BYTES, [(r, Decimal(value)) for r, value in lines])
    assert [row.units for row in result] == [0, 0, -1, 0, 1]
    assert by_verdict(result) == {"unsound": [7], "equal": [0, 1, 8], "loose": [7]}
    assert [(row.r, str(row.value)) for row in result] == lines
    assert judge_list(BYTES, []) == []


@settings(max_examples=60)
@given(noises(), st.integers(0, 60), st.integers(1, 30), st.sampled_from([-1, 0, 1]))
def test_a_decimal_is_judged_by_its_own_number_of_digits(noise: Discrete, r: int, digits: int, units: int) -> None:
    (least,) = thresholds(noise, [r], digits)
    text = str(int(Fraction(least) * 10**digits) + units).zfill(digits + 1)
    value = Decimal(f"{text[:-digits]}.{text[-digits:]}")
    report = {-1: "unsound", 0: "equal", 1: "loose"}[units]
    (row,) = judge_list(noise, [(r, value)])
    assert (row.r, row.verdict, row.units, row.least) == (r, report, units, least)


@settings(max_examples=60)
@given(noises(), st.integers(0, 30), st.integers(1, 30))
def test_a_double_is_below_the_threshold_iff_the_exact_fraction_says_so(noise: Discrete, r: int, digits: int) -> None:
    (least,) = thresholds(noise, [r], digits)
    (row,) = judge_list(noise, [(r, least)])
    assert row.float_below == (Fraction(float(least)) < rho_inverse(noise, r, Fraction(1, 2)))


def test_the_published_habit_of_rounding_to_nearest_is_unsound() -> None:
    """float() and round() land below τ about half of the time."""
    rows = [(r, Decimal(f"{value:.6f}")) for r, value in enumerate(thresholds(BYTES, range(40), 30))]
    result = by_verdict(judge_list(BYTES, rows))
    assert result["unsound"]
    assert result["equal"]
    assert not result["loose"]


def test_a_verdict_counts_in_words() -> None:
    assert str(VerificationReport(1, 1, 1, 1)) == "sound: 1 row of 1 column in 1 shard, 1 recomputed"
    assert str(VerificationReport(share=0.00012)).endswith("escapes with probability 1")  # rounded up
    assert str(VerificationReport(2, 3, 4_000, 1, ["bad"])).startswith(
        "NOT SOUND: 1 problem in 4,000 rows of 3 columns"
    )
