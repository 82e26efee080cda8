"""Remote models: calls at once, in any order, failing and late, and the votes are those of one that never fails."""

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from threading import Event, Lock
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from smoothing.classifiers import NOISE, make_inputs, without_seconds
from smoothing.every_noise import count_by_sum

from ellzero.certificates import InvalidInput
from ellzero.core.cancellation import cancel_when
from ellzero.core.errors import Stopped
from ellzero.smoothing import Certified, CertifySettings, RemoteModel, SmoothedClassifier
from ellzero.smoothing.errors import ModelFailed

X = make_inputs(1)[0]
SETTINGS = CertifySettings.of(20, 300, "0.01", 7, "never")
QUICK = RemoteModel(count_by_sum, batch_size=8, concurrency=4, backoff=0.001)


def certify(model: Any) -> Certified:
    classifier = SmoothedClassifier(model, NOISE, 3, feed="levels")
    return without_seconds(next(classifier.sampler.run([classifier.task(X, SETTINGS)])))


class Flaky:
    """A model that fails, waits or answers as a seed says; it counts what it was asked, and how often at once."""

    def __init__(self, seed: int, fails: float = 0.3, waits: float = 0.0) -> None:
        self._random, self._lock = Random(seed), Lock()
        self._fails, self._waits = fails, waits
        self.asked: Counter[bytes] = Counter()
        self.open = self.most_open = self.largest = 0

    def __call__(self, samples: NDArray[Any]) -> list[int]:
        with self._lock:
            self.asked[samples.tobytes()] += 1
            self.open += 1
            self.most_open, self.largest = max(self.most_open, self.open), max(self.largest, len(samples))
            fails, waits = self._random.random() < self._fails, self._random.random() * self._waits
        try:
            time.sleep(waits)
            if fails:
                raise ConnectionError("the server is busy")
            labels: list[int] = count_by_sum(samples).tolist()
            samples[:] = 0  # a call may work in place
            return labels
        finally:
            with self._lock:
                self.open -= 1


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.floats(0, 0.5), st.integers(1, 50), st.integers(1, 9))
def test_calls_that_fail_are_tried_again_with_the_same_samples(
    seed: int, fails: float, batch_size: int, concurrency: int
) -> None:
    model = Flaky(seed, fails, waits=0.002)
    remote = RemoteModel(model, batch_size, concurrency, retries=50, backoff=0.0)
    assert certify(remote) == certify(count_by_sum)
    whole = Flaky(0, fails=0)
    certify(RemoteModel(whole, batch_size, concurrency))
    assert set(model.asked) == set(whole.asked)
    assert model.most_open <= concurrency
    assert model.largest <= batch_size


def test_calls_are_open_at_the_same_time() -> None:
    """Each waits for three others, so that one after the other they would never end."""
    barrier = threading.Barrier(4)

    def call(samples: NDArray[Any]) -> Any:
        barrier.wait(timeout=60)
        return count_by_sum(samples)

    own = CertifySettings.of(32, 320, "0.01", 7, "never")
    classifier = SmoothedClassifier(RemoteModel(call, 8, 4, timeout=60), NOISE, 3, feed="levels")
    result = next(classifier.sampler.run([classifier.task(X, own)]))
    assert sum(result.counts) == 320


def test_after_the_last_try_the_run_ends_in_one_line_and_counts_nothing_of_the_batch() -> None:
    calls: list[int] = []

    def call(samples: NDArray[Any]) -> Any:
        calls.append(len(samples))
        if len(calls) > 3:
            raise OSError("connection\nrefused")
        return count_by_sum(samples)

    classifier = SmoothedClassifier(RemoteModel(call, 8, 1, retries=2, backoff=0.0), NOISE, 3, feed="levels")
    task = classifier.task(X, CertifySettings.of(20, 300, "0.01", 7, "never"))
    with pytest.raises(ModelFailed, match="^the model raised OSError: connection.*, at the last of 3 tries$") as failed:
        list(classifier.sampler.run([task]))
    assert "\n" not in str(failed.value)
    assert len(calls) == 3 + 9  # a batch has four parts, tried in turn; the first that fails three times ends it
    assert task.counts == (0, 0, 0)
    assert task.done == 20  # those that chose the class were counted before


def test_a_call_that_hangs_is_given_up_and_tried_again() -> None:
    hang, first = Event(), iter([True])

    def call(samples: NDArray[Any]) -> Any:
        if next(first, False):
            hang.wait(60)
            return [0] * len(samples)  # too late: nobody listens any more
        return count_by_sum(samples)

    assert certify(replace(QUICK, call=call, timeout=0.1)) == certify(count_by_sum)
    hang.set()


def test_calls_that_never_end_do_not_pile_up() -> None:
    hang, threads = Event(), Lock()
    started = 0

    def call(samples: NDArray[Any]) -> Any:
        nonlocal started
        with threads:
            started += 1
        hang.wait(60)

    model = replace(QUICK, call=call, timeout=0.02, concurrency=3, retries=1_000)
    with pytest.raises(ModelFailed, match="^the model has 6 calls that do not end, 0.02 s after their time$"):
        certify(model)
    assert started == 6
    with pytest.raises(ModelFailed, match="^the model gave no answer within 0.02 s, at the last of 2 tries$"):
        certify(replace(model, retries=1))
    hang.set()


def test_late_calls_that_end_make_room_for_others() -> None:
    """As many calls are late as there is room for; the last of them lets all go on."""
    hang, late = Event(), iter(range(4))

    def call(samples: NDArray[Any]) -> Any:
        place = next(late, None)
        if place is not None:
            if place == 3:
                threading.Timer(0.3, hang.set).start()
            hang.wait(60)
        return count_by_sum(samples)

    model = replace(QUICK, call=call, timeout=0.2, concurrency=2, retries=9)
    assert certify(model) == certify(count_by_sum)


