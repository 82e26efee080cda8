"""Models as files: loaded as they were saved, without code, and a damaged file is one clear line."""

import hashlib
import json
import os
import pickle
import resource
import shutil
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save
from smoothing.model_files import CARD, changed_card, network_of, one_line, refusal, same_weights, write_model
from smoothing.pickle_payload import Payload
from torch import nn

from ellzero.certificates import InvalidInput
from ellzero.smoothing import DiscreteNoise
from ellzero.smoothing.errors import BadModelFile, UnknownModel
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import ModelFile, find_model, load_model, model_names, save_model

FULL_CARD = ModelCard(
    "mlp",
    (1, 2, 2),
    3,
    5,
    feed="levels",
    config={"width": 6, "depth": 1},
    noise=dict(DiscreteNoise(4, "0.8").description()),
    data="digits",
    binarize=8,
    class_names=("cat", "dog", "naïve \N{FROG FACE}"),
    training={"epochs": 30, "validation": 0.98, "seeds": [1, 2]},
)


@pytest.mark.parametrize(
    ("architecture", "shape", "config"),
    [
        ("paper-cnn", (1, 28, 28), {}),
        ("paper-cnn", (1, 8, 8), {}),
        ("paper-cnn", (3, 32, 32), {}),
        ("paper-cnn", (1, 4, 4), {}),
        ("mlp", (7,), {}),
        ("mlp", (2, 3), {"width": 5}),
        ("mlp", (1, 8, 8), {"depth": 4}),
        ("mlp", (3, 32, 32), {"width": 9, "depth": 1}),
        ("mlp", (4,), {"depth": 0}),
    ],
)
def test_a_saved_model_is_loaded_unchanged(
    tmp_path: Path, architecture: str, shape: tuple[int, ...], config: dict[str, int]
) -> None:
    card = ModelCard(architecture, shape, 10, 17, config=config)
    network = network_of(card).eval()
    path = tmp_path / "model.safetensors"
    save_model(path, network, card)
    saved = load_model(path)
    assert saved.card == ModelFile.read(path).card == card
    assert same_weights(saved.network, network)
    assert not saved.network.training
    x = torch.rand(5, *shape)
    with torch.no_grad():
        assert torch.equal(saved.network(x), network(x))
        assert saved.network(x).shape == (5, 10)


def test_every_field_of_a_card_is_saved_and_loaded(tmp_path: Path) -> None:
    save_model(tmp_path / "model.safetensors", network_of(FULL_CARD), FULL_CARD)
    assert ModelFile.read(tmp_path / "model.safetensors").card == FULL_CARD
    assert load_model(tmp_path / "model.safetensors").card == FULL_CARD


def test_a_network_in_training_mode_with_transposed_weights_can_be_saved(tmp_path: Path) -> None:
    network = network_of(CARD).train()
    first = next(layer for layer in network.modules() if isinstance(layer, nn.Linear))
    first.weight = nn.Parameter(first.weight.detach().t().contiguous().t())
    save_model(tmp_path / "model.safetensors", network, CARD)
    assert same_weights(load_model(tmp_path / "model.safetensors").network, network)
    assert network.training


def test_a_network_with_tied_weights_can_be_saved(tmp_path: Path, factories: Callable[[str], str]) -> None:
    name = factories(
        "def make(*, shape, num_classes, levels):\n"
        "    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))\n"
        "    network[1].weight = network[0].weight\n"
        "    return network\n"
    )
    card = replace(CARD, architecture=f"{name}:make", config={})
    network = network_of(card, allowed=(card.architecture,))
    save_model(tmp_path / "model.safetensors", network, card)
    assert same_weights(load_model(tmp_path / "model.safetensors", (card.architecture,)).network, network)


def test_a_file_that_is_replaced_while_it_is_read_is_one_or_the_other(tmp_path: Path) -> None:
    """Card, weights and digest are those of one file, whoever writes meanwhile."""
    path, cards = tmp_path / "model.safetensors", [replace(CARD, data=name) for name in ("one", "other")]
    expected = {}
    for seed, card in enumerate(cards):
        save_model(path, network_of(card, seed), card)
        expected[ModelFile.read(path).digest] = (card, network_of(card, seed))
    versions = [path.with_name(str(seed)) for seed in range(2)]
    for seed, version in enumerate(versions):
        save_model(path, network_of(cards[seed], seed), cards[seed])
        shutil.copyfile(path, version)
    over = Event()

    def swap() -> None:
        while not over.is_set():
            for version in versions:
                shutil.copyfile(version, tmp_path / "next")
                (tmp_path / "next").replace(path)

    with ThreadPoolExecutor() as pool:
        pool.submit(swap)
        try:
            for _ in range(100):
                saved = load_model(path)
                card, network = expected[saved.digest]
                assert saved.card == card
                assert same_weights(saved.network, network)
        finally:
            over.set()


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one.safetensors", tmp_path / "other.safetensors"
    save_model(one, network_of(CARD, 1), CARD)
    save_model(other, network_of(CARD, 2), CARD)
    assert load_model(one).digest == ModelFile.read(one).digest == hashlib.sha256(one.read_bytes()).hexdigest()
    assert load_model(one).digest != load_model(other).digest
    save_model(other, network_of(CARD, 1), CARD)
    assert load_model(one).digest == load_model(other).digest


