"""What a smoothed classifier is made of: one tree or several, in which no feature is tested at two nodes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ellzero.trees.errors import UnusableTree

Integers: TypeAlias = NDArray[np.int64]
Doubles: TypeAlias = NDArray[np.float64]

LEAF = -1
"""What stands in ``feature``, ``left`` and ``right`` of a leaf."""


@dataclass(frozen=True, eq=False)
class Forest:
    """Nodes in arrays, children after their parents. No feature is tested at two nodes, in all trees together.

    Node i tests ``feature[i]`` and goes to ``right[i]`` on 1, to ``left[i]`` on 0; all three are −1 at a leaf.
    ``value[i]`` is the output of a leaf: a double, which counts as the rational number it is. At other nodes it
    is what the output would be if the tree ended there, and no result depends on it. ``roots`` are the trees.
    """

    feature: Integers
    left: Integers
    right: Integers
    value: Doubles
    roots: Integers
    n_features: int

    @classmethod
    def of(
        cls,
        feature: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        value: ArrayLike,
        roots: ArrayLike,
        n_features: int,
    ) -> "Forest":
        """The forest in these arrays, once they are checked to be one."""
        forest = cls(
            _integers(feature, "feature"),
            _integers(left, "left"),
            _integers(right, "right"),
            _doubles(value),
            _integers(roots, "roots"),
            n_features,
        )
        forest._check()
        return forest

    @cached_property
    def inner(self) -> Integers:
        """The nodes that test a feature."""
        return np.flatnonzero(self.feature != LEAF)

    @cached_property
    def heights(self) -> Integers:
        """The longest way down from each node to a leaf: 0 at leaves."""
        heights = np.zeros(len(self.feature), dtype=np.int64)
        for node in self.inner[::-1]:
            heights[node] = 1 + max(heights[self.left[node]], heights[self.right[node]])
        return heights

    @cached_property
    def height(self) -> int:
        """The longest way down in any tree."""
        return int(self.heights[self.roots].max())

    @cached_property
    def sizes(self) -> Integers:
        """How many features are tested at each node and below it: so many changes at most matter there."""
        sizes = np.zeros(len(self.feature), dtype=np.int64)
        for node in self.inner[::-1]:
            sizes[node] = 1 + sizes[self.left[node]] + sizes[self.right[node]]
        return sizes

    def _check(self) -> None:
        nodes = len(self.feature)
        if not nodes or any(len(array) != nodes for array in (self.left, self.right, self.value)):
            raise UnusableTree("feature, left, right and value must be of one length, that of the nodes")
        if not np.all((self.value >= 0) & (self.value <= 1)):
            raise UnusableTree("every value must be a number from 0 to 1")
        leaves = self.feature == LEAF
        if not np.array_equal(leaves, self.left == LEAF) or not np.array_equal(leaves, self.right == LEAF):
            raise UnusableTree("feature, left and right must all be -1 at a leaf, and nowhere else")
        features = self.feature[self.inner]
        if np.any(features < 0) or np.any(features >= self.n_features):
            raise UnusableTree(f"features must be from 0 to {self.n_features - 1}")
        if len(np.unique(features)) != len(features):
            raise UnusableTree("a feature is tested at more than one node, so that bounds by recursion would be wrong")
        children = np.concatenate([self.left[self.inner], self.right[self.inner]])
        parents = np.concatenate([self.inner, self.inner])
        places = np.sort(np.concatenate([self.roots, children]))
        if np.any(children <= parents) or not np.array_equal(places, np.arange(nodes)):
            raise UnusableTree("every node must be a root or the child of one node before it")


def _integers(array: ArrayLike, name: str) -> Integers:
    numbers: NDArray[Any] = np.asarray(array)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise UnusableTree(f"{name} must be a list of integers")
    return numbers.astype(np.int64)


def _doubles(array: ArrayLike) -> Doubles:
    try:
        numbers: NDArray[Any] = np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise UnusableTree("value must be a list of numbers") from None
    if numbers.ndim != 1:
        raise UnusableTree("value must be a list of numbers")
    return numbers
