"""The command ``ellzero reproduce beyond-mnist``."""

from dataclasses import replace
from pathlib import Path

import click

from ellzero.cli.certificate_options import VOTES
from ellzero.cli.parameters import Command, IntegerRange, placement_options
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.core.conventions import DEFAULT_N
from ellzero.core.errors import InvalidInput
from ellzero.core.execution.placement import Placement
from ellzero.experiments.beyond_mnist import NAME, run_beyond_mnist
from ellzero.experiments.beyond_mnist_settings import BEYOND_EPOCHS, QUICK, BeyondRow, BeyondSettings, read_rows
from ellzero.experiments.folder import ExperimentFolder


@click.command("beyond-mnist", cls=Command)
@click.option("--data", metavar="DIR", help="The folder with MNIST's four files, such as train-images-idx3-ubyte.gz.")
@click.option(
    "--keep",
    default=",".join(map(str, BeyondSettings.keeps)),
    show_default=True,
    help="How many pixels are shown, to choose from: a network each. Others can follow in the same folder.",
)
@click.option(
    "--rows",
    default=",".join(BeyondRow),
    show_default=True,
    help="What is certified; further rows can follow in the same folder.",
)
@click.option(
    "--images",
    type=IntegerRange(min=2),
    default=BeyondSettings.images,
    show_default=True,
    help="Test images to certify, the same random sample as of `reproduce mnist` with the same seed; a larger number "
    "adds to those that are there.",
)
@click.option("--n", type=VOTES, default=DEFAULT_N, show_default=True, help="Votes for each binarised image.")
@click.option(
    "--epochs",
    type=IntegerRange(min=1),
    default=BEYOND_EPOCHS,
    show_default=True,
    help="Of each of our networks; the paper's has 30, as there.",
)
@click.option("--seed", type=IntegerRange(0, 2**31 - 1), default=0, show_default=True)
@click.option(
    "--beside",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of a finished `reproduce mnist`, whose first row then stands above these.",
)
@experiment_options(
    NAME,
    "few images of scikit-learn's digits; needs no data",
    settled=("data", "keep", "rows", "images", "n", "epochs"),
)
@placement_options
def beyond_mnist_command(
    folder: ExperimentFolder,
    quick: bool,
    data: str | None,
    keep: str,
    rows: str,
    images: int,
    n: int,
    epochs: int,
    seed: int,
    beside: Path | None,
    executor: str,
    address: str | None,
    workers: int | None,
) -> None:
    """Certify MNIST beyond the paper: hide most pixels, and let votes certify the lead of two classes.

    The images of Table 1, with as many votes. How many pixels are shown is chosen on validation images. Grey images are
    certified too, beside the published result of randomized ablation.
    """
    place = Placement.of(executor, address, workers)
    if place.is_cluster:
        raise click.UsageError("this experiment works in a folder of this machine: leave out --address and RAY_ADDRESS")
    if quick:
        settings = QUICK
    elif data is None:
        raise click.UsageError("give --data, the folder with MNIST's four files; --quick needs none")
    else:
        settings = BeyondSettings(data, keeps=_read_keeps(keep), rows=read_rows(rows.split(",")), n=n, images=images)
        settings = replace(settings, recipe=replace(settings.recipe, epochs=epochs))
    settings = replace(
        settings,
        seed=seed,
        recipe=replace(settings.recipe, seed=seed),
        paper_recipe=replace(settings.paper_recipe, seed=seed),
    )
    print_result(run_beyond_mnist(folder, settings, place, beside), folder.path)


def _read_keeps(text: str) -> tuple[int, ...]:
    try:
        return tuple(map(int, text.split(",")))
    except ValueError:
        raise InvalidInput("keep", "numbers of pixels, such as 15,30", text) from None
