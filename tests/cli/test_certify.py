"""``ellzero certify`` on data sets, with ``train`` and ``report``: mistaken, stopped, killed and resumed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from command_line import Ellzero, interrupt_process
from smoothing.run_files import model_and_data, retrain, write_inputs

from ellzero.smoothing.data.datasets import ReorderedData
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.files import ModelFile, save_model
from ellzero.smoothing.runs import dataset_run
from ellzero.smoothing.runs.result_store import ResultStore

TRAIN = "train --binarize 8 --alpha 0.9 --epochs 12"


@pytest.fixture(scope="session")
def digits_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that was trained on the digits for some seconds, by the command line."""
    out = tmp_path_factory.mktemp("models") / "digits.safetensors"
    done = subprocess.run(
        [sys.executable, "-m", "ellzero", *TRAIN.split(), "--out", str(out)], capture_output=True, text=True, check=True
    )
    assert "epoch  12" in done.stdout
    assert f"next: ellzero certify --model {out}" in done.stdout
    return out


def read_results(place: Path, *columns: str) -> pa.Table:
    return ResultStore(str(place)).table().select(list(columns) or ["index", "label", "prediction", "radius", "counts"])


def test_a_new_user_gets_a_certified_accuracy(ellzero: Ellzero, digits_model: Path, tmp_path: Path) -> None:
    """The way of a new user: 50 images of the digits, by a model of a few seconds of training."""
    out = tmp_path / "results"
    line = f"certify --model {digits_model} --n 4000 --limit 50 --seed 1 --out {out}"
    code, printed, _ = ellzero(f"{line} --executor local")
    assert code == 0
    assert f"{out}: 50 inputs certified" in printed
    assert ellzero(line).out == f"{out}: all 50 inputs are certified already\n"
    code, printed, err = ellzero(f"report {out}")
    assert code == 0
    assert "K = 1, α = 9/10 per coordinate, d = 64" in printed
    assert err.strip() == f"ellzero: curves written to {out}/curves.svg"
    assert (out / "curves.svg").stat().st_size > 5_000
    report = json.loads(ellzero(f"report {out} --json").out)
    assert report["inputs"] == 50
    assert 0 < report["mean_radius"] < 3
    assert report["accuracy"][0]["share"] > 0.7
    assert report["accuracy"][1]["share"] > 0.05
    assert report["wrong"] <= 5
    assert report["run"]["data"]["name"] == "digits, 1 from level 8 on"


def test_results_say_where_their_inputs_come_from(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is resumed after its data has moved says where they are now."""
    model, data = model_and_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    line = f"certify --model {model} --n 200 --seed 1 --executor local --out results"
    (tmp_path / "moved").mkdir()
    for number, name in enumerate((data.name, f"moved/{data.name}"), 1):
        data = data.rename(tmp_path / name)
        assert ellzero(f"{line} --data {name} --limit {number}").code == 0
        source = ResultStore("results").source()
        assert source is not None
        assert source.uri == str(tmp_path / name)
        assert source.load().digest == json.loads(Path("results", "run.json").read_text())["data"]["sha256"]


def test_a_larger_limit_adds_inputs_and_leaves_others_alone(
    ellzero: Ellzero, digits_model: Path, tmp_path: Path
) -> None:
    line = f"certify --model {digits_model} --n 500 --seed 2 --executor local"
    for limit in (3, 20, 21):
        assert ellzero(f"{line} --limit {limit} --out {tmp_path}/grown").code == 0
    ellzero(f"{line} --limit 21 --out {tmp_path}/at-once")
    assert read_results(tmp_path / "grown") == read_results(tmp_path / "at-once")
    parts = sorted(path.name for path in (tmp_path / "grown").glob("*.parquet"))
    assert parts == [f"part-{first:09d}-{last:09d}.parquet" for first, last in ((0, 2), (3, 15), (16, 19), (20, 20))]


def test_a_resumed_run_without_a_seed_keeps_its_own(ellzero: Ellzero, digits_model: Path, tmp_path: Path) -> None:
    line = f"certify --model {digits_model} --n 500 --executor local --out {tmp_path}/r"
    ellzero(f"{line} --limit 2")
    seed = json.loads((tmp_path / "r" / "run.json").read_text())["seed"]
    assert ellzero(f"{line} --limit 4").code == 0
    assert read_results(tmp_path / "r", "index")["index"].to_pylist() == [0, 1, 2, 3]
    ellzero(f"certify --model {digits_model} --n 500 --executor local --out {tmp_path}/same --limit 4 --seed {seed}")
    assert read_results(tmp_path / "same") == read_results(tmp_path / "r")


def test_in_one_process_model_and_data_are_read_once(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are replaced after the results have named them change nothing."""
    model, data = model_and_data(tmp_path)
    line = f"certify --model {model} --data {data} --n 200 --seed 1 --executor local"
    assert ellzero(f"{line} --out {tmp_path}/undisturbed").code == 0
    certify_chunks = dataset_run.certify_chunks

    def replace_files_first(*arguments: Any) -> Any:
        retrain(model)
        write_inputs(data, seed=2)
        return certify_chunks(*arguments)

    monkeypatch.setattr("ellzero.cli.certify.certify_chunks", replace_files_first)
    assert ellzero(f"{line} --out {tmp_path}/replaced").code == 0
    assert read_results(tmp_path / "replaced") == read_results(tmp_path / "undisturbed")


def test_a_model_that_is_only_wrong_when_it_is_loaded_is_one_line(ellzero: Ellzero, tmp_path: Path) -> None:
    """Its card can be read and its weights too; they are those of another network."""
    model, data = model_and_data(tmp_path)
    card = ModelFile.read(model).card
    save_model(model, build("mlp", card.shape, 10, 2, {"width": 3, "depth": 1}), card)
    code, out, err = ellzero(f"certify --model {model} --data {data} --n 200 --out {tmp_path}/r")
    assert (code, out) == (1, "")
    assert f"{model} has weights that do not fit {card.architecture}: " in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "r").exists()


