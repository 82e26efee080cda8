"""The experiment beyond the paper on MNIST: rows are what the library certifies, and a stopped run resumes."""

import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Ellzero, start_python
from experiments.mnist_files import write_mnist

from ellzero.core.errors import BadResults, InvalidInput
from ellzero.core.execution.placement import Placement
from ellzero.experiments import beyond_mnist
from ellzero.experiments.beyond_mnist import run_beyond_mnist
from ellzero.experiments.beyond_mnist_settings import QUICK, BeyondRow, BeyondSettings, read_rows
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.result import Estimate, ExperimentResult, ResultColumn, ResultTable
from ellzero.smoothing import AblationNoise, CertifySettings, SmoothedClassifier
from ellzero.smoothing.data.datasets import DataSet, ReorderedData, binarize, hold_out
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.models.files import load_model
from ellzero.smoothing.runs.metrics import Outcome, Report, summarize
from ellzero.smoothing.training import Recipe

HERE = Placement("local", None, None)
D = 256


def small(folder: Path, **changes: object) -> BeyondSettings:
    settings = BeyondSettings(
        str(folder),
        keeps=(16, 64),
        recipe=Recipe(epochs=3, rate=0.2, schedule="cosine"),
        paper_recipe=Recipe(epochs=1),
        n=600,
        tuning_n=300,
        tuning_images=20,
        ablation_keep=48,
        ablation_n=400,
        images=12,
    )
    return replace(settings, **changes)  # type: ignore[arg-type]


def run(out: Path, settings: BeyondSettings, beside: Path | None = None) -> ExperimentResult:
    return run_beyond_mnist(ExperimentFolder(out), settings, HERE, beside)


@pytest.fixture(scope="module")
def mnist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mnist(tmp_path_factory.mktemp("data") / "mnist")


