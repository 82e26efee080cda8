"""Bad input: one clear error each, which is also the ValueError that users of scikit-learn expect."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.trees import SmoothedForestClassifier, SmoothedTreeClassifier, UnusableFeatures, UnusableLabels

BITS = np.array([[0, 1, 0], [1, 0, 1], [1, 1, 1], [0, 0, 0]])
LABELS = np.array([0, 1, 1, 0])


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (BITS + 0.5, "every feature must be 0 or 1; row 0 has 0.5 in column 0"),
        (np.where(BITS[:, [0]] & BITS, -1, BITS), "every feature must be 0 or 1; row 1 has -1 in column 0"),
        (np.where(BITS, np.nan, 0), "contains NaN"),
        (np.where(BITS, np.inf, 0), "contains infinity"),
        (csr_array(BITS), "sparse features are not accepted; pass X.toarray"),
        (BITS[0], "Expected 2D array"),
        (BITS[:, :0], "0 feature"),
        (BITS[:0], "0 sample"),
        (np.array([["x"] * 3] * 4), "dtype|string|convert"),
    ],
)
def test_features_that_are_not_bits_are_refused_in_training(features: Any, message: str) -> None:
    with pytest.raises(UnusableFeatures, match=message) as caught:
        SmoothedTreeClassifier().fit(features, LABELS)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, EllzeroError)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 1, 1, 1], "the labels must be of two classes; there is one class only: 1$"),
        (["a"] * 4, "there is one class only: 'a'$"),
        ([0, 1, 2, 0], "Only binary classification is supported. The labels are of 3 classes"),
        ([0.1, 0.2, 0.3, 0.4], "Unknown label type"),
        ([0, 1, np.nan, 1], "y contains NaN"),
        ([[0, 1]] * 4, "y should be a 1d array"),
        (None, "requires y to be passed"),
        ([0, 1, 1], "inconsistent numbers of samples"),
    ],
)
def test_labels_that_are_not_of_two_classes_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(UnusableLabels, match=message):
        SmoothedForestClassifier().fit(BITS, labels)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "1/2"}, "alpha must be a rational number above 1/2 and at most 1"),
        ({"alpha": "0.3"}, "alpha must be"),
        ({"alpha": 1.1}, "alpha must be"),
        ({"alpha": float("nan")}, "alpha must be"),
        ({"alpha": f"{2**63 - 1}/{2**63}"}, "whose parts fit 63 bits"),
        ({"max_depth": 0}, "max_depth must be an integer of at least 1"),
        ({"max_depth": 2.5}, "max_depth must be"),
        ({"leaf": "mean"}, "leaf must be 'share' or 'majority'; got 'mean'"),
        ({"n_trees": 0}, "n_trees must be an integer of at least 1"),
    ],
)
def test_parameters_out_of_range_are_named_when_fitting(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SmoothedForestClassifier(**parameters).fit(BITS, LABELS)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "certified_radius"])
def test_inputs_must_be_like_those_of_training(method: str) -> None:
    call = getattr(SmoothedTreeClassifier().fit(BITS, LABELS), method)
    with pytest.raises(UnusableFeatures, match="X has 2 features, but SmoothedTreeClassifier is expecting 3"):
        call(BITS[:, :2])
    with pytest.raises(UnusableFeatures, match="every feature must be 0 or 1; row 3 has 2 in column 1"):
        call(np.vstack([BITS[:3], [[0, 2, 0]]]))
    with pytest.raises(UnusableFeatures, match="sparse"):
        call(csr_array(BITS))
    with pytest.raises(NotFittedError):
        getattr(SmoothedTreeClassifier(), method)(BITS)


def test_numbers_of_changes_and_directions_are_checked() -> None:
    tree = SmoothedTreeClassifier().fit(BITS, LABELS)
    with pytest.raises(InvalidInput, match="r_max must be an integer from 0 to 100000; got -1"):
        tree.probability_bounds(BITS, -1)
    with pytest.raises(InvalidInput, match="r_max must be an integer from 0 to 100000; got 1000000"):
        tree.probability_bounds(BITS, 10**30)
    assert (tree.adversarial_input(BITS, 10**30, toward=1) == tree.adversarial_input(BITS, 3, toward=1)).all()
    with pytest.raises(InvalidInput, match="r must be an integer of at least 0; got -1"):
        tree.adversarial_input(BITS, -1, toward=1)
    with pytest.raises(InvalidInput, match="toward must be 0 or 1; got 2"):
        tree.adversarial_input(BITS, 1, toward=2)


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float32, np.float64, object])
def test_bits_of_every_type_are_the_same_bits(kind: type) -> None:
    expected = SmoothedTreeClassifier().fit(BITS, LABELS).predict_proba(BITS)
    assert SmoothedTreeClassifier().fit(BITS.astype(kind), LABELS).predict_proba(BITS.tolist()) == pytest.approx(
        expected, abs=0
    )
