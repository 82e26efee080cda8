"""Weights by their names: what is found, what is missing, and the command that trains it."""

import shlex
from pathlib import Path

import pytest
import torch
from experiments.imagenet_files import SIZE, write_images, write_weights

from ellzero.cli.train import train_command
from ellzero.core.errors import InvalidInput
from ellzero.experiments import imagenet_weights
from ellzero.experiments.imagenet_weights import (
    ENDINGS,
    NoiseLevel,
    find_image_size,
    find_sigmas,
    find_weights,
    format_training,
    prepare_model,
    read_levels,
)
from ellzero.smoothing import DiscreteNoise, GaussianNoise
from ellzero.smoothing.errors import BadModelFile
from ellzero.smoothing.models.files import ModelFile, load_model
from ellzero.smoothing.models.resnet import ResNet
from ellzero.smoothing.training import IMAGENET_RECIPE, Recipe

ALPHA, SIGMA = NoiseLevel("alpha", "0.2"), NoiseLevel("sigma", "0.50")


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("level", [ALPHA, SIGMA])
def test_weights_are_found_by_the_name_of_their_noise(tmp_path: Path, level: NoiseLevel, ending: str) -> None:
    touch(tmp_path / "alpha-0.25.pth.tar")
    path = touch(tmp_path / f"{level.name}{ending}")
    assert find_weights(tmp_path, [level], Path("imagenet")) == [path]
    assert find_sigmas(tmp_path) == ([level.amount] if level is SIGMA else [])


def test_all_sigmas_with_weights_are_found_in_order(tmp_path: Path) -> None:
    for name in ("sigma-1.pt", "sigma-0.25.pth.tar", "sigma-0.5/checkpoint.pth.tar", "sigma-big.pt", "sigma-2.txt"):
        touch(tmp_path / name)
    touch(tmp_path / "sigma-0.25.safetensors")
    assert find_sigmas(tmp_path) == ["0.25", "0.5", "1"]
    assert find_sigmas(tmp_path / "none") == []


def test_missing_weights_are_named_together_after_the_commands_that_train_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = NoiseLevel("alpha", "0.1")
    touch(tmp_path / "alpha-0.1.pth.tar")
    with pytest.raises(BadModelFile) as missing:
        find_weights(tmp_path, [ALPHA, there, SIGMA], Path("my data"))
    endings = ".safetensors, .pth.tar, .pth, .pt or /checkpoint.pth.tar"
    assert str(missing.value) == f"{tmp_path} has no weights for alpha-0.2, sigma-0.50; their names end in {endings}"
    assert capsys.readouterr().err.splitlines() == [
        f"ellzero: trains {level.name}: {format_training(level, Path('my data'), tmp_path)}" for level in (ALPHA, SIGMA)
    ]


@pytest.mark.parametrize("level", [ALPHA, SIGMA])
def test_the_command_trains_resnet50_by_the_papers_recipe_under_this_noise(tmp_path: Path, level: NoiseLevel) -> None:
    program, command, *options = shlex.split(format_training(level, Path("my data"), tmp_path))
    assert (program, command) == ("ellzero", "train")
    given = train_command.make_context("train", options).params
    assert given["architecture"] == "resnet50"
    assert (given["uri"], given["out"]) == ("my data", tmp_path / f"{level.name}.safetensors")
    assert (given["family"], given[level.parameter]) == ("gaussian" if level is SIGMA else None, level.amount)
    fields = ("epochs", "batch", "rate", "decay_every", "seed", "nesterov", "crop")
    assert Recipe(**{name: given[name] for name in fields}) == IMAGENET_RECIPE


def test_the_command_works_on_a_folder_of_images(tmp_path: Path) -> None:
    """With one epoch of a small network instead of 90 of ResNet-50."""
    data = write_images(tmp_path / "data", ("train",), 10)
    options = shlex.split(format_training(ALPHA, data, tmp_path / "weights"))[2:]
    small = ["--epochs", "1", "--config", "layers=[1,1,1,1]", "--config", "width=2", "--image-size", str(SIZE)]
    train_command.main([*options, *small, "--batch", "9", "--device", "cpu"], standalone_mode=False)
    (path,) = find_weights(tmp_path / "weights", [ALPHA], data)
    card = ModelFile.read(path).card
    assert (card.shape, card.num_classes) == ((3, SIZE, SIZE), 3)
    assert card.training["crop"] is True
    assert prepare_model(ALPHA, path, tmp_path / "models") == path


