"""The command ``ellzero advise``."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ellzero.cli.certificate_options import RADIUS, VOTES
from ellzero.cli.data_options import DataOptions, NoiseOptions, data_options, factory_option, noise_options
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0
from ellzero.core.errors import InvalidInput
from ellzero.core.plotting import check_figure
from ellzero.core.progress import notify, show_progress
from ellzero.core.text import count_noun, format_duration
from ellzero.smoothing.advice import DEFAULT_ADVICE_VOTES, Advice, NoiseAdvice, advise
from ellzero.smoothing.advice_text import (
    explain_limits,
    find_nearest,
    format_mean,
    format_share,
    is_useful,
    recommend,
)
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.data.datasets import DataSet, ReorderedData
from ellzero.smoothing.data.loading import SPLITS
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.devices import find_device
from ellzero.smoothing.models.files import find_model_file, load_model
from ellzero.smoothing.noise.amounts import (
    AMOUNTS,
    find_amount,
    list_amounts,
    name_amount,
    order_amounts,
    read_amount,
    set_amount,
    show_amount,
    show_number,
)
from ellzero.smoothing.noise.registry import describe_noise, make_noise
from ellzero.smoothing.runs.advice_plots import plot_advice
from ellzero.smoothing.runs.dataset_run import check_fit
from ellzero.smoothing.sampling.stopping_rules import Stopping

_HELD_OUT, _AUTO = "held-out", "auto"
_MOST_COLUMNS = 5
_SHOWN = 0.005
# Of each family an amount that is certainly one, for descriptions whose amount is replaced.
_ANY_AMOUNT: Mapping[str, str | int] = {
    "alpha": "0.9",
    "sigma": "0.5",
    "gamma": "0.5",
    "m": "0.9",
    "p_del": "0.5",
    "keep": 1,
}


@click.command("advise", cls=Command)
@click.option("--model", required=True, help="A .safetensors file, or a name in --models.")
@click.option(
    "--models",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("models"),
    envvar="ELLZERO_MODELS",
    show_default=True,
    help="The folder of named models; demo-digits is always available.",
)
@data_options(
    _AUTO,
    (_AUTO, _HELD_OUT, *SPLITS),
    "Which part of the data to use. held-out: what the model's training held out. auto: that, where the model's card "
    "says so of this data; otherwise test.",
)
@noise_options
@click.option(
    "--levels",
    metavar="LIST",
    help="Amounts to compare, such as 0.6,0.7,0.8: of the noise's alpha, m, keep, p_del, s, sigma or gamma. By default "
    "a grid, with the amount that the model was trained with.",
)
@click.option(
    "--votes", type=VOTES, default=DEFAULT_ADVICE_VOTES, show_default=True, help="Votes on each input, at each amount."
)
@click.option(
    "--inputs", type=IntegerRange(min=1), default=50, show_default=True, help="How many inputs, drawn at random."
)
@click.option("--target", type=RADIUS, help="Recommend the largest ACC@TARGET in place of the largest μ(R).")
@click.option("--n0", type=VOTES, default=DEFAULT_N0, show_default=True, help="Of the full run: votes for the class.")
@click.option("--n", type=VOTES, default=DEFAULT_N, show_default=True, help="Of the full run: votes that certify it.")
@click.option("--failure", default=DEFAULT_FAILURE, show_default=True, help="Probability that a certificate is false.")
@click.option(
    "--stopping",
    type=click.Choice([each.value for each in Stopping]),
    default=Stopping.STAGED.value,
    show_default=True,
    help="Of the full run, as for `ellzero certify`.",
)
@click.option(
    "--limit", type=IntegerRange(min=1), default=500, show_default=True, help="Inputs of the full run, for its time."
)
@click.option("--seed", type=IntegerRange(0, 2**63 - 1), default=0, show_default=True)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw μ(R) and ACC@r: .png, .svg or .pdf."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:0.")
@click.option(
    "--batch-size", type=IntegerRange(min=1), help="Samples per batch; by default chosen for the model and the device."
)
@factory_option
def advise_command(
    model: str,
    models: Path,
    data: DataOptions,
    noise: NoiseOptions,
    levels: str | None,
    votes: int,
    inputs: int,
    target: int | None,
    n0: int,
    n: int,
    failure: str,
    stopping: str,
    limit: int,
    seed: int,
    plot: Path | None,
    as_json: bool,
    device: str,
    batch_size: int | None,
    allowed: tuple[str, ...],
) -> None:
    """Say which amount of noise to use: what certificates are expected to give at each, from a few votes.

    Expected, not certified: a few hundred votes on a random sample of inputs say about what a full run would certify.
    Each figure has a band of 95 %, over inputs and votes. No certificate has any of these votes.
    """
    if plot is not None:
        check_figure(plot)  # before votes, which may take minutes
    path = find_model_file(model, models)
    saved = load_model(path, allowed)
    card = saved.card
    loaded = _load(data, noise, card)
    base = _describe_base(noise, card, loaded)
    check_fit(card, loaded, int(base["levels"]), data.uri)
    amounts = _read_amounts(levels, base, card.noise)
    noises = [make_noise(set_amount(base, amount)) for amount in amounts]
    sample = ReorderedData.shuffle(loaded, seed)
    count = min(inputs, len(sample.labels))
    classifier = SmoothedClassifier(
        saved.network, noises[0], card.num_classes, find_device(device), feed=card.feed, batch_size=batch_size
    )
    with show_progress(len(noises) * count, "inputs") as bar:
        advice = advise(
            classifier,
            noises,
            sample.inputs(range(count)),
            sample.labels[:count].tolist(),
            votes=votes,
            n0=n0,
            n=n,
            failure=failure,
            stopping=stopping,
            protected=sample.protected(range(count)),
            seed=seed,
            progress=lambda done, total: bar.advance(),
        )
    if plot is not None:
        plot_advice(advice, target, plot)
        notify(f"expected radii drawn to {plot}")
    notes = [*explain_limits(advice, target), *_advise_training(advice, target, card, data)]
    if as_json:
        click.echo(json.dumps(_to_json(advice, target, notes, path, loaded)))
        return
    split = f"{count:,} of {count_noun(len(loaded.labels), 'input')}"
    click.echo(f"{path.stem} ({card.architecture}) on {loaded.name}: {split}, {votes:,} votes each")
    click.echo(f"{base['family']} noise; n = {n:,}, failure {failure}, {stopping}")
    click.echo("Expected, not certified; bands of 95 % over inputs and votes.\n")
    for row in _list_rows(advice, target, limit):
        click.echo(row)
    click.echo()
    for note in notes:
        click.echo(note)
    options = _write_noise(advice.best(target).noise.description()) if is_useful(advice, target) else None
    if options is not None:
        line = [
            "ellzero",
            "certify",
            "--model",
            model,
            "--data",
            data.uri,
            *options,
            "--n",
            str(n),
            "--limit",
            str(limit),
        ]
        click.echo(f"next: {shlex.join([*line, '--out', f'results/{path.stem}'])}")
    click.echo(recommend(advice, target))


def _load(data: DataOptions, noise: NoiseOptions, card: ModelCard) -> DataSet:
    """The inputs to draw from: unless an option says otherwise those that the model has not learned from."""
    knows = card.data == data.uri and "seed" in card.training
    split = (_HELD_OUT if knows else "test") if data.split == _AUTO else data.split
    if split != _HELD_OUT:
        return replace(data, split=split).source(noise.k, card).load()
    if "seed" not in card.training:
        raise InvalidInput("split", "train or test for a model whose card has no training by `ellzero train`", split)
    source = replace(data, split="train").source(noise.k, card)
    loaded = replace(source, held_out=card.training["seed"]).load()
    if isinstance(loaded, ReorderedData) and len(loaded.data.labels) != card.training.get("inputs"):
        raise InvalidInput("split", "train or test for data that are not those of the model's training", split)
    return loaded


def _describe_base(noise: NoiseOptions, card: ModelCard, data: DataSet) -> dict[str, Any]:
    """The noise, with any amount: amounts are what is compared."""
    family = noise.family or card.noise.get("family", "discrete")
    amount = AMOUNTS.get(family, "")
    if amount not in noise.amounts:  # it states its own parameters, in a file or in the model's card
        return noise.description(card.noise, data)
    if noise.amounts[amount] is not None:
        option = f"--{amount.replace('_', '-')}"
        raise click.UsageError(f"{option} is what is compared: give --levels {noise.amounts[amount]},…")
    return replace(noise, amounts={**noise.amounts, amount: _ANY_AMOUNT[amount]}).description(card.noise, data)


def _read_amounts(levels: str | None, base: Mapping[str, Any], trained: Mapping[str, Any]) -> list[str]:
    """The amounts to compare, from most noise to least."""
    find_amount(base)
    if levels is not None:
        values = [each.strip() for each in levels.split(",")]
    else:
        same = trained.get("family") == base["family"]
        values = [*([str(read_amount(trained))] if same else []), *list_amounts(base)]
    return order_amounts(base, values)


def _list_rows(advice: Advice, target: int | None, limit: int) -> list[str]:
    """A line for each amount, below a line of headings."""
    radii = _choose_radii(advice, target)
    name = name_amount(advice.options[0].noise.description())
    most = advice.settings.n0 + advice.settings.n
    best = advice.best(target) if is_useful(advice, target) else None
    table = [[name, "expected μ(R)", *(f"ACC@{r}" for r in radii), "reach", f"{limit:,} inputs"]]
    for option in advice.options:
        expected = option.expected
        scores = [format_share(expected.score(r)) if r == target else f"{expected.score(r).value:.0%}" for r in radii]
        seconds = limit * most * option.seconds_per_vote
        reach = "none" if expected.reach is None else str(expected.reach)
        time = f"≤ {format_duration(max(1.0, seconds))}"
        mark = " *" if option is best else ""
        amount = show_amount(option.noise.description())
        table.append([amount, format_mean(expected.mean_radius), *scores, reach, time + mark])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def _choose_radii(advice: Advice, target: int | None) -> list[int]:
    """For which radii ACC@r is listed: a few, up to the largest that is expected of any input in 200."""
    last = 1
    for option in advice.options:
        shares = [each.value for each in option.expected.accuracy]
        last = max(last, *(r for r, share in enumerate(shares) if share >= _SHOWN), target or 0, 0)
    steps = {round(last * step / (_MOST_COLUMNS - 1)) for step in range(_MOST_COLUMNS)}
    return sorted({0, 1, *steps, *([] if target is None else [target])})


def _advise_training(advice: Advice, target: int | None, card: ModelCard, data: DataOptions) -> list[str]:
    """That a model may do better under a noise that it was trained with, and the command that trains one."""
    best = (advice.best(target) if is_useful(advice, target) else find_nearest(advice, target)).noise.description()
    if dict(best) == dict(card.noise):
        return []
    has = f"was trained with {describe_noise(card.noise)}" if card.noise else "has no noise of its training in its card"
    note = f"the model {has}; one that is trained with {describe_noise(best)} may do better"
    options = _write_noise(best)
    if options is None:
        return [note]
    words = ["ellzero", "train", "--data", card.data or data.uri, *options, "--architecture", card.architecture]
    for name, value in card.config.items():
        words += ["--config", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    words += [] if card.binarize is None else ["--binarize", str(card.binarize)]
    return [f"{note}: {shlex.join(words)}"]


def _write_noise(description: Mapping[str, Any]) -> list[str] | None:
    """The options that name a noise; None for one that a file states."""
    family = description["family"]
    names = {"sparse": ("p_add", "p_del"), "sparse-levels": ("p_add", "p_del")}.get(family, (AMOUNTS.get(family, ""),))
    if not set(names) <= set(_ANY_AMOUNT) | {"p_add"}:
        return None
    words = [] if family == "discrete" else ["--noise", family]
    for name in names:
        words += [f"--{name.replace('_', '-')}", show_number(description[name])]
    if "mask_token" in description:
        words += ["--mask-token", str(description["mask_token"])]
    return [*words, "--unit", "pixel"] if description.get("unit") == "pixel" else words


def _to_json(advice: Advice, target: int | None, notes: Sequence[str], model: Path, data: DataSet) -> dict[str, Any]:
    def describe(option: NoiseAdvice) -> dict[str, Any]:
        expected = option.expected
        return {
            "noise": dict(option.noise.description()),
            "amount": show_amount(option.noise.description()),
            "reach": expected.reach,
            "mean_radius": asdict(expected.mean_radius),
            "accuracy": [{"r": r, **asdict(each)} for r, each in enumerate(expected.accuracy)],
            "share": expected.share,
            "seconds_per_vote": option.seconds_per_vote,
        }

    useful = is_useful(advice, target)
    settings = advice.settings
    return {
        "expected": "not certified; bands of 95 % over inputs and votes",
        "model": model.stem,
        "data": data.name,
        "inputs": advice.inputs,
        "votes": advice.votes,
        "n0": settings.n0,
        "n": settings.n,
        "failure": str(settings.failure),
        "stopping": str(settings.stopping),
        "seed": settings.seed,
        "target": target,
        "amounts": [describe(option) for option in advice.options],
        "recommended": show_amount(advice.best(target).noise.description()) if useful else None,
        "rivals": [show_amount(each.noise.description()) for each in advice.rivals(target)] if useful else [],
        "notes": list(notes),
        "summary": recommend(advice, target),
    }
