"""Models as files: they come back as they were, bring no code, and a file that holds none is one clear line."""

import hashlib
import importlib.util
import json
import os
import pickle
import resource
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor, nn

from ellzero.certificates import EllzeroError, InvalidInput
from ellzero.smoothing import DiscreteNoise
from ellzero.smoothing.errors import BadModelFile, UnknownModel
from ellzero.smoothing.models.architectures import ARCHITECTURES, build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import (
    ModelFile,
    SavedModel,
    find_model,
    load_model,
    model_names,
    save_model,
)

CARD = ModelCard("mlp", (4,), 3, 5, config={"width": 6, "depth": 1})
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


def network_of(card: ModelCard, seed: int = 1, allowed: tuple[str, ...] = ()) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build(card.architecture, card.shape, card.num_classes, card.levels, card.config, allowed)


def write(path: Path, card: ModelCard | str = CARD, weights: dict[str, Tensor] | None = None) -> Path:
    """A file with a card as it is given, right or wrong."""
    text = card if isinstance(card, str) else card.to_json()
    path.write_bytes(save(network_of(CARD).state_dict() if weights is None else weights, {"ellzero": text}))
    return path


def changed_card(**changes: object) -> str:
    """The card with other fields; those that are ... are left out."""
    fields = {**json.loads(CARD.to_json()), **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ...})


def one_line(error: EllzeroError) -> str:
    line = str(error)
    assert "\n" not in line
    assert str(pickle.loads(pickle.dumps(error))) == line
    return line


def refusal(path: Path, allowed: tuple[str, ...] = (), kind: type[EllzeroError] = BadModelFile) -> str:
    """The one line with which a model is refused."""
    with pytest.raises(kind) as refused:
        load_model(path, allowed)
    return one_line(refused.value)


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    ours, theirs = one.state_dict(), other.state_dict()
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


