"""Estimates follow what the work depends on: what is certified, not what is asked about."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import inf, isfinite

import pytest
from hypothesis import given, settings, strategies as st
from oracles.families import families

from ellzero.certificates import (
    Ablation,
    Discrete,
    Family,
    Grouped,
    Joint,
    Mask,
    RegionList,
    Sparse,
    SparseLevels,
    Total,
    budget_costs,
    certified,
)
from ellzero.certificates.budget_costs import budget_seconds, certified_seconds, thresholds_seconds
from ellzero.certificates.products import Perturbation, coprime_base
from ellzero.core.cancellation import cancel_when
from ellzero.core.errors import Stopped

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


def test_many_kinds_of_change_have_an_estimate() -> None:
    """Not an error: numbers of budgets may lie far beyond what floating point has."""
    graph = Joint(**{f"kind{place}": Sparse("0.01", Fraction(place + 1, 200)) for place in range(100)})
    assert certified_seconds(graph, (5,) * 200, P, None, 1) > 1_000
    assert certified_seconds(graph, (1,) + (0,) * 199, P, None, 1) < 0.1
    alike = [(Fraction(1), Fraction(1))]
    listed = RegionList([[(Fraction(i), Fraction(701 - i)) for i in range(1, 701)], *[alike] * 400])
    assert certified_seconds(listed, (401,), P, None, 1) > 0


def test_kinds_that_may_not_change_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a family of many kinds, only those within the limits are looked at."""
    graph = Joint(**{f"kind{place}": Sparse("0.01", Fraction(place + 1, 200)) for place in range(100)})
    asked: list[tuple[int, ...]] = []
    perturbations = Joint.perturbations

    def note(family: Joint, counts: tuple[int, ...]) -> Iterator[Perturbation]:
        asked.append(counts)
        return perturbations(family, counts)

    monkeypatch.setattr(Joint, "perturbations", note)
    assert isfinite(thresholds_seconds(graph, (2,) + (0,) * 199))
    assert asked
    assert not any(any(counts[1:]) for counts in asked)


def test_ratios_are_compared_once_and_only_if_they_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has many different ratios could take minutes to estimate; that it is taken to have nothing in common."""
    factored: list[int] = []

    def note(numbers: Iterable[int]) -> tuple[int, ...]:
        factored.append(1)
        return coprime_base(numbers)

    monkeypatch.setattr(budget_costs, "coprime_base", note)
    kinds = Grouped([(Discrete(k, Fraction(k, 251)), 1) for k in range(1, 251)])
    assert certified_seconds(kinds, (2,), P, None, 1) > 0
    assert not factored
    few = Joint(a=Sparse("0.0123", "0.4567"), b=Sparse("0.0456", "0.6789"))
    assert isfinite(certified_seconds(few, (50, 50, 50, 50), P, None, 1))
    assert 0 < len(factored) < 10


def test_estimates_stop_when_nobody_waits() -> None:
    graph = Joint(**{f"kind{place}": Sparse("0.01", Fraction(place + 1, 200)) for place in range(100)})
    with cancel_when(lambda: True), pytest.raises(Stopped):
        certified_seconds(graph, (1,) * 200, P, None, 1)
