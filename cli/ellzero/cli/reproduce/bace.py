"""The command ``ellzero reproduce bace``."""

from math import isfinite
from pathlib import Path

import click

from ellzero.cli.parameters import Command, IntegerRange
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.experiments.bace import FILE, NAME, find_data, run_experiment, write_quick_data
from ellzero.experiments.folder import ExperimentFolder
from ellzero.trees.data import SPLITS


@click.command("bace", cls=Command)
@click.option("--data", type=click.Path(path_type=Path), help=f"A folder with {FILE}, whose columns are mol and Class.")
@click.option("--split", type=click.Choice(SPLITS[1:]), default="scaffold", show_default=True)
@click.option("--seed", type=IntegerRange(min=0), default=0, show_default=True, help="Of the random split.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, max=1e6), default=20, show_default=True, help="Seconds for each AUC."
)
@experiment_options(NAME, "few shares; without --data, scikit-learn's breast cancer data")
def bace_command(
    folder: ExperimentFolder, quick: bool, data: Path | None, split: str, seed: int, time_limit: float
) -> None:
    """Repeat the experiment on BACE: guaranteed AUC against the share of manipulated molecules.

    For r = 1, 2, 3 changed bits a molecule: a smoothed tree, a smoothed forest, a plain tree. And the gap between the
    exact certificate of the tree and the one for all classifiers, beside the paper's.
    """
    if data is None and not quick:
        raise click.UsageError(f"give --data, a folder with {FILE}; --quick needs none")
    if not isfinite(time_limit):
        raise click.UsageError("--time-limit must be a number of seconds")
    source = write_quick_data(folder, seed) if data is None else find_data(data, split, seed)
    print_result(run_experiment(folder, source, time_limit, quick=quick), folder.path)
