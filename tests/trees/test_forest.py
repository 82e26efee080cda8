"""Arrays that are no forest are refused, since the recursion would be wrong for them."""

from typing import Any

import pytest

from ellzero.trees import UnusableTree
from ellzero.trees.forest import Forest

TREE: dict[str, Any] = {
    "feature": [2, 0, -1, -1, -1],
    "left": [1, 3, -1, -1, -1],
    "right": [2, 4, -1, -1, -1],
    "value": [0.5, 0.5, 1, 0, 0.25],
    "roots": [0],
    "n_features": 3,
}


def test_heights_and_sizes_of_subtrees() -> None:
    forest = Forest.of(**TREE)
    assert forest.heights.tolist() == [2, 1, 0, 0, 0]
    assert forest.sizes.tolist() == [2, 1, 0, 0, 0]
    assert forest.height == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": [2, 2, -1, -1, -1]}, "a feature is tested at more than one node"),
        ({"feature": [3, 0, -1, -1, -1]}, "features must be from 0 to 2"),
        ({"feature": [-2, 0, -1, -1, -1]}, "features must be from 0 to 2"),
        ({"feature": [2, -1, -1, -1, -1]}, "must all be -1 at a leaf"),
        ({"feature": [2.0, 0, -1, -1, -1]}, "feature must be a list of integers"),
        ({"left": [1, 3, -1, -1]}, "must be of one length"),
        ({"left": [0, 3, -1, -1, -1]}, "child of one node before it"),
        ({"left": [1, 9, -1, -1, -1]}, "child of one node before it"),
        ({"left": [2, 3, -1, -1, -1]}, "child of one node before it"),
        ({"roots": [0, 1]}, "child of one node before it"),
        ({"value": [0.5, 0.5, 1.5, 0, 0]}, "every value must be a number from 0 to 1"),
        ({"value": [0.5, 0.5, float("nan"), 0, 0]}, "every value must be a number from 0 to 1"),
    ],
)
def test_what_is_no_forest_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UnusableTree, match=message):
        Forest.of(**TREE | change)
