"""Architectures that a model file may name: those that ship, and factories that an operator allows.

An architecture may declare its feed: the network of a factory with an attribute ``feed = "levels"`` gets integers, as
for tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.core.text import first_line
from ellzero.smoothing.errors import BadModelFile, UnknownModel
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.models.resnet import RESNET50_LAYERS, RESNET50_WIDTH, ResNet
from ellzero.smoothing.models.strided_cnn import ShownPlanes, masked_cnn, strided_cnn

Factory = Callable[..., nn.Module]
"""Called with ``shape``, ``num_classes``, ``levels`` and the model's own configuration as keywords.

``levels`` are those of noisy inputs: more than those of inputs where noise shows symbols of its own.
"""

_SMALLEST_WITHOUT_PADDING = 16
_SMALLEST_FOR_RESNET = 32


class Standardise(nn.Module):
    """Values in [0, 1] to [−1, 1]. Part of the model, so that noise comes before it."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - 0.5) / 0.5


def paper_cnn(*, shape: Sequence[int], num_classes: int, levels: int) -> nn.Module:
    """The CNN of the paper's MNIST experiments: two convolutions of 5×5, two layers on top.

    Images too small for it (the digits, 8×8) are padded, so that a convolution keeps their size.
    """
    if len(shape) != 3 or min(shape[1:]) < 4:
        raise InvalidInput("architecture", "mlp for inputs that are not images of at least 4×4", "paper-cnn")
    channels, height, width = shape
    padding = 0 if min(height, width) >= _SMALLEST_WITHOUT_PADDING else 2
    convolutions = nn.Sequential(
        Standardise(),
        nn.Conv2d(channels, 20, 5, padding=padding),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5, padding=padding),
        nn.ReLU(),
        nn.Dropout2d(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    )
    with torch.no_grad():
        features = convolutions(torch.zeros(1, *shape)).shape[1]
    return nn.Sequential(*convolutions, nn.Linear(features, 500), nn.ReLU(), nn.Linear(500, num_classes))


def masked_paper_cnn(*, shape: Sequence[int], num_classes: int, levels: int) -> nn.Module:
    """`paper_cnn` on `ShownPlanes`, for noises that hide pixels."""
    if levels < 3:
        raise InvalidInput("architecture", "another one for noises that hide nothing", "masked-paper-cnn")
    planes = (2 * shape[0], *shape[1:])
    return nn.Sequential(ShownPlanes(levels), paper_cnn(shape=planes, num_classes=num_classes, levels=levels))


masked_paper_cnn.feed = Feed.LEVELS.value  # type: ignore[attr-defined]


def mlp(*, shape: Sequence[int], num_classes: int, levels: int, width: int = 256, depth: int = 2) -> nn.Module:
    """A perceptron with hidden layers, for inputs of any shape."""
    read_integer(width, "width", 1, 2**31 - 1)
    read_integer(depth, "depth", 0, 1_000)
    layers: list[nn.Module] = [Standardise(), nn.Flatten()]
    size = torch.Size(shape).numel()
    for _ in range(depth):
        layers += [nn.Linear(size, width), nn.ReLU()]
        size = width
    return nn.Sequential(*layers, nn.Linear(size, num_classes))


class MeanEmbedding(nn.Module):
    """The mean of the embeddings of all tokens of an input but ``padding``: (samples, …) int64 to (samples, width)."""

    def __init__(self, levels: int, width: int, padding: int | None = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(levels, width)
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(1)
        embedded: Tensor = self.embedding(tokens)
        if self.padding is None:
            return embedded.mean(1)
        shown = (tokens != self.padding).unsqueeze(2)
        return (embedded * shown).sum(1) / shown.sum(1).clamp(min=1)


def token_mean(
    *, shape: Sequence[int], num_classes: int, levels: int, width: int = 64, padding: int | None = None
) -> nn.Module:
    """A bag of tokens: an embedding of each level, their mean, and a perceptron with one hidden layer.

    ``padding``: the level that sequences of different lengths are filled with, which does not count.
    """
    read_integer(width, "width", 1, 2**31 - 1)
    if padding is not None:
        read_integer(padding, "padding", 0, levels - 1)
    return nn.Sequential(
        MeanEmbedding(levels, width, padding), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, num_classes)
    )


token_mean.feed = Feed.LEVELS.value  # type: ignore[attr-defined]


