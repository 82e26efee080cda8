"""Example inputs of trees: read from a file beside the model, or a problem that says why there are none."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serve.tree_models import BITS, LABELS, add_trees

from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.trees.certificates import ServedTrees
from ellzero.serve.trees.examples import load_tree_examples
from ellzero.trees import load_trees


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": BITS[:2]}, "has no array y"),
        ({"x": BITS[:2, :9], "y": LABELS[:2]}, "has inputs of 9 features, and the model takes 64"),
        ({"x": BITS[:33], "y": LABELS[:33]}, "has 33 inputs, and must have 1 to 32"),
        ({"x": BITS[:2], "y": [3, 4]}, "has the label 4, which is no class of the model"),
        ({"x": BITS[:2] + 1, "y": LABELS[:2]}, "every feature must be 0 or 1"),
        ({"x": BITS[:2], "y": LABELS[:2], "z": np.zeros(2**20)}, "bytes of arrays, more than 1,048,576"),
    ],
)
def test_a_file_that_does_not_fit_is_a_problem_with_the_reason(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    add_trees(tmp_path)
    model = ServedTrees("digits-tree", load_trees(tmp_path / "digits-tree.json"), 5.0)
    np.savez(tmp_path / "digits-tree.examples.npz", **arrays)
    with pytest.raises(HttpProblem, match=message) as refused:
        load_tree_examples(model, tmp_path / "digits-tree.examples.npz")
    assert refused.value.status == 404
