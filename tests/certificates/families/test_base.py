"""Budgets are read by name, and written as the family nests them."""

import pytest
from hypothesis import given
from oracles.families import cases

from ellzero.certificates import Discrete, Family, Grouped, InvalidInput, Joint, Mask, Sparse
from ellzero.certificates.families.base import Budget, Counts, read_parameter

GRAPH = Joint(edges=Sparse("0.01", "0.6"), attributes=Joint(words=Sparse("0.1", "0.2"), kind=Mask("0.5")))


@given(cases())
def test_a_budget_that_was_written_is_read_as_it_was(case: tuple[Family, Counts]) -> None:
    family, counts = case
    assert family.read_budget(family.write_budget(counts)) == counts


@pytest.mark.parametrize(
    ("family", "budget", "counts"),
    [
        (Discrete(1, "0.8"), 3, (3,)),
        (Discrete(1, "0.8"), {"change": 3}, (3,)),
        (Discrete(1, "0.8"), {}, (0,)),
        (Sparse("0.1", "0.2"), {"delete": 2}, (0, 2)),
        (GRAPH, {"attributes": {"words": {"add": 1}, "kind": 2}}, (0, 0, 1, 0, 2)),
        (GRAPH, {}, (0, 0, 0, 0, 0)),
    ],
)
def test_what_is_not_named_is_zero(family: Family, budget: Budget, counts: Counts) -> None:
    assert family.read_budget(budget) == counts


@pytest.mark.parametrize(
    ("family", "budget"),
    [
        (GRAPH, {"edges": {"add": 5}, "edges.add": 0}),  # twice: which one?
        (GRAPH, {"edges.add": 5, "edges": {"add": 5}}),
        (GRAPH, {"foo": {}}),
        (GRAPH, {"attributes": {"kind": {}}}),
        (Sparse("0.1", "0.2"), {"add": {}}),
        (Sparse("0.1", "0.2"), {"add": {"add": 1}}),
        (Mask("0.5"), {"change": {}}),
    ],
)
def test_nothing_that_is_written_is_read_as_zero(family: Family, budget: Budget) -> None:
    """A count that were dropped would be a certificate for less than was asked."""
    with pytest.raises(InvalidInput, match="^budget must be"):
        family.read_budget(budget)


def test_nesting_without_end_is_refused() -> None:
    endless: dict[str, Budget] = {}
    endless["edges"] = endless
    with pytest.raises(InvalidInput, match="^budget must be"):
        GRAPH.read_budget(endless)
    assert GRAPH.read_budget({"attributes": {"words": {}}, "edges": {}}) == (0, 0, 0, 0, 0)


def test_a_family_names_its_kinds_of_change() -> None:
    assert GRAPH.axes == (
        "edges.add",
        "edges.delete",
        "attributes.words.add",
        "attributes.words.delete",
        "attributes.kind",
    )
    assert GRAPH.write_budget((1, 0, 0, 2, 3)) == {
        "edges": {"add": 1, "delete": 0},
        "attributes": {"words": {"add": 0, "delete": 2}, "kind": 3},
    }
    assert Grouped([(Discrete(1, "0.8"), 3), (Mask("0.5"), 2)]).most == (5,)


@pytest.mark.parametrize("parameter", [0, 1, -0.1, "1.5", "x", None, True, float("nan"), "1/99999999999999999999"])
def test_a_parameter_is_a_probability_between_0_and_1_whose_parts_fit_63_bits(parameter: object) -> None:
    with pytest.raises(InvalidInput, match="^m must be a rational number strictly between 0 and 1"):
        read_parameter(parameter, "m")  # type: ignore[arg-type]
