"""Drawing votes: noisy samples of several inputs share batches, and memory holds one batch, never n copies."""

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
from ellzero.smoothing.noise.random_streams import Stage, open_source
from ellzero.smoothing.sampling.sampling_task import SampleRange, SamplingTask

R = TypeVar("R")

# How many inputs may wait for room in a batch, so that a batch can be filled with what fits.
_MOST_OPEN = 64
# One allocation of more than 32 MB is returned to the system after use and faulted in anew for every batch.
_LARGEST_TENSOR = 24_000_000
_CPU_BUDGET = 512_000_000
_DEVICE_SHARE = 0.4
_MOST_SAMPLES = 1_024
_MOST_DEVICE_SAMPLES = 8_192


@dataclass(frozen=True)
class Options:
    """How a model is run. ``batch_size`` None: as memory allows."""

    feed: Feed = Feed.SCALED
    preprocess: Preprocess | None = None
    batch_size: int | None = None
    channels_last: bool = True
    autocast: torch.dtype | None = None
    compile: bool = False


class StoppingRuleFailed(Exception):
    """Of the tasks that were served, some could not say what their votes mean, each with its error.

    Never leaves the package.
    """

    def __init__(self, failures: list[tuple[SamplingTask[Any], Exception]], served: list[SamplingTask[Any]]) -> None:
        super().__init__(failures, served)
        self.failures, self.served = failures, served


