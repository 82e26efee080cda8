"""Trees and forests for the service's tests, and inputs to them: handwritten threes and eights as 64 bits."""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from ellzero.trees import SmoothedForestClassifier, SmoothedTreeClassifier, save_trees
from ellzero.trees.estimators import SmoothedTrees

_DIGITS = load_digits()
_SELECTED = np.isin(_DIGITS.target, (3, 8))
LABELS = _DIGITS.target[_SELECTED]
BITS = (_DIGITS.data[_SELECTED] > 7).astype(np.uint8)
NAMES = [f"pixel {row},{column}" for row in range(8) for column in range(8)]


def make_trees() -> dict[str, SmoothedTrees]:
    """A tree and a forest of digits; a tree whose input 0 is at a tie, and one that no change moves."""
    return {
        "digits-tree": SmoothedTreeClassifier(alpha="4/5", max_depth=5).fit(BITS, LABELS),
        "digits-forest": SmoothedForestClassifier(n_trees=8, alpha="9/10", max_depth=3).fit(BITS, LABELS),
        "tie": SmoothedTreeClassifier.from_arrays(
            [0, 1, -1, -1, -1],
            [1, 2, -1, -1, -1],
            [4, 3, -1, -1, -1],
            [0.5, 0.5, 0.375, 0.5, 1.0],
            n_features=2,
            alpha=1,
            classes=["no", "yes"],
        ),
        "constant": SmoothedTreeClassifier.from_arrays([-1], [-1], [-1], [0.75], n_features=3, alpha="2/3"),
    }


def add_trees(folder: Path) -> dict[str, SmoothedTrees]:
    """Write these models into a folder, the first with the names of its features."""
    estimators = make_trees()
    for name, estimator in estimators.items():
        notes, names = ({"data": {"name": "digits"}}, NAMES) if name == "digits-tree" else ({}, None)
        save_trees(estimator, folder / f"{name}.json", notes, names)
    return estimators
