"""A model behind a connection as a voter: calls at the same time, tried again when they fail."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from functools import cache
from heapq import heappop, heappush
from inspect import iscoroutinefunction
from math import inf
from threading import Thread
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ellzero.core.cancellation import check_cancelled
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.models.model_io import make_model_error
from ellzero.smoothing.noise.random_streams import Array
from ellzero.smoothing.voters.base import Labels, Preprocess, explain_errors
from ellzero.smoothing.voters.outputs import read_votes

_LOG = logging.getLogger(__name__)

_ROUNDS = 4  # of calls in a batch of the sampler's, so that one slow call does not keep the others waiting
_LONGEST_PAUSE = 30.0
_TICK = 0.2  # seconds between two looks at whether the votes are still wanted


@dataclass(frozen=True)
class RemoteModel:
    """A model that is called over a connection, such as an LLM: ``call`` takes a numpy array of at most ``batch_size``
    samples and returns their labels or scores. It may be an ``async`` function.

    At most ``concurrency`` calls are open at once, from as many threads. One that raises, or gives no answer within
    ``timeout`` seconds, is tried again up to ``retries`` times with the same samples, after a pause of ``backoff``
    seconds that doubles each time. After the last try the run ends with `ModelFailed`, and no vote of its batch counts.
    Raise in ``call`` whatever is not an answer. A thread that is late cannot be stopped, so there may be twice as many
    threads; never more.

    **A model that answers at random**, as an LLM with a temperature does, may vote too: the certificate is then that of
    the smoothed random classifier, whose class is the one it says most often under noise and its own chance together.
    Its answers must be independent: keep no cache of them, in ``call`` or behind it. An answer is then the first that
    is neither an error nor late, and that is what is certified.
    """

    call: Callable[[NDArray[Any]], object]
    batch_size: int = 16
    concurrency: int = 8
    retries: int = 5
    timeout: float = 30.0
    backoff: float = 0.5

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise InvalidInput("call", "a function of a batch of samples", self.call)
        read_integer(self.batch_size, "batch_size", 1, 2**20)
        read_integer(self.concurrency, "concurrency", 1, 1_024)
        read_integer(self.retries, "retries", 0, 1_000)
        if not (isinstance(self.timeout, int | float) and 0 < self.timeout < inf):
            raise InvalidInput("timeout", "a number of seconds above 0", self.timeout)
        if not (isinstance(self.backoff, int | float) and 0 <= self.backoff < inf):
            raise InvalidInput("backoff", "a number of seconds, 0 or more", self.backoff)


class _Call(NamedTuple):
    """The next try of some samples, not before ``ready``; ``tries`` were made before."""

    ready: float
    place: int
    tries: int


class RemoteVoter:
    """Splits batches into calls, and puts the answers together in the order of the samples, not of their arrival."""

    device = None
    one_size = False

    def __init__(self, model: RemoteModel, classes: int, preprocess: Preprocess | None) -> None:
        self.classes = classes
        self._model, self._preprocess = model, preprocess
        self._late: set[Future[object]] = set()  # calls that nobody waits for, whose threads have not ended

    def estimate_batch_size(self, example: Array) -> int:
        return self._model.batch_size * self._model.concurrency * _ROUNDS

    def label(self, samples: Array) -> Labels:
        size = self._model.batch_size
        return np.concatenate(self._ask([samples[start : start + size] for start in range(0, len(samples), size)]))

    def _ask(self, parts: list[NDArray[Any]]) -> list[Labels]:
        """The labels of each part. Samples are never left out: those that fail would not be a random choice of all, and
        votes without them would estimate another probability. So a part is tried again until it is answered."""
        answers: dict[int, Labels] = {}
        waiting = [_Call(0.0, place, 0) for place in range(len(parts))]
        open_calls: dict[Future[object], tuple[_Call, float]] = {}
        try:
            while waiting or open_calls:
                check_cancelled()
                while waiting and waiting[0].ready <= time.monotonic() and self._has_room(len(open_calls)):
                    call = heappop(waiting)
                    future = self._start(parts[call.place])
                    open_calls[future] = call, time.monotonic() + self._model.timeout
                self._pause(waiting, open_calls)
                for future, (call, deadline) in list(open_calls.items()):
                    if future.done():
                        error = CancelledError() if future.cancelled() else future.exception()
                        if error is None:
                            answers[call.place] = read_votes(future.result(), len(parts[call.place]), self.classes)
                        else:
                            heappush(waiting, self._again(call, make_model_error(error).reason, error))
                    elif time.monotonic() > deadline:
                        self._abandon(future)
                        reason = f"gave no answer within {self._model.timeout:g} s"
                        heappush(waiting, self._again(call, reason, None))
                    else:
                        continue
                    del open_calls[future]
        finally:
            for future in open_calls:
                self._abandon(future)
        return [answers[place] for place in range(len(parts))]

    def _has_room(self, open_calls: int) -> bool:
        """Whether one more call may be open. A thread cannot be stopped, so calls that are late take up room too: there
        are never more than twice as many threads as calls may be open."""
        self._late = {future for future in self._late if not future.done()}
        most = self._model.concurrency
        return open_calls < most and open_calls + len(self._late) < 2 * most

    def _pause(self, waiting: list[_Call], open_calls: dict[Future[object], tuple[_Call, float]]) -> None:
        """Wait until there may be something to do."""
        if open_calls:
            wait(open_calls, _TICK, FIRST_COMPLETED)
        elif self._has_room(0):
            time.sleep(min(_TICK, max(0.0, waiting[0].ready - time.monotonic())))
        elif not wait(self._late, self._model.timeout, FIRST_COMPLETED).done:
            raise ModelFailed(
                f"has {len(self._late)} calls that do not end, {self._model.timeout:g} s after their time"
            )

    def _start(self, samples: NDArray[Any]) -> "Future[object]":
        # A copy for each try, since a call may work in place.
        with explain_errors():
            inputs = samples.copy() if self._preprocess is None else self._preprocess(samples.copy())
            if is_async(self._model.call):
                coroutine = cast("Coroutine[Any, Any, object]", self._model.call(inputs))
                return asyncio.run_coroutine_threadsafe(coroutine, _event_loop())
        future: Future[object] = Future()
        future.set_running_or_notify_cancel()  # from now on it cannot be cancelled, only left alone

        def run() -> None:
            try:
                future.set_result(self._model.call(inputs))
            except BaseException as error:  # a call that tries to end the process has failed, too
                future.set_exception(error)

        # Not a pool's thread: the interpreter waits for those when it ends, and a call may never end.
        Thread(target=run, name="ellzero-remote-model", daemon=True).start()
        return future

    def _abandon(self, future: "Future[object]") -> None:
        if not future.cancel():  # a coroutine ends here, a thread when it likes
            self._late.add(future)

    def _again(self, call: _Call, reason: str, error: BaseException | None) -> _Call:
        """The next try, later each time; `ModelFailed` after the last."""
        tries = call.tries + 1
        if tries > self._model.retries:
            raise ModelFailed(f"{reason}{f', at the last of {tries} tries' if tries > 1 else ''}") from error
        _LOG.info("a call %s, and is tried again", reason)
        pause = min(_LONGEST_PAUSE, self._model.backoff * 2**call.tries)
        return _Call(time.monotonic() + pause, call.place, tries)


def is_async(call: object) -> bool:
    """Whether calling this gives a coroutine."""
    return iscoroutinefunction(call) or iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """One loop for all calls, so that clients which belong to a loop can be kept between them."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="ellzero-remote-models", daemon=True).start()
    return loop
