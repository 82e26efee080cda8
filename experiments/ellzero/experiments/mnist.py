"""The paper's experiment on MNIST (Table 1): two networks, two noises, two certificates, and a search for adversaries.

Images are binarised at 0.5. α is tuned on validation images by the Gaussian certificate, as in the paper. Then test
images are certified three times: discrete noise by the discrete certificate, the same network by the Gaussian one, and
a network trained under Gaussian noise by the Gaussian certificate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from ellzero.certificates import sigma_for_alpha
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0
from ellzero.core.errors import MissingExtra
from ellzero.core.execution.placement import Placement
from ellzero.core.part_store import PartStore, split_chunks
from ellzero.core.progress import show_progress
from ellzero.core.text import count_noun
from ellzero.experiments.adversary_search import SEARCH_SCHEMA, run_searches
from ellzero.experiments.dataset_runs import certify_inputs
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.image_source import ImageSource, check_fit
from ellzero.experiments.mnist_figures import plot_alphas, plot_rows
from ellzero.experiments.mnist_settings import MnistSettings, read_alphas
from ellzero.experiments.mnist_tables import (
    R_MAX,
    CertifiedRow,
    make_accuracy_table,
    make_grey_table,
    make_notes,
    make_run_table,
    make_search_table,
    make_tuning_table,
)
from ellzero.experiments.mnist_training import TrainedNetwork, train_networks
from ellzero.experiments.one_thread import use_one_thread
from ellzero.experiments.public_code import GreyNoise, GreyRun, for_grey
from ellzero.experiments.published import MNIST, MNIST_BEST_ALPHA, MNIST_DIGESTS, NoiseKind
from ellzero.experiments.result import ExperimentResult
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.noise.continuous import GaussianNoise
from ellzero.smoothing.noise.discrete import DiscreteNoise
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.metrics import Report, summarize
from ellzero.smoothing.sampling.sampling_task import CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping
from ellzero.smoothing.training import Recipe

NAME: Final = "mnist"
_SECONDS_A_SEARCH = 20.0  # on one core, about; only to choose where to run


def run_mnist(folder: ExperimentFolder, settings: MnistSettings, place: Placement) -> ExperimentResult:
    """Train, tune, certify and search, and set the paper's figures beside ours. Everything is kept as it comes."""
    settings = replace(settings, alphas=read_alphas(settings.alphas))
    training, test = _open_images(settings, "train"), _open_images(settings, "test")
    check_fit(training.data, test.data, settings.uri)
    compare = _is_papers(settings, training, test)
    folder.begin(NAME, _describe(settings, training, test))
    networks = _train_discrete(folder, settings, training.source, place)
    tuned = _tune(folder, settings, networks, place) if len(networks) > 1 else {}
    alpha = max(tuned, key=lambda each: tuned[each].mean_radius) if tuned else settings.alphas[0]
    if tuned:
        largest = tuned[alpha].mean_radius
        ties = [each for each, report in tuned.items() if report.mean_radius == largest and each != alpha]
        others = f"as has α = {', '.join(ties)}; the first counts" if ties else "and no other α has as much"
        folder.log(f"α = {alpha}: μ(R) = {largest:.3f} on validation images, {others}")
    ((name, gaussian_noise),) = _match_gaussian(alpha).items()
    gaussian = _train(folder, settings, training.source, {name: gaussian_noise}, place)[name]
    rows = _certify_rows(
        folder,
        settings,
        test,
        alpha,
        (
            ("discrete", "discrete", networks[alpha], DiscreteNoise(1, alpha).description()),
            ("discrete", "gaussian", networks[alpha], RoundedGaussianNoise(alpha).description()),
            ("gaussian", "gaussian", gaussian, gaussian_noise),
        ),
        place,
    )
    grey = _certify_grey(folder, settings, networks[alpha], gaussian, alpha, place)
    searched = _search(folder, settings, test, networks[alpha], alpha, place)
    beside = compare and Fraction(alpha) == Fraction(MNIST_BEST_ALPHA)
    accuracy = make_accuracy_table(rows, settings, test.size, compare=beside)
    tables = [
        accuracy,
        *([make_tuning_table(tuned, settings)] if tuned else []),
        make_search_table(searched, rows[0], compare=beside),
        make_grey_table(rows, grey, compare=beside),
        make_run_table(rows),
    ]
    values = {
        "alpha": alpha,
        "alphas": list(networks),
        "sigma": gaussian_noise["sigma"],
        "images": rows[0].report.inputs,
        "searched": len(searched),
    }
    notes = make_notes(tables, rows[0], searched, alpha, compare=compare)
    return folder.finish(tables, values, notes, _plot(folder, rows, tuned, compare=beside))


