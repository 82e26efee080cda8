"""The commands ``ellzero train``, ``ellzero certify`` and ``ellzero report``."""

import json
import os
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from ellzero.certificates import InvalidInput, MissingExtra
from ellzero.certificates._inputs import integer
from ellzero.certificates.commands import Command, Whole, announce, counted, notice
from ellzero.precompute.executors import Share
from ellzero.precompute.placing import Place, place_options, stops_cleanly
from ellzero.precompute.reporting import Progress, progress_of
from ellzero.smoothing.architectures import ARCHITECTURES
from ellzero.smoothing.ballots import Question
from ellzero.smoothing.certifying import Run, certify_parts, check_fit, parts, votes_per_second
from ellzero.smoothing.devices import find_device
from ellzero.smoothing.errors import BadResults
from ellzero.smoothing.metrics import Outcome, Report, summarize
from ellzero.smoothing.models import DEMO_MODELS, ModelCard, ModelFile, find_model
from ellzero.smoothing.noises import in_words, noise_from
from ellzero.smoothing.options import DataAsked, NoiseAsked, data_options, factory_option, noise_options
from ellzero.smoothing.plots import plot_reports
from ellzero.smoothing.records import Records
from ellzero.smoothing.rules import Stopping
from ellzero.smoothing.training import Epoch, Recipe, Training


@click.command("train", cls=Command)
@data_options("train")
@noise_options
@click.option("--architecture", default="paper-cnn", show_default=True, help=f"{', '.join(ARCHITECTURES)}.")
@click.option(
    "--config", multiple=True, metavar="NAME=VALUE", help="For the architecture: width=64. As often as needed."
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="models/<data>.safetensors by default.")
@click.option("--epochs", type=Whole(), default=Recipe.epochs, show_default=True)
@click.option("--batch", type=Whole(), help="Inputs a step: 400, and less for small data sets.")
@click.option("--rate", type=float, default=Recipe.rate, show_default=True, help="Learning rate, a tenth every ...")
@click.option("--decay-every", type=Whole(), default=Recipe.decay_every, show_default=True, help="... epochs.")
@click.option("--seed", type=Whole(), default=0, show_default=True)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:0.")
@factory_option
def train_command(
    data: DataAsked,
    noise: NoiseAsked,
    architecture: str,
    config: tuple[str, ...],
    out: Path | None,
    epochs: Any,
    batch: Any,
    rate: float,
    decay_every: Any,
    seed: Any,
    device: str,
    allowed: tuple[str, ...],
) -> None:
    """Train a network on noisy inputs, by the paper's recipe, and save it as a model.

    Of all epochs the one that does best on held-out inputs under noise is kept. The same command goes on where a
    stopped one was.
    """
    source = data.source(noise.k)
    found = find_device(device)
    loaded = source.load()
    drawn = noise_from(noise.description({}, loaded))
    recipe = Recipe(epochs=epochs, batch=batch, rate=rate, decay_every=decay_every, seed=seed)
    target = out or Path("models") / f"{Path(data.uri).stem}.safetensors"
    card = ModelCard(
        architecture=architecture,
        shape=loaded.shape,
        num_classes=len(loaded.class_names),
        levels=loaded.levels,
        config=dict(map(_setting, config)),
        data=data.uri,
        binarize=source.binarize,
        class_names=loaded.class_names,
    )
    training = Training(loaded, drawn, card, recipe, target, found, allowed=allowed)
    notice(
        f"{architecture} on {len(loaded.labels):,} inputs of {loaded.name}, {in_words(drawn.description())}, "
        f"{counted(recipe.epochs, 'epoch')} on {found}"
    )
    saved = training.run(_print_epoch, _Steps())
    click.echo(f"{target}: {saved.training['validation']:.1%} of noisy held-out inputs right")
    click.echo(f"next: ellzero certify --model {target} --data {data.uri} --n 10000 --limit 50 --out results")


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE; a value that is JSON is what JSON says, any other is text."""
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


class _Steps:
    """A line every ten seconds: an epoch may take longer than people like to wait without a word."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._before = 0

    def __call__(self, done: int, total: int, loss: float) -> None:
        if self._progress is None:
            self._progress, self._before = Progress(total - done, "steps", None), done
        self._progress.advance(1, done - self._before)


