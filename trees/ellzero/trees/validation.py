"""Reading what callers pass: features of 0 and 1, labels of two classes, parameters. One error for each mistake."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer, read_shortest
from ellzero.trees.errors import UnusableFeatures, UnusableLabels
from ellzero.trees.recursion import Bits

MOST_CHANGES = 100_000
"""Of tables with a column for each number of changes, so that a slip of the finger does not take all memory."""
LEAVES = ("share", "majority")
_ALPHA = "a rational number above 1/2 and at most 1, such as 4/5 or 0.8, whose parts fit 63 bits"


def read_alpha(value: object) -> Fraction:
    """The probability of keeping a bit, above 1/2; 1 is no noise. A float is its shortest decimal."""
    alpha = read_shortest(value, "alpha", _ALPHA)
    if not Fraction(1, 2) < alpha <= 1 or alpha.denominator >= 2**63:
        raise InvalidInput("alpha", _ALPHA, value)
    return alpha


def read_leaf(value: object) -> str:
    """What a leaf's output is."""
    if value not in LEAVES:
        raise InvalidInput("leaf", " or ".join(map(repr, LEAVES)), value)
    return str(value)


def read_radius(value: object, field: str) -> int:
    """A number of changes."""
    return read_integer(value, field, 0)


def read_largest_radius(value: object, field: str) -> int:
    """The last of the numbers of changes that a table has a column for."""
    return read_integer(value, field, 0, MOST_CHANGES)


def read_training_data(estimator: object, x: object, y: object) -> tuple[Bits, NDArray[Any], Bits]:
    """Features, the two classes in order, and which examples are of the second."""
    _refuse_sparse(x)
    try:
        features = validate_data(estimator, x)
    except ValueError as error:
        raise UnusableFeatures(str(error)) from None
    try:
        features, labels = validate_data(estimator, x, y)
        check_classification_targets(labels)
    except ValueError as error:
        raise UnusableLabels(str(error)) from None
    classes = np.unique(labels)
    if len(classes) > 2:
        raise UnusableLabels(
            f"Only binary classification is supported. The labels are of {len(classes)} classes, not of 2."
        )
    if len(classes) < 2:
        raise UnusableLabels(f"the labels must be of two classes; there is one class only: {classes.tolist()[0]!r}")
    return _read_bits(features), classes, labels == classes[1]


def read_features(estimator: object, x: object) -> Bits:
    """The features of inputs to a fitted estimator: as many as it was fitted on, and named alike."""
    _refuse_sparse(x)
    try:
        features = validate_data(estimator, x, reset=False)
    except ValueError as error:
        raise UnusableFeatures(str(error)) from None
    return _read_bits(features)


def _refuse_sparse(x: object) -> None:
    if sparse.issparse(x):
        raise UnusableFeatures("sparse features are not accepted; pass X.toarray()")


def _read_bits(features: NDArray[Any]) -> Bits:
    ones: Bits = features == 1
    if (wrong := ~ones & (features != 0)).any():
        row, column = (int(place[0]) for place in np.nonzero(wrong))
        raise UnusableFeatures(
            f"every feature must be 0 or 1; row {row} has {features[row, column].item()!r} in column {column}"
        )
    return ones
