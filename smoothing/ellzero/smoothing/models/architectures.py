"""Architectures that a model file may name: code that ships, and factories that an operator allows."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.smoothing.errors import BadModelFile, UnknownModel

Factory = Callable[..., nn.Module]
"""Called with ``shape``, ``num_classes``, ``levels`` and the model's own configuration as keywords."""

_SMALLEST_WITHOUT_PADDING = 16


class Standardise(nn.Module):
    """Values in [0, 1] to [−1, 1]. Part of the model, so that noise comes before it."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - 0.5) / 0.5


def paper_cnn(*, shape: Sequence[int], num_classes: int, levels: int) -> nn.Module:
    """The CNN of the paper's MNIST experiments: two convolutions of 5×5, two layers on top.

    Images too small for it (the digits, 8×8) are padded, so that a convolution keeps their size.
    """
    if len(shape) != 3 or min(shape[1:]) < 4:
        raise InvalidInput("architecture", "mlp for inputs that are no images of at least 4×4", "paper-cnn")
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


def resnet50(*, shape: Sequence[int], num_classes: int, levels: int) -> nn.Module:
    """The paper's network for ImageNet, from torchvision, standardised by ImageNet's means and deviations."""
    try:
        from torchvision.models import resnet50 as made  # type: ignore[import-not-found,unused-ignore]
        from torchvision.transforms import Normalize  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise UnknownModel("architecture without torchvision", "resnet50", ("paper-cnn", "mlp")) from None
    return nn.Sequential(Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)), made(num_classes=num_classes))


_SHIPPED: Mapping[str, Factory] = {"paper-cnn": paper_cnn, "mlp": mlp, "resnet50": resnet50}
ARCHITECTURES = tuple(_SHIPPED)


def build(
    name: str,
    shape: Sequence[int],
    num_classes: int,
    levels: int,
    config: Mapping[str, Any],
    allowed: Sequence[str] = (),
) -> nn.Module:
    """The network called ``name``, without weights: one that ships, or ``module:factory`` if it is among ``allowed``.

    A factory is code that runs here, so a model file alone must not choose it.
    """
    factory = _SHIPPED.get(name)
    if factory is None:
        factory = _allowed_factory(name, allowed)
    try:
        network = factory(shape=tuple(shape), num_classes=num_classes, levels=levels, **config)
    except EllzeroError:
        raise
    except Exception as error:  # a factory is anybody's code
        raise BadModelFile(f"architecture {name}", f"cannot be built: {first_line(error)}") from error
    if not isinstance(network, nn.Module):
        raise BadModelFile(f"architecture {name}", f"made a {type(network).__name__} instead of a torch module")
    return network


def first_line(error: Exception) -> str:
    """What an error says, in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _allowed_factory(name: str, allowed: Sequence[str]) -> Factory:
    if ":" not in name:
        raise UnknownModel("architecture", name, (*ARCHITECTURES, *allowed))
    if name not in allowed:
        raise BadModelFile(f"architecture {name}", f"is code that nobody has allowed; --allow-factory {name} does")
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:  # a module is anybody's code
        raise BadModelFile(f"architecture {name}", f"cannot be imported: {first_line(error)}") from error
    if not callable(found):
        raise BadModelFile(f"architecture {name}", "is not a function")
    factory: Factory = found
    return factory
