"""The smoothed classifier: its certificates, its warning, and wrong settings refused."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from smoothing.classifiers import NOISE, make_inputs, record_inputs, without_seconds
from smoothing.small_models import Counting, Lookup

from ellzero.certificates import Discrete, InvalidInput
from ellzero.smoothing import (
    ABSTAIN,
    CertifySettings,
    DiscreteNoise,
    GaussianNoise,
    SmoothedClassifier,
    UniformNoise,
    UnreachableRadiusWarning,
)


def test_bounding_the_runner_up_can_certify_where_p_is_below_one_half() -> None:
    """Three classes with p = 0.46, 0.27 and 0.27."""
    noise = Discrete(2, "0.46")
    model = Lookup(3, 2, 3, lambda point: point[0])
    classifier = SmoothedClassifier(model, noise, 3, feed="levels")
    one = classifier.certify([0, 0], 100, 20_000, seed=1)
    two = classifier.certify([0, 0], 100, 20_000, seed=1, runner_up=True)
    assert (one.prediction, one.radius, one.upper_bound) == (ABSTAIN, None, None)
    assert (two.prediction, two.radius) == (0, 0)
    assert two.upper_bound is not None
    assert two.lower_bound < 0.46 < 0.5
    assert 0.27 < two.upper_bound < two.lower_bound


def test_a_radius_out_of_reach_is_a_warning_before_the_first_vote() -> None:
    model = Counting(8, 3)
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels")
    advice = "even if all 40 votes agree; n = 63 or α = 0.6 could"
    with pytest.warns(UnreachableRadiusWarning, match=advice) as warned:
        results = classifier.certify_many(make_inputs(2), CertifySettings.of(8, 40, "0.01", 3))
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert model.calls == []
    assert all(not result.radius for result in results)
    with pytest.warns(UnreachableRadiusWarning, match=advice):
        classifier.certify(make_inputs(1)[0], 8, 40, "0.01")
    list(classifier.certify_many(make_inputs(2), CertifySettings.of(8, 63, "0.01", 3)))  # as advised: no warning


def test_noise_replaces_whole_pixels() -> None:
    x = torch.arange(48).view(3, 4, 4)
    noise = DiscreteNoise(255, "0.5", unit="pixel", channels=3)
    changed = record_inputs("levels", x, noise) != x
    share = (changed.all(1) | ~changed.any(1)).double().mean().item()
    assert share > 0.98  # but for a channel that is drawn as it was, 1 in 256
    assert (noise.noise.k, noise.dimension(x.shape)) == (256**3 - 1, 16)
    classifier = SmoothedClassifier(Lookup(2, 4, 2, lambda point: 0), DiscreteNoise(1, "0.9"), 2, feed="levels")
    result = classifier.certify([[[1, 0]], [[0, 0]]], 10, 1_000, seed=1)
    assert result.radius is not None
    assert result.whole_pixels(2) == result.radius // 2


def test_progress_is_reported_up_to_the_end() -> None:
    calls: list[tuple[int, int]] = []
    classifier = SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels", batch_size=64)
    classifier.certify(make_inputs(1)[0], 100, 5_000, progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls)
    assert calls[-1] == (5_100, 5_100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be an integer from 1 to"),
        ({"n0": 0}, "n0 must be"),
        ({"n0": 10**9}, "n0 must be an integer from 1 to 100000000"),
        ({"failure": 0}, "failure must be"),
        ({"failure": "1"}, "failure must be"),
        ({"seed": -1}, "seed must be"),
        ({"stopping": "sometimes"}, "stopping must be settled or staged or hasty or anytime or never; got 'sometimes'"),
        ({"stopping": "anytime", "runner_up": True}, "stopping must be settled, staged, hasty or never with runner_up"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels").certify(make_inputs(1)[0], **options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiscreteNoise(255, "0.5", unit="pixel"), "channels must be given for pixels"),
        (lambda: DiscreteNoise(255, "0.5", channels=3), "channels must be given for pixels"),
        (lambda: DiscreteNoise(255, "0.5", unit="patch"), "unit must be coordinate or pixel"),
        (lambda: DiscreteNoise(255, "1"), "alpha must be"),
        (lambda: GaussianNoise(0), "sigma must be"),
        (lambda: UniformNoise("x"), "gamma must be"),
        (lambda: SmoothedClassifier(Counting(8, 3), NOISE, 1), "num_classes must be"),
        (lambda: SmoothedClassifier(Counting(8, 3), NOISE, 3, batch_size=0), "batch_size must be"),
        (lambda: SmoothedClassifier(Counting(8, 3), NOISE, 3, "gpu"), "device must be auto, cpu, cuda"),
        (lambda: SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="bytes"), "feed must be scaled or levels"),
        (lambda: SmoothedClassifier(Counting(8, 3), NOISE, 3, autocast="int8"), "autocast must be"),
    ],
)
def test_wrong_noises_and_options_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make()
    assert message in str(refused.value)


def test_an_input_without_the_channels_of_its_pixels_is_refused() -> None:
    noise = DiscreteNoise(3, "0.5", unit="pixel", channels=3)
    classifier = SmoothedClassifier(Counting(8, 3), noise, 3, feed="levels")
    with pytest.raises(InvalidInput, match="first axis has the 3 channels"):
        classifier.certify(torch.zeros(1, 4, 4, dtype=torch.uint8), 10, 10)


def test_another_noise_gives_the_certificates_of_a_classifier_with_it() -> None:
    model, other = Counting(8, 3), Discrete(3, "0.8")
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels")
    changed = classifier.with_noise(other)
    [x] = make_inputs(1)
    settings = CertifySettings.of(20, 500, "0.01", 3)
    results = [
        without_seconds(*each.certify_many([x], settings))
        for each in (changed, SmoothedClassifier(model, other, 3, feed="levels"))
    ]
    assert results[0] == results[1]
    assert classifier.noise == DiscreteNoise.of(NOISE)
    assert changed.sampler is classifier.sampler
