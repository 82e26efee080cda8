"""A stand-in for ImageNet and its weights: scikit-learn's digits as images, and small ResNets trained on them.

It takes the same way as the experiment: folders of images, the recipe with its random crops, model files.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from PIL import Image

from ellzero.experiments.imagenet_weights import MODEL, NoiseLevel
from ellzero.smoothing.data.loading import DIGITS, SPLITS, load_data
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.training import IMAGENET_RECIPE, Training

IMAGE_SIZE = 32
_SIDE = 37  # 8/7 of that, so that images are not scaled again
_RECIPE: Final = replace(IMAGENET_RECIPE, epochs=4, batch=40, decay_every=2)
_CONFIG: Final = {"layers": [1, 1, 1, 1], "width": 8}


def write_images(data: Path) -> None:
    """Write the images; what is there already is left as it is."""
    for split, name in zip(SPLITS, ("train", "val"), strict=True):
        _write_split(data / name, split)


def train_networks(
    data: Path, weights: Path, levels: Sequence[NoiseLevel], device: torch.device, log: Callable[[str], None]
) -> None:
    """Train a small network for each noise; those that are there already are kept."""
    loaded = load_data(str(data), "train", image_size=IMAGE_SIZE)
    for level in levels:
        out = weights / f"{level.name}{MODEL}"
        if out.is_file():
            continue
        log(f"training a small network under noise with {level.parameter} = {level.amount}")
        classes = len(loaded.class_names)
        card = ModelCard(
            "resnet50", loaded.shape, classes, loaded.levels, config=_CONFIG, class_names=loaded.class_names
        )
        Training(loaded, level.make_noise(), card, _RECIPE, out, device).run()


def _write_split(folder: Path, split: str) -> None:
    """Write the digits of a split as PNG, in a folder for each class."""
    digits = load_data(DIGITS, split)
    levels = digits.inputs(range(len(digits.labels)))[:, 0].astype(np.int64)
    for number, (image, label) in enumerate(zip(levels * 255 // (digits.levels - 1), digits.labels, strict=True)):
        path = folder / digits.class_names[label] / f"{number:04d}.png"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            grey = Image.fromarray(image.astype(np.uint8))
            scratch = path.with_suffix(".tmp")
            grey.resize((_SIDE, _SIDE), Image.Resampling.BILINEAR).convert("RGB").save(scratch, "png")
            scratch.replace(path)
