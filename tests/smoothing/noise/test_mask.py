"""Noise that hides coordinates: its law, its symbol, and certificates of the votes under it."""

from fractions import Fraction
from math import sqrt

import pytest
import torch
from torch import Tensor, nn

from ellzero.certificates import Discrete, InvalidInput, Mask
from ellzero.smoothing import MaskNoise, SmoothedClassifier, add_noise
from ellzero.smoothing.noise.random_streams import DeviceRandomSource, Stage, open_source
from ellzero.smoothing.noise.registry import describe_noise, make_noise, read_noise

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
        [noise.sample(x, drawn_by(b"mask test", Stage.BOUND, block, CPU), 256) for block in range(4)]  # type: ignore[operator]
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


def test_families_that_say_too_little_to_be_drawn_are_refused() -> None:
    with pytest.raises(InvalidInput, match="^noise must be one that draws samples, such as MaskNoise"):
        SmoothedClassifier(AnyVisible(), Mask("0.9"), 2, feed="levels")  # type: ignore[arg-type]
    assert read_noise(Discrete(1, "0.8")).description()["family"] == "discrete"


def test_a_description_makes_the_same_noise() -> None:
    noise = MaskNoise(255, "0.9")
    assert make_noise(noise.description()) == noise != MaskNoise(254, "0.9")
    assert describe_noise(noise.description()) == "hidden with probability 0.9"