@click.command("certify", cls=Command)
@click.option("--model", required=True, help="A .safetensors file, or a name in --models.")
@click.option(
    "--models",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("models"),
    envvar="ELLZERO_MODELS",
    show_default=True,
    help="The folder of named models; demo-digits ships, and is always there.",
)
@data_options("test")
@noise_options
@click.option("--n0", type=Whole(), default=100, show_default=True, help="Votes that select the class.")
@click.option("--n", type=Whole(), default=100_000, show_default=True, help="Fresh votes that bound its probability.")
@click.option("--failure", default="0.001", show_default=True, help="Probability that a certificate is false.")
@click.option("--runner-up", is_flag=True, help="Bound all other classes too: can certify where p is below 1/2.")
@click.option(
    "--stopping",
    type=click.Choice([each.value for each in Stopping]),
    default=Stopping.SETTLED.value,
    show_default=True,
    help="settled: once no vote left can matter. anytime: far earlier, for a little radius.",
)
@click.option("--seed", type=Whole(), help="A new one by default; a run that goes on keeps its own.")
@click.option("--limit", type=Whole(), help="Only the first so many inputs.")
@click.option("--out", required=True, metavar="URI", help="The results: a directory, or s3://bucket/prefix.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:0.")
@click.option("--batch-size", type=Whole(), help="Samples at once; as memory allows by default.")
@click.option("--autocast", type=click.Choice(["bfloat16", "float16"]), help="Run the model in reduced precision.")
@click.option("--compile", "compiled", is_flag=True, help="Compile the model first: half a minute, then faster.")
@click.option("--cores", type=Whole(), default=1, show_default=True, help="With Ray on CPUs, cores a worker.")
@place_options
@factory_option
def certify_command(
    model: str,
    models: Path,
    data: DataAsked,
    noise: NoiseAsked,
    n0: Any,
    n: Any,
    failure: str,
    runner_up: bool,
    stopping: str,
    seed: Any,
    limit: Any,
    out: str,
    device: str,
    batch_size: Any,
    autocast: str | None,
    compiled: bool,
    cores: Any,
    executor: str,
    address: str | None,
    workers: Any,
    allowed: tuple[str, ...],
) -> None:
    """Certify the inputs of a data set: class, votes and radius of each, as Parquet.

    What has a result is not certified again: the same command resumes a run that was stopped or killed. The noise is
    the one that the model was trained with, unless options say otherwise.
    """
    place = Place.of(executor, address, workers)
    place.check_shared("out", out)
    path = Path(model) if model.endswith(".safetensors") else find_model(model, models, DEMO_MODELS)
    place.check_shared("model", str(path))
    if data.uri != "digits":
        place.check_shared("data", data.uri)
    file = ModelFile.read(path)
    card = file.card
    source = data.source(noise.k, card.binarize)
    loaded = source.load()
    described = noise.description(card.noise, loaded)
    check_fit(card, loaded, int(described["levels"]), data.uri)
    if not place.is_cluster:
        find_device(device)
    records = Records(out)
    known = records.manifest() or {}
    chosen = seed if seed is not None else known.get("seed", secrets.randbits(63))
    run = Run(
        model=str(path.absolute()),
        model_digest=file.digest,
        allowed=tuple(allowed),
        source=source,
        data_digest=loaded.digest,
        noise=described,
        question=Question.of(n0, n, failure, chosen, stopping, runner_up),
        device=device,
        batch_size=batch_size,
        autocast=autocast,
        compile=compiled,
    )
    inputs = len(loaded.labels) if limit is None else min(len(loaded.labels), integer(limit, "limit", 1))
    integer(cores, "cores", 1, 4_096)
    place.check()
    # What cannot be certified is refused before anything is written. A cluster's devices are not those of its driver.
    trial = replace(run, device="auto" if place.is_cluster else device, compile=False).classifier()
    trial.ballot(loaded.inputs([0])[0], run.question)
    records.begin(run.manifest(card, loaded))
    wanted = parts(set(range(inputs)) - records.present())
    missing = sum(map(len, wanted))
    if not missing:
        click.echo(f"{records.uri}: all {counted(inputs, 'input')} are certified already")
        return
    seconds = missing * (run.question.n0 + run.question.n) / votes_per_second(trial, loaded)
    _certify(run, records, wanted, seconds, place, cores)


