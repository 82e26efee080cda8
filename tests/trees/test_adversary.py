"""Adversarial inputs attain the bounds, exactly and without a change in vain."""

import numpy as np
from hypothesis import given, strategies as st
from oracles.trees import all_inputs, estimators

from ellzero.trees import SmoothedForestClassifier
from ellzero.trees.estimators import SmoothedTrees


@given(estimators(max_features=10), st.integers(0, 11))
def test_adversarial_inputs_attain_the_bound_at_r(estimator: SmoothedTrees, r: int) -> None:
    d = estimator.n_features_in_
    inputs = np.array(all_inputs(d)[:: max(1, 2**d // 8)])
    low, high = estimator.probability_bounds(inputs, r, exact=True)
    for toward, bounds in ((0, low), (1, high)):
        changed = estimator.adversarial_input(inputs, r, toward)
        attained, _ = estimator.probability_bounds(changed, 0, exact=True)
        assert attained[:, 0].tolist() == bounds[:, r].tolist()
        changes = (changed != inputs).sum(axis=1)
        assert np.all(changes <= r)
        for row, count in enumerate(changes):
            assert count == bounds[row].tolist().index(bounds[row, r])


def test_more_inputs_than_are_traced_at_once() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (100, 20))
    forest = SmoothedForestClassifier(3, max_depth=2).fit(bits, rng.integers(0, 2, 100))
    changed = forest.adversarial_input(bits, 4, toward=1)
    assert changed.dtype == np.uint8
    attained, _ = forest.probability_bounds(changed, 0, exact=True)
    assert attained[:, 0].tolist() == forest.probability_bounds(bits, 4, exact=True)[1][:, 4].tolist()
