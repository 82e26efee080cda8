"""Checkpoints by torch.save: as the paper's scripts and torchvision write them, and what is wrong in one line."""

import argparse
import io
import pickle
import tarfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from smoothing.model_files import one_line
from torch import Tensor, nn

from ellzero.smoothing import DiscreteNoise
from ellzero.smoothing.errors import BadModelFile
from ellzero.smoothing.models.checkpoints import import_checkpoint, read_checkpoint
from ellzero.smoothing.models.files import load_model
from ellzero.smoothing.models.resnet import ResNet

LAYERS, WIDTH = [1, 2, 1, 1], 4
MEANS, DEVIATIONS = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
State = dict[str, Tensor]


def tiny_resnet(seed: int = 0, classes: int = 7) -> ResNet:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = ResNet(classes, LAYERS, WIDTH)
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                nn.init.normal_(module.running_mean)  # type: ignore[arg-type]
    return network


STATE: State = tiny_resnet().state_dict()


class Normalise(nn.Module):
    """As in the scripts of Cohen et al.: means and deviations are plain tensors, and in no state dict."""

    def __init__(self, stored: bool) -> None:
        super().__init__()
        self.stored = stored
        if stored:
            self.register_buffer("means", MEANS.view(1, 3, 1, 1))
            self.register_buffer("sds", DEVIATIONS.view(1, 3, 1, 1))


def read(path: Path) -> State:
    return read_checkpoint(path, LAYERS, WIDTH)


def write(path: Path, content: object, **options: Any) -> Path:
    torch.save(content, path, **options)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(BadModelFile) as refused:
        read(path)
    line = one_line(refused.value)
    assert line.startswith(f"{path} ")
    return line.removeprefix(f"{path} ")


def training_checkpoint(network: nn.Module, stored: bool = False) -> dict[str, object]:
    """What the training script saves after an epoch."""
    model = nn.Sequential(Normalise(stored), nn.DataParallel(network))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    return {"epoch": 90, "arch": "resnet50", "state_dict": model.state_dict(), "optimizer": optimizer.state_dict()}


def prefixed(prefix: str, state: State = STATE) -> State:
    return {f"{prefix}{name}": value for name, value in state.items()}


@pytest.mark.parametrize(
    "content",
    [
        training_checkpoint(tiny_resnet()),
        training_checkpoint(tiny_resnet(), stored=True),
        STATE,
        OrderedDict(STATE),
        {"state_dict": STATE},
        {"state_dict": STATE, "arch": "resnet50", "best_acc1": 0.7},
        prefixed("module."),
        prefixed("1.module."),
        prefixed("1."),
        prefixed("module.1."),
        {"0.mean": MEANS.double(), "0.std": DEVIATIONS.double(), **prefixed("1.module.")},
        {name: value for name, value in STATE.items() if not name.endswith("num_batches_tracked")},
        {name: value.double() if value.is_floating_point() else value for name, value in STATE.items()},
    ],
    ids=lambda content: next(iter(content.get("state_dict", content))),
)
@pytest.mark.parametrize("zipped", [True, False])
def test_weights_are_read_under_any_wrapping(tmp_path: Path, content: object, zipped: bool) -> None:
    weights = read(write(tmp_path / "checkpoint.pth.tar", content, _use_new_zipfile_serialization=zipped))
    assert list(weights) == list(STATE)
    for name, value in weights.items():
        assert value.dtype == STATE[name].dtype
        assert torch.equal(value, STATE[name])
    ResNet(7, LAYERS, WIDTH).load_state_dict(weights)


