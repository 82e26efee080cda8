"""The batch scheduler: callers share a model, nobody waits for ever, and a task that fails harms no other."""

import threading
import time
from concurrent.futures import CancelledError, wait

import numpy as np
import pytest
from smoothing.classifiers import make_inputs, without_seconds
from smoothing.small_models import Counting
from torch import Tensor, nn

from ellzero.smoothing import CertifySettings, DiscreteNoise, GaussianNoise, SmoothedClassifier
from ellzero.smoothing.errors import ModelFailed, SchedulerClosed, SchedulerFull
from ellzero.smoothing.sampling.batch_scheduler import BatchScheduler, SchedulerObserver
from ellzero.smoothing.sampling.sampling_task import CertifyTask

NOISE = DiscreteNoise(3, "0.7")
PATIENCE = 60


class Gate(nn.Module):
    """A model that waits at each batch until it is let through, and fails on inputs that hold a 3 everywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.open = Counting(8, 3), threading.Event()
        self.open.set()

    def forward(self, levels: Tensor) -> Tensor:
        assert self.open.wait(PATIENCE)
        if bool((levels[0] == 3).all()):
            raise RuntimeError("all threes")
        result: Tensor = self.inner(levels)
        return result


def classifier_of(model: nn.Module, batch_size: int = 256) -> SmoothedClassifier:
    return SmoothedClassifier(model, NOISE, 3, feed="levels", batch_size=batch_size)


def settings(n: int, seed: int = 1) -> CertifySettings:
    return CertifySettings.of(20, n, "0.01", seed, "never")


def test_callers_share_batches_and_get_what_they_would_alone() -> None:
    classifier, batches = classifier_of(Gate()), []
    waits: list[float] = []
    observer = SchedulerObserver(lambda samples, capacity: batches.append((samples, capacity)), waits.append)
    scheduler = BatchScheduler(classifier.sampler, 100, observer)
    queries = [(x, settings(100 + 37 * seed, seed)) for seed, x in enumerate(make_inputs(12, levels=3))]
    futures = [scheduler.submit([classifier.task(x, each)])[0] for x, each in queries]
    alone = classifier_of(Counting(8, 3))
    for future, (x, each) in zip(futures, queries, strict=True):
        (expected,) = alone.certify_many([x], each)
        assert without_seconds(future.result(PATIENCE)) == without_seconds(expected)
    scheduler.close()
    assert len(waits) == 12
    assert min(waits) >= 0
    assert sum(samples for samples, _ in batches) == sum(20 + each.n for _, each in queries)
    assert max(samples for samples, _ in batches) > 120  # more than any input's selection
    assert scheduler.votes_per_second is not None


def test_noises_of_different_kinds_share_batches() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    classifier = SmoothedClassifier(model, NOISE, 3, batch_size=256)
    scheduler = BatchScheduler(classifier.sampler, 10)
    tasks = [
        CertifyTask(classifier.levels(make_inputs(1, levels=3)[0]), noise, 3, settings(50))
        for noise in (NOISE, GaussianNoise("1/2", k=3), DiscreteNoise(3, "0.4"))
    ]
    results = [future.result(PATIENCE) for future in scheduler.submit(list(tasks))]
    scheduler.close()
    assert [result.noise["family"] for result in results] == ["discrete", "gaussian", "discrete"]


def test_a_short_vote_does_not_wait_for_a_long_one() -> None:
    classifier = classifier_of(Gate(), 64)
    scheduler = BatchScheduler(classifier.sampler, 10)
    long, short = make_inputs(2, levels=3)
    (slow,) = scheduler.submit([classifier.task(long, settings(2_000_000))])
    (fast,) = scheduler.submit([classifier.task(short, settings(100))])
    fast.result(PATIENCE)
    assert not slow.done()
    slow.cancel()
    scheduler.close()


def test_a_cancelled_vote_ends_and_makes_room() -> None:
    classifier = classifier_of(Gate())
    scheduler = BatchScheduler(classifier.sampler, 1)
    (future,) = scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(10_000_000))])
    with pytest.raises(SchedulerFull, match="1 inputs are in progress, and the limit is 1"):
        scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(10))])
    assert scheduler.votes_open > 0
    future.cancel()
    with pytest.raises(CancelledError):
        future.result(0)
    for _ in range(1_000):
        if not len(scheduler):
            break
        threading.Event().wait(0.01)
    (again,) = scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(10))])
    assert again.result(PATIENCE).n == 10
    scheduler.close()


def test_a_full_scheduler_accepts_all_tasks_of_a_request_or_none() -> None:
    model = Gate()
    classifier = classifier_of(model)
    scheduler = BatchScheduler(classifier.sampler, 3)
    model.open.clear()
    scheduler.submit([classifier.task(x, settings(10)) for x in make_inputs(2, levels=3)])
    with pytest.raises(SchedulerFull):
        scheduler.submit([classifier.task(x, settings(10)) for x in make_inputs(2, levels=3)])
    assert len(scheduler) == 2
    model.open.set()
    scheduler.close()


def test_an_input_on_which_the_model_fails_harms_no_other() -> None:
    model = Gate()
    classifier = classifier_of(model)
    scheduler = BatchScheduler(classifier.sampler, 10)
    model.open.clear()
    certain = DiscreteNoise(3, "999999/1000000")  # so that the threes stay
    bad = CertifyTask(np.full(8, 3, np.uint8), certain, 3, settings(50))
    good = [classifier.task(x, settings(300)) for x in make_inputs(3, levels=3)]
    futures = scheduler.submit([good[0], bad, *good[1:]])
    model.open.set()
    wait(futures, PATIENCE)
    with pytest.raises(ModelFailed, match="all threes"):
        futures[1].result(0)
    (expected,) = classifier_of(Counting(8, 3)).certify_many([make_inputs(3, levels=3)[0]], settings(300))
    assert without_seconds(futures[0].result(0)) == without_seconds(expected)
    assert all(futures[place].result(0).n == 300 for place in (2, 3))
    scheduler.close()


def test_open_tasks_fail_when_the_scheduler_closes() -> None:
    classifier = classifier_of(Gate())
    scheduler = BatchScheduler(classifier.sampler, 10)
    (future,) = scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(10_000_000))])
    scheduler.close()
    with pytest.raises(SchedulerClosed):
        future.result(PATIENCE)
    with pytest.raises(SchedulerClosed):
        scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(10))])


def test_a_scheduler_closes_soon_although_its_model_fails() -> None:
    """Not after each of its tasks was tried alone."""
    started, calls = threading.Event(), []

    class Failing(nn.Module):
        def forward(self, levels: Tensor) -> Tensor:
            calls.append(len(levels))
            started.set()
            time.sleep(0.02)
            raise RuntimeError("tired")

    classifier = classifier_of(Failing())
    scheduler = BatchScheduler(classifier.sampler, 200)
    futures = scheduler.submit([classifier.task(x, settings(10_000)) for x in make_inputs(100, levels=3)])
    assert started.wait(PATIENCE)
    scheduler.close()
    assert len(calls) < 20
    assert all(future.exception(PATIENCE) is not None for future in futures)
    assert isinstance(futures[-1].exception(), SchedulerClosed)


def test_a_retired_scheduler_finishes_its_tasks_and_accepts_no_more() -> None:
    gate = Gate()
    gate.open.clear()
    classifier = classifier_of(gate)
    scheduler = BatchScheduler(classifier.sampler, 10)
    (future,) = scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(5_000))])
    scheduler.retire()
    with pytest.raises(SchedulerClosed):
        scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(10))])
    gate.open.set()
    (expected,) = classifier_of(Counting(8, 3)).certify_many(make_inputs(1, levels=3), settings(5_000))
    assert without_seconds(future.result(PATIENCE)) == without_seconds(expected)
    scheduler.close()
    assert len(scheduler) == 0


def test_a_model_that_failed_once_is_run_again() -> None:
    """Samples of a batch that failed are drawn again, the same ones."""
    failures = iter([True, False])

    class Moody(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Counting(8, 3)

        def forward(self, levels: Tensor) -> Tensor:
            if next(failures, False):
                raise RuntimeError("not now")
            result: Tensor = self.inner(levels)
            return result

    classifier = classifier_of(Moody())
    (x,) = make_inputs(1, levels=3)
    with pytest.raises(ModelFailed):
        next(classifier.certify_many([x], settings(500)))
    (again,) = classifier.certify_many([x], settings(500))
    (expected,) = classifier_of(Counting(8, 3)).certify_many([x], settings(500))
    assert without_seconds(again) == without_seconds(expected)


def test_a_task_whose_stopping_rule_fails_harms_no_other() -> None:
    class Broken(CertifyTask):
        def _check_votes(self) -> None:
            raise ArithmeticError("it does not add up")

    classifier = classifier_of(Gate())
    scheduler = BatchScheduler(classifier.sampler, 10)
    xs = make_inputs(3, levels=3)
    broken = Broken(classifier.levels(xs[0]), NOISE, 3, settings(50))
    futures = scheduler.submit([classifier.task(xs[1], settings(50)), broken, classifier.task(xs[2], settings(50))])
    with pytest.raises(ArithmeticError, match="it does not add up"):
        futures[1].result(PATIENCE)
    assert {futures[place].result(PATIENCE).n for place in (0, 2)} == {50}
    scheduler.close()


def test_a_task_that_can_never_go_on_is_ended() -> None:
    class Stuck(CertifyTask):
        def claim(self, most: int, split: bool) -> None:
            return None

    classifier = classifier_of(Gate())
    scheduler = BatchScheduler(classifier.sampler, 10)
    (future,) = scheduler.submit([Stuck(classifier.levels(make_inputs(1, levels=3)[0]), NOISE, 3, settings(50))])
    with pytest.raises(ArithmeticError, match="a vote that cannot go on"):
        future.result(PATIENCE)
    scheduler.close()


def test_a_model_that_would_end_the_process_ends_its_votes_only() -> None:
    class Quitting(nn.Module):
        def forward(self, levels: Tensor) -> Tensor:
            raise KeyboardInterrupt

    classifier = classifier_of(Quitting())
    scheduler = BatchScheduler(classifier.sampler, 10)
    for _ in range(2):
        (future,) = scheduler.submit([classifier.task(make_inputs(1, levels=3)[0], settings(50))])
        with pytest.raises(ModelFailed, match="the model raised KeyboardInterrupt"):
            future.result(PATIENCE)
    scheduler.close()
