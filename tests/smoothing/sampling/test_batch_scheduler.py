"""A hall: callers share a model, nobody waits for ever, and a ballot that cannot be voted on harms no other."""

import threading
import time
from concurrent.futures import CancelledError, wait
from dataclasses import replace
from typing import Any

import pytest
import torch
from smoothing.small_models import Counting
from torch import Tensor, nn

from ellzero.smoothing import Certified, CertifySettings, DiscreteNoise, GaussianNoise, SmoothedClassifier
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


def question(n: int, seed: int = 1) -> CertifySettings:
    return CertifySettings.of(20, n, "0.01", seed, "never")


def inputs(count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randint(0, 3, (8,), generator=generator) for _ in range(count)]


def untimed(result: Any) -> Certified:
    assert isinstance(result, Certified)
    return replace(result, seconds=0.0)


def test_callers_share_batches_and_get_what_they_would_alone() -> None:
    classifier, batches = classifier_of(Gate()), []
    hall = BatchScheduler(
        classifier.voter, 100, SchedulerObserver(batch=lambda samples, room: batches.append((samples, room)))
    )
    asked = [(x, question(100 + 37 * seed, seed)) for seed, x in enumerate(inputs(12))]
    tickets = [hall.submit([classifier.ballot(x, each)])[0] for x, each in asked]
    alone = classifier_of(Counting(8, 3))
    for ticket, (x, each) in zip(tickets, asked, strict=True):
        (expected,) = alone.certify_many([x], each)
        assert untimed(ticket.future.result(PATIENCE)) == untimed(expected)
        assert ticket.waited >= 0
    hall.close()
    assert sum(samples for samples, _ in batches) == sum(20 + each.n for _, each in asked)
    assert max(samples for samples, _ in batches) > 120  # more than any input's selection
    assert hall.votes_per_second is not None


def test_noises_of_different_kinds_share_batches() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 3))
    classifier = SmoothedClassifier(model, NOISE, 3, batch_size=256)
    hall = BatchScheduler(classifier.voter, 10)
    ballots = [
        CertifyTask(classifier.levels(inputs(1)[0]), noise, 3, question(50))
        for noise in (NOISE, GaussianNoise("1/2", k=3), DiscreteNoise(3, "0.4"))
    ]
    results = [ticket.future.result(PATIENCE) for ticket in hall.submit(list(ballots))]
    hall.close()
    assert [result.noise["family"] for result in results] == ["discrete", "gaussian", "discrete"]


def test_a_short_vote_does_not_wait_for_a_long_one() -> None:
    classifier = classifier_of(Gate(), 64)
    hall = BatchScheduler(classifier.voter, 10)
    long, short = inputs(2)
    (slow,) = hall.submit([classifier.ballot(long, question(2_000_000))])
    (fast,) = hall.submit([classifier.ballot(short, question(100))])
    fast.future.result(PATIENCE)
    assert not slow.future.done()
    slow.cancel()
    hall.close()


def test_a_cancelled_vote_ends_and_makes_room() -> None:
    classifier = classifier_of(Gate())
    hall = BatchScheduler(classifier.voter, 1)
    (ticket,) = hall.submit([classifier.ballot(inputs(1)[0], question(10_000_000))])
    with pytest.raises(SchedulerFull, match="1 inputs are being voted on, and 1 are taken at once"):
        hall.submit([classifier.ballot(inputs(1)[0], question(10))])
    assert hall.votes_open > 0
    ticket.cancel()
    with pytest.raises(CancelledError):
        ticket.future.result(0)
    for _ in range(1_000):
        if not len(hall):
            break
        threading.Event().wait(0.01)
    (again,) = hall.submit([classifier.ballot(inputs(1)[0], question(10))])
    assert again.future.result(PATIENCE).n == 10
    hall.close()


def test_a_hall_that_is_full_takes_all_of_a_request_or_none() -> None:
    model = Gate()
    classifier = classifier_of(model)
    hall = BatchScheduler(classifier.voter, 3)
    model.open.clear()
    hall.submit([classifier.ballot(x, question(10)) for x in inputs(2)])
    with pytest.raises(SchedulerFull):
        hall.submit([classifier.ballot(x, question(10)) for x in inputs(2)])
    assert len(hall) == 2
    model.open.set()
    hall.close()


def test_an_input_on_which_the_model_fails_harms_no_other() -> None:
    model = Gate()
    classifier = classifier_of(model)
    hall = BatchScheduler(classifier.voter, 10)
    model.open.clear()
    certain = DiscreteNoise(3, "999999/1000000")  # so that the threes stay
    bad = CertifyTask(torch.full((8,), 3, dtype=torch.uint8), certain, 3, question(50))
    good = [classifier.ballot(x, question(300)) for x in inputs(3)]
    tickets = hall.submit([good[0], bad, *good[1:]])
    model.open.set()
    wait([ticket.future for ticket in tickets], PATIENCE)
    with pytest.raises(ModelFailed, match="all threes"):
        tickets[1].future.result(0)
    (expected,) = classifier_of(Counting(8, 3)).certify_many([inputs(3)[0]], question(300))
    assert untimed(tickets[0].future.result(0)) == untimed(expected)
    assert all(tickets[place].future.result(0).n == 300 for place in (2, 3))
    hall.close()


