"""Options that commands share, for data and noise. A command gets each group of them as one object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from ellzero.cli.parameters import IntegerRange
from ellzero.core.errors import InvalidInput
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.data.loading import SPLITS
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.noise.registry import FAMILIES, make_noise

_ALLOW = "ELLZERO_ALLOW_FACTORIES"
_PARAMETERS = {"discrete": "alpha", "rounded-gaussian": "alpha", "gaussian": "sigma", "uniform": "gamma"}


@dataclass(frozen=True)
class DataOptions:
    """The data set that options name."""

    uri: str
    split: str
    binarize: int | None
    image_size: int

    def source(self, k: int | None, trained: int | None = None) -> DataSource:
        """Where its inputs come from; unless an option says otherwise, they are binarized as for training."""
        binarize = trained if self.binarize is None else self.binarize
        levels = None if k is None or binarize is not None else k
        return DataSource(self.uri, self.split, levels, self.image_size, binarize)


@dataclass(frozen=True)
class NoiseOptions:
    """The noise that options name; an option that is not used is None."""

    family: str | None
    k: int | None
    unit: str | None
    alpha: str | None
    sigma: str | None
    gamma: str | None

    def description(self, trained: Mapping[str, Any], data: DataSet) -> dict[str, Any]:
        """The description of the noise; parameters without an option are those of the training."""
        family = self.family or trained.get("family", "discrete")
        name = _PARAMETERS[family]
        same = trained if _PARAMETERS.get(trained.get("family", "")) == name else {}
        amount = self._amount(family)
        value = same.get(name) if amount is None else amount
        if value is None:
            raise click.UsageError(f"give --{name}, the amount of {family} noise")
        unit = self.unit or same.get("unit", "coordinate")
        if unit == "pixel" and family != "discrete":
            raise click.UsageError("--unit pixel is for discrete noise")
        if unit == "pixel" and len(data.shape) != 3:
            raise InvalidInput("unit", f"coordinate for inputs of shape {data.shape}, which are not images", unit)
        channels = data.shape[0] if unit == "pixel" else 1
        description = {"family": family, name: value, "unit": unit, "levels": self._levels(data), "channels": channels}
        return dict(make_noise(description).description())

    def _amount(self, family: str) -> str | None:
        """The amount of this family's noise; an option of another family is an error."""
        for other, name in _PARAMETERS.items():
            if name != _PARAMETERS[family] and getattr(self, name) is not None:
                raise click.UsageError(f"--{name} is for {other} noise, and this is {family}")
        amount: str | None = getattr(self, _PARAMETERS[family])
        return amount

    def _levels(self, data: DataSet) -> int:
        if self.k is None or self.k == data.levels - 1:
            return data.levels
        advice = f"; --binarize {data.levels // 2} turns them into bits" if self.k == 1 else ""
        raise BadData(data.name, f"has levels 0..{data.levels - 1}, and --k {self.k} is for 0..{self.k}{advice}")


def noise_options(command: Callable[..., None]) -> Callable[..., None]:
    """--noise, --k, --alpha, --unit, --sigma and --gamma, as ``noise``."""

    @wraps(command)
    def wrapper(
        family: str | None,
        k: int | None,
        unit: str | None,
        alpha: str | None,
        sigma: str | None,
        gamma: str | None,
        **others: Any,
    ) -> None:
        command(noise=NoiseOptions(family, k, unit, alpha, sigma, gamma), **others)

    for option in (
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
            type=click.Choice(FAMILIES),
            help="Family of noise; by default the model's, or discrete.",
        ),
    ):
        wrapper = option(wrapper)
    return wrapper


def data_options(split: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
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
                type=click.Choice(SPLITS),
                default=split,
                show_default=True,
                help="Which part of the data to use.",
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
