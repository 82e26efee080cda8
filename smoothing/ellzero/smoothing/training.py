"""Training on noisy samples: the paper's recipe, with a checkpoint after every epoch."""

import csv
import hashlib
import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from math import cos, pi
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR, LRScheduler, StepLR

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.smoothing.data.datasets import CroppableData, DataSet, Levels, hold_out
from ellzero.smoothing.data.read_ahead import read_ahead
from ellzero.smoothing.errors import BadModelFile, Diverged, ModelFailed, SmoothingError
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.models.files import check_model_path, save_model, write_file
from ellzero.smoothing.models.model_io import check_feed, is_out_of_memory, make_model_error, prepare_for_model
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.protected import Mask, read_inputs, sample_noisy_batch
from ellzero.smoothing.noise.random_streams import Stage
from ellzero.smoothing.training_loss import compute_loss
from ellzero.smoothing.training_noise import open_training_source
from ellzero.smoothing.voters.torch_voter import read_scores

_LARGEST_BATCH = 400
_LEAST_STEPS = 40
_MOST_COPIES = 1_000
_RISING = 0.1


class Schedule(StrEnum):
    """How the learning rate changes: in steps after epochs, or after every step by a cosine."""

    STEPS = "steps"
    COSINE = "cosine"


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. The defaults are the paper's: SGD with Nesterov's momentum, the rate divided by ten after
    every ten epochs, and of all epochs the one that does best on held-out inputs under noise.

    ``batch`` None: 400 as in the paper, and less for small data sets, so that an epoch has forty steps. ``crop``: learn
    from random parts of images, as of ImageNet; held-out inputs are the middle of theirs.

    Beyond the paper: ``copies`` noisy copies of each input in a step, with which ``consistency``, a weight in
    `compute_loss`, can be above 0; and ``schedule`` "cosine": the rate rises over the first tenth of all steps, then
    falls to 0 by a cosine, and the last epoch is kept.
    """

    epochs: int = 30
    batch: int | None = None
    rate: float = 0.05
    momentum: float = 0.9
    weight_decay: float = 1e-4
    decay_every: int = 10
    decay: float = 0.1
    seed: int = 0
    nesterov: bool = True
    crop: bool = False
    schedule: str = Schedule.STEPS.value
    copies: int = 1
    consistency: float = 0.0

    def __post_init__(self) -> None:
        read_integer(self.epochs, "epochs", 1)
        read_integer(self.seed, "seed", 0, 2**31 - 1)
        read_integer(self.decay_every, "decay_every", 1)
        if self.batch is not None:
            read_integer(self.batch, "batch", 1)
        for name in ("rate", "decay"):
            if not 0 < getattr(self, name) < 1e3:
                raise InvalidInput(name, "a number above 0", getattr(self, name))
        if self.schedule not in list(Schedule):
            raise InvalidInput("schedule", " or ".join(Schedule), self.schedule)
        read_integer(self.copies, "copies", 1, _MOST_COPIES)
        if not 0 <= self.consistency < 1e3:
            raise InvalidInput("consistency", "a number from 0 to 1000", self.consistency)
        if self.copies == 1 and self.consistency:
            raise InvalidInput("copies", "at least 2 with consistency", self.copies)

    def batch_for(self, inputs: int) -> int:
        """How many inputs a step takes."""
        return self.batch or max(1, min(_LARGEST_BATCH, inputs // _LEAST_STEPS))

    def describe(self) -> dict[str, Any]:
        """The recipe as cards and checkpoints state it.

        Options are left out at their defaults: trainings that began before they existed resume.
        """
        return {name: value for name, value in asdict(self).items() if (name, value) not in _OPTIONS.items()}

    @property
    def keeps_last(self) -> bool:
        """Whether the last epoch is kept, at whose end the rate is 0, instead of the best on held-out inputs."""
        return self.schedule == Schedule.COSINE


_OPTIONS: Final = {
    "nesterov": True,
    "crop": False,
    "schedule": Schedule.STEPS.value,
    "copies": 1,
    "consistency": 0.0,
}

IMAGENET_RECIPE = Recipe(epochs=90, batch=300, rate=0.1, decay_every=30, nesterov=False, crop=True)
"""The paper's recipe for ImageNet."""


@dataclass(frozen=True)
class Epoch:
    """Results of an epoch: means over noisy training samples, and the share of noisy held-out ones that were right."""

    number: int
    loss: float
    accuracy: float
    validation: float
    seconds: float


StepCallback = Callable[[int, int, float], None]
"""Called after every step with the steps done, those of all epochs, and the loss."""


