"""``ellzero train``: tokens as a new user would try them, and mistakes in one line."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from command_line import Ellzero

from ellzero.cli.certify import certify_command
from ellzero.cli.train import train_command


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
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
        ("train --data /nowhere --alpha 0.9", "is not a folder with a data set"),
    ],
)
def test_a_mistake_is_one_line_and_saves_no_model(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = ellzero(line)
    assert code in (1, 2)
    assert out == ""
    *notices, last = err.splitlines()
    assert message in last
    assert len(notices) == ("diverged" in message)  # which says first what it trains
    assert not list(tmp_path.rglob("*.safetensors"))