def test_a_model_of_another_noise_than_its_name_says_is_refused(tmp_path: Path) -> None:
    write_weights(tmp_path, ALPHA)
    right = tmp_path / "alpha-0.2.safetensors"
    wrong = right.rename(tmp_path / "alpha-0.3.safetensors")
    with pytest.raises(
        BadModelFile, match="was trained with K = 255, α = 1/5 per coordinate, and its name says K = 255"
    ):
        prepare_model(NoiseLevel("alpha", "0.3"), wrong, tmp_path / "models")
    with pytest.raises(BadModelFile, match="and its name says gaussian noise, σ = 0.5"):
        prepare_model(SIGMA, wrong, tmp_path / "models")


def test_a_checkpoint_becomes_a_model_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imagenet_weights, "IMAGENET_SIDE", SIZE)
    path = tmp_path / "alpha-0.2.pth.tar"
    state = ResNet(3).state_dict()
    torch.save({"arch": "resnet50", "state_dict": {f"1.module.{name}": each for name, each in state.items()}}, path)
    model = prepare_model(ALPHA, path, tmp_path / "models")
    assert model == tmp_path / "models" / "alpha-0.2.safetensors"
    saved = load_model(model)
    assert dict(saved.card.noise) == dict(DiscreteNoise(255, "0.2").description())
    assert all(torch.equal(saved.network.state_dict()[f"1.{name}"], value) for name, value in state.items())
    before = model.stat().st_mtime_ns
    assert prepare_model(ALPHA, path, tmp_path / "models") == model
    assert model.stat().st_mtime_ns == before
    torch.save({"state_dict": ResNet(3).state_dict()}, path)
    prepare_model(ALPHA, path, tmp_path / "models")
    assert load_model(model).digest != saved.digest


def test_models_of_different_sizes_are_refused(tmp_path: Path) -> None:
    write_weights(tmp_path, ALPHA)
    write_weights(tmp_path, SIGMA, size=40)
    files = [tmp_path / f"{level.name}.safetensors" for level in (ALPHA, SIGMA)]
    assert find_image_size(files[:1]) == SIZE
    assert find_image_size([tmp_path / "checkpoint.pt"]) == 224
    with pytest.raises(
        BadModelFile, match="sigma-0.50.safetensors takes images of 40×40, and other weights take 32×32"
    ):
        find_image_size(files)


def test_a_level_is_its_noise() -> None:
    assert ALPHA.make_noise() == DiscreteNoise(255, "0.2")
    assert SIGMA.make_noise() == GaussianNoise("0.5", k=255)
    assert [level.name for level in read_levels("alpha", ["0.1", "0.2"])] == ["alpha-0.1", "alpha-0.2"]


@pytest.mark.parametrize(
    ("parameter", "amounts", "message"),
    [
        ("alpha", ["0.1", "0.10"], "alpha must be different numbers; got '0.1, 0.10'"),
        ("alpha", ["1/8"], "alpha must be decimals above 0, such as 0.1; got '1/8'"),
        ("alpha", ["../0.1"], "alpha must be decimals above 0"),
        ("alpha", ["1e-1"], "alpha must be decimals above 0"),
        ("alpha", ["nan"], "alpha must be decimals above 0"),
        ("alpha", [""], "alpha must be decimals above 0"),
        ("alpha", ["1.5"], "alpha must be"),
        ("sigma", ["0"], "sigma must be decimals above 0"),
        ("sigma", ["-1"], "sigma must be decimals above 0"),
    ],
)
def test_a_wrong_amount_is_one_line(parameter: str, amounts: list[str], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_levels(parameter, amounts)
    assert str(refused.value).startswith(message)
