"""Runs over a data set: workers check model and data."""

from pathlib import Path

import pytest
from smoothing.run_files import model_and_data, retrain, write_inputs

from ellzero.smoothing import CertifySettings
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData, BadModelFile
from ellzero.smoothing.models.files import load_model
from ellzero.smoothing.runs.dataset_run import DatasetRun, WorkerFactory


@pytest.mark.parametrize(("name", "error"), [("model", BadModelFile), ("data set", BadData)])
def test_a_worker_refuses_a_model_or_data_other_than_the_run_s(
    tmp_path: Path, name: str, error: type[Exception]
) -> None:
    """A model or data written anew between what the driver reads and what a worker in another process reads."""
    model, data = model_and_data(tmp_path)
    saved, source = load_model(model), DataSource(str(data), "test", None, 224, None)
    run = DatasetRun(
        model=str(model),
        model_digest=saved.digest,
        allowed=(),
        source=source,
        data_digest=source.load().digest,
        noise=saved.card.noise,
        settings=CertifySettings.of(10, 200, "0.001", 1),
        device="cpu",
        batch_size=None,
        autocast=None,
        compile=False,
    )
    factory = WorkerFactory(run, str(tmp_path), stamp="", mark=None, threads=None)
    assert factory()(range(3)).inputs == 3
    if name == "model":
        retrain(model)
    else:
        write_inputs(data, seed=2)
    with pytest.raises(error, match=f"is not the {name} that this run began with"):
        factory()