def test_asynchronous_calls_share_one_loop_and_end_when_they_are_late() -> None:
    loops, cancelled, first = set(), Event(), iter([True])

    async def call(samples: NDArray[Any]) -> Any:
        loops.add(id(asyncio.get_running_loop()))
        if next(first, False):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise
        await asyncio.sleep(0.001)
        return count_by_sum(samples)

    assert certify(replace(QUICK, call=call, timeout=0.2)) == certify(count_by_sum)
    assert cancelled.wait(60)
    assert len(loops) == 1


def test_a_call_that_cancels_itself_or_exits_has_failed() -> None:
    async def cancel(samples: NDArray[Any]) -> Any:
        raise asyncio.CancelledError

    def leave(samples: NDArray[Any]) -> Any:
        sys.exit(3)

    with pytest.raises(ModelFailed, match="raised CancelledError: no message, at the last of 2 tries"):
        certify(replace(QUICK, call=cancel, retries=1))
    with pytest.raises(ModelFailed, match="raised SystemExit: 3$"):
        certify(replace(QUICK, call=leave, retries=0))


def test_an_asynchronous_function_that_takes_no_samples_is_one_clear_line() -> None:
    async def answer() -> int:
        return 0

    with pytest.raises(ModelFailed, match="^the model raised TypeError: .*takes 0 positional arguments"):
        SmoothedClassifier(RemoteModel(answer), NOISE, 3).predict(X, 12, seed=1)  # type: ignore[arg-type]


def test_bad_answers_are_not_tried_again() -> None:
    """They are not a failure of the connection: a function that answers so once would do it again."""
    calls: list[int] = []

    def call(samples: NDArray[Any]) -> Any:
        calls.append(len(samples))
        return ["spam"] * len(samples)

    with pytest.raises(ModelFailed, match="returned text"):
        certify(replace(QUICK, call=call, concurrency=1))
    assert len(calls) == 1


def test_threads_may_share_a_remote_model() -> None:
    model = RemoteModel(Flaky(3, waits=0.002), 8, 4, retries=50, backoff=0.0)
    expected = certify(count_by_sum)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: certify(model), range(8))) == [expected] * 8


def test_votes_that_are_not_wanted_any_more_stop_a_slow_call() -> None:
    asked, hang = Event(), Event()

    def call(samples: NDArray[Any]) -> Any:
        asked.set()
        hang.wait(60)

    with pytest.raises(Stopped), cancel_when(asked.is_set):
        certify(replace(QUICK, call=call))
    hang.set()


def test_a_random_model_is_asked_anew_for_every_sample() -> None:
    """Its votes are independent draws: equal samples may get different answers, and all classes come up."""
    random, lock = Random(5), Lock()

    def call(samples: NDArray[Any]) -> Any:
        with lock:
            return [random.choices([0, 1, 2], [8, 1, 1])[0] for _ in samples]

    result = SmoothedClassifier(RemoteModel(call), NOISE, 3).certify(X, 50, 3_000, seed=1, stopping="never")
    assert 0.75 < result.counts[0] / 3_000 < 0.85
    assert min(result.counts) > 100


PROGRAM = """
import os, signal, sys, threading, time
from ellzero.certificates import Discrete
from ellzero.smoothing import RemoteModel, SmoothedClassifier

def call(samples):
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    time.sleep(3_600)

async def call_later(samples):
    import asyncio
    call_soon = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    call_soon.start()
    await asyncio.sleep(3_600)

signal.signal(signal.SIGINT, signal.default_int_handler)
model = RemoteModel({name}, concurrency=1, timeout=3_600)
try:
    SmoothedClassifier(model, Discrete(3, "0.7"), 3).certify([0, 1, 2, 3])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("name", ["call", "call_later"])
def test_ctrl_c_ends_a_run_and_threads_that_hang_keep_no_process_alive(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.replace("{name}", name)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RemoteModel("http://model"), "call must be a function of a batch of samples"),  # type: ignore[arg-type]
        (lambda: RemoteModel(count_by_sum, batch_size=0), "batch_size must be an integer from 1"),
        (lambda: RemoteModel(count_by_sum, concurrency=0), "concurrency must be an integer from 1 to 1024"),
        (lambda: RemoteModel(count_by_sum, retries=-1), "retries must be an integer from 0"),
        (lambda: RemoteModel(count_by_sum, timeout=0), "timeout must be a number of seconds above 0"),
        (lambda: RemoteModel(count_by_sum, timeout=float("nan")), "timeout must be a number of seconds above 0"),
        (lambda: RemoteModel(count_by_sum, timeout="3"), "timeout must be a number of seconds above 0"),  # type: ignore[arg-type]
        (lambda: RemoteModel(count_by_sum, backoff=None), "backoff must be a number of seconds"),  # type: ignore[arg-type]
        (lambda: RemoteModel(count_by_sum, backoff=-1), "backoff must be a number of seconds, 0 or more"),
    ],
)
def test_wrong_settings_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        make()
    assert str(refused.value).startswith(message)


def test_samples_arrive_in_calls_as_numpy_arrays() -> None:
    seen: list[Any] = []

    def call(samples: Any) -> Any:
        seen.append(samples)
        return np.zeros(len(samples), int)

    SmoothedClassifier(RemoteModel(call, 5), NOISE, 2, feed="levels").predict(X, 12, seed=1)
    assert sorted(len(samples) for samples in seen) == [2, 5, 5]
    assert all(isinstance(samples, np.ndarray) and samples.dtype == np.int64 for samples in seen)
