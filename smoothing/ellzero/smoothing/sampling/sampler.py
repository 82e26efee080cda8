"""Draws votes: noisy samples of several inputs share batches, and memory holds one batch, never n copies."""

from collections.abc import Callable, Iterable, Iterator
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from ellzero.core.cancellation import check_cancelled
from ellzero.smoothing.errors import OutOfMemory
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.models.model_io import is_out_of_memory, join_samples, prepare_for_model
from ellzero.smoothing.noise.protected import sample_noisy
from ellzero.smoothing.noise.random_streams import Array, Stage, open_source
from ellzero.smoothing.sampling.sampling_task import SampleRange, SamplingTask
from ellzero.smoothing.voters.base import Labels, Voter

R = TypeVar("R")

# How many inputs may be open at once, so that a batch can be filled.
_MOST_OPEN = 64


class StoppingRuleFailed(Exception):
    """The stopping rules of some of the served tasks failed, each with its error. Never leaves the package."""

    def __init__(self, failures: list[tuple[SamplingTask[Any], Exception]], served: list[SamplingTask[Any]]) -> None:
        super().__init__(failures, served)
        self.failures, self.served = failures, served


class NoisySampler:
    """Takes the votes of one voter for any number of tasks, each with its own noise. ``batch_size`` None: as it suits
    the voter."""

    def __init__(self, voter: Voter, levels: int, feed: Feed, batch_size: int | None) -> None:
        self.voter, self.levels, self.feed = voter, levels, feed
        self._batch_size = batch_size
        self._last_block: tuple[tuple[bytes, Stage, int], Array] | None = None
        self._lock = RLock()
        self.last_batch = 0  # how many samples the last one had

    @property
    def batch_size(self) -> int | None:
        """How many samples go through the model at once; None until the first batch, if the size is automatic."""
        return self._batch_size

    def run(
        self, tasks: Iterable[SamplingTask[R]], progress: Callable[[SamplingTask[R]], None] | None = None
    ) -> Iterator[R]:
        """Yield the results of tasks, in their order. ``progress`` is called with a task after each batch that it got
        votes of."""
        remaining = iter(tasks)
        open_tasks: list[SamplingTask[R]] = []
        more = True
        while True:
            while more and len(open_tasks) < _MOST_OPEN and not self._fills_batch(open_tasks):
                try:
                    open_tasks.append(next(remaining))
                except StopIteration:
                    more = False
            if not open_tasks:
                return
            try:
                served = self.step(open_tasks)
            except StoppingRuleFailed as failed:
                raise failed.failures[0][1] from None
            for task in served:
                if progress is not None:
                    progress(task)
            while open_tasks and (result := open_tasks[0].result()) is not None:
                open_tasks.pop(0)
                yield result

    def step(self, tasks: Iterable[SamplingTask[R]]) -> list[SamplingTask[R]]:
        """Draw one batch for the tasks, first come first served, and return those that got votes. Threads take turns.

        Raises ``StoppingRuleFailed`` if the stopping rule of a task fails; all other tasks have counted their votes.
        """
        with self._lock:
            return self._step(list(tasks))

    def _step(self, tasks: list[SamplingTask[R]]) -> list[SamplingTask[R]]:
        check_cancelled()
        if self._batch_size is None:
            self._batch_size = self._estimate_batch_size(tasks[0])
        claims = self._claim_samples(tasks, self._batch_size)
        if not claims:
            return []
        try:
            labels = self._draw_labels(claims)
        except BaseException as error:
            for task, samples in reversed(claims):
                task.release(samples)
            if not is_out_of_memory(error):
                raise
            self._halve(error)
            return self._step(tasks)
        self.last_batch = len(labels)
        start = 0
        failures: dict[int, tuple[SamplingTask[R], Exception]] = {}
        for task, samples in claims:
            votes = labels[start : start + samples.size]
            start += samples.size
            try:
                task.count(np.bincount(votes, minlength=self.voter.classes).tolist())
            except Exception as error:
                failures.setdefault(id(task), (task, error))
        served = list({id(task): task for task, _ in claims}.values())
        if failures:
            raise StoppingRuleFailed(list(failures.values()), served)
        return served

    def label(self, samples: Array) -> Labels:
        """The class that the model gives each of these noisy samples."""
        return self.voter.label(prepare_for_model(samples, self.levels, self.feed))

    def draw_samples(self, task: SamplingTask[Any], samples: SampleRange) -> Array:
        """Draw noisy samples. A block is always drawn as a whole, so that its samples depend on no batch."""
        name = (task.key, samples.stage, samples.block)
        block = self._last_block
        if block is None or block[0] != name:
            self._last_block = None  # frees its memory before the next one is drawn, which may fail
            source = open_source(*name, self.voter.device)
            block = name, sample_noisy(task.noise, task.x, task.protected, source, task.block)
            self._last_block = block  # batches smaller than a block need it again
        return block[1][samples.start : samples.stop]

    def _draw_labels(self, claims: list[tuple[SamplingTask[R], SampleRange]]) -> Labels:
        """Draw the samples of all claims in one batch, and return the class that the model gives each."""
        drawn = [self.draw_samples(task, samples) for task, samples in claims]
        if len({samples.dtype for samples in drawn}) > 1:  # levels of discrete noise, scaled values of continuous noise
            drawn = [prepare_for_model(samples, self.levels, self.feed) for samples in drawn]
        # A copy in any case: a model may work in place, and the last block is used again.
        samples = join_samples(drawn)
        count = len(samples)
        if self.voter.one_size and self._batch_size is not None and count < self._batch_size:
            samples = samples[np.minimum(np.arange(self._batch_size), count - 1)]  # filled up by copies of the last
        return self.label(samples)[:count]

    def _claim_samples(self, tasks: list[SamplingTask[R]], room: int) -> list[tuple[SamplingTask[R], SampleRange]]:
        claims: list[tuple[SamplingTask[R], SampleRange]] = []
        shape = tasks[0].x.shape
        for task in tasks:
            if task.x.shape != shape:
                continue  # its turn comes when it is first
            while room and (samples := task.claim(room, split=not claims)) is not None:
                claims.append((task, samples))
                room -= samples.size
        return claims

    def _fills_batch(self, tasks: list[SamplingTask[R]]) -> bool:
        samples = sum(min(task.total - task.done, task.block) for task in tasks)
        return self._batch_size is not None and samples >= self._batch_size

    def _estimate_batch_size(self, task: SamplingTask[R]) -> int:
        try:
            return self.voter.estimate_batch_size(prepare_for_model(task.x[None], self.levels, self.feed))
        except BaseException as error:
            if is_out_of_memory(error):
                raise OutOfMemory(self._place) from error
            raise

    def _halve(self, error: BaseException) -> None:
        if self._batch_size is None or self._batch_size <= 1:
            raise OutOfMemory(self._place) from error
        self._batch_size //= 2

    @property
    def _place(self) -> str:
        return str(self.voter.device or "cpu")
