"""Smoothed trees: training against scikit-learn's, bounds against the recursion as one would write it in Python."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from measuring import Measurement, seconds
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from ellzero.trees import SmoothedTreeClassifier

_EXAMPLES, _FEATURES, _DEPTH = 1_210, 1_024, 10  # as many molecules and bits as the training set of BACE has
_INPUTS, _RADIUS = 1_000, 10
_PLAIN_INPUTS = 5  # of the plain recursion: all of them would take a minute


def smoothed_trees() -> Iterator[Measurement]:
    """On one core, as scikit-learn's trees are: threads of BLAS would be another machine's gain."""
    rng = np.random.default_rng(0)
    bits = (rng.random((_EXAMPLES, _FEATURES)) < rng.random(_FEATURES) / 2).astype(np.uint8)
    labels = bits[:, :20].sum(axis=1) + rng.normal(size=_EXAMPLES) > np.median(bits[:, :20].sum(axis=1))
    with threadpool_limits(1):
        yield _training(bits, labels)
        yield _bounds(bits, labels)
        yield from _depths(bits, labels)


def _training(bits: NDArray[np.uint8], labels: NDArray[np.bool_]) -> Measurement:
    ours = seconds(lambda: SmoothedTreeClassifier(max_depth=_DEPTH).fit(bits, labels))
    theirs = seconds(lambda: DecisionTreeClassifier(max_depth=_DEPTH, random_state=0).fit(bits, labels))
    return Measurement(
        f"fit a smoothed tree / a DecisionTreeClassifier, {_EXAMPLES:,} × {_FEATURES:,}, depth {_DEPTH}",
        f"{ours / theirs:.1f}",
        f"{ours:.3f} s / {theirs:.3f} s; every example counts at every node of the first",
    )


def _bounds(bits: NDArray[np.uint8], labels: NDArray[np.bool_]) -> Measurement:
    tree = SmoothedTreeClassifier(max_depth=_DEPTH).fit(bits, labels)
    fast = seconds(lambda: tree.probability_bounds(bits[:_INPUTS], _RADIUS)) / _INPUTS
    plain = seconds(lambda: [_plain_bounds(tree, x) for x in bits[:_PLAIN_INPUTS].tolist()]) / _PLAIN_INPUTS
    low, high = tree.probability_bounds(bits[:_PLAIN_INPUTS], _RADIUS)
    for place, x in enumerate(bits[:_PLAIN_INPUTS].tolist()):
        if not np.allclose([low[place], high[place]], _plain_bounds(tree, x), rtol=1e-12):
            raise SystemExit("the plain recursion has other bounds")
    return Measurement(
        f"the plain recursion / probability_bounds, {_INPUTS:,} inputs, r ≤ {_RADIUS}, depth {_DEPTH}",
        f"{plain / fast:,.0f}",
        f"{plain * 1e3:.1f} ms / {fast * 1e3:.3f} ms an input",
    )


def _depths(bits: NDArray[np.uint8], labels: NDArray[np.bool_]) -> Iterator[Measurement]:
    costs = {}
    for depth in (4, 6, 8, 10):
        tree = SmoothedTreeClassifier(max_depth=depth).fit(bits, labels)
        taken = seconds(partial(tree.probability_bounds, bits[:_INPUTS], _RADIUS))
        costs[depth] = taken / _INPUTS / np.count_nonzero(tree.feature_ >= 0) / (_RADIUS + 1)
    shown = ", ".join(f"{cost * 1e9:.0f} ns at depth {depth}" for depth, cost in costs.items())
    yield Measurement("bounds for a node, radius and input, depth 10 / depth 4", f"{costs[10] / costs[4]:.2f}", shown)


def _plain_bounds(tree: SmoothedTreeClassifier, x: list[int]) -> tuple[list[float], list[float]]:
    """The recursion as it is written down."""
    feature, left, right, value = (array.tolist() for array in (tree.feature_, tree.left_, tree.right_, tree.value_))
    keep, flip = float(tree.alpha_), float(1 - tree.alpha_)

    def bounds(node: int) -> tuple[list[float], list[float]]:
        if feature[node] < 0:
            return [value[node]] * (_RADIUS + 1), [value[node]] * (_RADIUS + 1)
        w, v = (keep, flip) if x[feature[node]] else (flip, keep)
        results = []
        for worst, ones, zeros in zip((min, max), bounds(right[node]), bounds(left[node]), strict=True):
            row = []
            for r in range(_RADIUS + 1):
                kept = [w * ones[s] + v * zeros[r - s] for s in range(r + 1)]
                changed = [v * ones[s] + w * zeros[r - 1 - s] for s in range(r)]
                row.append(worst(kept + changed))
            results.append(row)
        return results[0], results[1]

    return bounds(0)
