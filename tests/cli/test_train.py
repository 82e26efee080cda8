"""``ellzero train``: tokens as a new user would try them, and mistakes in one line."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import Ellzero

from ellzero.cli.certify import certify_command
from ellzero.cli.train import train_command
from ellzero.smoothing import AblationNoise, DiscreteNoise, GroupedNoise, HierarchicalNoise
from ellzero.smoothing.models.files import ModelFile


def test_tokens_are_trained_resumed_certified_and_overwritten(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 200)
    x = np.where(y[:, None] == 1, generator.integers(0, 5, (200, 6)), generator.integers(5, 30, (200, 6)))
    data, out = tmp_path / "tokens.npz", tmp_path / "tokens.safetensors"
    np.savez(data, x=x, y=y, levels=30)
    common = ["--data", str(data), "--alpha", "0.6", "--architecture", "token-mean", "--epochs", "2", "--device", "cpu"]
    train = [*common, "--out", str(out)]
    done = CliRunner().invoke(train_command, train)
    assert done.exit_code == 0, done.output
    again = CliRunner().invoke(train_command, train)
    assert f"resuming after epoch 2 of 2 from {out.with_suffix('.checkpoint.pt')}" in again.output
    wrong = CliRunner().invoke(train_command, [*common, "--feed", "scaled", "--out", str(tmp_path / "b.safetensors")])
    assert wrong.exit_code == 1
    assert "the model raised RuntimeError: " in wrong.output.splitlines()[-1]
    results = tmp_path / "results"
    certify = ["--model", str(out), "--data", str(data), "--limit", "4", "--out", str(results), "--executor", "local"]
    first = CliRunner().invoke(certify_command, [*certify, "--n", "5", "--device", "cpu"])
    assert "no radius of 1 or more can be certified" in first.output
    refused = CliRunner().invoke(certify_command, [*certify, "--n", "3000", "--device", "cpu"])
    assert "n is 5 there and 3000 here" in refused.output
    assert "--overwrite" in refused.output
    (results / "mine.txt").write_text("kept")
    replaced = CliRunner().invoke(certify_command, [*certify, "--n", "3000", "--device", "cpu", "--overwrite"])
    assert replaced.exit_code == 0, replaced.output
    assert (results / "mine.txt").read_text() == "kept"


def test_options_of_the_recipe_are_on_the_card(ellzero: Ellzero, tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    options = "--schedule cosine --copies 2 --consistency 1.5 --epochs 1"
    done = ellzero(f"train --data digits --alpha 0.9 --architecture strided-cnn {options} --device cpu --out {out}")
    assert done.code == 0, done.err
    training = ModelFile.read(out).card.training
    assert (training["schedule"], training["copies"], training["consistency"]) == ("cosine", 2, 1.5)


def test_noises_with_symbols_of_their_own_are_trained_and_certified(ellzero: Ellzero, tmp_path: Path) -> None:
    """Masked, ablated, shortened and struck tokens: the network knows the symbols that noise adds."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 200)
    x = np.where(y[:, None] == 1, generator.integers(0, 3, (200, 6)), generator.integers(3, 9, (200, 6)))
    np.savez(tmp_path / "tokens.npz", x=x, y=y, levels=9)
    padded = np.where(np.arange(6) < 4 + y[:, None], x, 9)
    np.savez(tmp_path / "sequences.npz", x=padded, y=y, levels=10)
    struck = HierarchicalNoise(DiscreteNoise(8, "0.5"), "0.9")
    (tmp_path / "struck.json").write_text(json.dumps(struck.description()))
    table = GroupedNoise([(DiscreteNoise(8, "0.8"), 2), (AblationNoise(8, 4, 1), 4)])
    (tmp_path / "table.json").write_text(json.dumps(table.description()))
    for name, noise, words in (
        ("mask", "mask --m 0.6", "hidden with probability 0.6"),
        ("ablation", "ablation --keep 2", "2 of 6 shown"),
        ("struck", f"{tmp_path}/struck.json", "struck with probability 0.9 by: K = 8, α = 1/2"),
        ("table", f"{tmp_path}/table.json", "2 columns: K = 8, α = 4/5 per coordinate; 4 columns: 1 of 4 shown"),
        ("deletion", "deletion --m 0.5", "symbols deleted with probability 0.5"),
    ):
        data = f"--data {tmp_path}/{'sequences' if name == 'deletion' else 'tokens'}.npz --device cpu"
        model, results = tmp_path / f"{name}.safetensors", tmp_path / name
        trained = ellzero(f"train {data} --noise {noise} --architecture token-mean --epochs 1 --out {model}")
        assert trained.code == 0, trained.err
        certify = f"certify {data} --model {model} --n 200 --limit 3 --seed 1 --executor local"
        assert ellzero(f"{certify} --out {results}").code == 0  # with the noise of the training
        assert words in ellzero(f"report {results} --plot {tmp_path}/curves.png").out
    other = f"certify --data {tmp_path}/tokens.npz --n 200 --limit 3 --executor local --out {tmp_path}/more"
    masked, struck_too = (f"{other} --model {tmp_path}/{name}.safetensors" for name in ("mask", "struck"))
    assert ellzero(f"{masked} --noise mask --m 0.8").code == 0
    assert "give --keep, the amount of ablation noise" in ellzero(f"{masked} --noise ablation").err
    assert "--m is for mask noise, and this is hierarchical" in ellzero(f"{struck_too} --m 0.5").err
    assert "--unit is for discrete noise, and this is hierarchical" in ellzero(f"{struck_too} --unit pixel").err


