"""The command ``ellzero reproduce regions``."""

from pathlib import Path

import click

from ellzero.cli.parameters import Command
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.regions import NAME, read_runs, run_regions


@click.command("regions", cls=Command)
@click.option(
    "--results",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with certificates for several α, such as one of `ellzero reproduce imagenet`: draws part (c).",
)
@experiment_options(NAME, "fewer radii")
def regions_command(folder: ExperimentFolder, quick: bool, results: Path | None) -> None:
    """Draw the paper's analysis figure: regions against r at ImageNet size, thresholds, certified accuracies.

    Part (c), the certified accuracies for each α, is drawn from --results.
    """
    runs = [] if results is None else read_runs(results)
    print_result(run_regions(folder, runs, quick=quick), folder.path)
