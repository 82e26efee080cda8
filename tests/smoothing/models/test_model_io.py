"""What a model gets: levels or scaled values, from inputs in any form, and wrong inputs refused."""

from typing import Any

import numpy as np
import pytest
import torch
from smoothing.classifiers import NOISE, record_inputs
from smoothing.small_models import Counting

from ellzero.certificates import InvalidInput
from ellzero.smoothing import SmoothedClassifier


def test_a_model_sees_levels_or_scaled_values_after_the_noise() -> None:
    x = torch.arange(12).view(3, 2, 2) * 20
    levels, scaled = record_inputs("levels", x), record_inputs("scaled", x)
    assert levels.dtype is torch.int64
    assert scaled.dtype is torch.float32
    assert levels.shape == scaled.shape == (200, 3, 2, 2)
    assert torch.equal(scaled, levels / 255)
    assert int(levels.min()) >= 0
    assert int(levels.max()) <= 255
    standardised = record_inputs("scaled", x, preprocess=lambda samples: (samples - 0.5) / 0.25)
    assert torch.equal(standardised, (scaled - 0.5) / 0.25)


@pytest.mark.parametrize("kind", ["int64", "uint8", "float32", "float64", "numpy", "list"])
def test_the_same_input_in_any_form_has_the_same_votes(kind: str) -> None:
    levels = torch.tensor([[0, 1, 254], [255, 128, 3]])
    forms: dict[str, Any] = {
        "int64": levels,
        "uint8": levels.to(torch.uint8),
        "float32": levels.float() / 255,
        "float64": levels.double() / 255,
        "numpy": levels.numpy().astype(np.uint16),
        "list": levels.tolist(),
    }
    assert torch.equal(record_inputs("levels", forms[kind]), record_inputs("levels", levels))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0, 1, 4], "x must be levels from 0 to 3; got 4"),
        ([0, -1], "x must be levels from 0 to 3; got -1"),
        ([0.5, 1.0], "x must be whole multiples of 1/3 where it is float; got 0.5"),
        ([2.0, 3.0], "x must be from 0 to 1 where it is float; give levels 0..3 as integers; got 3.0"),
        ([float("nan")], "x must be finite numbers"),
        ([], "x must be an input with at least one coordinate"),
        ([[1], [1, 2]], "x must be an array of numbers of one shape"),
        (["a"], "x must be an array of numbers of one shape"),
        (torch.zeros(3, dtype=torch.complex64), "x must be integers, or floats"),
        (np.zeros(3, np.uint64), "x must be integers of at most 63 bits"),
    ],
)
def test_a_wrong_input_is_refused(x: Any, message: str) -> None:
    classifier = SmoothedClassifier(Counting(3, 3), NOISE, 3, feed="levels")
    with pytest.raises(InvalidInput) as refused:
        classifier.certify(x, 10, 100)
    assert message in str(refused.value)
