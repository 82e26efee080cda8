"""What the commands of every part share: options read as exact values, errors as one line, progress, notices."""

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ellzero.certificates.errors import EllzeroError, InvalidInput

T = TypeVar("T")

_WORTH_SAYING = 5.0
MOST_RADII = 1_000_000
_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
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


class Whole(click.ParamType[Any]):
    """A whole number; other text goes through as it is, so that the library says what the field allows."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value


class Radii(click.ParamType[Any]):
    """Radii such as ``8``, ``1,4,7`` or ``1:8`` (both ends included)."""

    name = "radii"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        radii: list[int] = []
        for part in value.split(","):
            ends = _RANGE.fullmatch(part)
            low, high = (int(ends["low"]), int(ends["high"] or ends["low"])) if ends else (1, 0)
            if high < low:
                raise click.UsageError(f"--r must be radii of at least 0 such as 8, 1,4,7 or 1:8; got '{value}'", ctx)
            if len(radii) + high - low >= MOST_RADII:
                raise click.UsageError(f"--r must name at most {MOST_RADII:,} radii; --r-max takes any number", ctx)
            radii.extend(range(low, high + 1))
        return radii


def noise_options(command: Callable[..., None]) -> Callable[..., None]:
    """--k and --alpha."""
    command = click.option("--alpha", required=True, help="Total probability of staying, in (0, 1): 0.8 or 4/5.")(
        command
    )
    return click.option(
        "--k", type=Whole(), required=True, help="Number of categories minus one: 255 for bytes, 1 for bits."
    )(command)


def notice(text: str) -> None:
    """A line for the person at the terminal, apart from the output."""
    click.echo(f"ellzero: {text}", err=True)


def progress(
    items: Iterable[T], length: int, label: str, seconds: float, streaming: bool = False
) -> "click._termui_impl.ProgressBar[T]":
    """A progress bar on standard error, for work of expected ``seconds``; silence in a pipe and for short work.

    Where results stream to the terminal as they come, they are the progress, and a bar would get between them.
    """
    shown = sys.stderr.isatty() and seconds > 1 and not (streaming and sys.stdout.isatty())
    return click.progressbar(
        items,
        length=length,
        label=label,
        file=sys.stderr,
        show_pos=True,
        hidden=not shown,
        update_min_steps=max(1, length // 500),
    )


def announce(what: str, seconds: float) -> None:
    """Say before long work starts what it will cost."""
    if seconds > _WORTH_SAYING:
        notice(f"{what}: about {duration(seconds)}")


def duration(seconds: float) -> str:
    """A duration as people say it."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return counted(round(seconds), "second")


def counted(number: int, noun: str) -> str:
    """A number of things: 1 shard, 2 shards."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
