"""Advice from votes: what it says of each noise, and that no certificate has its votes."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ellzero.certificates import InvalidInput, Mask
from ellzero.smoothing import (
    Advice,
    CertifySettings,
    DiscreteNoise,
    MaskNoise,
    SmoothedClassifier,
    SparseNoise,
    advise,
)
from ellzero.smoothing.runs.metrics import Outcome, summarize

D = 24


class Majority(nn.Module):
    """Class 1 if more than half of the bits are 1. Records what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def forward(self, bits: Tensor) -> Tensor:
        self.seen.append(bits.clone())
        ones = bits.double().flatten(1).mean(1)
        return torch.stack([0.5 - ones, ones - 0.5], dim=1)


def make_bits(count: int, seed: int = 0) -> tuple[list[Tensor], list[int]]:
    """Inputs of the class 1 with more or fewer ones, from 13 to all 24."""
    random = np.random.default_rng(seed)
    inputs = [torch.from_numpy(random.permutation([1] * ones + [0] * (D - ones))) for ones in range(13, D + 1)]
    return [inputs[at] for at in random.integers(0, len(inputs), count)], [1] * count


def classify(model: nn.Module | None = None) -> SmoothedClassifier:
    return SmoothedClassifier(model or Majority(), DiscreteNoise(1, "0.9"), 2, device="cpu")


NOISES = [DiscreteNoise(1, alpha) for alpha in ("0.6", "0.7", "0.8", "0.9")]


def test_expected_radii_are_about_those_of_a_full_run() -> None:
    """At every noise μ(R) and ACC@1 of a run over all inputs lie within the bands, and near what is expected."""
    inputs, labels = make_bits(120)
    sample = slice(0, 50)
    advice = advise(classify(), NOISES, inputs[sample], labels[sample], n=1_000, votes=400, seed=1)
    settings = CertifySettings.of(100, 1_000, "0.001", 1, "staged")
    scores = {}
    for option in advice.options:
        results = classify().with_noise(option.noise).certify_many(inputs, settings)
        report = summarize([Outcome(1, result.prediction, result.radius) for result in results])
        expected = option.expected.mean_radius
        assert expected.low <= report.mean_radius <= expected.high
        assert expected.value == pytest.approx(report.mean_radius, abs=0.5)
        assert option.expected.accuracy[0].low <= report.accuracy[0].share <= option.expected.accuracy[0].high
        scores[option] = report.mean_radius
    best = max(scores, key=lambda each: scores[each])
    assert advice.best() is best or best in advice.rivals()


def test_no_certificate_has_votes_of_advice() -> None:
    """The same inputs, noise and seed: nothing that was seen for advice is seen again."""
    (x, *_), _ = make_bits(1)
    noise = DiscreteNoise(1, "0.55")
    shown = []
    for draw in (
        lambda classifier: advise(classifier, [noise], [x], votes=300, seed=3),
        lambda classifier: classifier.certify(x, n0=300, n=300, seed=3, stopping="never"),
        lambda classifier: classifier.predict(x, n=300, seed=3),
    ):
        model = Majority()
        draw(SmoothedClassifier(model, noise, 2, device="cpu"))
        shown.append(torch.cat(model.seen))
    advised, *others = ([tuple(sample) for sample in each.tolist()] for each in shown)
    repeated = [len(set(advised) & set(other)) for other in others]
    chance = len(advised) * 600 / 2 ** (D * 0.9)  # of about as many equally probable samples
    assert max(repeated) <= 3 + 10 * chance


def test_advice_is_the_same_for_the_same_seed_and_any_batches() -> None:
    inputs, labels = make_bits(5)

    def counts(batch_size: int | None, seed: int) -> list[Any]:
        classifier = SmoothedClassifier(Majority(), NOISES[0], 2, device="cpu", batch_size=batch_size)
        return [option.counts for option in advise(classifier, NOISES, inputs, labels, votes=50, seed=seed).options]

    assert counts(None, 1) == counts(7, 1) != counts(None, 2)