@pytest.fixture(scope="module")
def finished(mnist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out") / "beyond"
    run(out, small(mnist))
    return out


def result_of(folder: Path) -> ExperimentResult:
    result = ExperimentFolder(folder).result()
    assert result is not None
    return result


def report_of(finished: Path, name: str, data: DataSet, keep: int, count: int, settings: CertifySettings) -> Report:
    """Computed anew, one input after the other, by the library."""
    network = load_model(finished / "models" / f"{name}.safetensors").network
    classifier = SmoothedClassifier(network, AblationNoise(data.levels - 1, D, keep), 10, "cpu", feed="levels")
    outcomes = []
    for index in range(count):
        (each,) = classifier.sampler.run([classifier.task(data.inputs([index])[0], settings)])
        outcomes.append(Outcome(int(data.labels[index]), each.prediction, each.radius))
    return summarize(outcomes)


def test_every_row_is_what_its_images_network_and_votes_give(mnist: Path, finished: Path) -> None:
    result = result_of(finished)
    by_mean, by_median = result.values["keep_by_mean"], result.values["keep_by_median"]
    grey = ReorderedData.shuffle(load_data(str(mnist), "test"), 0)
    bits = ReorderedData.shuffle(binarize(load_data(str(mnist), "test"), 128), 0)
    rows: list[tuple[str, DataSet, int, int, bool]] = [(f"bits-masked-cnn-keep-{by_mean}", bits, by_mean, 600, True)]
    if by_median != by_mean:
        rows.append((f"bits-masked-cnn-keep-{by_median}", bits, by_median, 600, True))
    rows += [
        (f"bits-masked-paper-cnn-keep-{by_mean}", bits, by_mean, 600, True),
        ("grey-masked-cnn-keep-48", grey, 48, 400, False),
        (f"grey-masked-cnn-keep-{by_median}", grey, by_median, 400, True),
        (f"grey-masked-cnn-keep-{by_median}", grey, by_median, 600, True),
    ]
    for (name, data, keep, n, runner_up), shown in zip(rows, result.table("radii").rows, strict=True):
        settings = CertifySettings.of(100, n, "0.001", 0, "staged", runner_up)
        report = report_of(finished, name, data, keep, 12, settings)
        assert str(shown[0]).startswith(f"{keep} shown: ")
        assert shown[1] == n
        assert isinstance(shown[2], Estimate)
        assert shown[2].value == report.mean_radius
        shares = {each.r: each.share for each in report.accuracy}
        assert [cell.value for cell in shown[4:6] if isinstance(cell, Estimate)] == [shares.get(r, 0) for r in (1, 2)]


def test_the_pixels_shown_are_chosen_on_images_that_were_not_trained_on(mnist: Path, finished: Path) -> None:
    result = result_of(finished)
    training = binarize(load_data(str(mnist), "train"), 128)
    held_out, trained = hold_out(len(training.labels), 0)
    assert not set(held_out.tolist()) & set(trained.tolist())
    validation = ReorderedData.shuffle(ReorderedData(training, held_out, "held out"), 0)
    settings = CertifySettings.of(100, 300, "0.001", 0, "staged", runner_up=True)
    means, medians = {}, {}
    for keep, mean, median in result.table("keeps").rows:
        assert isinstance(keep, int)
        assert isinstance(mean, Estimate)
        assert isinstance(median, Estimate)
        report = report_of(finished, f"bits-masked-cnn-keep-{keep}", validation, keep, 20, settings)
        assert mean.value == report.mean_radius
        means[keep], medians[keep] = mean.value, median.value
    assert list(means) == [16, 64]
    assert means[result.values["keep_by_mean"]] == max(means.values())
    assert medians[result.values["keep_by_median"]] == max(each for each in medians.values() if each is not None)


def test_a_run_killed_at_any_stage_resumes_to_the_same_tables(mnist: Path, finished: Path, tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from experiments.test_beyond_mnist import run, small; "
        f"run(Path({str(tmp_path / 'killed')!r}), small(Path({str(mnist)!r})))"
    )
    killed = 0
    for pattern in ("models/*.checkpoint.pt", "runs/validation-keep-16/run.json", "runs/mean-*/run.json"):
        process = start_python(script)
        deadline = time.monotonic() + 100
        while not list((tmp_path / "killed").glob(pattern)) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
    assert killed >= 2
    resumed, whole = run(tmp_path / "killed", small(mnist)), result_of(finished)
    assert (resumed.tables, resumed.values, resumed.notes) == (whole.tables, whole.values, whole.notes)


def test_rows_can_follow_in_the_same_folder(mnist: Path, finished: Path, tmp_path: Path) -> None:
    """To the same tables, and networks that are there are kept."""
    out = tmp_path / "rows"
    assert len(run(out, small(mnist, rows=(BeyondRow.MEAN,))).table("radii").rows) == 1
    made = {path: path.stat().st_mtime_ns for path in (out / "models").glob("*.safetensors")}
    assert run(out, small(mnist)).tables == result_of(finished).tables
    assert {path: path.stat().st_mtime_ns for path in made} == made
    with pytest.raises(BadResults, match=r"config\.n is 600 there and 700 here"):
        run(out, small(mnist, n=700))


def test_published_figures_stand_only_beside_the_same_images(
    mnist: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = result_of(finished)
    assert not any(isinstance(cell, Estimate) and cell.paper for row in other.table("radii").rows for cell in row)
    assert other.notes == ("Published figures are left out: this run has other data.",)
    digests = tuple(binarize(load_data(str(mnist), split), 128).digest for split in ("train", "test"))
    monkeypatch.setattr(beyond_mnist, "MNIST_DIGESTS", digests)
    shutil.copytree(finished, tmp_path / "same")
    same = run(tmp_path / "same", small(mnist))
    published = [
        [cell.paper for cell in row if isinstance(cell, Estimate) and cell.paper] for row in same.table("radii").rows
    ]
    assert set(map(tuple, published)) == {(3.456,), (8,)}
    assert len(same.notes) == len(published)


def test_the_first_row_of_table_1_stands_above(mnist: Path, finished: Path, tmp_path: Path) -> None:
    columns = (ResultColumn("classifier"), ResultColumn("μ(R)"), ResultColumn("r = 1"), ResultColumn("r = 2"))
    table_one = ExperimentFolder(tmp_path / "mnist")
    table_one.begin("mnist", {})
    first = (Estimate(1.5, 1.0, 2.0, 3.456), Estimate(0.9), Estimate(0.6))
    table_one.finish([ResultTable("accuracy", "", columns, (("discrete", *first),))])
    shutil.copytree(finished, tmp_path / "beside")
    result = run(tmp_path / "beside", small(mnist), tmp_path / "mnist")
    row = result.table("radii").rows[0]
    assert (row[2], row[4:7]) == (first[0], (*first[1:], None))
    assert "Table 1" in (tmp_path / "beside" / "radii.svg").read_text()
    with pytest.raises(BadResults, match="holds no finished experiment of `ellzero reproduce mnist`"):
        run(tmp_path / "beside", small(mnist), finished)


def test_more_pixels_than_there_are_cannot_be_shown(mnist: Path, tmp_path: Path) -> None:
    for changes in ({"keeps": (16, D)}, {"ablation_keep": 300}):
        with pytest.raises(InvalidInput, match="keep must be below 256, the pixels of an image"):
            run(tmp_path / "out", small(mnist, **changes))
    assert not (tmp_path / "out").exists()


def test_rows_are_read_by_name() -> None:
    assert read_rows(["grey", " mean ", "grey"]) == (BeyondRow.MEAN, BeyondRow.GREY)
    with pytest.raises(
        InvalidInput, match="rows must be some of mean, median, paper-network, ablation, grey, grey-more-votes"
    ):
        read_rows(["mean", "gray"])


def test_quick_does_everything_without_data(tmp_path: Path, ellzero: Ellzero) -> None:
    done = ellzero(f"reproduce beyond-mnist --quick --executor local --out {tmp_path / 'quick'}")
    assert done.code == 0, done.err
    for title in ("Certified radii", "Pixels shown, on validation images", "Networks and votes"):
        assert title in done.out
    assert result_of(tmp_path / "quick").values["images"] == QUICK.images
    assert (tmp_path / "quick" / "radii.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "give --data, the folder with MNIST's four files; --quick needs none"),
        ("--data {tmp}/nothing", "is not a folder with a data set"),
        ("--data {mnist} --keep x", "keep must be numbers of pixels, such as 15,30"),
        ("--data {mnist} --keep 0", "keep must be"),
        ("--data {mnist} --keep 256", "keep must be below 256"),
        ("--data {mnist} --rows none", "rows must be some of"),
        ("--data {mnist} --beside {mnist}", "holds no finished experiment"),
        ("--data {mnist} --address head:1", "leave out --address and RAY_ADDRESS"),
        ("--quick --keep 5", "--quick has settings of its own: leave out --keep"),
    ],
)
def test_what_it_needs_is_said_in_one_line(
    options: str, message: str, mnist: Path, tmp_path: Path, ellzero: Ellzero
) -> None:
    refused = ellzero(f"reproduce beyond-mnist {options.format(tmp=tmp_path, mnist=mnist)} --out {tmp_path / 'out'}")
    assert refused.code in (1, 2)
    assert message in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
