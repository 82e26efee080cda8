"""The worst case of a smoothed forest by recursion, in doubles or in integers.

With w = α where the node's bit is 1 and w = 1−α where it is 0, the probability at a node is w·right + (1−w)·left. An
adversary who may change r bits below the node shares them out between its two sides, which have no feature in
common, and may spend one on the node itself, which exchanges w and 1−w:

    low[r] = min over s+t = r    of  w·right[s] + (1−w)·left[t]
         and over s+t = r−1  of  (1−w)·right[s] + w·left[t]

and high likewise by max (docs/trees.md has the proof). Beyond the number of features tested below a node nothing more
can change, so rows end there. A forest adds its trees up in the same way. Rows are arrays (r+1, inputs).
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ldexp
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ellzero.core.cancellation import check_cancelled
from ellzero.trees.forest import LEAF, Forest

Bits: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[Any]

_ROUNDINGS_A_LEVEL = 3
_UNIT = 2.0**-53


class Arithmetic(Protocol):
    """The numbers that the recursion is done in."""

    def leaf(self, node: int) -> Rows:
        """The output of a leaf, of shape (1, 1)."""
        ...

    def weights(self, bits: Bits) -> tuple[Rows, Rows]:
        """w and 1−w for each input."""
        ...

    def lift(self, rows: Rows, levels: int) -> Rows:
        """Rows in the units of a node that many levels above the one whose units they are in."""
        ...


class DoubleArithmetic:
    """Doubles, rounded to nearest. `lower` and `upper` enclose the exact value of what the recursion yields.

    All terms are non-negative, so relative errors never grow by cancellation. A level multiplies the relative error by
    at most (1+u)^3, u = 2^-53: one rounding of the weight, one of the product, one of the sum; minima and maxima
    commute with such bounds. Underflow adds less than 2^-1019 a level, even where a
    processor takes subnormal numbers for 0. Summing T trees and dividing by T adds T roundings and as many
    underflows. With m roundings and h levels, a computed c and its exact value e satisfy

        e·(1−u)^m − t ≤ c ≤ e·(1+u)^m + t,    t = (h+T)·2^-1018

    and (1+u)^m·(1−mu) ≤ 1 ≤ (1−u)^m·(1+2mu) for mu ≤ 1/2. Two roundings more cover the two steps of `lower`
    and of `upper`.
    """

    def __init__(self, forest: Forest, alpha: Fraction) -> None:
        self._forest = forest
        self._keep, self._flip = float(alpha), float(1 - alpha)
        roundings = _ROUNDINGS_A_LEVEL * forest.height + len(forest.roots) + 2
        self._down, self._up = 1 - roundings * _UNIT, 1 + 2 * roundings * _UNIT
        self._tiny = ldexp(forest.height + len(forest.roots), -1016)

    def leaf(self, node: int) -> Rows:
        return self._forest.value[node : node + 1].reshape(1, 1)

    def weights(self, bits: Bits) -> tuple[Rows, Rows]:
        return np.where(bits, self._keep, self._flip), np.where(bits, self._flip, self._keep)

    def lift(self, rows: Rows, levels: int) -> Rows:
        return rows

    def lower(self, rows: Rows) -> Rows:
        """A lower bound of the exact value, within 0..1."""
        return np.clip(rows / len(self._forest.roots) * self._down - self._tiny, 0.0, 1.0)

    def upper(self, rows: Rows) -> Rows:
        """An upper bound of the exact value, within 0..1."""
        return np.clip(rows / len(self._forest.roots) * self._up + self._tiny, 0.0, 1.0)


class IntegerArithmetic:
    """Python's integers, in units of 1 / (D^h · 2^k) at height h, where α = a/D and leaves are multiples of 2^-k."""

    def __init__(self, forest: Forest, alpha: Fraction) -> None:
        leaves = np.flatnonzero(forest.feature == LEAF).tolist()
        outputs = {node: Fraction(float(forest.value[node])) for node in leaves}
        unit = max(output.denominator for output in outputs.values())  # powers of two: the largest is common to all
        self._leaves = {node: int(output * unit) for node, output in outputs.items()}
        self._keep, self._flip, self._base = alpha.numerator, alpha.denominator - alpha.numerator, alpha.denominator
        self.denominator = self._base**forest.height * unit * len(forest.roots)
        """Of the result, all trees together."""

    def leaf(self, node: int) -> Rows:
        return np.array([[self._leaves[node]]], dtype=object)

    def weights(self, bits: Bits) -> tuple[Rows, Rows]:
        pair = np.array([self._flip, self._keep], dtype=object)
        places = bits.astype(np.intp)
        return pair[places], pair[1 - places]

    def lift(self, rows: Rows, levels: int) -> Rows:
        return rows * self._base**levels if levels else rows


