"""Small CNNs: what they see of images that noise hides in part, their size, and the shapes that they take."""

import pytest
import torch
from hypothesis import given, strategies as st

from ellzero.certificates import InvalidInput
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.strided_cnn import ShownPlanes


@given(st.integers(2, 256), st.data())
def test_a_shown_number_is_itself_and_its_rest_and_a_hidden_one_is_nothing(levels: int, data: st.DataObject) -> None:
    """In two planes, which add up to 1 where a number is shown: 0 that is shown differs from one that is hidden."""
    values = data.draw(st.lists(st.integers(0, levels), min_size=12, max_size=12))
    planes = ShownPlanes(levels + 1)(torch.tensor(values).view(1, 1, 3, 4)).flatten(2)[0].T.tolist()
    for value, (own, rest) in zip(values, planes, strict=True):
        if value == levels:
            assert (own, rest) == (0, 0)
        else:
            assert own == pytest.approx(value / (levels - 1))
            assert own + rest == pytest.approx(1)


@pytest.mark.parametrize(("name", "levels"), [("strided-cnn", 2), ("masked-cnn", 3), ("masked-paper-cnn", 3)])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 5, 9)])
def test_it_gives_a_score_for_each_class(name: str, levels: int, shape: tuple[int, ...]) -> None:
    network = build(name, shape, 7, levels, {}).eval()
    samples = torch.randint(levels, (5, *shape))
    assert network(samples.float() if name == "strided-cnn" else samples).shape == (5, 7)


def test_by_default_it_has_fewer_weights_than_the_papers_network() -> None:
    ours, paper = (
        sum(weight.numel() for weight in build(name, (1, 28, 28), 10, 3, {}).parameters())
        for name in ("masked-cnn", "masked-paper-cnn")
    )
    assert ours < paper


def test_filters_and_hidden_are_those_of_the_config() -> None:
    network = build("strided-cnn", (1, 28, 28), 10, 2, {"filters": 3, "hidden": 5})
    assert [tuple(weight.shape) for weight in network.parameters() if weight.dim() == 4] == [(3, 1, 5, 5), (6, 3, 5, 5)]
    assert [tuple(weight.shape) for weight in network.parameters() if weight.dim() == 2] == [(5, 294), (10, 5)]


@pytest.mark.parametrize(
    ("name", "shape", "levels", "config", "message"),
    [
        ("strided-cnn", (784,), 2, {}, "mlp for inputs that are not images"),
        ("masked-cnn", (1, 3, 28), 3, {}, "mlp for inputs that are not images"),
        ("masked-cnn", (1, 28, 28), 2, {}, "another one for noises that hide nothing"),
        ("masked-paper-cnn", (1, 28, 28), 2, {}, "another one for noises that hide nothing"),
        ("masked-paper-cnn", (784,), 3, {}, "mlp for inputs that are not images"),
        ("strided-cnn", (1, 28, 28), 2, {"filters": 0}, "filters must be"),
        ("masked-cnn", (1, 28, 28), 3, {"hidden": 1.5}, "hidden must be"),
    ],
)
def test_what_it_cannot_take_is_one_line(
    name: str, shape: tuple[int, ...], levels: int, config: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        build(name, shape, 10, levels, config)
