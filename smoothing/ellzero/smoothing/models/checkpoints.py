"""Weights of a ResNet as others save them by ``torch.save``: the paper's released checkpoints, and torchvision's.

The training scripts of the paper, and of Cohen et al. before it, save ``{"arch", "state_dict", …}`` of a
``Sequential(normalise, DataParallel(resnet50))``, whose names begin with ``1.module.``. A normalisation that is stored
must be ours. No code of a file is run.
"""

import hashlib
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from ellzero.core.text import first_line
from ellzero.smoothing.errors import BadModelFile
from ellzero.smoothing.models.architectures import IMAGENET_DEVIATIONS, IMAGENET_MEANS, build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import save_model
from ellzero.smoothing.models.resnet import RESNET50_LAYERS, RESNET50_WIDTH, ResNet
from ellzero.smoothing.noise.base import NoiseFamily

_ARCHITECTURE = "resnet50"
_COUNTER = "num_batches_tracked"
_NORMALISATION = {
    "means": IMAGENET_MEANS,
    "mean": IMAGENET_MEANS,
    "sds": IMAGENET_DEVIATIONS,
    "std": IMAGENET_DEVIATIONS,
}
_ROUNDING = 1e-6
_GLOBAL = re.compile(r"GLOBAL (\S+)", re.ASCII)  # in torch's words, what a pickle would import


def read_checkpoint(
    path: Path, layers: Sequence[int] = RESNET50_LAYERS, width: int = RESNET50_WIDTH
) -> dict[str, Tensor]:
    """The weights of a ``ResNet(classes, layers, width)``, under its names, as float32.

    Raises `BadModelFile` with the first name that is missing, unexpected, of another shape or not finite. Only the
    counters of batches, which no forward pass uses, may be missing, as they are in files from before torch 0.4.1.
    """
    place = str(path)
    names, normalisation = _split_names(place, _read_state(path))
    _check_normalisation(place, normalisation)
    last = names.get("fc.weight")
    classes = 1 if last is None or not last.dim() else len(last)
    with torch.device("meta"):
        expected = ResNet(classes, layers, width).state_dict()
    weights = {}
    for name, model in expected.items():
        if name not in names and name.endswith(_COUNTER):
            weights[name] = torch.tensor(0)
            continue
        if name not in names:
            raise BadModelFile(place, f"lacks the weights {name} of a ResNet with layers {list(layers)}")
        value = names[name]
        if value.shape != model.shape:
            shapes = f"{tuple(value.shape)} where {tuple(model.shape)} is needed"
            raise BadModelFile(place, f"has {name} in the shape {shapes}")
        weights[name] = value.to(model.dtype)
        if value.is_floating_point() != model.is_floating_point() or not _is_usable(name, weights[name]):
            raise BadModelFile(place, f"has numbers that cannot be used in {name}")
    unexpected = [name for name in names if name not in expected]
    if unexpected:
        raise BadModelFile(place, f"has the weights {unexpected[0]}, which a ResNet with layers {list(layers)} lacks")
    return weights


def import_checkpoint(path: Path, out: Path, noise: NoiseFamily, size: int = 224) -> ModelCard:
    """Write the ResNet-50 of a checkpoint as a model for images of this size, trained with this noise."""
    weights = read_checkpoint(path)
    card = ModelCard(
        _ARCHITECTURE,
        (3, size, size),
        len(weights["fc.bias"]),
        noise.levels,
        noise=dict(noise.description()),
        training={"checkpoint": path.name, "sha256": _digest(path)},
    )
    network = build(card.architecture, card.shape, card.num_classes, card.sample_levels, card.config)
    network.load_state_dict({f"1.{name}": value for name, value in weights.items()})
    save_model(out, network, card)
    return card


def _is_usable(name: str, value: Tensor) -> bool:
    """Whether numbers are finite as the network has them, and variances are not negative."""
    return bool(torch.isfinite(value).all()) and (not name.endswith("running_var") or bool((value >= 0).all()))


def _read_state(path: Path) -> dict[str, Tensor]:
    """The tensors of a state dict by their names, from a file that is one, or that has one as ``state_dict``."""
    place = str(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise BadModelFile(place, "does not exist") from None
    except pickle.UnpicklingError as error:
        code = _GLOBAL.search(str(error))
        if code is None:
            raise BadModelFile(place, "is not a checkpoint: torch.save wrote no such file") from error
        advice = "save its state dict alone, as {'state_dict': …}"
        raise BadModelFile(place, f"holds {code[1][:80]} besides tensors, and its code is not run; {advice}") from error
    except Exception as error:  # reading a damaged file can raise anything
        old = "weights_only" in str(error)  # torch's advice is then to run the code of the file
        reason = "a tar archive can only be read by running its code" if old else first_line(error)
        raise BadModelFile(place, f"is not a checkpoint: {reason}") from error
    if isinstance(content, Mapping) and "state_dict" in content:
        arch = content.get("arch") or _ARCHITECTURE
        if arch != _ARCHITECTURE:
            raise BadModelFile(place, f"is a checkpoint of {str(arch)[:40]}, and {_ARCHITECTURE} is needed")
        content = content["state_dict"]
    if not isinstance(content, Mapping) or not content:
        raise BadModelFile(place, "is not a checkpoint: it holds no state dict")
    for name, value in content.items():
        if not isinstance(name, str) or not isinstance(value, Tensor) or value.layout is not torch.strided:
            raise BadModelFile(place, f"is not a checkpoint: {str(name)[:80]} is not a dense tensor")
        if value.is_meta:
            raise BadModelFile(place, f"is not a checkpoint: {name[:80]} has no numbers")
    return dict(content)


def _split_names(place: str, state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The tensors of the network, and those of a normalisation before it, without the names of what wraps them."""
    state = _without_module(state)
    if not all(name.startswith(("0.", "1.")) for name in state):
        return state, {}
    network = {name[2:]: value for name, value in state.items() if name.startswith("1.")}
    if not network:
        raise BadModelFile(place, "lacks the weights 1.conv1.weight")
    return _without_module(network), {name: value for name, value in state.items() if name.startswith("0.")}


def _without_module(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Names without the ``module.`` of a ``DataParallel``."""
    wrapped = all(name.startswith("module.") for name in state)
    return {name.removeprefix("module.") if wrapped else name: value for name, value in state.items()}


def _check_normalisation(place: str, stored: Mapping[str, Tensor]) -> None:
    for name, value in stored.items():
        ours = _NORMALISATION.get(name.rpartition(".")[2])
        if ours is None:
            raise BadModelFile(place, f"has {name}, which is no part of a normalisation by means and deviations")
        numbers = value.flatten().tolist()
        if len(numbers) != len(ours) or not all(abs(a - b) <= _ROUNDING for a, b in zip(numbers, ours, strict=True)):
            shown = ", ".join(f"{number:g}" for number in numbers[:4])
            raise BadModelFile(
                place, f"normalises by {name} = {shown}, and resnet50 here by {', '.join(map(str, ours))}"
            )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
