"""Noise for a training loop of one's own."""

import pytest
import torch

from ellzero.certificates import InvalidInput
from ellzero.smoothing import DiscreteNoise, add_noise

NOISE = DiscreteNoise(9, "0.5")
BATCH = torch.arange(10).repeat(64, 4)


def test_the_same_step_draws_the_same_noise_and_another_step_other_noise() -> None:
    first = add_noise(BATCH, NOISE, seed=1, step=3)
    assert torch.equal(first, add_noise(BATCH, NOISE, seed=1, step=3))
    assert not torch.equal(first, add_noise(BATCH, NOISE, seed=1, step=4))
    assert not torch.equal(first, add_noise(BATCH, NOISE, seed=2, step=3))


def test_samples_are_what_a_model_is_given() -> None:
    scaled = add_noise(BATCH, NOISE, seed=1)
    levels = add_noise(BATCH, NOISE, seed=1, feed="levels")
    assert scaled.dtype == torch.float32
    assert levels.dtype == torch.int64
    assert torch.equal(scaled, levels.to(torch.float32) / 9)
    assert 0.4 < float((levels == BATCH).double().mean()) < 0.6


def test_levels_outside_of_the_noise_are_refused() -> None:
    with pytest.raises(InvalidInput, match="levels from 0 to 9"):
        add_noise(torch.full((2, 3), 10), NOISE, seed=1)