# There and back


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
def test_a_model_comes_back_as_it_was(
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


def test_a_width_and_a_depth_are_those_of_the_network(tmp_path: Path) -> None:
    card = ModelCard("mlp", (7,), 3, 5, config={"width": 9, "depth": 3})
    save_model(tmp_path / "model.safetensors", network_of(card), card)
    layers = [layer for layer in load_model(tmp_path / "model.safetensors").network.modules() if hasattr(layer, "bias")]
    assert [len(layer.bias) for layer in layers if isinstance(layer.bias, Tensor)] == [9, 9, 9, 3]


def test_every_field_of_a_card_comes_back(tmp_path: Path) -> None:
    save_model(tmp_path / "model.safetensors", network_of(FULL_CARD), FULL_CARD)
    assert ModelFile.read(tmp_path / "model.safetensors").card == FULL_CARD
    assert load_model(tmp_path / "model.safetensors").card == FULL_CARD


def test_a_network_in_training_and_of_odd_strides_is_saved_as_well(tmp_path: Path) -> None:
    network = network_of(CARD).train()
    first = next(layer for layer in network.modules() if isinstance(layer, nn.Linear))
    first.weight = nn.Parameter(first.weight.detach().t().contiguous().t())
    save_model(tmp_path / "model.safetensors", network, CARD)
    assert same_weights(load_model(tmp_path / "model.safetensors").network, network)
    assert network.training


def test_a_network_with_tied_weights_is_saved_as_well(tmp_path: Path, factories: Callable[[str], str]) -> None:
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


@pytest.mark.skipif(importlib.util.find_spec("torchvision") is not None, reason="torchvision is installed")
def test_a_resnet_without_torchvision_is_one_line(tmp_path: Path) -> None:
    card = ModelCard("resnet50", (3, 224, 224), 1_000, 256)
    with pytest.raises(UnknownModel) as refused:
        network_of(card)
    assert (
        one_line(refused.value)
        == "no architecture without torchvision is called resnet50; there are paper-cnn, mlp, token-mean"
    )
    assert refusal(write(tmp_path / "model.safetensors", card), kind=UnknownModel) == str(refused.value)


@pytest.mark.parametrize("shape", [(28, 28), (784,), (1, 3, 28), (1, 28, 3), (1, 1, 28, 28)])
def test_what_is_no_image_has_no_cnn(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="architecture must be mlp for inputs that are not images") as refused:
        build("paper-cnn", shape, 10, 256, {})
    one_line(refused.value)
    line = refusal(write(tmp_path / "model.safetensors", ModelCard("paper-cnn", shape, 10, 256)))
    assert "has an architecture that cannot be built: architecture must be mlp" in line


# Writing


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_a_file_may_be_read_by_those_whom_the_umask_lets(tmp_path: Path, mask: int, mode: int) -> None:
    before = os.umask(mask)
    try:
        save_model(tmp_path / "model.safetensors", network_of(CARD), CARD)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.safetensors").stat().st_mode) == mode


def test_folders_are_made_and_an_older_model_is_replaced(tmp_path: Path) -> None:
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


# Damaged files


class Payload:
    """What runs when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


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


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("in the way")
    for name in ("model.safetensors", "nowhere/model.safetensors", "notes.txt/model.safetensors"):
        assert refusal(tmp_path / name) == f"{tmp_path / name} does not exist"
    (tmp_path / "folder.safetensors").mkdir()
    assert "is not a safetensors file: " in refusal(tmp_path / "folder.safetensors")


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}])
def test_weights_without_a_card_are_no_model(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(save(network_of(CARD).state_dict(), metadata))
    assert refusal(path) == f"{path} is not a model of ellzero: it has weights, but no card"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "no JSON",
        "null",
        "1",
        "[]",
        '"card"',
        "{}",
        '{"version": 1}',
        changed_card(note="a field that there is not"),
        pytest.param("[" * 100_000),
        *(changed_card(**{field: ...}) for field in ("version", "architecture", "shape", "num_classes", "levels")),
    ],
)
def test_a_card_that_is_none_is_one_line(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "model.safetensors", text)
    assert refusal(path).startswith(f"{path} has a card that cannot be read: ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", "1"),
        ("version", None),
        pytest.param("version", 0),
        ("shape", 4),
        ("shape", "4"),
        ("shape", None),
        ("shape", [4.0]),
        ("shape", [0]),
        ("shape", [-4]),
        ("shape", [True]),
        pytest.param("shape", []),
        ("num_classes", "3"),
        ("num_classes", 1),
        ("num_classes", 3.0),
        ("num_classes", None),
        ("levels", "5"),
        ("levels", 1),
        ("levels", -5),
        ("levels", None),
        ("feed", "bytes"),
        ("feed", None),
        ("class_names", None),
        ("class_names", 3),
        *(pytest.param("architecture", value) for value in (None, 1, ["mlp"])),
        *(("config", value) for value in (None, 1, "mlp", ["width"])),
        *(pytest.param("noise", value) for value in (None, 1, "discrete")),
        *(pytest.param("binarize", value) for value in ("8", 0, 1.5, [8])),
        *(pytest.param("data", value) for value in (None, 1, ["digits"])),
        *(pytest.param("class_names", value) for value in ("cat", {"cat": 1}, [1, [2]])),
        *(pytest.param("training", value) for value in (None, 1, "long")),
    ],
)
def test_a_card_with_a_field_of_a_wrong_kind_is_one_line(tmp_path: Path, field: str, value: object) -> None:
    line = refusal(write(tmp_path / "model.safetensors", changed_card(**{field: value})))
    assert " cannot be read: " in line or " cannot be built: " in line


@pytest.mark.parametrize("more", [{}, {"shape": "of another kind", "colour": 3}])
def test_a_model_of_a_later_version_says_so(tmp_path: Path, more: dict[str, object]) -> None:
    path = write(tmp_path / "model.safetensors", changed_card(version=2, **more))
    assert refusal(path) == f"{path} was written by a later version of ellzero"


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
    path = write(tmp_path / "model.safetensors", changed_card(**changes))
    line = refusal(path)
    assert line.startswith(f"{path} has weights that do not fit ")
    assert message in line


def test_weights_that_lack_or_are_too_many_are_named(tmp_path: Path) -> None:
    path, weights = tmp_path / "model.safetensors", network_of(CARD).state_dict()
    write(path, weights={**weights, "extra": torch.zeros(2)})
    assert refusal(path) == f'{path} has weights that do not fit mlp: Unexpected key(s) in state_dict: "extra".'
    write(path, weights={name: value for name, value in weights.items() if name != "4.bias"})
    assert refusal(path) == f'{path} has weights that do not fit mlp: Missing key(s) in state_dict: "4.bias".'
    write(path, weights={})
    assert "Missing key(s)" in refusal(path)


@pytest.mark.parametrize(
    "config",
    [
        {"colour": 1},
        {"shape": [4]},
        {"width": "wide"},
        {"width": 1.5},
        {"width": None},
        {"width": -1},
        {"width": 2**50},
        pytest.param({"width": 0}),
        pytest.param({"width": 10**30}),
        pytest.param({"depth": 10**30}),
    ],
)
def test_a_config_that_no_network_has_is_one_line(tmp_path: Path, config: dict[str, object]) -> None:
    assert "cannot be built: " in refusal(write(tmp_path / "model.safetensors", changed_card(config=config)))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [2**50]},
        {"shape": [10**30]},
        {"num_classes": 2**60},
        pytest.param({"num_classes": 10**30}),
    ],
)
def test_a_network_larger_than_any_memory_is_one_line(tmp_path: Path, changes: dict[str, object]) -> None:
    assert "cannot be built: " in refusal(write(tmp_path / "model.safetensors", changed_card(**changes)))


def test_an_unknown_architecture_is_told_the_known_ones(tmp_path: Path) -> None:
    path = write(tmp_path / "model.safetensors", changed_card(architecture="vgg"))
    line = refusal(path, ("mine:make",), UnknownModel)
    assert line == f"no architecture is called vgg; there are {', '.join(ARCHITECTURES)}, mine:make"


@pytest.mark.parametrize("name", ["a\nb", "a\nb:c"])
def test_an_architecture_with_a_line_break_is_one_line(tmp_path: Path, name: str) -> None:
    refusal(write(tmp_path / "model.safetensors", changed_card(architecture=name)), kind=EllzeroError)


# Factories


@pytest.fixture
def factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Makes modules that can be imported; gives their names."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    known = set(sys.modules)

    def module(source: str) -> str:
        name = f"factories_of_{hashlib.sha256(f'{tmp_path} {source}'.encode()).hexdigest()[:12]}"
        (folder / f"{name}.py").write_text(f"from torch import nn\n{source}")
        return name

    yield module
    for name in set(sys.modules) - known:
        if name.startswith("factories_of_"):
            del sys.modules[name]


MAKE = """
def make(*, shape, num_classes, levels, hidden=4):
    network = nn.Sequential(nn.Flatten(), nn.Linear(shape[0], hidden), nn.Linear(hidden, num_classes))
    network.told = (shape, num_classes, levels, hidden)
    return network
"""


def factory_model(tmp_path: Path, architecture: str, **config: object) -> Path:
    return write(tmp_path / "model.safetensors", changed_card(architecture=architecture, config=config))


def test_a_factory_that_is_allowed_makes_the_network(tmp_path: Path, factories: Callable[[str], str]) -> None:
    name = f"{factories(MAKE)}:make"
    card = ModelCard(name, (4,), 3, 5, config={"hidden": 7})
    network = network_of(card, allowed=(name,))
    save_model(tmp_path / "model.safetensors", network, card)
    saved: SavedModel = load_model(tmp_path / "model.safetensors", ["other:make", name])
    assert saved.card == card
    assert same_weights(saved.network, network)
    assert vars(saved.network)["told"] == ((4,), 3, 5, 7)


@pytest.mark.parametrize("allowed", [(), ("other:make",), ("{name}:other",), ("{name}",), ("{name}:make:make",)])
def test_a_factory_that_nobody_allowed_is_refused_and_not_even_imported(
    tmp_path: Path, factories: Callable[[str], str], allowed: tuple[str, ...]
) -> None:
    trace = tmp_path / "trace"
    name = factories(f"open({str(trace)!r}, 'w').close()\n{MAKE}")
    path = factory_model(tmp_path, f"{name}:make")
    line = refusal(path, tuple(each.format(name=name) for each in allowed))
    assert line == (
        f"architecture {name}:make is code that has not been allowed; --allow-factory {name}:make allows it"
    )
    assert ModelFile.read(path).card.architecture == f"{name}:make"
    assert not trace.exists()
    assert name not in sys.modules


@pytest.mark.parametrize("architecture", ["os:system", "builtins:exec", "torch:load"])
def test_a_model_file_alone_cannot_call_what_is_installed(tmp_path: Path, architecture: str) -> None:
    assert "is code that has not been allowed" in refusal(factory_model(tmp_path, architecture))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("make = 3", "is not a function"),
        ("other = 3", "cannot be imported: module "),
        ("import no_such_module_at_all", "cannot be imported: No module named 'no_such_module_at_all'"),
        ("def make(): return nn.Linear(4, 3)", "cannot be built: make() got an unexpected keyword argument"),
        ("def make(shape): return nn.Linear(4, 3)", "cannot be built: make() got an unexpected keyword argument"),
        ("def make(*, depth, **given): return nn.Linear(4, 3)", "cannot be built: make() missing 1 required"),
        ("def make(**given): return 3", "returned int instead of a torch module"),
        ("def make(**given): return None", "returned NoneType instead of a torch module"),
        ("def make(**given): return nn.Linear", "returned type instead of a torch module"),
        ("def make(**given): raise ValueError('not today')", "cannot be built: not today"),
        ("def make(**given): raise RuntimeError('not today')", "cannot be built: not today"),
        pytest.param("def make(**given): raise KeyError('today')", "cannot be built: "),
        pytest.param("def make(**given): raise ValueError('not\\ntoday')", "cannot be built: "),
        pytest.param("def make(**given) return 3", "cannot be imported: "),
        pytest.param("1 / 0", "cannot be imported: division by zero"),
    ],
)
def test_a_factory_that_makes_no_network_is_one_line(
    tmp_path: Path, factories: Callable[[str], str], source: str, message: str
) -> None:
    name = f"{factories(source)}:make"
    assert message in refusal(factory_model(tmp_path, name), (name,))


@pytest.mark.parametrize(
    "name",
    [
        "no_such_module_at_all:make",
        "json:no_such_function",
        "json:",
        ":make",
        "a..b:make",
        "json:loads:more",
        pytest.param(".relative:make"),
    ],
)
def test_a_factory_that_is_not_there_is_one_line(tmp_path: Path, name: str) -> None:
    refusal(factory_model(tmp_path, name), (name,))


def test_a_factory_is_given_the_config_and_may_refuse_it(tmp_path: Path, factories: Callable[[str], str]) -> None:
    name = f"{factories(MAKE)}:make"
    line = refusal(factory_model(tmp_path, name, depth=3), (name,))
    assert line == f"architecture {name} cannot be built: make() got an unexpected keyword argument 'depth'"
    assert "has weights that do not fit" in refusal(factory_model(tmp_path, name, hidden=9), (name,))


# Names


def test_models_are_found_by_name(tmp_path: Path) -> None:
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


def test_a_folder_is_no_model(tmp_path: Path) -> None:
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
    asked = name.format(folder=tmp_path)
    with pytest.raises(UnknownModel) as refused:
        find_model(asked, folder)
    assert refused.value.available == ("digits", "mnist")
    line = one_line(refused.value)
    assert line.startswith(f"no model in {folder} is called ")
    assert line.endswith("; there are digits, mnist")


def test_an_empty_folder_has_no_models(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UnknownModel) as refused:
            find_model("mnist", folder)
        assert one_line(refused.value) == f"no model in {folder} is called mnist; there are none"


@pytest.mark.parametrize(
    "noise",
    [
        {"family": "discrete", "alpha": "0.9", "unit": "coordinate", "levels": 2, "channels": 1},
        {"family": "discrete", "alpha": "0.9", "unit": "row", "levels": 17, "channels": 1},
        {"family": "discrete", "alpha": "0.9", "unit": "pixel", "levels": 17, "channels": 3},
        {"family": "discrete", "alpha": "2", "unit": "coordinate", "levels": 17, "channels": 1},
        {"family": ["x"], "levels": 17},
        {"family": "gaussian", "levels": 17},
        {"levels": 17},
        {"family": "discrete"},
    ],
)
def test_noise_that_does_not_fit_the_inputs_is_refused(tmp_path: Path, noise: dict[str, Any]) -> None:
    """A certificate for other levels than those of the inputs would be false."""
    card = ModelCard("mlp", (1, 8, 8), 10, 17, noise=noise)
    save_model(tmp_path / "model.safetensors", network_of(card), card)
    with pytest.raises(BadModelFile, match="has a card that cannot be read"):
        load_model(tmp_path / "model.safetensors")
