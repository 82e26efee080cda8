"""ResNet-50: its parameters, and its scores against a forward pass written with functions alone."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from ellzero.certificates import InvalidInput
from ellzero.smoothing.models.resnet import ResNet

Shapes = dict[str, tuple[int, ...]]


def batch_norm_shapes(name: str, channels: int) -> Shapes:
    tensors = ("weight", "bias", "running_mean", "running_var")
    return {**{f"{name}.{each}": (channels,) for each in tensors}, f"{name}.num_batches_tracked": ()}


def expected_shapes(depths: list[int], width: int, classes: int) -> Shapes:
    """Names and shapes as the paper's table of ResNet-50 gives them, under torchvision's names."""
    shapes = {"conv1.weight": (width, 3, 7, 7), **batch_norm_shapes("bn1", width)}
    channels = width
    for layer, depth in enumerate(depths, 1):
        inner = width * 2 ** (layer - 1)
        for block in range(depth):
            name = f"layer{layer}.{block}"
            for number, shape in enumerate(
                ((inner, channels, 1, 1), (inner, inner, 3, 3), (4 * inner, inner, 1, 1)), 1
            ):
                shapes |= {f"{name}.conv{number}.weight": shape, **batch_norm_shapes(f"{name}.bn{number}", shape[0])}
            if block == 0:
                shapes[f"{name}.downsample.0.weight"] = (4 * inner, channels, 1, 1)
                shapes |= batch_norm_shapes(f"{name}.downsample.1", 4 * inner)
            channels = 4 * inner
    return {**shapes, "fc.weight": (classes, channels), "fc.bias": (classes,)}


def reference_scores(state: Mapping[str, Tensor], depths: list[int], x: Tensor) -> Tensor:
    def normalised(name: str, y: Tensor) -> Tensor:
        mean, variance, weight, bias = (
            state[f"{name}.{each}"].view(-1, 1, 1) for each in ("running_mean", "running_var", "weight", "bias")
        )
        return (y - mean) / (variance + 1e-5).sqrt() * weight + bias

    x = functional.conv2d(x, state["conv1.weight"], stride=2, padding=3)
    x = functional.max_pool2d(normalised("bn1", x).clamp(min=0), 3, stride=2, padding=1)
    for layer, depth in enumerate(depths, 1):
        for block in range(depth):
            name = f"layer{layer}.{block}"
            stride = 2 if layer > 1 and block == 0 else 1
            y = normalised(f"{name}.bn1", functional.conv2d(x, state[f"{name}.conv1.weight"])).clamp(min=0)
            y = functional.conv2d(y, state[f"{name}.conv2.weight"], stride=stride, padding=1)
            y = normalised(f"{name}.bn2", y).clamp(min=0)
            y = normalised(f"{name}.bn3", functional.conv2d(y, state[f"{name}.conv3.weight"]))
            if block == 0:
                x = functional.conv2d(x, state[f"{name}.downsample.0.weight"], stride=stride)
                x = normalised(f"{name}.downsample.1", x)
            x = (x + y).clamp(min=0)
    return x.flatten(2).mean(2) @ state["fc.weight"].T + state["fc.bias"]


def random_state(network: ResNet, seed: int = 0) -> dict[str, Tensor]:
    """Weights of which every one matters: statistics that differ from 0 and 1, signs of both kinds."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for name, value in network.state_dict().items():
        if name.endswith("num_batches_tracked"):
            state[name] = torch.tensor(7)
        elif name.endswith("running_var"):
            state[name] = torch.rand(value.shape, generator=generator) + 0.5
        else:
            state[name] = torch.randn(value.shape, generator=generator) / max(1, value[0].numel()) ** 0.5
    return state


def test_resnet50_has_the_published_number_of_parameters() -> None:
    assert sum(parameter.numel() for parameter in ResNet(1_000).parameters()) == 25_557_032


@pytest.mark.parametrize(
    ("depths", "width", "classes"), [([3, 4, 6, 3], 64, 1_000), ([3, 4, 6, 3], 64, 10), ([1, 2, 1, 3], 5, 2)]
)
def test_names_and_shapes_are_those_of_torchvision(depths: list[int], width: int, classes: int) -> None:
    state = ResNet(classes, depths, width).state_dict()
    expected = expected_shapes(depths, width, classes)
    assert {name: tuple(value.shape) for name, value in state.items()} == expected
    assert list(state) == list(expected)  # optimisers count parameters in this order


@pytest.mark.parametrize(
    ("depths", "width", "size"),
    [
        ([3, 4, 6, 3], 64, (32, 32)),
        ([1, 1, 1, 1], 8, (224, 224)),
        ([2, 1, 3, 1], 6, (33, 50)),
        ([1, 1, 1, 1], 1, (32, 40)),
    ],
)
def test_scores_are_those_of_an_independent_forward_pass(depths: list[int], width: int, size: tuple[int, int]) -> None:
    network = ResNet(7, depths, width).double().eval()
    state = {name: value.double() for name, value in random_state(network).items()}
    network.load_state_dict(state)
    x = torch.randn(3, 3, *size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    with torch.inference_mode():
        scores = network(x)
    expected = reference_scores(state, depths, x)
    assert expected.std() > 0.01
    assert torch.allclose(scores, expected, rtol=1e-9, atol=1e-12)


def test_convolutions_begin_with_the_variance_that_keeps_gradients_of_one_size() -> None:
    """Kaiming's, by the outputs of a convolution: 2 / (channels out × area)."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        state = ResNet(10).state_dict()
    for name, shape in expected_shapes([3, 4, 6, 3], 64, 10).items():
        value = state[name].double()
        if len(shape) == 4:
            assert value.var().item() == pytest.approx(2 / (shape[0] * shape[2] * shape[3]), rel=0.1)
            assert abs(value.mean().item()) < 0.1 * value.std().item()
        elif "bn" in name and name.endswith(".weight"):
            assert (value == 1).all()


def test_scores_are_those_of_torchvision() -> None:
    models = pytest.importorskip("torchvision.models", reason="compares with torchvision, which is not installed")
    theirs = models.resnet50(weights=None).eval()
    ours = ResNet(1_000).eval()
    theirs.load_state_dict(random_state(ours))
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        assert torch.allclose(ours(x), theirs(x), rtol=1e-5, atol=1e-5)


def test_a_network_of_this_kind_trains() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = ResNet(2, [1, 1, 1, 1], 8)
        x, y = torch.randn(16, 3, 32, 32), torch.arange(16) % 2
    optimizer = torch.optim.SGD(network.parameters(), 0.05, momentum=0.9)
    losses = []
    for _ in range(15):
        loss = functional.cross_entropy(network(x), y)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": [3, 4, 6]}, "layers must be four numbers of blocks, such as [3, 4, 6, 3]; got [3, 4, 6]"),
        ({"layers": "3463"}, "layers must be four numbers of blocks"),
        ({"layers": 3}, "layers must be four numbers of blocks"),
        ({"layers": [3, 4, 0, 3]}, "layers must be an integer from 1 to 1000; got 0"),
        ({"layers": [3, 4, "6", 3]}, "layers must be an integer from 1 to 1000; got '6'"),
        ({"width": 0}, "width must be an integer from 1"),
        ({"width": 1.5}, "width must be an integer from 1"),
    ],
)
def test_a_wrong_setting_is_one_line(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ResNet(10, **options)  # type: ignore[arg-type]
    assert message in str(refused.value)
