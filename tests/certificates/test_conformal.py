"""Conformal sets: the critical counts are proved and the largest, and the true class is held as often as promised."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st
from oracles import noises
from oracles.brute_force import binomial_tail
from oracles.conformal import Case, coverage
from oracles.families import cases

from ellzero.certificates import Calibration, Discrete, Family, InvalidInput, Mask, Sparse, critical_count
from ellzero.certificates.families.base import Counts

GRID = 200


def excess(n: int, t: int, votes: int, k: int, p: Fraction, least: Fraction) -> Fraction:
    """How much more often t of n votes are reached at p than k votes at the least probability."""
    return binomial_tail(n, t, p) - binomial_tail(votes, k, least)


@settings(max_examples=40)
@given(
    cases(3),
    st.integers(1, 12),
    st.integers(1, 12),
    st.data(),
    st.sampled_from(["0.02", "0.05", "0.15"]).map(Fraction),
)
def test_a_critical_count_keeps_enough_everywhere_and_one_more_does_not(
    case: tuple[Family, Counts], n: int, votes: int, data: st.DataObject, slack: Fraction
) -> None:
    family, counts = case
    t = data.draw(st.integers(0, n))
    calibration = Calibration([t], n, "0.9", slack)  # one input, of rank 1
    k = critical_count(family, family.write_budget(counts), calibration, votes)
    grid = [Fraction(i, GRID) for i in range(GRID + 1)]
    least = {p: noises.least_rho(family, counts, p) for p in grid}
    assert all(excess(n, t, votes, k, p, least[p]) <= slack for p in grid)
    if k < votes:  # between two points of the grid: the right side at the next one, the left side at the one before
        most = max(excess(n, t, votes, k + 1, after, least[before]) for before, after in pairwise(grid))
        assert most > slack * Fraction(63, 64)


@settings(max_examples=30)
@given(st.integers(1, 100), st.data(), st.sampled_from(["0.01", "0.1"]))
def test_nothing_is_lost_where_nothing_is_changed_and_votes_are_as_many(
    n: int, data: st.DataObject, slack: str
) -> None:
    """Ordinary split conformal prediction: the count of a class is compared with those of the calibration."""
    t = data.draw(st.integers(0, n))
    assert critical_count(Discrete(1, "0.8"), 0, Calibration([t], n, "0.9", slack), n) >= t


def test_more_changes_never_need_more_votes() -> None:
    calibration = Calibration(range(500, 1_000), 1_000, "0.05")
    for family in (Discrete(255, "0.2"), Mask("0.9")):
        needed = [critical_count(family, r, calibration, 700) for r in range(8)]
        assert needed == sorted(needed, reverse=True)
        assert needed[0] > needed[-1]
    assert critical_count(Mask("0.9"), 8, calibration, 700) == 0  # the changes are seen too often: every class is kept


@settings(max_examples=25)
@given(
    st.sampled_from([(Discrete(1, "0.8"), (1,)), (Mask("0.9"), (2,)), (Sparse("0.05", "0.4"), (1, 1))]),
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 100)), min_size=1, max_size=4),
    st.sampled_from([(Fraction("0.2"), Fraction("0.02")), (Fraction("0.35"), Fraction("0.1"))]),
    st.integers(5, 15),
    st.integers(5, 15),
)
def test_the_true_class_is_held_as_often_as_promised_by_the_worst_classifier(
    case: tuple[Family, Counts],
    weights: list[tuple[int, int]],
    level: tuple[Fraction, Fraction],
    n: int,
    votes: int,
) -> None:
    """Exactly, over all votes and all calibrations, of classifiers whose probability at x̃ is ρ(p) and no more."""
    (family, counts), (error, slack), inputs = case, level, 12
    total = sum(weight for weight, _ in weights)
    kinds = [
        Case(Fraction(weight, total), p, noises.least_rho(family, counts, p))
        for weight, p in ((weight, Fraction(percent, 100)) for weight, percent in weights)
    ]

    @cache
    def critical(t: int) -> int:
        calibration = Calibration([t] * inputs, n, error, slack)
        return critical_count(family, family.write_budget(counts), calibration, votes)

    rank = Calibration([0] * inputs, n, error, slack).rank
    assert rank > 0
    assert coverage(kinds, n, inputs, rank, votes, critical) >= 1 - error


def test_without_the_budget_the_worst_classifier_is_missed_and_with_its_contrary_too() -> None:
    """The test above would see a budget that is left out, or read from x̃ to x: a bit that hides when it is added."""
    sparse, n, inputs = Sparse("0.01", "0.6"), 20, 12
    worst = [Case(Fraction(1), Fraction("0.99"), noises.least_rho(sparse, (1, 0), Fraction("0.99")))]
    assert worst[0].seen == Fraction("0.6")
    rank = Calibration([0] * inputs, n, "0.2", "0.02").rank

    def cover(budget: dict[str, int]) -> Fraction:
        return coverage(
            worst,
            n,
            inputs,
            rank,
            n,
            lambda t: critical_count(sparse, budget, Calibration([t] * inputs, n, "0.2", "0.02"), n),
        )

    assert cover({}) < Fraction("0.01")
    assert cover({"delete": 1}) < Fraction("0.1")
    assert Fraction("0.8") <= cover({"add": 1})


def test_a_budget_that_is_far_too_large_keeps_every_class_at_once() -> None:
    calibration = Calibration(range(800, 1000), 1000, "0.1")
    assert critical_count(Mask("0.9"), 2**31 - 1, calibration, 1000) == 0
    assert critical_count(Sparse("0.01", "0.6"), {"add": 10**9, "delete": 10**9}, calibration, 1000) == 0


def test_the_threshold_is_the_count_of_its_rank() -> None:
    calibration = Calibration([5, 3, 9, 7, 1, 8, 2, 6, 4], 10, "0.5", "0.2")
    assert (calibration.counts, calibration.rank, calibration.threshold) == (tuple(range(1, 10)), 3, 3)
    tied = Calibration([4] * 5 + [2] * 4, 10, "0.5", "0.2")
    assert (tied.rank, tied.threshold) == (3, 2)
    assert Calibration([1], 10).slack == Fraction(1, 100)


def test_too_few_inputs_keep_every_class() -> None:
    few = Calibration([10] * 9, 10, "0.1", "0.01")
    assert (few.rank, few.threshold, few.least_inputs) == (0, 0, 11)
    assert critical_count(Discrete(1, "0.8"), 0, few, 10) == 0
    enough = Calibration([10] * 11, 10, "0.1", "0.01")
    assert (enough.rank, enough.threshold) == (1, 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Calibration([], 10), "counts must be those of at least one input"),
        (lambda: Calibration([11], 10), "counts must be an integer from 0 to 10; got 11"),
        (lambda: Calibration([1], 0), "n must be an integer from 1 to 100000000"),
        (lambda: Calibration([1], 10, "1"), "error must be a number strictly between 0 and 1"),
        (lambda: Calibration([1], 10, "0.1", "0.1"), "slack must be below the error, 1/10; got '0.1'"),
        (lambda: Calibration([1], 10, "0.1", 0), "slack must be a number strictly between 0 and 1"),
        (lambda: critical_count(Mask("0.5"), -1, Calibration([1], 10), 10), "budget must be an integer of at least 0"),
        (lambda: critical_count(Mask("0.5"), 1, Calibration([1], 10), 0), "n must be an integer from 1"),
    ],
)
def test_bad_input_is_one_clear_line(make: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        make()  # type: ignore[operator]
