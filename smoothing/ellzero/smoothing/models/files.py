"""Models as files: safetensors weights with a card that says what they are. A file contains no code."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, deserialize
from safetensors.torch import load, save
from torch import nn

from ellzero.core.errors import EllzeroError, InvalidInput, StorageFailed
from ellzero.core.storage import Folder
from ellzero.smoothing.errors import BadModelFile, UnknownModel
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.card import ModelCard

_KEY = "ellzero"
_SUFFIX = ".safetensors"
# The models that ship.
DEMO_MODELS = Path(__file__).parent / "demo"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


@dataclass(frozen=True)
class SavedModel:
    """A model in memory: its network with weights, its card, and the SHA-256 of its file."""

    network: nn.Module
    card: ModelCard
    digest: str


def save_model(path: Path, network: nn.Module, card: ModelCard) -> None:
    """Write a model; the file appears complete or not at all."""
    check_model_path(path)
    weights = {
        name: value.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, value in network.state_dict().items()
    }
    try:
        write_file(path, save(weights, metadata={_KEY: card.to_json()}))
    except (StorageFailed, ValueError, SafetensorError) as error:
        reason = error.reason if isinstance(error, StorageFailed) else error
        raise BadModelFile(str(path), f"cannot be written: {reason}") from error


def write_file(path: Path, data: bytes) -> None:
    """Write a file durably, completely or not at all; missing folders are created."""
    folder = Folder(str(path.parent))
    folder.prepare()
    folder.write(path.name, data)


def check_model_path(path: Path) -> None:
    """Raise unless a model can have this file name."""
    if path.suffix != _SUFFIX:
        raise InvalidInput("out", f"a file name that ends in {_SUFFIX}", str(path))


@dataclass(frozen=True)
class ModelFile:
    """The content of a model's file at one moment, so that card, digest and weights belong together."""

    path: Path
    card: ModelCard
    digest: str
    data: bytes = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> "ModelFile":
        try:
            data = path.read_bytes()
            deserialize(data)  # type: ignore[no-untyped-call]  # checks the whole file
        except (FileNotFoundError, NotADirectoryError):
            raise BadModelFile(str(path), "does not exist") from None
        except (OSError, ValueError, SafetensorError) as error:
            raise BadModelFile(str(path), f"is not a safetensors file: {error}") from error
        text = _metadata(data).get(_KEY)
        if text is None:
            raise BadModelFile(str(path), "is not a model of ellzero: it has weights, but no card")
        return cls(path, ModelCard.from_json(text, str(path)), hashlib.sha256(data).hexdigest(), data)


def load_model(path: Path, allowed: Sequence[str] = ()) -> SavedModel:
    """Load a model from its file. Runs no code but architectures that ship, and factories in ``allowed``."""
    file = ModelFile.read(path)
    card = file.card
    try:
        network = build(card.architecture, card.shape, card.num_classes, card.sample_levels, card.config, allowed)
    except (BadModelFile, UnknownModel):
        raise
    except EllzeroError as error:
        raise BadModelFile(str(path), f"has an architecture that cannot be built: {error}") from error
    try:
        network.load_state_dict(load(file.data))
    except Exception as error:  # a network may load its weights by code of its own
        last_line = (str(error).strip() or type(error).__name__).splitlines()[-1].strip()
        raise BadModelFile(str(path), f"has weights that do not fit {card.architecture}: {last_line}") from error
    return SavedModel(network.eval(), card, file.digest)


def _metadata(data: bytes) -> dict[str, str]:
    """The metadata of a valid safetensors file: its header is JSON, after eight bytes that hold its size."""
    size = int.from_bytes(data[:8], "little")
    metadata: dict[str, str] = json.loads(data[8 : 8 + size]).get("__metadata__", {})
    return metadata


def model_names(folder: Path) -> list[str]:
    """The names of the models in a folder: its safetensors files."""
    return sorted(path.stem for path in folder.glob(f"*{_SUFFIX}") if _NAME.fullmatch(path.stem) and path.is_file())


def find_model_file(model: str, models: Path) -> Path:
    """The file of a model that a command names: a path to one, or a name in ``models`` or of a model that ships."""
    return Path(model) if model.endswith(_SUFFIX) else find_model(model, models, DEMO_MODELS)


def find_model(name: str, *folders: Path) -> Path:
    """The file of the model ``name``, in the first folder that has it. No name leads out of the folders."""
    for folder in folders:
        path = folder / f"{name}{_SUFFIX}"
        if _NAME.fullmatch(name) and path.is_file():
            return path
    names = (name for folder in folders for name in model_names(folder))
    raise UnknownModel(f"model in {folders[0]}", name, tuple(dict.fromkeys(names)))
