"""Noise for a training loop of one's own."""

import pytest
import torch
from smoothing.noise_laws import SURE, law, p_value

from ellzero.certificates import InvalidInput, Mask, Sparse
from ellzero.smoothing import (
    AblationNoise,
    DeletionNoise,
    DiscreteNoise,
    GaussianNoise,
    GroupedNoise,
    HierarchicalNoise,
    JointNoise,
    MaskNoise,
    SparseLevelsNoise,
    SparseNoise,
    TotalNoise,
    UniformNoise,
    add_noise,
)
from ellzero.smoothing.noise.composed import BaseNoise

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


FAMILIES: list[tuple[BaseNoise, tuple[int, ...]]] = [
    (DiscreteNoise(3, "0.6"), (0, 2, 3)),
    (SparseNoise("0.1", "0.6"), (1, 0, 1)),
    (SparseLevelsNoise(3, "0.1", "0.6"), (3, 0, 1)),
    (MaskNoise(3, "0.7"), (0, 3, 3)),
    (AblationNoise(3, 3, 1), (0, 3, 2)),
    (DeletionNoise(3, "0.6", 3), (3, 1, 4)),
    (HierarchicalNoise(DiscreteNoise(1, "0.6"), "0.5"), (0, 1, 1)),
    (JointNoise(bits=(SparseNoise("0.1", "0.6"), 2), tokens=(MaskNoise(3, "0.6"), 1)), (1, 0, 3)),
    (GroupedNoise([(DiscreteNoise(1, "0.6"), 2), (DiscreteNoise(3, "0.7"), 1)]), (1, 0, 2)),
    (TotalNoise(SparseNoise("0.2", "0.5")), (1, 1, 0)),
]


@pytest.mark.parametrize(("noise", "x"), FAMILIES, ids=[type(noise).__name__ for noise, _ in FAMILIES])
def test_a_training_sees_the_law_of_every_family(noise: BaseNoise, x: tuple[int, ...]) -> None:
    """Levels as the law of the family has them, each of a number that an embedding of `sample_levels` rows knows."""
    samples = add_noise(torch.tensor([x] * 4_000), noise, seed=1, step=5, feed="levels")
    assert samples.dtype == torch.int64
    assert 0 <= int(samples.min()) <= int(samples.max()) < noise.sample_levels
    assert p_value(samples, law(noise, x)) > SURE


@pytest.mark.parametrize("noise", [GaussianNoise("0.5", k=9), UniformNoise("0.5", k=9)])
def test_continuous_noise_is_scaled_in_either_feed(noise: GaussianNoise | UniformNoise) -> None:
    samples = [add_noise(BATCH, noise, seed=1, feed=feed) for feed in ("scaled", "levels")]
    assert torch.equal(*samples)
    assert samples[0].dtype == torch.float32


def test_a_family_that_says_all_that_it_takes_is_its_noise() -> None:
    bits = BATCH % 2
    noisy = add_noise(bits, Sparse("0.1", "0.6"), seed=1)
    assert torch.equal(noisy, add_noise(bits, SparseNoise("0.1", "0.6"), seed=1))
    with pytest.raises(InvalidInput, match="noise must be one that draws samples: MaskNoise"):
        add_noise(bits, Mask("0.9"), seed=1)


def test_symbols_of_a_noise_have_no_place_among_scaled_values() -> None:
    with pytest.raises(InvalidInput, match="feed must be levels for this noise"):
        add_noise(BATCH, MaskNoise(9, "0.9"), seed=1)
