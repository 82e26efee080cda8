"""The paper's experiment on ImageNet: ResNet-50 under discrete noise of five α, and under Gaussian noise.

Images are in {0, 1/255, …, 1}^(224·224·3): the shorter side scaled to 256, then the middle. Noise comes before
normalisation. Every 100th validation image is certified with n = 100,000 votes at 99.9 %, by the certificate of the
discrete noise, or by √r < R from the ℓ2 radius R of Gaussian noise; for each r the best α, or σ, counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0
from ellzero.core.errors import BadResults, MissingExtra
from ellzero.core.execution.placement import Placement
from ellzero.core.progress import show_progress
from ellzero.experiments.dataset_runs import CertifiedInputs, certify_inputs
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.imagenet_figure import plot_noisy_images
from ellzero.experiments.imagenet_stand_in import IMAGE_SIZE, train_networks, write_images
from ellzero.experiments.imagenet_weights import (
    NoiseLevel,
    find_image_size,
    find_sigmas,
    find_weights,
    prepare_model,
    read_levels,
)
from ellzero.experiments.published import IMAGENET, IMAGENET_ALPHAS, IMAGENET_BY_ALPHA, IMAGENET_D
from ellzero.experiments.result import Cell, Estimate, ExperimentResult, ResultColumn, ResultTable
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.models.devices import autocast_type, find_device
from ellzero.smoothing.models.files import SavedModel, load_model
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.metrics import Accuracy, Report, summarize
from ellzero.smoothing.runs.plots import plot_reports
from ellzero.smoothing.sampling.sampling_task import CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping

NAME: Final = "imagenet"
R_MAX: Final = 7
EVERY: Final = 100
_IMAGES, _CLASSES = 50_000, 1_000
_READ_AT_ONCE = 64
_VALIDATION = ("val", "validation")
_NEEDS = (
    "`ellzero reproduce imagenet` needs the validation images in a folder for each of their classes, val/<class>/*.JPEG"
)


@dataclass(frozen=True)
class ImageNetSettings:
    """What is certified and how; the defaults are the paper's, but for ``sigmas`` None: all that have weights."""

    alphas: tuple[str, ...] = IMAGENET_ALPHAS
    sigmas: tuple[str, ...] | None = None
    every: int = EVERY
    n: int = DEFAULT_N
    seed: int = 0
    device: str = "auto"
    autocast: str | None = None

    def certify_settings(self) -> CertifySettings:
        """Those of a vote."""
        return CertifySettings.of(DEFAULT_N0, self.n, DEFAULT_FAILURE, self.seed, Stopping.STAGED)


@dataclass(frozen=True)
class Classifier:
    """A network with the noise that it was trained with, and how it comes from the user's weights."""

    level: NoiseLevel
    weights: Path
    model: Path
    saved: SavedModel


@dataclass(frozen=True)
class ClassifierReport:
    """What a classifier certifies."""

    classifier: Classifier
    certified: CertifiedInputs
    report: Report


def run_imagenet(
    folder: ExperimentFolder, data: Path, weights: Path, settings: ImageNetSettings, place: Placement
) -> ExperimentResult:
    """Certify every hundredth validation image with each model, and set the paper's tables beside ours.

    Data and weights are read and checked before the first vote. The votes of each model are in ``runs/``, from which a
    stopped experiment resumes, and models made of checkpoints are in ``models/``.
    """
    if not place.is_cluster:
        autocast_type(settings.autocast, find_device(settings.device))
    images = _find_images(data)
    sigmas = find_sigmas(weights) if settings.sigmas is None else settings.sigmas
    levels = [*read_levels("alpha", settings.alphas), *read_levels("sigma", sigmas)]
    files = find_weights(weights, levels, _find_training(data, images))
    source = DataSource(str(images.absolute()), "test", None, find_image_size(files), None)
    inputs = source.load()
    indices = range(0, len(inputs.labels), settings.every)
    _check_images(inputs, indices)
    digest = inputs.digest
    certify = settings.certify_settings()
    folder.begin(NAME, _describe(inputs, settings))
    classifiers = []
    for level, file in zip(levels, files, strict=True):
        model = prepare_model(level, file, folder.path / "models")
        classifiers.append(Classifier(level, file, model, load_model(model)))
    _check_classes(images, inputs, classifiers)
    reports = []
    for each in classifiers:
        run = DatasetRun(
            model=str(each.model.absolute()),
            model_digest=each.saved.digest,
            allowed=(),
            source=source,
            data_digest=digest,
            noise=each.level.make_noise().description(),
            settings=certify,
            device=settings.device,
            batch_size=None,
            autocast=settings.autocast,
            compile=False,
        )
        certified = certify_inputs(folder, each.level.name, run, each.saved, inputs, indices, place)
        reports.append(ClassifierReport(each, certified, summarize(certified.outcomes, R_MAX)))
    is_papers = _is_papers(inputs, settings)
    return folder.finish(
        make_tables(reports, compare=is_papers),
        {"d": _count_coordinates(inputs), "inputs": len(indices)},
        _make_notes(reports, inputs, settings, compare=is_papers),
        _plot(folder, reports, inputs, indices[0], settings.seed),
    )


