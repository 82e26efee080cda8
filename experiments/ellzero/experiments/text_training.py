"""The network of the experiment on sentences, a bag of words, and its training on noisy ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn

from ellzero.experiments.one_thread import use_one_thread
from ellzero.experiments.text_data import MASK, PADDING
from ellzero.experiments.text_settings import TextSettings
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.models.files import SavedModel, load_model, save_model
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.training_noise import add_noise

FACTORY: Final = "ellzero.experiments.text_training:token_scores"
_VALIDATION_COPIES = 3


class TokenScores(nn.Module):
    """Every token has a score for each class, and a sentence the sum of those of its tokens, plus a constant.

    Tokens of ``silent`` say nothing: padding, and hidden ones. The loss is convex, so that training begins at 0.
    """

    heard: Tensor

    def __init__(self, levels: int, num_classes: int, silent: Sequence[int]) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(levels, num_classes))
        self.constant = nn.Parameter(torch.zeros(num_classes))
        heard = torch.ones(levels)
        heard[list(silent)] = 0
        self.register_buffer("heard", heard, persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        weights = self.heard[tokens]
        summed = nn.functional.embedding_bag(tokens, self.scores, mode="sum", per_sample_weights=weights)
        return summed + self.constant


def token_scores(*, shape: Sequence[int], num_classes: int, levels: int, silent: Sequence[int]) -> nn.Module:
    """The network for sentences of any shape, as a model file names it."""
    return TokenScores(levels, num_classes, silent)


token_scores.feed = Feed.LEVELS.value  # type: ignore[attr-defined]


def train_network(
    training: DataSet, validation: DataSet, noise: NoiseFamily, settings: TextSettings, out: Path
) -> SavedModel:
    """The network trained under this noise, saved as ``out``; one that is there is loaded, and not trained again.

    Cross entropy on one noisy copy of each sentence an epoch, by Adam. Of all epochs the one counts that is right most
    often on noisy validation sentences.
    """
    if not out.exists():  # written after the last epoch
        network = token_scores(
            shape=training.shape,
            num_classes=len(training.class_names),
            levels=training.levels,
            silent=(PADDING, MASK),
        )
        with use_one_thread(), torch.random.fork_rng(devices=[]):
            accuracy = _fit(network, training, validation, noise, settings)
        save_model(out, network, _make_card(training, noise, settings, accuracy))
    return load_model(out, (FACTORY,))


def _make_card(training: DataSet, noise: NoiseFamily, settings: TextSettings, accuracy: float) -> ModelCard:
    recipe = {"epochs": settings.epochs, "batch": settings.batch, "rate": settings.rate, "seed": settings.seed}
    return ModelCard(
        architecture=FACTORY,
        shape=training.shape,
        num_classes=len(training.class_names),
        levels=training.levels,
        feed=Feed.LEVELS.value,
        config={"silent": [PADDING, MASK]},
        noise=dict(noise.description()),
        data=training.name,
        class_names=training.class_names,
        training={**recipe, "inputs": len(training.labels), "validation": accuracy},
    )


def _fit(
    network: nn.Module, training: DataSet, validation: DataSet, noise: NoiseFamily, settings: TextSettings
) -> float:
    """Train to the end, leave the weights of the best epoch, and return its accuracy on noisy validation sentences."""
    torch.manual_seed(settings.seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.rate)
    tokens, labels, padding = _load(training)
    best, best_weights, step = -1.0, dict[str, Any](), 0
    for _ in range(settings.epochs):
        for places in torch.split(torch.randperm(len(labels)), settings.batch):
            noisy = add_noise(
                tokens[places], noise, seed=settings.seed, step=step, feed="levels", protected=padding[places]
            )
            loss = nn.functional.cross_entropy(network(noisy), labels[places])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            step += 1
        accuracy = _measure(network, validation, noise, settings.seed + 1)
        if accuracy > best:
            best, best_weights = accuracy, {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best_weights)
    return best


def _measure(network: nn.Module, data: DataSet, noise: NoiseFamily, seed: int) -> float:
    """The share of noisy copies of all inputs that are right; the copies are the same after every epoch."""
    tokens, labels, padding = _load(data)
    right = 0
    with torch.inference_mode():
        for copy in range(_VALIDATION_COPIES):
            noisy = add_noise(tokens, noise, seed=seed, step=copy, feed="levels", protected=padding)
            right += int((network(noisy).argmax(1) == labels).sum())
    return right / (_VALIDATION_COPIES * len(labels))


def _load(data: DataSet) -> tuple[Tensor, Tensor, Tensor]:
    """All inputs of a data set, their classes, and where padding is."""
    every = range(len(data.labels))
    tokens = torch.from_numpy(data.inputs(every))
    return tokens, torch.from_numpy(data.labels), tokens == PADDING
