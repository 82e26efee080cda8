"""What commands share: options read as exact values, and errors as one line."""

import re
from collections.abc import Callable
from typing import Any

import click

from ellzero.core.errors import EllzeroError, InvalidInput

MOST_RADII = 1_000_000
_RANGE = re.compile(r"(?P<low>\d{1,40})(:(?P<high>\d{1,40}))?", re.ASCII)


class Command(click.Command):
    """A command whose domain errors become one clear line: exit code 2 for a wrong value, 1 for the rest."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InvalidInput as error:
            names = {param.name for param in self.params}
            option = f"--{error.field.replace('_', '-')}" if error.field in names else error.field
            raise click.UsageError(str(error).replace(error.field, option, 1), ctx) from error
        except EllzeroError as error:
            raise click.ClickException(str(error)) from error


class IntegerRange(click.IntRange):
    """An integer within bounds."""

    name = "integer"  # click would say "'x' is not a valid integer range"


class Radii(click.ParamType[Any]):
    """Radii such as ``8``, ``1,4,7`` or ``1:8`` (both ends included)."""

    name = "radii"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        radii: list[int] = []
        for item in value.split(","):
            ends = _RANGE.fullmatch(item)
            low, high = (int(ends["low"]), int(ends["high"] or ends["low"])) if ends else (1, 0)
            if high < low:
                raise click.UsageError(f"--r must be radii of at least 0 such as 8, 1,4,7 or 1:8; got '{value}'", ctx)
            if len(radii) + high - low >= MOST_RADII:
                raise click.UsageError(f"--r must name at most {MOST_RADII:,} radii; --r-max takes any number", ctx)
            radii.extend(range(low, high + 1))
        return radii


def placement_options(command: Callable[..., None]) -> Callable[..., None]:
    """--executor, --address and --workers: where a command's work runs."""
    for option in (
        click.option(
            "--workers",
            type=IntegerRange(min=1),
            help="Worker processes, if the run starts its own Ray; one per core by default.",
        ),
        click.option("--address", help="A Ray cluster: host:6379, or auto for the one on this machine."),
        click.option("--executor", type=click.Choice(["auto", "local", "ray"]), default="auto", show_default=True),
    ):
        command = option(command)
    return command
