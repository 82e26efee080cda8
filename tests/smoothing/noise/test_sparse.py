"""Noise for sparse bits: its law, and how it is described."""

from fractions import Fraction
from itertools import product
from math import sqrt

import pytest
import torch
from smoothing.noise_laws import draw

from ellzero.certificates import InvalidInput
from ellzero.smoothing import SparseNoise
from ellzero.smoothing.noise.device_source import DeviceRandomSource
from ellzero.smoothing.noise.random_streams import Stage, open_source
from ellzero.smoothing.noise.registry import describe_noise, make_noise

CPU = torch.device("cpu")


@pytest.mark.parametrize(("p_add", "p_del"), [("0.01", "0.6"), ("1/3", "1/7"), ("0.9", "0.95"), ("1/1000", "1/2")])
@pytest.mark.parametrize("drawn_by", [open_source, DeviceRandomSource])
def test_zeros_and_ones_flip_as_often_as_they_should(p_add: str, p_del: str, drawn_by: object) -> None:
    """Two million of each, within six standard deviations; and independently of their neighbours."""
    noise = SparseNoise(p_add, p_del)
    x = torch.tensor([0, 1] * 1_000, dtype=torch.uint8)
    samples = torch.cat(
        [draw(noise, x, drawn_by(b"sparse test", Stage.BOUND, block, CPU), 256) for block in range(8)]  # type: ignore[operator]
    )
    assert samples.dtype == torch.uint8
    flipped = (samples != x).double()
    for own, share in ((0, float(Fraction(p_add))), (1, float(Fraction(p_del)))):
        rate = float(flipped[:, own::2].mean())
        assert abs(rate - share) < 6 * sqrt(share * (1 - share) / (1_000 * len(samples)))
    both = float((flipped[:, 0::2] * flipped[:, 1::2]).mean())
    expected = float(Fraction(p_add) * Fraction(p_del))
    assert abs(both - expected) < 6 * sqrt(expected * (1 - expected) / (1_000 * len(samples)))


def test_each_input_of_a_batch_is_struck_by_its_own_noise() -> None:
    noise = SparseNoise("0.01", "0.99")
    batch = torch.tensor([[0] * 500, [1] * 500], dtype=torch.uint8)
    zeros, ones = noise.sample_batch(batch, open_source(b"sparse test", Stage.TRAIN, 0, CPU))
    assert int(zeros.sum()) < 50
    assert int(ones.sum()) < 50


def test_a_description_makes_the_same_noise() -> None:
    noise = SparseNoise("0.01", "3/5")
    assert make_noise(noise.description()) == noise
    assert hash(make_noise(noise.description())) == hash(noise)
    assert noise != SparseNoise("0.01", "0.61")
    assert describe_noise(noise.description()) == "sparse bits, p_add = 0.01, p_del = 0.6"
    with pytest.raises(InvalidInput, match="^noise must be another one for inputs that are not bits"):
        make_noise({**noise.description(), "levels": 256})


def test_all_points_of_two_bits_are_reached() -> None:
    noise = SparseNoise("1/2", "1/2")
    drawn = draw(noise, torch.tensor([0, 1], dtype=torch.uint8), open_source(b"x", Stage.SHOW, 0, CPU), 64)
    assert {tuple(row) for row in drawn.tolist()} == set(product((0, 1), repeat=2))
