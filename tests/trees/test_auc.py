"""The adversary's AUC: a guarantee that every manipulation keeps, and an attack that attains what it says."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from ellzero.core.errors import InvalidInput
from ellzero.trees import AdversarialAuc, UnusableLabels, adversarial_auc

Points = tuple[list[int], list[Fraction], list[Fraction], list[Fraction]]


@st.composite
def scored_points(draw: st.DrawFn, most: int = 12, levels: int = 6) -> Points:
    """Labels of both classes with scores among few levels, so that there are ties."""
    size = draw(st.integers(2, most))
    y = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size).filter(lambda each: len(set(each)) == 2))
    triples = [sorted(draw(st.tuples(*[st.integers(0, levels)] * 3))) for _ in y]
    low, clean, high = ([Fraction(triple[i], 7) for triple in triples] for i in range(3))
    return y, clean, low, high


def auc_of(y: list[int], scores: list[Fraction]) -> Fraction:
    """The definition: the share of pairs in order, ties one half."""
    pairs = [(p, n) for p, a in zip(scores, y, strict=True) if a for n, b in zip(scores, y, strict=True) if not b]
    return sum((Fraction(p > n) + Fraction(p == n, 2) for p, n in pairs), Fraction(0)) / len(pairs)


def manipulated_auc(points: Points, chosen: Any) -> Fraction:
    y, clean, low, high = points
    scores = [(low if y[i] else high)[i] if i in set(chosen) else clean[i] for i in range(len(y))]
    return auc_of(y, scores)


def least_auc(points: Points, budget: int) -> Fraction:
    return min(manipulated_auc(points, chosen) for chosen in combinations(range(len(points[0])), budget))


@settings(max_examples=150, deadline=None)
@given(scored_points(), st.data())
def test_the_search_ends_at_the_least_auc_of_all_manipulations(points: Points, data: st.DataObject) -> None:
    budget = data.draw(st.integers(0, len(points[0])))
    result = adversarial_auc(*points, budget)
    assert result.guaranteed == result.attained == least_auc(points, budget)
    assert result.gap == 0
    assert result.attained == manipulated_auc(points, result.manipulated)
    assert len(result.manipulated) <= budget == result.budget


@settings(max_examples=100, deadline=None)
@given(scored_points(), st.data())
def test_without_time_the_guarantee_still_holds(points: Points, data: st.DataObject) -> None:
    budget = data.draw(st.integers(0, len(points[0])))
    result = adversarial_auc(*points, budget, time_limit=0)
    least = least_auc(points, budget)
    everything = manipulated_auc(points, range(len(points[0])))
    assert everything <= result.guaranteed <= least <= result.attained
    assert result.attained == manipulated_auc(points, result.manipulated)


@settings(max_examples=50, deadline=None)
@given(scored_points(most=30, levels=40))
def test_a_larger_budget_never_leaves_more(points: Points) -> None:
    results = [adversarial_auc(*points, budget) for budget in range(0, len(points[0]) + 1, 3)]
    guarantees = [result.guaranteed for result in results]
    assert guarantees == sorted(guarantees, reverse=True)
    assert results[0].guaranteed == results[0].clean == auc_of(points[0], points[1])


def test_a_solver_of_mixed_integer_programs_agrees() -> None:
    """The paper's program, one product for each pair, solved by HiGHS."""
    random = np.random.default_rng(5)
    y = np.repeat([1, 0], [14, 11])
    low, clean, high = np.sort(random.integers(0, 30, (25, 3)), axis=1).T
    for budget in (4, 9, 15):
        result = adversarial_auc(y, clean, low, high, budget)
        assert result.gap == 0
        assert round(float(result.guaranteed) * 2 * 14 * 11) == solve_program(y, clean, low, high, budget)


