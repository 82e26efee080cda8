"""What it is worth to know the classifier: the exact certificate beside the one for all classifiers, at the same p."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ellzero.trees.agnostic import agnostic_low, agnostic_radius
from ellzero.trees.errors import UnusableLabels
from ellzero.trees.estimators import SmoothedTrees
from ellzero.trees.forest import Doubles, Integers
from ellzero.trees.recursion import Bits
from ellzero.trees.validation import read_largest_radius


@dataclass(frozen=True, eq=False)
class CertificateComparison:
    """Both certificates of the same inputs.

    ``radius`` and ``agnostic_radius`` have one entry an input, for the predicted class; the first is never smaller.
    ``gap[r]`` is the mean over inputs of (the least probability of the input's own class y with r changes in this tree)
    − (the least in any classifier with the same probability at the input). Lee et al. 2019, section 5.3, report it for
    r = 1 and 2 over their training set.
    """

    radius: Integers
    agnostic_radius: Integers
    gap: Doubles


def compare_with_agnostic(
    estimator: SmoothedTrees,
    X: ArrayLike,  # noqa: N803
    y: ArrayLike,
    r_max: int = 2,
) -> CertificateComparison:
    """Both certificates for inputs of the classes y, with gaps for r = 0, …, r_max. Exact but for the last rounding."""
    r_max = read_largest_radius(r_max, "r_max")
    low, high = estimator.probability_bounds(X, r_max, exact=True)
    alpha, d = estimator.alpha_, estimator.n_features_in_
    least = np.where(_are_second_class(estimator, y, len(low))[:, np.newaxis], low, 1 - high)
    find_low = lru_cache(maxsize=None)(lambda p, r: agnostic_low(alpha, p, r))
    find_radius = lru_cache(maxsize=None)(lambda p: agnostic_radius(alpha, p, d))
    gaps = [[row[r] - find_low(row[0], r) for r in range(r_max + 1)] for row in least]
    return CertificateComparison(
        estimator.certified_radius(X),
        np.array([find_radius(max(p, 1 - p)) for p in low[:, 0]], dtype=np.int64),
        np.array([float(sum(column) / len(least)) for column in zip(*gaps, strict=True)]),
    )


def _are_second_class(estimator: SmoothedTrees, y: ArrayLike, inputs: int) -> Bits:
    """Which labels are ``classes_[1]``."""
    labels = np.asarray(y)
    if labels.shape != (inputs,) or not np.isin(labels, estimator.classes_).all():
        first, second = estimator.classes_.tolist()
        raise UnusableLabels(f"y must have a label for each of the {inputs} inputs, {first!r} or {second!r}")
    return np.asarray(labels == estimator.classes_[1])
