"""Models for the service's tests, small networks with random weights and some that misbehave; and requests to them."""

from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import torch

from ellzero.smoothing import DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import load_model, save_model

SHAPE, LEVELS, CLASSES = (1, 4, 4), 4, 3
NOISE = DiscreteNoise(LEVELS - 1, "0.9")
X = np.random.default_rng(3).integers(0, 4, (3, *SHAPE))
LONG = 19_000_000  # nearly as many votes as a request may have
PATIENCE = 60
MISBEHAVING = """
import torch
from torch import nn

class Network(nn.Module):
    def __init__(self, does):
        super().__init__()
        self.does = does
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        if self.does == "raise":
            raise RuntimeError("it is tired")
        if self.does == "nan":
            return torch.full((len(x), 3), float("nan"))
        if self.does == "memory":
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return torch.zeros(len(x), 7)

def make(*, shape, num_classes, levels, does):
    return Network(does)
"""
FACTORY = "misbehaving:make"


def add_model(folder: Path, name: str = "small", seed: int = 1) -> Path:
    """A perceptron with weights that depend on the seed."""
    torch.manual_seed(seed)
    card = ModelCard(
        "mlp", SHAPE, CLASSES, LEVELS, config={"width": 8, "depth": 1}, noise=dict(NOISE.description()), data="none",
        class_names=("a", "b", "c"),
    )  # fmt: skip
    path = folder / f"{name}.safetensors"
    save_model(path, build(card.architecture, SHAPE, CLASSES, LEVELS, card.config), card)
    return path


def add_digits(folder: Path) -> None:
    """A perceptron for the digits as bits, with random weights."""
    torch.manual_seed(1)
    noise = DiscreteNoise(1, "0.9").description()
    card = ModelCard(
        "mlp", (1, 8, 8), 10, 2, noise=dict(noise), data="digits", binarize=8, class_names=tuple("0123456789")
    )
    save_model(folder / "digits.safetensors", build("mlp", card.shape, 10, 2, {}), card)


def add_misbehaving(folder: Path) -> None:
    """Models that raise, give NaN, have the wrong number of classes, and need more memory than there is."""
    (folder / "misbehaving.py").write_text(MISBEHAVING)
    for does in ("raise", "nan", "classes", "memory"):
        card = ModelCard(FACTORY, SHAPE, CLASSES, LEVELS, config={"does": does}, noise=dict(NOISE.description()))
        save_model(folder / f"{does}.safetensors", torch.nn.ParameterDict({"unused": torch.zeros(1)}), card)


def make_classifier(folder: Path, noise: DiscreteNoise = NOISE) -> SmoothedClassifier:
    """The model `small` in this process."""
    return SmoothedClassifier(load_model(folder / "small.safetensors").network, noise, CLASSES)


def post(url: str, path: str, /, **fields: Any) -> httpx2.Response:
    """Send a JSON request to a service."""
    return httpx2.post(f"{url}/v1/{path}", json=fields, timeout=PATIENCE)


def start_job(url: str, **fields: Any) -> str:
    """Start a long job, and return its id."""
    answer = post(url, "certify", model="small", x=X[0].tolist(), n=LONG, wait=0, stopping="never", **fields)
    assert answer.status_code == 202, answer.text
    job: str = answer.json()["id"]
    assert answer.headers["location"] == f"/v1/jobs/{job}"
    return job
