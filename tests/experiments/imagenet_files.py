"""A small stand-in for ImageNet: images of noise in folders of classes, and small networks with random weights."""

from collections.abc import Sequence
from pathlib import Path

import torch
from smoothing.data_writers import write_image
from torch import nn

from ellzero.experiments.imagenet_weights import NoiseLevel
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import save_model

CLASSES = ("n01", "n02", "n03")
SIZE = 32
CONFIG = {"layers": [1, 1, 1, 1], "width": 4}


def write_images(
    folder: Path, splits: Sequence[str] = ("val",), count: int = 5, classes: Sequence[str] = CLASSES
) -> Path:
    for split in splits:
        for place, name in enumerate(classes):
            for number in range(count):
                write_image(folder / split / name / f"{number}.png", 50, 40, place * count + number)
    return folder


def small_network(seed: int, card: ModelCard) -> nn.Module:
    """Random weights whose scores depend on the input: those of a new network hardly do."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = build(card.architecture, card.shape, card.num_classes, card.levels, card.config)
        last = list(network.modules())[-1]
        assert isinstance(last, nn.Linear)
        nn.init.normal_(last.weight)
    return network


def write_weights(
    folder: Path, *levels: NoiseLevel, classes: int = len(CLASSES), size: int = SIZE, names: tuple[str, ...] = ()
) -> Path:
    folder.mkdir(exist_ok=True)
    for seed, level in enumerate(levels):
        noise = level.make_noise()
        card = ModelCard(
            "resnet50",
            (3, size, size),
            classes,
            256,
            config=CONFIG,
            noise=dict(noise.description()),
            class_names=names,
        )
        save_model(folder / f"{level.name}.safetensors", small_network(seed, card), card)
    return folder
