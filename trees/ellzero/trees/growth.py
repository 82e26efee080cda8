"""Training: the greedy tree of Lee et al. 2019, section 3.6, level by level, for one tree or several at once.

Every training example counts at a node with the probability that its noisy copy gets there. The node tests the
feature that leaves the least Gini impurity in *both* children, each weighted by its mass, among the features that no
node of any tree tests yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ellzero.core.cancellation import check_cancelled
from ellzero.trees.forest import LEAF, Doubles, Forest
from ellzero.trees.recursion import Bits

_EXACT = 2.0**53  # sums of integers below it are exact in doubles
_CLOSE = 1 + 1e-12  # scores nearer than this are compared as fractions, where they are exact
_LEAST_MASS = 1e-280  # less would be lost to underflow below
_BLOCK = 2**22  # reach probabilities held at once


@dataclass(frozen=True)
class NodePath:
    """The way from a root: the features tested, and where they led."""

    node: int
    steps: tuple[tuple[int, bool], ...] = ()


@dataclass
class _NodeLists:
    feature: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def add(self) -> int:
        for links in (self.feature, self.left, self.right):
            links.append(LEAF)
        self.value.append(0.0)
        return len(self.feature) - 1


@dataclass(frozen=True)
class SplitStatistics:
    """What decides a split: the masses that reach a node, all and positive, and those whose bit is 1, by feature."""

    total: float
    positive: float
    total_ones: Doubles
    positive_ones: Doubles


class TrainingSet:
    """Reach probabilities of the examples, in units of D^-depth where these are integers small enough to be exact."""

    def __init__(self, bits: Bits, positive: Bits, alpha: Fraction, max_depth: int) -> None:
        self.bits, self.positive = bits, positive
        self._features: Doubles = bits.astype(np.float64)
        depth = min(max_depth, bits.shape[1])
        self.exact = len(bits) * alpha.denominator**depth < _EXACT
        if self.exact:
            self.keep, self.flip = float(alpha.numerator), float(alpha.denominator - alpha.numerator)
        else:
            self.keep, self.flip = float(alpha), float(1 - alpha)

    def reach(self, path: NodePath) -> Doubles:
        """The probability that each example's noisy copy gets there."""
        reach = np.ones(len(self.bits))
        for feature, side in path.steps:
            reach *= np.where(self.bits[:, feature] == side, self.keep, self.flip)
        return reach

    def statistics(self, level: list[NodePath], *, features: bool) -> Iterator[tuple[NodePath, SplitStatistics]]:
        """For the paths of a level in order: a matrix product for as many as fit in memory at once.

        Without ``features`` masses alone: nodes that will be leaves need no more.
        """
        size = max(1, _BLOCK // len(self.bits))
        columns = self._features if features else self._features[:, :0]
        for start in range(0, len(level), size):
            check_cancelled()
            paths = level[start : start + size]
            reach = np.stack([self.reach(path) for path in paths])
            positive = reach * self.positive
            masses = zip(reach.sum(axis=1), positive.sum(axis=1), reach @ columns, positive @ columns, strict=True)
            for path, (total, positive_mass, ones, positive_ones) in zip(paths, masses, strict=True):
                yield path, SplitStatistics(float(total), float(positive_mass), ones, positive_ones)

    def best_split(self, statistics: SplitStatistics, free: NDArray[np.bool_]) -> int | None:
        """The feature with the least impurity, the first of several; None if none is left that divides the examples."""
        candidates = np.flatnonzero(free & (statistics.total_ones > 0) & (statistics.total_ones < statistics.total))
        if not len(candidates) or not 0 < statistics.positive < statistics.total:
            return None
        right, positive_right = (
            self.flip * mass + (self.keep - self.flip) * ones[candidates]
            for mass, ones in (
                (statistics.total, statistics.total_ones),
                (statistics.positive, statistics.positive_ones),
            )
        )
        both = (self.keep + self.flip) * statistics.total, (self.keep + self.flip) * statistics.positive
        masses = np.stack([right, positive_right, both[0] - right, both[1] - positive_right])
        enough = np.minimum(masses[0], masses[2]) > _LEAST_MASS
        candidates, masses = candidates[enough], masses[:, enough]
        if not len(candidates):
            return None
        right, positive_right, left, positive_left = masses
        scores = positive_right * (right - positive_right) / right + positive_left * (left - positive_left) / left
        ties = np.flatnonzero(scores <= scores.min() * _CLOSE)
        if not self.exact or len(ties) == 1:
            return int(candidates[scores.argmin()])
        return int(candidates[_least_exactly(ties, masses[:, ties])[0]])


def _least_exactly(ties: NDArray[np.intp], masses: Doubles) -> NDArray[np.intp]:
    """Those of ``ties`` whose impurity is exactly the least; masses are integers, one column a candidate."""
    _, firsts, groups = np.unique(masses, axis=1, return_index=True, return_inverse=True)
    scores = [_impurity(*(int(mass) for mass in masses[:, first])) for first in firsts]
    least = min(scores)
    best = np.array([score == least for score in scores])
    return np.asarray(ties[best[groups.reshape(-1)]])


def _impurity(right: int, positive_right: int, left: int, positive_left: int) -> Fraction:
    """Half of the weighted Gini impurity of both children."""
    return Fraction(positive_right * (right - positive_right), right) + Fraction(
        positive_left * (left - positive_left), left
    )


def grow(bits: Bits, positive: Bits, alpha: Fraction, *, max_depth: int, n_trees: int, leaf: str) -> Forest:
    """Breadth first over all trees at once: every root, then every node of depth 1, and so on.

    A node is a leaf at ``max_depth``, where all that reaches it is of one class, and where no free feature divides
    what reaches it. Its output is the share of positives (``leaf="share"``), or whether they are more than half
    ("majority").
    """
    training, nodes = TrainingSet(bits, positive, alpha, max_depth), _NodeLists()
    free: Bits = np.asarray(bits.any(axis=0) & ~bits.all(axis=0))  # a constant feature divides the examples nowhere
    level = [NodePath(nodes.add()) for _ in range(n_trees)]
    for depth in range(max_depth + 1):
        next_level: list[NodePath] = []
        splitting = depth < max_depth and bool(free.any())
        for path, statistics in training.statistics(level, features=splitting):
            node = path.node
            nodes.value[node] = _output(statistics, leaf)
            feature = training.best_split(statistics, free) if splitting else None
            if feature is None:
                continue
            free[feature] = False
            nodes.feature[node], nodes.left[node], nodes.right[node] = feature, nodes.add(), nodes.add()
            next_level += [
                NodePath(nodes.left[node], (*path.steps, (feature, False))),
                NodePath(nodes.right[node], (*path.steps, (feature, True))),
            ]
        level = next_level
        if not level:
            break
    return Forest.of(nodes.feature, nodes.left, nodes.right, nodes.value, np.arange(n_trees), bits.shape[1])


def _output(statistics: SplitStatistics, leaf: str) -> float:
    if leaf == "majority":
        return 1.0 if 2 * statistics.positive > statistics.total else 0.0
    return min(statistics.positive / statistics.total, 1.0)
