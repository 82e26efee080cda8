"""Trees that test a feature at several nodes, smoothed: exact by search where that is affordable.

The recursion needs subtrees without a common feature. Without that, the exact worst case is found by trying every
change of at most r of the m features that are tested: Σ_{k≤r} C(m, k) changed inputs for each input. Beyond the limit
of that cost the certificate for all classifiers remains.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier

from ellzero.core.cancellation import check_cancelled
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.trees.agnostic import agnostic_low, agnostic_radius
from ellzero.trees.errors import SearchTooLarge
from ellzero.trees.forest import Integers
from ellzero.trees.plain import two_class_leaves
from ellzero.trees.recursion import Bits
from ellzero.trees.validation import read_alpha, read_features, read_largest_radius, read_leaf, read_radius

DEFAULT_LIMIT = 100_000
"""Changed inputs that a search looks at for one input: seconds."""
_BLOCK = 4_096


class SmoothedGeneralTree:
    """A fitted `DecisionTreeClassifier` on bits of which each is kept with probability α and flipped otherwise.

    The output of a leaf is its share of ``classes_[1]``, a double that counts as the rational it is, or with
    ``leaf="majority"`` whether the tree predicts that class there. p(x) is the expected output at the noisy input. All
    results are exact.
    """

    def __init__(self, tree: DecisionTreeClassifier, alpha: RationalLike = "4/5", leaf: str = "share") -> None:
        self.tree, self.alpha = tree, read_alpha(alpha)
        leaves = two_class_leaves(tree)
        shares = leaves.value[:, 1] if read_leaf(leaf) == "share" else leaves.label.astype(np.float64)
        outputs = [Fraction(float(share)) for share in shares]
        self.features: Integers = np.flatnonzero(leaves.signs.any(axis=0))
        """The features that the tree tests."""
        self._leaves, deepest = leaves, int(leaves.lengths.max())
        keep, flip = self.alpha.numerator, self.alpha.denominator - self.alpha.numerator
        unit = max(output.denominator for output in outputs)
        self._denominator = unit * self.alpha.denominator**deepest
        # Row: a leaf; column: how many of the features that it needs disagree. The leaf's part of p, an integer.
        self._parts = np.array(
            [
                [
                    int(output * unit)
                    * keep ** (length - misses)
                    * flip**misses
                    * self.alpha.denominator ** (deepest - length)
                    if misses <= length
                    else 0
                    for misses in range(deepest + 1)
                ]
                for output, length in zip(outputs, leaves.lengths.tolist(), strict=True)
            ],
            dtype=object,
        )

    def probability(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """p for each input, as Fractions."""
        distances = self._leaves.distances(read_features(self.tree, X))
        return np.array([Fraction(total, self._denominator) for total in self._totals(distances)], dtype=object)

    def search_cost(self, r: int) -> int:
        """How many changed inputs an exact search up to r looks at, for each input."""
        features = len(self.features)
        return sum(comb(features, k) for k in range(min(read_radius(r, "r"), features) + 1))

    def probability_bounds(
        self,
        X: ArrayLike,  # noqa: N803
        r_max: int,
        limit: int = DEFAULT_LIMIT,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """(low, high): the least and the largest p with at most 0, 1, …, r_max changes, as Fractions, by search.

        `SearchTooLarge` if ``search_cost(r_max)`` is beyond ``limit``; `agnostic_bounds` holds without a search.
        """
        r_max = read_largest_radius(r_max, "r_max")
        if (cost := self.search_cost(r_max)) > read_integer(limit, "limit", 1):
            raise SearchTooLarge(cost, limit)
        pairs = [self._search(row, r_max) for row in read_features(self.tree, X)]
        low, high = (np.array([pair[side] for pair in pairs], dtype=object) for side in (0, 1))
        return low, high

    def agnostic_bounds(self, X: ArrayLike, r_max: int) -> tuple[NDArray[Any], NDArray[Any]]:  # noqa: N803
        """Bounds of the same that hold for every classifier with the same p: no search, and no better for a tree."""
        radii, p = range(read_largest_radius(r_max, "r_max") + 1), self.probability(X)
        return (
            np.array([[agnostic_low(self.alpha, value, r) for r in radii] for value in p], dtype=object),
            np.array([[1 - agnostic_low(self.alpha, 1 - value, r) for r in radii] for value in p], dtype=object),
        )

    def certified_radius(self, X: ArrayLike, limit: int = DEFAULT_LIMIT) -> Integers:  # noqa: N803
        """An r for which no input with at most r changes gets another class or a tie; −1 where p = 1/2 itself.

        Exact where a search within ``limit`` finds a change of class, or can try all features that are tested (the
        number of features if it finds none). Otherwise the larger of what was searched, and what holds for all
        classifiers.
        """
        limit, features = read_integer(limit, "limit", 1), self.tree.n_features_in_
        reach = 0
        while reach < len(self.features) and self.search_cost(reach + 1) <= limit:
            reach += 1
        low, high = self.probability_bounds(X, reach, limit)
        half, results = Fraction(1, 2), []
        for least, largest in zip(low, high, strict=True):
            p = least[0]
            safe = sum(value > half for value in least) if p > half else sum(value < half for value in largest)
            if safe <= reach:
                results.append(safe - 1)
            elif reach == len(self.features):
                results.append(features)
            else:
                results.append(max(reach, agnostic_radius(self.alpha, max(p, 1 - p), features)))
        return np.array(results, dtype=np.int64)

    def _totals(self, distances: Integers) -> NDArray[Any]:
        """The numerators of p, given how far each leaf is."""
        return np.asarray(self._parts[np.arange(len(self._parts)), distances].sum(axis=-1))

    def _search(self, row: Bits, r_max: int) -> tuple[list[Fraction], list[Fraction]]:
        """The least and the largest p with 0..r_max changes of one input."""
        distance = self._leaves.distances(row[np.newaxis])[0]
        steps = (self._leaves.signs * np.where(row, 1, -1)).astype(np.int64).T  # what a change adds to each distance
        low: list[Fraction] = []
        high: list[Fraction] = []
        for r in range(r_max + 1):
            totals = list(chain.from_iterable(self._changed_totals(distance, steps, r)))
            # none if r is more than there are features that are tested
            ends = [Fraction(int(bound), self._denominator) for bound in (min(totals), max(totals))] if totals else []
            low.append(min([*ends, *low[-1:]]))
            high.append(max([*ends, *high[-1:]]))
        return low, high

    def _changed_totals(self, distance: Integers, steps: Integers, r: int) -> Iterator[NDArray[Any]]:
        """The numerators of p for every change of exactly r of the features that are tested."""
        choices = combinations(self.features.tolist(), r)
        while block := list(islice(choices, _BLOCK)):
            check_cancelled()
            places = np.array(block, dtype=np.intp).reshape(len(block), r)
            yield self._totals(distance + steps[places].sum(axis=1))
