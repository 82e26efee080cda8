"""Grids: exact axes from text and TOML, and one clear error for each mistake."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from ellzero.certificates import InvalidInput
from ellzero.precompute.grid import GridSpec, make_grid, read_grid
from ellzero.tables.bundled import GRIDS


def test_ranges_include_both_ends_and_are_exact() -> None:
    grid = make_grid("1,255", "0.01:0.99:0.01", "784,150528")
    assert grid.ks == (1, 255)
    assert grid.alphas == tuple(Fraction(i, 100) for i in range(1, 100))
    assert grid.r_end == 150528
    assert len(grid) == len(list(grid.noises())) == 198


@given(st.integers(1, 400), st.integers(0, 60), st.integers(1, 7))
def test_integer_ranges_are_those_of_python(low: int, width: int, step: int) -> None:
    assert make_grid(f"{low}:{low + width}:{step}", "1/2").ks == tuple(range(low, low + width + 1, step))


def test_axes_are_sorted_and_each_value_counts_once() -> None:
    assert make_grid("7,1:3,2", "0.5,1/2,0.25").ks == (1, 2, 3, 7)
    assert make_grid(1, ["0.5", "1/2", 0.25]).alphas == (Fraction(1, 4), Fraction(1, 2))


@pytest.mark.parametrize(
    ("d", "r_max", "r_end"),
    [(None, "saturate", 2**31 - 1), ("784", "saturate", 784), ("784,3072", "100", 100), (None, 7, 7), ([5, 9], 9, 9)],
)
def test_the_largest_d_and_r_max_bound_the_radii(d: object, r_max: object, r_end: int) -> None:
    assert make_grid(1, "0.3", d, r_max).r_end == r_end


@pytest.mark.parametrize(
    ("axes", "complaint"),
    [
        ({"k": "", "alpha": "0.5"}, "k must be integers"),
        ({"k": [], "alpha": "0.5"}, "k must be integers"),
        ({"k": "0", "alpha": "0.5"}, "k must be an integer from 1"),
        ({"k": "1:5:0", "alpha": "0.5"}, "k must be a range that rises"),
        ({"k": "5:1", "alpha": "0.5"}, "k must be a range that rises"),
        ({"k": "1.5", "alpha": "0.5"}, "k must be integers"),
        ({"k": "1:10000000", "alpha": "0.5"}, "k must be at most 1,000,000 values"),
        (
            {"k": "1:3000", "alpha": "0.001:0.999:0.001"},
            "grid must be of at most 2,000,000 columns",
        ),
        ({"k": 1, "alpha": "0:1:0.1"}, "alpha must be a rational"),
        ({"k": 1, "alpha": "0.1:0.9"}, "alpha must be numbers"),
        ({"k": 1, "alpha": "1/0"}, "alpha must be"),
        ({"k": 1, "alpha": "x"}, "alpha must be numbers"),
        ({"k": True, "alpha": "0.5"}, "k must be an integer"),
        ({"k": 1, "alpha": "0.5", "d": "0"}, "d must be an integer from 1"),
        ({"k": 1, "alpha": "0.5", "r_max": "-1"}, "r_max must be an integer from 0 to 2147483647 or 'saturate'"),
        ({"k": 1, "alpha": "0.5", "r_max": 2.5}, "r_max must be an integer from 0 to 2147483647 or 'saturate'"),
        ({"k": 1, "alpha": "0.5", "d": "10,784", "r_max": 785}, "r_max must be at most the largest d, 784"),
    ],
)
def test_an_invalid_axis_is_one_line(axes: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_grid(**axes)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_a_grid_file(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text('k = [1, 255]\nalpha = [0.1, "1/3", "0.5:0.7:0.1"]\nd = 784\nr_max = "saturate"\n')
    grid = read_grid(file)
    assert isinstance(grid, GridSpec)
    assert grid.ks == (1, 255)
    assert grid.alphas == (Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(3, 5), Fraction(7, 10))
    assert grid.r_end == 784


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "k = 1\nalpha = 0.5\nK = 3\n",
            "grid must be a file with the keys k, alpha, d, r_max, or with family and max; got 'K'",
        ),
        ("alpha = 0.5\n", "grid must be a file that gives k"),
        ("k = 1\n", "grid must be a file that gives alpha"),
        ("k = = 1\n", "grid must be a TOML file"),
        ("k = 1\nalpha = nan\n", "alpha must be numbers"),
        ("k = 1\nalpha = 1e-999999999\n", "alpha must be numbers"),
        ("k = " + 5_000 * "[" + "\n", "grid must be a TOML file"),
        ("k = 1\nalpha = 2020-01-01\n", "alpha must be"),
    ],
)
def test_an_invalid_grid_file_is_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_grid(file)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


def test_the_grids_of_the_shipped_table_can_be_read() -> None:
    assert [len(read_grid(grid)) for grid in GRIDS] == [24 * 99, 84 * 11]