class StandardiseChannels(nn.Module):
    """Each channel of values in [0, 1] minus its mean, divided by its deviation. Part of the model, like `Standardise`.

    Means and deviations are constants of the architecture, so they are not among its weights.
    """

    means: Tensor
    deviations: Tensor

    def __init__(self, means: Sequence[float], deviations: Sequence[float]) -> None:
        super().__init__()
        for name, values in (("means", means), ("deviations", deviations)):
            self.register_buffer(name, torch.tensor(values).view(-1, 1, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.means) / self.deviations


IMAGENET_MEANS = (0.485, 0.456, 0.406)
IMAGENET_DEVIATIONS = (0.229, 0.224, 0.225)


def resnet50(
    *,
    shape: Sequence[int],
    num_classes: int,
    levels: int,
    layers: Sequence[int] = RESNET50_LAYERS,
    width: int = RESNET50_WIDTH,
) -> nn.Module:
    """The paper's network for ImageNet, standardised by ImageNet's means and deviations.

    ``layers`` and ``width`` as in `ResNet` make smaller networks of the same kind.
    """
    if len(shape) != 3 or shape[0] != 3 or min(shape[1:]) < _SMALLEST_FOR_RESNET:
        side = _SMALLEST_FOR_RESNET
        raise InvalidInput("architecture", f"mlp for inputs that are not images of 3×{side}×{side} or more", "resnet50")
    return nn.Sequential(StandardiseChannels(IMAGENET_MEANS, IMAGENET_DEVIATIONS), ResNet(num_classes, layers, width))


_SHIPPED: Mapping[str, Factory] = {
    "paper-cnn": paper_cnn,
    "masked-paper-cnn": masked_paper_cnn,
    "strided-cnn": strided_cnn,
    "masked-cnn": masked_cnn,
    "mlp": mlp,
    "token-mean": token_mean,
    "resnet50": resnet50,
}
ARCHITECTURES = tuple(_SHIPPED)


def build(
    name: str,
    shape: Sequence[int],
    num_classes: int,
    levels: int,
    config: Mapping[str, Any],
    allowed: Sequence[str] = (),
) -> nn.Module:
    """Build the network called ``name``, without weights: one that ships, or a ``module:factory`` in ``allowed``.

    A factory is code that runs here, so a model file alone must not choose it.
    """
    network = call_factory(name, shape, num_classes, levels, config, allowed)
    if not isinstance(network, nn.Module):
        raise BadModelFile(f"architecture {name}", f"returned {type(network).__name__} instead of a torch module")
    return network


def call_factory(
    name: str,
    shape: Sequence[int],
    num_classes: int,
    levels: int,
    config: Mapping[str, Any],
    allowed: Sequence[str] = (),
) -> Any:
    """What the factory called ``name`` returns: one that ships, or a ``module:factory`` in ``allowed``."""
    factory: Callable[..., Any] = _find_factory(name, allowed)
    try:
        return factory(shape=tuple(shape), num_classes=num_classes, levels=levels, **config)
    except EllzeroError:
        raise
    except Exception as error:  # a factory can raise anything
        raise BadModelFile(f"architecture {name}", f"cannot be built: {first_line(error)}") from error


def find_feed(name: str, allowed: Sequence[str] = ()) -> Feed:
    """The feed that the architecture declares; values scaled to [0, 1] if it declares none."""
    return Feed.of(getattr(_find_factory(name, allowed), "feed", Feed.SCALED))


def _find_factory(name: str, allowed: Sequence[str]) -> Factory:
    return _SHIPPED.get(name) or _allowed_factory(name, allowed)


def _allowed_factory(name: str, allowed: Sequence[str]) -> Factory:
    if ":" not in name:
        raise UnknownModel("architecture", name, (*ARCHITECTURES, *allowed))
    if name not in allowed:
        raise BadModelFile(
            f"architecture {name}", f"is code that has not been allowed; --allow-factory {name} allows it"
        )
    module, _, attribute = name.partition(":")
    try:
        factory: Factory = getattr(import_module(module), attribute)
    except Exception as error:  # importing a module can raise anything
        raise BadModelFile(f"architecture {name}", f"cannot be imported: {first_line(error)}") from error
    if not callable(factory):
        raise BadModelFile(f"architecture {name}", "is not a function")
    return factory
