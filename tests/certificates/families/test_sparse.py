"""Noises on sparse data."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, strategies as st
from oracles.families import parameters

from ellzero.certificates import Discrete, InvalidInput, Sparse, SparseLevels, regions, rho, threshold


@given(parameters(), parameters(), st.integers(0, 12), st.integers(0, 12))
def test_regions_lie_on_a_line(p_add: Fraction, p_del: Fraction, add: int, delete: int) -> None:
    """r_add + r_delete + 1 of them, unless the noise is flat."""
    count = len(list(regions(Sparse(p_add, p_del), {"add": add, "delete": delete})))
    assert count == (1 if p_add + p_del == 1 else add + delete + 1)


@given(parameters(), parameters(), st.integers(0, 6), st.integers(0, 6))
def test_regions_are_the_published_poisson_binomials(p_add: Fraction, p_del: Fraction, add: int, delete: int) -> None:
    """Bojchevski et al.: q of the changed bits are struck, under x̄ all but q of them."""
    assume(p_add + p_del != 1)
    under_x = poisson_binomial([p_add] * add + [p_del] * delete)
    under_xbar = poisson_binomial([p_del] * add + [p_add] * delete)
    published = {(x, xbar) for x, xbar in zip(under_x, reversed(under_xbar), strict=True)}
    listed = list(regions(Sparse(p_add, p_del), {"add": add, "delete": delete}))
    total = sum(region.x for region in listed)
    assert {(Fraction(region.x, total), Fraction(region.xbar, total)) for region in listed} == published


def poisson_binomial(probabilities: list[Fraction]) -> list[Fraction]:
    """The probabilities of 0, 1, … successes in independent trials."""
    masses, nothing = [Fraction(1)], Fraction(0)
    for p in probabilities:
        masses = [a * (1 - p) + b * p for a, b in zip([*masses, nothing], [nothing, *masses], strict=True)]
    return masses


@given(parameters(), parameters(), st.integers(0, 5), st.integers(0, 5))
def test_levels_of_two_values_are_bits(p_add: Fraction, p_del: Fraction, add: int, delete: int) -> None:
    bits, levels = Sparse(p_add, p_del), SparseLevels(1, p_add, p_del)
    assert threshold(levels, {"add": add, "delete": delete}) == threshold(bits, {"add": add, "delete": delete})


@given(parameters(), st.integers(1, 5), st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_equal_probabilities_are_discrete_noise(move: Fraction, k: int, add: int, delete: int, change: int) -> None:
    budget = {"add": add, "delete": delete, "change": change if k > 1 else 0}
    together = sum(budget.values())
    assert rho(SparseLevels(k, move, move), budget, "0.9") == rho(Discrete(k, 1 - move), together, "0.9")


def test_bits_have_no_other_value_to_change_to() -> None:
    with pytest.raises(InvalidInput, match=r"^budget\.change must be an integer from 0 to 0; got 1"):
        threshold(SparseLevels(1, "0.1", "0.2"), {"change": 1})


@pytest.mark.parametrize("k", [0, -1, 1.5, 10**9])
def test_the_number_of_other_values_is_in_range(k: object) -> None:
    with pytest.raises(InvalidInput, match="^k must be an integer from 1 to 100000000"):
        SparseLevels(k, "0.1", "0.2")  # type: ignore[arg-type]


def test_parameters_are_named_in_errors() -> None:
    with pytest.raises(InvalidInput, match="^p_add must be"):
        Sparse(0, "0.5")
    with pytest.raises(InvalidInput, match="^p_del must be"):
        Sparse("0.5", 1)
