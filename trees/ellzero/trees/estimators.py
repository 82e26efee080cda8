"""Smoothed trees and forests as scikit-learn classifiers, with exact certificates of their own.

Lee, Yuan, Chang, Jaakkola: Tight Certificates of Adversarial Robustness for Randomly Smoothed Classifiers, NeurIPS 2019
(https://arxiv.org/abs/1906.04948), section 3.6 and appendix B; forests are an extension. docs/trees.md has the proofs.
"""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.trees import certificate
from ellzero.trees.adversary import change_inputs
from ellzero.trees.forest import Doubles, Forest, Integers
from ellzero.trees.growth import grow
from ellzero.trees.recursion import Bits
from ellzero.trees.validation import (
    read_alpha,
    read_features,
    read_largest_radius,
    read_leaf,
    read_radius,
    read_training_data,
)


class SmoothedTrees(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What `SmoothedTreeClassifier` and `SmoothedForestClassifier` have in common: all but their parameters.

    Each bit of the input is kept with probability α and flipped otherwise, independently. p(x) is the expected output
    at the noisy input, averaged over trees: the probability of ``classes_[1]``. The class at x is ``classes_[1]`` where
    p(x) > 1/2, and ``classes_[0]`` otherwise; these comparisons are exact.

    Attributes after `fit`
    ----------------------
    feature_, left_, right_ : int64 arrays, one entry a node
        Node i goes to ``right_[i]`` where bit ``feature_[i]`` is 1, to ``left_[i]`` where it is 0; all −1 at leaves.
    value_ : float64 array, one entry a node
        The outputs of leaves. They are *defined* as these doubles, so that p is a rational number.
    roots_ : int64 array
        The root of each tree.
    alpha_ : Fraction
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    """

    alpha: RationalLike
    max_depth: int
    leaf: str

    feature_: Integers
    left_: Integers
    right_: Integers
    value_: Doubles
    roots_: Integers
    alpha_: Fraction
    classes_: NDArray[Any]
    n_features_in_: int

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803
        """Train on features of 0 and 1 and labels of two classes."""
        alpha, leaf = read_alpha(self.alpha), read_leaf(self.leaf)
        max_depth, n_trees = read_integer(self.max_depth, "max_depth", 1), self._read_n_trees()
        bits, classes, positive = read_training_data(self, X, y)
        self.alpha_, self.classes_ = alpha, classes
        return self._set_forest(grow(bits, positive, alpha, max_depth=max_depth, n_trees=n_trees, leaf=leaf))

    @classmethod
    def from_arrays(
        cls,
        feature: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        value: ArrayLike,
        *,
        roots: ArrayLike = (0,),
        n_features: int,
        classes: ArrayLike = (0, 1),
        **parameters: Any,
    ) -> Self:
        """A fitted estimator of these arrays (see the attributes above), whoever made them.

        Children must follow their parents, values lie from 0 to 1, and no feature may be tested at two nodes:
        `UnusableTree` says what is wrong otherwise.
        """
        estimator = cls(**parameters)
        estimator.alpha_ = read_alpha(estimator.alpha)
        read_leaf(estimator.leaf)
        read_integer(estimator.max_depth, "max_depth", 1)
        estimator.classes_ = _read_classes(classes)
        estimator.n_features_in_ = read_integer(n_features, "n_features", 1)
        forest = Forest.of(feature, left, right, value, roots, estimator.n_features_in_)
        estimator._check_trees(forest)
        return estimator._set_forest(forest)

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The class of each input, by an exact comparison of p with 1/2; ``classes_[0]`` at p = 1/2."""
        places = (certificate.signs(*self._read(X)) > 0).astype(np.intp)
        return np.asarray(self.classes_[places])

    def predict_proba(self, X: ArrayLike) -> Doubles:  # noqa: N803
        """The doubles nearest to 1−p and p, of shape (inputs, 2). Inputs with the same p have the same double."""
        return certificate.probabilities(*self._read(X))

    def probability_bounds(self, X: ArrayLike, r_max: int, exact: bool = False) -> tuple[NDArray[Any], NDArray[Any]]:  # noqa: N803
        """(low, high): the least and the largest p when at most 0, 1, …, r_max features are changed.

        Both of shape (inputs, r_max + 1). As doubles, low is rounded down and high is rounded up; neither is further
        from the exact value than 2^-49 of it for each level of depth and each tree (and 10^-300). With ``exact`` they
        are the exact Fractions.
        """
        r_max = read_largest_radius(r_max, "r_max")
        return certificate.bounds(*self._read(X), r_max, exact=exact)

    def certified_radius(self, X: ArrayLike) -> Integers:  # noqa: N803
        """The largest r for which no input with at most r changed features gets another class or p = 1/2.

        Exact: with r+1 changes some input has another class, or a tie. −1 where p = 1/2 itself.
        ``n_features_in_`` where no number of changes is enough.
        """
        return certificate.radii(*self._read(X))

    def adversarial_input(self, X: ArrayLike, r: int, toward: object) -> NDArray[np.uint8]:  # noqa: N803
        """Inputs with at most r changed features whose p is exactly the bound at r.

        The largest p if ``toward`` is ``classes_[1]``, the least if it is ``classes_[0]``. No fewer changes attain it.
        """
        r, (forest, bits, alpha) = read_radius(r, "r"), self._read(X)
        labels = self.classes_.tolist()
        if toward not in labels:
            raise InvalidInput("toward", " or ".join(map(repr, labels)), toward)
        worst = np.maximum if labels.index(toward) else np.minimum
        return change_inputs(forest, bits, alpha, r, worst).astype(np.uint8)

    @abstractmethod
    def _read_n_trees(self) -> int: ...

    @abstractmethod
    def _check_trees(self, forest: Forest) -> None: ...

    def _set_forest(self, forest: Forest) -> Self:
        self.feature_, self.left_, self.right_ = forest.feature, forest.left, forest.right
        self.value_, self.roots_ = forest.value, forest.roots
        return self

    def _read(self, x: ArrayLike) -> tuple[Forest, Bits, Fraction]:
        check_is_fitted(self)
        bits = read_features(self, x)
        links = (self.feature_, self.left_, self.right_)
        # Checked at every use: what has become of the attributes meanwhile must not make a certificate wrong.
        return Forest.of(*links, self.value_, self.roots_, self.n_features_in_), bits, read_alpha(self.alpha_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _read_classes(classes: ArrayLike) -> NDArray[Any]:
    """Two labels as an array. numpy makes text of 0 in [0, "a"]; such a label would be another one afterwards."""
    labels = np.asarray(classes)
    if labels.shape != (2,) or labels[0] == labels[1] or labels.tolist() != np.asarray(classes, object).tolist():
        raise InvalidInput("classes", "two different labels of one kind, numbers or text", classes)
    return labels


class SmoothedTreeClassifier(SmoothedTrees):
    """A tree on binary features, smoothed by flipping bits, whose certificate is exact.

    Parameters
    ----------
    alpha : the probability of keeping a bit, a rational above 1/2 and at most 1 ("4/5", 0.8, a Fraction); 1 means that
        there is no noise.
    max_depth : the largest number of tests on the way to a leaf. A whole tree needs 2^max_depth − 1 features; with
        fewer, training ends when they are used up.
    leaf : "share", the share of positives among the examples that reach a leaf, each with its probability; or
        "majority", 1 if that is more than one half and 0 otherwise.
    """

    def __init__(self, alpha: RationalLike = "4/5", max_depth: int = 10, leaf: str = "share") -> None:
        self.alpha = alpha
        self.max_depth = max_depth
        self.leaf = leaf

    def _read_n_trees(self) -> int:
        return 1

    def _check_trees(self, forest: Forest) -> None:
        if len(forest.roots) != 1:
            raise InvalidInput("roots", "one root, for a tree", forest.roots.tolist())


class SmoothedForestClassifier(SmoothedTrees):
    """Trees on binary features that have no feature in common, averaged and smoothed; the certificate is exact.

    An adversary has one budget for all trees, so bounds are (min, +) convolutions of those of the trees. The trees
    grow at the same time, level by level, each node choosing among the features that are still free.

    Parameters
    ----------
    n_trees : how many trees.
    alpha, max_depth, leaf : as in `SmoothedTreeClassifier`.
    """

    def __init__(self, n_trees: int = 10, alpha: RationalLike = "4/5", max_depth: int = 6, leaf: str = "share") -> None:
        self.n_trees = n_trees
        self.alpha = alpha
        self.max_depth = max_depth
        self.leaf = leaf

    def _read_n_trees(self) -> int:
        return read_integer(self.n_trees, "n_trees", 1)

    def _check_trees(self, forest: Forest) -> None:
        if len(forest.roots) != self._read_n_trees():
            raise InvalidInput("roots", f"the roots of {self.n_trees} trees", forest.roots.tolist())
