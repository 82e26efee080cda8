"""What a function may return, and one clear line for all that it may not."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from smoothing.classifiers import NOISE, make_inputs

from ellzero.smoothing import RemoteModel, SmoothedClassifier
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.voters.outputs import read_votes

NEEDED = "4 labels, integers from 0 to 2, or scores of shape (4, 3), are needed"


@pytest.mark.parametrize(
    "output",
    [
        [0, 2, 1, 1],
        (0, 2, 1, 1),
        np.array([0, 2, 1, 1], np.uint8),
        torch.tensor([0, 2, 1, 1]),
        [torch.tensor(0), torch.tensor(2), torch.tensor(1), torch.tensor(1)],
        [[9, 1, 1], [0, 1, 3], [0, 1, 1], [-1, 0, 0]],  # of equal scores the first counts, as torch has it
        np.array([[0.0, -1, -2], [-np.inf, 0, np.inf], [0, 0.1, 0], [0, 1, 0]], np.float16),
        torch.tensor([[0.0, -1, -2], [0, 0, 1], [0, 1, 0], [0, 1, 0]], requires_grad=True),
        torch.tensor([[0.0, -1, -2], [0, 0, 1], [0, 1, 0], [0, 1, 0]], dtype=torch.bfloat16),
    ],
)
def test_labels_and_scores_of_any_kind(output: Any) -> None:
    votes = read_votes(output, 4, 3)
    assert votes.dtype == np.int64
    assert votes.tolist() == [0, 2, 1, 1]


def test_booleans_are_the_labels_of_two_classes() -> None:
    assert read_votes(np.array([True, False]), 2, 2).tolist() == [1, 0]


BAD: list[tuple[Any, str]] = [
    (None, f"returned None; {NEEDED}"),
    (7, f"returned int; {NEEDED}"),
    ({"labels": [0, 0, 0, 0]}, f"returned dict; {NEEDED}"),
    ([0, 1, 3, 0], f"returned the label 3; {NEEDED}"),
    ([0, -1, 2, 0], f"returned the label -1; {NEEDED}"),
    (np.array([2**63, 0, 0, 0], np.uint64), f"returned the label 9223372036854775808; {NEEDED}"),
    ([0, 1, 2], f"returned int64 of shape (3,); {NEEDED}"),
    ([0, 1, 2, 0, 0], f"returned int64 of shape (5,); {NEEDED}"),
    ([], f"returned float64 of shape (0,); {NEEDED}"),
    ([[0], [1], [2], [0]], f"returned int64 of shape (4, 1); {NEEDED}"),
    ([0.0, 1.0, 2.0, 0.0], f"returned float64 of shape (4,); {NEEDED}"),
    (np.zeros((4, 2)), f"returned float64 of shape (4, 2); {NEEDED}"),
    (np.zeros((3, 4)), f"returned float64 of shape (3, 4); {NEEDED}"),
    (np.zeros((4, 3), complex), f"returned ndarray; {NEEDED}"),
    (np.full((4, 3), np.nan), "returned NaN, which is not a vote"),
    ([[0, 1], [1], [2], [0]], f"returned a list that is not an array of numbers of one shape; {NEEDED}"),
    ([0, None, 1, 2], f"returned a list that is not an array of numbers of one shape; {NEEDED}"),
    (["cat", "dog", "cat", "dog"], "returned text; labels that are not integers need `classes_`, as scikit-learn's"),
    ("cat", "returned text; labels that are not integers need `classes_`"),
]


@pytest.mark.parametrize(("output", "message"), BAD)
def test_anything_else_is_one_clear_line(output: Any, message: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        read_votes(output, 4, 3)
    assert str(failed.value).startswith(f"the model {message}")
    assert "\n" not in str(failed.value)
    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


@pytest.mark.parametrize("wrap", [lambda call: call, RemoteModel])
def test_a_function_that_fails_ends_the_run_in_one_line(wrap: Callable[[Any], Any]) -> None:
    model = wrap(lambda samples: None)
    with pytest.raises(ModelFailed, match="the model returned None; "):
        SmoothedClassifier(model, NOISE, 3).certify(make_inputs(1)[0], 10, 100)


def test_what_a_function_raises_is_one_line() -> None:
    def call(samples: Any) -> Any:
        raise KeyError("no such\ncolumn")

    with pytest.raises(ModelFailed, match="the model raised KeyError: 'no such"):
        SmoothedClassifier(call, NOISE, 3).certify(make_inputs(1)[0], 10, 100)
