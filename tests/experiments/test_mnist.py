"""The experiment on MNIST: from images to tables, stopped and resumed, and what it needs."""

import json
import shutil
import signal
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import Ellzero, start_python
from experiments.mnist_files import write_idx, write_mnist

from ellzero.core.errors import BadResults, InvalidInput
from ellzero.core.execution.placement import Placement
from ellzero.experiments import mnist as mnist_experiment
from ellzero.experiments.adversary_search import SearchSettings
from ellzero.experiments.dataset_runs import CertifiedInputs
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.mnist import run_mnist
from ellzero.experiments.mnist_settings import QUICK, MnistSettings, read_alphas
from ellzero.experiments.mnist_tables import CertifiedRow, make_accuracy_table, make_notes
from ellzero.experiments.result import Estimate, ExperimentResult, ResultColumn, ResultTable
from ellzero.smoothing import CertifySettings, DiscreteNoise, GaussianNoise, SmoothedClassifier
from ellzero.smoothing.data.datasets import ReorderedData, binarize, hold_out
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.models.files import load_model
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise
from ellzero.smoothing.runs.metrics import Outcome, summarize
from ellzero.smoothing.training import Recipe

HERE = Placement("local", None, None)


def small(folder: Path, **changes: object) -> MnistSettings:
    settings = MnistSettings(
        str(folder),
        alphas=("0.8", "0.9"),
        architecture="mlp",
        recipe=Recipe(epochs=3, decay_every=2),
        n=600,
        tuning_images=10,
        images=12,
        grey_images=6,
        searched=2,
        search=SearchSettings(harmful=3, random_pairs=4),
    )
    return replace(settings, **changes)  # type: ignore[arg-type]


def run(out: Path, settings: MnistSettings) -> ExperimentResult:
    return run_mnist(ExperimentFolder(out), settings, HERE)


def values(table: ResultTable) -> list[list[float | None]]:
    return [[cell.value for cell in row if isinstance(cell, Estimate)] for row in table.rows]


@pytest.fixture(scope="module")
def mnist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mnist(tmp_path_factory.mktemp("data") / "mnist")


