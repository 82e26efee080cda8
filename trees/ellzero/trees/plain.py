"""scikit-learn's own trees on bits, without noise: exact distances to another class, and a greedy adversary.

A leaf is reached by the inputs that agree with it on every feature tested on the way, however often. So the number of
features to change is the number of *distinct* features on its way that disagree, and one matrix product counts
them for all inputs and leaves.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from ellzero.core.errors import InvalidInput
from ellzero.trees.errors import UnusableTree
from ellzero.trees.forest import Doubles, Integers
from ellzero.trees.recursion import Bits
from ellzero.trees.validation import read_features, read_largest_radius, read_radius

_LEAF = -1


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves that some input of bits reaches.

    ``signs[leaf, feature]`` is 1 where the way to the leaf needs a 1, −1 where it needs a 0, and 0 where the feature is
    not tested. ``label[leaf]`` is the place in ``classes_`` of what the tree predicts there, ``value[leaf]`` has the
    share of each class.
    """

    signs: NDArray[np.int8]
    label: Integers
    value: Doubles

    @classmethod
    def of(cls, tree: DecisionTreeClassifier) -> "Leaves":
        """Of a fitted tree of scikit-learn with one output."""
        if not isinstance(tree, DecisionTreeClassifier):
            raise UnusableTree(f"a DecisionTreeClassifier of scikit-learn is needed, not a {type(tree).__name__}")
        check_is_fitted(tree)
        if tree.n_outputs_ != 1:
            raise UnusableTree(f"trees with one output are certified; this one has {tree.n_outputs_}")
        nodes = tree.tree_
        signs, places = [], []
        tasks = [(0, np.zeros(tree.n_features_in_, dtype=np.int8))]
        while tasks:
            node, way = tasks.pop()
            if nodes.children_left[node] == _LEAF:
                signs.append(way)
                places.append(node)
                continue
            feature, threshold = nodes.feature[node], nodes.threshold[node]
            for child, bit in ((nodes.children_left[node], 0), (nodes.children_right[node], 1)):
                goes_right = [value > threshold for value in (0, 1)]
                if goes_right == [bool(bit)] * 2:  # bits cannot differ here: all go this way
                    tasks.append((child, way))
                elif goes_right == [False, True] and way[feature] != 1 - 2 * bit:
                    step = way.copy()
                    step[feature] = 2 * bit - 1
                    tasks.append((child, step))
        value = nodes.value[places, 0, :].astype(np.float64)
        return cls(np.stack(signs), value.argmax(axis=1), value)

    @cached_property
    def lengths(self) -> Integers:
        """How many features each leaf's way tests."""
        return np.asarray(np.count_nonzero(self.signs, axis=1), dtype=np.int64)

    def distances(self, bits: Bits) -> Integers:
        """(inputs, leaves): how many features must change for an input to reach a leaf."""
        agreement = (2.0 * bits - 1) @ self.signs.T.astype(np.float64)  # agreeing minus disagreeing
        return ((self.lengths - agreement) / 2).astype(np.int64)


def plain_distance(tree: DecisionTreeClassifier, X: ArrayLike) -> Integers:  # noqa: N803
    """The least number of features whose change changes ``tree.predict``, for each input. Exact.

    One more than there are features where no change does. The radius that is certified is one less.
    """
    leaves, bits = Leaves.of(tree), read_features(tree, X)
    distances = leaves.distances(bits)
    label = leaves.label[distances.argmin(axis=1)]  # the leaf at distance 0
    never = tree.n_features_in_ + 1
    other = np.where(leaves.label == label[:, np.newaxis], never, distances)
    return np.asarray(other.min(axis=1))


def plain_probability_bounds(tree: DecisionTreeClassifier, X: ArrayLike, r_max: int) -> tuple[Doubles, Doubles]:  # noqa: N803
    """(low, high): the least and the largest ``predict_proba(X)[:, 1]`` when at most 0, 1, …, r_max features change.

    Exact: values of leaves, of shape (inputs, r_max + 1).
    """
    r_max, leaves, bits = read_largest_radius(r_max, "r_max"), two_class_leaves(tree), read_features(tree, X)
    distances, value = leaves.distances(bits), leaves.value[:, 1]
    balls = [distances <= r for r in range(r_max + 1)]
    return (
        np.stack([np.where(within, value, np.inf).min(axis=1) for within in balls], axis=1),
        np.stack([np.where(within, value, -np.inf).max(axis=1) for within in balls], axis=1),
    )


def greedy_adversary(tree: DecisionTreeClassifier, X: ArrayLike, r: int, toward: object) -> NDArray[np.uint8]:  # noqa: N803
    """Inputs changed by the greedy adversary: r times the one feature whose change moves the share of ``toward`` most.

    It stops where no single change raises that share. An attack, which may miss what `plain_probability_bounds` and
    `plain_distance` see; of equally good features it takes that of the first leaf.
    """
    r, leaves, bits = read_radius(r, "r"), two_class_leaves(tree), read_features(tree, X)
    labels = tree.classes_.tolist()
    if toward not in labels:
        raise InvalidInput("toward", " or ".join(map(repr, labels)), toward)
    value = leaves.value[:, labels.index(toward)]
    inputs = bits.copy()
    for _ in range(r):
        distances = leaves.distances(inputs)
        rivals = np.where(distances == 1, value, -np.inf)
        best = rivals.argmax(axis=1)
        rows = np.flatnonzero(rivals.max(axis=1) > value[distances.argmin(axis=1)])
        if not len(rows):
            break
        signs = leaves.signs[best[rows]]
        flips = (signs != 0) & ((signs == 1) != inputs[rows])  # one feature a row
        inputs[rows] ^= flips
    return inputs.astype(np.uint8)


def two_class_leaves(tree: DecisionTreeClassifier) -> Leaves:
    """The leaves of a tree of two classes."""
    leaves = Leaves.of(tree)
    if leaves.value.shape[1] != 2:
        raise UnusableTree(f"a tree of two classes is needed; this one has {leaves.value.shape[1]}")
    return leaves
