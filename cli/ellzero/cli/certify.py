"""The command ``ellzero certify``."""

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ellzero.audit.writing import read_noise_law
from ellzero.certificates.certified_budgets import MAX_TOP_K
from ellzero.cli.certificate_options import VOTES
from ellzero.cli.data_options import DataOptions, NoiseOptions, data_options, factory_option, noise_options
from ellzero.cli.forecast import forecast_run
from ellzero.cli.parameters import Command, IntegerRange, placement_options
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0
from ellzero.core.execution.executors import WorkerResources
from ellzero.core.execution.placement import Placement
from ellzero.core.part_store import split_chunks
from ellzero.core.progress import announce, notify, show_progress
from ellzero.core.text import count_noun
from ellzero.smoothing.data.datasets import DataSet, read_one
from ellzero.smoothing.models.devices import find_device
from ellzero.smoothing.models.files import SavedModel, find_model_file, load_model
from ellzero.smoothing.runs.certificate_files import CERTIFICATES, remove_certificates, write_certificates
from ellzero.smoothing.runs.dataset_run import DatasetRun, certify_chunks, check_fit, votes_per_second
from ellzero.smoothing.runs.model_function import CalledModel, ModelFunction
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.smoothing.sampling.reach import explain_unreachable
from ellzero.smoothing.sampling.sampling_task import CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping


@click.command("certify", cls=Command)
@click.option(
    "--model",
    required=True,
    help="A .safetensors file, a name in --models, or a module:function that returns any model and is allowed by "
    "--allow-factory: a network, a scikit-learn classifier, a function, a RemoteModel.",
)
@click.option(
    "--model-id", help="Name and version of the model that a module:function returns: nothing else identifies it."
)
@click.option(
    "--models",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("models"),
    envvar="ELLZERO_MODELS",
    show_default=True,
    help="The folder of named models; demo-digits is always available.",
)
@data_options("test")
@noise_options
@click.option("--n0", type=VOTES, default=DEFAULT_N0, show_default=True, help="Votes that choose the class.")
@click.option(
    "--n",
    type=VOTES,
    default=DEFAULT_N,
    show_default=True,
    help="Votes for the certificate; n0 others choose the class.",
)
@click.option("--failure", default=DEFAULT_FAILURE, show_default=True, help="Probability that a certificate is false.")
@click.option("--runner-up", is_flag=True, help="Bound all other classes too, which can certify where p is below 1/2.")
@click.option(
    "--top-k",
    type=IntegerRange(1, MAX_TOP_K),
    default=1,
    show_default=True,
    help="Certify that the class remains one of the k most probable.",
)
@click.option(
    "--stopping",
    type=click.Choice([each.value for each in Stopping]),
    default=Stopping.STAGED.value,
    show_default=True,
    help="staged: stop when more votes are unlikely to raise the radius. hasty: the same, sooner, for slightly smaller "
    "radii. settled: stop when no remaining vote can change the answer. anytime: stop at any number of votes, for "
    "clearly smaller radii. never: draw all votes.",
)
@click.option("--seed", type=IntegerRange(min=0), help="By default random; a resumed run keeps its seed.")
@click.option("--limit", type=IntegerRange(min=1), help="Certify only this many inputs, the first ones.")
@click.option(
    "--shuffle",
    type=IntegerRange(0, 2**63 - 1),
    metavar="SEED",
    help="Take the inputs in an order drawn from this seed, so that those of --limit are a random sample.",
)
@click.option(
    "--out", required=True, metavar="URI", help="Where results are written: a directory, or s3://bucket/prefix."
)
@click.option("--overwrite", is_flag=True, help="Remove the results of another run from --out first.")
@click.option(
    "--certificates",
    is_flag=True,
    help="Also write a document of each certificate, which `ellzero verify` checks: OUT/certificates/000000000.json.",
)
@click.option(
    "--sign",
    "key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --certificates: sign them with the Ed25519 private key in this PEM file.",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda or cuda:0.")
@click.option(
    "--batch-size", type=IntegerRange(min=1), help="Samples per batch; by default chosen for the model and the device."
)
@click.option("--autocast", type=click.Choice(["bfloat16", "float16"]), help="Run the model in reduced precision.")
@click.option(
    "--compile", "compiled", is_flag=True, help="Compile the model first: takes half a minute, then runs faster."
)
@click.option(
    "--cores", type=IntegerRange(1, 4_096), default=1, show_default=True, help="Cores per worker, with Ray on CPUs."
)
@click.option(
    "--forecast/--no-forecast",
    default=True,
    show_default=True,
    help="Say before a run of ten minutes or more what a few votes let one expect of it.",
)
@placement_options
@factory_option
def certify_command(
    model: str,
    model_id: str | None,
    models: Path,
    data: DataOptions,
    noise: NoiseOptions,
    n0: int,
    n: int,
    failure: str,
    runner_up: bool,
    top_k: int,
    stopping: str,
    seed: int | None,
    limit: int | None,
    shuffle: int | None,
    out: str,
    overwrite: bool,
    certificates: bool,
    key: Path | None,
    device: str,
    batch_size: int | None,
    autocast: str | None,
    compiled: bool,
    cores: int,
    forecast: bool,
    executor: str,
    address: str | None,
    workers: int | None,
    allowed: tuple[str, ...],
) -> None:
    """Certify the inputs of a data set: class, votes and radius of each, as Parquet.

    With probability at least 1 − failure each certificate holds: within its radius the answer of the smoothed
    classifier does not change. Inputs with a result are skipped, so the same command resumes a run that was stopped or
    killed. The noise is the one the model was trained with, unless options say otherwise.
    """
    if key is not None and not certificates:
        raise click.UsageError("--sign is of documents: give --certificates too")
    if certificates and runner_up and top_k > 1:
        raise click.UsageError("--certificates is not for --runner-up with --top-k above 1, which no verifier covers")
    private_key = None if key is None else _read_key(key)
    place = Placement.of(executor, address, workers)
    place.check_shared("out", out)
    if data.uri != "digits":
        place.check_shared("data", data.uri)
    if certificates and ":" in model:
        raise click.UsageError("--certificates is for model files: a document has the SHA-256 of its model")
    file = None if ":" in model else _find_file(model, models, model_id, place)
    saved: SavedModel | CalledModel | None = None if file is None else load_model(file, allowed)
    source = replace(data.source(noise.k, saved.card if saved else None), shuffle=shuffle)
    loaded = source.load()
    description = noise.description(saved.card.noise if saved else {}, loaded)
    function = None
    if saved is None:
        function = ModelFunction.of(model, model_id, loaded, description, allowed)
        saved = function.call(allowed)
    card = saved.card
    check_fit(card, loaded, int(description["levels"]), data.uri)
    if certificates:
        read_noise_law(description)
    if not place.is_cluster:
        find_device(device)
    store = ResultStore(out)
    manifest = {} if overwrite else store.manifest() or {}
    run_seed = seed if seed is not None else manifest.get("seed", secrets.randbits(63))
    run = DatasetRun(
        model="" if file is None else str(file.absolute()),
        model_digest=saved.digest if isinstance(saved, SavedModel) else "",
        allowed=tuple(allowed),
        source=source,
        data_digest=loaded.digest,
        noise=description,
        settings=CertifySettings.of(n0, n, failure, run_seed, stopping, runner_up, top_k),
        device=device,
        batch_size=batch_size,
        autocast=autocast,
        compile=compiled,
        function=function,
    )
    inputs = len(loaded.labels) if limit is None else min(len(loaded.labels), limit)
    place.check()
    # What cannot be certified is refused before anything is written. A cluster's devices are not those of its driver.
    trial = replace(run, device="auto" if place.is_cluster else device, compile=False).make_classifier(saved)
    x, protected = read_one(loaded, 0)
    trial.task(x, run.settings, protected)
    if overwrite:
        store.clear()
        remove_certificates(store)
    store.begin(run.manifest(card, loaded))
    store.write_source(source)
    chunks = split_chunks(set(range(inputs)) - store.present())
    indices = [index for chunk in chunks for index in chunk]
    missing = len(indices)
    if not missing:
        click.echo(f"{store.uri}: all {count_noun(inputs, 'input')} are certified already")
        if certificates:
            _write_certificates(run, store, loaded, private_key)
        return
    rate = votes_per_second(trial, loaded)
    seconds = missing * (run.settings.n0 + run.settings.n) / rate
    unreachable = explain_unreachable(trial.noise, run.settings, trial.num_classes)
    if unreachable is not None:
        notify(unreachable)
    elif forecast and (line := forecast_run(trial, loaded, indices, run.settings, rate)) is not None:
        notify(line)
    _certify(run, store, chunks, seconds, place, cores, saved, loaded)
    if certificates:
        _write_certificates(run, store, loaded, private_key)
    click.echo(f"next: ellzero report {store.uri}")


def _read_key(path: Path) -> Any:
    from ellzero.core.signing_keys import read_private_key

    return read_private_key(path)


def _write_certificates(run: DatasetRun, store: ResultStore, data: DataSet, key: Any) -> None:
    written = write_certificates(store, data, run.model_digest, key)
    click.echo(f"{store.uri}/{CERTIFICATES}: {count_noun(written, 'document')}; check one with ellzero verify")


def _find_file(model: str, models: Path, model_id: str | None, place: Placement) -> Path:
    if model_id is not None:
        raise click.UsageError("--model-id is for a module:function; a file is identified by its content")
    path = find_model_file(model, models)
    place.check_shared("model", str(path))
    return path


def _certify(
    run: DatasetRun,
    store: ResultStore,
    chunks: list[range],
    seconds: float,
    place: Placement,
    cores: int,
    saved: SavedModel | CalledModel,
    data: DataSet,
) -> None:
    settings, missing = run.settings, sum(map(len, chunks))
    name = place.choose_executor(seconds)
    announce(f"{count_noun(missing, 'input')}, at most {settings.n:,} votes each", seconds)
    done = drawn = 0
    missing_inputs = {index for chunk in chunks for index in chunk}
    with (
        place.open_executor(
            seconds, lambda: f"{len(missing_inputs & store.present()):,} of {missing:,} inputs", store.uri
        ) as executor,
        show_progress(missing, "inputs") as bar,
    ):
        share = WorkerResources(
            cores, min(1, executor.gpus) if run.device == "auto" else int(run.device.startswith("cuda"))
        )
        threads = cores if name == "ray" and not share.gpus else None
        for receipt in certify_chunks(run, store, chunks, executor, share, threads, saved, data):
            done += receipt.inputs
            drawn += receipt.drawn
            bar.advance(receipt.inputs, done)
    click.echo(
        f"{store.uri}: {count_noun(done, 'input')} certified, {drawn / (done * settings.n):.0%} of their votes drawn"
    )
