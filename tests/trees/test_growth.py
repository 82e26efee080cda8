"""Training yields the greedy tree of the definition: the impurity of both children, every feature once."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.trees import Input, grow_by_definition, keep_probabilities, standard_tree
from sklearn.tree import DecisionTreeClassifier

from ellzero.trees import SmoothedForestClassifier, SmoothedTreeClassifier
from ellzero.trees.estimators import SmoothedTrees


@st.composite
def data_sets(draw: st.DrawFn) -> tuple[list[Input], list[bool]]:
    """A few examples of both classes; columns that are equal, opposite or constant are frequent."""
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 8))
    bit = st.integers(0, 1)
    rows = draw(st.lists(st.tuples(*[bit] * d), min_size=n, max_size=n))
    labels = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda labels: len(set(labels)) == 2))
    return rows, labels


def structure(estimator: SmoothedTrees) -> dict[str, list[float]]:
    return {name: getattr(estimator, f"{name}_").tolist() for name in ("feature", "left", "right", "value")}


@settings(max_examples=200)
@given(data_sets(), keep_probabilities(), st.integers(1, 4))
def test_a_tree_is_the_greedy_one(data: tuple[list[Input], list[bool]], alpha: Fraction, max_depth: int) -> None:
    rows, labels = data
    tree = SmoothedTreeClassifier(alpha, max_depth).fit(rows, labels)
    assert structure(tree) == grow_by_definition(rows, labels, alpha, max_depth)


@given(data_sets(), keep_probabilities(), st.integers(1, 3), st.integers(1, 3))
def test_trees_of_a_forest_grow_together(
    data: tuple[list[Input], list[bool]], alpha: Fraction, max_depth: int, n_trees: int
) -> None:
    rows, labels = data
    forest = SmoothedForestClassifier(n_trees, alpha, max_depth).fit(rows, labels)
    assert structure(forest) == grow_by_definition(rows, labels, alpha, max_depth, n_trees)
    assert forest.roots_.tolist() == list(range(n_trees))


@settings(max_examples=200)
@given(data_sets(), st.integers(1, 4))
def test_without_noise_it_is_the_standard_gini_tree(data: tuple[list[Input], list[bool]], max_depth: int) -> None:
    rows, labels = data
    tree = SmoothedTreeClassifier(alpha=1, max_depth=max_depth).fit(rows, labels)
    assert structure(tree) == standard_tree(list(zip(rows, labels, strict=True)), max_depth)


def test_without_noise_the_first_split_is_as_good_as_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (300, 30))
    labels = (bits[:, :5].sum(axis=1) + rng.random(300)) > 3
    ours = SmoothedTreeClassifier(alpha=1, max_depth=1).fit(bits, labels)
    theirs = DecisionTreeClassifier(max_depth=1).fit(bits, labels)
    assert ours.feature_[0] == theirs.tree_.feature[0]
    assert ours.predict_proba(bits) == pytest.approx(theirs.predict_proba(bits))


def test_no_feature_is_used_twice_and_training_ends_when_they_run_out() -> None:
    """A whole tree of depth 10 needs 1,023 features. With 6, three nodes are split on two levels, and three below."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (50, 6))
    tree = SmoothedTreeClassifier(max_depth=10).fit(bits, rng.integers(0, 2, 50))
    tested = tree.feature_[tree.feature_ >= 0]
    assert sorted(tested.tolist()) == list(range(6))
    assert len(tree.feature_) == 13
    assert all(first <= second for first, second in pairwise(np.flatnonzero(tree.feature_ >= 0)))


def test_constant_features_are_not_tested() -> None:
    bits = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0]])
    tree = SmoothedTreeClassifier(max_depth=5).fit(bits, [0, 1, 0, 1])
    assert tree.feature_.tolist() == [1, -1, -1]


def test_leaves_give_shares_or_majorities() -> None:
    bits = [[0], [0], [0], [1], [1]]
    labels = [0, 0, 1, 1, 0]
    share = SmoothedTreeClassifier("3/4", 1).fit(bits, labels)
    majority = SmoothedTreeClassifier("3/4", 1, leaf="majority").fit(bits, labels)
    # to the left: three times 3/4, of which one is positive, and twice 1/4, of which one is
    assert share.value_.tolist() == [0.4, float(Fraction(4, 11)), float(Fraction(4, 9))]
    assert majority.value_.tolist() == [0, 0, 0]
    assert SmoothedTreeClassifier(1, 1, leaf="majority").fit([[0], [1]], [0, 1]).value_.tolist() == [0, 0, 1]


@pytest.mark.parametrize("alpha", ["0.8437261", 1 - 1e-15])
def test_probabilities_too_fine_for_exact_sums_still_give_a_tree(alpha: object) -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (200, 300))
    labels = bits[:, 7] ^ (rng.random(200) < 0.05)
    tree = SmoothedTreeClassifier(alpha, max_depth=8).fit(bits, labels)  # type: ignore[arg-type]
    assert tree.feature_[0] == 7
    low, high = tree.probability_bounds(bits[:2], 1)
    assert np.all((low >= 0) & (high <= 1))


def test_reach_that_underflows_ends_a_branch() -> None:
    """A flip has probability 10^-18, so that 16 of them in a row have 10^-288."""
    bits = np.tri(40, dtype=int)
    tree = SmoothedTreeClassifier("0.999999999999999999", max_depth=40).fit(bits, np.arange(40) % 2)
    assert np.all((tree.value_ >= 0) & (tree.value_ <= 1))
