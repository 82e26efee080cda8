"""Options that name a family of noises, and budgets of changes as text: add=2,delete=1."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final

import click

from ellzero.certificates.families.base import Budget, Counts, Family
from ellzero.certificates.families.registry import FAMILIES, list_parameters, make_family
from ellzero.cli.certificate_options import K
from ellzero.cli.parameters import IntegerRange
from ellzero.core.errors import BadResults, InvalidInput

MOST_BUDGETS = 1_000_000
_SIMPLE = ("discrete", "sparse", "sparse-levels", "mask", "ablation", "deletion")
FILES = (".json", ".toml")
_ENTRY = re.compile(r"((?P<axis>[^=,]+)=)?(?P<low>\d{1,10})(:(?P<high>\d{1,10}))?", re.ASCII)
_DEFAULT = _SIMPLE[0]
_PARAMETERS: Final[Mapping[str, tuple[click.ParamType[Any], str]]] = {
    "k": (K, "discrete, sparse-levels: number of categories minus one: 255 for bytes, 1 for bits."),
    "alpha": (click.STRING, "discrete: total probability of staying, in (0, 1): 0.8 or 4/5."),
    "p_add": (click.STRING, "sparse: the probability that a zero becomes one."),
    "p_del": (click.STRING, "sparse: the probability that a one becomes zero."),
    "m": (click.STRING, "mask, deletion: the probability that a coordinate is hidden, or a symbol deleted."),
    "keep": (IntegerRange(min=1), "ablation: how many of d coordinates are shown."),
}
_FAMILY_HELP = f"The noise: {', '.join(_SIMPLE)}; or a .json or .toml file that describes any family."


class Several(click.ParamType[Any]):
    """Values separated by commas, each as its type reads it."""

    def __init__(self, each: click.ParamType[Any]) -> None:
        self.each = each
        self.name = f"{each.name},…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        return [self.each.convert(item.strip(), param, ctx) for item in value.split(",")]


def family_options(command: Callable[..., None]) -> Callable[..., None]:
    """--family and the parameters of simple ones, which the command gets as ``family``. Its own --d is one of them."""

    @wraps(command)
    def run(family: str, **values: Any) -> None:
        command(family=read_family(family, _take_parameters(values)), **values)

    for name, (each, text) in reversed(list(_PARAMETERS.items())):
        run = click.option(_option(name), type=each, help=text)(run)
    return click.option("--family", default=_DEFAULT, show_default=True, metavar="NAME|FILE", help=_FAMILY_HELP)(run)


def optional_family_options(command: Callable[..., None]) -> Callable[..., None]:
    """`family_options` of a command that also takes noises of no family: ``family`` is None without any of them."""

    @wraps(command)
    def run(family: str | None, **values: Any) -> None:
        parameters = _take_parameters(values)
        is_named = family is not None or any(value is not None for name, value in parameters.items() if name != "d")
        command(family=read_family(family or _DEFAULT, parameters) if is_named else None, **values)

    for name, (each, text) in reversed(list(_PARAMETERS.items())):
        run = click.option(_option(name), type=each, help=text)(run)
    text = f"{_FAMILY_HELP} By default {_DEFAULT}."
    return click.option("--family", "--noise", "family", metavar="NAME|FILE", help=text)(run)


def families_options(command: Callable[..., None]) -> Callable[..., None]:
    """`family_options` with lists such as 0.8,0.9 for values: the command gets ``families``, one for each choice."""

    @wraps(command)
    def run(family: list[str], **values: Any) -> None:
        parameters = {
            name: value if isinstance(value, list) else [value] for name, value in _take_parameters(values).items()
        }
        choices = [dict(zip(parameters, choice, strict=True)) for choice in product(*parameters.values())]
        families = dict.fromkeys(read_family(name, choice) for name in family for choice in choices)
        command(families=list(families), **values)

    for name, (each, text) in reversed(list(_PARAMETERS.items())):
        run = click.option(_option(name), type=Several(each), metavar="LIST", help=text)(run)
    option = click.option(
        "--family", type=Several(click.STRING), default=_DEFAULT, show_default=True, metavar="LIST", help=_FAMILY_HELP
    )
    return option(run)


def _take_parameters(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of families among a command's values, which keep the dimension only."""
    parameters = {name: values.pop(name) for name in _PARAMETERS}
    return parameters | ({"d": values["d"]} if "d" in values else {})


def read_family(name: str, parameters: Mapping[str, Any]) -> Family:
    """The family of these options."""
    description = describe_family(name, parameters)
    if name.endswith(FILES):
        return make_family(description, Path(name).name)
    try:
        return make_family(description)
    except InvalidInput as error:
        raise InvalidInput(error.field.removeprefix("family."), error.allowed, error.value) from None


def describe_family(name: str, parameters: Mapping[str, Any]) -> Any:
    """The description that these options give, or the file: of the right parameters, which need not be right."""
    given = {key: value for key, value in parameters.items() if value is not None}
    if name.endswith(FILES):
        if extra := [key for key in given if key != "d"]:
            raise click.UsageError(f"{_option(extra[0])} is for simple families, and {name} states its own parameters")
        return read_description(Path(name), "--family")
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


def read_description(path: Path, option: str) -> Any:
    """What a .json or .toml file that an option names contains."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise click.UsageError(f"{option}: {path}: {reason}") from None
    try:
        # Families read text exactly.
        if path.suffix == ".json":
            return json.loads(text, parse_float=str, object_pairs_hook=_read_keys)
        return tomllib.loads(text, parse_float=str)
    except (ValueError, RecursionError) as error:
        raise BadResults(str(path), f"is no {path.suffix[1:].upper()}: {error}") from None


def _read_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. Of members with one name Python would keep the last, and certify without the others."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is named twice")
    return entries


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