def run_stand_in(folder: ExperimentFolder, device: str, place: Placement) -> ExperimentResult:
    """The same with small networks on scikit-learn's digits: a check that all works, in a minute or two."""
    data, weights = folder.path / "stand-in" / "digits", folder.path / "stand-in" / "weights"
    if folder.describe() is not None and not data.is_dir():
        raise BadResults(str(folder.path), "holds another experiment; give another --out")
    settings = ImageNetSettings(("0.3", "0.5"), ("0.5",), every=18, n=1_000, device=device)
    levels = [*read_levels("alpha", settings.alphas), *read_levels("sigma", settings.sigmas or ())]
    torch_device = find_device(device)
    write_images(data)
    inputs = DataSource(str(_find_images(data).absolute()), "test", None, IMAGE_SIZE, None).load()
    folder.begin(NAME, _describe(inputs, settings))
    train_networks(data, weights, levels, torch_device, folder.log)
    return run_imagenet(folder, data, weights, settings, place)


def _describe(inputs: DataSet, settings: ImageNetSettings) -> dict[str, Any]:
    """What must be the same for results to belong together."""
    certify = settings.certify_settings()
    return {
        "data": {"inputs": len(inputs.labels), "every": settings.every, "sha256": inputs.digest},
        "n0": certify.n0,
        "n": certify.n,
        "failure": str(certify.failure),
        "seed": certify.seed,
        "stopping": str(certify.stopping),
        "precision": settings.autocast or "float32",
    }


def find_best(reports: Sequence[ClassifierReport], r: int) -> tuple[ClassifierReport, Accuracy]:
    """The classifier with the largest ACC@r, the first one of several, as the paper's table has it for each r."""
    best = max(reports, key=lambda each: each.report.accuracy[r].share)
    return best, best.report.accuracy[r]


def make_tables(reports: Sequence[ClassifierReport], *, compare: bool) -> list[ResultTable]:
    """The best ACC@r, ACC@r of each model, and the models; with the paper's figures if so asked."""
    discrete = [each for each in reports if each.classifier.level.parameter == "alpha"]
    gaussian = [each for each in reports if each.classifier.level.parameter == "sigma"]
    rows: list[tuple[Cell, ...]] = []
    for family, members, symbol in (("discrete", discrete, "α"), ("gaussian", gaussian, "σ")):
        if members:
            published = next(row.accuracy for row in IMAGENET if row.noise == family) if compare else {}
            if family == "discrete" and not _has_papers_alphas(members):
                published = {}  # the paper's best are of five
            best = [find_best(members, r) for r in range(1, R_MAX + 1)]
            rows.append((f"{family} noise and certificate", *(_estimate(each, published) for _, each in best)))
            chosen = (each.classifier.level.amount if accuracy.share else "–" for each, accuracy in best)
            rows.append((f"best {symbol}", *chosen))
    columns = (ResultColumn("classifier"), *(ResultColumn(f"r = {r}", digits=3) for r in range(1, R_MAX + 1)))
    bands = "Bands of 95 % over images."
    tables = [
        ResultTable(
            "best",
            "ACC@r with the best model for each r",
            columns,
            tuple(rows),
            f"{bands} The best model is chosen by the same images, as in the paper; bands do not allow for that.",
        )
    ]
    for name, symbol, members in (("by-alpha", "α", discrete), ("by-sigma", "σ", gaussian)):
        if members:
            tables.append(_make_level_table(name, symbol, members, bands, compare=compare))
    tables.append(_make_model_table(reports))
    return tables


def _has_papers_alphas(reports: Sequence[ClassifierReport]) -> bool:
    amounts = {Decimal(each.classifier.level.amount) for each in reports}
    return amounts == set(map(Decimal, IMAGENET_ALPHAS))


def _make_level_table(
    name: str, symbol: str, reports: Sequence[ClassifierReport], caption: str, *, compare: bool
) -> ResultTable:
    rows: list[tuple[Cell, ...]] = []
    for each in reports:
        amount = each.classifier.level.amount
        published = IMAGENET_BY_ALPHA.get(amount, {}) if compare and symbol == "α" else {}
        rows.append((amount, *(_estimate(accuracy, published) for accuracy in each.report.accuracy)))
    columns = (ResultColumn(symbol), *(ResultColumn(f"r = {r}", digits=3) for r in range(R_MAX + 1)))
    return ResultTable(name, f"ACC@r for each {symbol}", columns, tuple(rows), caption)


