"""Probabilities, bounds and radii equal those of exhaustive search, as rationals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from oracles.trees import (
    Input,
    all_inputs,
    bounds_by_flips,
    estimators,
    output_without_noise,
    probability_by_sum,
    probability_table,
    radius_by_flips,
)

from ellzero.trees import SmoothedForestClassifier, SmoothedTreeClassifier
from ellzero.trees.estimators import SmoothedTrees


def table_of(estimator: SmoothedTrees) -> np.ndarray:
    return probability_table(lambda x: output_without_noise(estimator, x), estimator.alpha_, estimator.n_features_in_)


def draw_input(data: st.DataObject, estimator: SmoothedTrees) -> Input:
    d = estimator.n_features_in_
    return tuple(data.draw(st.lists(st.integers(0, 1), min_size=d, max_size=d)))


@settings(max_examples=40)
@given(estimators(max_features=10), st.data())
def test_the_probability_is_the_sum_over_all_noise(estimator: SmoothedTrees, data: st.DataObject) -> None:
    x = draw_input(data, estimator)
    p = probability_by_sum(lambda noisy: output_without_noise(estimator, noisy), estimator.alpha_, x)
    low, high = estimator.probability_bounds([x], 0, exact=True)
    assert low[0, 0] == high[0, 0] == p
    assert estimator.predict_proba([x]).tolist() == [[float(1 - p), float(p)]]
    assert estimator.predict([x])[0] == int(p > Fraction(1, 2))


@settings(max_examples=100)
@given(estimators())
def test_bounds_and_radii_are_those_of_all_changes(estimator: SmoothedTrees) -> None:
    d, table = estimator.n_features_in_, table_of(estimator)
    inputs = all_inputs(d)[:: max(1, 2**d // 16)]
    low, high = estimator.probability_bounds(inputs, d, exact=True)
    radii = estimator.certified_radius(inputs)
    for place, x in enumerate(inputs):
        assert (low[place].tolist(), high[place].tolist()) == bounds_by_flips(table, x)
        assert radii[place] == radius_by_flips(table, x)


@settings(max_examples=5)
@given(estimators(max_features=12), st.data())
def test_bounds_are_those_of_all_changes_of_twelve_features(estimator: SmoothedTrees, data: st.DataObject) -> None:
    x = draw_input(data, estimator)
    low, high = estimator.probability_bounds([x], len(x), exact=True)
    assert (low[0].tolist(), high[0].tolist()) == bounds_by_flips(table_of(estimator), x)


@given(estimators(max_features=12), st.data())
def test_doubles_enclose_the_exact_bounds_tightly(estimator: SmoothedTrees, data: st.DataObject) -> None:
    x = draw_input(data, estimator)
    d = len(x)
    low, high = estimator.probability_bounds([x], d + 2)
    exact_low, exact_high = estimator.probability_bounds([x], d + 2, exact=True)
    slack = Fraction(d + len(estimator.roots_), 2**49)
    assert low.shape == high.shape == (1, d + 3)
    for below, exact in zip(low[0].tolist(), exact_low[0], strict=True):
        assert exact * (1 - slack) - Fraction(2) ** -1000 <= Fraction(below) <= exact
    for above, exact in zip(high[0].tolist(), exact_high[0], strict=True):
        assert exact <= Fraction(above) <= exact * (1 + slack) + Fraction(2) ** -1000


@given(st.floats(5e-324, 1e-300), st.floats(5e-324, 1e-300), st.sampled_from(["0.999", "2/3", "9999999/10000000"]))
@example(5e-324, 5e-324, "2/3")
def test_doubles_enclose_even_where_they_underflow(first: float, second: float, alpha: str) -> None:
    tree = SmoothedTreeClassifier.from_arrays(
        [0, 1, -1, -1, -1], [1, 3, -1, -1, -1], [2, 4, -1, -1, -1], [0, 0, first, second, 0], n_features=2, alpha=alpha
    )
    inputs = all_inputs(2)
    for (below, above), (low, high) in zip(
        zip(*tree.probability_bounds(inputs, 2), strict=True),
        zip(*tree.probability_bounds(inputs, 2, exact=True), strict=True),
        strict=True,
    ):
        assert all(Fraction(double) <= exact for double, exact in zip(below.tolist(), low, strict=True))
        assert all(Fraction(double) >= exact for double, exact in zip(above.tolist(), high, strict=True))


@given(estimators(max_features=12))
def test_bounds_widen_with_every_change(estimator: SmoothedTrees) -> None:
    low, high = estimator.probability_bounds(np.zeros((1, estimator.n_features_in_)), 12)
    assert np.all(np.diff(low) <= 0)
    assert np.all(np.diff(high) >= 0)
    assert np.all((low >= 0) & (low <= high) & (high <= 1))


def stump(left: float, right: float, alpha: str, n_features: int = 3) -> SmoothedTreeClassifier:
    return SmoothedTreeClassifier.from_arrays(
        [1, -1, -1], [1, -1, -1], [2, -1, -1], [0, left, right], n_features=n_features, alpha=alpha
    )


def test_a_tie_has_radius_minus_one_and_the_first_class() -> None:
    tree = stump(0.5, 0.5, "4/5")
    assert tree.certified_radius([[0, 0, 0], [1, 1, 1]]).tolist() == [-1, -1]
    assert tree.predict([[0, 0, 0]]).tolist() == [0]
    assert tree.predict_proba([[0, 0, 0]]).tolist() == [[0.5, 0.5]]


def test_a_change_that_leads_to_a_tie_is_not_certified() -> None:
    tree = stump(0.25, 1.0, "2/3")  # at 0: 2/3·1/4 + 1/3·1 = 1/2 exactly; at 1: 2/3 + 1/12 = 3/4
    assert tree.probability_bounds([[0, 1, 0]], 1, exact=True)[0].tolist() == [[Fraction(3, 4), Fraction(1, 2)]]
    assert tree.certified_radius([[0, 1, 0], [0, 0, 0]]).tolist() == [0, -1]
    opposite = stump(0.75, 0.0, "2/3")  # at 0: 1/2 exactly; at 1: 1/4
    assert opposite.certified_radius([[0, 1, 0], [0, 0, 0]]).tolist() == [0, -1]


def test_where_nothing_can_change_the_class_the_radius_is_the_number_of_features() -> None:
    assert stump(0.6, 0.9, "4/5").certified_radius([[0, 0, 0], [1, 1, 1]]).tolist() == [3, 3]
    assert stump(0.1, 0.4, "4/5").certified_radius([[0, 0, 0], [1, 1, 1]]).tolist() == [3, 3]


def test_a_probability_above_one_half_by_less_than_a_double_shows_is_decided_exactly() -> None:
    """4/5·5/8 + 1/5·v is 1/2 for v = 0, and more by a fifth of v otherwise."""
    tie, above = stump(0.0, 0.625, "4/5"), stump(5e-324, 0.625, "4/5")
    assert [tree.predict_proba([[0, 1, 0]]).tolist() for tree in (tie, above)] == [[[0.5, 0.5]]] * 2
    assert [tree.predict([[0, 1, 0]]).tolist() for tree in (tie, above)] == [[0], [1]]
    assert [tree.certified_radius([[0, 1, 0]]).tolist() for tree in (tie, above)] == [[-1], [0]]


def test_many_inputs_at_once_get_what_each_gets_alone() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (700, 9))
    tree = SmoothedTreeClassifier(max_depth=3).fit(bits, bits[:, 0] ^ (rng.random(700) < 0.1))
    low, high = tree.probability_bounds(bits, 4)
    for row in (0, 511, 512, 699):
        alone_low, alone_high = tree.probability_bounds(bits[row : row + 1], 4)
        assert alone_low.tolist() == low[row : row + 1].tolist()
        assert alone_high.tolist() == high[row : row + 1].tolist()
    assert tree.certified_radius(bits[:3]).tolist() == tree.certified_radius(bits)[:3].tolist()


def test_radii_of_many_changes() -> None:
    """Stumps that vote: an input is as far from the other class as its majority is large."""
    d = 40
    bits = np.random.default_rng(1).random((60, d)) < np.linspace(0, 1, 60)[:, np.newaxis]
    forest = SmoothedForestClassifier(d, "9/10", max_depth=1).fit(bits, bits.sum(axis=1) > d // 2)
    low, high = forest.probability_bounds(bits, d, exact=True)
    half = Fraction(1, 2)
    expected = [
        (sum(value > half for value in least) if least[0] > half else sum(value < half for value in largest)) - 1
        for least, largest in zip(low, high, strict=True)
    ]
    assert forest.certified_radius(bits).tolist() == expected
    assert {2, 5, 10} <= set(expected)
    assert max(expected) < d


@pytest.mark.parametrize("alpha", ["0.7", "4/5", "0.9", "0.55"])
def test_doubles_enclose_where_every_level_errs_in_the_same_direction(alpha: str) -> None:
    """A chain of 100 tests: p is about α^100, and α is rounded in each factor."""
    d = 100
    bottom = 2 * d
    tree = SmoothedTreeClassifier.from_arrays(
        feature=[*(level // 2 if level % 2 == 0 else -1 for level in range(bottom)), -1],
        left=[*(level + 1 if level % 2 == 0 else -1 for level in range(bottom)), -1],
        right=[*(level + 2 if level % 2 == 0 else -1 for level in range(bottom)), -1],
        value=[0.0] * bottom + [1.0],
        n_features=d,
        alpha=alpha,
    )
    ones = np.ones((1, d))
    assert tree.probability_bounds(ones, 0, exact=True)[0][0, 0] == Fraction(alpha) ** d
    low, high = tree.probability_bounds(ones, 0)
    assert Fraction(low.item()) <= Fraction(alpha) ** d <= Fraction(high.item())


@pytest.mark.parametrize(
    ("first", "second", "third"), [(0.0, np.nextafter(0.5625, 0), 0.875), (1.0, np.nextafter(0.4375, 1), 0.125)]
)
def test_a_change_that_ends_just_before_one_half_is_certified(first: float, second: float, third: float) -> None:
    """The first bit changed, p lies within 10^-16 of 1/2 and on the same side; with both bits changed it does not."""
    tree = SmoothedTreeClassifier.from_arrays(
        [0, -1, 1, -1, -1], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [0, first, 0, second, third], n_features=3
    )
    assert tree.predict_proba([[1, 0, 0]])[0, 1] == pytest.approx(0.5, abs=1e-15)
    assert tree.certified_radius([[0, 0, 0]]).tolist() == [1]
