"""Tables of results: nothing is lost in JSON, and what is printed is rounded to the safe side."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from ellzero.core.errors import InvalidInput
from ellzero.experiments import Estimate, ExperimentResult, ResultColumn, ResultTable

numbers = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    low, value, high = sorted(draw(st.tuples(numbers, numbers, numbers)))
    paper = draw(st.none() | numbers)
    return Estimate(value, low, high, paper) if draw(st.booleans()) else Estimate(value, paper=paper)


cells = st.one_of(
    st.none(),
    st.booleans(),
    st.text(),
    st.integers(),
    numbers,
    st.decimals(allow_nan=False, allow_infinity=False),
    st.fractions(),
    estimates(),
)


@given(st.lists(st.tuples(cells, cells), max_size=4), st.text())
def test_json_keeps_every_cell_with_its_type(rows: list[tuple[object, object]], caption: str) -> None:
    columns = (ResultColumn("a"), ResultColumn("b", "percent", 1, "down"))
    table = ResultTable("name", "Title", columns, tuple(rows), caption)  # type: ignore[arg-type]
    read = ResultTable.from_json(json.loads(json.dumps(table.to_json())))
    assert read == table
    assert [[type(cell) for cell in row] for row in read.rows] == [[type(cell) for cell in row] for row in rows]


def test_a_result_is_the_same_after_json() -> None:
    table = ResultTable("t", "T", (ResultColumn("x", digits=2),), ((Fraction(1, 3),),))
    result = ExperimentResult("thresholds", "ellzero reproduce thresholds", 1.5, (table,), {"n": 2}, ("a",), ("b.svg",))
    assert ExperimentResult.from_json(json.loads(json.dumps(result.to_json()))) == result
    assert result.table("t") is table
    with pytest.raises(KeyError):
        result.table("other")


@given(estimates().filter(lambda estimate: estimate.low is not None), st.integers(0, 6))
def test_a_printed_band_holds_the_computed_one(estimate: Estimate, digits: int) -> None:
    lines = ResultColumn("", digits=digits).print_cell(estimate)
    low, high = (Fraction(text.replace(",", "")) for text in lines[1].split(" – "))
    assert estimate.low is not None
    assert estimate.high is not None
    assert low <= Fraction(estimate.low)
    assert Fraction(estimate.high) <= high
    assert high - low <= Fraction(estimate.high) - Fraction(estimate.low) + Fraction(2, 10**digits)


@given(st.fractions(), st.integers(0, 6))
def test_a_guarantee_is_never_rounded_up_and_a_threshold_never_down(number: Fraction, digits: int) -> None:
    (line,) = ResultColumn("", digits=digits, rounding="down").print_cell(number)
    assert 0 <= number - Fraction(line.replace(",", "")) < Fraction(1, 10**digits)
    (line,) = ResultColumn("", digits=digits, rounding="up").print_cell(number)
    assert 0 <= Fraction(line.replace(",", "")) - number < Fraction(1, 10**digits)


@pytest.mark.parametrize(
    ("column", "cell", "lines"),
    [
        (ResultColumn("", digits=3), Estimate(0.925, 0.8624, 0.9651, 0.921), ["0.925", "0.862 – 0.966", "paper 0.921"]),
        (ResultColumn("", digits=3), Estimate(0.5, 0.4, 0.6, 0.7), ["0.500", "0.400 – 0.600", "paper 0.700, outside"]),
        (ResultColumn("", digits=2), Estimate(paper=0.176), ["–", "paper 0.18"]),
        (ResultColumn("", "percent", 1), 0.1234, ["12.3%"]),
        (ResultColumn("", "percent", 0), Fraction(1, 3), ["33%"]),
        (ResultColumn("", "percent"), 0.25, ["25%"]),
        (ResultColumn("", "percent"), 1, ["100%"]),
        (ResultColumn("", "seconds"), 0.0123, ["12.3 ms"]),
        (ResultColumn("", digits=2), -0.005, ["-0.01"]),
        (ResultColumn(""), Decimal("0.50000000000000000000"), ["0.50000000000000000000"]),
        (ResultColumn("", digits=1), 150_528, ["150,528"]),
        (ResultColumn(""), True, ["yes"]),
        (ResultColumn(""), None, ["–"]),
        (ResultColumn(""), "words", ["words"]),
    ],
)
def test_cells_are_printed_as_their_column_says(column: ResultColumn, cell: object, lines: list[str]) -> None:
    assert column.print_cell(cell) == lines  # type: ignore[arg-type]


def test_a_table_is_markdown_and_plain_text() -> None:
    columns = (ResultColumn("noise"), ResultColumn("ACC@1", digits=2))
    table = ResultTable("t", "Accuracy", columns, (("a|b", Estimate(0.5, 0.25, 0.75, 0.5)), ("c", 1)), "Words.")
    assert table.to_markdown() == (
        "| noise | ACC@1 |\n|---|---|\n| a\\|b | 0.50<br>0.25 – 0.75<br>paper 0.50 |\n| c | 1 |\n\nWords.\n"
    )
    assert table.to_text() == (
        "Accuracy\nnoise  ACC@1\na|b    0.50\n       0.25 – 0.75\n       paper 0.50\nc      1\nWords.\n"
    )


@pytest.mark.parametrize(
    "numbers",
    [
        {"value": float("nan")},
        {"value": 0.5, "low": 0.6, "high": 0.7},
        {"value": 0.5, "low": 0.4},
        {"low": 0.4, "high": 0.6},
        {"value": 0.5, "paper": float("inf")},
    ],
)
def test_an_estimate_outside_its_band_or_not_finite_is_refused(numbers: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="estimate must be"):
        Estimate(**numbers)


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidInput, match="rows must be of 1 cells in the table t; got 2"):
        ResultTable("t", "T", (ResultColumn("x"),), ((1, 2),))


def test_whether_the_paper_is_inside_our_band_is_known_only_with_both() -> None:
    assert Estimate(0.5, 0.4, 0.6, 0.6).holds_paper is True
    assert Estimate(0.5, 0.4, 0.6, 0.61).holds_paper is False
    assert Estimate(0.5, paper=0.5).holds_paper is None
    assert Estimate(0.5, 0.4, 0.6).holds_paper is None
