"""Smoothed prediction: the same votes whatever the batches are, early stops that change nothing, and clear errors."""

import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from smoothing.small_models import Counting, Lookup
from torch import Tensor, nn

from ellzero.certificates import (
    InvalidInput,
    Noise,
    Votes,
    bounds_from_counts,
    lower_bound,
    outvotes,
    radius_from_votes,
)
from ellzero.smoothing import (
    ABSTAIN,
    Certified,
    CertifySettings,
    DiscreteNoise,
    GaussianNoise,
    SmoothedClassifier,
    UniformNoise,
    UnreachableRadiusWarning,
)
from ellzero.smoothing.errors import ModelFailed, NoSuchDevice, OutOfMemory
from ellzero.smoothing.noise import random_streams
from ellzero.smoothing.sampling.stopping_rules import Stopping, Tally, make_rule

NOISE = Noise(3, "0.7")


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 8 samples for inputs of 8 coordinates, so that a vote has many of them."""
    monkeypatch.setattr(random_streams, "_BLOCK_COORDINATES", 64)


def inputs(count: int, d: int = 8, levels: int = 4) -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(0, levels, (d,), generator=generator) for _ in range(count)]


def untimed(result: Certified) -> Certified:
    return replace(result, seconds=0.0)


def certify_all(batch_size: int | None, xs: list[Tensor], settings: CertifySettings, d: int = 8) -> list[Certified]:
    classifier = SmoothedClassifier(Counting(d, 3), NOISE, 3, feed="levels", batch_size=batch_size)
    return [untimed(result) for result in classifier.certify_many(xs, settings)]


@pytest.mark.parametrize("stopping", list(Stopping))
def test_results_do_not_depend_on_batches_packing_or_order(small_blocks: None, stopping: str) -> None:
    xs, settings = inputs(7), CertifySettings.of(20, 700, "0.01", 3, stopping)
    expected = certify_all(None, xs, settings)
    assert len({result.drawn for result in expected}) > (1 if stopping != "never" else 0)
    for batch_size in (1, 5, 64, 1_000):
        assert certify_all(batch_size, xs, settings) == expected
    assert certify_all(64, xs[::-1], settings) == expected[::-1]
    assert [certify_all(64, [x], settings)[0] for x in xs] == expected


def test_another_seed_noise_or_input_has_other_votes() -> None:
    xs = inputs(1)
    counts = {certify_all(None, xs, CertifySettings.of(20, 500, "0.01", seed, "never"))[0].counts for seed in range(5)}
    assert len(counts) == 5


def test_selecting_and_bounding_votes_are_drawn_apart() -> None:
    result = certify_all(None, inputs(1), CertifySettings.of(500, 500, "0.01", 1, "never"))[0]
    assert sum(result.selection) == sum(result.counts) == 500
    assert result.selection != result.counts


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")  # n may be 1
@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3_000), st.booleans(), st.sampled_from(["0.7", "0.4", "0.9"]))
def test_a_settled_vote_gives_the_answer_of_all_votes(seed: int, n: int, runner_up: bool, alpha: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random_streams, "_BLOCK_COORDINATES", 64)
        classifier = SmoothedClassifier(Counting(8, 3, seed), Noise(3, alpha), 3, feed="levels")
        (x,) = inputs(1)
        full, early = (
            classifier.certify(x, 10, n, "0.01", seed=seed, stopping=stopping, runner_up=runner_up)
            for stopping in ("never", "settled")
        )
    assert (early.prediction, early.radius, early.selected) == (full.prediction, full.radius, full.selected)
    assert early.drawn <= full.drawn == n
    assert early.lower_bound <= full.lower_bound
    if not runner_up:
        assert early.lower_bound == lower_bound(Votes(early.count, n, "0.01"))  # undrawn votes are failures
    else:
        bounds = bounds_from_counts(early.counts, early.selected, n, "0.01")
        assert (early.lower_bound, early.upper_bound) == (bounds.lower, bounds.upper)


@settings(max_examples=50)
@given(st.integers(1, 400), st.data(), st.sampled_from(["0.001", "0.05", "0.5"]).map(Fraction), st.booleans())
def test_a_rule_is_over_exactly_when_no_votes_can_change_the_radius(
    n: int, data: st.DataObject, failure: Fraction, runner_up: bool
) -> None:
    """Against trying every way to share the undrawn votes between the chosen class and a rival."""
    noise = DiscreteNoise.of(NOISE)
    drawn = data.draw(st.integers(max(0, n - 25), n))
    for_a = data.draw(st.integers(0, drawn))
    for_b = data.draw(st.integers(0, drawn - for_a))
    tally = Tally((for_b, for_a, drawn - for_a - for_b), 1, n)
    rule = make_rule(noise, 9, n, failure, Stopping.SETTLED, runner_up)
    ends = set()
    for more_a in range(tally.undrawn + 1):
        for more_b in {0, tally.undrawn - more_a} if runner_up else {0}:
            rest = tally.undrawn - more_a - more_b
            final = Tally((for_b + more_b, for_a + more_a, tally.counts[2] + rest), 1, n)
            ends.add(rule.certify(final).radius)
    assert rule.is_finished(tally) is (len(ends) == 1)


@pytest.mark.usefixtures("small_blocks")
def test_the_radius_is_that_of_the_votes_by_integers() -> None:
    for result in certify_all(None, inputs(5), CertifySettings.of(20, 3_000, "0.001", 11, "never")):
        assert result.radius == radius_from_votes(NOISE, Votes(result.count, 3_000, "0.001"), 8)
        assert result.count == result.counts[result.selected]
        assert result.selected == max(range(3), key=result.selection.__getitem__)


@pytest.mark.usefixtures("small_blocks")
def test_a_prediction_wins_the_test_or_abstains() -> None:
    classifier = SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels")
    outcomes = set()
    for x in inputs(12):
        for n in (20, 300):
            result = classifier.predict(x, n, "0.01", seed=2)
            counts = sorted(result.counts, reverse=True)
            left = n - result.drawn
            won = outvotes(counts[0], counts[1] + left, "0.01")
            assert (result.prediction != ABSTAIN) is won
            assert won or left == 0
            outcomes.add(won)
    assert outcomes == {True, False}


def test_what_p_at_most_one_half_cannot_certify_the_runner_up_can() -> None:
    """Three classes with p = 0.46, 0.27 and 0.27."""
    noise = Noise(2, "0.46")
    model = Lookup(3, 2, 3, lambda point: point[0])
    classifier = SmoothedClassifier(model, noise, 3, feed="levels")
    one = classifier.certify([0, 0], 100, 20_000, seed=1)
    two = classifier.certify([0, 0], 100, 20_000, seed=1, runner_up=True)
    assert (one.prediction, one.radius, one.upper_bound) == (ABSTAIN, None, None)
    assert (two.prediction, two.radius) == (0, 0)
    assert two.upper_bound is not None
    assert two.lower_bound < 0.46 < 0.5
    assert 0.27 < two.upper_bound < two.lower_bound


def test_stopping_at_any_time_uses_fewer_votes_and_says_so() -> None:
    classifier = SmoothedClassifier(Lookup(4, 2, 2, lambda point: int(point == (3, 3))), NOISE, 2, feed="levels")
    results = {stop: classifier.certify([0, 0], 100, 200_000, seed=4, stopping=stop) for stop in Stopping}
    assert results[Stopping.ANYTIME].drawn < results[Stopping.SETTLED].drawn <= results[Stopping.NEVER].drawn
    assert results[Stopping.SETTLED].radius == results[Stopping.NEVER].radius


def test_a_radius_out_of_reach_is_a_warning_before_the_first_vote() -> None:
    model = Counting(8, 3)
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels")
    advice = "even if all 40 votes agree; n = 63 or α = 0.6 could"
    with pytest.warns(UnreachableRadiusWarning, match=advice) as warned:
        results = classifier.certify_many(inputs(2), CertifySettings.of(8, 40, "0.01", 3))
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert model.calls == []
    assert all(not result.radius for result in results)
    with pytest.warns(UnreachableRadiusWarning, match=advice):
        classifier.certify(inputs(1)[0], 8, 40, "0.01")
    list(classifier.certify_many(inputs(2), CertifySettings.of(8, 63, "0.01", 3)))  # as advised: no warning


# What the model sees


def seen_by(feed: str, x: Any, noise: Any = None, **options: Any) -> Tensor:
    seen: list[Tensor] = []

    class Spy(nn.Module):
        def forward(self, given: Tensor) -> Tensor:
            seen.append(given)
            return torch.zeros(len(given), 2)

    SmoothedClassifier(Spy(), noise or Noise(255, "0.5"), 2, feed=feed, **options).predict(x, 200, seed=1)
    return seen[-1]


def test_a_model_sees_levels_or_scaled_values_after_the_noise() -> None:
    x = torch.arange(12).view(3, 2, 2) * 20
    levels, scaled = seen_by("levels", x), seen_by("scaled", x)
    assert levels.dtype is torch.int64
    assert scaled.dtype is torch.float32
    assert levels.shape == scaled.shape == (200, 3, 2, 2)
    assert torch.equal(scaled, levels / 255)
    assert int(levels.min()) >= 0
    assert int(levels.max()) <= 255
    standardised = seen_by("scaled", x, preprocess=lambda given: (given - 0.5) / 0.25)
    assert torch.equal(standardised, (scaled - 0.5) / 0.25)


@pytest.mark.parametrize("kind", ["int64", "uint8", "float32", "float64", "numpy", "list"])
def test_the_same_input_in_any_form_has_the_same_votes(kind: str) -> None:
    levels = torch.tensor([[0, 1, 254], [255, 128, 3]])
    forms: dict[str, Any] = {
        "int64": levels,
        "uint8": levels.to(torch.uint8),
        "float32": levels.float() / 255,
        "float64": levels.double() / 255,
        "numpy": levels.numpy().astype(np.uint16),
        "list": levels.tolist(),
    }
    assert torch.equal(seen_by("levels", forms[kind]), seen_by("levels", levels))


def test_pixels_are_struck_as_a_whole() -> None:
    x = torch.arange(48).view(3, 4, 4)
    noise = DiscreteNoise(255, "0.5", unit="pixel", channels=3)
    changed = seen_by("levels", x, noise) != x
    share = (changed.all(1) | ~changed.any(1)).double().mean().item()
    assert share > 0.98  # but for a channel that is drawn as it was, 1 in 256
    assert (noise.noise.k, noise.dimension(x.shape)) == (256**3 - 1, 16)
    classifier = SmoothedClassifier(Lookup(2, 4, 2, lambda point: 0), DiscreteNoise(1, "0.9"), 2, feed="levels")
    result = classifier.certify([[[1, 0]], [[0, 0]]], 10, 1_000, seed=1)
    assert result.radius is not None
    assert result.whole_pixels(2) == result.radius // 2


def test_a_compiled_model_is_given_one_shape_only() -> None:
    """What does not fill a batch is filled up, since a model is compiled for each shape anew."""
    model = Counting(8, 3)
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels", batch_size=64)
    expected = untimed(classifier.certify(inputs(1)[0], 20, 700, seed=1))
    padded = SmoothedClassifier(model, NOISE, 3, feed="levels", batch_size=64)
    padded.sampler.options = replace(padded.sampler.options, compile=True)
    model.calls.clear()
    assert untimed(padded.certify(inputs(1)[0], 20, 700, seed=1)) == expected
    assert set(model.calls) == {64}


def test_a_model_that_was_trained_on_votes_in_evaluation_mode_again() -> None:
    """In training mode a vote would depend on the other samples of its batch, and be no vote of a function."""
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(8), nn.Dropout(0.9), nn.Linear(8, 3))
    classifier = SmoothedClassifier(model, NOISE, 3, batch_size=64)
    expected = untimed(classifier.certify(inputs(1)[0], 20, 700, seed=1))
    model.train()
    assert untimed(classifier.certify(inputs(1)[0], 20, 700, seed=1)) == expected
    assert not model.training


# Continuous noise


@pytest.mark.parametrize(("noise", "norms"), [(GaussianNoise("1/2"), {"l2"}), (UniformNoise("3"), {"l1", "linf"})])
def test_continuous_noise_has_its_own_certificates(noise: Any, norms: set[str]) -> None:
    class Mean(nn.Module):
        def forward(self, given: Tensor) -> Tensor:
            mean = given.flatten(1).mean(1)
            return torch.stack([mean - 0.5, 0.5 - mean], 1)

    x = torch.full((1, 8, 8), 255)
    classifier = SmoothedClassifier(Mean(), noise, 2)
    result = classifier.certify(x, 50, 2_000, seed=1)
    assert result.prediction == 0
    assert set(result.other_radii) == norms
    assert result.radius == noise.radius(Votes(result.count, 2_000, "0.001"), 64)
    spread = seen_by("scaled", x, noise)
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


# Memory


class Hungry(nn.Module):
    """Runs out of memory above a number of samples, as the CPU's allocator and a GPU's say it."""

    def __init__(self, most: int, error: Callable[[], Exception]) -> None:
        super().__init__()
        self.most, self.error, self.inner = most, error, Counting(8, 3)

    def forward(self, levels: Tensor) -> Tensor:
        if len(levels) > self.most:
            raise self.error()
        result: Tensor = self.inner(levels)
        return result


ERRORS_OF_MEMORY: list[Callable[[], Exception]] = [
    lambda: torch.OutOfMemoryError("CUDA out of memory."),
    lambda: RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 8 bytes"),
    MemoryError,
]


@pytest.mark.parametrize("error", ERRORS_OF_MEMORY)
def test_a_batch_that_does_not_fit_is_halved_and_changes_nothing(error: Callable[[], Exception]) -> None:
    xs, settings = inputs(3), CertifySettings.of(20, 700, "0.01", 3)
    classifier = SmoothedClassifier(Hungry(10, error), NOISE, 3, feed="levels", batch_size=256)
    assert [untimed(result) for result in classifier.certify_many(xs, settings)] == certify_all(None, xs, settings)
    assert classifier.sampler.batch_size == 8
    hopeless = SmoothedClassifier(Hungry(0, error), NOISE, 3, feed="levels", batch_size=256)
    with pytest.raises(OutOfMemory, match="with a single sample"):
        hopeless.predict(xs[0])


def test_memory_really_runs_out_and_is_survived() -> None:
    """A model whose scratch space for a whole batch cannot be had from the real allocator."""

    class Greedy(nn.Module):
        def forward(self, levels: Tensor) -> Tensor:
            torch.empty(len(levels) ** 2, 1 << 32, dtype=torch.uint8)  # 4 GiB for one sample, squared
            return torch.zeros(len(levels), 2)

    classifier = SmoothedClassifier(Greedy(), NOISE, 2, feed="levels", batch_size=1 << 20)
    assert classifier.predict(inputs(1)[0], 300, seed=1).counts == (300, 0)
    assert classifier.sampler.batch_size is not None
    assert classifier.sampler.batch_size < 1 << 20


class FailsOnce(DiscreteNoise):
    """A noise whose drawing runs out of memory at one block."""

    def sample(self, x: Tensor, source: Any, count: int) -> Tensor:
        if next(self.__dict__["fails"], False):
            raise MemoryError
        return super().sample(x, source, count)


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")  # a few blocks are enough
@pytest.mark.parametrize("block", range(5))
def test_a_block_that_could_not_be_drawn_is_drawn_again_and_no_other_takes_its_place(
    small_blocks: None, block: int
) -> None:
    noise = FailsOnce(3, "0.7")
    noise.__dict__["fails"] = iter([False] * block + [True])
    classifier = SmoothedClassifier(Counting(8, 3), noise, 3, feed="levels", batch_size=8)
    xs, settings = inputs(2), CertifySettings.of(8, 40, "0.01", 3, "never")
    assert [untimed(result) for result in classifier.certify_many(xs, settings)] == certify_all(8, xs, settings)


def test_threads_that_share_a_classifier_do_not_share_votes(small_blocks: None) -> None:
    classifier = SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels", batch_size=8)
    xs, settings = inputs(6), CertifySettings.of(20, 400, "0.01", 3, "never")
    expected = certify_all(None, xs, settings)
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda x: untimed(next(classifier.certify_many([x], settings))), xs)
        assert list(found) == expected


def test_a_model_that_works_in_place_does_not_change_the_noise() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    classifier = SmoothedClassifier(
        model, GaussianNoise("1/2", k=3), 3, preprocess=lambda given: given.sub_(0.3).div_(0.5), batch_size=64
    )
    first, second = (classifier.predict(inputs(1)[0], 500, "0.5", seed=3).counts for _ in range(2))
    assert first == second


def test_no_more_than_a_batch_is_ever_there() -> None:
    model = Counting(8, 3)
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels", batch_size=128)
    classifier.certify(inputs(1)[0], 100, 20_000, seed=1)
    assert max(model.calls) == 128


def test_an_automatic_batch_suits_the_model() -> None:
    thin = SmoothedClassifier(nn.Sequential(nn.Flatten(), nn.Linear(8, 2)), NOISE, 2)
    wide = SmoothedClassifier(nn.Sequential(nn.Flatten(), nn.Linear(8, 400_000), nn.Linear(400_000, 2)), NOISE, 2)
    for classifier, batch_size in ((thin, 1_024), (wide, 8)):
        classifier.predict(inputs(1)[0], 10)
        assert classifier.sampler.batch_size == batch_size


def test_progress_is_told_up_to_the_end() -> None:
    told: list[tuple[int, int]] = []
    classifier = SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels", batch_size=64)
    classifier.certify(inputs(1)[0], 100, 5_000, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (5_100, 5_100)


# What goes wrong


def model_that(does: Callable[[Tensor], Any]) -> nn.Module:
    class Model(nn.Module):
        def forward(self, given: Tensor) -> Any:
            return does(given)

    return Model()


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (lambda given: 1 / 0, "the model raised ZeroDivisionError: division by zero"),
        (lambda given: torch.full((len(given), 3), float("nan")), "the model returned NaN, which is not a vote"),
        (
            lambda given: torch.zeros(len(given), 7),
            r"the model returned a tensor of shape \(\d+, 7\) .* num_classes = 3",
        ),
        (lambda given: torch.zeros(len(given)), r"the model returned a tensor of shape \(\d+,\)"),
        (lambda given: [0], "the model returned list instead of a tensor"),
        (lambda given: sys.exit(3), "the model raised SystemExit: 3"),
    ],
)
def test_a_model_that_fails_is_one_clear_error(does: Callable[[Tensor], Any], message: str) -> None:
    for batch_size in (None, 16):
        classifier = SmoothedClassifier(model_that(does), NOISE, 3, batch_size=batch_size)
        with pytest.raises(ModelFailed, match=message) as failed:
            classifier.certify(inputs(1)[0], 10, 100)
        assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0, 1, 4], "x must be levels from 0 to 3; got 4"),
        ([0, -1], "x must be levels from 0 to 3; got -1"),
        ([0.5, 1.0], "x must be whole multiples of 1/3 where it is float; got 0.5"),
        ([2.0, 3.0], "x must be from 0 to 1 where it is float; give levels 0..3 as integers; got 3.0"),
        ([float("nan")], "x must be finite numbers"),
        ([], "x must be an input with at least one coordinate"),
        ([[1], [1, 2]], "x must be an array of numbers of one shape"),
        (["a"], "x must be an array of numbers of one shape"),
        (torch.zeros(3, dtype=torch.complex64), "x must be integers, or floats"),
        (np.zeros(3, np.uint64), "x must be integers of at most 63 bits"),
    ],
)
def test_an_input_that_is_none_is_refused(x: Any, message: str) -> None:
    classifier = SmoothedClassifier(Counting(3, 3), NOISE, 3, feed="levels")
    with pytest.raises(InvalidInput) as refused:
        classifier.certify(x, 10, 100)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be an integer from 1 to"),
        ({"n0": 0}, "n0 must be"),
        ({"n0": 10**9}, "n0 must be an integer from 1 to 100000000"),
        ({"failure": 0}, "failure must be"),
        ({"failure": "1"}, "failure must be"),
        ({"seed": -1}, "seed must be"),
        ({"stopping": "sometimes"}, "stopping must be settled or anytime or never; got 'sometimes'"),
        ({"stopping": "anytime", "runner_up": True}, "stopping must be settled or never with runner_up"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels").certify(inputs(1)[0], **options)
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
def test_what_cannot_be_smoothed_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make()
    assert message in str(refused.value)


def test_an_input_without_the_channels_of_its_pixels_is_refused() -> None:
    noise = DiscreteNoise(3, "0.5", unit="pixel", channels=3)
    classifier = SmoothedClassifier(Counting(8, 3), noise, 3, feed="levels")
    with pytest.raises(InvalidInput, match="first axis has the 3 channels"):
        classifier.certify(torch.zeros(1, 4, 4, dtype=torch.uint8), 10, 10)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_that_is_not_there_is_one_line() -> None:
    with pytest.raises(NoSuchDevice) as missing:
        SmoothedClassifier(Counting(8, 3), NOISE, 3, "cuda")
    assert str(missing.value) == "device cuda cannot be used: torch finds no CUDA GPU on this machine"
    assert SmoothedClassifier(Counting(8, 3), NOISE, 3).device.type == "cpu"


def test_reduced_precision_is_tried_in_another_process_first() -> None:
    from ellzero.smoothing.models.devices import _cpu_survives

    if _cpu_survives("bfloat16"):
        model = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
        classifier = SmoothedClassifier(model, NOISE, 3, autocast="bfloat16")
        assert sum(classifier.predict(inputs(1)[0], 50, seed=1).counts) <= 50
    else:
        with pytest.raises(NoSuchDevice, match="it cannot multiply bfloat16 matrices"):
            SmoothedClassifier(Counting(8, 3), NOISE, 3, autocast="bfloat16")
