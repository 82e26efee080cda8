"""A scheduler where votes are taken: one thread and one model for all tasks that come and go.

Tasks of different callers share batches, each in its turn, so that a long one does not keep short ones waiting.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any

from ellzero.core.cancellation import cancel_when
from ellzero.core.errors import Inconsistent, Stopped
from ellzero.smoothing.errors import ModelFailed, SchedulerClosed, SchedulerFull
from ellzero.smoothing.sampling.sampler import NoisySampler, StoppingRuleFailed
from ellzero.smoothing.sampling.sampling_task import SamplingTask

_LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class PendingResult:
    """A task in a scheduler. ``future`` has its result, or why there is none."""

    task: SamplingTask[Any]
    future: "Future[Any]" = field(default_factory=Future)
    submitted_at: float = field(default_factory=time.monotonic)
    first_votes: float | None = None

    def cancel(self) -> None:
        """Nobody wants the result any more. A batch that is under way ends; no other is begun for it."""
        self.future.cancel()

    @property
    def waiting_seconds(self) -> float:
        """The seconds from coming to the first votes, so far."""
        return (self.first_votes or time.monotonic()) - self.submitted_at


@dataclass(frozen=True)
class SchedulerObserver:
    """StepCallback of what goes on, from the scheduler's thread."""

    batch: Callable[[int, int], None] = lambda samples, room: None
    first_votes: Callable[[float], None] = lambda seconds: None


class BatchScheduler:
    """Takes the votes of at most ``most`` tasks at once; more are refused with ``SchedulerFull``."""

    def __init__(self, sampler: NoisySampler, most: int, observer: SchedulerObserver | None = None) -> None:
        self._sampler, self._most = sampler, most
        self._observer = observer or SchedulerObserver()
        self._pending: list[PendingResult] = []
        self._changed = Condition()
        self._closing = self._retired = False
        self._votes = 0
        self._seconds = 0.0
        self._thread = Thread(target=self._run, name="ellzero-scheduler", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many tasks are open."""
        return len(self._pending)

    @property
    def votes_per_second(self) -> float | None:
        """How fast votes have come so far; None before the first."""
        return self._votes / self._seconds if self._seconds else None

    @property
    def votes_open(self) -> int:
        """At most how many votes the open tasks still want."""
        with self._changed:
            return sum(entry.task.total - entry.task.done for entry in self._pending)

    def submit(self, tasks: list[SamplingTask[Any]]) -> list[PendingResult]:
        """Take the votes of all of these, or of none."""
        with self._changed:
            if self._closing or self._retired:
                raise SchedulerClosed
            if len(self._pending) + len(tasks) > self._most:
                raise SchedulerFull(len(self._pending), self._most)
            pending = [PendingResult(task) for task in tasks]
            self._pending.extend(pending)
            self._changed.notify()
        return pending

    def retire(self) -> None:
        """Take no more tasks, and end when the open ones have their results."""
        with self._changed:
            self._retired = True
            self._changed.notify()

    def close(self) -> None:
        """End after the batch under way; whoever still waits is told ``SchedulerClosed``."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (pending := self._next()) is not None:
            try:
                start = time.perf_counter()
                with cancel_when(lambda: self._closing):
                    served = self._sampler.step([entry.task for entry in pending])
                self._seconds += time.perf_counter() - start
                if served:
                    self._settle_finished(pending, served)
                else:  # every open task can use samples: one that cannot would be asked for ever
                    _settle(pending[0], Inconsistent("a vote that cannot go on"))
            except StoppingRuleFailed as failed:
                self._settle_failures(pending, failed)
            except BaseException as error:
                self._retry_alone(pending, _as_error(error))
        for entry in self._pending:
            _settle(entry, SchedulerClosed())
        self._pending.clear()

    def _next(self) -> list[PendingResult] | None:
        """The open pending, another one first each time; None at the end."""
        with self._changed:
            while True:
                self._pending = [entry for entry in self._pending if not entry.future.done()]
                if self._closing:
                    return None
                if self._pending:
                    self._pending.append(self._pending.pop(0))
                    return list(self._pending)
                if self._retired:
                    return None
                self._changed.wait()

    def _settle_finished(self, pending: list[PendingResult], served: list[SamplingTask[Any]]) -> None:
        chosen = {id(task) for task in served}
        self._votes += self._sampler.last_batch
        self._observer.batch(self._sampler.last_batch, self._sampler.batch_size or self._sampler.last_batch)
        for entry in pending:
            if id(entry.task) in chosen and entry.first_votes is None:
                entry.first_votes = time.monotonic()
                self._observer.first_votes(entry.waiting_seconds)
            result = entry.task.result()
            if result is not None:
                _settle(entry, result)

    def _retry_alone(self, pending: list[PendingResult], error: Exception) -> None:
        """Which input a model failed on is not known where several shared its batch: each is tried alone once."""
        if isinstance(error, Stopped):  # the scheduler closes, and tells all
            return
        if len(pending) == 1:
            _settle(pending[0], error)
            return
        _LOG.warning("a batch of %d tasks failed, and each is tried alone: %s", len(pending), error)
        for entry in pending:
            try:
                with cancel_when(lambda: self._closing):
                    self._settle_finished([entry], self._sampler.step([entry.task]))
            except Stopped:
                return
            except StoppingRuleFailed as failed:
                self._settle_failures([entry], failed)
            except BaseException as own:
                self._retry_alone([entry], _as_error(own))

    def _settle_failures(self, pending: list[PendingResult], failed: StoppingRuleFailed) -> None:
        self._settle_finished(pending, failed.served)
        errors = {id(task): error for task, error in failed.failures}
        for entry in pending:
            if not isinstance(errors.get(id(entry.task), Stopped()), Stopped):
                _settle(entry, errors[id(entry.task)])


def _as_error(error: BaseException) -> Exception:
    """What a model raises to end its process must not end this thread, nor whoever waits for it."""
    return error if isinstance(error, Exception) else ModelFailed(f"raised {type(error).__name__}")


def _settle(entry: PendingResult, outcome: object) -> None:
    """Tell whoever waits, unless nobody does."""
    if entry.future.done() or not entry.future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, Exception):
        entry.future.set_exception(outcome)
    else:
        entry.future.set_result(outcome)
