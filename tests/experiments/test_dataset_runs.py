"""Certifying inputs within an experiment: those asked for, once, and kept."""

from fractions import Fraction
from pathlib import Path

import pytest
from smoothing.run_files import model_and_data, retrain, write_inputs

from ellzero.core.errors import BadResults
from ellzero.core.execution.placement import Placement
from ellzero.experiments.dataset_runs import CertifiedInputs, certify_inputs
from ellzero.experiments.folder import ExperimentFolder
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.models.files import load_model
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.smoothing.sampling.sampling_task import CertifySettings

HERE = Placement("local", None, None)


def certify(folder: ExperimentFolder, model: Path, data: Path, indices: range) -> CertifiedInputs:
    saved, source = load_model(model), DataSource(str(data), "test", None, 224, None)
    loaded = source.load()
    run = DatasetRun(
        model=str(model),
        model_digest=saved.digest,
        allowed=(),
        source=source,
        data_digest=loaded.digest,
        noise=saved.card.noise,
        settings=CertifySettings.of(50, 500, "0.001", 1, "staged"),
        device="cpu",
        batch_size=None,
        autocast=None,
        compile=False,
    )
    return certify_inputs(folder, "demo", run, saved, loaded, indices, HERE)


@pytest.fixture
def folder(tmp_path: Path) -> ExperimentFolder:
    begun = ExperimentFolder(tmp_path / "experiment")
    begun.begin("demo", {})
    return begun


def test_the_inputs_asked_for_are_certified_in_order_and_others_are_not(
    folder: ExperimentFolder, tmp_path: Path
) -> None:
    model, data = model_and_data(tmp_path)
    certified = certify(folder, model, data, range(0, 20, 6))
    rows = ResultStore(str(folder.path / "runs" / "demo")).table().to_pylist()
    assert [row["index"] for row in rows] == [0, 6, 12, 18]
    assert [outcome.label for outcome in certified.outcomes] == [0, 6, 2, 8]
    assert [(outcome.prediction, outcome.radius) for outcome in certified.outcomes] == [
        (row["prediction"], row["radius"]) for row in rows
    ]
    assert certified.drawn == Fraction(sum(row["drawn"] for row in rows), 4 * 500)


def test_more_inputs_are_added_and_nothing_is_repeated(folder: ExperimentFolder, tmp_path: Path) -> None:
    model, data = model_and_data(tmp_path)
    first = certify(folder, model, data, range(0, 20, 6))
    files = {path: path.stat().st_mtime_ns for path in (folder.path / "runs" / "demo").glob("*.parquet")}
    both = certify(folder, model, data, range(0, 20, 3))
    assert both.outcomes[::2] == first.outcomes
    assert all(path.stat().st_mtime_ns == time for path, time in files.items())
    again = certify(folder, model, data, range(0, 20, 3))
    assert again == both
    log = (folder.path / "log.txt").read_text()
    assert [line.split(": ")[1] for line in log.splitlines() if "certified" in line] == [
        f"{count} inputs certified, {float(each.drawn):.0%} of votes drawn" for count, each in ((4, first), (3, both))
    ]


def test_another_model_or_other_data_are_refused(folder: ExperimentFolder, tmp_path: Path) -> None:
    model, data = model_and_data(tmp_path)
    certify(folder, model, data, range(2))
    retrain(model)
    with pytest.raises(BadResults, match="has results of another model of this name; give another --out"):
        certify(folder, model, data, range(2))
    model, data = model_and_data(tmp_path)
    write_inputs(data, seed=2)
    with pytest.raises(BadResults, match="holds another run: data.sha256"):
        certify(folder, model, data, range(2))


def test_inputs_that_do_not_fit_the_model_are_refused(folder: ExperimentFolder, tmp_path: Path) -> None:
    model, _ = model_and_data(tmp_path)
    saved, source = load_model(model), DataSource("digits", "test", None, 224, None)
    loaded = source.load()
    run = DatasetRun(
        str(model), saved.digest, (), source, loaded.digest, saved.card.noise, CertifySettings.of(50, 500, "0.001", 1),
        "cpu", None, None, False,
    )  # fmt: skip
    with pytest.raises(
        BadData, match=r"has levels 0..16, and the noise is for 0..1; --binarize 8 turns them into bits"
    ):
        certify_inputs(folder, "demo", run, saved, loaded, range(2), HERE)
    assert not (folder.path / "runs" / "demo").exists()