def _certify(run: Run, records: Records, wanted: list[range], seconds: float, place: Place, cores: int) -> None:
    question, missing = run.question, sum(map(len, wanted))
    name = place.name(seconds)
    announce(f"{counted(missing, 'input')}, at most {question.n:,} votes each", seconds)
    done = drawn = 0
    with (
        place.executor(seconds) as executor,
        stops_cleanly(lambda: f"after {done:,} of {missing:,} inputs", records.uri),
        progress_of(missing, "inputs") as bar,
    ):
        share = Share(cores, min(1, executor.gpus) if run.device == "auto" else int(run.device.startswith("cuda")))
        threads = cores if name == "ray" and not share.gpus else None
        for receipt in certify_parts(run, records, wanted, executor, share, threads):
            done += receipt.inputs
            drawn += receipt.drawn
            bar.advance(receipt.inputs, done)
    click.echo(
        f"{records.uri}: {counted(done, 'input')} certified, {drawn / (done * question.n):.0%} of their votes drawn"
    )
    click.echo(f"next: ellzero report {records.uri}")


@click.command("report", cls=Command)
@click.argument("results", nargs=-1, required=True)
@click.option(
    "--plot", "figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw the curves: .png, .svg, .pdf."
)
@click.option("--r-max", type=Whole(), help="List ACC@r up to this radius; to the largest there is by default.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
def report_command(results: tuple[str, ...], figure: Path | None, r_max: Any, as_json: bool) -> None:
    """Print the mean certified radius μ(R) and ACC@r of RESULTS, and draw them.

    Several RESULTS are compared in one figure. It is drawn to curves.svg beside the first of them, if that is a local
    folder, unless --plot says where.
    """
    last = None if r_max is None else integer(r_max, "r_max", 0, 10_000)
    reports: dict[str, Report] = {}
    for uri in results:
        records = Records(uri)
        manifest = records.manifest()
        if manifest is None:
            raise BadResults(uri, "holds no results of ellzero")
        table = records.table()
        columns = (table[name].to_pylist() for name in ("label", "prediction", "radius"))
        report = summarize([Outcome(*row) for row in zip(*columns, strict=True)], last)
        reports[uri] = report
        drawn = sum(table["drawn"].to_pylist()) / (len(table) * manifest["n"])
        if as_json:
            click.echo(json.dumps({"results": uri, "run": manifest, "votes_drawn": drawn, **asdict(report)}))
        else:
            _print_report(uri, manifest, report, drawn, table["d"][0].as_py())
    target = figure or (Path(results[0]) / "curves.svg" if os.path.isdir(results[0]) else None)
    if target is None:
        return
    try:
        plot_reports(reports, target)
        notice(f"curves drawn to {target}")
    except MissingExtra as missing:
        if figure is not None:
            raise
        notice(str(missing))


def _print_report(uri: str, run: dict[str, Any], report: Report, drawn: float, d: int) -> None:
    model, data = run["model"], run["data"]
    click.echo(f"{uri}: {model['name']} ({model['architecture']}) on {data['name']}, {data['split']}")
    click.echo(
        f"{in_words(run['noise'])}, d = {d}; failure {run['failure']}, n = {run['n']:,}, {drawn:.0%} of them drawn"
    )
    click.echo(f"inputs {report.inputs:,}, abstained {report.abstained:,}, wrong {report.wrong:,}")
    click.echo(
        f"μ(R)   {report.mean_radius:.3f} ± {report.mean_radius_error:.3f}   median {report.median_radius:g}   "
        "(wrong and abstained count 0)"
    )
    for each in report.accuracy:
        bar = "█" * round(40 * each.share)
        click.echo(f"ACC@{each.r:<3d}{each.share:7.1%}  ({each.low:6.1%} – {each.high:6.1%})  {bar}")