def changed(**changes: Tensor | None) -> Callable[[], object]:
    """The state dict with other tensors, or without those that are None, under the names of the training script."""
    names = {name.replace("__", "."): value for name, value in changes.items()}
    state = {name: value for name, value in {**STATE, **names}.items() if value is not None}
    return lambda: {"state_dict": prefixed("1.module.", state)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            changed(layer2__1__bn2__bias=None),
            "lacks the weights layer2.1.bn2.bias of a ResNet with layers [1, 2, 1, 1]",
        ),
        (changed(bn1__running_mean=None, fc__weight=None), "lacks the weights bn1.running_mean of"),
        (changed(fc__bias=None), "lacks the weights fc.bias of"),
        (
            changed(conv1__weight=torch.zeros(4, 3, 3, 3)),
            "has conv1.weight in the shape (4, 3, 3, 3) where (4, 3, 7, 7) is needed",
        ),
        (changed(fc__weight=torch.zeros(8, 128)), "has fc.bias in the shape (7,) where (8,) is needed"),
        (changed(fc__bias=torch.tensor(1.0)), "has fc.bias in the shape () where (7,) is needed"),
        (changed(fc__weight=torch.tensor(1.0)), "has fc.weight in the shape () where (1, 128) is needed"),
        (
            changed(layer3__1__conv1__weight=torch.zeros(16, 64, 1, 1)),
            "has the weights layer3.1.conv1.weight, which a ResNet with layers [1, 2, 1, 1] lacks",
        ),
        (changed(bn1__weight=torch.tensor([1, 1, float("nan"), 1])), "has numbers that cannot be used in bn1.weight"),
        (changed(bn1__weight=torch.tensor([1, 1, 1, 1])), "has numbers that cannot be used in bn1.weight"),
        (lambda: {"arch": "cifar_resnet110", "state_dict": STATE}, "is a checkpoint of cifar_resnet110, and resnet50"),
        (lambda: {"state_dict": [1, 2]}, "is not a checkpoint: it holds no state dict"),
        (dict, "is not a checkpoint: it holds no state dict"),
        (lambda: torch.zeros(3), "is not a checkpoint: it holds no state dict"),
        (lambda: {"epoch": 3}, "is not a checkpoint: epoch is not a dense tensor"),
        (lambda: {"w": torch.ones(3).to_sparse()}, "is not a checkpoint: w is not a dense tensor"),
        (lambda: {"w": torch.ones(3, device="meta")}, "is not a checkpoint: w has no numbers"),
        (
            lambda: {"state_dict": STATE, "args": argparse.Namespace()},
            "holds argparse.Namespace besides tensors, and its code is not run; save its state dict alone",
        ),
        (lambda: {**STATE, "bn1.running_var": -STATE["bn1.running_var"]}, "has numbers that cannot be used in bn1.r"),
        (lambda: {**STATE, "conv1.weight": STATE["conv1.weight"].double() * 1e300}, "has numbers that cannot be used"),
        (lambda: {"0.means": MEANS * float("nan"), **prefixed("1.")}, "normalises by 0.means = nan, nan, nan, and"),
        (lambda: {3: torch.zeros(3)}, "is not a checkpoint: 3 is not a dense tensor"),
        (lambda: {"0.means": MEANS}, "lacks the weights 1.conv1.weight"),
        (
            lambda: {"0.means": MEANS + 0.01, **prefixed("1.")},
            "normalises by 0.means = 0.495, 0.466, 0.416, and resnet50 here by 0.485, 0.456, 0.406",
        ),
        (
            lambda: {"0.sds": torch.ones(3), **prefixed("1.")},
            "normalises by 0.sds = 1, 1, 1, and resnet50 here by 0.22",
        ),
        (lambda: {"0.sds": torch.ones(1), **prefixed("1.")}, "normalises by 0.sds = 1, and resnet50 here by 0.22"),
        (lambda: {"0.scale": MEANS, **prefixed("1.")}, "has 0.scale, which is no part of a normalisation"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(tmp_path: Path, content: Callable[[], object], message: str) -> None:
    assert refusal(write(tmp_path / "checkpoint.pth.tar", content())).startswith(message)


def test_a_tar_archive_is_refused_without_advice_to_run_its_code(tmp_path: Path) -> None:
    (tmp_path / "member").write_bytes(b"x")
    path = tmp_path / "checkpoint.pth.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(tmp_path / "member", "member")
    assert refusal(path) == "is not a checkpoint: a tar archive can only be read by running its code"


@pytest.mark.parametrize(
    "damage",
    [lambda whole: b"", lambda whole: whole[:500], lambda whole: b"<html>404</html>", lambda whole: b"\x80\2."],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path / "checkpoint.pth.tar", STATE)
    path.write_bytes(damage(path.read_bytes()))
    assert refusal(path).startswith("is not a checkpoint")


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.pth.tar") == "does not exist"
    assert refusal(tmp_path).startswith("is not a checkpoint")


class Payload:
    """Runs code when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return exec, (f"open({str(self.trace)!r}, 'w').close()",)


def test_code_in_a_file_is_not_run(tmp_path: Path) -> None:
    content = {"state_dict": STATE, "optimizer": Payload(tmp_path / "trace")}
    path = write(tmp_path / "checkpoint.pth.tar", content)
    assert refusal(path).startswith("holds exec besides tensors, and its code is not run")
    raw = io.BytesIO()
    pickle.dump(Payload(tmp_path / "trace"), raw)
    path.write_bytes(raw.getvalue())
    assert refusal(path).startswith("is not a checkpoint")
    assert not (tmp_path / "trace").exists()


def test_a_checkpoint_of_resnet50_becomes_a_model(tmp_path: Path) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        network = ResNet(5).eval()
    path = write(tmp_path / "checkpoint.pth.tar", training_checkpoint(network, stored=True))
    noise = DiscreteNoise(255, "0.2")
    card = import_checkpoint(path, tmp_path / "model.safetensors", noise, size=32)
    saved = load_model(tmp_path / "model.safetensors")
    assert saved.card == card
    assert (card.architecture, card.shape, card.num_classes, card.levels) == ("resnet50", (3, 32, 32), 5, 256)
    assert card.noise == noise.description()
    assert card.training["checkpoint"] == "checkpoint.pth.tar"
    x = torch.rand(2, 3, 32, 32)
    standardised = (x - MEANS.view(3, 1, 1)) / DEVIATIONS.view(3, 1, 1)
    with torch.inference_mode():
        assert torch.equal(saved.network(x), network(standardised))


def test_the_same_checkpoint_gives_the_same_model(tmp_path: Path) -> None:
    path = write(tmp_path / "checkpoint.pth.tar", ResNet(5).state_dict())
    noise = DiscreteNoise(255, "0.2")
    for name in ("one", "other"):
        import_checkpoint(path, tmp_path / f"{name}.safetensors", noise)
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "other.safetensors").read_bytes()