@pytest.fixture(scope="module")
def finished(mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "mnist"
    run(out, small(mnist))
    return out


def test_every_row_is_what_its_model_noise_and_certificate_give(mnist: Path, finished: Path) -> None:
    """All rows computed anew, one input after the other, by the library."""
    result = ExperimentFolder(finished).result()
    assert result is not None
    alpha = result.values["alpha"]
    bits = ReorderedData.shuffle(binarize(load_data(str(mnist), "test"), 128), 0)
    rows: tuple[tuple[str, NoiseFamily], ...] = (
        (f"alpha-{alpha}", DiscreteNoise(1, alpha)),
        (f"alpha-{alpha}", RoundedGaussianNoise(alpha)),
        (f"gaussian-for-alpha-{alpha}", GaussianNoise(result.values["sigma"], k=1)),
    )
    settings = CertifySettings.of(100, 600, "0.001", 0, "staged")
    for (name, noise), shown in zip(rows, values(result.table("accuracy")), strict=True):
        network = load_model(finished / "models" / f"{name}.safetensors").network
        classifier = SmoothedClassifier(network, noise, 10, "cpu")
        certified = [next(iter(classifier.certify_many(bits.inputs([index]), settings))) for index in range(12)]
        outcomes = [
            Outcome(int(bits.labels[index]), each.prediction, each.radius) for index, each in enumerate(certified)
        ]
        report = summarize(outcomes, 7)
        assert shown == [report.mean_radius, *(each.share for each in report.accuracy[1:])]


def test_alpha_is_chosen_by_the_gaussian_certificate_on_inputs_that_were_not_trained_on(
    mnist: Path, finished: Path
) -> None:
    result = ExperimentFolder(finished).result()
    assert result is not None
    training = binarize(load_data(str(mnist), "train"), 128)
    held_out, trained = hold_out(len(training.labels), 0)
    assert not set(held_out.tolist()) & set(trained.tolist())
    validation = ReorderedData.shuffle(ReorderedData(training, held_out, "held out"), 0)
    settings = CertifySettings.of(100, 600, "0.001", 0, "staged")
    means = {}
    for row in result.table("tuning").rows:
        alpha = str(row[0])
        network = load_model(finished / "models" / f"alpha-{alpha}.safetensors").network
        classifier = SmoothedClassifier(network, RoundedGaussianNoise(alpha), 10, "cpu")
        outcomes = []
        for index in range(10):
            (each,) = classifier.sampler.run([classifier.task(validation.inputs([index])[0], settings)])
            outcomes.append(Outcome(int(validation.labels[index]), each.prediction, each.radius))
        means[alpha] = summarize(outcomes, 7).mean_radius
        assert isinstance(row[1], Estimate)
        assert row[1].value == means[alpha]
    assert list(means) == ["0.8", "0.9"]
    assert means[result.values["alpha"]] == max(means.values())


def test_a_run_killed_at_any_stage_resumes_to_the_same_tables(mnist: Path, finished: Path, tmp_path: Path) -> None:
    """By SIGKILL: while networks are trained, while inputs are certified, and while adversaries are searched."""
    script = (
        "from pathlib import Path; from experiments.test_mnist import run, small; "
        f"run(Path({str(tmp_path / 'killed')!r}), small(Path({str(mnist)!r})))"
    )
    stages = (
        ("models", "*.checkpoint.pt"),
        ("runs/validation-0.8", "part-*.parquet"),
        ("runs", "discrete-gaussian-*/run.json"),
        ("searches", "*/run.json"),
    )
    killed = 0
    for folder, pattern in stages:
        process = start_python(script)
        deadline = time.monotonic() + 100
        while not list((tmp_path / "killed" / folder).glob(pattern)) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed >= 3
    resumed = run(tmp_path / "killed", small(mnist))
    whole = ExperimentFolder(finished).result()
    assert whole is not None
    assert resumed.tables == whole.tables
    assert (resumed.values, resumed.notes) == (whole.values, whole.notes)


def test_more_images_add_to_those_that_are_there(mnist: Path, finished: Path, tmp_path: Path) -> None:
    shutil.copytree(finished, tmp_path / "more")
    before = sorted(path.name for path in (tmp_path / "more" / "runs").glob("discrete-discrete-*/part-*"))
    result = run(tmp_path / "more", small(mnist, images=1_000, searched=3))
    after = sorted(path.name for path in (tmp_path / "more" / "runs").glob("discrete-discrete-*/part-*"))
    assert set(before) < set(after)
    assert result.values["images"] == 40
    assert "all test images" in result.table("accuracy").caption
    with pytest.raises(BadResults, match=r"config\.seed is 0 there and 1 here"):
        run(tmp_path / "more", small(mnist, seed=1))


def test_other_alphas_can_follow_in_the_same_folder(mnist: Path, finished: Path, tmp_path: Path) -> None:
    """First the α of the paper, later the choice of one: to the same tables, and what is there is not made again."""
    out = tmp_path / "alphas"
    assert run(out, small(mnist, alphas=("0.8",))).values["alpha"] == "0.8"
    made = {path: path.stat().st_mtime_ns for path in (out / "models").glob("*.safetensors")}
    whole = ExperimentFolder(finished).result()
    assert whole is not None
    assert run(out, small(mnist)).tables == whole.tables
    assert {path: path.stat().st_mtime_ns for path in made} == made


def test_results_do_not_depend_on_the_number_of_threads(mnist: Path, finished: Path, tmp_path: Path) -> None:
    """Sums in another order round differently: after twelve epochs another number of threads means other weights."""
    before = torch.get_num_threads()
    torch.set_num_threads(before + 2)
    try:
        result = run(tmp_path / "threads", small(mnist))
        assert torch.get_num_threads() == before + 2
    finally:
        torch.set_num_threads(before)
    whole = ExperimentFolder(finished).result()
    assert whole is not None
    assert result.tables == whole.tables  # with the digests of the networks


def test_a_network_of_another_noise_or_recipe_is_refused(mnist: Path, finished: Path, tmp_path: Path) -> None:
    models = tmp_path / "out" / "models"
    models.mkdir(parents=True)
    shutil.copy(finished / "models" / "alpha-0.9.safetensors", models / "alpha-0.8.safetensors")
    with pytest.raises(BadResults, match=r"is another network: noise\.alpha is \"9/10\" there and \"4/5\" here"):
        run(tmp_path / "out", small(mnist))
    models = tmp_path / "other" / "models"
    shutil.copytree(finished / "models", models)
    with pytest.raises(BadResults, match="is another network: epochs is 3 there and 4 here"):
        run(tmp_path / "other", small(mnist, recipe=Recipe(epochs=4, decay_every=2)))


def test_the_papers_figures_stand_only_beside_a_run_of_the_same_kind(mnist: Path, finished: Path) -> None:
    result = ExperimentFolder(finished).result()
    assert result is not None
    assert not any(isinstance(cell, Estimate) and cell.paper for row in result.table("accuracy").rows for cell in row)
    assert any("The paper's figures are left out" in note for note in result.notes)


def test_other_data_at_the_papers_settings_are_not_compared_with_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fashion-MNIST, say: the digests decide, and with those of these data the figures appear, and the α is stated."""
    folder = write_mnist(tmp_path / "other", 40, 4)
    settings = small(folder, alphas=("0.8",), images=2, grey_images=2, searched=1, recipe=Recipe(epochs=1))
    settings = replace(settings, architecture=MnistSettings.architecture)
    monkeypatch.setattr(mnist_experiment, "DEFAULT_N", settings.n)
    monkeypatch.setattr(mnist_experiment, "Recipe", lambda seed: Recipe(epochs=1, seed=seed))
    other = run(tmp_path / "out", settings)
    assert any("The paper's figures are left out" in note for note in other.notes)
    digests = tuple(binarize(load_data(str(folder), split), 128).digest for split in ("train", "test"))
    monkeypatch.setattr(mnist_experiment, "MNIST_DIGESTS", digests)
    same = run(tmp_path / "out", settings)
    assert any(isinstance(cell, Estimate) and cell.paper for row in same.table("accuracy").rows for cell in row)
    assert any("lie within" in note for note in same.notes)
    tuned = run(tmp_path / "out", replace(settings, alphas=("0.9",)))
    reason = "they are of α = 0.80, and this run's of α = 0.9"
    assert f"The paper's figures are left out: {reason}." in tuned.notes
    for table in tuned.tables:
        assert not any(isinstance(cell, Estimate) and cell.paper for row in table.rows for cell in row)


@pytest.mark.parametrize(
    "texts", [["0.8", "0.80"], ["0.8", "4/5"], ["2/3"], ["0.5"], ["1"], ["x"], [""], ["0.8", " 0.8"]]
)
def test_alphas_are_different_decimals(texts: list[str]) -> None:
    with pytest.raises(InvalidInput, match="alpha must be"):
        read_alphas(texts)


def test_an_alpha_has_one_name() -> None:
    assert read_alphas(["0.80", " 0.9 ", "3/4", "7.6e-1"]) == ("0.8", "0.9", "0.75", "0.76")


def test_test_images_that_do_not_fit_are_refused_before_any_training(mnist: Path, tmp_path: Path) -> None:
    for name, change in (("size", (0, 8)), ("few", (0, 0))):
        folder = tmp_path / name
        shutil.copytree(mnist, folder)
        if name == "size":
            images = np.zeros((40, change[1], 16), np.uint8)
            write_idx(folder / "t10k-images-idx3-ubyte.gz", images)
        else:
            write_mnist(folder, 15, 40)
        with pytest.raises(BadData, match="test images of shape|has 15 training images"):
            run(tmp_path / f"{name}-out", small(folder))
        assert not (tmp_path / f"{name}-out").exists()


def test_radii_that_are_all_equal_have_no_band(mnist: Path, tmp_path: Path) -> None:
    """Their spread is 0, and 0.000 – 0.000 would claim a certainty that so few images do not give."""
    report = summarize([Outcome(1, 1, 0)] * 5, 7)
    row = CertifiedRow("discrete", "discrete", None, CertifiedInputs((), Fraction(1)), report)  # type: ignore[arg-type]
    table = make_accuracy_table([row], small(mnist), 5, compare=False)
    mean = table.rows[0][1]
    assert isinstance(mean, Estimate)
    assert (mean.value, mean.low, mean.high) == (0.0, None, None)


def test_every_figure_of_the_paper_is_counted_inside_or_outside_of_our_bands() -> None:
    columns = (ResultColumn("classifier"), ResultColumn("r = 1"), ResultColumn("r = 2"))
    tables = [
        ResultTable("accuracy", "", columns, (("ours", Estimate(0.5, 0.4, 0.6, 0.45), Estimate(0.5, 0.4, 0.6, 0.7)),)),
        ResultTable("search", "", columns, (("found", Estimate(0.5, paper=0.6), Estimate(0.5, 0.4, 0.6)),)),
    ]
    report = summarize([Outcome(1, 1, 0)] * 5, 7)
    row = CertifiedRow("discrete", "discrete", None, CertifiedInputs((), Fraction(1)), report)  # type: ignore[arg-type]
    note = make_notes(tables, row, [], "0.8", compare=True)[-1]
    assert note.startswith("1 of the paper's 3 figures lie within our bands; outside: ours, r = 2; found, r = 1. ")


def test_a_search_contradicts_no_certificate_here(finished: Path) -> None:
    result = ExperimentFolder(finished).result()
    assert result is not None
    assert result.notes[0].startswith("0 of the 2 searched images have an adversary within their certified radius")
    certified, found = zip(*values(result.table("search")), strict=True)
    assert all(
        lower is not None and upper is not None and lower <= upper
        for lower, upper in zip(certified, found, strict=True)
    )


def test_figures_are_written_and_runs_can_be_reported(finished: Path, ellzero: Ellzero) -> None:
    for name in ("accuracy.svg", "tuning.svg"):
        assert (finished / name).read_text().startswith("<?xml")
    printed = ellzero(f"report {finished}")
    assert printed.code == 0
    assert "Certified accuracy" in printed.out
    assert "α on validation images" in printed.out
    (grey_run,) = (finished / "runs").glob("grey-0*/run.json")
    grey = json.loads(grey_run.read_text())
    assert grey["certificate"].startswith("none")
    (gaussian_run,) = (finished / "runs").glob("grey-gaussian-*/run.json")
    gaussian = json.loads(gaussian_run.read_text())
    assert "certificate" not in gaussian, "Gaussian noise covers grey images too"
    assert (gaussian["noise"]["family"], gaussian["noise"]["levels"]) == ("gaussian", 256)


def test_quick_does_everything_without_data(tmp_path: Path, ellzero: Ellzero) -> None:
    done = ellzero(f"reproduce mnist --quick --executor local --out {tmp_path / 'quick'}")
    assert done.code == 0, done.err
    for title in ("Certified accuracy", "α on validation images", "Accuracy under search for adversaries", "Runs"):
        assert title in done.out
    assert "grey, not a certificate" in done.out
    result = ExperimentFolder(tmp_path / "quick").result()
    assert result is not None
    assert result.values["images"] == QUICK.images


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "give --data, the folder with MNIST's four files; --quick needs none"),
        ("--data {tmp}/nothing", "is not a folder with a data set"),
        ("--data {tmp}/half", "lacks train-images-idx3-ubyte"),
        ("--data {tmp}/broken", "train-images-idx3-ubyte.gz cannot be read"),
        ("--data {mnist} --alpha 0.4", "alpha must be a number strictly between 1/2 and 1"),
        ("--data {mnist} --alpha 0.8,0.80", "alpha must be different decimals between 0.5 and 1"),
        ("--data {mnist} --alpha 0.8,x", "alpha must be"),
        ("--data {mnist} --images 1", "1 is not in the range x>=2"),
        ("--data {mnist} --address head:1", "leave out --address and RAY_ADDRESS"),
    ],
)
def test_what_it_needs_is_said_in_one_line(
    options: str, message: str, mnist: Path, tmp_path: Path, ellzero: Ellzero
) -> None:
    for name in ("half", "broken"):
        write_mnist(tmp_path / name, 20, 20)
    (tmp_path / "half" / "train-images-idx3-ubyte.gz").unlink()
    broken = tmp_path / "broken" / "train-images-idx3-ubyte.gz"
    broken.write_bytes(broken.read_bytes()[:40])
    refused = ellzero(f"reproduce mnist {options.format(tmp=tmp_path, mnist=mnist)} --out {tmp_path / 'out'}")
    assert refused.code in (1, 2)
    assert message in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_inputs_that_are_no_images_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", x=np.zeros((30, 5), np.uint8), y=np.zeros(30, np.int64))
    with pytest.raises(BadData, match="are not images"):
        run(tmp_path / "out", small(tmp_path / "rows.npz"))
