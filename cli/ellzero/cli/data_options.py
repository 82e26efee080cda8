"""Options that commands share, for data and noise. A command gets each group of them as one object."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from math import prod
from pathlib import Path
from typing import Any

import click

from ellzero.cli.family_options import FILES, read_description
from ellzero.cli.parameters import IntegerRange
from ellzero.core.errors import InvalidInput
from ellzero.core.text import first_line
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.data.loading import SPLITS
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.noise.registry import make_noise

_ALLOW = "ELLZERO_ALLOW_FACTORIES"
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "discrete": ("alpha",),
    "gaussian": ("sigma",),
    "rounded-gaussian": ("alpha",),
    "uniform": ("gamma",),
    "sparse": ("p_add", "p_del"),
    "sparse-levels": ("p_add", "p_del"),
    "mask": ("m",),
    "ablation": ("keep",),
    "deletion": ("m",),
}
_HIDING = ("mask", "ablation")
_BITS, _BYTES = 2, 256
_NAMES = tuple(dict.fromkeys(name for names in _PARAMETERS.values() for name in names))


@dataclass(frozen=True)
class DataOptions:
    """The data set that options name."""

    uri: str
    split: str
    binarize: int | None
    image_size: int

    def source(self, k: int | None, card: ModelCard | None = None) -> DataSource:
        """Where its inputs come from. Unless options say otherwise they are read as for the training of the model: they
        have as many levels, if they do not say how many, and are binarized at the same level."""
        binarize = card.binarize if self.binarize is None and card is not None else self.binarize
        known = card.levels - 1 if k is None and card is not None else k
        levels = None if binarize is not None else known
        return DataSource(self.uri, self.split, levels, self.image_size, binarize)


@dataclass(frozen=True)
class NoiseOptions:
    """The noise that options name; an option that is not used is None.

    ``family`` is a name, or a file that describes any noise; ``amounts`` has the parameters of those with a name.
    ``mask_token`` is what hidden tokens become, by default a level of their own.
    """

    family: str | None
    k: int | None
    unit: str | None
    mask_token: int | None
    amounts: Mapping[str, str | int | None]

    def description(self, trained: Mapping[str, Any], data: DataSet) -> dict[str, Any]:
        """The description of the noise; parameters without an option are those of the training."""
        family = self.family or trained.get("family", "discrete")
        levels = self._levels(data)
        names = _PARAMETERS.get(family, ())
        self._check_others(family, names)
        if not names:  # it states its own parameters, in a file or in the model's card
            if self.unit is not None:
                raise click.UsageError(f"--unit is for discrete noise, and this is {family}")
            stated = read_description(Path(family), "--noise") if family.endswith(FILES) else trained
            return _complete(stated, family)
        same = trained if _PARAMETERS.get(trained.get("family", "")) == names else {}
        amounts = {name: same.get(name) if self.amounts[name] is None else self.amounts[name] for name in names}
        if None in amounts.values():
            options = " and ".join(map(_option, names))
            raise click.UsageError(f"give {options}, the amount{'s' if len(names) > 1 else ''} of {family} noise")
        if family in ("sparse", "rounded-gaussian") and levels != _BITS:
            ways = ["--k 1 says so if they are bits"] if self.k is None and data.levels == _BYTES else []
            ways += [f"--binarize {levels // 2} turns them into bits"]
            ways += ["--noise sparse-levels is for more levels"] if family == "sparse" else []
            raise BadData(data.name, f"has levels 0..{levels - 1}, and {family} noise is for bits; {', '.join(ways)}")
        unit = self.unit or same.get("unit", "coordinate")
        mask_token = self.mask_token
        if mask_token is None and family in _HIDING and trained.get("family") in _HIDING:
            mask_token = trained.get("mask_token")
        if mask_token is not None and family not in _HIDING:
            raise click.UsageError(f"--mask-token is for {' and '.join(_HIDING)} noise, and this is {family}")
        if unit == "pixel" and family != "discrete":
            raise click.UsageError("--unit pixel is for discrete noise")
        if unit == "pixel" and len(data.shape) != 3:
            raise InvalidInput("unit", f"coordinate for inputs of shape {data.shape}, which are not images", unit)
        shape = {"channels": data.shape[0] if unit == "pixel" else 1, "d": prod(data.shape), "length": data.shape[0]}
        shape = shape if mask_token is None else {**shape, "mask_token": mask_token}
        return _complete({"family": family, **amounts, "unit": unit, "levels": levels, **shape}, family)

    def _check_others(self, family: str, names: tuple[str, ...]) -> None:
        """An option that is a parameter of other families is an error."""
        for other, parameters in _PARAMETERS.items():
            for name in parameters:
                if name not in names and self.amounts[name] is not None:
                    raise click.UsageError(f"{_option(name)} is for {other} noise, and this is {family}")

    def _levels(self, data: DataSet) -> int:
        if self.k is None or self.k == data.levels - 1:
            return data.levels
        advice = f"; --binarize {data.levels // 2} turns them into bits" if self.k == 1 else ""
        raise BadData(data.name, f"has levels 0..{data.levels - 1}, and --k {self.k} is for 0..{self.k}{advice}")


def _complete(description: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The description as the noise itself writes it; in one line what is wrong with it."""
    try:
        return dict(make_noise(description).description())
    except InvalidInput:
        raise
    except KeyError as error:
        raise InvalidInput(source, f"a noise with the key {error.args[0]}", None) from None
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput(source, "a noise as its description() states it", first_line(error)) from None


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def noise_options(command: Callable[..., None]) -> Callable[..., None]:
    """--noise, --k, --unit, and the parameters of each noise, as ``noise``."""

    @wraps(command)
    def wrapper(family: str | None, k: int | None, unit: str | None, mask_token: int | None, **others: Any) -> None:
        amounts = {name: others.pop(name) for name in _NAMES}
        command(noise=NoiseOptions(family, k, unit, mask_token, amounts), **others)

    for option in (
        click.option(
            "--mask-token",
            type=IntegerRange(min=0),
            help="Mask, ablation: the level that hidden tokens become, such as a tokenizer's [MASK]. By default one of "
            "their own.",
        ),
        click.option("--keep", type=IntegerRange(min=1), help="Ablation: how many numbers of an input are shown."),
        click.option("--m", help="Mask, deletion: the probability that a number is hidden, or a symbol deleted."),
        click.option("--p-del", help="Sparse noise: the probability that a value other than 0 changes."),
        click.option("--p-add", help="Sparse noise: the probability that a 0 changes."),
        click.option("--gamma", help="Uniform noise on [−γ, γ], in units of the whole range of levels."),
        click.option("--sigma", help="Standard deviation of Gaussian noise, in units of the whole range of levels."),
        click.option(
            "--unit",
            type=click.Choice(["coordinate", "pixel"]),
            help="What counts as one change; coordinate by default.",
        ),
        click.option("--alpha", help="Discrete noise: total probability that a value stays, such as 0.8 or 4/5."),
        click.option(
            "--k", type=IntegerRange(min=1), help="Levels of the inputs minus one; by default taken from the data."
        ),
        click.option(
            "--noise",
            "family",
            metavar="NAME|FILE",
            callback=_check_name,
            help=f"The noise: {', '.join(_PARAMETERS)}; or a .json or .toml file that describes any other. By default "
            "the model's, or discrete.",
        ),
    ):
        wrapper = option(wrapper)
    return wrapper


