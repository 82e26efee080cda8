"""How long exact answers of a tree or forest may take: to refuse requests, never to decide a result."""

from fractions import Fraction

import numpy as np

from ellzero.trees.forest import Forest, Integers

# Measured: a sum of two products of short integers, and what each bit of longer ones adds.
_SUM_SECONDS = 1.5e-7
_BIT_SECONDS = 1e-10
_NODE_SECONDS = 5e-5  # the calls of numpy at a node, for up to so many inputs at once
_BLOCK = 32


class TreeCosts:
    """The cost of the exact recursion of one forest, as a function of the number of inputs and of changes."""

    def __init__(self, forest: Forest, alpha: Fraction) -> None:
        self._right, self._left = forest.sizes[forest.right[forest.inner]], forest.sizes[forest.left[forest.inner]]
        self._trees = forest.sizes[forest.roots]
        self._before = np.cumsum(self._trees) - self._trees  # features that the trees before each one test
        self._bits = forest.height * alpha.denominator.bit_length() + 64

    def estimate_seconds(self, inputs: int, r: int) -> float:
        """Estimate how long the worst r changes of so many inputs take, r = 0 for their probabilities alone.

        A node shares its changes out between its sides in (min(r, right) + 1)·(min(r, left) + 1) ways at most, with
        its own bit changed or not; and a forest between its trees.
        """
        in_trees = 2 * _count_ways(self._right, self._left, r)
        between_trees = _count_ways(self._before[1:], self._trees[1:], r)
        nodes = len(self._right) * -(-inputs // _BLOCK)
        sums = inputs * (in_trees + between_trees)
        return nodes * _NODE_SECONDS + sums * (_SUM_SECONDS + self._bits * _BIT_SECONDS)


def _count_ways(first: Integers, second: Integers, r: int) -> float:
    return float(((np.minimum(first, r) + 1.0) * (np.minimum(second, r) + 1.0)).sum())