class Training:
    """Trains the network of ``card`` on noisy samples by a recipe, and saves its best or last epoch to ``out``.

    After every epoch a checkpoint is written beside it, from which the same training resumes after a stop and ends with
    the same weights. The card that is saved contains the noise and how the model was trained.
    """

    def __init__(
        self,
        data: DataSet,
        noise: NoiseFamily,
        card: ModelCard,
        recipe: Recipe,
        out: Path,
        device: torch.device,
        *,
        allowed: tuple[str, ...] = (),
    ) -> None:
        check_model_path(out)
        check_feed(noise, Feed.of(card.feed))
        noise.check_shape(card.shape)
        self._card = replace(
            card, noise=dict(noise.description()), training={**recipe.describe(), "inputs": len(data.labels)}
        )
        self._out = out
        self._run = _Run(data, noise, self._card, recipe, device, allowed)
        self._checkpoint = _Checkpoint(out, self._run)
        self.epochs_done = self._checkpoint.resume()

    @property
    def checkpoint(self) -> Path:
        """The file that a stopped training resumes from, after ``epochs_done`` epochs."""
        return self._checkpoint.path

    @property
    def steps_left(self) -> int:
        """The steps of all epochs that are not done yet."""
        return (self._run.recipe.epochs - self.epochs_done) * self._run.steps

    def run(
        self,
        epoch_done: Callable[[Epoch], None] = lambda epoch: None,
        step_done: StepCallback = lambda done, total, loss: None,
    ) -> ModelCard:
        """Train to the end; the callbacks are called after each epoch and step, and change nothing."""
        run, checkpoint = self._run, self._checkpoint
        with torch.random.fork_rng(devices=[run.device] if run.device.type == "cuda" else []):
            for number in range(self.epochs_done, run.recipe.epochs):
                epoch = run.epoch(number, step_done)
                checkpoint.save(epoch)
                epoch_done(epoch)
        run.network.load_state_dict(checkpoint.best_weights)
        card = replace(self._card, training={**self._card.training, "validation": checkpoint.best})
        save_model(self._out, run.network, card)
        return card