def test_another_n_takes_no_more_votes() -> None:
    inputs, labels = make_bits(20)
    model = Majority()
    advice = advise(classify(model), NOISES, inputs, labels, n=200, votes=100, seed=1)
    calls = len(model.seen)
    more = advice.at(20_000)
    assert len(model.seen) == calls
    assert more.settings.n == 20_000
    for few, many in zip(advice.options, more.options, strict=True):
        assert many.counts == few.counts
        assert many.expected.mean_radius.value >= few.expected.mean_radius.value
        assert (many.expected.reach or 0) >= (few.expected.reach or 0)


def test_without_labels_radii_count_whatever_the_prediction_is() -> None:
    inputs, _ = make_bits(10)
    wrong = advise(classify(), NOISES[3:], inputs, [0] * 10, n=1_000, seed=1).options[0].expected
    either = advise(classify(), NOISES[3:], inputs, n=1_000, seed=1).options[0].expected
    assert wrong.mean_radius.value == 0
    assert either.mean_radius.value > 0.5


def test_a_target_may_have_another_best_noise() -> None:
    inputs, labels = make_bits(40)
    advice = advise(classify(), NOISES, inputs, labels, n=10_000, seed=1)
    scores = {each.noise: [each.expected.score(target).value for target in (0, 3)] for each in advice.options}
    for place, target in enumerate((0, 3)):
        assert scores[advice.best(target).noise][place] == max(each[place] for each in scores.values())
    assert all(rival is not advice.best() for rival in advice.rivals())


def test_noises_with_symbols_of_their_own_are_compared() -> None:
    class Shown(nn.Module):
        def forward(self, tokens: Tensor) -> Tensor:
            votes = torch.stack([(tokens == 0).sum(1), (tokens == 1).sum(1)], dim=1)
            return votes.double()

    classifier = SmoothedClassifier(Shown(), MaskNoise(1, "0.9"), 2, device="cpu", feed="levels")
    inputs, labels = make_bits(10)
    advice = advise(classifier, [MaskNoise(1, "0.7"), MaskNoise(1, "0.9")], inputs, labels, n=1_000, seed=1)
    assert [option.expected.reach for option in advice.options] == [1, 6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": []}, "inputs must be at least one"),
        ({"noises": []}, "noises must be at least one"),
        ({"labels": [1]}, "labels must be one for each of 2 inputs; got 1"),
        ({"labels": [1, 2]}, "labels must be an integer from 0 to 1; got 2"),
        ({"votes": 0}, "votes must be an integer from 1"),
        ({"n": 0}, "n must be an integer from 1"),
        ({"failure": "2"}, "failure must be"),
        ({"stopping": "soon"}, "stopping must be settled or"),
        ({"noises": [DiscreteNoise(3, "0.9")]}, "noise must be for levels 0..1; got 'levels 0..3'"),
        ({"noises": [MaskNoise(1, "0.9")]}, "feed must be levels for this noise"),
        ({"noises": [Mask("0.9")]}, "noise must be one that draws samples"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: dict[str, Any], message: str) -> None:
    inputs, labels = make_bits(2)
    correct: dict[str, Any] = {"noises": NOISES[:1], "inputs": inputs, "labels": labels, "seed": 1}
    with pytest.raises(InvalidInput, match=message):
        advise(classify(), **{**correct, **arguments})


def test_progress_counts_inputs_under_all_noises() -> None:
    inputs, labels = make_bits(3)
    calls: list[tuple[int, int]] = []
    advice: Advice = advise(
        classify(),
        [NOISES[0], SparseNoise("0.1", "0.2")],
        inputs,
        labels,
        votes=10,
        progress=lambda *call: calls.append(call),
    )
    assert calls == [(done, 6) for done in range(1, 7)]
    assert advice.inputs == 3
