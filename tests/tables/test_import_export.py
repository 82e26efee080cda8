"""Rows leave as CSV, JSON and plain lists without losing a digit, and lists of thresholds are read or refused."""

import csv
import io
import json
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises
from oracles.tables import cut, exact_slice, list_rows

from ellzero.certificates import Discrete, InvalidInput, Threshold
from ellzero.tables import ColumnSlice, End, import_export


@st.composite
def some_runs(draw: st.DrawFn) -> list[ColumnSlice]:
    runs = []
    for noise in draw(st.lists(noises(), min_size=1, max_size=3, unique=True)):
        whole = exact_slice(noise, draw(st.integers(0, 40)))
        runs.append(cut(whole, draw(st.integers(0, whole.stop - 1)), whole.stop))
    return runs


@settings(max_examples=40)
@given(some_runs())
def test_csv_parses_back_to_the_same_rows(runs: list[ColumnSlice]) -> None:
    rows = csv.DictReader(io.StringIO("\n".join(import_export.to_csv(runs))))
    result = [
        Threshold(
            Discrete(int(row["k"]), f"{row['alpha_num']}/{row['alpha_den']}"),
            int(row["r"]),
            Decimal(row["threshold"]),
            {"true": True, "false": False}[row["exact"]],
            float(row["min_p"]),
        )
        for row in rows
    ]
    assert result == [row for run in runs for row in list_rows(run)[2]]


@settings(max_examples=40)
@given(some_runs())
def test_json_parses_back_to_the_same_columns(runs: list[ColumnSlice]) -> None:
    result = json.loads("\n".join(import_export.to_json(runs)))
    assert (result["format"], result["digits"], sorted(result["conventions"])) == (2, 20, ["alpha", "k", "r"])
    columns = []
    for column in result["columns"]:
        noise = Discrete(column["k"], column["alpha"])
        fields = zip(column["threshold"], column["exact"], column["min_p"], strict=True)
        rows = [
            Threshold(noise, r, Decimal(value), exact, min_p)
            for r, (value, exact, min_p) in enumerate(fields, column["first"])
        ]
        columns.append((noise, End(column["end"]), rows))
    assert columns == [list_rows(run) for run in runs]


def test_a_table_without_rows_is_still_json_and_csv() -> None:
    assert json.loads("\n".join(import_export.to_json([])))["columns"] == []
    assert list(import_export.to_csv([])) == ["k,alpha_num,alpha_den,r,threshold,exact,min_p"]


@settings(max_examples=40)
@given(some_runs())
def test_a_plain_list_parses_back_to_the_same_thresholds(runs: list[ColumnSlice]) -> None:
    text = "\n".join(import_export.to_text(runs[:1]))
    assert list(import_export.from_text(io.StringIO(text))) == [(row.r, row.value) for row in list_rows(runs[0])[2]]


@pytest.mark.parametrize(
    "text",
    [
        "7\t0.9873\n8\t0.99\n",
        "7 0.9873\n8  0.99",
        "7,0.9873\n8, 0.99\n",
        "7;0.9873\n8;0.99\n",
        "  7\t0.9873  \r\n8\t0.99\r\n",
        "# K = 255\n\nr\tthreshold\n7\t0.9873\n   \n# more\n8\t0.99\n",
        "r,threshold\n7,0.9873\n8,0.99\n",
    ],
)
def test_lists_are_read_however_people_write_them(text: str) -> None:
    assert list(import_export.from_text(io.StringIO(text))) == [(7, Decimal("0.9873")), (8, Decimal("0.99"))]


@pytest.mark.parametrize(
    "text",
    [
        "r\tsome\tthreshold\n7\tx\t0.9873\n8\ty\t0.99\n",
        "radius,rho,threshold,more\n7,1/2,0.9873,\n8,0.5,0.99,words and more\n",
        "# made by hand\n\nv rho_r threshold\n7 0.1 0.9873\n8 0.2 0.99\n",
        "r\trho_r^{-1}(0.5)\terr\n7\t0.9873\t1* 10^-20\n8\t0.99\t1* 10^-20\n",  # the lists of the paper's authors
        "r   rho_r^{-1}(0.5) err\n7\t0.9873\tNA\n8\t0.99\tNA\n",  # some have blanks in the header only
    ],
)
def test_below_a_header_the_column_of_that_name_has_the_thresholds(text: str) -> None:
    assert list(import_export.from_text(io.StringIO(text))) == [(7, Decimal("0.9873")), (8, Decimal("0.99"))]


@pytest.mark.parametrize(
    "text",
    [
        "r\tsome\tthreshold\n7\t0.9\n",
        "7\t0.1\t0.9\n",
        "7\t0.9\nr\tsome\tthreshold\n",
        "r\tvalue\terr\n7\t0.9\t0.1\n",
        "rho\tr\n0.9\t7\n",
    ],
)
def test_a_row_of_another_shape_than_the_header_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="must be a radius and a decimal"):
        list(import_export.from_text(io.StringIO(text)))


@pytest.mark.parametrize(
    "line",
    [
        "7",
        "7\t",
        "x\t0.9",
        "7\t0.9\t0.8",
        "-7\t0.9",
        "7.0\t0.9",
        "7\t-0.9",
        "7\t9e-1",
        "7\t1/2",
        "7\tnan",
        "7\t.9",
        "٧\t0.9",
        "7\t0." + "9" * 1_001,
        "12345678901\t0.9",
        "7\t12345",
        "\x00",
    ],
)
def test_a_line_that_is_not_a_row_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(InvalidInput) as error:
        list(import_export.from_text(io.StringIO(f"# first\n7\t0.9\n{line}\n")))
    assert str(error.value).startswith(
        "line 3 must be a radius and a decimal such as 7<TAB>0.98739814896523242496; got "
    )
    assert len(str(error.value)) < 200
