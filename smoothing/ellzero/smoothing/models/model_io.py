"""What goes into a model: inputs read as levels, samples in the form that the model takes; and what it raises, in one
line. Needs no torch: arrays are numpy's, but for samples that were drawn on a GPU."""

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput
from ellzero.core.text import first_line
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.noise.arrays import read_array
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import Array, level_kind

if TYPE_CHECKING:
    from torch import Tensor

InputLike: TypeAlias = "Tensor | np.ndarray[tuple[int, ...], np.dtype[np.generic]] | list[object]"

_FLOAT32_STEP = 2.0**-23


def read_levels(x: InputLike, levels: int) -> NDArray[Any]:
    """``x`` as levels 0..levels−1, in an array of its own.

    Integers and booleans are levels. Floats are values scaled to [0, 1], and must be whole multiples of 1/K with
    K = levels−1: certificates cover no input between two levels.
    """
    array = read_array(x)
    if array is None or array.dtype.kind in "SU":
        raise InvalidInput("x", "an array of numbers of one shape", str(x)[:40])
    if array.size == 0:
        raise InvalidInput("x", "an input with at least one coordinate", array.shape)
    if array.dtype.kind not in "biuf":
        raise InvalidInput("x", "integers, or floats scaled to [0, 1]", str(array.dtype))
    if array.dtype == np.uint64:
        raise InvalidInput("x", "integers of at most 63 bits, or floats scaled to [0, 1]", "uint64")
    whole = _unscale(array, levels) if array.dtype.kind == "f" else array.astype(np.int64)
    low, high = int(whole.min()), int(whole.max())
    if low < 0 or high >= levels:
        raise InvalidInput("x", f"levels from 0 to {levels - 1}", low if low < 0 else high)
    return whole.astype(level_kind(levels), order="C")


def prepare_for_model(samples: Array, levels: int, feed: Feed) -> Array:
    """Noisy samples in the form that the model takes; those of continuous noise are scaled already."""
    if not isinstance(samples, np.ndarray):
        return _prepare_tensor(samples, levels, feed)
    if samples.dtype.kind == "f":
        return samples
    if feed is Feed.LEVELS:
        return samples.astype(np.int64)
    return np.divide(samples, np.float32(levels - 1), dtype=np.float32)  # correctly rounded, as torch does it


def join_samples(parts: list[Array]) -> Array:
    """Noisy samples one after the other, in an array of their own."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import torch

    return torch.cat(parts)


def check_feed(noise: NoiseFamily, feed: Feed) -> None:
    """Raise if the samples of a noise have levels that inputs do not have, and the model takes scaled values."""
    if noise.sample_levels > noise.levels and feed is not Feed.LEVELS:
        raise InvalidInput("feed", "levels for this noise, whose samples have a level of their own", str(feed))


def make_model_error(error: BaseException) -> ModelFailed:
    """The error of a model as one line."""
    reason = first_line(error) if str(error).strip() else "no message"
    return ModelFailed(f"raised {type(error).__name__}: {reason}")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; torch's allocator for CPUs raises a plain RuntimeError."""
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def _prepare_tensor(samples: "Tensor", levels: int, feed: Feed) -> "Tensor":
    if samples.is_floating_point():
        return samples
    return samples.long() if feed is Feed.LEVELS else samples / (levels - 1)


def _unscale(values: NDArray[Any], levels: int) -> NDArray[np.int64]:
    k = levels - 1
    if not bool(np.isfinite(values).all()):
        raise InvalidInput("x", "finite numbers", "NaN or infinity")
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        wrong = low if low < 0 else high
        raise InvalidInput("x", f"from 0 to 1 where it is float; give levels 0..{k} as integers", wrong)
    scaled = values.astype(np.float64) * k
    rounded = scaled.round()
    off = np.abs(scaled - rounded)
    # The rounding error of level/k in float32, and no more.
    if bool((off > k * _FLOAT32_STEP).any()) or k * _FLOAT32_STEP >= 0.25:
        raise InvalidInput("x", f"whole multiples of 1/{k} where it is float", float(values.flat[int(off.argmax())]))
    return rounded.astype(np.int64)