def _open_images(settings: MnistSettings, split: str, *, held_out: bool = False, grey: bool = False) -> ImageSource:
    return ImageSource(
        settings.uri,
        split,
        threshold=None if grey else settings.threshold,
        held_out=settings.recipe.seed if held_out else None,
        shuffle=settings.seed if split == "test" or held_out else None,
    )


def _is_papers(settings: MnistSettings, training: ImageSource, test: ImageSource) -> bool:
    """Whether the paper's figures are about the same images, recipe and votes."""
    return (
        (training.digest, test.digest) == MNIST_DIGESTS
        and settings.n == DEFAULT_N
        and settings.architecture == MnistSettings.architecture
        and settings.recipe == Recipe(seed=settings.recipe.seed)
    )


def _describe(settings: MnistSettings, training: ImageSource, test: ImageSource) -> dict[str, Any]:
    """What must be the same for results to belong together. What depends on α has it in its name."""
    return {
        "data": {"training": training.data.digest, "test": test.data.digest, "threshold": settings.threshold},
        "architecture": settings.architecture,
        "recipe": settings.recipe.describe(),
        "n0": DEFAULT_N0,
        "n": settings.n,
        "failure": DEFAULT_FAILURE,
        "stopping": Stopping.STAGED.value,
        "tuning_images": settings.tuning_images,
        "search": {"harmful": settings.search.harmful, "random_pairs": settings.search.random_pairs},
        "seed": settings.seed,
    }


def _train_discrete(
    folder: ExperimentFolder, settings: MnistSettings, source: DataSource, place: Placement
) -> dict[str, TrainedNetwork]:
    """A network for each α, by α; if there is only one, that under Gaussian noise is trained at the same time."""
    noises = {f"alpha-{alpha}": DiscreteNoise(1, alpha).description() for alpha in settings.alphas}
    if len(settings.alphas) == 1:
        noises |= _match_gaussian(settings.alphas[0])
    networks = _train(folder, settings, source, noises, place)
    return {alpha: networks[f"alpha-{alpha}"] for alpha in settings.alphas}


def _match_gaussian(alpha: str, k: int = 1) -> dict[str, Mapping[str, Any]]:
    """The Gaussian noise that, rounded to bits, keeps one with probability α; by the name of its network."""
    return {f"gaussian-for-alpha-{alpha}": GaussianNoise(repr(sigma_for_alpha(alpha)), k=k).description()}


def _train(
    folder: ExperimentFolder,
    settings: MnistSettings,
    source: DataSource,
    noises: Mapping[str, Mapping[str, Any]],
    place: Placement,
) -> dict[str, TrainedNetwork]:
    return train_networks(folder, source, noises, settings.architecture, settings.recipe, place)


def _make_run(inputs: ImageSource, network: TrainedNetwork, noise: Mapping[str, Any], n: int, seed: int) -> DatasetRun:
    return DatasetRun(
        model=str(network.path),
        model_digest=network.saved.digest,
        allowed=(),
        source=inputs.source,
        data_digest=inputs.data.digest,
        noise=noise,
        settings=CertifySettings.of(DEFAULT_N0, n, DEFAULT_FAILURE, seed, Stopping.STAGED),
        device="cpu",
        batch_size=None,
        autocast=None,
        compile=False,
    )


def _tune(
    folder: ExperimentFolder, settings: MnistSettings, networks: Mapping[str, TrainedNetwork], place: Placement
) -> dict[str, Report]:
    """What the Gaussian certificate says of validation images, for each α; they were not trained on."""
    validation = _open_images(settings, "train", held_out=True)
    indices = range(min(settings.tuning_images, validation.size))
    tuned = {}
    for alpha, network in networks.items():
        noise = RoundedGaussianNoise(alpha).description()
        run = _make_run(validation, network, noise, settings.n, settings.seed)
        certified = certify_inputs(folder, f"validation-{alpha}", run, network.saved, validation.data, indices, place)
        tuned[alpha] = summarize(certified.outcomes, R_MAX)
    return tuned