def find_actors(driver: int) -> list[int]:
    """The processes of the actors of a driver's own Ray."""
    actors = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"_StatefulWorker" in (folder / "cmdline").read_bytes() and is_descendant(int(folder.name), driver):
                actors.append(int(folder.name))
        except OSError:
            continue
    return actors


def is_descendant(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return False


def test_a_killed_actor_and_a_stopped_driver_lose_and_double_no_result(
    ellzero: Ellzero, digits_model: Path, tmp_path: Path
) -> None:
    """An actor is SIGKILLed while it works, then the driver itself; the same command ends the run."""
    line = f"certify --model {digits_model} --n 1500 --limit 160 --seed 3 --stopping never"
    on_ray = f"{line} --workers 2 --out {tmp_path}/disturbed"

    def until_parts(process: "subprocess.Popen[str]", number: int) -> None:
        for _ in range(2_400):
            if process.poll() is not None or len(list((tmp_path / "disturbed").glob("part-*"))) >= number:
                return
            time.sleep(0.05)

    process = subprocess.Popen([sys.executable, "-m", "ellzero", *on_ray.split()], text=True, stderr=subprocess.PIPE)
    try:
        until_parts(process, 1)
        victims = find_actors(process.pid)
        assert len(victims) == 2, process.poll()
        os.kill(victims[0], signal.SIGKILL)
        until_parts(process, 3)
        assert process.poll() is None
        assert len(read_results(tmp_path / "disturbed")) < 160
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert "what was computed is kept" in err
    finally:
        process.kill()
        process.communicate()
    before = {path.name for path in (tmp_path / "disturbed").glob("part-*")}
    done = subprocess.run(
        [sys.executable, "-m", "ellzero", *on_ray.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert before < {path.name for path in (tmp_path / "disturbed").glob("part-*")}
    ellzero(f"{line} --executor local --out {tmp_path}/undisturbed")
    assert read_results(tmp_path / "disturbed") == read_results(tmp_path / "undisturbed")
    assert len(read_results(tmp_path / "disturbed")) == 160


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--model digits --out {tmp}/r", "no model in models is called digits; the only one is demo-digits"),
        ("--model ../x --out {tmp}/r", "no model in models is called ../x"),
        ("--model {tmp}/no.safetensors --out {tmp}/r", "no.safetensors does not exist"),
        (
            "--model demo-digits --data {tmp} --out {tmp}/r",
            "holds no idx files, no CIFAR-10 batches, and no folders",
        ),
        (
            "--model demo-digits --n 0 --out {tmp}/r",
            "Invalid value for '--n': 0 is not in the range 1<=x<=100000000.",
        ),
        ("--model demo-digits --n0 x --out {tmp}/r", "Invalid value for '--n0': 'x' is not a valid integer."),
        (
            "--model demo-digits --failure 1 --out {tmp}/r",
            "--failure must be a number strictly between 0 and 1",
        ),
        ("--model demo-digits --alpha 2 --out {tmp}/r", "--alpha must be a rational number"),
        ("--model demo-digits --sigma 1 --out {tmp}/r", "--sigma is for gaussian noise, and this is discrete"),
        ("--model demo-digits --noise gaussian --out {tmp}/r", "give --sigma, the amount of gaussian noise"),
        ("--model demo-digits --k 255 --out {tmp}/r", "has levels 0..1, and --k 255 is for 0..255"),
        ("--model demo-digits --device cuda --out {tmp}/r", "device cuda cannot be used"),
        (
            "--model demo-digits --limit 0 --out {tmp}/r",
            "Invalid value for '--limit': 0 is not in the range x>=1.",
        ),
        (
            "--model demo-digits --address nohost:1 --out r",
            "--out must be an absolute path or a URI that all machines",
        ),
        (
            "--model demo-digits --runner-up --stopping anytime --out {tmp}/r",
            "settled, staged, hasty or never with runner_up",
        ),
        (
            "--model demo-digits --noise gaussian --sigma 1 --runner-up --out {tmp}/r",
            "false for continuous noise",
        ),
        (
            "--model demo-digits --noise gaussian --sigma 1e400 --out {tmp}/r",
            "--sigma must be a number above 0",
        ),
        (
            "--model demo-digits --batch-size 0 --out {tmp}/r",
            "Invalid value for '--batch-size': 0 is not in the range x>=1.",
        ),
        (
            "--model demo-digits --cores 0 --out {tmp}/r",
            "Invalid value for '--cores': 0 is not in the range 1<=x<=4096.",
        ),
    ],
)
def test_a_mistake_is_one_line(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, message: str
) -> None:
    if "--device cuda" in options and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    monkeypatch.chdir(tmp_path)
    code, out, err = ellzero(f"certify {options.format(tmp=tmp_path)}")
    assert code in (1, 2)
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert not (tmp_path / "r").exists()


def test_all_families_of_noise_can_be_certified(ellzero: Ellzero, digits_model: Path, tmp_path: Path) -> None:
    line = f"certify --model {digits_model} --n 500 --limit 4 --seed 1 --executor local"
    for name, options in (
        ("gaussian", "--noise gaussian --sigma 0.25"),
        ("uniform", "--noise uniform --gamma 0.5"),
        ("pixel", "--unit pixel"),
        ("two", "--runner-up"),
        ("anytime", "--stopping anytime"),
    ):
        assert ellzero(f"{line} {options} --out {tmp_path}/{name}").code == 0
    assert read_results(tmp_path / "gaussian", "l2")["l2"].null_count < 4
    assert read_results(tmp_path / "uniform", "linf")["linf"].null_count < 4
    assert read_results(tmp_path / "two", "upper_bound")["upper_bound"].null_count == 0
    code, out, err = ellzero(f"report {tmp_path}/gaussian {tmp_path}/uniform --plot {tmp_path}/both.png")
    assert (code, out.count("μ(R)")) == (0, 2)
    assert "gaussian noise, σ = 0.25" in out
    assert err.strip() == f"ellzero: curves written to {tmp_path}/both.png"


def test_a_network_of_an_allowed_factory_is_trained_and_certified(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "def network(*, shape, num_classes, levels):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, num_classes))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    allow = "--allow-factory mine:network"
    line = f"train --alpha 0.9 --architecture mine:network --epochs 1 --out {tmp_path}/m.safetensors"
    assert ellzero(f"{line} {allow}").code == 0
    certify = f"certify --model m --models {tmp_path} --n 50 --limit 2 --executor local --out {tmp_path}/r"
    assert "is code that has not been allowed" in ellzero(certify).err
    assert ellzero(f"{certify} {allow}").code == 0


OWN_MODELS = """
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from ellzero.smoothing import RemoteModel

def forest(*, shape, num_classes, levels):
    images, digits = load_digits(return_X_y=True)
    names = [f"digit {digit}" for digit in digits]
    return RandomForestClassifier(5, random_state=0).fit((images[::3] >= 8), names[::3])

def remote(*, shape, num_classes, levels):
    fitted = forest(shape=shape, num_classes=num_classes, levels=levels)
    return RemoteModel(lambda samples: fitted.predict_proba(samples.reshape(len(samples), -1)), concurrency=2)

def text(*, shape, num_classes, levels):
    return "no model"
"""


def test_any_model_that_an_allowed_function_returns_is_certified(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forest, and the same one behind calls: the same votes. A name, and no digest, says what they are."""
    (tmp_path / "own.py").write_text(OWN_MODELS)
    monkeypatch.syspath_prepend(tmp_path)
    for kind in ("forest", "remote"):
        line = f"certify --model own:{kind} --binarize 8 --alpha 0.9 --n 100 --limit 3 --seed 1 --executor local"
        line += f" --out {tmp_path / kind}"
        assert "is code that has not been allowed" in ellzero(line).err
        line += f" --allow-factory own:{kind}"
        assert "model-id must be given for a model that a function makes" in ellzero(line).err
        assert ellzero(f"{line} --model-id forest-1").code == 0
        assert ellzero(f"{line} --model-id forest-1").out.endswith("are certified already\n")
        assert "forest-1" in ellzero(f"{line} --model-id forest-2").err
        assert ResultStore(str(tmp_path / kind)).manifest()["model"] == {  # type: ignore[index]
            "name": "forest-1",
            "architecture": f"own:{kind}",
        }
        assert f"forest-1 (own:{kind})" in ellzero(f"report {tmp_path / kind} --plot {tmp_path}/curves.svg").out
    assert read_results(tmp_path / "forest", "counts") == read_results(tmp_path / "remote", "counts")
    line = f"certify --model own:text --allow-factory own:text --model-id x --alpha 0.9 --out {tmp_path}/text"
    assert "model must be a network, classifier or function; got 'str'" in ellzero(line).err
    assert not (tmp_path / "text").exists()
    line = f"certify --model demo-digits --model-id x --n 100 --out {tmp_path}/file"
    assert "--model-id is for a module:function" in ellzero(line).err


def test_an_interruption_on_ray_counts_the_inputs_that_are_kept_and_shows_no_messages_of_ray(tmp_path: Path) -> None:
    store = ResultStore(str(tmp_path / "r"))
    options = "--n 20000 --stopping never --seed 1 --executor ray --workers 2"
    line = f"certify --model demo-digits {options} --out {tmp_path / 'r'}"
    code, out, err = interrupt_process(line, lambda: (tmp_path / "r").exists() and bool(store.present()))
    assert (code, out) == (130, "")
    *first, kept, last = (line for line in err.splitlines() if line and "%: " not in line)
    assert all(re.fullmatch(r"ellzero: 359 inputs, at most 20,000 votes each: about .*", line) for line in first)
    assert 1 <= len(store.present()) < 359
    assert kept.startswith(f"ellzero: stopped after {len(store.present())} of 359 inputs; ")
    assert last == "ellzero: interrupted"


def test_shuffled_inputs_are_certified_as_in_their_own_order(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--shuffle with --limit takes a random sample of the inputs; a result is of the input with its index there."""
    monkeypatch.chdir(tmp_path)
    line = "certify --model demo-digits --n 200 --seed 1 --executor local"
    assert ellzero(f"{line} --limit 300 --out plain").code == 0
    assert ellzero(f"{line} --limit 9 --shuffle 4 --out shuffled").code == 0
    plain, shuffled = (ResultStore(name).table().to_pylist() for name in ("plain", "shuffled"))
    source = ResultStore("shuffled").source()
    assert source is not None
    assert source.shuffle == 4
    data = source.load()
    assert isinstance(data, ReorderedData)
    compared = 0
    for row in shuffled:
        index = int(data.order[row["index"]])
        assert row["label"] == data.labels[row["index"]]
        if index < len(plain):
            same = ("label", "counts", "selection", "radius", "looks")
            assert [row[name] for name in same] == [plain[index][name] for name in same]
            compared += 1
    assert compared > 3
    refused = ellzero(f"{line} --limit 9 --shuffle 5 --out shuffled")
    assert "data.name" in refused.err


def test_sequences_of_different_lengths_with_a_mask_token_and_protected_ends(ellzero: Ellzero, tmp_path: Path) -> None:
    """Trained, certified and reported from one Parquet file of token lists; the padding and both ends are protected."""
    draw = np.random.default_rng(7)
    rows = [[1, *draw.integers(3, 8, draw.integers(4, 12)).tolist(), 2] for _ in range(300)]
    labels = [index % 2 for index in range(300)]
    for row, label in zip(rows, labels, strict=True):
        row[1:-1] = [token + 5 * label for token in row[1:-1]]
    table = pa.table(
        {
            "x": rows,
            "y": labels,
            "split": ["train"] * 280 + ["test"] * 20,
            "protected": [[True] + [False] * (len(row) - 2) + [True] for row in rows],
        }
    )
    data, model, out = tmp_path / "tokens.parquet", tmp_path / "tokens.safetensors", tmp_path / "results"
    pq.write_table(table.replace_schema_metadata({"levels": "14", "padding": "0"}), data)
    line = f"train --data {data} --noise mask --m 0.8 --mask-token 13 --architecture token-mean --config padding=0"
    assert ellzero(f"{line} --epochs 5 --out {model}").code == 0
    code, printed, _ = ellzero(f"certify --model {model} --data {data} --n 2000 --seed 1 --executor local --out {out}")
    assert (code, "20 inputs certified" in printed) == (0, True)
    results = ResultStore(str(out)).table().select(["d", "label", "prediction", "radius"]).to_pylist()
    assert [each["d"] for each in results] == [len(row) - 2 for row in rows[280:]]
    right = [each["radius"] for each in results if each["prediction"] == each["label"]]
    assert sum(right) > 20  # at most 3: 3/2 − 0.8^3 < 1 < 3/2 − 0.8^4
    assert max(right) == 3
    assert "hidden with probability 0.8, d = 4 to 11;" in ellzero(f"report {out}").out
    line = f"certify --model {model} --data {data} --n 2000 --seed 1 --executor local --out {out} --certificates"
    assert "20 documents" in ellzero(line).out
    assert ellzero(f"verify {out}").code == 0
    assert all(ellzero(f"verify {document}").code == 0 for document in sorted((out / "certificates").iterdir())[:3])
    wrong = ellzero(f"certify --model {model} --data {data} --noise deletion --m 0.8 --mask-token 1 --out {out}-2")
    assert wrong.code == 2
    assert "--mask-token is for mask and ablation noise, and this is deletion" in wrong.err
    deleted = ellzero(f"certify --model {model} --data {data} --noise deletion --m 0.9 --n 500 --out {out}-3")
    assert (deleted.code, "protected must be left out for deletion noise" in deleted.err) == (2, True)


def test_a_run_that_keeps_classes_among_the_first_k_says_so_and_is_a_run_of_its_own(
    ellzero: Ellzero, tmp_path: Path
) -> None:
    line = "certify --model demo-digits --n 1000 --limit 20 --seed 1 --device cpu --executor local --out"
    for name, options in (("first", ""), ("second", "--top-k 2")):
        assert ellzero(f"{line} {tmp_path / name} {options}").code == 0
    first, second = (ResultStore(str(tmp_path / name)).manifest() for name in ("first", "second"))
    assert first is not None
    assert second == {**first, "top_k": 2}
    radii = [read_results(tmp_path / name, "radius")["radius"].to_pylist() for name in ("first", "second")]
    assert all((one or 0) <= (two or 0) for one, two in zip(*radii, strict=True))
    assert radii[0] != radii[1]
    says = "certified to remain among the 2 most probable classes"
    assert says in ellzero(f"report {tmp_path / 'second'}").out
    assert says not in ellzero(f"report {tmp_path / 'first'}").out
    assert "top_k is 2 there and null here" in ellzero(f"{line} {tmp_path / 'second'}").err
    assert "top_k is null there and 2 here" in ellzero(f"{line} {tmp_path / 'first'} --top-k 2").err
    assert "--top-k must be an integer from 1 to 9; got 10" in ellzero(f"{line} {tmp_path / 'third'} --top-k 10").err
    assert not (tmp_path / "third").exists()


def test_ablation_of_the_positions_that_are_not_protected(ellzero: Ellzero, tmp_path: Path) -> None:
    """The noise is for those alone, so that its d is not the length of inputs."""
    draw = np.random.default_rng(3)
    labels = np.arange(300) % 2
    x = np.where(labels[:, None] == 1, draw.integers(5, 9, (300, 8)), draw.integers(1, 5, (300, 8)))
    np.savez(tmp_path / "tokens.npz", x=x, y=labels, levels=9, protected=np.tile(np.arange(8) < 2, (300, 1)))
    noise = {"family": "ablation", "d": 6, "keep": 1, "levels": 9}
    (tmp_path / "noise.json").write_text(json.dumps(noise))
    data, model = tmp_path / "tokens.npz", tmp_path / "tokens.safetensors"
    line = f"train --data {data} --noise mask --m 0.8 --architecture token-mean --epochs 3 --out {model}"
    assert ellzero(line).code == 0
    line = f"certify --model {model} --data {data} --noise {tmp_path / 'noise.json'} --n 1000 --limit 4 --seed 1"
    done = ellzero(f"{line} --executor local --certificates --out {tmp_path / 'results'}")
    assert done.code == 0, done.err
    rows = ResultStore(str(tmp_path / "results")).table().select(["d", "radius"]).to_pylist()
    assert [row["d"] for row in rows] == [6] * 4
    assert all(ellzero(f"verify {each}").code == 0 for each in (tmp_path / "results" / "certificates").iterdir())


def test_a_function_has_no_document(ellzero: Ellzero, tmp_path: Path) -> None:
    wrong = ellzero(f"certify --model own:make --model-id first --certificates --out {tmp_path / 'results'}")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "--certificates is for model files" in wrong.err
