"""What the commands of ``ellzero reproduce`` share: --out and --quick, and how a result is printed."""

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click
import matplotlib as matplotlib  # experiments draw: a missing one is noticed before the work
from click.core import ParameterSource

from ellzero.core.progress import notify
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.result import ExperimentResult


def experiment_options(
    name: str, quick: str, *, settled: Sequence[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--out, as ``folder``, and --quick, which ``quick`` describes: "smaller …".

    ``settled`` are the parameters that --quick sets itself: with it they are refused.
    """
    default = Path("results") / name

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(out: str | None, quick: bool, **others: Any) -> None:
            if quick:
                _refuse_given(settled)
            if out == "":
                raise click.UsageError("--out must name a folder")
            if out is None:
                out = str(default.with_name(f"{name}-quick") if quick else default)
            command(folder=ExperimentFolder(out), quick=quick, **others)

        for option in (
            click.option("--quick", is_flag=True, help=f"A check that all works, in a minute or two: {quick}."),
            click.option(
                "--out",
                type=click.Path(file_okay=False),  # as text: a Path would make one slash of the two of s3://
                help=f"The folder of the experiment.  [default: {default}, with --quick {default}-quick]",
            ),
        ):
            run = option(run)
        return run

    return decorate


def _refuse_given(names: Sequence[str]) -> None:
    """Raise if one of these parameters was given."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in names and source is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--quick has settings of its own: leave out {parameter.opts[0]}")


def print_result(result: ExperimentResult, folder: Path) -> None:
    """The tables and notes of an experiment, and where its plots are."""
    for line in result.describe():
        click.echo(line)
    for plot in result.plots:
        notify(f"figure written to {folder / plot}")