def worst_rows(forest: Forest, bits: Bits, r_max: int, worst: np.ufunc, arithmetic: Arithmetic) -> Rows:
    """The sum over trees of the least (np.minimum) or largest (np.maximum) outputs for 0..r changes, r ≤ r_max.

    ``bits`` is (inputs, features). Rows end at the number of features that the forest tests, if r_max is more.
    """
    rows = node_rows(forest, bits, r_max, worst, arithmetic, forget=True)
    total = add_trees(forest, [rows[root] for root in forest.roots], r_max, worst, arithmetic)[-1]
    return np.broadcast_to(total, (len(total), len(bits)))


def unlimited_worst(forest: Forest, worst: np.ufunc, arithmetic: Arithmetic) -> Rows:
    """The same for any number of changes, which no longer depends on the input: of shape (1, 1)."""
    w, v = arithmetic.weights(np.ones(1, dtype=np.bool_))
    rows: dict[int, Rows] = {}
    for node in range(len(forest.feature) - 1, -1, -1):
        if forest.feature[node] == LEAF:
            rows[node] = arithmetic.leaf(node)
            continue
        right, left = lift_children(forest, node, rows, arithmetic)
        rows[node] = worst(w * right + v * left, v * right + w * left)
    return add_trees(forest, [rows[root] for root in forest.roots], 0, worst, arithmetic)[-1]


def node_rows(
    forest: Forest, bits: Bits, r_max: int, worst: np.ufunc, arithmetic: Arithmetic, *, forget: bool
) -> dict[int, Rows]:
    """The rows of every node; with ``forget`` those of the roots only, in the memory of one level."""
    columns = np.ascontiguousarray(bits.T)
    rows: dict[int, Rows] = {}
    for node in range(len(forest.feature) - 1, -1, -1):
        feature = int(forest.feature[node])
        if feature == LEAF:
            rows[node] = arithmetic.leaf(node)
            continue
        check_cancelled()
        w, v = arithmetic.weights(columns[feature])
        right, left = lift_children(forest, node, rows, arithmetic)
        rows[node] = combine(w, v, right, left, min(r_max, int(forest.sizes[node])), worst)
        if forget:
            del rows[int(forest.right[node])], rows[int(forest.left[node])]
    return rows


def lift_children(forest: Forest, node: int, rows: dict[int, Rows], arithmetic: Arithmetic) -> tuple[Rows, Rows]:
    """The rows of the right child and of the left one, in the units of the node."""
    right, left = int(forest.right[node]), int(forest.left[node])
    levels = int(forest.heights[node]) - 1
    return (
        arithmetic.lift(rows[right], levels - int(forest.heights[right])),
        arithmetic.lift(rows[left], levels - int(forest.heights[left])),
    )


def combine(w: Rows, v: Rows, right: Rows, left: Rows, cap: int, worst: np.ufunc) -> Rows:
    """Rows 0..cap of a node, with w on its right side and v = 1−w on its left."""
    without_flip = convolve(w * right, v * left, cap, worst)
    if cap == 0:
        return without_flip
    with_flip = convolve(v * right, w * left, cap - 1, worst)
    rows = np.empty((cap + 1, len(w)), dtype=without_flip.dtype)
    rows[0] = without_flip[0]
    last = min(len(without_flip) - 1, cap)  # the last row is missing where both sides have no more bits to change
    worst(without_flip[1 : last + 1], with_flip[:last], out=rows[1 : last + 1])
    if last < cap:
        worst(without_flip[last], with_flip[cap - 1], out=rows[cap])
    return rows


def convolve(first: Rows, second: Rows, cap: int, worst: np.ufunc) -> Rows:
    """Row r is the worst over s+t = r of first[s] + second[t], for r ≤ cap and both at most the last of theirs."""
    if len(first) > len(second):
        first, second = second, first
    length = min(cap, len(first) + len(second) - 2) + 1
    size = min(len(second), length)
    head: Rows = first[0] + second[:size]
    if len(first) == 1:
        return head
    rows = np.empty((length, head.shape[1]), dtype=head.dtype)
    rows[:size] = head
    for s in range(1, min(len(first), length)):
        sums = first[s] + second[: length - s]
        end = s + len(sums)
        worst(rows[s:size], sums[: size - s], out=rows[s:size])
        rows[size:end] = sums[size - s :]
        size = max(size, end)
    return rows


def add_trees(forest: Forest, trees: Sequence[Rows], r_max: int, worst: np.ufunc, arithmetic: Arithmetic) -> list[Rows]:
    """The sums of the first tree, of the first two, and so on, each row the worst over all ways to share r out."""
    terms = [
        arithmetic.lift(rows, int(forest.height - forest.heights[root]))
        for root, rows in zip(forest.roots, trees, strict=True)
    ]
    sums = [terms[0]]
    for rows in terms[1:]:
        sums.append(convolve(sums[-1], rows, r_max, worst))
    return sums
