"""Families of families, and lists of regions."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import ClassVar

import pytest
from hypothesis import given, strategies as st
from oracles.families import parameters

from ellzero.certificates import (
    Ablation,
    Block,
    Deletion,
    Discrete,
    Grouped,
    InvalidInput,
    Joint,
    Mask,
    RegionList,
    SingleBlock,
    Sparse,
    SparseLevels,
    Total,
    regions,
    rho_inverse,
    threshold,
)
from ellzero.certificates.families.composed import count_splits, split_budget

HALF = Fraction(1, 2)


class Plain(SingleBlock):
    """A family that is no dataclass."""

    name = "plain"
    block = Block([("0.8", "0.2"), ("0.2", "0.8")])


@dataclass
class Unhashable(SingleBlock):
    name: ClassVar[str] = "unhashable"
    block: ClassVar[Block] = Block([("0.8", "0.2"), ("0.2", "0.8")])


@given(parameters(), st.integers(1, 4), st.integers(1, 4), st.data())
def test_groups_of_one_kind_are_that_kind(alpha: Fraction, first: int, second: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(0, first + second))
    noise = Discrete(2, alpha)
    assert threshold(Grouped([(noise, first), (noise, second)]), r) == threshold(noise, r)


def test_a_group_is_as_weak_as_its_worst_columns() -> None:
    strong, weak = Discrete(1, "0.6"), Discrete(9, "0.9")
    table = Grouped([(strong, 10), (weak, 2)])
    assert threshold(table, 1) == threshold(weak, 1) > threshold(strong, 1)
    assert threshold(table, 2) == threshold(weak, 2)
    assert threshold(table, 3) == threshold(Joint(weak=weak, strong=strong), {"weak": 2, "strong": 1})
    assert threshold(table, 12) == threshold(Joint(weak=weak, strong=strong), {"weak": 2, "strong": 10})


def test_a_total_is_as_weak_as_the_worst_kinds_of_change() -> None:
    words = Sparse("0.01", "0.6")
    assert threshold(Total(words), 3) == max(threshold(words, {"add": add, "delete": 3 - add}) for add in range(4))
    assert Total(Joint(a=Grouped([(Mask("0.5"), 2)]), b=Grouped([(Mask("0.6"), 3)]))).most == (5,)
    assert Total(SparseLevels(1, "0.1", "0.2")).most == (None,)
    with pytest.raises(InvalidInput, match="^base must be a family of noises"):
        Total("sparse")  # type: ignore[arg-type]


def test_a_group_holds_every_change_that_a_member_allows() -> None:
    """One text of one column has no limit of edits, and an ablation strikes all of its coordinates together."""
    for family, columns in (
        (Deletion("0.9"), 1),
        (Ablation(10, 5), 1),
        (Grouped([(Mask("0.5"), 5)]), 2),
        (RegionList([[(1, 1)], [(1, 1)]]), 1),
        (Total(Deletion("0.9")), 3),
    ):
        with pytest.raises(InvalidInput, match=r"^members(\[\d\].columns)? must be"):
            Grouped([(family, columns), (Mask("0.5"), 2)])
    assert Grouped([(Ablation(10, 5), 10), (Mask("0.5"), 2)]).most == (12,)


def test_equal_columns_are_one_member() -> None:
    """Twenty groups of one noise would otherwise be divided in 3·10^8 ways."""
    noise = Mask("0.95")
    assert Grouped([(noise, 5)] * 20) == Grouped([(noise, 100)])
    assert threshold(Grouped([(noise, 5)] * 20), 9) == threshold(noise, 9)
    with pytest.raises(InvalidInput, match="^members must be different"):
        Grouped([(Ablation(4, 2), 4), (Ablation(4, 2), 4)])


@given(st.integers(0, 9), st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_budgets_are_divided_in_every_way_and_counted_before(total: int, most: list[int]) -> None:
    ways = [split for split in product(*(range(each + 1) for each in most)) if sum(split) == total]
    assert list(split_budget(total, most)) == ways
    assert count_splits(total, most) == len(ways)


def test_too_many_ways_to_divide_a_budget_are_refused() -> None:
    table = Grouped([(Discrete(k, "0.5"), 50) for k in range(1, 13)])
    with pytest.raises(InvalidInput, match="^budget must be one that can be divided in at most 100,000 ways among 12"):
        threshold(table, 20)
    with pytest.raises(InvalidInput, match="^budget must be one that can be divided"):
        threshold(Total(Sparse("0.1", "0.2")), 10**12)


def test_many_columns_that_can_be_chosen_in_few_ways_are_not_refused() -> None:
    assert count_splits(10**6, [10**6, 1]) == 2
    assert count_splits(4 * 10**5, [2 * 10**5, 2 * 10**5]) == 1
    assert count_splits(7, [3, 3]) == 0


def test_members_of_a_joint_budget_are_struck_together() -> None:
    graph = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.001", "0.8"))
    assert threshold(graph, {"edges": {"add": 2}}) == threshold(Sparse("0.01", "0.6"), {"add": 2})
    assert threshold(graph, {"edges": {"add": 2}, "attributes": {"delete": 1}}) > threshold(
        graph, {"edges": {"add": 2}}
    )


@given(parameters(), st.integers(1, 4))
def test_a_list_of_regions_is_the_noise_that_it_was_taken_from(alpha: Fraction, r: int) -> None:
    noise = Discrete(3, alpha)
    listed = RegionList([[(region.x, region.xbar) for region in regions(noise, each)] for each in range(1, r + 1)])
    assert rho_inverse(listed, r, HALF) == rho_inverse(noise, r, HALF)


def test_many_lists_are_shown_in_short() -> None:
    flat = [(1, 1)]
    assert repr(RegionList([flat] * 3)) == "RegionList([<1 regions>, <1 regions>, <1 regions>])"
    assert repr(RegionList([flat] * 40)) == "RegionList([<1 regions>, …, <1 regions>])"


def test_a_certificate_by_a_list_covers_fewer_changes_too() -> None:
    """Nothing says that the lists of a user grow worse with r."""
    bad, good = [(9, 0), (0, 9), (1, 1)], [(1, 1)]
    assert threshold(RegionList([bad, good]), 2) == threshold(RegionList([bad, good]), 1) == 1
    assert threshold(RegionList([good, bad]), 1, digits=1) == HALF


@pytest.mark.parametrize(
    "lists", [5, [5], [[(1,)]], [[(1, 2, 3)]], [[(Fraction(1, 10**5000), 1), (1, Fraction(1, 10**5000))]]]
)
def test_lists_of_another_shape_are_refused(lists: object) -> None:
    with pytest.raises(InvalidInput, match="^regions must be"):
        RegionList(lists)  # type: ignore[arg-type]


def test_long_lists_are_read_as_they_are() -> None:
    """A thousand regions of different ratios have no product to make."""
    masses = [(k * k + 1, (1_000 - k) * 3 + 7) for k in range(1, 1_000)]
    x, xbar = (sum(pair[side] for pair in masses) for side in (0, 1))
    listed = RegionList([[(Fraction(a, x), Fraction(b, xbar)) for a, b in masses]])
    assert 0.5 < threshold(listed, 1) < 1
    assert len(list(regions(listed, 1))) > 900


@pytest.mark.parametrize("lists", [[], [[]], [[(1, 2)]], [[(-1, -1)]], [[(0.5, 0.5)]], [[(True, True)]]])
def test_lists_without_distributions_are_refused(lists: object) -> None:
    with pytest.raises(InvalidInput, match="^regions must be"):
        RegionList(lists)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Joint(),
        lambda: Joint(**{"a.b": Mask("0.5")}),
        lambda: Joint(edges="sparse"),  # type: ignore[arg-type]
        lambda: Grouped([]),
        lambda: Grouped([(Sparse("0.1", "0.2"), 3)]),
        lambda: Grouped([(Mask("0.5"), 0)]),
        lambda: Grouped([Mask("0.5")]),  # type: ignore[list-item]
        lambda: Grouped([(Mask("0.5"), 1, 2)]),  # type: ignore[list-item]
        lambda: Grouped(5),  # type: ignore[arg-type]
        lambda: Joint(**{"": Mask("0.5")}),
        lambda: Joint(**{"a=b": Mask("0.5")}),
        lambda: Grouped([("mask", 1)]),  # type: ignore[list-item]
        lambda: Grouped([(Unhashable(), 1)]),
        lambda: Plain().describe(),
        lambda: threshold(Plain(), {"edit": 1}),
    ],
)
def test_bad_members_are_refused(make: object) -> None:
    with pytest.raises(InvalidInput):
        make()  # type: ignore[operator]
