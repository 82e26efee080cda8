"""Beyond the paper on MNIST: most pixels are hidden instead of changed, and votes certify the lead of two classes.

The same images as in Table 1, the same number of votes and the same failure. How many pixels are shown is chosen on
validation images. Rows of grey images stand beside the published result of randomized ablation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N0
from ellzero.core.errors import BadResults, InvalidInput, MissingExtra
from ellzero.core.execution.placement import Placement
from ellzero.experiments.beyond_mnist_figure import plot_curves
from ellzero.experiments.beyond_mnist_settings import BeyondRow, BeyondSettings
from ellzero.experiments.beyond_mnist_tables import (
    RowResult,
    estimate_median,
    make_beyond_notes,
    make_keep_table,
    make_network_table,
    make_radius_table,
)
from ellzero.experiments.dataset_runs import certify_inputs
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.image_source import ImageSource, check_fit
from ellzero.experiments.mnist_training import TrainedNetwork, train_networks
from ellzero.experiments.published import MNIST_DIGESTS
from ellzero.experiments.result import Estimate, ExperimentResult
from ellzero.smoothing.noise.mask import AblationNoise
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.metrics import Report, summarize
from ellzero.smoothing.sampling.sampling_task import CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping
from ellzero.smoothing.training import Recipe

NAME: Final = "beyond-mnist"


@dataclass(frozen=True)
class _Plan:
    """How a row comes to be: its images, pixels shown, network and votes."""

    grey: bool
    keep: int
    architecture: str
    recipe: Recipe
    n: int
    runner_up: bool

    @property
    def name(self) -> str:
        """Of its network: the same name means the same network."""
        return f"{'grey' if self.grey else 'bits'}-{self.architecture}-keep-{self.keep}"


class _Images:
    """Training, validation and test images, binarised or grey."""

    def __init__(self, settings: BeyondSettings, *, grey: bool) -> None:
        threshold = None if grey else settings.threshold
        uri, seed = settings.uri, settings.recipe.seed
        self.training = ImageSource(uri, "train", threshold=threshold)
        self.validation = ImageSource(uri, "train", threshold=threshold, shuffle=settings.seed, held_out=seed)
        self.test = ImageSource(uri, "test", threshold=threshold, shuffle=settings.seed)
        check_fit(self.training.data, self.test.data, uri)

    def noise(self, keep: int) -> Mapping[str, Any]:
        """The noise that shows so many pixels of these images. Raises if they have fewer."""
        data = self.training.data
        d = data.inputs([0])[0].size
        if keep >= d:
            raise InvalidInput("keep", f"below {d}, the pixels of an image", keep)
        return AblationNoise(data.levels - 1, d, keep).description()


def run_beyond_mnist(
    folder: ExperimentFolder, settings: BeyondSettings, place: Placement, beside: Path | None = None
) -> ExperimentResult:
    """Train networks, choose how many pixels are shown, and certify test images row by row.

    ``beside`` is the folder of a finished experiment on Table 1, whose first row then stands above these. Everything is
    kept as it comes.
    """
    settings = replace(settings, keeps=tuple(sorted(set(settings.keeps))))
    table_one = None if beside is None else _read_table_one(beside)
    images = {grey: _Images(settings, grey=grey) for grey in (False, True)}
    for keep in (*settings.keeps, settings.ablation_keep):
        images[False].noise(keep)
    bits = images[False]
    compare = (bits.training.digest, bits.test.digest) == MNIST_DIGESTS
    folder.begin(NAME, _describe(settings, images))
    candidates = {keep: _plan(settings, BeyondRow.MEAN, keep) for keep in settings.keeps}
    networks = _train(folder, bits, list(candidates.values()), place)
    tuned = {keep: _tune(folder, settings, bits, plan, networks[plan.name], place) for keep, plan in candidates.items()}
    by_mean = max(tuned, key=lambda each: tuned[each].mean_radius)
    by_median = max(tuned, key=lambda each: (estimate_median(tuned[each]).value, tuned[each].mean_radius))
    folder.log(
        f"on validation images the mean radius is largest with {by_mean} pixels shown, the median with {by_median}"
    )
    results = []
    for row in settings.rows:
        if row is BeyondRow.MEDIAN and by_median == by_mean and BeyondRow.MEAN in settings.rows:
            continue  # the same row
        plan = _plan(settings, row, by_mean if row in (BeyondRow.MEAN, BeyondRow.PAPER_NETWORK) else by_median)
        own = images[plan.grey]
        network = _train(folder, own, [plan], place)[plan.name]
        run = _make_run(own.test, network, own.noise(plan.keep), plan, settings.seed)
        indices = range(min(settings.images, own.test.size))
        name = f"{row}-keep-{plan.keep}"
        certified = certify_inputs(folder, name, run, network.saved, own.test.data, indices, place)
        results.append(RowResult(row, plan.keep, plan.n, network, certified, summarize(certified.outcomes)))
    tables = [
        make_radius_table(results, table_one, bits.test.size, compare=compare),
        make_keep_table(tuned, settings),
        make_network_table(results),
    ]
    values = {
        "keep_by_mean": by_mean,
        "keep_by_median": by_median,
        "keeps": list(settings.keeps),
        "rows": list(settings.rows),
        "images": results[0].report.inputs,
    }
    return folder.finish(tables, values, make_beyond_notes(results, compare=compare), _plot(folder, results, table_one))


def _plan(settings: BeyondSettings, row: BeyondRow, keep: int) -> _Plan:
    """How a row comes to be, if so many pixels were chosen."""
    ours = (settings.architecture, settings.recipe)
    match row:
        case BeyondRow.MEAN | BeyondRow.MEDIAN:
            return _Plan(False, keep, *ours, settings.n, runner_up=True)
        case BeyondRow.PAPER_NETWORK:
            paper = (settings.paper_architecture, settings.paper_recipe)
            return _Plan(False, keep, *paper, settings.n, runner_up=True)
        case BeyondRow.ABLATION:
            return _Plan(True, settings.ablation_keep, *ours, settings.ablation_n, runner_up=False)
        case BeyondRow.GREY:
            return _Plan(True, keep, *ours, settings.ablation_n, runner_up=True)
        case BeyondRow.GREY_MORE_VOTES:
            return _Plan(True, keep, *ours, settings.n, runner_up=True)


def _read_table_one(folder: Path) -> tuple[Estimate, ...]:
    """μ(R) and ACC@1, ACC@2, … of the first row of Table 1 that an experiment of the name mnist found."""
    result = ExperimentFolder(folder).result()
    if result is None or result.name != "mnist":
        raise BadResults(str(folder), "holds no finished experiment of `ellzero reproduce mnist`")
    return tuple(cell for cell in result.table("accuracy").rows[0] if isinstance(cell, Estimate))


def _describe(settings: BeyondSettings, images: Mapping[bool, _Images]) -> dict[str, Any]:
    """What must be the same for results to belong together. What depends on the pixels shown has them in its name."""
    return {
        "data": {
            "training": images[True].training.data.digest,
            "test": images[True].test.data.digest,
            "threshold": settings.threshold,
        },
        "networks": [
            {"architecture": settings.architecture, "recipe": settings.recipe.describe()},
            {"architecture": settings.paper_architecture, "recipe": settings.paper_recipe.describe()},
        ],
        "n0": DEFAULT_N0,
        "n": settings.n,
        "failure": DEFAULT_FAILURE,
        "stopping": Stopping.STAGED.value,
        "tuning": {"n": settings.tuning_n, "images": settings.tuning_images},
        "ablation": {"keep": settings.ablation_keep, "n": settings.ablation_n},
        "seed": settings.seed,
    }


def _train(
    folder: ExperimentFolder, images: _Images, plans: Sequence[_Plan], place: Placement
) -> dict[str, TrainedNetwork]:
    """The networks of plans that differ in the pixels shown alone, by name."""
    noises = {plan.name: images.noise(plan.keep) for plan in plans}
    return train_networks(folder, images.training.source, noises, plans[0].architecture, plans[0].recipe, place)


def _tune(
    folder: ExperimentFolder,
    settings: BeyondSettings,
    images: _Images,
    plan: _Plan,
    network: TrainedNetwork,
    place: Placement,
) -> Report:
    """What few votes say of validation images, which were not trained on."""
    plan = replace(plan, n=settings.tuning_n)
    inputs = images.validation
    run = _make_run(inputs, network, images.noise(plan.keep), plan, settings.seed)
    indices = range(min(settings.tuning_images, inputs.size))
    name = f"validation-keep-{plan.keep}"
    return summarize(certify_inputs(folder, name, run, network.saved, inputs.data, indices, place).outcomes)


def _make_run(
    inputs: ImageSource, network: TrainedNetwork, noise: Mapping[str, Any], plan: _Plan, seed: int
) -> DatasetRun:
    return DatasetRun(
        model=str(network.path),
        model_digest=network.saved.digest,
        allowed=(),
        source=inputs.source,
        data_digest=inputs.data.digest,
        noise=noise,
        settings=CertifySettings.of(DEFAULT_N0, plan.n, DEFAULT_FAILURE, seed, Stopping.STAGED, plan.runner_up),
        device="cpu",
        batch_size=None,
        autocast=None,
        compile=False,
    )


def _plot(folder: ExperimentFolder, results: Sequence[RowResult], table_one: tuple[Estimate, ...] | None) -> list[str]:
    """The share of images that are certified against the radius; none without matplotlib."""
    try:
        plot_curves(results, table_one, folder.path / "radii.svg")
    except MissingExtra as missing:
        folder.log(str(missing))
        return []
    return ["radii.svg"]
