"""The certificate of a tree is at least as good as the one for all classifiers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from oracles.trees import all_inputs, estimators

from ellzero.certificates import Noise, rho
from ellzero.trees import SmoothedTreeClassifier, compare_with_agnostic
from ellzero.trees.estimators import SmoothedTrees


@given(estimators(max_features=9))
def test_the_radius_of_a_tree_is_never_smaller_and_no_gap_is_negative(estimator: SmoothedTrees) -> None:
    d = estimator.n_features_in_
    comparison = compare_with_agnostic(estimator, all_inputs(d)[:: max(1, 2**d // 8)], r_max=4)
    assert np.all(comparison.radius >= comparison.agnostic_radius)
    assert np.all(comparison.gap >= 0)
    assert comparison.gap[0] == 0


def test_the_gap_is_the_mean_difference_of_the_least_probability_of_the_predicted_class() -> None:
    """A stump: 9/10 at 1, where one change gives 1/10; at 0 likewise, for the other class."""
    tree = SmoothedTreeClassifier.from_arrays(
        [0, -1, -1], [1, -1, -1], [2, -1, -1], [0.5, 0, 1], n_features=2, alpha="9/10"
    )
    comparison = compare_with_agnostic(tree, [[1, 0], [0, 1]])
    least = [rho(Noise(1, "9/10"), r, "9/10") for r in (1, 2)]
    assert comparison.gap.tolist() == pytest.approx([0, *(float(Fraction(1, 10) - value) for value in least)])
    assert comparison.radius.tolist() == [0, 0]
    assert comparison.agnostic_radius.tolist() == [0, 0]
