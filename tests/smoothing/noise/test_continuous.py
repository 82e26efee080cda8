"""Gaussian and uniform noise: their spread, and their certificates."""

from typing import Any

import pytest
import torch
from smoothing.classifiers import record_inputs
from torch import Tensor, nn

from ellzero.certificates import InvalidInput, Votes, lower_bound
from ellzero.smoothing import GaussianNoise, SmoothedClassifier, UniformNoise


@pytest.mark.parametrize(("noise", "norms"), [(GaussianNoise("1/2"), {"l2"}), (UniformNoise("3"), {"l1", "linf"})])
def test_continuous_noise_has_its_own_certificates(noise: Any, norms: set[str]) -> None:
    class Mean(nn.Module):
        def forward(self, samples: Tensor) -> Tensor:
            mean = samples.flatten(1).mean(1)
            return torch.stack([mean - 0.5, 0.5 - mean], 1)

    x = torch.full((1, 8, 8), 255)
    classifier = SmoothedClassifier(Mean(), noise, 2)
    result = classifier.certify(x, 50, 2_000, seed=1)
    assert result.prediction == 0
    assert set(result.other_radii) == norms
    assert result.radius == noise.radius(Votes(result.count, 2_000, "0.001"), 64)
    spread = record_inputs("scaled", x, noise)
    assert spread.std().item() == pytest.approx(0.5 if "l2" in norms else 3 / 3**0.5, rel=0.05)
    assert spread.mean().item() == pytest.approx(1, abs=0.1)
    with pytest.raises(InvalidInput, match="runner_up must be false for continuous noise"):
        classifier.certify(x, 5, 5, runner_up=True)


def test_continuous_radii_are_those_of_the_closed_forms() -> None:
    from ellzero.certificates import gaussian_l0_radius, gaussian_l2_radius, uniform_l1_radius, uniform_linf_radius

    bound = lower_bound(Votes(990, 1_000))
    gaussian, uniform = GaussianNoise("3/4"), UniformNoise("2.5")
    assert gaussian.radius(Votes(990, 1_000), 9) == gaussian_l0_radius("3/4", bound, 9)
    assert gaussian.other_radii(bound, 9) == {"l2": gaussian_l2_radius("3/4", bound)}
    l1 = uniform_l1_radius("2.5", bound)
    assert l1 is not None
    assert uniform.radius(Votes(990, 1_000), 9) == int(l1)
    assert uniform.other_radii(bound, 9) == {"l1": l1, "linf": uniform_linf_radius("2.5", bound, 9)}
    assert gaussian.radius(Votes(500, 1_000), 9) is None
    assert gaussian.other_radii(0.4, 9) == {}
