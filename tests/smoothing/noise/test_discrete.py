"""The law of the noise, exactly: word by word where words can be counted, and by χ² on many real ones."""

from collections.abc import Callable
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from scipy import stats
from smoothing.noise_laws import Script, draw
from torch import Tensor

from ellzero.smoothing import DiscreteNoise, Unit
from ellzero.smoothing.noise.device_source import DeviceRandomSource
from ellzero.smoothing.noise.discrete import sample_coins, sample_levels
from ellzero.smoothing.noise.random_streams import RandomSource, Stage, open_source

CPU = torch.device("cpu")
# Chances of a false alarm, over all tests of this file, of about one in a million.
SURE = 1e-8


def source(block: int = 0) -> RandomSource:
    return open_source(b"exact draws test", Stage.BOUND, block, CPU)


def on_the_device(block: int) -> RandomSource:
    """What a GPU does, done by a CPU: the same operations of torch, by its generator."""
    return DeviceRandomSource(b"exact draws test", Stage.BOUND, block, CPU)


ALL_BYTES = torch.arange(256, dtype=torch.uint8)
ALL_SHORTS = torch.arange(-(2**15), 2**15, dtype=torch.int16)


@settings(max_examples=60)
@given(st.fractions(0, 1, max_denominator=10**6).filter(lambda share: share < 1))
def test_of_all_words_the_right_number_decides_for_true(share: Fraction) -> None:
    """One byte in 256 equals the first bits of the share; it alone is decided by more bits, and those likewise."""
    scaled = share * 2**8
    whole = int(scaled)
    if scaled == whole:
        assert int(sample_coins(Script(ALL_BYTES), share, 2**8).sum()) == whole
        return
    below = int((scaled - whole) * 2**62)
    for more, true in ((below - 1, 1), (below + 1, 0)):
        if 0 <= more < 2**62:
            script = Script(ALL_BYTES, torch.tensor([more]))
            assert int(sample_coins(script, share, 2**8).sum()) == whole + true


def test_a_tie_is_broken_as_often_as_it_needs() -> None:
    share = Fraction(1, 3)  # 0.010101…: no end of its bits
    first = torch.full((4,), int(share * 2**8), dtype=torch.uint8)
    bits = int((share * 2**8 % 1) * 2**62)
    later = int((share * 2**70 % 1) * 2**62)
    script = Script(first, torch.tensor([bits, bits - 1, bits, bits + 1]), torch.tensor([later - 1, later + 1]))
    assert sample_coins(script, share, 4).tolist() == [True, True, False, False]


@pytest.mark.parametrize("levels", [2, 3, 17, 100, 128, 129, 255, 256])
def test_every_level_has_the_same_number_of_words(levels: int) -> None:
    if levels & (levels - 1) == 0:
        drawn = sample_levels(Script(ALL_BYTES), levels, 256)
        counts = torch.bincount(drawn.to(torch.int64))
    else:
        end = 2**15 // levels * levels
        again = torch.arange(2 * (2**15 - end), dtype=torch.int16) % levels  # what is beyond the end is drawn anew
        drawn = sample_levels(Script(ALL_SHORTS, again), levels, 2**16)
        redrawn = torch.bincount(again.to(torch.int64), minlength=levels)
        counts = torch.bincount(drawn.to(torch.int64)) - redrawn
    assert counts.tolist() == [int(counts[0])] * levels


def test_words_drawn_again_may_be_past_the_end_again() -> None:
    words = torch.tensor([2**15 - 1, 5], dtype=torch.int16)
    beyond, fine = torch.tensor([2**15 - 1], dtype=torch.int16), torch.tensor([18], dtype=torch.int16)
    assert sample_levels(Script(words, beyond, fine), 17, 2).tolist() == [1, 5]