class NoisySampler:
    """Runs one model on one device for any number of tasks, each with its own noise."""

    def __init__(self, model: nn.Module, levels: int, classes: int, device: torch.device, options: Options) -> None:
        self.levels, self.classes, self.device, self.options = levels, classes, device, options
        self._model = model.to(device)
        if options.channels_last:
            self._model = self._model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._called: Callable[[Tensor], Any] = torch.compile(self._model) if options.compile else self._model
        self._batch_size = options.batch_size
        self._kept: tuple[tuple[bytes, Stage, int], Tensor] | None = None
        self._lock = RLock()
        self.last_batch = 0  # how many samples the last one had

    @property
    def batch_size(self) -> int | None:
        """How many samples go through the model at once; None before the first of an automatic size."""
        return self._batch_size

    def run(
        self, tasks: Iterable[SamplingTask[R]], progress: Callable[[SamplingTask[R]], None] | None = None
    ) -> Iterator[R]:
        """The results of tasks, in their order. ``progress`` is called for a task whenever votes came in."""
        waiting = iter(tasks)
        opened: list[SamplingTask[R]] = []
        more = True
        while True:
            while more and len(opened) < _MOST_OPEN and not self._enough(opened):
                try:
                    opened.append(next(waiting))
                except StopIteration:
                    more = False
            if not opened:
                return
            try:
                served = self.step(opened)
            except StoppingRuleFailed as failed:
                raise failed.failures[0][1] from None
            for task in served:
                if progress is not None:
                    progress(task)
            while opened and (result := opened[0].result()) is not None:
                opened.pop(0)
                yield result

    def step(self, tasks: Iterable[SamplingTask[R]]) -> list[SamplingTask[R]]:
        """Draw one batch for the tasks, first come first served; those that got votes. Threads take turns.

        ``StoppingRuleFailed`` if tasks could not say what their votes mean; all others have counted theirs then.
        """
        with self._lock:
            return self._step(list(tasks))

    def _step(self, tasks: list[SamplingTask[R]]) -> list[SamplingTask[R]]:
        check_cancelled()
        self._model.eval()  # it may have been trained since: a vote must not depend on what else is in its batch
        if self._batch_size is None:
            self._batch_size = self._find_batch_size(tasks[0])
        taken = self._claim_samples(tasks, self._batch_size)
        if not taken:
            return []
        try:
            votes = self._votes(taken)
        except BaseException as error:
            for task, piece in reversed(taken):
                task.give_back(piece)
            if not is_out_of_memory(error):
                raise
            self._halve(error)
            return self._step(tasks)
        self.last_batch = len(votes)
        at = 0
        failures: dict[int, tuple[SamplingTask[R], Exception]] = {}
        for task, piece in taken:
            labels = votes[at : at + piece.size]
            at += piece.size
            try:
                task.count(torch.bincount(labels, minlength=self.classes).tolist())
            except Exception as error:
                failures.setdefault(id(task), (task, error))
        served = list({id(task): task for task, _ in taken}.values())
        if failures:
            raise StoppingRuleFailed(list(failures.values()), served)
        return served

    def forward(self, samples: Tensor) -> Tensor:
        """What the model says of noisy samples, by class: checked to be a number for each class and sample."""
        fed = prepare_for_model(samples, self.levels, self.options.feed)
        with torch.inference_mode(), self._precision():
            try:
                if self.options.preprocess is not None:
                    fed = self.options.preprocess(fed)
                if self.options.channels_last and fed.dim() == 4:
                    fed = fed.contiguous(memory_format=torch.channels_last)
                scores = self._called(fed)
            except (Exception, SystemExit) as error:
                if is_out_of_memory(error):
                    raise
                raise make_model_error(error) from error
        checked = check_scores(scores, len(samples), self.classes)
        if bool(torch.isnan(checked).any()):
            raise ModelFailed("returned NaN, which is no vote")
        return checked

    def draw_samples(self, task: SamplingTask[Any], piece: SampleRange) -> Tensor:
        """The noisy samples of a piece. A block is always drawn as a whole, so that its parts fit together."""
        name = (task.key, piece.stage, piece.block)
        kept = self._kept
        if kept is None or kept[0] != name:
            self._kept = None  # nothing is kept while a block is drawn, which may fail
            source = open_source(*name, self.device)
            kept = name, task.noise.sample(task.x.to(self.device), source, task.block)
            self._kept = kept  # since batches smaller than a block take it in pieces
        return kept[1][piece.start : piece.stop]

    def _votes(self, taken: list[tuple[SamplingTask[R], SampleRange]]) -> Tensor:
        drawn = [self.draw_samples(task, piece) for task, piece in taken]
        if len({samples.dtype for samples in drawn}) > 1:  # discrete noise gives levels, continuous noise scaled values
            drawn = [prepare_for_model(samples, self.levels, self.options.feed) for samples in drawn]
        # A copy in any case: a model may work in place, and blocks are kept.
        samples = drawn[0].clone() if len(drawn) == 1 else torch.cat(drawn)
        count = len(samples)
        if self.options.compile and self._batch_size is not None and count < self._batch_size:
            # A compiled model is compiled anew for every other shape.
            samples = torch.cat([samples, samples[:1].expand(self._batch_size - count, *samples.shape[1:])])
        return self.forward(samples)[:count].argmax(1).cpu()

    def _claim_samples(self, tasks: list[SamplingTask[R]], room: int) -> list[tuple[SamplingTask[R], SampleRange]]:
        taken: list[tuple[SamplingTask[R], SampleRange]] = []
        shape = tasks[0].x.shape
        for task in tasks:
            if task.x.shape != shape:
                continue  # its turn comes when it is first
            while room and (piece := task.take(room, split=not taken)) is not None:
                taken.append((task, piece))
                room -= piece.size
        return taken

    def _enough(self, tasks: list[SamplingTask[R]]) -> bool:
        """Whether these fill a batch."""
        wanted = sum(min(task.total - task.done, task.block) for task in tasks)
        return self._batch_size is not None and wanted >= self._batch_size

    def _find_batch_size(self, task: SamplingTask[R]) -> int:
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

    Only a first guess: who runs out of memory halves it.
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

    def note(module: nn.Module, arguments: object, output: object) -> None:
        if isinstance(output, Tensor):
            sizes.append(output.nbytes)

    handles = [module.register_forward_hook(note) for module in model.modules()]
    try:
        model(example)
    finally:
        for handle in handles:
            handle.remove()
    return sizes


def _power_of_two(most: int) -> int:
    return 1 << (max(1, most).bit_length() - 1)
