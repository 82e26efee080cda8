"""Devices: missing ones and unsupported precisions are one clear line."""

import pytest
import torch
from smoothing.classifiers import NOISE, make_inputs
from smoothing.small_models import Counting
from torch import nn

from ellzero.smoothing import SmoothedClassifier
from ellzero.smoothing.errors import NoSuchDevice


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_missing_device_is_one_line() -> None:
    with pytest.raises(NoSuchDevice) as missing:
        SmoothedClassifier(Counting(8, 3), NOISE, 3, "cuda")
    assert str(missing.value) == "device cuda cannot be used: torch finds no CUDA GPU on this machine"
    device = SmoothedClassifier(Counting(8, 3), NOISE, 3).device
    assert device is not None
    assert device.type == "cpu"


def test_reduced_precision_is_tried_in_another_process_first() -> None:
    from ellzero.smoothing.models.devices import _cpu_survives

    if _cpu_survives("bfloat16"):
        model = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
        classifier = SmoothedClassifier(model, NOISE, 3, autocast="bfloat16")
        assert sum(classifier.predict(make_inputs(1)[0], 50, seed=1).counts) <= 50
    else:
        with pytest.raises(NoSuchDevice, match="it cannot multiply bfloat16 matrices"):
            SmoothedClassifier(Counting(8, 3), NOISE, 3, autocast="bfloat16")