@pytest.mark.parametrize(
    ("k", "alpha"),
    [(255, "1/5"), (255, "1/3"), (255, "1/1000"), (255, "1/256"), (1, "4/5"), (1, "1/3"), (16, "0.6"), (16, "0.01")],
)
@pytest.mark.parametrize("drawn_by", [source, on_the_device])
def test_values_have_the_law_of_the_noise(k: int, alpha: str, drawn_by: Callable[[int], RandomSource]) -> None:
    """χ² over all values, over six million draws for each noise: fifty million by numpy, as many by torch."""
    noise = DiscreteNoise(k, alpha)
    x = torch.full((1_024,), k // 3, dtype=torch.uint8)
    counts = np.zeros(k + 1)
    for block in range(25):
        counts += np.bincount(draw(noise, x, drawn_by(block), 256).flatten().numpy(), minlength=k + 1)
    draws = counts.sum()
    assert draws == 25 * 256 * 1_024
    stay = float(noise.noise.alpha)
    expected = np.full(k + 1, draws * (1 - stay) / k)
    expected[k // 3] = draws * stay
    assert stats.chisquare(counts, expected).pvalue > SURE


@pytest.mark.parametrize(("alpha", "k"), [("0.3", 65_535), ("1/100000", 65_535), ("0.5", 300)])
@pytest.mark.parametrize("drawn_by", [source, on_the_device])
def test_more_levels_than_a_byte_has(alpha: str, k: int, drawn_by: Callable[[int], RandomSource]) -> None:
    noise = DiscreteNoise(k, alpha)
    x = torch.arange(4_096, dtype=torch.int32) % (k + 1)
    drawn = torch.cat([draw(noise, x, drawn_by(block), 64) for block in range(8)])
    stayed = (drawn == x).double().mean().item()
    stay, draws = float(noise.noise.alpha), drawn.numel()
    assert abs(stayed - stay) < 6 * sqrt(stay * (1 - stay) / draws) + 3 / draws
    shift = (drawn - x)[drawn != x].to(torch.int64).remainder(k + 1) - 1  # uniform over 0..K−1
    counts = np.bincount((shift * 15 // k).numpy(), minlength=15)
    sizes = np.bincount(np.arange(k) * 15 // k)
    assert stats.chisquare(counts, sizes * (counts.sum() / k)).pvalue > SURE


@pytest.mark.parametrize("alpha", ["0.4", "1/1000", "1/10"])
@pytest.mark.parametrize("drawn_by", [source, on_the_device])
def test_a_pixel_is_kept_or_replaced_as_a_whole(alpha: str, drawn_by: Callable[[int], RandomSource]) -> None:
    """With few levels all symbols can be counted: K = 4^2 − 1 = 15. α = 1/1000 and 1/100 are below 1/16."""
    noise = DiscreteNoise(3, alpha, unit=Unit.PIXEL, channels=2)
    assert noise.noise.k == 15
    x = torch.tensor([[[1, 2], [3, 0]], [[2, 2], [0, 1]]], dtype=torch.uint8)
    assert noise.dimension(x.shape) == 4
    drawn = torch.cat([draw(noise, x, drawn_by(block), 50_000) for block in range(4)]).to(torch.int64)
    symbols, own = drawn[:, 0] * 4 + drawn[:, 1], x[0].to(torch.int64) * 4 + x[1]
    stay = float(noise.noise.alpha)
    for place in ((0, 0), (0, 1), (1, 0), (1, 1)):
        counts = np.bincount(symbols[:, place[0], place[1]].numpy(), minlength=16)
        expected = np.full(16, 200_000 * (1 - stay) / 15)
        expected[int(own[place])] = 200_000 * stay
        assert stats.chisquare(counts, expected).pvalue > SURE


@pytest.mark.parametrize(("k", "alpha"), [(255, "0.2"), (255, "1/1000"), (1, "0.8"), (2, "1/5")])
def test_coordinates_samples_and_blocks_are_independent(k: int, alpha: str) -> None:
    """χ² for independence of what became of neighbours along each axis, and of one block and the next."""
    noise = DiscreteNoise(k, alpha)
    x = torch.full((1_024,), k // 2, dtype=torch.uint8)
    blocks = [draw(noise, x, source(block), 512) for block in range(6)]

    def kinds(drawn: Tensor) -> Tensor:
        stayed = drawn == x[0]
        return torch.where(stayed, 0, 1 + (drawn.to(torch.int64) * 3 // (k + 1)))

    def independent(one: Tensor, other: Tensor) -> None:
        table = np.bincount((one * 4 + other).flatten().numpy(), minlength=16).reshape(4, 4)
        table = table[table.sum(1) > 0][:, table.sum(0) > 0]
        assert stats.chi2_contingency(table).pvalue > SURE

    for number, block in enumerate(blocks):
        own = kinds(block)
        independent(own[:, :-1], own[:, 1:])
        independent(own[:, :-64], own[:, 64:])
        independent(own[:-1], own[1:])
        independent(own, kinds(blocks[(number + 1) % len(blocks)]))


def test_whether_a_coordinate_stays_does_not_depend_on_what_it_would_become() -> None:
    """The same words must not decide both."""
    x = torch.zeros(1_024, dtype=torch.uint8)
    words = source(3)
    kept = sample_coins(words, Fraction(1, 2), x.numel() * 512)
    values = sample_levels(words, 256, x.numel() * 512)
    table = np.bincount(kept.astype(np.int64) * 8 + values // 32, minlength=16).reshape(2, 8)
    assert stats.chi2_contingency(table).pvalue > SURE
