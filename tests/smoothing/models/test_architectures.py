"""Architectures: those that ship, factories that an operator allows, and nothing else."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from smoothing.model_files import changed_card, network_of, one_line, refusal, same_weights, write_model
from torch import Tensor

from ellzero.certificates import EllzeroError, InvalidInput
from ellzero.smoothing.errors import UnknownModel
from ellzero.smoothing.models.architectures import ARCHITECTURES, build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import ModelFile, SavedModel, load_model, save_model


def test_width_and_depth_of_the_config_are_those_of_the_network(tmp_path: Path) -> None:
    card = ModelCard("mlp", (7,), 3, 5, config={"width": 9, "depth": 3})
    save_model(tmp_path / "model.safetensors", network_of(card), card)
    layers = [layer for layer in load_model(tmp_path / "model.safetensors").network.modules() if hasattr(layer, "bias")]
    assert [len(layer.bias) for layer in layers if isinstance(layer.bias, Tensor)] == [9, 9, 9, 3]


def test_a_resnet_is_as_deep_and_wide_as_its_config_says(tmp_path: Path) -> None:
    card = ModelCard("resnet50", (3, 32, 40), 7, 256, config={"layers": [1, 2, 1, 1], "width": 4})
    save_model(tmp_path / "model.safetensors", network_of(card), card)
    network = load_model(tmp_path / "model.safetensors").network
    names = [name for name, _ in network.named_parameters()]
    assert "1.layer2.1.conv1.weight" in names
    assert "1.layer1.1.conv1.weight" not in names
    assert network(torch.rand(2, 3, 32, 40)).shape == (2, 7)


def test_a_resnet_is_resnet50_by_default() -> None:
    network = build("resnet50", (3, 224, 224), 1_000, 256, {})
    assert sum(parameter.numel() for parameter in network.parameters()) == 25_557_032


def test_a_resnet_standardises_by_the_means_and_deviations_of_imagenet() -> None:
    network = network_of(ModelCard("resnet50", (3, 32, 32), 3, 256, config={"layers": [1, 1, 1, 1], "width": 4})).eval()
    x = torch.rand(2, 3, 32, 32)
    means, deviations = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    standardised = (x.movedim(1, 3) - means) / deviations
    children = list(network.children())
    assert torch.equal(network(x), children[1](standardised.movedim(3, 1)))
    assert all(name.startswith("1.") for name in network.state_dict())


@pytest.mark.parametrize("shape", [(3, 224), (1, 224, 224), (3, 31, 224), (3, 224, 16), (3, 1, 64, 64)])
def test_a_resnet_for_inputs_that_are_not_colour_images_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="architecture must be mlp for inputs that are not images of 3×32×32") as no:
        build("resnet50", shape, 10, 256, {})
    one_line(no.value)


@pytest.mark.parametrize("shape", [(28, 28), (784,), (1, 3, 28), (1, 28, 3), (1, 1, 28, 28)])
def test_a_cnn_for_inputs_that_are_not_images_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="architecture must be mlp for inputs that are not images") as refused:
        build("paper-cnn", shape, 10, 256, {})
    one_line(refused.value)
    line = refusal(write_model(tmp_path / "model.safetensors", ModelCard("paper-cnn", shape, 10, 256)))
    assert "has an architecture that cannot be built: architecture must be mlp" in line


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
def test_a_wrong_config_is_one_line(tmp_path: Path, config: dict[str, object]) -> None:
    assert "cannot be built: " in refusal(write_model(tmp_path / "model.safetensors", changed_card(config=config)))


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
    assert "cannot be built: " in refusal(write_model(tmp_path / "model.safetensors", changed_card(**changes)))


def test_the_message_for_an_unknown_architecture_lists_those_that_exist(tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.safetensors", changed_card(architecture="vgg"))
    line = refusal(path, ("mine:make",), UnknownModel)
    assert line == f"no architecture is called vgg; there are {', '.join(ARCHITECTURES)}, mine:make"


@pytest.mark.parametrize("name", ["a\nb", "a\nb:c"])
def test_an_architecture_with_a_line_break_is_one_line(tmp_path: Path, name: str) -> None:
    refusal(write_model(tmp_path / "model.safetensors", changed_card(architecture=name)), kind=EllzeroError)


MAKE = """
def make(*, shape, num_classes, levels, hidden=4):
    network = nn.Sequential(nn.Flatten(), nn.Linear(shape[0], hidden), nn.Linear(hidden, num_classes))
    network.arguments = (shape, num_classes, levels, hidden)
    return network
