"""The changed input that attains a bound: the choices of the recursion, followed back in integers."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import Inconsistent
from ellzero.trees.forest import Forest
from ellzero.trees.recursion import Bits, IntegerArithmetic, Rows, add_trees, lift_children, node_rows

_BLOCK = 32  # inputs at once: the rows of all nodes are kept, a megabyte an input at depth 10


def change_inputs(forest: Forest, bits: Bits, alpha: Fraction, r: int, worst: np.ufunc) -> Bits:
    """Inputs at most r changes away whose p is exactly the least (np.minimum) or largest (np.maximum) there is.

    Of all budgets up to r the smallest that attains the bound is spent, so that no change is in vain.
    """
    outputs = bits.copy()
    arithmetic = IntegerArithmetic(forest, alpha)
    for start in range(0, len(bits), _BLOCK):
        block = bits[start : start + _BLOCK]
        rows = node_rows(forest, block, r, worst, arithmetic, forget=False)
        sums = add_trees(forest, [rows[root] for root in forest.roots], r, worst, arithmetic)
        for place in range(len(block)):
            trace = _Trace(forest, arithmetic, {node: _column(array, place) for node, array in rows.items()})
            trace.follow([_column(total, place) for total in sums], outputs[start + place])
    return outputs


def _column(rows: Rows, place: int) -> Rows:
    """The rows of one input; those of a leaf are the same for all."""
    return rows[:, min(place, rows.shape[1] - 1)]


class _Trace:
    """The choices for one input, whose rows at each node are these."""

    def __init__(self, forest: Forest, arithmetic: IntegerArithmetic, rows: dict[int, Rows]) -> None:
        self._forest, self._arithmetic, self._rows = forest, arithmetic, rows

    def follow(self, sums: list[Rows], bits: NDArray[np.bool_]) -> None:
        """Change ``bits`` in place."""
        budget = int(np.flatnonzero(sums[-1] == sums[-1][-1])[0])
        tasks: list[tuple[int, int]] = []
        for tree in range(len(sums) - 1, 0, -1):
            root = int(self._forest.roots[tree])
            levels = self._forest.height - int(self._forest.heights[root])
            rows = self._arithmetic.lift(self._rows[root], levels)
            rest, share = _shares(sums[tree - 1], rows, budget, sums[tree][budget])
            tasks.append((root, share))
            budget = rest
        tasks.append((int(self._forest.roots[0]), budget))
        while tasks:
            node, budget = tasks.pop()
            if budget:
                tasks += self._children(node, budget, bits)

    def _children(self, node: int, budget: int, bits: NDArray[np.bool_]) -> list[tuple[int, int]]:
        """Where the budget of a node goes; its own bit is changed if that is part of the worst case."""
        feature, goal = int(self._forest.feature[node]), self._rows[node][budget]
        right, left = lift_children(self._forest, node, self._rows, self._arithmetic)
        w, v = (weight[0] for weight in self._arithmetic.weights(bits[feature : feature + 1]))
        shares = _find_shares(w * right, v * left, budget, goal)
        if shares is None:
            bits[feature] = not bits[feature]
            shares = _shares(v * right, w * left, budget - 1, goal)
        return [(int(self._forest.right[node]), shares[0]), (int(self._forest.left[node]), shares[1])]


def _find_shares(first: Rows, second: Rows, budget: int, goal: int) -> tuple[int, int] | None:
    """s and t with s+t = budget and first[s] + second[t] = goal, if there are any."""
    for s in range(max(0, budget - len(second) + 1), min(budget, len(first) - 1) + 1):
        if first[s] + second[budget - s] == goal:
            return s, budget - s
    return None


def _shares(first: Rows, second: Rows, budget: int, goal: int) -> tuple[int, int]:
    shares = _find_shares(first, second, budget, goal)
    if shares is None:
        raise Inconsistent("no way to share the changes out attains the bound")
    return shares
