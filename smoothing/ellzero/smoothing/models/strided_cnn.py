"""A small CNN whose convolutions have strides: cheap enough for many votes, and normalised for fast training."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer

_SMALLEST = 4
_MOST_WIDTH = 2**16


class ShownPlanes(nn.Module):
    """Levels of images of which noise hides numbers, as two planes a channel: v/K and 1 − v/K where a number is shown,
    and 0 in both where it is hidden.

    The last of all levels is the hidden one; so a pixel that is shown adds 1 to the planes, whatever its value.
    """

    def __init__(self, levels: int) -> None:
        super().__init__()
        self._hidden = levels - 1

    def forward(self, x: Tensor) -> Tensor:
        shown = (x < self._hidden).float()
        values = x * shown / (self._hidden - 1)
        return torch.cat([values, shown - values], 1)


class StridedCNN(nn.Sequential):
    """Two convolutions 5×5 with stride 2, the second twice as wide, and a hidden layer; a batch norm after each."""

    def __init__(self, channels: int, height: int, width: int, num_classes: int, filters: int, hidden: int) -> None:
        features = 2 * filters * -(-height // 4) * -(-width // 4)
        super().__init__(
            *_convolve(channels, filters),
            *_convolve(filters, 2 * filters),
            nn.Flatten(),
            nn.Linear(features, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, num_classes),
        )


def strided_cnn(
    *, shape: Sequence[int], num_classes: int, levels: int, filters: int = 16, hidden: int = 256
) -> nn.Module:
    """`StridedCNN` on scaled values; by default with fewer weights than the paper's CNN on images of 28×28."""
    return StridedCNN(*_read_shape(shape, "strided-cnn"), num_classes, *_read_sizes(filters, hidden))


def masked_cnn(
    *, shape: Sequence[int], num_classes: int, levels: int, filters: int = 16, hidden: int = 256
) -> nn.Module:
    """`StridedCNN` on `ShownPlanes`, for noises that hide pixels."""
    channels, height, width = _read_shape(shape, "masked-cnn")
    if levels < 3:
        raise InvalidInput("architecture", "another one for noises that hide nothing", "masked-cnn")
    network = StridedCNN(2 * channels, height, width, num_classes, *_read_sizes(filters, hidden))
    return nn.Sequential(ShownPlanes(levels), network)


masked_cnn.feed = "levels"  # type: ignore[attr-defined]


def _convolve(channels: int, filters: int) -> list[nn.Module]:
    return [nn.Conv2d(channels, filters, 5, 2, 2, bias=False), nn.BatchNorm2d(filters), nn.ReLU()]


def _read_shape(shape: Sequence[int], name: str) -> tuple[int, int, int]:
    if len(shape) != 3 or min(shape[1:]) < _SMALLEST:
        raise InvalidInput("architecture", "mlp for inputs that are not images of at least 4×4", name)
    channels, height, width = shape
    return channels, height, width


def _read_sizes(filters: int, hidden: int) -> tuple[int, int]:
    return read_integer(filters, "filters", 1, _MOST_WIDTH), read_integer(hidden, "hidden", 1, _MOST_WIDTH)
