"""Trees as text and figures: the chances are those of the noise."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ellzero.core.errors import InvalidInput
from ellzero.trees import SmoothedForestClassifier, SmoothedTreeClassifier
from ellzero.trees.drawing import draw_text, plot_tree, reach_probabilities

TREE = SmoothedTreeClassifier.from_arrays(
    [2, 0, -1, -1, -1], [1, 3, -1, -1, -1], [2, 4, -1, -1, -1], [0, 0, 1, 0.5, 0.25], n_features=3, alpha="3/4"
)


@pytest.mark.parametrize("x", list(product((0, 1), repeat=3)))
def test_the_chance_of_a_node_is_the_sum_over_all_noise(x: tuple[int, ...]) -> None:
    chances = dict.fromkeys(range(5), Fraction(0))
    for noisy in product((0, 1), repeat=3):
        same = sum(a == b for a, b in zip(x, noisy, strict=True))
        weight = Fraction(3, 4) ** same * Fraction(1, 4) ** (3 - same)
        node = 0
        chances[node] += weight
        while TREE.feature_[node] >= 0:
            node = int((TREE.right_ if noisy[TREE.feature_[node]] else TREE.left_)[node])
            chances[node] += weight
    assert reach_probabilities(TREE, np.array(x)) == list(chances.values())


def test_a_tree_as_text_goes_left_on_0() -> None:
    assert list(draw_text(TREE, None, 5)) == [
        "feature 2",
        "    0: feature 0",
        "        0: output 0.5000",
        "        1: output 0.2500",
        "    1: output 1.0000",
    ]
    assert list(draw_text(TREE, np.array([1, 0, 0]), 1)) == [
        "feature 2 = 0   reached with 100.00 %",
        "    0: feature 0 …   reached with 75.00 %",
        "    1: output 1.0000   reached with 25.00 %",
    ]


def test_the_trees_of_a_forest_are_numbered() -> None:
    random = np.random.default_rng(0)
    forest = SmoothedForestClassifier(2, max_depth=1).fit(random.integers(0, 2, (30, 6)), random.integers(0, 2, 30))
    lines = list(draw_text(forest, None, 3))
    assert [line for line in lines if line.startswith("tree")] == ["tree 0", "tree 1"]
    assert len(lines) == 8


def test_a_figure_of_too_many_nodes_or_another_kind_is_refused(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    deep = SmoothedTreeClassifier(max_depth=7).fit(random.integers(0, 2, (200, 300)), random.integers(0, 2, 200))
    plot_tree(deep, None, 3, tmp_path / "tree.svg")
    with pytest.raises(InvalidInput, match="depth must be so small that at most 127 nodes are drawn"):
        plot_tree(deep, None, 7, tmp_path / "tree.svg")
    with pytest.raises(InvalidInput, match="plot must be a file name that ends in .png"):
        plot_tree(deep, None, 3, tmp_path / "tree.txt")
    with pytest.raises(InvalidInput, match="plot must be in a folder that exists"):
        plot_tree(deep, None, 3, tmp_path / "absent" / "tree.svg")