class _Run:
    """The network, its optimiser and its data; the randomness of an epoch depends on the seed and its number alone."""

    def __init__(
        self,
        data: DataSet,
        noise: NoiseFamily,
        card: ModelCard,
        recipe: Recipe,
        device: torch.device,
        allowed: tuple[str, ...],
    ) -> None:
        self.data, self.noise, self.card, self.recipe, self.device = data, noise, card, recipe, device
        if card.num_classes < 2:
            raise InvalidInput("data", "of at least two classes", card.num_classes)
        self.images = data if recipe.crop and isinstance(data, CroppableData) else None
        if recipe.crop and self.images is None:
            raise InvalidInput("crop", "false for data that are not folders of images", True)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(recipe.seed)
            network = build(card.architecture, card.shape, card.num_classes, card.sample_levels, card.config, allowed)
        # On CPUs convolutions learn about a fifth faster with channels last.
        self.network: nn.Module = network.to(device=device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.SGD(
            self.network.parameters(),
            lr=recipe.rate,
            momentum=recipe.momentum,
            weight_decay=recipe.weight_decay,
            nesterov=recipe.nesterov and recipe.momentum > 0,
        )
        self.validation, self.training = hold_out(len(data.labels), recipe.seed)
        if not len(self.validation):
            raise InvalidInput("data", "at least ten inputs to train with", len(data.labels))
        self.batch = recipe.batch_for(len(self.training))
        self.steps = -(-len(self.training) // self.batch)
        self.scheduler: LRScheduler = StepLR(self.optimizer, recipe.decay_every, recipe.decay)
        if recipe.schedule == Schedule.COSINE:
            self.scheduler = LambdaLR(self.optimizer, partial(_cosine_share, total=recipe.epochs * self.steps))

    def epoch(self, number: int, step_done: StepCallback) -> Epoch:
        start = time.perf_counter()
        torch.manual_seed(self.recipe.seed * 100_003 + number)  # for dropout
        self.network.train()
        loss_sum = right = 0.0
        order = self.training[self._generator(f"order {number}").permutation(len(self.training))]
        for step, (samples, labels) in enumerate(self._noisy(order, Stage.TRAIN, number)):
            scores = self._forward(samples)
            with self._explained_errors(len(samples)):
                recipe = self.recipe
                loss = compute_loss(scores, labels, recipe.copies, recipe.consistency)
                if not torch.isfinite(loss):
                    raise Diverged(number + 1, self.recipe.rate)
                self.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self.optimizer.step()
            if recipe.schedule == Schedule.COSINE:
                self.scheduler.step()
            loss_sum += loss.item() * len(labels)
            right += int((scores.argmax(1) == labels.repeat(recipe.copies)).sum()) / recipe.copies
            step_done(number * self.steps + step + 1, self.recipe.epochs * self.steps, loss.item())
        if self.recipe.schedule == Schedule.STEPS:
            self.scheduler.step()
        count = len(order)
        return Epoch(number + 1, loss_sum / count, right / count, self._validate(), time.perf_counter() - start)

    def _validate(self) -> float:
        """The share of noisy held-out samples that are right; the samples are the same after every epoch."""
        self.network.eval()
        with torch.inference_mode():
            right = sum(
                int((self._forward(samples).argmax(1) == labels).sum())
                for samples, labels in self._noisy(self.validation, Stage.VALIDATE, 0)
            )
        return right / len(self.validation)

    def _forward(self, samples: Tensor) -> Tensor:
        """The scores of noisy samples."""
        with self._explained_errors(len(samples)):
            return read_scores(self.network(samples), len(samples), self.card.num_classes)

    @contextmanager
    def _explained_errors(self, samples: int) -> Iterator[None]:
        """Turn what the network raises, forward or backward, into a `ModelFailed` of one line."""
        try:
            yield
        except SmoothingError:
            raise
        except Exception as error:
            if is_out_of_memory(error):
                reason = f"ran out of memory on {self.device} with {samples} samples; a smaller batch may help"
                raise ModelFailed(reason) from error
            raise make_model_error(error) from error

    def _noisy(self, order: NDArray[np.int64], stage: Stage, number: int) -> Iterator[tuple[Tensor, Tensor]]:
        copies = self.recipe.copies if stage is Stage.TRAIN else 1
        batches = [order[start : start + self.batch] for start in range(0, len(order), self.batch)]
        read: Callable[[NDArray[np.int64]], Levels] = self.data.inputs
        if self.images is not None and stage is Stage.TRAIN:
            read = partial(self.images.random_crops, stream=f"{self.recipe.seed} crop {number}")
        for step, (indices, inputs) in enumerate(read_ahead(read, batches)):
            levels, masks = read_inputs(self.noise, inputs, self.data.protected(indices))
            source = open_training_source(self.noise, self.recipe.seed, number, stage, step, self.device)
            noisy = sample_noisy_batch(self.noise, *_repeat(copies, levels, masks), source)
            labels = torch.from_numpy(self.data.labels[indices]).to(self.device)
            samples = torch.as_tensor(prepare_for_model(noisy, self.noise.levels, Feed.of(self.card.feed)))
            yield samples.contiguous(memory_format=_memory_format(samples)), labels

    def _generator(self, purpose: str) -> np.random.Generator:
        digest = hashlib.blake2b(f"{self.recipe.seed} {purpose}".encode(), digest_size=16).digest()
        return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little")))


def _cosine_share(step: int, total: int) -> float:
    """The share of the rate after so many steps: it rises over the first tenth, and falls to 0 at the end."""
    return min(1.0, (step + 1) / (_RISING * total)) * (1 + cos(pi * step / total)) / 2


def _repeat(copies: int, levels: NDArray[Any], masks: Mask | None) -> tuple[NDArray[Any], Mask | None]:
    """A batch so many times, one after the other."""
    if copies == 1:
        return levels, masks
    return np.concatenate([levels] * copies), None if masks is None else np.concatenate([masks] * copies)


def _memory_format(samples: Tensor) -> torch.memory_format:
    return torch.channels_last if samples.dim() == 4 else torch.contiguous_format


class _Checkpoint:
    """The state after an epoch, in ``NAME.checkpoint.pt`` beside the model, and all epochs in ``NAME.training.csv``."""

    def __init__(self, out: Path, run: _Run) -> None:
        self.path = out.with_suffix(".checkpoint.pt")
        self._log = out.with_suffix(".training.csv")
        self._run = run
        self._identity = json.dumps(
            {"card": run.card.to_json(), "recipe": run.recipe.describe(), "data": run.data.digest}, sort_keys=True
        )
        self._epochs: list[Epoch] = []
        self.best = -1.0
        self.best_weights: dict[str, Any] = {}

    def resume(self) -> int:
        """How many epochs are done: 0, or what the checkpoint of the same training says."""
        if not self.path.exists():
            return 0
        try:
            state = torch.load(self.path, map_location=self._run.device, weights_only=True)
            if state["identity"] != self._identity:
                raise BadModelFile(
                    str(self.path), "belongs to another training; give another --out, or remove it to start again"
                )
            self._run.network.load_state_dict(state["weights"])
            self._run.optimizer.load_state_dict(state["optimizer"])
            self._run.scheduler.load_state_dict(state["scheduler"])
            self.best, self.best_weights = state["best"], state["best_weights"]
            self._epochs = [Epoch(**epoch) for epoch in state["epochs"]]
        except BadModelFile:
            raise
        except Exception as error:  # unpickling a damaged file can raise anything
            raise BadModelFile(str(self.path), "is damaged; remove it to start again") from error
        return len(self._epochs)

    def save(self, epoch: Epoch) -> None:
        self._epochs.append(epoch)
        weights = {name: value.detach().clone() for name, value in self._run.network.state_dict().items()}
        if epoch.validation > self.best or self._run.recipe.keeps_last:
            self.best, self.best_weights = epoch.validation, weights
        state = {
            "identity": self._identity,
            "weights": weights,
            "optimizer": self._run.optimizer.state_dict(),
            "scheduler": self._run.scheduler.state_dict(),
            "best": self.best,
            "best_weights": self.best_weights,
            "epochs": [asdict(each) for each in self._epochs],
        }
        packed = io.BytesIO()
        torch.save(state, packed)
        write_file(self.path, packed.getvalue())
        with self._log.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(asdict(epoch)))
            writer.writeheader()
            writer.writerows(asdict(each) for each in self._epochs)
