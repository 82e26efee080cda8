"""The figure of an image as it is, and as networks see it under each noise."""

from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.core.plotting import draw_figure
from ellzero.smoothing.data.datasets import Levels
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key

_COLUMNS = 3
_INCHES = 2.6


def plot_noisy_images(image: Levels, noises: Mapping[str, NoiseFamily], seed: int, out: Path) -> None:
    """Draw an image of 3 channels, and one noisy copy of it for each noise, below its name."""
    shown = {"image": _to_pixels(image, 256)}
    shown |= {name: draw_noisy(image, noise, seed) for name, noise in noises.items()}
    rows = ceil(len(shown) / _COLUMNS)
    with draw_figure(out, (_COLUMNS * _INCHES, rows * (_INCHES + 0.2))) as figure:
        panels = figure.subplots(rows, _COLUMNS, squeeze=False).flat
        for panel in panels:
            panel.set_axis_off()
        for panel, (name, pixels) in zip(figure.axes, shown.items(), strict=False):
            panel.imshow(pixels, interpolation="nearest")
            panel.set_title(name)


def draw_noisy(image: Levels, noise: NoiseFamily, seed: int) -> NDArray[np.uint8]:
    """One noisy copy of an image, rows first; what Gaussian noise moves out of the range is shown at its end."""
    source = open_source(stream_key(seed, noise.tag, image), Stage.SHOW, 0)
    return _to_pixels(noise.sample(image, source, 1)[0], noise.levels)


def _to_pixels(image: NDArray[Any], levels: int) -> NDArray[np.uint8]:
    scaled = image.clip(0, 1) if image.dtype.kind == "f" else image / (levels - 1)
    return np.moveaxis((scaled * 255).round().astype(np.uint8), 0, 2)
