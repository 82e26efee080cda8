"""The kinds of models that can vote, and the voter of each."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.smoothing.voters.base import Preprocess, Voter
from ellzero.smoothing.voters.estimator_voter import EstimatorVoter
from ellzero.smoothing.voters.function_voter import FunctionVoter
from ellzero.smoothing.voters.remote_voter import RemoteModel, RemoteVoter, is_async

if TYPE_CHECKING:
    import torch
    from torch import nn


class FittedClassifier(Protocol):
    """What scikit-learn's classifiers are once they have been fitted."""

    @property
    def classes_(self) -> Any:
        """The labels."""

    def predict(self, rows: Any, /) -> Any:
        """The label of each row."""


AnyModel: TypeAlias = "nn.Module | FittedClassifier | RemoteModel | Callable[[Any], object]"


@dataclass(frozen=True)
class VoterOptions:
    """How a model is run. All but ``preprocess`` are for torch networks alone."""

    device: "str | torch.device" = "auto"
    preprocess: Preprocess | None = None
    channels_last: bool = True
    autocast: str | None = None
    compile: bool = False


def make_voter(model: Any, num_classes: int | None, options: VoterOptions) -> Voter:
    """The voter of a model: a torch module, a scikit-learn classifier, a `RemoteModel`, or any other callable."""
    if is_network(model):
        return _make_torch_voter(model, _read_classes(num_classes), options)
    _check_no_torch_options(options)
    if isinstance(model, RemoteModel):
        return RemoteVoter(model, _read_classes(num_classes), options.preprocess)
    if hasattr(model, "predict") and hasattr(model, "classes_"):
        voter = EstimatorVoter(model, options.preprocess)
        if num_classes is not None and _read_classes(num_classes) != voter.classes:
            raise InvalidInput("num_classes", f"{voter.classes}, the number of the model's classes_", num_classes)
        return voter
    if is_async(model):
        raise InvalidInput("model", "RemoteModel(call) for an async function", model)
    if not callable(model):
        fitted = (
            "a classifier that has been fitted" if hasattr(model, "predict") else "a network, classifier or function"
        )
        raise InvalidInput("model", fitted, type(model).__name__)
    return FunctionVoter(model, _read_classes(num_classes), options.preprocess)


def is_network(model: object) -> bool:
    """Whether a model is a torch module. Where torch has not been loaded, none is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def _make_torch_voter(model: Any, classes: int, options: VoterOptions) -> Voter:
    from ellzero.smoothing.models.devices import autocast_type, find_device
    from ellzero.smoothing.voters.torch_voter import TorchVoter

    device = find_device(options.device)
    return TorchVoter(
        model,
        classes,
        device,
        preprocess=options.preprocess,
        channels_last=options.channels_last,
        autocast=autocast_type(options.autocast, device),
        compile=options.compile,
    )


def _check_no_torch_options(options: VoterOptions) -> None:
    """Raise for options that mean nothing where the model is not a torch module."""
    plain = VoterOptions()
    if str(options.device) not in ("auto", "cpu"):
        raise InvalidInput("device", "auto or cpu for a model that is not a torch module", str(options.device))
    for name in ("channels_last", "autocast", "compile"):
        value = getattr(options, name)
        if value != getattr(plain, name):
            raise InvalidInput(name, "left out for a model that is not a torch module", value)


def _read_classes(num_classes: int | None) -> int:
    if num_classes is None:
        raise InvalidInput("num_classes", "given, unless the model has classes_ as scikit-learn's do", None)
    return read_integer(num_classes, "num_classes", 2)
