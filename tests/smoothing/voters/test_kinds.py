"""Models of every kind that compute one function have the same votes, and what they may not be is one line."""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from smoothing.classifiers import NOISE, without_seconds
from smoothing.every_noise import EVERY_NOISE, count_by_sum, make_input
from torch import Tensor, nn

from ellzero.certificates import InvalidInput
from ellzero.smoothing import Certified, CertifySettings, MaskNoise, RemoteModel, SmoothedClassifier

NAMES = np.array(["setosa", "virginica", "versicolor"])  # not in the order of the alphabet


class SumNetwork(nn.Module):
    """`count_by_sum` as a torch module: the scores of a sample are 1 for its class."""

    def forward(self, samples: Tensor) -> Tensor:
        return nn.functional.one_hot(torch.from_numpy(count_by_sum(samples.numpy())), 3).float()


class SumEstimator:
    """The same as a classifier in the manner of scikit-learn, with texts as classes."""

    classes_ = NAMES

    def predict(self, rows: NDArray[Any]) -> NDArray[Any]:
        assert rows.ndim == 2
        names: NDArray[Any] = NAMES[count_by_sum(rows)]
        return names


def score_by_sum(samples: NDArray[Any]) -> NDArray[Any]:
    scores: NDArray[Any] = np.eye(3)[count_by_sum(samples)]
    return scores


async def count_later(samples: NDArray[Any]) -> list[int]:
    """Answers later the smaller the sum is, so that answers come in another order than questions."""
    await asyncio.sleep(float(count_by_sum(samples)[0]) / 1_000)
    labels: list[int] = count_by_sum(samples).tolist()
    return labels


KINDS: dict[str, Callable[[], Any]] = {
    "labels": lambda: count_by_sum,
    "lists of labels": lambda: lambda samples: count_by_sum(samples).tolist(),
    "scores": lambda: score_by_sum,
    "tensors": lambda: lambda samples: torch.from_numpy(score_by_sum(samples)).bfloat16(),
    "estimator": SumEstimator,
    "remote": lambda: RemoteModel(count_by_sum, batch_size=7, concurrency=3),
    "asynchronous": lambda: RemoteModel(count_later, batch_size=9, concurrency=5),
}


def certify(model: Any, noise: Any, x: NDArray[Any], own: CertifySettings, **options: Any) -> Certified:
    classifier = SmoothedClassifier(model, noise, 3, feed="levels", **options)
    return without_seconds(next(classifier.sampler.run([classifier.task(x, own)])))


@pytest.mark.parametrize("name", EVERY_NOISE)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_has_the_same_votes_under_every_noise(name: str, kind: str) -> None:
    noise, shape = EVERY_NOISE[name]
    x, own = make_input(noise, shape), CertifySettings.of(20, 300, "0.01", 7, "never")
    assert certify(KINDS[kind](), noise, x, own) == certify(SumNetwork(), noise, x, own)


@settings(max_examples=30)
@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from(sorted(EVERY_NOISE)),
    st.sampled_from(["settled", "staged", "hasty", "anytime", "never"]),
    st.integers(0, 2**63 - 1),
    st.integers(1, 100),
)
def test_whatever_the_seed_the_stopping_and_the_batches(
    kind: str, name: str, stopping: str, seed: int, batch_size: int
) -> None:
    noise, shape = EVERY_NOISE[name]
    x, own = make_input(noise, shape), CertifySettings.of(10, 200, "0.01", seed, stopping)
    model = KINDS[kind]()
    options = {} if isinstance(model, RemoteModel) else {"batch_size": batch_size}
    assert certify(model, noise, x, own, **options) == certify(SumNetwork(), noise, x, own)


