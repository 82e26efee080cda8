"""Gaussian noise rounded to bits: the discrete noise's samples, with a certificate that is never better."""

import pytest
import torch
from hypothesis import given, settings, strategies as st
from smoothing.small_models import Lookup

from ellzero.certificates import (
    Bounds,
    Discrete,
    InvalidInput,
    Votes,
    gaussian_l0_threshold,
    lower_bound,
    sigma_for_alpha,
)
from ellzero.smoothing import CertifySettings, DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.noise.registry import describe_noise, make_noise
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise

ALPHAS = st.sampled_from(["0.55", "0.72", "0.8", "0.96", "0.999"])


@settings(max_examples=60)
@given(ALPHAS, st.integers(1, 5_000), st.data())
def test_it_certifies_what_gaussian_noise_does_and_never_more_than_the_discrete_certificate(
    alpha: str, n: int, data: st.DataObject
) -> None:
    votes, d = Votes(data.draw(st.integers(n // 2, n)), n), 30
    noise = RoundedGaussianNoise(alpha)
    radius, tight = noise.radius(votes, d), DiscreteNoise(1, alpha).radius(votes, d)
    assert (radius is None) is (tight is None)
    if radius is None or tight is None:
        return
    assert radius <= tight
    # Against Φ(√r/σ), computed to 30 digits by another route, for a σ that is right to 16 digits.
    bound, sigma = lower_bound(votes), sigma_for_alpha(alpha)
    assert bound > float(gaussian_l0_threshold(sigma, radius, 30)) - 1e-12
    if radius < d:
        assert bound < float(gaussian_l0_threshold(sigma, radius + 1, 30)) + 1e-12
    anytime = noise.anytime_radius(votes, d)
    assert (-1 if anytime is None else anytime) <= radius


def test_its_votes_are_those_of_the_discrete_noise() -> None:
    model, x = Lookup(2, 6, 2, lambda point: int(sum(point) > 2)), torch.zeros(6, dtype=torch.uint8)
    settings = CertifySettings.of(20, 2_000, "0.01", 3, "never")
    results = []
    for noise in (DiscreteNoise(1, "0.8"), RoundedGaussianNoise("0.8")):
        classifier = SmoothedClassifier(model, noise, 2, feed="levels")
        results += list(classifier.certify_many([x], settings))
    discrete, rounded = results
    assert (discrete.counts, discrete.selection) == (rounded.counts, rounded.selection)
    assert discrete.radius is not None
    assert rounded.radius is not None
    assert rounded.radius <= discrete.radius
    assert rounded.noise["family"] == "rounded-gaussian"


def test_it_is_made_from_its_description_and_differs_from_the_discrete_noise() -> None:
    noise = RoundedGaussianNoise("4/5")
    assert make_noise(noise.description()) == noise
    assert noise != DiscreteNoise(1, "4/5")
    assert describe_noise(noise.description()) == "Gaussian noise rounded to bits, α = 4/5"
    assert set(noise.other_radii(0.9, 10)) == {"l2"}
    assert noise.other_radii(0.5, 10) == {}


def test_only_bits_and_an_alpha_above_one_half_have_such_a_noise() -> None:
    with pytest.raises(InvalidInput, match="alpha must be a number strictly between 1/2 and 1"):
        RoundedGaussianNoise("0.5")
    with pytest.raises(InvalidInput, match="noise must be another one for inputs that are not bits"):
        make_noise({"family": "rounded-gaussian", "alpha": "0.8", "levels": 256})
    with pytest.raises(InvalidInput, match="runner_up must be false"):
        RoundedGaussianNoise("0.8").two_class_radius(Bounds(0.9, 0.1), 5)
    assert Discrete(1, "0.8") == RoundedGaussianNoise("0.8").noise
