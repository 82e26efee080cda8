"""The commands ``ellzero tree …``."""

import json
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from math import ceil, floor
from pathlib import Path
from typing import Any

import click
from sklearn.metrics import roc_auc_score

from ellzero.cli.groups import CommandGroup
from ellzero.cli.parameters import Command, IntegerRange, Radii, placement_options
from ellzero.core.execution.placement import Placement
from ellzero.core.numbers import read_integer
from ellzero.core.part_store import PartStore
from ellzero.core.progress import announce, notify, show_progress
from ellzero.core.storage import Folder
from ellzero.core.text import count_noun, format_duration
from ellzero.trees.auc import adversarial_auc, read_budget, read_labels
from ellzero.trees.data import PARTS, SPLITS, BinaryDataSource
from ellzero.trees.drawing import draw_text, plot_tree
from ellzero.trees.estimators import SmoothedForestClassifier, SmoothedTreeClassifier, SmoothedTrees
from ellzero.trees.model_file import load_trees, save_trees
from ellzero.trees.result_schema import SCHEMA
from ellzero.trees.runs import (
    TreeRun,
    certify_chunks_by_trees,
    missing_chunks,
    place_labels,
    seconds_per_input,
)

_model = click.option("--model", required=True, help="A model file that `ellzero tree fit` wrote.")


@click.group("tree", cls=CommandGroup, replacements={"bace": "ellzero reproduce bace --data DIR"})
def tree_group() -> None:
    """Train trees and forests on bits or molecules, and certify them exactly."""


def _source_options(part: str, required: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--data, --label, --smiles, --split, --part and --seed, as ``source``."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(
            data: str | None, label: str, smiles: str | None, split: str, part: str, seed: int, **others: Any
        ) -> None:
            source = None if data is None else BinaryDataSource(data, label, smiles, split, part, seed)
            command(source=source, **others)

        for option in (
            click.option("--seed", type=IntegerRange(min=0), default=0, show_default=True, help="Of the random split."),
            click.option("--part", type=click.Choice(PARTS), default=part, show_default=True, help="Of the split."),
            click.option("--split", type=click.Choice(SPLITS), default="none", show_default=True, help="80/10/10 %."),
            click.option("--smiles", metavar="COLUMN", help="Molecules: their Morgan fingerprints are the features."),
            click.option("--label", default="y", show_default=True, help="The column, or array, of the labels."),
            click.option("--data", required=required, help="A .csv or .parquet file, or an .npz with an array x."),
        ):
            run = option(run)
        return run

    return decorate


@tree_group.command("fit", cls=Command)
@_source_options("train")
@click.option("--trees", type=IntegerRange(min=1), default=1, show_default=True, help="More than one make a forest.")
@click.option("--alpha", default="4/5", show_default=True, help="Probability of keeping a bit: 0.8 or 4/5.")
@click.option(
    "--max-depth", type=IntegerRange(min=1), default=10, show_default=True, help="Tests on the way to a leaf."
)
@click.option("--leaf", type=click.Choice(["share", "majority"]), default="share", show_default=True)
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The model file, .json.")
def fit_command(source: BinaryDataSource, trees: int, alpha: str, max_depth: int, leaf: str, out: Path) -> None:
    """Train a smoothed tree, or a forest of trees that share no feature, and write it as a file.

    The file has no code, and its SHA-256 names the model in results.
    """
    data = source.load()
    Folder(str(out.parent)).prepare()  # before the training, which takes longer
    estimator: SmoothedTrees
    if trees == 1:
        estimator = SmoothedTreeClassifier(alpha, max_depth, leaf)
    else:
        estimator = SmoothedForestClassifier(trees, alpha, max_depth, leaf)
    estimator.fit(data.features, data.labels)
    notes = {"data": {"name": data.name, **source.describe(), "sha256": data.digest}}
    digest = save_trees(estimator, out, notes, data.feature_names)
    auc = roc_auc_score(data.labels, estimator.predict_proba(data.features)[:, 1])
    click.echo(f"{out}: {count_noun(len(estimator.feature_), 'node')}, SHA-256 {digest}")
    click.echo(f"training AUC {auc:.4f} on {count_noun(len(data.labels), 'input')}")