def test_models_see_what_networks_see() -> None:
    """Scaled values as float32, or levels as int64; then ``preprocess``; rows, if the model is scikit-learn's."""
    seen: list[Any] = []
    x = np.array([[0, 1], [2, 3]])

    def answer(samples: Any) -> list[int]:
        seen.append(samples)
        return [0] * len(samples)

    class Estimator:
        classes_ = (False, True)

        def predict(self, rows: Any) -> list[bool]:
            return [bool(label) for label in answer(rows)]

    SmoothedClassifier(answer, NOISE, 2).predict(x, 8, seed=1)
    SmoothedClassifier(answer, NOISE, 2, feed="levels").predict(x, 8, seed=1)
    SmoothedClassifier(answer, NOISE, 2, preprocess=lambda samples: samples * 2).predict(x, 8, seed=1)
    SmoothedClassifier(RemoteModel(answer), NOISE, 2, preprocess=lambda samples: samples * 2).predict(x, 8, seed=1)
    SmoothedClassifier(Estimator(), NOISE, preprocess=lambda rows: rows * 2).predict(x, 8, seed=1)
    scaled, levels, *doubled, rows = seen
    assert (scaled.shape, scaled.dtype, levels.dtype) == ((8, 2, 2), np.float32, np.int64)
    assert np.array_equal(scaled, levels.astype(np.float32) / 3)
    assert all(np.array_equal(each, 2 * scaled) for each in doubled)
    assert np.array_equal(rows, 2 * scaled.reshape(8, 4))


def test_an_answer_is_an_index_in_the_classes_of_a_scikit_learn_model() -> None:
    draw = np.random.default_rng(0)
    rows = draw.integers(0, 4, (300, 8))
    forest = RandomForestClassifier(5, random_state=0).fit(rows / 3, NAMES[(rows.sum(1) > 11).astype(int)])
    classifier = SmoothedClassifier(forest, NOISE)
    assert classifier.num_classes == 2
    assert classifier.device is None
    result = classifier.certify([3] * 8, 50, 1_000, seed=1)
    assert forest.classes_[result.prediction] == "virginica"
    assert result.radius is not None
    assert sum(result.counts) == result.drawn


class Unfitted:
    def predict(self, rows: Any) -> Any:
        raise NotImplementedError


class OneClass(SumEstimator):
    classes_ = NAMES[:1]


class MixedClasses(SumEstimator):
    classes_ = np.array([0, "one", None], dtype=object)


async def answer_later(samples: Any) -> Any:
    return [0] * len(samples)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SmoothedClassifier(count_by_sum, NOISE), "num_classes must be given, unless the model has classes_"),
        (lambda: SmoothedClassifier(nn.Linear(2, 2), NOISE), "num_classes must be given"),
        (lambda: SmoothedClassifier(count_by_sum, NOISE, 1), "num_classes must be an integer of at least 2"),
        (lambda: SmoothedClassifier(SumEstimator(), NOISE, 4), "num_classes must be 3, the number of the model's"),
        (lambda: SmoothedClassifier(OneClass(), NOISE), "model must be a classifier of one output with at least two"),
        (lambda: SmoothedClassifier(MixedClasses(), NOISE), "model must be a classifier with classes_ of one kind"),
        (lambda: SmoothedClassifier(RandomForestClassifier(), NOISE, 2), "model must be a classifier that has been"),
        (lambda: SmoothedClassifier(Unfitted(), NOISE, 2), "model must be a classifier that has been fitted"),  # type: ignore[arg-type]
        (
            lambda: SmoothedClassifier("model.pt", NOISE, 2),  # type: ignore[arg-type]
            "model must be a network, classifier or function; got 'str'",
        ),
        (lambda: SmoothedClassifier(answer_later, NOISE, 2), "model must be RemoteModel(call) for an async function"),
        (lambda: SmoothedClassifier(count_by_sum, NOISE, 3, "cuda"), "device must be auto or cpu for a model that is"),
        (lambda: SmoothedClassifier(count_by_sum, NOISE, 3, autocast="bfloat16"), "autocast must be left out for"),
        (lambda: SmoothedClassifier(count_by_sum, NOISE, 3, compile=True), "compile must be left out for a model"),
        (lambda: SmoothedClassifier(count_by_sum, NOISE, 3, channels_last=False), "channels_last must be left out"),
        (lambda: SmoothedClassifier(count_by_sum, NOISE, 3, batch_size=0), "batch_size must be an integer"),
        (lambda: SmoothedClassifier(count_by_sum, MaskNoise(3, "0.5"), 3), "feed must be levels for this noise"),
        (
            lambda: SmoothedClassifier(RemoteModel(count_by_sum), NOISE, 3, batch_size=8),
            "batch_size must be left out for a RemoteModel, which has its own; got 8",
        ),
    ],
)
def test_models_and_options_that_do_not_fit_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make()
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
