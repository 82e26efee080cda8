"""Training the networks of the experiment on MNIST, several at once, each with a core of its own."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ellzero.core.errors import BadResults
from ellzero.core.execution.placement import Placement
from ellzero.core.manifest import list_differences
from ellzero.core.progress import Progress, announce, show_progress
from ellzero.core.text import count_noun
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.one_thread import use_one_thread
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.models.architectures import build, find_feed
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.models.files import SavedModel, load_model
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.training import Recipe, Training

_PROBE_STEPS = 3
_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class TrainingTask:
    """A network to train: its data, noise and recipe, and where it is saved."""

    source: DataSource
    noise: Mapping[str, Any]
    architecture: str
    recipe: Recipe
    out: str

    def train(self) -> None:
        """Train the network, or the rest of its epochs."""
        data = self.source.load()
        with use_one_thread():
            training = Training(
                data, make_noise(self.noise), self.card(data), self.recipe, Path(self.out), torch.device("cpu")
            )
            training.run()

    def load(self) -> SavedModel:
        """The network that was trained. Raises if it is another one."""
        saved = load_model(Path(self.out))
        card = saved.card
        there = {"noise": card.noise, "architecture": card.architecture, "binarize": card.binarize, **card.training}
        needed = {
            "noise": self.noise,
            "architecture": self.architecture,
            "binarize": self.source.binarize,
            **self.recipe.describe(),
        }
        differences = list_differences({key: there.get(key) for key in needed}, needed)
        if differences:
            raise BadResults(self.out, f"is another network: {'; '.join(differences)}; give another --out")
        return saved

    def card(self, data: DataSet) -> ModelCard:
        """The card of the model, without its noise and its recipe."""
        return ModelCard(
            architecture=self.architecture,
            shape=data.shape,
            num_classes=len(data.class_names),
            levels=data.levels,
            feed=find_feed(self.architecture).value,
            data=data.name,
            binarize=self.source.binarize,
            class_names=data.class_names,
        )

    @property
    def log(self) -> Path:
        """The file with a line for each epoch that is done."""
        return Path(self.out).with_suffix(".training.csv")

    def count_epochs(self) -> int:
        """How many epochs are done."""
        return max(0, len(self.log.read_text().splitlines()) - 1) if self.log.exists() else 0


@dataclass(frozen=True)
class TrainedNetwork:
    """A network as it was saved."""

    path: Path
    saved: SavedModel


def train_networks(
    folder: ExperimentFolder,
    source: DataSource,
    noises: Mapping[str, Mapping[str, Any]],
    architecture: str,
    recipe: Recipe,
    place: Placement,
) -> dict[str, TrainedNetwork]:
    """The networks by name, each trained under its noise and saved as ``models/NAME.safetensors``.

    After every epoch a checkpoint is written, from which a stopped training goes on to the same weights.
    """
    models = folder.subfolder("models")
    tasks = [
        TrainingTask(source, noise, architecture, recipe, str((models / f"{name}.safetensors").absolute()))
        for name, noise in noises.items()
    ]
    missing = [task for task in tasks if not Path(task.out).exists()]  # written after the last epoch
    if missing:
        _train_all(folder, missing, recipe, place)
    return {name: TrainedNetwork(Path(task.out), task.load()) for name, task in zip(noises, tasks, strict=True)}


def _train_all(folder: ExperimentFolder, tasks: Sequence[TrainingTask], recipe: Recipe, place: Placement) -> None:
    epochs = sum(recipe.epochs - task.count_epochs() for task in tasks)
    seconds = epochs * _seconds_an_epoch(tasks[0])
    announce(f"{count_noun(len(tasks), 'network')} to train, {count_noun(epochs, 'epoch')}", seconds / place.cores())
    done = {task.out: task.count_epochs() for task in tasks}
    with (
        place.open_executor(
            seconds,
            lambda: f"{sum(task.count_epochs() for task in tasks) - sum(done.values())} epochs",
            str(folder.path),
        ) as executor,
        show_progress(epochs, "epochs", seconds / executor.workers) as bar,
        _follow_epochs(folder, tasks, bar),
    ):
        for name in executor.run(_train, tasks):
            folder.log(f"trained {name}")


def _train(task: TrainingTask) -> str:
    task.train()
    return Path(task.out).stem


def _seconds_an_epoch(task: TrainingTask) -> float:
    """How long an epoch takes on one core, by a short trial: only to say it beforehand."""
    data = task.source.load()
    levels = make_noise(task.noise).sample_levels
    network = build(task.architecture, data.shape, len(data.class_names), levels, {})
    batch = task.recipe.batch_for(len(data.labels)) * task.recipe.copies
    as_levels = find_feed(task.architecture) is Feed.LEVELS
    samples = torch.randint(levels, (batch, *data.shape)) if as_levels else torch.rand(batch, *data.shape)
    labels = torch.zeros(batch, dtype=torch.int64)
    start = time.perf_counter()
    with use_one_thread():
        for _ in range(_PROBE_STEPS):
            nn.functional.cross_entropy(network(samples), labels).backward()  # type: ignore[no-untyped-call]
    return (time.perf_counter() - start) / _PROBE_STEPS * task.recipe.copies * len(data.labels) / batch


@contextmanager
def _follow_epochs(folder: ExperimentFolder, tasks: Sequence[TrainingTask], bar: Progress) -> Iterator[None]:
    """Show epochs as they end in other processes: each adds a line to its training's log."""
    ended = threading.Event()
    before = sum(task.count_epochs() for task in tasks)

    def follow() -> None:
        seen = before
        while not ended.wait(_POLL_SECONDS):
            now = sum(task.count_epochs() for task in tasks)
            if now > seen:
                bar.advance(now - seen)
                seen = now
                folder.log_progress(f"{now - before} epochs trained")

    thread = threading.Thread(target=follow, name="ellzero-epochs", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
