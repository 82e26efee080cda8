"""What the commands of ``ellzero reproduce`` share: --out and --quick, and how a result is printed."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
import matplotlib as matplotlib  # experiments draw: a missing one is noticed before the work

from ellzero.core.progress import notify
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.result import ExperimentResult


def experiment_options(name: str, quick: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--out, as ``folder``, and --quick, which ``quick`` describes: "smaller …"."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(out: Path, **others: Any) -> None:
            command(folder=ExperimentFolder(out), **others)

        for option in (
            click.option("--quick", is_flag=True, help=f"A check that all works, in seconds: {quick}."),
            click.option(
                "--out",
                type=click.Path(file_okay=False, path_type=Path),
                default=Path("results") / name,
                show_default=True,
                help="The folder of the experiment.",
            ),
        ):
            run = option(run)
        return run

    return decorate


def print_result(result: ExperimentResult, folder: Path) -> None:
    """The tables and notes of an experiment, and where its plots are."""
    for line in result.describe():
        click.echo(line)
    for plot in result.plots:
        notify(f"figure written to {folder / plot}")
