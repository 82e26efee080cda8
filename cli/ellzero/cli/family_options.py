"""Options that name a family of noises, and budgets of changes as text: add=2,delete=1."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import click

from ellzero.certificates.families.base import Budget, Counts, Family
from ellzero.certificates.families.registry import FAMILIES, list_parameters, make_family
from ellzero.cli.certificate_options import K
from ellzero.cli.parameters import IntegerRange
from ellzero.core.errors import BadResults, InvalidInput

MOST_BUDGETS = 1_000_000
_SIMPLE = ("discrete", "sparse", "sparse-levels", "mask", "ablation", "deletion")
_FILES = (".json", ".toml")
_ENTRY = re.compile(r"((?P<axis>[^=,]+)=)?(?P<low>\d{1,10})(:(?P<high>\d{1,10}))?", re.ASCII)


def family_options(command: Callable[..., None]) -> Callable[..., None]:
    """--family and the parameters of simple ones, which the command gets as ``family``. Its own --d is one of them."""

    @wraps(command)
    def run(family: str, **values: Any) -> None:
        parameters = {name: values.pop(name) for name in ("k", "alpha", "p_add", "p_del", "m", "keep")}
        if "d" in values:
            parameters["d"] = values["d"]
        command(family=read_family(family, parameters), **values)

    for option in (
        click.option("--keep", type=IntegerRange(min=1), help="ablation: how many of d coordinates are shown."),
        click.option("--m", help="mask, deletion: the probability that a coordinate is hidden, or a symbol deleted."),
        click.option("--p-del", help="sparse: the probability that a one becomes zero."),
        click.option("--p-add", help="sparse: the probability that a zero becomes one."),
        click.option("--alpha", help="discrete: total probability of staying, in (0, 1): 0.8 or 4/5."),
        click.option(
            "--k", type=K, help="discrete, sparse-levels: number of categories minus one: 255 for bytes, 1 for bits."
        ),
        click.option(
            "--family",
            default=_SIMPLE[0],
            show_default=True,
            metavar="NAME|FILE",
            help=f"The noise: {', '.join(_SIMPLE)}; or a .json or .toml file that describes any family.",
        ),
    ):
        run = option(run)
    return run


def read_family(name: str, parameters: Mapping[str, Any]) -> Family:
    """The family of these options."""
    description = describe_family(name, parameters)
    if name.endswith(_FILES):
        return make_family(description, Path(name).name)
    try:
        return make_family(description)
    except InvalidInput as error:
        raise InvalidInput(error.field.removeprefix("family."), error.allowed, error.value) from None


def describe_family(name: str, parameters: Mapping[str, Any]) -> Any:
    """The description that these options give, or the file: of the right parameters, which need not be right."""
    given = {key: value for key, value in parameters.items() if value is not None}
    if name.endswith(_FILES):
        if extra := [key for key in given if key != "d"]:
            raise click.UsageError(f"{_option(extra[0])} is for simple families, and {name} states its own parameters")
        return _read_file(Path(name))
    if name not in _SIMPLE:
        stated = f"; {name} is stated in a .json or .toml file" if name in FAMILIES else ""
        raise click.UsageError(f"--family must be {', '.join(_SIMPLE)}, or a .json or .toml file; got '{name}'{stated}")
    needed = list_parameters(name)
    for key in needed:
        if key not in given:
            raise click.UsageError(f"Missing option '{_option(key)}'. The noise {name} has {_options(needed)}.")
    for key in given:
        if key not in needed and key != "d":
            raise click.UsageError(
                f"{_option(key)} is not a parameter of the noise {name}, which has {_options(needed)}"
            )
    return {"family": name, **{key: given[key] for key in needed}}


def _read_file(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise click.UsageError(f"--family: {path}: {reason}") from None
    try:
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise BadResults(str(path), f"is no {path.suffix[1:].upper()}: {error}") from None


def _option(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _options(parameters: tuple[str, ...]) -> str:
    return " and ".join(map(_option, parameters))


class BudgetRanges(click.ParamType[Any]):
    """Budgets such as ``3``, ``add=2,delete=1`` or ``add=0:5,delete=0:3``: for each kind of change its ends."""

    name = "budget"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        ranges: dict[str, tuple[int, int]] = {}
        for item in value.split(","):
            entry = _ENTRY.fullmatch(item.strip())
            axis = (entry["axis"] or "").strip() if entry else ""
            low, high = (int(entry["low"]), int(entry["high"] or entry["low"])) if entry else (1, 0)
            if high < low or axis in ranges:
                allowed = "a number, or counts by name such as add=2,delete=1"
                raise click.UsageError(f"{param.opts[0] if param else 'budget'} must be {allowed}; got '{value}'", ctx)
            ranges[axis] = (low, high)
        return ranges


def read_budget(family: Family, ranges: Mapping[str, tuple[int, int]], option: str) -> Budget:
    """The single budget that an option gives."""
    budgets = list_budgets(family, ranges, option)
    if len(budgets) != 1:
        raise click.UsageError(f"{option} must be a single budget")
    return family.write_budget(budgets[0])


def list_budgets(family: Family, ranges: Mapping[str, tuple[int, int]], option: str) -> list[Counts]:
    """All budgets within the ranges; the last kind of change varies first. What is not named is 0."""
    if prod(high - low + 1 for low, high in ranges.values()) > MOST_BUDGETS:
        raise click.UsageError(f"{option} must name at most {MOST_BUDGETS:,} budgets")
    known = dict(ranges)
    if "" in known:
        if len(family.axes) > 1 or len(known) > 1:
            raise click.UsageError(f"{option} must name its counts: {describe_axes(family)}")
        known = {family.axes[0]: known.pop(""), **known}
    if unknown := [axis for axis in known if axis not in family.axes]:
        raise click.UsageError(f"{option} must name {' and '.join(family.axes)}; got '{unknown[0]}'")
    ends = [known.get(axis, (0, 0)) for axis in family.axes]
    family.read_budget({axis: high for axis, (_, high) in zip(family.axes, ends, strict=True)}, option)
    return list(product(*(range(low, high + 1) for low, high in ends)))


def describe_axes(family: Family) -> str:
    """How a budget of the family is written."""
    return ",".join(f"{axis}=…" for axis in family.axes)


def format_counts(family: Family, counts: Counts) -> str:
    """Counts by name, as options take them; a number where there is one kind."""
    if len(counts) == 1:
        return str(counts[0])
    return ",".join(f"{axis}={count}" for axis, count in zip(family.axes, counts, strict=True))
