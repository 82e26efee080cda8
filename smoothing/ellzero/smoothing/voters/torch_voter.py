"""A torch network as a voter: on its device, in batches that fit its memory."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.models.model_io import is_out_of_memory
from ellzero.smoothing.noise.random_streams import Array
from ellzero.smoothing.voters.base import Labels, Preprocess, explain_errors, round_to_power

# One allocation of more than 32 MB is returned to the system after use and faulted in again for every batch.
_LARGEST_TENSOR = 24_000_000
_CPU_BUDGET = 512_000_000
_DEVICE_SHARE = 0.4
_MOST_SAMPLES = 1_024
_MOST_DEVICE_SAMPLES = 8_192


class TorchVoter:
    """An ``nn.Module`` that returns scores of shape (samples, classes): see `read_scores` for the forms they may have.

    ``preprocess`` may return a mapping, with whose items as keywords the module is then called.
    """

    def __init__(
        self,
        model: nn.Module,
        classes: int,
        device: torch.device,
        *,
        preprocess: Preprocess | None,
        channels_last: bool,
        autocast: torch.dtype | None,
        compile: bool,  # noqa: A002
    ) -> None:
        self.classes, self.device = classes, device
        self.one_size = compile  # a model is compiled again for every new shape
        with explain_errors():
            self._model = model.to(device)
            if channels_last:
                self._model = self._model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._forward: Callable[..., Any] = torch.compile(self._model) if compile else self._model
        self._preprocess, self._channels_last, self._autocast = preprocess, channels_last, autocast

    def estimate_batch_size(self, example: Array) -> int:
        with torch.inference_mode(), self._precision(), explain_errors():
            one = torch.as_tensor(example, device=self.device)
            return estimate_batch_size(self._model, one if self._preprocess is None else self._preprocess(one))

    def label(self, samples: Array) -> Labels:
        self._model.eval()  # it may have been trained since: a vote must not depend on what else is in its batch
        with torch.inference_mode(), self._precision():
            try:
                with explain_errors():
                    output = self._run(torch.as_tensor(samples, device=self.device))
            except BaseException as error:
                if is_out_of_memory(error) and self.device.type == "cuda":
                    torch.cuda.empty_cache()
                raise
            scores = read_scores(output, len(samples), self.classes)
            if bool(torch.isnan(scores).any()):
                raise ModelFailed("returned NaN, which is not a vote")
            labels: Labels = scores.argmax(1).cpu().numpy()
        return labels

    def _run(self, samples: Tensor) -> object:
        inputs: Any = samples if self._preprocess is None else self._preprocess(samples)
        if isinstance(inputs, Mapping):
            return self._forward(**inputs)
        if self._channels_last and inputs.dim() == 4:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return self._forward(inputs)

    def _precision(self) -> AbstractContextManager[Any]:
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self.device.type, self._autocast)


def read_scores(output: object, samples: int, classes: int) -> Tensor:
    """The scores of a network's output: a tensor of shape (samples, classes), or ``logits`` as an attribute or item, as
    Hugging Face's models return them, or the first of a tuple that begins with either."""
    scores = _find_scores(output[0] if isinstance(output, tuple) and output else output)
    if not isinstance(scores, Tensor):
        raise ModelFailed(f"returned {type(output).__name__} instead of a tensor, or an output with `logits`")
    if scores.shape != (samples, classes):
        raise ModelFailed(
            f"returned a tensor of shape {tuple(scores.shape)} for {samples} samples; "
            f"({samples}, {classes}) is what num_classes = {classes} needs"
        )
    if scores.is_complex() or scores.is_meta or scores.layout is not torch.strided:
        raise ModelFailed("returned scores that cannot be compared: complex, sparse or without values")
    if not scores.is_floating_point():
        return scores.long()
    return scores.float() if scores.dtype.itemsize < 4 else scores  # exact; torch compares no floats of a byte


def _find_scores(output: object) -> object:
    if isinstance(output, Mapping):
        return output.get("logits")
    return getattr(output, "logits", output)


def estimate_batch_size(model: nn.Module, example: Tensor | Mapping[str, Any]) -> int:
    """A power of two for which a forward pass fits memory well, from the sizes of all outputs for one sample.

    Only a first guess: the sampler halves it when memory runs out.
    """
    sizes = [_count_bytes(example), *_output_bytes(model, example)]
    device = next((each.device for each in _list_tensors(example)), torch.device("cpu"))
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return round_to_power(min(_MOST_DEVICE_SAMPLES, int(free * _DEVICE_SHARE) // sum(sizes)))
    return round_to_power(min(_MOST_SAMPLES, _CPU_BUDGET // sum(sizes), _LARGEST_TENSOR // max(sizes)))


def _output_bytes(model: nn.Module, example: Tensor | Mapping[str, Any]) -> list[int]:
    """The bytes of what each module returns for one sample."""
    sizes: list[int] = []

    def add_size(module: nn.Module, arguments: object, output: object) -> None:
        sizes.append(_count_bytes(output))

    handles = [module.register_forward_hook(add_size) for module in model.modules()]
    try:
        model(**example) if isinstance(example, Mapping) else model(example)
    finally:
        for handle in handles:
            handle.remove()
    return sizes


def _count_bytes(values: object) -> int:
    return sum(tensor.nbytes for tensor in _list_tensors(values))


def _list_tensors(values: object) -> list[Tensor]:
    """The tensors of an input or output."""
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, Mapping):
        values = list(values.values())
    return [tensor for each in values for tensor in _list_tensors(each)] if isinstance(values, list | tuple) else []
