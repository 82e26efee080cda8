"""The certificate of a tree is at least as good as the one for all classifiers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracles.trees import all_inputs, estimators

from ellzero.certificates import Discrete, rho
from ellzero.trees import SmoothedTreeClassifier, UnusableLabels, compare_with_agnostic
from ellzero.trees.estimators import SmoothedTrees

STUMP = SmoothedTreeClassifier.from_arrays(
    [0, -1, -1], [1, -1, -1], [2, -1, -1], [0.5, 0, 1], n_features=2, alpha="9/10"
)


@given(estimators(max_features=9), st.integers(0, 2**8 - 1))
def test_the_radius_of_a_tree_is_never_smaller_and_no_gap_is_negative(estimator: SmoothedTrees, labels: int) -> None:
    d = estimator.n_features_in_
    inputs = all_inputs(d)[:: max(1, 2**d // 8)]
    comparison = compare_with_agnostic(estimator, inputs, [labels >> place & 1 for place in range(len(inputs))], 4)
    assert np.all(comparison.radius >= comparison.agnostic_radius)
    assert np.all(comparison.gap >= 0)
    assert comparison.gap[0] == 0


def test_the_gap_is_the_mean_difference_of_the_least_probability_of_the_own_class() -> None:
    """A stump: class 1 has 9/10 at 1, where a change leaves 1/10; at 0 it has 1/10, and no change takes that away."""
    comparison = compare_with_agnostic(STUMP, [[1, 0], [0, 1]], [1, 1])
    expected = [
        (Fraction(1, 10) - rho(Discrete(1, "9/10"), r, "9/10") + Fraction(1, 10) - rho(Discrete(1, "9/10"), r, "1/10"))
        / 2
        for r in (1, 2)
    ]
    assert comparison.gap.tolist() == [0, *map(float, expected)]
    assert comparison.radius.tolist() == [0, 0]
    assert comparison.agnostic_radius.tolist() == [0, 0]


@pytest.mark.parametrize("labels", [[1], [1, 2], [[1, 0]], ["1", "0"]])
def test_labels_must_be_of_the_two_classes_one_an_input(labels: list[object]) -> None:
    with pytest.raises(UnusableLabels, match="y must have a label for each of the 2 inputs, 0 or 1"):
        compare_with_agnostic(STUMP, [[1, 0], [0, 1]], labels)  # type: ignore[arg-type]
