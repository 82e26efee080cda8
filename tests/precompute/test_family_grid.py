"""Grids of families: every choice of the values that parameters list, exact, and one clear error for each mistake."""

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ellzero.certificates import Ablation, Discrete, Grouped, Hierarchical, InvalidInput, Joint, Mask, Sparse, Total
from ellzero.precompute.family_grid import FamilyGrid, count_columns, fixed_counts, make_family_grid
from ellzero.precompute.grid import read_grid

SPARSE = {"family": "sparse", "p_add": "0.001:0.003:0.001", "p_del": ["0.4", "3/5"]}
JOINT = {"family": "joint", "members": {"a": SPARSE}}


def test_a_grid_has_every_choice_of_parameters_once() -> None:
    grid = make_family_grid({**SPARSE, "p_add": "0.001:0.003:0.001,0.002"}, {"add": 4, "delete": 9})
    assert set(grid.families) == {Sparse(f"0.00{add}", delete) for add, delete in product((1, 2, 3), ("0.4", "0.6"))}
    assert (len(grid.families), len(grid), grid.most, grid.q) == (6, 30, (4, 9), Fraction(1, 2))


@pytest.mark.parametrize(
    ("description", "most", "families"),
    [
        ({"family": "mask", "m": [0.9, "0.95"]}, 7, [Mask("0.9"), Mask("0.95")]),
        ({"family": "ablation", "d": "8", "keep": "2:4"}, None, [Ablation(8, keep) for keep in (2, 3, 4)]),
        (
            {"family": "hierarchical", "base": {"family": "discrete", "k": 3, "alpha": "0.5"}, "s": "0.8,0.9"},
            5,
            [Hierarchical(Discrete(3, "0.5"), s) for s in ("0.8", "0.9")],
        ),
        (
            {"family": "joint", "members": {"b": {"family": "mask", "m": "0.8,0.9"}, "a": SPARSE | {"p_add": "0.1"}}},
            {"b": 3, "a": {"add": 1, "delete": 2}},
            [Joint(b=Mask(m), a=Sparse("0.1", p)) for m in ("0.8", "0.9") for p in ("0.4", "0.6")],
        ),
        ({"family": "total", "base": SPARSE | {"p_add": 0.1, "p_del": 0.2}}, {"change": 3}, [Total(Sparse(0.1, 0.2))]),
        (
            {"family": "grouped", "members": [{"family": "mask", "m": "0.8,0.9", "columns": 3}]},
            None,
            [Grouped([(Mask(m), 3)]) for m in ("0.8", "0.9")],
        ),
    ],
)
def test_families_of_every_kind(description: object, most: object, families: list[Any]) -> None:
    assert set(make_family_grid(description, most).families) == set(families)


def test_an_axis_ends_where_a_family_does() -> None:
    grid = make_family_grid({"family": "ablation", "d": [8, 30], "keep": 2}, 20)
    assert {family.most: grid.limits(family) for family in grid.families} == {(8,): (8,), (30,): (20,)}
    levels = make_family_grid(
        {"family": "sparse-levels", "k": "1,3", "p_add": "0.1", "p_del": "0.2"}, {"add": 2, "delete": 3, "change": 4}
    )
    assert sorted(levels.limits(family) for family in levels.families) == [(2, 3, 0), (2, 3, 4)]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_columns_are_in_lexicographic_order(limits: list[int]) -> None:
    counts = tuple(limits)
    places = range(count_columns(counts))
    assert [fixed_counts(counts, place) for place in places] == list(product(*(range(n + 1) for n in limits[:-1])))


def test_a_grid_file(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        'family = "joint"\nq = "1/3"\n[members.edges]\nfamily = "sparse"\np_add = [0.01, "0.02"]\np_del = "0.6"\n'
        '[members.nodes]\nfamily = "mask"\nm = 0.9\n[max]\nnodes = 4\nedges.add = 2\nedges.delete = 3\n'
    )
    families = {Joint(edges=Sparse(p, "0.6"), nodes=Mask("0.9")) for p in ("0.01", "0.02")}
    grid = read_grid(file)
    assert isinstance(grid, FamilyGrid)
    assert (set(grid.families), grid.most, grid.q) == (families, (2, 3, 4), Fraction(1, 3))


def test_the_discrete_noise_at_another_q() -> None:
    grid = make_family_grid({"family": "discrete", "k": "1,3", "alpha": "0.8"}, 9, "1/3")
    assert set(grid.families) == {Discrete(1, "0.8"), Discrete(3, "0.8")}


@pytest.mark.parametrize(
    ("description", "most", "q", "complaint"),
    [
        (SPARSE, {"add": 3}, "1/2", "max.delete must be given"),
        (SPARSE, 3, "1/2", "max must be given by name, for add, delete"),
        (SPARSE, None, "1/2", "max.add must be given"),
        (SPARSE, {"add": 3, "delete": 3, "change": 3}, "1/2", "max must be given for add, delete; got 'change'"),
        (
            JOINT,
            {"a.add": 3, "a": {"add": 4, "delete": 5}},
            "1/2",
            "max must be given once",
        ),
        (SPARSE, {"add": -1, "delete": 3}, "1/2", "max.add must be an integer from 0"),
        (SPARSE, {"add": 2**31, "delete": 3}, "1/2", "max.add must be an integer from 0"),
        (SPARSE, {"add": 10**9, "delete": 3}, "1/2", "grid must be of at most 2,000,000 columns"),
        (SPARSE, {"add": 3, "delete": 3}, "1", "q must be a number strictly between 0 and 1"),
        ({**SPARSE, "p_add": "0.0:0.5:0.1"}, {"add": 3, "delete": 3}, "1/2", "family.p_add must be a rational"),
        ({**SPARSE, "p_add": "x"}, {"add": 3, "delete": 3}, "1/2", "p_add must be numbers such as"),
        ({**SPARSE, "m": "0.5"}, {"add": 3, "delete": 3}, "1/2", "family.m must be left out"),
        ({**SPARSE, "p_add": "0.00001:0.5:0.00001", "p_del": "0.01:0.9:0.01"}, None, "1/2", "grid must be of at most"),
        ({"family": "discrete", "k": 1, "alpha": "0.5"}, 5, "1/2", "family must be left out"),
        ({"family": "joint", "members": 3}, 5, "1/2", "family.members must be a mapping"),
        ("sparse", 5, "1/2", "family must be a mapping"),
    ],
)
def test_a_mistake_is_one_line(description: object, most: object, q: str, complaint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make_family_grid(description, most, q)
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)
