"""Smoothed trees by their definition: every input, every noise, every change. Small d only."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from ellzero.trees import SmoothedForestClassifier, SmoothedTreeClassifier
from ellzero.trees.estimators import SmoothedTrees

HALF = Fraction(1, 2)
Input = tuple[int, ...]


def all_inputs(d: int) -> list[Input]:
    return list(product((0, 1), repeat=d))


def output_without_noise(estimator: SmoothedTrees, x: Input) -> Fraction:
    """Walk every tree from its root, and take the mean of what its leaf says."""
    total = Fraction(0)
    for root in estimator.roots_:
        node = root
        while estimator.feature_[node] >= 0:
            node = estimator.right_[node] if x[estimator.feature_[node]] else estimator.left_[node]
        total += Fraction(float(estimator.value_[node]))
    return total / len(estimator.roots_)


def probability_by_sum(output: Callable[[Input], Fraction], alpha: Fraction, x: Input) -> Fraction:
    """The expected output at the noisy input, term by term."""
    total = Fraction(0)
    for flips in product((0, 1), repeat=len(x)):
        noisy = tuple(bit ^ flip for bit, flip in zip(x, flips, strict=True))
        changed = sum(flips)
        total += output(noisy) * alpha ** (len(x) - changed) * (1 - alpha) ** changed
    return total


def probability_table(output: Callable[[Input], Fraction], alpha: Fraction, d: int) -> NDArray[Any]:
    """The same for all inputs, indexed by their bits: the noise of one bit after the other."""
    table = np.array([output(x) for x in all_inputs(d)], dtype=object).reshape((2,) * d)
    for axis in range(d):
        table = alpha * table + (1 - alpha) * np.flip(table, axis)
    return table


def bounds_by_flips(table: NDArray[Any], x: Input) -> tuple[list[Fraction], list[Fraction]]:
    """The least and the largest p over every change of at most r bits, for r = 0..d."""
    low: list[Fraction] = []
    high: list[Fraction] = []
    for r in range(len(x) + 1):
        values = [table[flip_bits(x, places)] for places in combinations(range(len(x)), r)]
        low.append(min([*values, *low[-1:]]))
        high.append(max([*values, *high[-1:]]))
    return low, high


def flip_bits(x: Input, places: tuple[int, ...]) -> Input:
    return tuple(bit ^ (place in places) for place, bit in enumerate(x))


def radius_by_flips(table: NDArray[Any], x: Input) -> int:
    """The largest r at which the class of x is the class of all, and none has a tie."""
    low, high = bounds_by_flips(table, x)
    if table[x] > HALF:
        return sum(value > HALF for value in low) - 1
    return sum(value < HALF for value in high) - 1


def keep_probabilities() -> st.SearchStrategy[Fraction]:
    """α above 1/2 and at most 1."""
    return st.sampled_from(["3/4", "4/5", "0.85", "2/3", "0.501", "0.999", "1"]).map(Fraction)


def leaf_values() -> st.SearchStrategy[float]:
    """Outputs among which ties at 1/2 are frequent."""
    return st.one_of(st.sampled_from([0.0, 1.0, 0.5, 0.25, 0.75]), st.floats(0, 1))


@st.composite
def estimators(draw: st.DrawFn, max_features: int = 8, max_trees: int = 3) -> SmoothedTrees:
    """Any tree or forest, of any shape, in which no feature is tested twice."""
    d = draw(st.integers(1, max_features))
    features = draw(st.permutations(range(d)))
    n_trees = draw(st.integers(1, max_trees))
    feature, left, right, value = [[-1] * n_trees for _ in range(4)]
    leaves = list(range(n_trees))
    for name in features[: draw(st.integers(0, d))]:
        node = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        feature[node], left[node], right[node] = name, len(feature), len(feature) + 1
        for links in (feature, left, right, value):
            links += [-1, -1]
        leaves += [left[node], right[node]]
    outputs = draw(st.lists(leaf_values(), min_size=len(value), max_size=len(value)))
    arrays: dict[str, Any] = {"feature": feature, "left": left, "right": right, "value": outputs}
    alpha = draw(keep_probabilities())
    if n_trees == 1:
        return SmoothedTreeClassifier.from_arrays(**arrays, n_features=d, alpha=alpha)
    return SmoothedForestClassifier.from_arrays(
        **arrays, roots=range(n_trees), n_features=d, alpha=alpha, n_trees=n_trees
    )


@st.composite
def plain_trees(draw: st.DrawFn, classes: int = 2, max_features: int = 6) -> DecisionTreeClassifier:
    """Trees of scikit-learn on bits; thresholds of an ExtraTreeClassifier lie anywhere between 0 and 1."""
    d = draw(st.integers(1, max_features))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from([DecisionTreeClassifier, ExtraTreeClassifier]))
    bits = rng.integers(0, 2, (40, d))
    labels = np.append(rng.integers(0, classes, 40 - classes), range(classes))
    tree = kind(max_depth=draw(st.integers(1, 6)), random_state=0).fit(bits, labels)
    # Features tested again on the way, as in trees that were grown on other data: a few are given another's place.
    inner = np.flatnonzero(tree.tree_.children_left >= 0)
    for node in inner[rng.random(len(inner)) < 0.4]:
        tree.tree_.feature[node] = rng.integers(0, d)
    if draw(st.booleans()) and len(inner):
        tree.tree_.threshold[rng.choice(inner)] = rng.choice([-0.5, 0.0, 0.999, 1.0, 2.0])
    return tree


def grow_by_definition(
    bits: list[Input], positive: list[bool], alpha: Fraction, max_depth: int, n_trees: int = 1
) -> dict[str, list[Any]]:
    """The greedy trees, every example with its exact probability of reaching a node, level by level."""
    grown: dict[str, list[Any]] = {"feature": [], "left": [], "right": [], "value": []}

    def add_leaf(reach: list[Fraction]) -> int:
        for name in ("feature", "left", "right"):
            grown[name].append(-1)
        share = sum(weight for weight, good in zip(reach, positive, strict=True) if good) / sum(reach)
        grown["value"].append(float(share))
        return len(grown["value"]) - 1

    def gini(reach: list[Fraction]) -> Fraction:
        """Mass times 1 − Σ share²."""
        mass = sum(reach, Fraction(0))
        good = sum((weight for weight, good in zip(reach, positive, strict=True) if good), Fraction(0))
        return mass * (1 - (good / mass) ** 2 - (1 - good / mass) ** 2)

    def children(reach: list[Fraction], feature: int) -> tuple[list[Fraction], list[Fraction]]:
        right = [weight * (alpha if x[feature] else 1 - alpha) for weight, x in zip(reach, bits, strict=True)]
        return [weight - part for weight, part in zip(reach, right, strict=True)], right

    used: set[int] = set()
    whole = [Fraction(1)] * len(bits)
    level = [(add_leaf(whole), whole) for _ in range(n_trees)]
    for _ in range(max_depth):
        below = []
        for node, reach in level:
            here = [place for place, weight in enumerate(reach) if weight > 0]
            if len({positive[place] for place in here}) == 1:
                continue
            scores = [
                (sum(map(gini, children(reach, feature))), feature)
                for feature in range(len(bits[0]))
                if feature not in used and len({bits[place][feature] for place in here}) == 2
            ]
            if scores:
                feature = min(scores)[1]
                used.add(feature)
                sides = children(reach, feature)
                grown["feature"][node] = feature
                grown["left"][node], grown["right"][node] = map(add_leaf, sides)
                below += [(grown["left"][node], sides[0]), (grown["right"][node], sides[1])]
        level = below
    return grown


def standard_tree(rows: list[tuple[Input, bool]], max_depth: int) -> dict[str, list[Any]]:
    """The textbook's tree: examples go to one side or the other, impurity by counting; no feature twice."""
    grown: dict[str, list[Any]] = {"feature": [-1], "left": [-1], "right": [-1], "value": [positives(rows) / len(rows)]}
    used: set[int] = set()
    level = [(0, rows)]
    for _ in range(max_depth):
        below = []
        for node, part in level:
            best: tuple[Fraction, int] | None = None
            for feature in range(len(rows[0][0])):
                sides = [[row for row in part if row[0][feature] == bit] for bit in (0, 1)]
                if feature in used or not all(sides) or positives(part) in (0, len(part)):
                    continue
                score = sum(Fraction(positives(side) * (len(side) - positives(side)), len(side)) for side in sides)
                if best is None or score < best[0]:
                    best = Fraction(score), feature
            if best is None:
                continue
            used.add(best[1])
            grown["feature"][node] = best[1]
            for bit, name in ((0, "left"), (1, "right")):
                side = [row for row in part if row[0][best[1]] == bit]
                grown[name][node] = len(grown["value"])
                for links in ("feature", "left", "right"):
                    grown[links].append(-1)
                grown["value"].append(positives(side) / len(side))
                below.append((grown[name][node], side))
        level = below
    return grown


def positives(rows: list[tuple[Input, bool]]) -> int:
    return sum(good for _, good in rows)
