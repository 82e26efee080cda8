"""What goes into a model and what comes out: inputs read as levels, samples in the form that the model takes, scores
checked, and errors in one line."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from ellzero.core.errors import InvalidInput
from ellzero.core.text import first_line
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.models.card import Feed
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import level_kind

Preprocess: TypeAlias = Callable[[Tensor], Tensor]
InputLike: TypeAlias = "Tensor | np.ndarray[tuple[int, ...], np.dtype[np.generic]] | list[object]"

_FLOAT32_STEP = 2.0**-23


def read_levels(x: InputLike, levels: int) -> Tensor:
    """``x`` as levels 0..levels−1 on the CPU.

    Integers and booleans are levels. Floats are values scaled to [0, 1], and must be whole multiples of 1/K with
    K = levels−1: certificates cover no input between two levels.
    """
    tensor = _tensor(x)
    if tensor.numel() == 0:
        raise InvalidInput("x", "an input with at least one coordinate", tuple(tensor.shape))
    if tensor.is_complex() or tensor.is_quantized:
        raise InvalidInput("x", "integers, or floats scaled to [0, 1]", str(tensor.dtype))
    whole = _unscale(tensor, levels) if tensor.is_floating_point() else tensor.to(torch.int64)
    low, high = int(whole.min()), int(whole.max())
    if low < 0 or high >= levels:
        raise InvalidInput("x", f"levels from 0 to {levels - 1}", low if low < 0 else high)
    return whole.to(getattr(torch, level_kind(levels))).contiguous()


def prepare_for_model(samples: Tensor, levels: int, feed: Feed) -> Tensor:
    """Noisy samples in the form that the model takes; those of continuous noise are scaled already."""
    if samples.is_floating_point():
        return samples
    if feed is Feed.LEVELS:
        return samples.to(torch.int64)
    if samples.device.type == "cpu":  # correctly rounded as torch does it, without waking its threads
        return torch.from_numpy(np.divide(samples.numpy(), np.float32(levels - 1), dtype=np.float32))
    return samples / (levels - 1)


def check_feed(noise: NoiseFamily, feed: Feed) -> None:
    """Raise if the samples of a noise have levels that inputs do not have, and the model takes scaled values."""
    if noise.sample_levels > noise.levels and feed is not Feed.LEVELS:
        raise InvalidInput("feed", "levels for this noise, whose samples have a level of their own", str(feed))


def make_model_error(error: BaseException) -> ModelFailed:
    """The error of a model as one line."""
    reason = first_line(error) if str(error).strip() else "no message"
    return ModelFailed(f"raised {type(error).__name__}: {reason}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; the CPU's allocator raises a plain RuntimeError."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def check_scores(scores: object, samples: int, classes: int) -> Tensor:
    """Check that scores are a tensor of shape (samples, classes), and return them."""
    if not isinstance(scores, Tensor):
        raise ModelFailed(f"returned {type(scores).__name__} instead of a tensor")
    if scores.shape != (samples, classes):
        raise ModelFailed(
            f"returned a tensor of shape {tuple(scores.shape)} for {samples} samples; "
            f"({samples}, {classes}) is what num_classes = {classes} needs"
        )
    return scores


def _tensor(x: InputLike) -> Tensor:
    if isinstance(x, Tensor):
        return x.detach().cpu()
    try:
        array = np.asarray(x)
        if array.dtype == np.uint16 or array.dtype == np.uint32:
            array = array.astype(np.int64)
        if array.dtype == np.uint64:
            raise InvalidInput("x", "integers of at most 63 bits, or floats scaled to [0, 1]", "uint64")
        return torch.from_numpy(array.copy())
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("x", "an array of numbers of one shape", str(x)[:40]) from None


def _unscale(values: Tensor, levels: int) -> Tensor:
    k = levels - 1
    if not bool(torch.isfinite(values).all()):
        raise InvalidInput("x", "finite numbers", "NaN or infinity")
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        wrong = low if low < 0 else high
        raise InvalidInput("x", f"from 0 to 1 where it is float; give levels 0..{k} as integers", wrong)
    scaled = values.double() * k
    rounded = scaled.round()
    off = (scaled - rounded).abs()
    # The rounding error of level/k in float32, and no more.
    if bool((off > k * _FLOAT32_STEP).any()) or k * _FLOAT32_STEP >= 0.25:
        wrong = float(values.flatten()[int(off.flatten().argmax())])
        raise InvalidInput("x", f"whole multiples of 1/{k} where it is float", wrong)
    return rounded.to(torch.int64)
