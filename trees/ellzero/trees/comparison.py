"""What it is worth to know the classifier: the exact certificate beside the one for all classifiers, at the same p."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ellzero.trees.agnostic import agnostic_low, agnostic_radius
from ellzero.trees.estimators import SmoothedTrees
from ellzero.trees.forest import Doubles, Integers
from ellzero.trees.validation import read_radius


@dataclass(frozen=True, eq=False)
class CertificateComparison:
    """Both certificates of the predicted classes.

    ``radius`` and ``agnostic_radius`` have one entry an input; the first is never smaller. ``gap[r]`` is the mean over
    inputs of (the least probability of the predicted class with r changes in this tree) − (the least in any
    classifier with the same probability at the input). Lee et al. 2019, section 5.3, report it over their training
    set for r = 1 and 2.
    """

    radius: Integers
    agnostic_radius: Integers
    gap: Doubles


def compare_with_agnostic(estimator: SmoothedTrees, X: ArrayLike, r_max: int = 2) -> CertificateComparison:  # noqa: N803
    """Both certificates for these inputs, and their gaps for r = 0, 1, …, r_max. Exact but for the last rounding."""
    r_max = read_radius(r_max, "r_max")
    low, high = estimator.probability_bounds(X, r_max, exact=True)
    alpha, d = estimator.alpha_, estimator.n_features_in_
    upper = low[:, 0] > 1 - low[:, 0]
    least = np.where(upper[:, np.newaxis], low, 1 - high)  # of the predicted class, which is classes_[0] at a tie
    find_low = lru_cache(maxsize=None)(lambda p, r: agnostic_low(alpha, p, r))
    find_radius = lru_cache(maxsize=None)(lambda p: agnostic_radius(alpha, p, d))
    gaps = [[row[r] - find_low(row[0], r) for r in range(r_max + 1)] for row in least]
    return CertificateComparison(
        estimator.certified_radius(X),
        np.array([find_radius(row[0]) for row in least], dtype=np.int64),
        np.array([float(sum(column) / len(least)) for column in zip(*gaps, strict=True)]),
    )
