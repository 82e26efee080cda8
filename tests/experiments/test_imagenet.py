"""The experiment on ImageNet: from images and weights to tables, on a small stand-in, and what it needs."""

import json
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from command_line import start_process
from experiments.imagenet_files import CLASSES, CONFIG, SIZE, write_images, write_weights
from PIL import Image
from torch import nn

from ellzero.core.errors import BadResults
from ellzero.core.execution.placement import Placement
from ellzero.experiments import imagenet_weights
from ellzero.experiments.dataset_runs import CertifiedInputs
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.imagenet import (
    Classifier,
    ClassifierReport,
    ImageNetSettings,
    find_best,
    make_tables,
    run_imagenet,
)
from ellzero.experiments.imagenet_weights import NoiseLevel, read_levels
from ellzero.experiments.result import Estimate, ExperimentResult, ResultTable
from ellzero.smoothing import CertifySettings, SmoothedClassifier
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.errors import BadData, BadModelFile
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import SavedModel, load_model
from ellzero.smoothing.models.resnet import ResNet
from ellzero.smoothing.runs.metrics import Outcome, summarize
from ellzero.smoothing.runs.result_store import ResultStore

HERE = Placement("local", None, None)
LEVELS = [*read_levels("alpha", ["0.1", "0.4"]), *read_levels("sigma", ["0.5"])]
SETTINGS = ImageNetSettings(("0.1", "0.4"), every=4, n=1_000, seed=3, device="cpu")


def run(out: Path, data: Path, weights: Path, settings: ImageNetSettings = SETTINGS) -> ExperimentResult:
    return run_imagenet(ExperimentFolder(out), data, weights, settings, HERE)


def shares(table: ResultTable, row: int) -> list[float | None]:
    cells = table.rows[row][1:]
    return [cell.value for cell in cells if isinstance(cell, Estimate)]


