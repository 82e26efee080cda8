"""Distances and bounds of plain trees are those of exhaustive changes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.trees import Input, all_inputs, flip_bits, plain_trees
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ellzero.core.errors import InvalidInput
from ellzero.trees import (
    UnusableFeatures,
    UnusableTree,
    greedy_adversary,
    plain_distance,
    plain_probability_bounds,
)


def ball(x: Input, r: int) -> np.ndarray:
    return np.array([flip_bits(x, places) for k in range(r + 1) for places in combinations(range(len(x)), k)])


@settings(max_examples=150)
@given(st.integers(2, 3).flatmap(plain_trees))
def test_the_distance_is_that_of_exhaustive_changes(tree: DecisionTreeClassifier) -> None:
    d = tree.n_features_in_
    inputs = np.array(all_inputs(d))
    labels = tree.predict(inputs)
    hamming = (inputs[:, np.newaxis] != inputs).sum(axis=2)
    expected = np.where(labels[:, np.newaxis] != labels, hamming, d + 1).min(axis=1)
    assert plain_distance(tree, inputs).tolist() == expected.tolist()


@given(plain_trees())
def test_bounds_are_those_of_exhaustive_changes(tree: DecisionTreeClassifier) -> None:
    inputs = all_inputs(tree.n_features_in_)[::5]
    low, high = plain_probability_bounds(tree, inputs, 3)
    for place, x in enumerate(inputs):
        for r in range(4):
            scores = tree.predict_proba(ball(x, r))[:, 1]
            assert (low[place, r], high[place, r]) == (scores.min(), scores.max())


@given(plain_trees(), st.integers(0, 4), st.integers(0, 1))
def test_the_greedy_adversary_changes_r_features_at_most_each_the_best(
    tree: DecisionTreeClassifier, r: int, toward: int
) -> None:
    inputs = np.array(all_inputs(tree.n_features_in_))
    changed = greedy_adversary(tree, inputs, r, toward)
    assert np.all((changed != inputs).sum(axis=1) <= r)
    before = greedy_adversary(tree, inputs, r - 1, toward) if r else inputs
    for start, end in zip(before, changed, strict=True):
        best = tree.predict_proba(ball(tuple(start), 1 if r else 0))[:, toward].max()
        assert tree.predict_proba([end])[0, toward] == best
    low, high = plain_probability_bounds(tree, inputs, r)
    reached = tree.predict_proba(changed)[:, 1]
    assert np.all((low[:, r] <= reached) & (reached <= high[:, r]))


def test_the_greedy_adversary_can_miss_what_the_distance_sees() -> None:
    """A conjunction: from (0, 0) two changes are needed, and the first alone gains nothing."""
    bits = np.array(all_inputs(3))
    labels = bits[:, 0] & bits[:, 1]
    tree = DecisionTreeClassifier(random_state=0).fit(bits, labels)
    assert plain_distance(tree, [[0, 0, 0]]).tolist() == [2]
    assert tree.predict(greedy_adversary(tree, [[0, 0, 0]], 2, toward=1)).tolist() == [0]


def test_what_cannot_be_certified_is_refused() -> None:
    bits = np.array(all_inputs(2))
    with pytest.raises(UnusableTree, match="not a DecisionTreeRegressor"):
        plain_distance(DecisionTreeRegressor().fit(bits, [0, 1, 1, 0]), bits)
    with pytest.raises(NotFittedError):
        plain_distance(DecisionTreeClassifier(), bits)
    with pytest.raises(UnusableTree, match="trees with one output are certified; this one has 2"):
        plain_distance(DecisionTreeClassifier().fit(bits, bits), bits)
    with pytest.raises(UnusableTree, match="a tree of two classes is needed; this one has 3"):
        plain_probability_bounds(DecisionTreeClassifier().fit(bits, [0, 1, 2, 0]), bits, 1)
    tree = DecisionTreeClassifier().fit(bits, [0, 1, 1, 0])
    with pytest.raises(UnusableFeatures, match="every feature must be 0 or 1"):
        plain_distance(tree, bits + 1)
    with pytest.raises(UnusableFeatures, match="is expecting 2 features"):
        plain_distance(tree, np.array(all_inputs(3)))
    with pytest.raises(InvalidInput, match="toward must be 0 or 1; got 'up'"):
        greedy_adversary(tree, bits, 1, toward="up")
