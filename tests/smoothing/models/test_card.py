"""Cards of models: a card that cannot be used is one clear line."""

from pathlib import Path
from typing import Any

import pytest
from smoothing.model_files import changed_card, network_of, refusal, write_model

from ellzero.smoothing.errors import BadModelFile
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import load_model, save_model


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
def test_an_unreadable_card_is_one_line(tmp_path: Path, text: str) -> None:
    path = write_model(tmp_path / "model.safetensors", text)
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
    line = refusal(write_model(tmp_path / "model.safetensors", changed_card(**{field: value})))
    assert " cannot be read: " in line or " cannot be built: " in line


@pytest.mark.parametrize("more", [{}, {"shape": "of another kind", "colour": 3}])
def test_a_model_of_a_later_version_is_refused_with_that_reason(tmp_path: Path, more: dict[str, object]) -> None:
    path = write_model(tmp_path / "model.safetensors", changed_card(version=2, **more))
    assert refusal(path) == f"{path} was written by a later version of ellzero"


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
