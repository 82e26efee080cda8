"""Small models as files, right and wrong, and the line with which a wrong one is refused."""

import json
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save
from torch import Tensor, nn

from ellzero.certificates import EllzeroError
from ellzero.smoothing.errors import BadModelFile
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import load_model

CARD = ModelCard("mlp", (4,), 3, 5, config={"width": 6, "depth": 1})


def network_of(card: ModelCard, seed: int = 1, allowed: tuple[str, ...] = ()) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build(card.architecture, card.shape, card.num_classes, card.levels, card.config, allowed)


def write_model(path: Path, card: ModelCard | str = CARD, weights: dict[str, Tensor] | None = None) -> Path:
    """Write a file with this card, right or wrong."""
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