def read_rows(out: Path, name: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = ResultStore(str(out / "runs" / name)).table().to_pylist()
    return rows


def test_every_image_asked_for_is_certified_under_each_noise_and_counted(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data", ("train", "val")), write_weights(tmp_path / "weights", *LEVELS)
    out = tmp_path / "out"
    result = run(out, data, weights)
    indices = [0, 4, 8, 12]  # of 15 images, 5 in each class
    certified: dict[str, list[int]] = {}
    for level in LEVELS:
        rows = read_rows(out, level.name)
        assert [row["index"] for row in rows] == indices
        assert [row["label"] for row in rows] == [0, 0, 1, 2]
        network = load_model(weights / f"{level.name}.safetensors").network
        classifier = SmoothedClassifier(network, level.make_noise(), 3, "cpu")
        settings = CertifySettings.of(100, 1_000, "0.001", 3, "staged")
        for row in rows:
            label, number = divmod(int(str(row["index"])), 5)
            with Image.open(data / "val" / CLASSES[label] / f"{number}.png") as image:
                small = image.resize((46, 37), Image.Resampling.BILINEAR)  # 50×40, the shorter side to 32·8/7
            pixels = np.asarray(small)[2:34, 7:39].transpose(2, 0, 1)
            (expected,) = classifier.certify_many([pixels], settings)
            assert (row["prediction"], row["radius"]) == (expected.prediction, expected.radius)
            right = expected.prediction == label and expected.radius is not None
            certified.setdefault(level.name, []).append(
                expected.radius if right and expected.radius is not None else -1
            )
    by_alpha, by_sigma, best = result.table("by-alpha"), result.table("by-sigma"), result.table("best")
    for table, place, level in ((by_alpha, 0, LEVELS[0]), (by_alpha, 1, LEVELS[1]), (by_sigma, 0, LEVELS[2])):
        assert table.rows[place][0] == level.amount
        assert shares(table, place) == [sum(each >= r for each in certified[level.name]) / 4 for r in range(8)]
    alphas = zip(shares(by_alpha, 0), shares(by_alpha, 1), strict=True)
    assert shares(best, 0) == [max(pair) for pair in alphas][1:]  # type: ignore[type-var]
    assert shares(best, 2) == shares(by_sigma, 0)[1:]
    assert any(max(each) > 0 for each in certified.values())  # or nothing has been compared
    assert {path for path in result.plots if (out / path).stat().st_size > 1_000} == set(result.plots) != set()
    assert any(
        "The paper's figures are left out: this run is on one in 4 of 15 images" in note for note in result.notes
    )
    assert all(cell.paper is None for row in best.rows for cell in row if isinstance(cell, Estimate))


def test_the_row_of_gaussian_noise_needs_weights_and_can_follow_later(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", *LEVELS[:2])
    first = run(tmp_path / "out", data, weights)
    assert [row[0] for row in first.table("best").rows] == ["discrete noise and certificate", "best α"]
    assert any("there are no weights named after a σ, such as sigma-0.5" in note for note in first.notes)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("*.parquet")}
    write_weights(tmp_path / "weights", *LEVELS)
    second = run(tmp_path / "out", data, weights)
    assert [row[0] for row in second.table("best").rows][2:] == ["gaussian noise and certificate", "best σ"]
    assert second.table("by-alpha") == first.table("by-alpha")
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def test_the_papers_checkpoints_are_certified_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On images of 32×32, since ResNet-50 takes a second on a CPU for a few of 224×224."""
    monkeypatch.setattr(imagenet_weights, "IMAGENET_SIDE", SIZE)
    data, weights = write_images(tmp_path / "data", count=1), tmp_path / "weights"
    weights.mkdir()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Identity(), nn.DataParallel(ResNet(3)))
    torch.save({"epoch": 90, "arch": "resnet50", "state_dict": model.state_dict()}, weights / "alpha-0.5.pth.tar")
    settings = ImageNetSettings(("0.5",), every=2, n=64, device="cpu")
    result = run(tmp_path / "out", data, weights, settings)
    (row,) = result.table("models").rows
    assert row[:2] == ("alpha-0.5", "alpha-0.5.pth.tar")
    assert load_model(tmp_path / "out" / "models" / "alpha-0.5.safetensors").card.config == {}
    assert len(read_rows(tmp_path / "out", "alpha-0.5")) == 2


def test_a_killed_experiment_resumes_to_the_same_tables(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", *LEVELS[:2])
    killed = tmp_path / "killed"
    line = (
        f"reproduce imagenet --data {data} --weights {weights} --alphas 0.1,0.4 --every 2 --n 2000 --seed 3 "
        f"--device cpu --executor local --out {killed}"
    )
    process = start_process(line)
    deadline = time.monotonic() + 100
    while len(list(killed.rglob("part-*.parquet"))) < 3 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 3 <= len(list(killed.rglob("part-*.parquet"))) < 16
    assert ExperimentFolder(killed).result() is None
    settings = ImageNetSettings(("0.1", "0.4"), every=2, n=2_000, seed=3, device="cpu")
    resumed, whole = run(killed, data, weights, settings), run(tmp_path / "whole", data, weights, settings)
    assert resumed.tables == whole.tables


def test_another_configuration_is_refused_with_the_differences(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", *LEVELS[:2])
    run(tmp_path / "out", data, weights)
    with pytest.raises(BadResults, match="n is 1000 there and 500 here"):
        run(tmp_path / "out", data, weights, ImageNetSettings(("0.1",), every=4, n=500, seed=3, device="cpu"))
    write_weights(weights, LEVELS[1], LEVELS[0])  # others under the same names
    with pytest.raises(BadResults, match="alpha-0.1 has results of another model of this name; give another --out"):
        run(tmp_path / "out", data, weights)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda folder: folder / "none",
            "none is not a folder; `ellzero reproduce imagenet` needs the validation images",
        ),
        (lambda folder: write_images(folder, ("train",)), "has no folder for each class; `ellzero reproduce imagenet`"),
        (lambda folder: flat(folder), "val has no folder for each class; `ellzero reproduce imagenet` needs"),
        (lambda folder: write_images(folder, classes=CLASSES[:2]), "has folders for 2 classes, and alpha-0.1.safetens"),
    ],
)
def test_wrong_data_is_one_line_that_says_what_is_needed(tmp_path: Path, make: object, message: str) -> None:
    weights = write_weights(tmp_path / "weights", *LEVELS[:2])
    data = make(tmp_path / "data")  # type: ignore[operator]
    with pytest.raises(BadData) as refused:
        run(tmp_path / "out", data, weights)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_damaged_image_is_found_before_the_first_vote(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", *LEVELS[:2])
    (data / "val" / CLASSES[2] / "2.png").write_bytes(b"no image")  # the last one that is asked for
    with pytest.raises(BadData, match=r"2\.png is not an image"):
        run(tmp_path / "out", data, weights)
    assert not (tmp_path / "out").exists()


def test_classes_of_other_names_are_refused(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", *LEVELS[:2], names=CLASSES)
    run(tmp_path / "out", data, weights)
    (data / "val" / CLASSES[0]).rename(data / "val" / "zebra")  # as many folders, and every label is another class
    with pytest.raises(BadData, match=r"has the class n02 where alpha-0\.1\.safetensors has n01"):
        run(tmp_path / "other", data, weights)


def test_commands_that_train_never_name_the_test_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_images(tmp_path / "data", ("val",))
    for given in (data, data / "val"):
        with pytest.raises(BadModelFile, match="has no weights for"):
            run(tmp_path / "out", given, tmp_path / "none")
    assert capsys.readouterr().err == ""
    write_images(data, ("train",))
    for given in (data, data / "val"):
        with pytest.raises(BadModelFile, match="has no weights for"):
            run(tmp_path / "out", given, tmp_path / "none")
        hints = capsys.readouterr().err.splitlines()
        assert len(hints) == 2
        assert all(f"--data {data} --architecture" in hint for hint in hints)
    with pytest.raises(BadData, match="has test images, by its name"):
        load_data(str(data / "val"), "train", image_size=SIZE)


def flat(folder: Path) -> Path:
    """As the archive of the validation images unpacks."""
    (folder / "val").mkdir(parents=True)
    Image.new("RGB", (50, 40)).save(folder / "val" / "ILSVRC2012_val_00000001.JPEG")
    return folder


def test_missing_weights_are_one_line(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", LEVELS[0])
    with pytest.raises(BadModelFile, match="has no weights for alpha-0.4; their names end in"):
        run(tmp_path / "out", data, weights)
    with pytest.raises(BadModelFile, match="has no weights for sigma-1; their names end in"):
        run(tmp_path / "out", data, weights, ImageNetSettings(("0.1",), ("1",), device="cpu"))
    assert not (tmp_path / "out").exists()


def report_of(level: NoiseLevel, radii: list[int]) -> ClassifierReport:
    card = ModelCard("resnet50", (3, SIZE, SIZE), 3, 256, config=CONFIG)
    classifier = Classifier(level, Path("w"), Path("m"), SavedModel(nn.Identity(), card, "0" * 64))
    outcomes = tuple(Outcome(0, 0, radius) for radius in radii)
    return ClassifierReport(classifier, CertifiedInputs(outcomes, 0.5), summarize(outcomes, 7))  # type: ignore[arg-type]


def test_the_best_model_is_chosen_for_each_radius() -> None:
    """ACC@r by hand: few large radii against many small ones."""
    wide, near = (
        report_of(NoiseLevel("alpha", "0.1"), [7, 5, 0, 0]),
        report_of(NoiseLevel("alpha", "0.5"), [2, 2, 2, 1]),
    )
    assert [find_best([wide, near], r)[0] for r in range(8)] == [wide, near, near, *[wide] * 5]
    assert [find_best([wide, near], r)[1].share for r in range(8)] == [1, 1, 0.75, 0.5, 0.5, 0.5, 0.25, 0.25]
    best = make_tables([wide, near], compare=False)[0]
    assert best.rows[1] == ("best α", "0.5", "0.5", "0.1", "0.1", "0.1", "0.1", "0.1")
    none = make_tables([report_of(NoiseLevel("sigma", "1"), [0])], compare=False)[0]
    assert none.rows[1] == ("best σ", *["–"] * 7)


def test_the_papers_figures_stand_beside_those_of_its_own_setting() -> None:
    levels = (*read_levels("alpha", ["0.1", "0.2", "0.3", "0.4", "0.50"]), NoiseLevel("sigma", "1"))
    reports = [report_of(level, [3, 0]) for level in levels]
    best, by_alpha, by_sigma, _ = make_tables(reports, compare=True)
    paper = [[cell.paper for cell in row if isinstance(cell, Estimate)] for row in best.rows]
    assert paper[0] == [0.538, 0.394, 0.338, 0.274, 0.234, 0.190, 0.176]
    assert paper[2] == [0.372, 0.292, 0.226, 0.194, 0.170, 0.154, 0.138]
    assert [cell.paper for cell in by_alpha.rows[1] if isinstance(cell, Estimate)] == [
        0.524, 0.448, 0.394, 0.270, 0.218, 0.212, 0.190, 0.176,
    ]  # fmt: skip
    assert all(cell.paper is None for cell in by_sigma.rows[0] if isinstance(cell, Estimate))
    few = make_tables(reports[1:], compare=True)[0]  # the best of four α is another figure than that of five
    assert all(cell.paper is None for cell in few.rows[0] if isinstance(cell, Estimate))
    assert all(cell.paper is not None for cell in few.rows[2] if isinstance(cell, Estimate))


def test_the_folder_says_what_was_run(tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", *LEVELS[:2])
    run(tmp_path / "out", data, weights)
    config = json.loads((tmp_path / "out" / "experiment.json").read_text())["config"]
    assert config["data"]["inputs"] == 15
    assert config["data"]["every"] == 4
    assert (config["n0"], config["n"], config["failure"], config["stopping"]) == (100, 1_000, "1/1000", "staged")
    assert "alpha-0.1: 4 inputs certified" in (tmp_path / "out" / "log.txt").read_text()
