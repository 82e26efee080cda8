"""The sampler: the same votes whatever the batches are, bounded memory, and clear errors of models."""

import pickle
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from smoothing.classifiers import NOISE, certify_all, make_inputs, without_seconds
from smoothing.small_models import Counting
from torch import Tensor, nn

from ellzero.smoothing import Certified, CertifySettings, DiscreteNoise, GaussianNoise, SmoothedClassifier
from ellzero.smoothing.errors import ModelFailed, OutOfMemory
from ellzero.smoothing.sampling.stopping_rules import Stopping
from ellzero.smoothing.voters.torch_voter import TorchVoter


@pytest.mark.parametrize("stopping", list(Stopping))
def test_results_do_not_depend_on_batches_or_order(small_blocks: None, stopping: str) -> None:
    xs, settings = make_inputs(7), CertifySettings.of(20, 700, "0.01", 3, stopping)
    expected = certify_all(None, xs, settings)
    assert len({result.drawn for result in expected}) > (1 if stopping != "never" else 0)
    for batch_size in (1, 5, 64, 1_000):
        assert certify_all(batch_size, xs, settings) == expected
    assert certify_all(64, xs[::-1], settings) == expected[::-1]
    assert [certify_all(64, [x], settings)[0] for x in xs] == expected


@pytest.mark.parametrize("stopping", list(Stopping))
def test_tasks_with_different_numbers_of_votes_share_batches(small_blocks: None, stopping: str) -> None:
    """A task that has drawn all of its votes stays open while one before it goes on, and asks for no more."""
    classifier = SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels", batch_size=1_000)
    settings = [CertifySettings.of(20, n, "0.01", 3, stopping) for n in (3_000, 40, 40, 40)]

    def run(pairs: Iterable[tuple[Tensor, CertifySettings]]) -> list[Certified]:
        return [without_seconds(result) for result in classifier.sampler.run(classifier.task(*pair) for pair in pairs)]

    pairs = list(zip(make_inputs(4), settings, strict=True))
    together = run(pairs)
    assert together == [result for pair in pairs for result in run([pair])]


def test_a_compiled_model_gets_batches_of_one_shape() -> None:
    """What does not fill a batch is filled up, since a model is compiled for each shape anew."""
    model = Counting(8, 3)
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels", batch_size=64)
    expected = without_seconds(classifier.certify(make_inputs(1)[0], 20, 700, seed=1))
    padded = SmoothedClassifier(model, NOISE, 3, feed="levels", batch_size=64)
    voter = padded.sampler.voter
    assert isinstance(voter, TorchVoter)
    voter.one_size = True
    model.calls.clear()
    assert without_seconds(padded.certify(make_inputs(1)[0], 20, 700, seed=1)) == expected
    assert set(model.calls) == {64}


def test_a_model_votes_in_evaluation_mode_after_more_training() -> None:
    """In training mode a vote would depend on the other samples of its batch, and be no vote of a function."""
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(8), nn.Dropout(0.9), nn.Linear(8, 3))
    classifier = SmoothedClassifier(model, NOISE, 3, batch_size=64)
    expected = without_seconds(classifier.certify(make_inputs(1)[0], 20, 700, seed=1))
    model.train()
    assert without_seconds(classifier.certify(make_inputs(1)[0], 20, 700, seed=1)) == expected
    assert not model.training


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
def test_a_batch_that_does_not_fit_is_halved_without_changing_results(error: Callable[[], Exception]) -> None:
    xs, settings = make_inputs(3), CertifySettings.of(20, 700, "0.01", 3)
    classifier = SmoothedClassifier(Hungry(10, error), NOISE, 3, feed="levels", batch_size=256)
    assert [without_seconds(result) for result in classifier.certify_many(xs, settings)] == certify_all(
        None, xs, settings
    )
    assert classifier.sampler.batch_size == 8
    hopeless = SmoothedClassifier(Hungry(0, error), NOISE, 3, feed="levels", batch_size=256)
    with pytest.raises(OutOfMemory, match="with a single sample"):
        hopeless.predict(xs[0])