def test_who_waits_in_a_hall_that_closes_is_told() -> None:
    classifier = classifier_of(Gate())
    hall = BatchScheduler(classifier.voter, 10)
    (ticket,) = hall.submit([classifier.ballot(inputs(1)[0], question(10_000_000))])
    hall.close()
    with pytest.raises(SchedulerClosed):
        ticket.future.result(PATIENCE)
    with pytest.raises(SchedulerClosed):
        hall.submit([classifier.ballot(inputs(1)[0], question(10))])


def test_a_hall_closes_soon_though_its_model_fails() -> None:
    """Not after each of its ballots was tried alone."""
    started, calls = threading.Event(), []

    class Failing(nn.Module):
        def forward(self, levels: Tensor) -> Tensor:
            calls.append(len(levels))
            started.set()
            time.sleep(0.02)
            raise RuntimeError("tired")

    classifier = classifier_of(Failing())
    hall = BatchScheduler(classifier.voter, 200)
    tickets = hall.submit([classifier.ballot(x, question(10_000)) for x in inputs(100)])
    assert started.wait(PATIENCE)
    hall.close()
    assert len(calls) < 20
    assert all(ticket.future.exception(PATIENCE) is not None for ticket in tickets)
    assert isinstance(tickets[-1].future.exception(), SchedulerClosed)


def test_a_hall_that_retires_ends_what_it_began_and_takes_no_more() -> None:
    gate = Gate()
    gate.open.clear()
    classifier = classifier_of(gate)
    hall = BatchScheduler(classifier.voter, 10)
    (ticket,) = hall.submit([classifier.ballot(inputs(1)[0], question(5_000))])
    hall.retire()
    with pytest.raises(SchedulerClosed):
        hall.submit([classifier.ballot(inputs(1)[0], question(10))])
    gate.open.set()
    (expected,) = classifier_of(Counting(8, 3)).certify_many(inputs(1), question(5_000))
    assert untimed(ticket.future.result(PATIENCE)) == untimed(expected)
    hall.close()
    assert len(hall) == 0


def test_a_model_that_fails_once_is_asked_again() -> None:
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
    (x,) = inputs(1)
    with pytest.raises(ModelFailed):
        next(classifier.certify_many([x], question(500)))
    (again,) = classifier.certify_many([x], question(500))
    (expected,) = classifier_of(Counting(8, 3)).certify_many([x], question(500))
    assert untimed(again) == untimed(expected)


def test_a_ballot_whose_look_fails_harms_no_other() -> None:
    class Broken(CertifyTask):
        def _look(self) -> None:
            raise ArithmeticError("it does not add up")

    classifier = classifier_of(Gate())
    hall = BatchScheduler(classifier.voter, 10)
    xs = inputs(3)
    broken = Broken(classifier.levels(xs[0]), NOISE, 3, question(50))
    tickets = hall.submit([classifier.ballot(xs[1], question(50)), broken, classifier.ballot(xs[2], question(50))])
    with pytest.raises(ArithmeticError, match="it does not add up"):
        tickets[1].future.result(PATIENCE)
    assert {tickets[place].future.result(PATIENCE).n for place in (0, 2)} == {50}
    hall.close()


def test_a_ballot_that_can_never_go_on_is_ended() -> None:
    class Stuck(CertifyTask):
        def take(self, most: int, split: bool) -> None:
            return None

    classifier = classifier_of(Gate())
    hall = BatchScheduler(classifier.voter, 10)
    (ticket,) = hall.submit([Stuck(classifier.levels(inputs(1)[0]), NOISE, 3, question(50))])
    with pytest.raises(ArithmeticError, match="a vote that cannot go on"):
        ticket.future.result(PATIENCE)
    hall.close()


def test_a_model_that_would_end_the_process_ends_its_votes_only() -> None:
    class Quitting(nn.Module):
        def forward(self, levels: Tensor) -> Tensor:
            raise KeyboardInterrupt

    classifier = classifier_of(Quitting())
    hall = BatchScheduler(classifier.voter, 10)
    for _ in range(2):
        (ticket,) = hall.submit([classifier.ballot(inputs(1)[0], question(50))])
        with pytest.raises(ModelFailed, match="the model raised KeyboardInterrupt"):
            ticket.future.result(PATIENCE)
    hall.close()