def solve_program(y: Any, clean: Any, low: Any, high: Any, budget: int) -> int:
    positives, negatives = np.flatnonzero(y), np.flatnonzero(y == 0)
    n, m = len(positives), len(negatives)

    def half_pairs(i: Any, j: Any) -> Any:
        return np.sign(i[positives][:, None] - j[negatives][None, :]) + 1

    none, row, column, both = (half_pairs(i, j) for j in (clean, high) for i in (clean, low))
    cost = np.concatenate([(row - none).sum(1), (column - none).sum(0), (none - row - column + both).ravel()])
    constraints = [LinearConstraint(np.r_[np.ones(n + m), np.zeros(n * m)], -np.inf, budget)]
    for i in range(n):
        for j in range(m):
            pair = np.zeros((3, n + m + n * m))
            pair[0, [i, n + m + i * m + j]] = 1, -1
            pair[1, [n + j, n + m + i * m + j]] = 1, -1
            pair[2, [i, n + j, n + m + i * m + j]] = -1, -1, 1
            constraints.append(LinearConstraint(pair, [0, 0, -1], np.inf))
    solved = milp(cost, integrality=np.ones(len(cost)), bounds=Bounds(0, 1), constraints=constraints)
    return round(float(solved.fun + none.sum()))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_points_that_are_alike_make_no_search_of_their_own(seed: int) -> None:
    random = np.random.default_rng(seed)
    kinds = np.sort(random.integers(0, 9, (6, 3)), axis=1)
    low, clean, high = np.repeat(kinds, 5, axis=0).T
    y = np.repeat([0, 1, 0, 1, 0, 1], 5)
    result = adversarial_auc(y, clean, low, high, 11, time_limit=20)
    assert result.gap == 0


def small() -> dict[str, Any]:
    return {"y": [0, 0, 1, 1], "clean": [0.1, 0.3, 0.2, 0.9], "low": [0.0] * 4, "high": [1.0] * 4}


def test_doubles_and_fractions_are_compared_as_they_are() -> None:
    tenth = Fraction(1, 10)  # a little less than the double 0.1
    above = adversarial_auc([1, 0], [0.1, tenth], [0.1, tenth], [0.1, tenth], 0)
    tie = adversarial_auc([1, 0], [0.1, 0.1], [0.1, 0.1], [0.1, 0.1], 0)
    assert [above.guaranteed, tie.guaranteed] == [Fraction(1), Fraction(1, 2)]


@pytest.mark.parametrize(
    ("budget", "count"),
    [
        (2, 2),
        (np.int64(3), 3),
        ("2", 2),
        (0.5, 2),
        (0.74, 2),
        ("75%", 3),
        ("1/4", 1),
        (Fraction(1), 4),
        (1.0, 4),
        (0, 0),
    ],
)
def test_a_budget_is_a_number_of_points_or_a_share(budget: Any, count: int) -> None:
    assert adversarial_auc(**small(), budget=budget).budget == count


@pytest.mark.parametrize("budget", [5, -1, "5", 1.5, "101%", "many", None, True, float("nan"), "-5%"])
def test_a_budget_beyond_the_points_is_refused(budget: Any) -> None:
    with pytest.raises(InvalidInput, match="budget must be"):
        adversarial_auc(**small(), budget=budget)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": [0.0, 0.0, 0.5, 0.0]}, "low must be at most clean at every point; got '0.5 at point 2'"),
        ({"high": [1.0, 0.2, 1.0, 1.0]}, "high must be at least clean at every point; got '0.2 at point 1'"),
        ({"clean": [0.1, float("nan"), 0.2, 0.9]}, "clean, low and high must be numbers"),
        ({"clean": [0.1, "x", 0.2, 0.9]}, "clean, low and high must be numbers"),
        ({"low": [0.0] * 3}, "low must be one score a point"),
        ({"y": [0, 1, 1]}, "y must be as many labels as there are scores, 4"),
        ({"time_limit": -1}, "time_limit must be a number of seconds"),
        ({"time_limit": float("inf")}, "time_limit must be a number of seconds"),
    ],
)
def test_unusable_scores_are_one_clear_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        adversarial_auc(**{**small(), "budget": 1, **changes})


@pytest.mark.parametrize("y", [[1, 1, 1, 1], [0, 1, 2, 1]])
def test_an_auc_needs_two_classes(y: list[int]) -> None:
    with pytest.raises(UnusableLabels, match="an AUC needs points of two classes"):
        adversarial_auc(**{**small(), "y": y}, budget=1)


def test_more_pairs_than_fit_in_memory_are_refused() -> None:
    y, scores = np.arange(12_000) % 2, np.zeros(12_000)
    with pytest.raises(UnusableLabels, match="an AUC is bounded for 33,554,432 pairs .* at most; got 36,000,000"):
        adversarial_auc(y, scores, scores, scores, budget=1)


def test_labels_of_two_kinds_are_refused() -> None:
    with pytest.raises(UnusableLabels, match="the labels must be of one kind"):
        adversarial_auc(**{**small(), "y": np.array([0, "a", 0, "a"], object)}, budget=1)


def test_the_result_says_which_points_were_manipulated() -> None:
    result = adversarial_auc(**{**small(), "high": [0.5, 0.5, 1.0, 1.0]}, budget="25%")
    assert isinstance(result, AdversarialAuc)
    assert result.manipulated.tolist() == [3]
    assert result.guaranteed == Fraction(1, 4)
