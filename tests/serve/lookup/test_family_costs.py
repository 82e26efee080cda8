"""Estimates follow what the work depends on: what is certified, not what is asked about."""

from fractions import Fraction
from math import inf, isfinite

import pytest
from hypothesis import given, settings, strategies as st
from oracles.families import families

from ellzero.certificates import Ablation, Family, Joint, Mask, RegionList, Sparse, SparseLevels, Total, certified
from ellzero.serve.lookup.family_costs import budget_seconds, certified_seconds, thresholds_seconds

WORDS = Sparse("0.01", "0.6")
LEVELS = SparseLevels(5, "0.01", "0.6")
P = Fraction(99, 100)
FAR = 2**31 - 1


def far(family: Family) -> tuple[int, ...]:
    return tuple(FAR if most is None else most for most in family.most)


@pytest.mark.parametrize(
    "family",
    [
        WORDS,
        Mask("0.9"),
        Ablation(784, 45),
        Total(WORDS),
        LEVELS,
        Joint(a=WORDS, b=Mask("0.9")),
    ],
)
def test_limits_beyond_what_is_certified_do_not_matter(family: Family) -> None:
    near = certified_seconds(family, tuple(min(100, most) for most in far(family)), P, None, 1)
    assert certified_seconds(family, far(family), P, None, 1) <= 2 * near < 1


def test_more_is_certified_of_a_larger_p_and_costs_more() -> None:
    close = [certified_seconds(WORDS, (FAR, FAR), 1 - Fraction(1, 10**digits), None, 1) for digits in (1, 4, 16, 64)]
    assert close == sorted(close)
    assert close[0] < close[-1] / 10
    assert certified_seconds(WORDS, (FAR, FAR), P, Fraction(1, 10**9), 1) > certified_seconds(
        WORDS, (FAR, FAR), P, None, 1
    )


def test_what_could_not_be_stopped_is_infinite() -> None:
    fine = Mask("0.999999999999999999")
    assert certified_seconds(fine, (FAR,), Fraction(1), None, 1) == inf
    assert isfinite(certified_seconds(fine, (100,), Fraction(1), None, 1))
    assert budget_seconds(fine, (FAR,)) == inf
    # Votes, and a second class, compare reduced fractions, which takes much longer than comparing products.
    assert isfinite(certified_seconds(fine, (10_000,), P, None, 1))
    assert certified_seconds(fine, (10_000,), P, None, 1, votes=True) == inf
    assert certified_seconds(fine, (10_000,), P, 1 - P, 1) == inf
    assert thresholds_seconds(Total(Total(LEVELS)), (10**6,)) == inf


def test_lists_of_regions_end_with_their_lists() -> None:
    listed = RegionList([[(Fraction(1, 3), Fraction(1, 2)), (Fraction(2, 3), Fraction(1, 2))]] * 50)
    assert certified_seconds(listed, (50,), P, None, 1) < 1


@settings(max_examples=100, deadline=None)
@given(families(), st.fractions(0, 1, max_denominator=50))
def test_every_family_has_an_estimate(family: Family, p: Fraction) -> None:
    """And what is estimated to be quick is what the library certifies, from limits that are far away."""
    limits = far(family)
    if certified_seconds(family, limits, p, None, 1) < 0.05:
        budgets = certified(family, p, family.write_budget(limits))
        assert budgets is None or budgets == certified(family, p, family.write_budget(limits), p_b=1 - p)
    assert thresholds_seconds(family, (0,) * len(limits)) > 0
