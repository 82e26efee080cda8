"""Smoothed trees that test features again: equal to exhaustive search, or refused, or bounded for all classifiers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles.trees import (
    Input,
    all_inputs,
    bounds_by_flips,
    keep_probabilities,
    plain_trees,
    probability_by_sum,
    probability_table,
    radius_by_flips,
)
from sklearn.tree import DecisionTreeClassifier

from ellzero.trees import SearchTooLarge, SmoothedGeneralTree


def output_of(tree: DecisionTreeClassifier, leaf: str, x: Input) -> Fraction:
    if leaf == "majority":
        return Fraction(int(tree.predict([x])[0]))
    return Fraction(float(tree.predict_proba([x])[0, 1]))


@given(plain_trees(max_features=5), keep_probabilities(), st.sampled_from(["share", "majority"]))
def test_probabilities_bounds_and_radii_are_exact(tree: DecisionTreeClassifier, alpha: Fraction, leaf: str) -> None:
    d, smoothed = tree.n_features_in_, SmoothedGeneralTree(tree, alpha, leaf)
    outputs = {x: output_of(tree, leaf, x) for x in all_inputs(d)}
    table = probability_table(outputs.__getitem__, alpha, d)
    inputs = all_inputs(d)[::3]
    assert smoothed.probability(inputs)[0] == probability_by_sum(outputs.__getitem__, alpha, inputs[0])
    low, high = smoothed.probability_bounds(inputs, d)
    radii, agnostic = smoothed.certified_radius(inputs), smoothed.agnostic_bounds(inputs, d)
    unsearched = smoothed.certified_radius(inputs, limit=1)
    for place, x in enumerate(inputs):
        assert (low[place].tolist(), high[place].tolist()) == bounds_by_flips(table, x)
        assert radii[place] == radius_by_flips(table, x)
        assert unsearched[place] <= radii[place]
        assert all(agnostic[0][place] <= low[place])
        assert all(agnostic[1][place] >= high[place])


def test_the_cost_of_a_search_is_said_and_limited() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (200, 30))
    tree = DecisionTreeClassifier(random_state=0).fit(bits, rng.integers(0, 2, 200))
    smoothed = SmoothedGeneralTree(tree)
    features = len(smoothed.features)
    assert smoothed.search_cost(2) == 1 + features + features * (features - 1) // 2
    assert smoothed.search_cost(10**6) == 2**features
    with pytest.raises(
        SearchTooLarge, match=f"looks at {smoothed.search_cost(2):,} changed inputs, and the limit is 50"
    ):
        smoothed.probability_bounds(bits, 2, limit=50)
    low, _ = smoothed.probability_bounds(bits[:2], 1, limit=50)
    assert low.shape == (2, 2)
