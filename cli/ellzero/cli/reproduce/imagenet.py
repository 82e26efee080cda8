"""The command ``ellzero reproduce imagenet``."""

from pathlib import Path

import click

from ellzero.cli.certificate_options import VOTES
from ellzero.cli.parameters import Command, IntegerRange, placement_options
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.core.conventions import DEFAULT_N
from ellzero.core.execution.placement import Placement
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.imagenet import EVERY, NAME, ImageNetSettings, run_imagenet, run_stand_in
from ellzero.experiments.published import IMAGENET_ALPHAS


@click.command("imagenet", cls=Command)
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="The folder of ImageNet, with val/<class>/*.JPEG (and train/<class>/*.JPEG for training).",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path),
    help="The folder of weights: alpha-0.1.pth.tar and so on, and sigma-0.5.pth.tar for Gaussian noise; .pth, .pt, "
    "folders alpha-0.1/checkpoint.pth.tar, or models by `ellzero train`.",
)
@click.option(
    "--alphas", default=",".join(IMAGENET_ALPHAS), show_default=True, help="The α of the discrete noise, a model each."
)
@click.option("--sigmas", help="The σ of Gaussian noise, such as 0.25,0.5,1; by default all that have weights.")
@click.option(
    "--every", type=IntegerRange(min=1), default=EVERY, show_default=True, help="Certify one in so many images."
)
@click.option("--n", type=VOTES, default=DEFAULT_N, show_default=True, help="Votes for each certificate.")
@click.option("--seed", type=IntegerRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:0.")
@click.option("--autocast", type=click.Choice(["bfloat16", "float16"]), help="Run the models in reduced precision.")
@experiment_options(
    NAME,
    "small networks, trained on scikit-learn's digits as images; needs neither data nor weights",
    settled=("data", "weights", "alphas", "sigmas", "every", "n", "seed", "autocast"),
)
@placement_options
def imagenet_command(
    folder: ExperimentFolder,
    quick: bool,
    data: Path | None,
    weights: Path | None,
    alphas: str,
    sigmas: str | None,
    every: int,
    n: int,
    seed: int,
    device: str,
    autocast: str | None,
    executor: str,
    address: str | None,
    workers: int | None,
) -> None:
    """Certify every hundredth validation image of ImageNet by ResNet-50, with the best α for each r.

    Each model is a ResNet-50 that was trained under one noise; the paper's released checkpoints are read as they are.
    Where weights are missing, the commands that train them are printed.
    """
    place = Placement.of(executor, address, workers)
    if quick:
        result = run_stand_in(folder, device, place)
    elif data is None or weights is None:
        missing = " and ".join(name for name, value in (("--data", data), ("--weights", weights)) if value is None)
        raise click.UsageError(
            f"give {missing}: the validation images of ImageNet in val/<class>/, and a ResNet-50 for each α "
            "(alpha-0.1.pth.tar and so on); --quick needs neither"
        )
    else:
        settings = ImageNetSettings(
            _split(alphas),
            None if sigmas is None else _split(sigmas),
            every,
            n,
            seed,
            device,
            autocast,
        )
        result = run_imagenet(folder, data, weights, settings, place)
    print_result(result, folder.path)


def _split(amounts: str) -> tuple[str, ...]:
    return tuple(amount.strip() for amount in amounts.split(","))
