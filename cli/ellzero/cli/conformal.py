"""The commands ``ellzero conformal …``."""

import json
import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from ellzero.cli.certificate_options import VOTES
from ellzero.cli.data_options import DataOptions, NoiseOptions, data_options, factory_option, noise_options
from ellzero.cli.groups import CommandGroup
from ellzero.cli.parameters import Command, IntegerRange, Radii
from ellzero.core.conventions import DEFAULT_ERROR, DEFAULT_SET_N
from ellzero.core.progress import announce, notify, show_progress
from ellzero.core.text import count_noun
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.conformal import ConformalSmoother
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.errors import BadData, SmallCalibrationWarning
from ellzero.smoothing.models.files import find_model_file, load_model
from ellzero.smoothing.noise.registry import describe_noise, make_noise
from ellzero.smoothing.runs.dataset_run import check_fit, votes_per_second
from ellzero.smoothing.runs.plots import plot_sets
from ellzero.smoothing.runs.set_metrics import SetReport, summarize_sets


@dataclass(frozen=True)
class _Inputs:
    """A model with its noise, and the inputs of a data set that a command uses."""

    classifier: SmoothedClassifier
    digest: str
    data: DataSet
    places: range

    @property
    def labels(self) -> list[int]:
        return [int(label) for label in self.data.labels[self.places.start : self.places.stop]]

    @property
    def protected(self) -> Iterator[NDArray[np.bool_] | None]:
        """The protected positions of each input."""
        masks = (self.data.protected([place]) for place in self.places)
        return (None if mask is None else mask[0] for mask in masks)

    def __iter__(self) -> Iterator[Any]:
        return (self.data.inputs([place])[0] for place in self.places)