@tree_group.command("certify", cls=Command)
@_model
@_source_options("test")
@click.option(
    "--r-max", type=IntegerRange(0, 1_000), default=3, show_default=True, help="Bounds are for up to so many changes."
)
@click.option("--limit", type=IntegerRange(min=1), help="Certify only this many inputs, from the first.")
@click.option("--out", required=True, metavar="URI", help="The results: a directory, or s3://bucket/prefix.")
@click.option("--overwrite", is_flag=True, help="Remove the results of another run from --out first.")
@placement_options
def certify_command(
    model: str,
    source: BinaryDataSource,
    r_max: int,
    limit: int | None,
    out: str,
    overwrite: bool,
    executor: str,
    address: str | None,
    workers: int | None,
) -> None:
    """Certify the inputs of a data set: class, exact radius and bounds on p of each, as Parquet.

    Inputs with a result are skipped, so the same command resumes a run that was stopped or killed.
    """
    place = Placement.of(executor, address, workers)
    for option, path in (("out", out), ("model", model), ("data", source.uri)):
        place.check_shared(option, path)
    saved, data = load_trees(model), source.load()
    place_labels(saved, data, source.uri)
    run = TreeRun(str(Path(model).absolute()), saved.digest, source, data.digest, r_max)
    inputs = len(data.labels) if limit is None else min(len(data.labels), limit)
    place.check()
    store = PartStore(out, SCHEMA)
    if overwrite:
        store.clear()
    store.begin(run.describe(saved, data))
    chunks = missing_chunks(store, inputs)
    missing = sum(map(len, chunks))
    if not missing:
        click.echo(f"{store.uri}: all {count_noun(inputs, 'input')} are certified already")
        return
    seconds = missing * seconds_per_input(saved, data, run.r_max)
    announce(count_noun(missing, "input"), seconds)
    done, wanted = 0, {index for chunk in chunks for index in chunk}
    with (
        place.open_executor(
            seconds, lambda: f"{len(wanted & store.present()):,} of {missing:,} inputs", store.uri
        ) as runner,
        show_progress(missing, "inputs") as bar,
    ):
        for number in certify_chunks_by_trees(run, store, chunks, runner):
            done += number
            bar.advance(number, done)
    click.echo(f"{store.uri}: {count_noun(done, 'input')} certified, exactly")
    click.echo(f"next: ellzero report {store.uri}")


@tree_group.command("auc", cls=Command)
@_model
@_source_options("test")
@click.option("--r", "radii", type=Radii(), default="1", show_default=True, help="Changes a point: 2, or 1:3.")
@click.option("--budget", multiple=True, default=("25%",), show_default=True, help="Points: 38, or a share, 25%.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, max=1e6), default=60, show_default=True, help="Seconds for each AUC."
)
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON, AUCs as exact fractions.")
def auc_command(
    model: str, source: BinaryDataSource, radii: list[int], budget: tuple[str, ...], time_limit: float, as_json: bool
) -> None:
    """Print the AUC that is left when an adversary manipulates some of the points.

    The guarantee holds for every manipulation of so many points, each with at most r changed features; the attack is
    the best manipulation found. They are equal where the search was ended by a proof.
    """
    saved, data = load_trees(model), source.load()
    labels = place_labels(saved, data, source.uri)
    read_labels(labels)  # what cannot be used is refused before the bounds are computed
    budgets = [read_budget(each, len(labels)) for each in budget]
    number = len(radii) * len(budgets)
    notify(f"{count_noun(number, 'AUC')}, each after at most {format_duration(time_limit)} of search")
    low, high = saved.estimator.probability_bounds(data.features, max(radii), exact=True)
    if not as_json:
        click.echo("r  points  guaranteed  attained  gap")
    for r in radii:
        for points in budgets:
            result = adversarial_auc(labels, low[:, 0], low[:, r], high[:, r], points, time_limit)
            if as_json:
                exact = {name: str(getattr(result, name)) for name in ("guaranteed", "attained", "gap", "clean")}
                click.echo(
                    json.dumps({"r": r, "budget": result.budget, **exact, "manipulated": result.manipulated.tolist()})
                )
            else:
                guaranteed, attained = _round_down(result.guaranteed, 4), _round_down(result.attained, 4)
                gap = ceil(10**4 * result.gap) / 10**4  # at most so far from the truth
                click.echo(f"{r:<2d} {result.budget:<7d} {guaranteed:<12}{attained:<10}{gap:.4f}")


def _round_down(auc: Fraction, digits: int) -> str:
    return f"{floor(10**digits * auc) / 10**digits:.{digits}f}"


@tree_group.command("show", cls=Command)
@_model
@_source_options("test", required=False)
@click.option("--row", type=IntegerRange(min=0), default=0, show_default=True, help="The input of --data to follow.")
@click.option("--depth", type=IntegerRange(0, 60), default=3, show_default=True, help="Draw down to this depth.")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw a figure: .png, .svg, .pdf.")
def show_command(model: str, source: BinaryDataSource | None, row: int, depth: int, plot: Path | None) -> None:
    """Draw a tree as text; with --data the chance that the noisy input reaches each node."""
    saved, x = load_trees(model), None
    estimator = saved.estimator
    nodes, classes = count_noun(len(estimator.feature_), "node"), estimator.classes_.tolist()
    click.echo(f"{saved.kind} of {nodes}, α = {estimator.alpha_}, {estimator.n_features_in_:,} features")
    click.echo(f"classes {classes}, p is the probability of {classes[1]!r}; SHA-256 {saved.digest}")
    if source is not None:
        data = source.load()
        place_labels(saved, data, source.uri)
        x = data.features[read_integer(row, "row", 0, len(data.labels) - 1)]
        p = estimator.predict_proba(x[None])[0, 1]
        click.echo(f"p = {p:.6f}, radius {estimator.certified_radius(x[None])[0]}")
    for line in draw_text(estimator, x, depth):
        click.echo(line)
    if plot is not None:
        plot_tree(estimator, x, depth, plot)
        notify(f"figure written to {plot}")
