"""The command ``ellzero reproduce thresholds``."""

from pathlib import Path

import click

from ellzero.cli.parameters import Command, Radii, placement_options
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.core.execution.placement import Placement
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.threshold_lists import read_lists
from ellzero.experiments.thresholds import NAME, ThresholdPlan, run_thresholds


@click.command("thresholds", cls=Command)
@click.option(
    "--full-alphas",
    default="0.2",
    show_default=True,
    help="ImageNet: the α at which the published algorithm runs at full size, such as 0.1,0.2; minutes each.",
)
@click.option("--full-radii", type=Radii(), default="1:4", show_default=True, help="Likewise the radii, up to 7.")
@click.option(
    "--lists",
    type=click.Path(path_type=Path),
    help="A folder of threshold lists, such as those that the paper's authors published, to judge row by row.",
)
@experiment_options(NAME, "fewer radii, and nothing at full size", settled=("full_alphas", "full_radii"))
@placement_options
def thresholds_command(
    folder: ExperimentFolder,
    quick: bool,
    full_alphas: str,
    full_radii: list[int],
    lists: Path | None,
    executor: str,
    address: str | None,
    workers: int | None,
) -> None:
    """Compute all published thresholds by the engine and by the published algorithm, and compare every digit.

    MNIST: K = 1, α from 0.72 to 0.96, r ≤ 20. ImageNet: K = 255, α from 0.1 to 0.5, r ≤ 7. The published algorithm runs
    at d = 784, and at d = 150,528 for --full-alphas and --full-radii.
    """
    plan = ThresholdPlan(
        tuple(full_alphas.split(",")), tuple(full_radii), quick, {} if lists is None else read_lists(lists)
    )
    result = run_thresholds(folder, plan, Placement.of(executor, address, workers))
    print_result(result, folder.path)