def _certify_rows(
    folder: ExperimentFolder,
    settings: MnistSettings,
    test: ImageSource,
    alpha: str,
    runs: Sequence[tuple[NoiseKind, NoiseKind, TrainedNetwork, Mapping[str, Any]]],
    place: Placement,
) -> list[CertifiedRow]:
    rows = []
    for noise, certificate, network, description in runs:
        run = _make_run(test, network, description, settings.n, settings.seed)
        indices = range(min(settings.images, test.size))
        name = f"{noise}-{certificate}-{alpha}"
        certified = certify_inputs(folder, name, run, network.saved, test.data, indices, place)
        rows.append(CertifiedRow(noise, certificate, network, certified, summarize(certified.outcomes, R_MAX)))
    return rows


def _certify_grey(
    folder: ExperimentFolder,
    settings: MnistSettings,
    network: TrainedNetwork,
    gaussian: TrainedNetwork,
    alpha: str,
    place: Placement,
) -> dict[NoiseKind, Report]:
    """The first images as they are, in grey levels, as the public code certifies them; by the noise of the network.

    Of the discrete noise these are no certificates. Gaussian noise covers grey images as well as others.
    """
    grey = _open_images(settings, "test", grey=True)
    levels = grey.data.levels
    indices = range(min(settings.grey_images, settings.images, grey.size))
    ((_, gaussian_noise),) = _match_gaussian(alpha, levels - 1).items()
    discrete_run = _make_run(grey, network, GreyNoise(alpha, levels).description(), settings.n, settings.seed)
    runs: dict[NoiseKind, tuple[str, DatasetRun, TrainedNetwork]] = {
        "discrete": (f"grey-{alpha}", GreyRun(**vars(discrete_run)), network),
        "gaussian": (
            f"grey-gaussian-{alpha}",
            _make_run(grey, gaussian, gaussian_noise, settings.n, settings.seed),
            gaussian,
        ),
    }
    return {
        noise: summarize(
            certify_inputs(folder, name, run, for_grey(own.saved, levels), grey.data, indices, place).outcomes, R_MAX
        )
        for noise, (name, run, own) in runs.items()
    }


def _search(
    folder: ExperimentFolder,
    settings: MnistSettings,
    test: ImageSource,
    network: TrainedNetwork,
    alpha: str,
    place: Placement,
) -> list[Mapping[str, Any]]:
    """What a search for adversaries finds about the first test images, a row each."""
    run = _make_run(test, network, DiscreteNoise(1, alpha).description(), settings.n, settings.seed)
    indices = range(min(settings.searched, settings.images, test.size))
    store = PartStore(str(folder.subfolder("searches") / alpha), SEARCH_SCHEMA)
    kind = {"kind": "search", **run.manifest(network.saved.card, test.data), "search": vars(settings.search)}
    store.begin(kind)
    chunks = split_chunks(set(indices) - store.present(), 2)
    missing = sum(map(len, chunks))
    if missing:
        folder.log(f"searching {count_noun(missing, 'image')} for adversaries: every single flip, and pairs")
        seconds = missing * _SECONDS_A_SEARCH
        with (
            place.open_executor(seconds, lambda: f"{len(store.present()):,} images", store.uri) as executor,
            show_progress(missing, "images", seconds / executor.workers) as bar,
            use_one_thread(),
        ):
            for done in run_searches(run, store, settings.search, chunks, executor, network.saved, test.data):
                bar.advance(done)
                folder.log_progress(f"{done} more searched")
    rows: list[Mapping[str, Any]] = store.table().to_pylist()[: len(indices)]
    return rows


def _plot(
    folder: ExperimentFolder,
    rows: Sequence[CertifiedRow],
    tuned: Mapping[str, Report],
    *,
    compare: bool,
) -> list[str]:
    """ACC@r of all rows beside the paper's, and μ(R) against α; none without matplotlib."""
    published = {(row.noise, row.certificate): row for row in MNIST} if compare else {}
    try:
        curves = {row.title: (row.report, published.get((row.noise, row.certificate))) for row in rows}
        plot_rows(curves, folder.path / "accuracy.svg")
        if tuned:
            plot_alphas(tuned, folder.path / "tuning.svg")
    except MissingExtra as missing:
        folder.log(str(missing))
        return []
    return ["accuracy.svg", *(["tuning.svg"] if tuned else [])]
