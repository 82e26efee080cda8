"""The command ``ellzero reproduce mnist``."""

from dataclasses import replace

import click

from ellzero.cli.certificate_options import VOTES
from ellzero.cli.parameters import Command, IntegerRange, placement_options
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.core.conventions import DEFAULT_N
from ellzero.core.execution.placement import Placement
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.mnist import NAME, run_mnist
from ellzero.experiments.mnist_settings import QUICK, MnistSettings
from ellzero.experiments.published import MNIST_ALPHAS
from ellzero.smoothing.training import Recipe


@click.command("mnist", cls=Command)
@click.option("--data", metavar="DIR", help="The folder with MNIST's four files, such as train-images-idx3-ubyte.gz.")
@click.option(
    "--alpha",
    default=",".join(MNIST_ALPHAS),
    show_default=True,
    help="The α to choose from, a network each; a single one, such as 0.8, is taken as it is. Others can follow in the "
    "same folder: networks and certificates that are there are kept.",
)
@click.option(
    "--images",
    type=IntegerRange(min=2),
    default=MnistSettings.images,
    show_default=True,
    help="Test images to certify, a random sample; a larger number adds to those that are there. 10000 are all.",
)
@click.option(
    "--searched",
    type=IntegerRange(min=1),
    default=MnistSettings.searched,
    show_default=True,
    help="How many of them to search for adversaries.",
)
@click.option("--n", type=VOTES, default=DEFAULT_N, show_default=True, help="Votes for each certificate.")
@click.option(
    "--epochs", type=IntegerRange(min=1), default=Recipe.epochs, show_default=True, help="The paper has the default."
)
@click.option("--seed", type=IntegerRange(0, 2**31 - 1), default=0, show_default=True)
@experiment_options(
    NAME,
    "two networks and few images of scikit-learn's digits; needs no data",
    settled=("data", "alpha", "images", "searched", "n", "epochs"),
)
@placement_options
def mnist_command(
    folder: ExperimentFolder,
    quick: bool,
    data: str | None,
    alpha: str,
    images: int,
    searched: int,
    n: int,
    epochs: int,
    seed: int,
    executor: str,
    address: str | None,
    workers: int | None,
) -> None:
    """Train and certify binarised MNIST as in Table 1 of the paper, and search for adversaries.

    Trains the paper's network for each α, chooses α by the Gaussian certificate on validation images, certifies test
    images by three combinations of noise and certificate, and tries every single flip of some images.
    """
    place = Placement.of(executor, address, workers)
    if place.is_cluster:
        raise click.UsageError("this experiment works in a folder of this machine: leave out --address and RAY_ADDRESS")
    if quick:
        settings = replace(QUICK, seed=seed)
    elif data is None:
        raise click.UsageError("give --data, the folder with MNIST's four files; --quick needs none")
    else:
        settings = MnistSettings(
            data,
            alphas=tuple(alpha.split(",")),
            recipe=Recipe(epochs=epochs, seed=seed),
            n=n,
            images=images,
            searched=searched,
            seed=seed,
        )
    print_result(run_mnist(folder, settings, place), folder.path)