def _check_name(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and value not in _PARAMETERS and not value.endswith(FILES):
        names = ", ".join(_PARAMETERS)
        raise click.UsageError(f"--noise must be {names}, or a .json or .toml file; got '{value}'", context)
    return value


def data_options(
    split: str, splits: Sequence[str] = SPLITS, split_help: str = "Which part of the data to use."
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--data, --split, --binarize and --image-size, as ``data``."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def wrapper(uri: str, split: str, binarize: int | None, image_size: int, **others: Any) -> None:
            command(data=DataOptions(uri, split, binarize, image_size), **others)

        for option in (
            click.option(
                "--image-size",
                type=IntegerRange(1, 10_000),
                default=224,
                show_default=True,
                help="Side of the square that images are cropped to, for folders of images.",
            ),
            click.option("--binarize", type=IntegerRange(min=1), help="Turn levels into bits: 1 from this level on."),
            click.option(
                "--split",
                type=click.Choice(splits),
                default=split,
                show_default=True,
                help=split_help,
            ),
            click.option(
                "--data",
                "uri",
                default="digits",
                show_default=True,
                help="digits; a folder of idx files, CIFAR-10 batches or images; an .npz or .parquet file.",
            ),
        ):
            wrapper = option(wrapper)
        return wrapper

    return decorate


def factory_option(command: Callable[..., None]) -> Callable[..., None]:
    """--allow-factory."""
    return click.option(
        "--allow-factory",
        "allowed",
        multiple=True,
        envvar=_ALLOW,
        help="A module:function that may build networks. Its code is executed.",
    )(command)
