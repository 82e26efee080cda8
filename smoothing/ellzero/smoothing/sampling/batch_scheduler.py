"""A hall where votes are taken: one thread and one model for all ballots that come and go.

Ballots of different callers share batches, each in its turn, so that a long one does not keep short ones waiting.
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
    """A ballot in a hall. ``future`` has its result, or why there is none."""

    ballot: SamplingTask[Any]
    future: "Future[Any]" = field(default_factory=Future)
    came: float = field(default_factory=time.monotonic)
    first_votes: float | None = None

    def cancel(self) -> None:
        """Nobody wants the result any more. A batch that is under way ends; no other is begun for it."""
        self.future.cancel()

    @property
    def waited(self) -> float:
        """The seconds from coming to the first votes, so far."""
        return (self.first_votes or time.monotonic()) - self.came


@dataclass(frozen=True)
class SchedulerObserver:
    """StepCallback of what goes on, from the hall's thread."""

    batch: Callable[[int, int], None] = lambda samples, room: None
    first_votes: Callable[[float], None] = lambda seconds: None


class BatchScheduler:
    """Takes the votes of at most ``most`` ballots at once; more are refused with ``SchedulerFull``."""

    def __init__(self, voter: NoisySampler, most: int, observer: SchedulerObserver | None = None) -> None:
        self._voter, self._most = voter, most
        self._observer = observer or SchedulerObserver()
        self._tickets: list[PendingResult] = []
        self._changed = Condition()
        self._closing = self._retired = False
        self._votes = 0
        self._seconds = 0.0
        self._thread = Thread(target=self._run, name="ellzero-hall", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many ballots are open."""
        return len(self._tickets)

    @property
    def votes_per_second(self) -> float | None:
        """How fast votes have come so far; None before the first."""
        return self._votes / self._seconds if self._seconds else None

    @property
    def votes_open(self) -> int:
        """At most how many votes the open ballots still want."""
        with self._changed:
            return sum(ticket.ballot.total - ticket.ballot.done for ticket in self._tickets)

    def submit(self, ballots: list[SamplingTask[Any]]) -> list[PendingResult]:
        """Take the votes of all of these, or of none."""
        with self._changed:
            if self._closing or self._retired:
                raise SchedulerClosed
            if len(self._tickets) + len(ballots) > self._most:
                raise SchedulerFull(len(self._tickets), self._most)
            tickets = [PendingResult(ballot) for ballot in ballots]
            self._tickets.extend(tickets)
            self._changed.notify()
        return tickets

    def retire(self) -> None:
        """Take no more ballots, and end when the open ones have their results."""
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
        while (tickets := self._next()) is not None:
            try:
                start = time.perf_counter()
                with cancel_when(lambda: self._closing):
                    served = self._voter.step([ticket.ballot for ticket in tickets])
                self._seconds += time.perf_counter() - start
                if served:
                    self._told(tickets, served)
                else:  # every open ballot can use samples: one that cannot would be asked for ever
                    _settle(tickets[0], Inconsistent("a vote that cannot go on"))
            except StoppingRuleFailed as failed:
                self._look_failed(tickets, failed)
            except BaseException as error:
                self._failed(tickets, _as_error(error))
        for ticket in self._tickets:
            _settle(ticket, SchedulerClosed())
        self._tickets.clear()

    def _next(self) -> list[PendingResult] | None:
        """The open tickets, another one first each time; None at the end."""
        with self._changed:
            while True:
                self._tickets = [ticket for ticket in self._tickets if not ticket.future.done()]
                if self._closing:
                    return None
                if self._tickets:
                    self._tickets.append(self._tickets.pop(0))
                    return list(self._tickets)
                if self._retired:
                    return None
                self._changed.wait()

    def _told(self, tickets: list[PendingResult], served: list[SamplingTask[Any]]) -> None:
        chosen = {id(ballot) for ballot in served}
        self._votes += self._voter.last_batch
        self._observer.batch(self._voter.last_batch, self._voter.batch_size or self._voter.last_batch)
        for ticket in tickets:
            if id(ticket.ballot) in chosen and ticket.first_votes is None:
                ticket.first_votes = time.monotonic()
                self._observer.first_votes(ticket.waited)
            result = ticket.ballot.result()
            if result is not None:
                _settle(ticket, result)

    def _failed(self, tickets: list[PendingResult], error: Exception) -> None:
        """Which input a model failed on is not known where several shared its batch: each is tried alone once."""
        if isinstance(error, Stopped):  # the hall closes, and tells all
            return
        if len(tickets) == 1:
            _settle(tickets[0], error)
            return
        _LOG.warning("a batch of %d ballots failed, and each is tried alone: %s", len(tickets), error)
        for ticket in tickets:
            try:
                with cancel_when(lambda: self._closing):
                    self._told([ticket], self._voter.step([ticket.ballot]))
            except Stopped:
                return
            except StoppingRuleFailed as failed:
                self._look_failed([ticket], failed)
            except BaseException as own:
                self._failed([ticket], _as_error(own))

    def _look_failed(self, tickets: list[PendingResult], failed: StoppingRuleFailed) -> None:
        self._told(tickets, failed.served)
        errors = {id(ballot): error for ballot, error in failed.failures}
        for ticket in tickets:
            if not isinstance(errors.get(id(ticket.ballot), Stopped()), Stopped):
                _settle(ticket, errors[id(ticket.ballot)])


def _as_error(error: BaseException) -> Exception:
    """What a model raises to end its process must not end this thread, nor whoever waits for it."""
    return error if isinstance(error, Exception) else ModelFailed(f"raised {type(error).__name__}")


def _settle(ticket: PendingResult, outcome: object) -> None:
    """Tell whoever waits, unless nobody does."""
    if ticket.future.done() or not ticket.future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, Exception):
        ticket.future.set_exception(outcome)
    else:
        ticket.future.set_result(outcome)