def _input_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a model, a noise, a data set and a part of its inputs, as ``inputs``."""

    @data_options("test")
    @noise_options
    @factory_option
    @wraps(command)
    def run(
        model: str,
        models: Path,
        data: DataOptions,
        noise: NoiseOptions,
        shuffle: int | None,
        skip: int,
        limit: int | None,
        device: str,
        batch_size: int | None,
        allowed: tuple[str, ...],
        **others: Any,
    ) -> None:
        path = find_model_file(model, models)
        saved = load_model(path, allowed)
        loaded = replace(data.source(noise.k, saved.card), shuffle=shuffle).load()
        description = noise.description(saved.card.noise, loaded)
        check_fit(saved.card, loaded, int(description["levels"]), data.uri)
        count = len(loaded.labels)
        if skip >= count:
            raise BadData(data.uri, f"has {count_noun(count, 'input')}, and --skip leaves none of them")
        places = range(skip, count if limit is None else min(count, skip + limit))
        classifier = SmoothedClassifier(
            saved.network,
            make_noise(description),
            saved.card.num_classes,
            device,
            feed=saved.card.feed,
            batch_size=batch_size,
        )
        command(inputs=_Inputs(classifier, saved.digest, loaded, places), **others)

    for option in (
        click.option(
            "--batch-size",
            type=IntegerRange(min=1),
            help="Samples per batch; by default chosen for the model and the device.",
        ),
        click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:0."),
        click.option("--limit", type=IntegerRange(min=1), help="Use only this many inputs."),
        click.option("--skip", type=IntegerRange(min=0), default=0, show_default=True, help="Leave out so many first."),
        click.option(
            "--shuffle",
            type=IntegerRange(0, 2**63 - 1),
            metavar="SEED",
            help="Take the inputs in an order drawn from this seed: with --limit and --skip a random split.",
        ),
        click.option(
            "--models",
            type=click.Path(file_okay=False, path_type=Path),
            default=Path("models"),
            envvar="ELLZERO_MODELS",
            show_default=True,
            help="The folder of named models; demo-digits is always available.",
        ),
        click.option("--model", required=True, help="A .safetensors file, or a name in --models."),
    ):
        run = option(run)
    return run


@click.group("conformal", cls=CommandGroup)
def conformal_group() -> None:
    """Predict sets of classes that hold the true one, also for inputs that were changed."""


@conformal_group.command("calibrate", cls=Command)
@_input_options
@click.option("--error", default=DEFAULT_ERROR, show_default=True, help="How often a set may miss the true class.")
@click.option("--slack", help="The part of the error that pays for votes; a tenth of it by default.")
@click.option("--n", type=VOTES, default=DEFAULT_SET_N, show_default=True, help="Votes on each input.")
@click.option("--seed", type=IntegerRange(min=0), help="By default random.")
@click.option("--out", required=True, metavar="URI", help="The .json file to write: a path, or s3://bucket/name.")
def calibrate_command(inputs: _Inputs, error: str, slack: str | None, n: int, seed: int | None, out: str) -> None:
    """Count the votes for the true classes of inputs, which the model was not trained on and nobody has changed.

    `ellzero conformal predict` takes the file that it writes: sets then hold the true class of other inputs from the
    same source with probability at least 1 − error.
    """
    smoother = ConformalSmoother(inputs.classifier, model=inputs.digest)
    _announce(inputs, n)
    with show_progress(len(inputs.places), "inputs") as bar, _notices():
        smoother.calibrate(
            inputs,
            inputs.labels,
            error,
            n,
            slack=slack,
            protected=inputs.protected,
            seed=seed,
            progress=lambda done, total: bar.advance(1, done),
        )
    smoother.save(out)
    calibration = smoother.calibration
    click.echo(
        f"{out}: {count_noun(len(calibration.counts), 'input')}, error {calibration.error}: the threshold is "
        f"{calibration.threshold:,} of {calibration.n:,} votes"
    )


@conformal_group.command("predict", cls=Command)
@_input_options
@click.option("--calibration", required=True, metavar="URI", help="What `ellzero conformal calibrate` wrote.")
@click.option(
    "--r", "radii", type=Radii(), default="0:3", show_default=True, help="Changes that sets are to be valid for."
)
@click.option("--n", type=VOTES, default=DEFAULT_SET_N, show_default=True, help="Votes on each input.")
@click.option("--seed", type=IntegerRange(min=0), help="By default random.")
@click.option(
    "--plot",
    "figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw coverage and sizes against r to this file: .png, .svg or .pdf.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, with the sets of each input.")
def predict_command(
    inputs: _Inputs,
    calibration: str,
    radii: list[int],
    n: int,
    seed: int | None,
    figure: Path | None,
    as_json: bool,
) -> None:
    """Predict the sets of inputs, and print how often they hold the true class and how large they are.

    The sets of a radius r hold the true class with probability at least 1 − error of the calibration where at most r
    units were changed. Take other inputs than those of the calibration.
    """
    with _notices():
        smoother = ConformalSmoother.load(calibration, inputs.classifier, model=inputs.digest)
    _announce(inputs, n)
    seed = secrets.randbits(63) if seed is None else seed
    sets = []
    with show_progress(len(inputs.places), "inputs") as bar:
        for each in smoother.predict_many(inputs, radii, n, protected=inputs.protected, seed=seed):
            sets.append(each)
            bar.advance(1, len(sets))
    error, classes = smoother.calibration.error, inputs.classifier.num_classes
    reports = summarize_sets(inputs.labels, sets)
    if as_json:
        rows = [
            {"label": label, "counts": of_input[0].counts, "sets": [each.labels for each in of_input]}
            for label, of_input in zip(inputs.labels, sets, strict=True)
        ]
        summary = {"error": str(error), "n": n, "seed": seed, "report": [asdict(each) for each in reports]}
        click.echo(json.dumps({**summary, "inputs": rows}))
    else:
        noise = describe_noise(inputs.classifier.noise.description())
        click.echo(f"{inputs.data.name}: {count_noun(len(sets), 'input')}, {classes} classes; {noise}")
        click.echo(f"error {error}, n = {n:,}; shares are of inputs as they are, with intervals of 95 %")
        _print_table(reports)
    if figure is not None:
        plot_sets(reports, classes, error, figure)
        notify(f"curves written to {figure}")


def _announce(inputs: _Inputs, n: int) -> None:
    votes = len(inputs.places) * n
    announce(
        f"{count_noun(len(inputs.places), 'input')}, {n:,} votes each",
        votes / votes_per_second(inputs.classifier, inputs.data),
    )


def _print_table(reports: list[SetReport]) -> None:
    click.echo("  r  votes  true class in the set    mean size  one class")
    for each in reports:
        interval = f"({each.low:6.1%} – {each.high:6.1%})"
        click.echo(
            f"{each.budget!s:>3}{each.critical_count:7,}  {each.coverage:6.1%} {interval:<18}{each.mean_size:10.2f}"
            f"{each.single:11.1%}"
        )


@contextmanager
def _notices() -> Iterator[None]:
    """Print warnings about the calibration as lines of the command."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SmallCalibrationWarning)
        yield
    for each in caught:
        notify(str(each.message))
