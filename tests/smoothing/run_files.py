"""A model and inputs as files that a test may replace."""

import shutil
from pathlib import Path

import numpy as np

from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.files import DEMO_MODELS, ModelFile, find_model, save_model


def model_and_data(folder: Path) -> tuple[Path, Path]:
    """The demo model and twenty inputs, as files that may be replaced."""
    model, data = folder / "model.safetensors", folder / "data.npz"
    shutil.copyfile(find_model("demo-digits", DEMO_MODELS), model)
    write_inputs(data)
    return model, data


def write_inputs(path: Path, seed: int = 1) -> None:
    x = np.random.default_rng(seed).integers(0, 2, (20, 1, 8, 8)).astype(np.uint8)
    np.savez(path, x=x, y=np.arange(20) % 10, levels=2)


def retrain(model: Path) -> None:
    """Replace a model by one with other weights."""
    card = ModelFile.read(model).card
    save_model(model, build(card.architecture, card.shape, 10, 2, card.config), card)