@pytest.mark.parametrize("kind", ["int64", "uint8"])
def test_levels_that_the_training_was_told_need_not_be_told_again(ellzero: Ellzero, tmp_path: Path, kind: str) -> None:
    """The command that a training prints certifies what it trained, also of data that do not say their levels."""
    x = (np.random.default_rng(0).random((60, 12)) < 0.3).astype(kind)
    np.savez(tmp_path / "bits.npz", x=x, y=x[:, 0])
    line = f"train --data {tmp_path}/bits.npz --k 1 --noise sparse --p-add 0.1 --p-del 0.6 --architecture mlp"
    trained = ellzero(f"{line} --epochs 1 --out {tmp_path}/m.safetensors")
    assert trained.code == 0, trained.err
    [following] = [each for each in trained.out.splitlines() if each.startswith("next: ellzero ")]
    certify = following.removeprefix("next: ellzero ").replace("results/", f"{tmp_path}/results/")
    certified = ellzero(f"{certify.replace('--n 10000 --limit 50', '--n 100 --limit 2')} --executor local")
    assert certified.code == 0, certified.err
    advised = ellzero(f"advise --model {tmp_path}/m.safetensors --data {tmp_path}/bits.npz --n 100 --votes 20")
    assert advised.code == 0, advised.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "train --noise foggy",
            "--noise must be discrete, gaussian, rounded-gaussian, uniform, sparse,",
        ),
        ("train --noise none.json", "--noise: none.json: No such file or directory"),
        ("train --noise sparse --p-add 0.1", "give --p-add and --p-del, the amounts of sparse noise"),
        (
            "train --noise sparse --p-add 0.1 --p-del 0.6",
            "has levels 0..16, and sparse noise is for bits; --binarize 8 turns them into bits, --noise sparse-",
        ),
        (
            "train --data bits.npz --noise sparse --p-add 0.1 --p-del 0.6",
            "has levels 0..255, and sparse noise is for bits; --k 1 says so if they are bits, --binarize 128 ",
        ),
        ("train --noise rounded-gaussian --alpha 0.9", "rounded-gaussian noise is for bits; --binarize 8 turns them"),
        ("train --noise mask --m 0.9", "--architecture must be token-mean, or one that takes levels, for noise with"),
        ("train --noise mask --m 0.9 --feed scaled", "feed must be levels for this noise"),
        (
            "train --noise mask --m 2 --architecture token-mean",
            "--m must be a rational number strictly between",
        ),
        (
            "train --noise ablation --keep 65 --architecture token-mean",
            "--keep must be an integer from 1 to 64",
        ),
        ("train --noise deletion --m 0.5 --architecture token-mean", "x must be a sequence of at most 1 symbols"),
        ("train --alpha 0.9 --rate 900 --architecture mlp --epochs 1", "training diverged in epoch 1"),
        ("train --alpha 0.9 --config width", "--config must be NAME=VALUE"),
        ("train", "give --alpha, the amount of discrete noise"),
        ("train --alpha 0.9 --k 1", "has levels 0..16, and --k 1 is for 0..1; --binarize 8 turns them into bits"),
        ("train --alpha 0.9 --binarize 17", "--binarize must be a level from 1 to 16"),
        ("train --alpha 0.9 --architecture resnet", "no architecture is called resnet"),
        ("train --alpha 0.9 --architecture os:system", "is code that has not been allowed"),
        ("train --alpha 0.9 --epochs 0", "Invalid value for '--epochs': 0 is not in the range x>=1."),
        ("train --alpha 0.9 --out model.pt", "--out must be a file name that ends in .safetensors"),
        ("train --alpha 0.9 --device gpu", "--device must be auto, cpu, cuda or cuda:0"),
        ("train --alpha 0.9 --consistency 5", "--copies must be at least 2 with consistency"),
        ("train --alpha 0.9 --copies 2 --consistency -1", "Invalid value for '--consistency'"),
        ("train --alpha 0.9 --schedule linear", "Invalid value for '--schedule': 'linear' is not one of"),
        ("train --data /nowhere --alpha 0.9", "is not a folder with a data set"),
    ],
)
def test_a_mistake_is_one_line_and_saves_no_model(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("bits.npz", x=np.eye(20, dtype=np.uint8), y=np.arange(20) % 2)
    code, out, err = ellzero(line)
    assert code in (1, 2)
    assert out == ""
    *notices, last = err.splitlines()
    assert message in last
    assert len(notices) == ("diverged" in message)  # which says first what it trains
    assert not list(tmp_path.rglob("*.safetensors"))