def _make_model_table(reports: Sequence[ClassifierReport]) -> ResultTable:
    columns = (
        ResultColumn("model"),
        ResultColumn("weights"),
        ResultColumn("SHA-256"),
        ResultColumn("abstained"),
        ResultColumn("wrong"),
        ResultColumn("votes drawn", "percent", 1),
    )
    rows = tuple(
        (
            each.classifier.level.name,
            each.classifier.weights.name,
            each.classifier.saved.digest[:12],
            each.report.abstained,
            each.report.wrong,
            each.certified.drawn,
        )
        for each in reports
    )
    return ResultTable("models", "Models", columns, rows)


def _estimate(accuracy: Accuracy, published: Mapping[int, float]) -> Estimate:
    return Estimate(accuracy.share, accuracy.low, accuracy.high, published.get(accuracy.r))


def _find_images(data: Path) -> Path:
    """The folder that has a folder for each class of the validation images."""
    if not data.is_dir():
        raise BadData(str(data), f"is not a folder; {_NEEDS}")
    images = next((data / name for name in _VALIDATION if (data / name).is_dir()), data)
    if (images / "train").is_dir() or not any(path.is_dir() for path in images.iterdir()):
        raise BadData(str(images), f"has no folder for each class; {_NEEDS}")
    return images


def _find_training(data: Path, images: Path) -> Path | None:
    """The folder to train on: that with a folder of training images beside the validation images; None without one."""
    return next((folder for folder in (data, images.parent) if (folder / "train").is_dir()), None)


def _check_images(inputs: DataSet, indices: Sequence[int]) -> None:
    """Read every image once: a damaged one is found now, and not after days of votes."""
    with show_progress(len(indices), "images read") as bar:
        for start in range(0, len(indices), _READ_AT_ONCE):
            part = indices[start : start + _READ_AT_ONCE]
            inputs.inputs(part)
            bar.advance(len(part))


def _check_classes(images: Path, inputs: DataSet, classifiers: Sequence[Classifier]) -> None:
    """Classes are numbered in the order of their folders, so that a missing folder would shift all others."""
    for each in classifiers:
        known, there = each.saved.card.num_classes, len(inputs.class_names)
        if known != there:
            raise BadData(str(images), f"has folders for {there:,} classes, and {each.weights.name} knows {known:,}")
        for ours, theirs in zip(inputs.class_names, each.saved.card.class_names, strict=False):
            if ours != theirs:
                raise BadData(str(images), f"has the class {ours} where {each.weights.name} has {theirs}")


def _count_coordinates(inputs: DataSet) -> int:
    channels, height, width = inputs.shape
    return channels * height * width


def _is_papers(inputs: DataSet, settings: ImageNetSettings) -> bool:
    """Whether the paper's figures are about the same images and votes."""
    return (
        len(inputs.labels) == _IMAGES
        and len(inputs.class_names) == _CLASSES
        and _count_coordinates(inputs) == IMAGENET_D
        and settings.every == EVERY
        and settings.n == DEFAULT_N
    )


def _make_notes(
    reports: Sequence[ClassifierReport], inputs: DataSet, settings: ImageNetSettings, *, compare: bool
) -> list[str]:
    notes = []
    if not compare:
        count, classes = len(inputs.labels), len(inputs.class_names)
        notes.append(
            f"The paper's figures are left out: this run is on one in {settings.every} of {count:,} images of "
            f"{classes:,} classes and {inputs.shape[1]}×{inputs.shape[2]} pixels with n = {settings.n:,}; the paper's "
            f"is on one in {EVERY} of {_IMAGES:,} of {_CLASSES:,} classes and 224×224 pixels with n = {DEFAULT_N:,}."
        )
    if all(each.classifier.level.parameter == "alpha" for each in reports):
        notes.append("The row of Gaussian noise is left out: there are no weights named after a σ, such as sigma-0.5.")
    return notes


def _plot(
    folder: ExperimentFolder, reports: Sequence[ClassifierReport], inputs: DataSet, index: int, seed: int
) -> list[str]:
    """ACC@r of all models, and the first image under the noise of each; none without matplotlib."""
    noises = {each.classifier.level.title: each.classifier.level.make_noise() for each in reports}
    try:
        plot_reports({each.classifier.level.title: each.report for each in reports}, folder.path / "accuracy.svg")
        plot_noisy_images(inputs.inputs([index])[0], noises, seed, folder.path / "noisy-images.png")
    except MissingExtra as missing:
        folder.log(str(missing))
        return []
    return ["accuracy.svg", "noisy-images.png"]