def test_a_real_allocation_that_fails_halves_the_batch() -> None:
    """A model whose scratch space for a whole batch cannot be had from the real allocator."""

    class Greedy(nn.Module):
        def forward(self, levels: Tensor) -> Tensor:
            torch.empty(len(levels) ** 2, 1 << 32, dtype=torch.uint8)  # 4 GiB for one sample, squared
            return torch.zeros(len(levels), 2)

    classifier = SmoothedClassifier(Greedy(), NOISE, 2, feed="levels", batch_size=1 << 20)
    assert classifier.predict(make_inputs(1)[0], 300, seed=1).counts == (300, 0)
    assert classifier.sampler.batch_size is not None
    assert classifier.sampler.batch_size < 1 << 20


class FailsOnce(DiscreteNoise):
    """A noise whose drawing runs out of memory at one block."""

    def sample(self, x: Any, source: Any, count: int) -> Any:
        if next(self.__dict__["fails"], False):
            raise MemoryError
        return super().sample(x, source, count)


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")  # a few blocks are enough
@pytest.mark.parametrize("block", range(5))
def test_a_block_that_could_not_be_drawn_is_drawn_again_unchanged(small_blocks: None, block: int) -> None:
    noise = FailsOnce(3, "0.7")
    noise.__dict__["fails"] = iter([False] * block + [True])
    classifier = SmoothedClassifier(Counting(8, 3), noise, 3, feed="levels", batch_size=8)
    xs, settings = make_inputs(2), CertifySettings.of(8, 40, "0.01", 3, "never")
    assert [without_seconds(result) for result in classifier.certify_many(xs, settings)] == certify_all(8, xs, settings)


def test_threads_that_share_a_classifier_do_not_share_votes(small_blocks: None) -> None:
    classifier = SmoothedClassifier(Counting(8, 3), NOISE, 3, feed="levels", batch_size=8)
    xs, settings = make_inputs(6), CertifySettings.of(20, 400, "0.01", 3, "never")
    expected = certify_all(None, xs, settings)
    with ThreadPoolExecutor(6) as pool:
        results = pool.map(lambda x: without_seconds(next(classifier.certify_many([x], settings))), xs)
        assert list(results) == expected


def test_a_model_that_works_in_place_does_not_change_the_noise() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    classifier = SmoothedClassifier(
        model, GaussianNoise("1/2", k=3), 3, preprocess=lambda samples: samples.sub_(0.3).div_(0.5), batch_size=64
    )
    first, second = (classifier.predict(make_inputs(1)[0], 500, "0.5", seed=3).counts for _ in range(2))
    assert first == second


def test_the_model_never_gets_more_than_a_batch() -> None:
    model = Counting(8, 3)
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels", batch_size=128)
    classifier.certify(make_inputs(1)[0], 100, 20_000, seed=1)
    assert max(model.calls) == 128


def test_an_automatic_batch_suits_the_model() -> None:
    thin = SmoothedClassifier(nn.Sequential(nn.Flatten(), nn.Linear(8, 2)), NOISE, 2)
    wide = SmoothedClassifier(nn.Sequential(nn.Flatten(), nn.Linear(8, 400_000), nn.Linear(400_000, 2)), NOISE, 2)
    for classifier, batch_size in ((thin, 1_024), (wide, 8)):
        classifier.predict(make_inputs(1)[0], 10)
        assert classifier.sampler.batch_size == batch_size


def make_model(does: Callable[[Tensor], Any]) -> nn.Module:
    class Model(nn.Module):
        def forward(self, samples: Tensor) -> Any:
            return does(samples)

    return Model()


@pytest.mark.parametrize(
    ("does", "message"),
    [
        (lambda samples: 1 / 0, "the model raised ZeroDivisionError: division by zero"),
        (lambda samples: torch.full((len(samples), 3), float("nan")), "the model returned NaN, which is not a vote"),
        (
            lambda samples: torch.zeros(len(samples), 7),
            r"the model returned a tensor of shape \(\d+, 7\) .* num_classes = 3",
        ),
        (lambda samples: torch.zeros(len(samples)), r"the model returned a tensor of shape \(\d+,\)"),
        (lambda samples: [0], "the model returned list instead of a tensor"),
        (lambda samples: sys.exit(3), "the model raised SystemExit: 3"),
    ],
)
def test_a_model_that_fails_is_one_clear_error(does: Callable[[Tensor], Any], message: str) -> None:
    for batch_size in (None, 16):
        classifier = SmoothedClassifier(make_model(does), NOISE, 3, batch_size=batch_size)
        with pytest.raises(ModelFailed, match=message) as failed:
            classifier.certify(make_inputs(1)[0], 10, 100)
        assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)
