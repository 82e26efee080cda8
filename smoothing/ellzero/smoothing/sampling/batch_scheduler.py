"""One thread and one model for the sampling tasks of all callers.

Tasks of different callers share batches and take turns, so that a long task does not keep short ones waiting.
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
class _Entry:
    """A task in the queue. ``future`` gets its result, or the error that ended it."""

    task: SamplingTask[Any]
    future: "Future[Any]" = field(default_factory=Future)
    submitted_at: float = field(default_factory=time.monotonic)
    has_votes: bool = False


@dataclass(frozen=True)
class SchedulerObserver:
    """Called from the scheduler's thread: with the samples and the capacity of each batch, and with the seconds that
    each task waited for its first votes."""

    batch: Callable[[int, int], None] = lambda samples, capacity: None
    first_votes: Callable[[float], None] = lambda seconds: None


class BatchScheduler:
    """Runs at most ``most`` tasks at once; more are refused with ``SchedulerFull``."""

    def __init__(self, sampler: NoisySampler, most: int, observer: SchedulerObserver | None = None) -> None:
        self._sampler, self._most = sampler, most
        self._observer = observer or SchedulerObserver()
        self._queue: list[_Entry] = []
        self._changed = Condition()
        self._closing = self._retired = False
        self._votes = 0
        self._seconds = 0.0
        self._thread = Thread(target=self._run, name="ellzero-scheduler", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many tasks are open."""
        return len(self._queue)

    @property
    def votes_per_second(self) -> float | None:
        """The mean rate of votes so far; None before the first."""
        return self._votes / self._seconds if self._seconds else None

    @property
    def votes_open(self) -> int:
        """The most votes that the open tasks may still need."""
        with self._changed:
            return sum(entry.task.total - entry.task.done for entry in self._queue)

    def submit(self, tasks: list[SamplingTask[Any]]) -> "list[Future[Any]]":
        """Accept all of these tasks or none, and return a future for the result of each.

        A future that is cancelled ends its task: the batch in progress is finished, and no other is drawn for it.
        """
        with self._changed:
            if self._closing or self._retired:
                raise SchedulerClosed
            if len(self._queue) + len(tasks) > self._most:
                raise SchedulerFull(len(self._queue), self._most)
            entries = [_Entry(task) for task in tasks]
            self._queue.extend(entries)
            self._changed.notify()
        return [entry.future for entry in entries]

    def retire(self) -> None:
        """Accept no more tasks, and end once the open ones have their results."""
        with self._changed:
            self._retired = True
            self._changed.notify()

    def close(self) -> None:
        """End after the batch in progress; tasks that are still open fail with ``SchedulerClosed``."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (entries := self._next()) is not None:
            try:
                start = time.perf_counter()
                with cancel_when(lambda: self._closing):
                    served = self._sampler.step([entry.task for entry in entries])
                self._seconds += time.perf_counter() - start
                if served:
                    self._settle_finished(entries, served)
                else:  # every open task can use samples: one that cannot would stay in the queue for ever
                    _settle(entries[0], Inconsistent("a vote that cannot go on"))
            except StoppingRuleFailed as failed:
                self._settle_failures(entries, failed)
            except BaseException as error:
                self._retry_alone(entries, _as_error(error))
        for entry in self._queue:
            _settle(entry, SchedulerClosed())
        self._queue.clear()

    def _next(self) -> list[_Entry] | None:
        """Wait for open tasks and return them, a different one first each time; None at the end."""
        with self._changed:
            while True:
                self._queue = [entry for entry in self._queue if not entry.future.done()]
                if self._closing:
                    return None
                if self._queue:
                    self._queue.append(self._queue.pop(0))
                    return list(self._queue)
                if self._retired:
                    return None
                self._changed.wait()

    def _settle_finished(self, entries: list[_Entry], served: list[SamplingTask[Any]]) -> None:
        served_ids = {id(task) for task in served}
        self._votes += self._sampler.last_batch
        self._observer.batch(self._sampler.last_batch, self._sampler.batch_size or self._sampler.last_batch)
        for entry in entries:
            if id(entry.task) in served_ids and not entry.has_votes:
                entry.has_votes = True
                self._observer.first_votes(time.monotonic() - entry.submitted_at)
            result = entry.task.result()
            if result is not None:
                _settle(entry, result)

    def _retry_alone(self, entries: list[_Entry], error: Exception) -> None:
        """A model that fails on a batch of several inputs does not say on which: try each of them alone, once."""
        if isinstance(error, Stopped):  # the scheduler is closing, and settles all tasks
            return
        if len(entries) == 1:
            _settle(entries[0], error)
            return
        _LOG.warning("a batch of %d tasks failed, and each is tried alone: %s", len(entries), error)
        for entry in entries:
            try:
                with cancel_when(lambda: self._closing):
                    self._settle_finished([entry], self._sampler.step([entry.task]))
            except Stopped:
                return
            except StoppingRuleFailed as failed:
                self._settle_failures([entry], failed)
            except BaseException as own:
                self._retry_alone([entry], _as_error(own))

    def _settle_failures(self, entries: list[_Entry], failed: StoppingRuleFailed) -> None:
        self._settle_finished(entries, failed.served)
        errors = {id(task): error for task, error in failed.failures}
        for entry in entries:
            if not isinstance(errors.get(id(entry.task), Stopped()), Stopped):
                _settle(entry, errors[id(entry.task)])


def _as_error(error: BaseException) -> Exception:
    """A model that tries to end its process must end neither this thread nor its callers."""
    return error if isinstance(error, Exception) else ModelFailed(f"raised {type(error).__name__}")


def _settle(entry: _Entry, outcome: object) -> None:
    """Set a task's result or error, unless it was cancelled."""
    if entry.future.done() or not entry.future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, Exception):
        entry.future.set_exception(outcome)
    else:
        entry.future.set_result(outcome)
