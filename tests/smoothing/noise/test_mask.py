"""Noise that hides coordinates: its law, its symbol, and certificates of the votes under it."""

from collections import Counter
from fractions import Fraction
from math import comb, sqrt

import pytest
import torch
from scipy import stats
from smoothing.noise_laws import SOURCES, SURE, DrawnBy, Script, draw
from torch import Tensor, nn

from ellzero.certificates import InvalidInput
from ellzero.smoothing import AblationNoise, MaskNoise, SmoothedClassifier, add_noise
from ellzero.smoothing.noise.device_source import DeviceRandomSource
from ellzero.smoothing.noise.mask import sample_subsets
from ellzero.smoothing.noise.random_streams import Stage, open_source
from ellzero.smoothing.noise.registry import describe_noise, make_noise

CPU = torch.device("cpu")


class AnyVisible(nn.Module):
    """Class 1 if any token that is shown is 7, otherwise class 0."""

    def forward(self, tokens: Tensor) -> Tensor:
        found = (tokens == 7).any(dim=1)
        return torch.stack([~found, found], dim=1).float()


@pytest.mark.parametrize(("k", "m"), [(9, "0.9"), (1, "1/3"), (254, "0.5"), (255, "0.5"), (50_000, "0.85")])
@pytest.mark.parametrize("drawn_by", [open_source, DeviceRandomSource])
def test_values_are_hidden_as_often_as_they_should_and_otherwise_as_they_are(k: int, m: str, drawn_by: object) -> None:
    noise = MaskNoise(k, m)
    x = torch.arange(1_000, dtype=torch.int32 if k > 255 else torch.int64).remainder(k + 1)
    x = x.to(torch.uint8) if k <= 255 else x
    samples = torch.cat(
        [draw(noise, x, drawn_by(b"mask test", Stage.BOUND, block, CPU), 256) for block in range(4)]  # type: ignore[operator]
    ).to(torch.int64)
    hidden = samples == k + 1
    share = float(Fraction(m))
    assert abs(hidden.double().mean().item() - share) < 6 * sqrt(share * (1 - share) / hidden.numel())
    assert bool((samples[~hidden] == x.to(torch.int64).expand_as(samples)[~hidden]).all())


def test_votes_certify_what_the_family_says() -> None:
    """Of 100 tokens three are 7: at least one of them shows with probability 1 − 0.9³ = 0.271."""
    tokens = torch.tensor([7, 7, 7] + [1] * 97)
    classifier = SmoothedClassifier(AnyVisible(), MaskNoise(9, "0.9"), 2, feed="levels")
    result = classifier.certify(tokens, n0=100, n=10_000, seed=1)
    assert (result.prediction, result.d) == (0, 100)
    assert result.radius == 2  # τ_2 = 0.69 and τ_3 = 0.771: p = 0.729, less what votes leave open, lies between
    assert result.noise == {"family": "mask", "m": "9/10", "levels": 10}


def test_scaled_inputs_have_no_place_for_a_mask() -> None:
    with pytest.raises(InvalidInput, match="^feed must be levels for this noise"):
        SmoothedClassifier(AnyVisible(), MaskNoise(9, "0.9"), 2)
    with pytest.raises(InvalidInput, match="^feed must be levels for this noise"):
        add_noise(torch.tensor([[1, 2]]), MaskNoise(9, "0.9"), seed=1)
    hidden = add_noise(torch.tensor([[1, 2]] * 50), MaskNoise(9, "0.5"), seed=1, feed="levels")
    assert set(hidden.flatten().tolist()) == {1, 2, 10}


def test_of_all_keys_every_subset_is_chosen_as_often() -> None:
    """All keys 0..3 of four places. Those that do not say which are the smallest are drawn again."""
    keys = torch.cartesian_prod(*[torch.arange(4, dtype=torch.int32)] * 4)
    for keep in (1, 2, 3, 4):
        last = keys.sort(dim=1).values
        again = last[:, keep - 1] == last[:, keep] if keep < 4 else torch.zeros(len(keys), dtype=torch.bool)
        fresh = torch.tensor([3, 1, 2, 0], dtype=torch.int32).repeat(int(again.sum()))
        rows = sample_subsets(Script(keys.flatten(), fresh), 4, keep, len(keys))
        assert rows.sum(1).tolist() == [keep] * len(keys)
        chosen = Counter(tuple(row.nonzero().flatten().tolist()) for row in rows[~again])
        assert len(chosen) == comb(4, keep)
        assert len(set(chosen.values())) == 1
        smallest = fresh[:4].argsort()[:keep].sort().values.tolist()
        assert all(row.nonzero().flatten().tolist() == smallest for row in rows[again])


def test_a_subset_that_is_drawn_again_may_be_drawn_once_more() -> None:
    tied, better = torch.tensor([5, 5, 5], dtype=torch.int32), torch.tensor([7, 5, 6], dtype=torch.int32)
    assert sample_subsets(Script(tied, tied, better), 3, 2, 1).tolist() == [[False, True, True]]


@pytest.mark.parametrize("drawn_by", SOURCES)
def test_of_many_numbers_each_is_shown_as_often_as_every_other(drawn_by: DrawnBy) -> None:
    """Places, and pairs of them, by χ²: 45 of 784, as for MNIST."""
    noise = AblationNoise(255, 784, 45)
    x = torch.arange(784).remainder(256).to(torch.uint8).reshape(1, 28, 28)
    samples = torch.cat([draw(noise, x, drawn_by(block), 512) for block in range(8)]).flatten(1)
    shown = samples != 256
    assert shown.sum(1).tolist() == [45] * len(samples)
    assert bool((samples[shown] == x.flatten().expand_as(samples)[shown]).all())
    # The counts of places are dependent, since each sample has 45: this changes the variance by (783/784)·(739/784).
    counts, mean = shown.sum(0).double(), len(samples) * 45 / 784
    statistic = float(((counts - mean) ** 2).sum() / mean) / (1 - 45 / 784) * 783 / 784
    assert SURE < stats.chi2.sf(statistic, 783) < 1 - SURE
    pairs = float((shown[:, 0::2] & shown[:, 1::2]).sum())
    expected = len(samples) * 392 * 45 * 44 / (784 * 783)
    assert abs(pairs - expected) < 6 * sqrt(expected)


def test_an_ablation_is_for_inputs_of_its_size() -> None:
    classifier = SmoothedClassifier(AnyVisible(), AblationNoise(9, 100, 10), 2, feed="levels")
    result = classifier.certify(torch.tensor([7, 7, 7] + [1] * 97), n0=100, n=10_000, seed=1)
    assert (result.prediction, result.d) == (0, 100)
    # C(97, 10)/C(100, 10) = 0.727 is p: τ_2 = 0.691 lies below, τ_3 = 0.773 above.
    assert result.radius == 2
    with pytest.raises(InvalidInput, match="^x must be an input of 100 numbers, which the noise is for; got \\(99,\\)"):
        classifier.certify(torch.ones(99, dtype=torch.int64), n0=1, n=1)
    with pytest.raises(InvalidInput, match="^keep must be an integer from 1 to 100; got 101"):
        AblationNoise(9, 100, 101)
    with pytest.raises(InvalidInput, match="^k must be an integer from 1"):
        AblationNoise(0, 100, 10)


def test_a_description_makes_the_same_noise() -> None:
    noise = MaskNoise(255, "0.9")
    assert make_noise(noise.description()) == noise != MaskNoise(254, "0.9")
    assert describe_noise(noise.description()) == "hidden with probability 0.9"