"""


def factory_model(tmp_path: Path, architecture: str, **config: object) -> Path:
    return write_model(tmp_path / "model.safetensors", changed_card(architecture=architecture, config=config))


def test_a_factory_that_is_allowed_makes_the_network(tmp_path: Path, factories: Callable[[str], str]) -> None:
    name = f"{factories(MAKE)}:make"
    card = ModelCard(name, (4,), 3, 5, config={"hidden": 7})
    network = network_of(card, allowed=(name,))
    save_model(tmp_path / "model.safetensors", network, card)
    saved: SavedModel = load_model(tmp_path / "model.safetensors", ["other:make", name])
    assert saved.card == card
    assert same_weights(saved.network, network)
    assert vars(saved.network)["arguments"] == ((4,), 3, 5, 7)


@pytest.mark.parametrize("allowed", [(), ("other:make",), ("{name}:other",), ("{name}",), ("{name}:make:make",)])
def test_a_factory_that_was_not_allowed_is_refused_and_not_even_imported(
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
        ("def make(*, depth, **arguments): return nn.Linear(4, 3)", "cannot be built: make() missing 1 required"),
        ("def make(**arguments): return 3", "returned int instead of a torch module"),
        ("def make(**arguments): return None", "returned NoneType instead of a torch module"),
        ("def make(**arguments): return nn.Linear", "returned type instead of a torch module"),
        ("def make(**arguments): raise ValueError('not today')", "cannot be built: not today"),
        ("def make(**arguments): raise RuntimeError('not today')", "cannot be built: not today"),
        pytest.param("def make(**arguments): raise KeyError('today')", "cannot be built: "),
        pytest.param("def make(**arguments): raise ValueError('not\\ntoday')", "cannot be built: "),
        pytest.param("def make(**arguments) return 3", "cannot be imported: "),
        pytest.param("1 / 0", "cannot be imported: division by zero"),
    ],
)
def test_a_factory_that_returns_no_network_is_one_line(
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
def test_a_missing_factory_is_one_line(tmp_path: Path, name: str) -> None:
    refusal(factory_model(tmp_path, name), (name,))


def test_a_factory_gets_the_config_and_may_refuse_it(tmp_path: Path, factories: Callable[[str], str]) -> None:
    name = f"{factories(MAKE)}:make"
    line = refusal(factory_model(tmp_path, name, depth=3), (name,))
    assert line == f"architecture {name} cannot be built: make() got an unexpected keyword argument 'depth'"
    assert "has weights that do not fit" in refusal(factory_model(tmp_path, name, hidden=9), (name,))


@pytest.mark.parametrize("error", ["KeyError('scale')", "ValueError('not\\nthese')", "TypeError()"])
def test_a_network_whose_own_code_fails_to_load_weights_is_one_line(
    tmp_path: Path, factories: Callable[[str], str], error: str
) -> None:
    """The card can be read and the network built: only loading shows that the model cannot be used."""
    name = factories(
        "class Network(nn.Linear):\n"
        "    def load_state_dict(self, *arguments, **options):\n"
        f"        raise {error}\n"
        "def make(*, shape, num_classes, levels):\n"
        "    return Network(4, num_classes)\n"
    )
    path = factory_model(tmp_path, f"{name}:make")
    assert ModelFile.read(path).card.architecture == f"{name}:make"
    assert refusal(path, (f"{name}:make",)).startswith(f"{path} has weights that do not fit {name}:make: ")
