"""The command ``ellzero train``."""

import json
from pathlib import Path
from typing import Any

import click

from ellzero.cli.data_options import DataOptions, NoiseOptions, data_options, factory_option, noise_options
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.core.errors import InvalidInput
from ellzero.core.progress import notify, show_progress
from ellzero.core.text import count_noun
from ellzero.smoothing.models.architectures import ARCHITECTURES, find_feed
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.devices import find_device
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.noise.registry import describe_noise, make_noise
from ellzero.smoothing.training import Epoch, Recipe, Schedule, Training


@click.command("train", cls=Command)
@data_options("train")
@noise_options
@click.option(
    "--architecture",
    default="paper-cnn",
    show_default=True,
    help=f"{', '.join(ARCHITECTURES)}, or an allowed module:function.",
)
@click.option(
    "--config",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the architecture, such as width=64. May be repeated.",
)
@click.option(
    "--feed",
    type=click.Choice([each.value for each in Feed]),
    help="What the network gets: values scaled to [0, 1], or levels as integers (tokens). By default as the "
    "architecture declares.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="models/<data>.safetensors by default.")
@click.option("--epochs", type=IntegerRange(min=1), default=Recipe.epochs, show_default=True)
@click.option(
    "--batch", type=IntegerRange(min=1), help="Inputs per step; by default 400, and fewer for small data sets."
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=Recipe.rate,
    show_default=True,
    help="Learning rate at the start.",
)
@click.option(
    "--decay-every",
    type=IntegerRange(min=1),
    default=Recipe.decay_every,
    show_default=True,
    help="Divide the learning rate by ten every this many epochs.",
)
@click.option(
    "--schedule",
    type=click.Choice([each.value for each in Schedule]),
    default=Recipe.schedule,
    show_default=True,
    help="Of the learning rate: steps as --decay-every says, keeping the best epoch; or up, and down to 0 by a cosine, "
    "keeping the last one.",
)
@click.option(
    "--copies",
    type=IntegerRange(min=1),
    default=Recipe.copies,
    show_default=True,
    help="Noisy copies of each input in a step.",
)
@click.option(
    "--consistency",
    type=click.FloatRange(min=0),
    default=Recipe.consistency,
    show_default=True,
    help="Weight of a loss for answers that differ between copies of an input; needs two or more.",
)
@click.option(
    "--nesterov/--no-nesterov",
    default=Recipe.nesterov,
    show_default=True,
    help="Nesterov's momentum, or the plain one.",
)
@click.option("--crop", is_flag=True, help="Learn from random parts of images, half of them mirrored, as for ImageNet.")
@click.option("--seed", type=IntegerRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:0.")
@factory_option
def train_command(
    data: DataOptions,
    noise: NoiseOptions,
    architecture: str,
    config: tuple[str, ...],
    feed: str | None,
    out: Path | None,
    epochs: int,
    batch: int | None,
    rate: float,
    decay_every: int,
    schedule: str,
    copies: int,
    consistency: float,
    nesterov: bool,
    crop: bool,
    seed: int,
    device: str,
    allowed: tuple[str, ...],
) -> None:
    """Train a network on noisy inputs, by the paper's recipe, and save it as a model.

    Keeps the epoch that does best on held-out inputs under noise, or the last. The same command resumes a training that
    was stopped.
    """
    source = data.source(noise.k)
    chosen_device = find_device(device)
    loaded = source.load()
    noise_family = make_noise(noise.description({}, loaded))
    if feed is None:
        feed = find_feed(architecture, allowed).value
        if noise_family.sample_levels > noise_family.levels and feed != Feed.LEVELS:
            needed = "token-mean, or one that takes levels, for noise with symbols of its own such as a mask"
            raise InvalidInput("architecture", needed, architecture)
    recipe = Recipe(
        epochs=epochs,
        batch=batch,
        rate=rate,
        decay_every=decay_every,
        schedule=schedule,
        copies=copies,
        consistency=consistency,
        seed=seed,
        nesterov=nesterov,
        crop=crop,
    )
    target = out or Path("models") / f"{Path(data.uri).stem}.safetensors"
    card = ModelCard(
        architecture=architecture,
        shape=loaded.shape,
        num_classes=len(loaded.class_names),
        levels=loaded.levels,
        feed=feed,
        config=dict(map(_parse_setting, config)),
        data=data.uri,
        binarize=source.binarize,
        class_names=loaded.class_names,
    )
    training = Training(loaded, noise_family, card, recipe, target, chosen_device, allowed=allowed)
    notify(
        f"{architecture} on {len(loaded.labels):,} inputs of {loaded.name}, "
        f"{describe_noise(noise_family.description())}, {count_noun(recipe.epochs, 'epoch')} on {chosen_device}"
    )
    if training.epochs_done:
        notify(f"resuming after epoch {training.epochs_done} of {recipe.epochs} from {training.checkpoint}")
    with show_progress(training.steps_left, "steps") as bar:
        saved = training.run(_print_epoch, lambda done, total, loss: bar.advance())
    click.echo(f"{target}: {saved.training['validation']:.1%} of noisy held-out inputs right")
    click.echo(
        f"next: ellzero certify --model {target} --data {data.uri} --n 10000 --limit 50 --out results/{target.stem}"
    )


def _parse_setting(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE; a value is read as JSON if it is valid JSON, and as text otherwise."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidInput("config", "NAME=VALUE, such as width=64", text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _print_epoch(epoch: Epoch) -> None:
    click.echo(
        f"epoch {epoch.number:3d}  loss {epoch.loss:.4f}  right {epoch.accuracy:6.1%}  "
        f"held out {epoch.validation:6.1%}  {epoch.seconds:.1f} s"
    )
