"""Draws votes: noisy samples of several inputs share batches, and memory holds one batch, never n copies."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ellzero.core.cancellation import check_cancelled
from ellzero.smoothing.errors import ModelFailed, OutOfMemory
from ellzero.smoothing.models.card import Feed
from ellzero.smoothing.models.model_io import (
    Preprocess,
    check_scores,
    is_out_of_memory,
    make_model_error,
    prepare_for_model,
)
from ellzero.smoothing.noise.protected import sample_noisy
from ellzero.smoothing.noise.random_streams import Stage, open_source
from ellzero.smoothing.sampling.sampling_task import SampleRange, SamplingTask

R = TypeVar("R")

# How many inputs may be open at once, so that a batch can be filled.
_MOST_OPEN = 64
# One allocation of more than 32 MB is returned to the system after use and faulted in again for every batch.
_LARGEST_TENSOR = 24_000_000
_CPU_BUDGET = 512_000_000
_DEVICE_SHARE = 0.4
_MOST_SAMPLES = 1_024
_MOST_DEVICE_SAMPLES = 8_192


@dataclass(frozen=True)
class SamplerOptions:
    """How a model is run. ``batch_size`` None: as memory allows."""

    feed: Feed = Feed.SCALED
    preprocess: Preprocess | None = None
    batch_size: int | None = None
    channels_last: bool = True
    autocast: torch.dtype | None = None
    compile: bool = False


class StoppingRuleFailed(Exception):
    """The stopping rules of some of the served tasks failed, each with its error. Never leaves the package."""

    def __init__(self, failures: list[tuple[SamplingTask[Any], Exception]], served: list[SamplingTask[Any]]) -> None:
        super().__init__(failures, served)
        self.failures, self.served = failures, served


class NoisySampler:
    """Runs one model on one device for any number of tasks, each with its own noise."""

    def __init__(
        self, model: nn.Module, levels: int, classes: int, device: torch.device, options: SamplerOptions
    ) -> None:
        self.levels, self.classes, self.device, self.options = levels, classes, device, options
        self._model = model.to(device)
        if options.channels_last:
            self._model = self._model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._forward: Callable[[Tensor], Any] = torch.compile(self._model) if options.compile else self._model
        self._batch_size = options.batch_size
        self._last_block: tuple[tuple[bytes, Stage, int], Tensor] | None = None
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
        self._model.eval()  # it may have been trained since: a vote must not depend on what else is in its batch
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
                task.count(torch.bincount(votes, minlength=self.classes).tolist())
            except Exception as error:
                failures.setdefault(id(task), (task, error))
        served = list({id(task): task for task, _ in claims}.values())
        if failures:
            raise StoppingRuleFailed(list(failures.values()), served)
        return served

    def forward(self, samples: Tensor) -> Tensor:
        """The model's scores of noisy samples, checked: a number for each sample and class."""
        inputs = prepare_for_model(samples, self.levels, self.options.feed)
        with torch.inference_mode(), self._precision():
            try:
                if self.options.preprocess is not None:
                    inputs = self.options.preprocess(inputs)
                if self.options.channels_last and inputs.dim() == 4:
                    inputs = inputs.contiguous(memory_format=torch.channels_last)
                scores = self._forward(inputs)
            except (Exception, SystemExit) as error:
                if is_out_of_memory(error):
                    raise
                raise make_model_error(error) from error
        checked = check_scores(scores, len(samples), self.classes)
        if bool(torch.isnan(checked).any()):
            raise ModelFailed("returned NaN, which is not a vote")
        return checked

    def draw_samples(self, task: SamplingTask[Any], samples: SampleRange) -> Tensor:
        """Draw noisy samples. A block is always drawn as a whole, so that its samples depend on no batch."""
        name = (task.key, samples.stage, samples.block)
        block = self._last_block
        if block is None or block[0] != name:
            self._last_block = None  # frees its memory before the next one is drawn, which may fail
            source = open_source(*name, self.device)
            x = task.x.to(self.device)
            block = name, sample_noisy(task.noise, x, task.protected, source, task.block)
            self._last_block = block  # batches smaller than a block need it again
        return block[1][samples.start : samples.stop]

    def _draw_labels(self, claims: list[tuple[SamplingTask[R], SampleRange]]) -> Tensor:
        """Draw the samples of all claims in one batch, and return the class that the model gives each."""
        tensors = [self.draw_samples(task, samples) for task, samples in claims]
        if len({tensor.dtype for tensor in tensors}) > 1:  # levels of discrete noise, scaled values of continuous noise
            tensors = [prepare_for_model(tensor, self.levels, self.options.feed) for tensor in tensors]
        # A copy in any case: a model may work in place, and the last block is used again.
        samples = tensors[0].clone() if len(tensors) == 1 else torch.cat(tensors)
        count = len(samples)
        if self.options.compile and self._batch_size is not None and count < self._batch_size:
            # A model is compiled again for every new shape.
            samples = torch.cat([samples, samples[:1].expand(self._batch_size - count, *samples.shape[1:])])
        return self.forward(samples)[:count].argmax(1).cpu()

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
        with torch.inference_mode(), self._precision():
            one = prepare_for_model(task.x.to(self.device).unsqueeze(0), self.levels, self.options.feed)
            try:
                one = one if self.options.preprocess is None else self.options.preprocess(one)
                return estimate_batch_size(self._model, one)
            except (Exception, SystemExit) as error:
                if is_out_of_memory(error):
                    raise OutOfMemory(str(self.device)) from error
                raise make_model_error(error) from error

    def _halve(self, error: BaseException) -> None:
        if self._batch_size is None or self._batch_size <= 1:
            raise OutOfMemory(str(self.device)) from error
        self._batch_size //= 2
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _precision(self) -> AbstractContextManager[Any]:
        if self.options.autocast is None:
            return nullcontext()
        return torch.autocast(self.device.type, self.options.autocast)


def estimate_batch_size(model: nn.Module, example: Tensor) -> int:
    """A power of two for which a forward pass fits memory well, from the sizes of all outputs for one sample.

    Only a first guess: the sampler halves it when memory runs out.
    """
    sizes = _output_bytes(model, example)
    everything, largest = sum(sizes) + example.nbytes, max([*sizes, example.nbytes])
    if example.device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(example.device)
        return _power_of_two(min(_MOST_DEVICE_SAMPLES, int(free * _DEVICE_SHARE) // everything))
    return _power_of_two(min(_MOST_SAMPLES, _CPU_BUDGET // everything, _LARGEST_TENSOR // largest))


def _output_bytes(model: nn.Module, example: Tensor) -> list[int]:
    """The bytes of what each module returns for one sample."""
    sizes: list[int] = []

    def add_size(module: nn.Module, arguments: object, output: object) -> None:
        if isinstance(output, Tensor):
            sizes.append(output.nbytes)

    handles = [module.register_forward_hook(add_size) for module in model.modules()]
    try:
        model(example)
    finally:
        for handle in handles:
            handle.remove()
    return sizes


def _power_of_two(most: int) -> int:
    return 1 << (max(1, most).bit_length() - 1)
