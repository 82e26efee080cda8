"""The weights of the experiment on ImageNet: a file for each noise, named after it, as models that can vote.

A folder of weights holds ``alpha-0.1`` for the discrete noise with α = 0.1 and ``sigma-0.5`` for Gaussian noise with
σ = 0.5, each as a model of ellzero (``.safetensors``), as a checkpoint of ``torch.save`` (``.pth.tar``, ``.pth``,
``.pt``), or as a folder of that name with a ``checkpoint.pth.tar``, as the training scripts of the paper leave it.
"""

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Final

from ellzero.core.errors import InvalidInput
from ellzero.core.progress import notify
from ellzero.experiments.published import IMAGENET_K
from ellzero.smoothing.errors import BadModelFile
from ellzero.smoothing.models.checkpoints import import_checkpoint
from ellzero.smoothing.models.files import ModelFile
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.continuous import GaussianNoise
from ellzero.smoothing.noise.discrete import DiscreteNoise
from ellzero.smoothing.noise.registry import describe_noise
from ellzero.smoothing.training import IMAGENET_RECIPE

MODEL: Final = ".safetensors"
IMAGENET_SIDE: Final = 224
_AMOUNT = re.compile(r"\d{1,20}(\.\d{1,20})?", re.ASCII)
ENDINGS: Final = (MODEL, ".pth.tar", ".pth", ".pt", "/checkpoint.pth.tar")


@dataclass(frozen=True)
class NoiseLevel:
    """A noise of the experiment: ``parameter`` is alpha or sigma, ``amount`` its number as files are named by it."""

    parameter: str
    amount: str

    def __post_init__(self) -> None:
        if not _AMOUNT.fullmatch(self.amount) or not Decimal(self.amount):
            raise InvalidInput(self.parameter, "decimals above 0, such as 0.1", self.amount)
        self.make_noise()

    @property
    def name(self) -> str:
        """The name of its files, such as ``alpha-0.1``."""
        return f"{self.parameter}-{self.amount}"

    @property
    def title(self) -> str:
        """The noise in figures, such as ``α = 0.1``."""
        return f"{'α' if self.parameter == 'alpha' else 'σ'} = {self.amount}"

    def make_noise(self) -> NoiseFamily:
        """The noise on images of 256 levels, coordinate by coordinate."""
        if self.parameter == "sigma":
            return GaussianNoise(self.amount, k=IMAGENET_K)
        return DiscreteNoise(IMAGENET_K, self.amount)


def find_weights(folder: Path, levels: Sequence[NoiseLevel], data: Path | None) -> list[Path]:
    """The file of weights for each noise. The error names all that are missing; before it, the user is told the
    commands that train them on ``data``, if there is a folder to train on.
    """
    if folder.exists() and not folder.is_dir():
        raise BadModelFile(str(folder), "is not a folder of weights")
    found = {level: path for level in levels if (path := _find_file(folder, level)) is not None}
    missing = [level for level in levels if level not in found]
    if data is not None:
        for level in missing:
            notify(f"trains {level.name}: {format_training(level, data, folder)}")
    if missing:
        names = ", ".join(level.name for level in missing)
        raise BadModelFile(str(folder), f"has no weights for {names}; their names end in {_list_endings()}")
    return [found[level] for level in levels]


def _find_file(folder: Path, level: NoiseLevel) -> Path | None:
    paths = (folder / f"{level.name}{ending}" for ending in ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def _list_endings() -> str:
    return f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"


def find_sigmas(folder: Path) -> list[str]:
    """The σ of all weights for Gaussian noise in a folder, ascending."""
    found = set()
    for ending in ENDINGS:
        for path in folder.glob(f"sigma-*{ending}"):
            amount = path.relative_to(folder).as_posix().removeprefix("sigma-").removesuffix(ending)
            if _AMOUNT.fullmatch(amount) and path.is_file():
                found.add(amount)
    return sorted(found, key=Decimal)


def format_training(level: NoiseLevel, data: Path, folder: Path) -> str:
    """The command that trains ResNet-50 by the paper's recipe, and writes it where `find_weights` looks."""
    recipe = IMAGENET_RECIPE
    noise = f"--{level.parameter} {level.amount}"
    if level.parameter == "sigma":
        noise = f"--noise gaussian {noise}"
    return (
        f"ellzero train --data {shlex.quote(str(data))} --architecture resnet50 {noise} "
        f"--epochs {recipe.epochs} --batch {recipe.batch} --rate {recipe.rate:g} --decay-every {recipe.decay_every} "
        f"--no-nesterov --crop --out {shlex.quote(str(folder / (level.name + MODEL)))}"
    )


def find_image_size(weights: Sequence[Path]) -> int:
    """The side of the square images that all models take: 224 for checkpoints, which do not state it."""
    sizes: dict[int, Path] = {}
    for file in weights:
        shape = ModelFile.read(file).card.shape if file.suffix == MODEL else (3, IMAGENET_SIDE, IMAGENET_SIDE)
        if len(shape) != 3 or shape[0] != 3 or shape[1] != shape[2]:
            raise BadModelFile(
                str(file), f"takes inputs of shape {shape}, and square images with 3 channels are needed"
            )
        sizes.setdefault(shape[1], file)
    if len(sizes) > 1:
        (size, _), (other, file) = list(sizes.items())[:2]
        raise BadModelFile(str(file), f"takes images of {other}×{other}, and other weights take {size}×{size}")
    return next(iter(sizes))


def prepare_model(level: NoiseLevel, weights: Path, models: Path) -> Path:
    """A model of ellzero with these weights: the file itself, or one made of a checkpoint in the folder ``models``.

    Raises `BadModelFile` if the weights are for another noise.
    """
    noise = level.make_noise()
    if weights.suffix == MODEL:
        card = ModelFile.read(weights).card
        if dict(card.noise) != dict(noise.description()):
            trained = describe_noise(card.noise) if card.noise else "a noise that it does not state"
            needed = describe_noise(noise.description())
            raise BadModelFile(str(weights), f"was trained with {trained}, and its name says {needed}")
        return weights
    target = models / f"{level.name}{MODEL}"
    if not (target.is_file() and ModelFile.read(target).card.training.get("sha256") == _digest(weights)):
        import_checkpoint(weights, target, noise, IMAGENET_SIDE)
    return target


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_levels(parameter: str, amounts: Sequence[str]) -> list[NoiseLevel]:
    """A noise for each amount, each once."""
    levels = [NoiseLevel(parameter, amount) for amount in amounts]
    if len({Decimal(level.amount) for level in levels}) < len(levels):
        raise InvalidInput(parameter, "different numbers", ", ".join(amounts))
    return levels