def test_a_file_is_plain_safetensors(tmp_path: Path) -> None:
    network = network_of(FULL_CARD)
    save_model(tmp_path / "model.safetensors", network, FULL_CARD)
    with safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no mapping
        metadata = file.metadata()
    assert weights.keys() == network.state_dict().keys()
    assert all(np.array_equal(weights[name], value.numpy()) for name, value in network.state_dict().items())
    card = json.loads(metadata["ellzero"])
    assert (card["version"], card["architecture"], card["shape"], card["levels"]) == (1, "mlp", [1, 2, 2], 5)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_the_mode_of_a_file_follows_the_umask(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        save_model(tmp_path / "model.safetensors", network_of(CARD), CARD)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.safetensors").stat().st_mode) == mode


def test_folders_are_created_and_an_older_model_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "some" / "where" / "model.safetensors"
    for seed in (1, 2):
        save_model(path, network_of(CARD, seed), CARD)
        assert same_weights(load_model(path).network, network_of(CARD, seed))
    assert [file.name for file in path.parent.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize("name", ["model", "model.pt", "model.safetensors.gz", ".safetensors", "model.SAFETENSORS"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="out must be a file name that ends in .safetensors") as refused:
        save_model(tmp_path / name, network_of(CARD), CARD)
    one_line(refused.value)
    assert list(tmp_path.iterdir()) == []


@contextmanager
def small_files_only() -> Iterator[None]:
    """No file can grow beyond 100 bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_halfway_leaves_the_older_model(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_model(path, network_of(CARD, 1), CARD)
    for file in (path, tmp_path / "new.safetensors"):
        network = network_of(CARD, 2)
        with pytest.raises(BadModelFile) as failed, small_files_only():
            save_model(file, network, CARD)
        assert one_line(failed.value).startswith(f"{file} cannot be written: File too large")
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]
    assert same_weights(load_model(path).network, network_of(CARD, 1))


@pytest.mark.parametrize(
    "place",
    [
        "folder.safetensors",
        "/proc/nowhere/model.safetensors",
        pytest.param("notes.txt/model.safetensors"),
        pytest.param("notes.txt/some/model.safetensors"),
        pytest.param("a" * 300 + ".safetensors"),
        pytest.param("a\0b.safetensors"),
    ],
)
def test_a_model_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder.safetensors").mkdir()
    (tmp_path / "notes.txt").write_text("in the way")
    with pytest.raises(BadModelFile) as failed:
        save_model(tmp_path / place, network_of(CARD), CARD)
    assert " cannot be written: " in one_line(failed.value)
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["folder.safetensors", "notes.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(BadModelFile, match="cannot be written: ") as failed:
            save_model(tmp_path / "model.safetensors", network_of(CARD), CARD)
        one_line(failed.value)
        assert list(tmp_path.iterdir()) == []
    finally:
        tmp_path.chmod(0o755)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:7],
        lambda whole: whole[:8],
        lambda whole: whole[:50],
        lambda whole: whole[: len(whole) // 2],
        lambda whole: whole[:-1],
        lambda whole: whole + b"x",
        lambda whole: b"\xff" * 8 + whole[8:],
        lambda whole: whole[:8] + b"[" + whole[9:],
        lambda whole: np.random.default_rng(1).bytes(5_000),
        lambda whole: b"<html>404 Not Found</html>\n",
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "model.safetensors"
    save_model(path, network_of(CARD), CARD)
    path.write_bytes(damage(path.read_bytes()))
    assert refusal(path).startswith(f"{path} is not a safetensors file: ")
    with pytest.raises(BadModelFile):
        ModelFile.read(path)


def test_a_pickle_that_is_called_safetensors_is_refused_and_not_run(tmp_path: Path) -> None:
    trace, path = tmp_path / "trace", tmp_path / "model.safetensors"
    pickle.loads(pickle.dumps(Payload(trace)))
    assert trace.exists()
    trace.unlink()
    path.write_bytes(pickle.dumps(Payload(trace)))
    assert "is not a safetensors file: " in refusal(path)
    torch.save({"weights": Payload(trace)}, path)
    assert "is not a safetensors file: " in refusal(path)
    assert not trace.exists()


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("in the way")
    for name in ("model.safetensors", "nowhere/model.safetensors", "notes.txt/model.safetensors"):
        assert refusal(tmp_path / name) == f"{tmp_path / name} does not exist"
    (tmp_path / "folder.safetensors").mkdir()
    assert "is not a safetensors file: " in refusal(tmp_path / "folder.safetensors")


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}])
def test_weights_without_a_card_are_refused(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(save(network_of(CARD).state_dict(), metadata))
    assert refusal(path) == f"{path} is not a model of ellzero: it has weights, but no card"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": [5]}, "size mismatch for 2.weight"),
        ({"num_classes": 4}, "size mismatch for 4."),
        ({"config": {"width": 7, "depth": 1}}, "size mismatch for "),
        ({"config": {"width": 6, "depth": 2}}, ""),
        ({"architecture": "paper-cnn", "shape": [1, 8, 8], "config": {}}, ""),
    ],
)
def test_weights_that_do_not_fit_are_one_line(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    path = write_model(tmp_path / "model.safetensors", changed_card(**changes))
    line = refusal(path)
    assert line.startswith(f"{path} has weights that do not fit ")
    assert message in line


def test_missing_and_unexpected_weights_are_named(tmp_path: Path) -> None:
    path, weights = tmp_path / "model.safetensors", network_of(CARD).state_dict()
    write_model(path, weights={**weights, "extra": torch.zeros(2)})
    assert refusal(path) == f'{path} has weights that do not fit mlp: Unexpected key(s) in state_dict: "extra".'
    write_model(path, weights={name: value for name, value in weights.items() if name != "4.bias"})
    assert refusal(path) == f'{path} has weights that do not fit mlp: Missing key(s) in state_dict: "4.bias".'
    write_model(path, weights={})
    assert "Missing key(s)" in refusal(path)


def test_models_have_names(tmp_path: Path) -> None:
    for name in ("mnist", "digits-0.9", "A_1"):
        save_model(tmp_path / f"{name}.safetensors", network_of(CARD), CARD)
    for name in ("mnist", "digits-0.9", "A_1"):
        assert find_model(name, tmp_path) == tmp_path / f"{name}.safetensors"
        assert load_model(find_model(name, tmp_path)).card == CARD
    assert model_names(tmp_path) == ["A_1", "digits-0.9", "mnist"]


def test_only_models_are_listed(tmp_path: Path) -> None:
    others = [
        "notes.txt",
        "model.pt",
        "mnist.training.csv",
        ".hidden.safetensors",
        ".mnist.safetensors.12.tmp",
        ".safetensors",
        "a b.safetensors",
        "-x.safetensors",
        "é.safetensors",
        "a\nb.safetensors",
    ]
    for name in (*others, "mnist.safetensors"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "deeper.safetensors").write_bytes(b"")
    assert model_names(tmp_path) == ["mnist"]
    assert model_names(tmp_path / "nowhere") == []


def test_a_folder_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "folder.safetensors").mkdir()
    with pytest.raises(UnknownModel, match="is called folder"):
        find_model("folder", tmp_path)


def test_folders_are_not_listed(tmp_path: Path) -> None:
    (tmp_path / "folder.safetensors").mkdir()
    assert model_names(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    [
        "other",
        "",
        ".",
        "..",
        "../secret",
        "../models/mnist",
        "./mnist",
        "more/deeper",
        "more\\deeper",
        "/etc/passwd",
        "{folder}/secret",
        "mnist.safetensors",
        "mnist\0",
        "\0",
        "mnist ",
        "*",
        "mnis?",
        ".hidden",
        "~",
        "%2e%2e%2fsecret",
        "ｍnist",
        "a" * 101,
        "a" * 5_000,
        pytest.param("mnist\n"),
        pytest.param("a\nb"),
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "models"
    for path in ("mnist", "digits", "more/deeper", ".hidden", "../secret"):
        save_model(folder / f"{path}.safetensors", network_of(CARD), CARD)
    formatted = name.format(folder=tmp_path)
    with pytest.raises(UnknownModel) as refused:
        find_model(formatted, folder)
    assert refused.value.available == ("digits", "mnist")
    line = one_line(refused.value)
    assert line.startswith(f"no model in {folder} is called ")
    assert line.endswith("; there are digits, mnist")


def test_an_empty_folder_has_no_models(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UnknownModel) as refused:
            find_model("mnist", folder)
        assert one_line(refused.value) == f"no model in {folder} is called mnist; there are none"
