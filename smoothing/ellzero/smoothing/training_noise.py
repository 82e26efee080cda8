"""Noise for training: one noisy copy of each input of a batch, drawn exactly as for votes."""

import hashlib
from typing import TYPE_CHECKING, Any, cast, overload

from numpy.typing import NDArray

from ellzero.certificates import Family
from ellzero.core.numbers import read_integer
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.models.model_io import InputLike, check_feed, prepare_for_model, read_levels
from ellzero.smoothing.noise.arrays import is_tensor
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.protected import MaskLike, read_inputs, sample_noisy_batch
from ellzero.smoothing.noise.random_streams import RandomSource, Stage, open_source
from ellzero.smoothing.noise.registry import read_noise

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@overload
def add_noise(
    batch: "Tensor",
    noise: Family | NoiseFamily,
    *,
    seed: int,
    step: int = 0,
    feed: Feed | str = Feed.SCALED,
    protected: MaskLike | None = None,
) -> "Tensor": ...
@overload
def add_noise(
    batch: NDArray[Any] | list[object],
    noise: Family | NoiseFamily,
    *,
    seed: int,
    step: int = 0,
    feed: Feed | str = Feed.SCALED,
    protected: MaskLike | None = None,
) -> NDArray[Any]: ...
def add_noise(
    batch: InputLike,
    noise: Family | NoiseFamily,
    *,
    seed: int,
    step: int = 0,
    feed: Feed | str = Feed.SCALED,
    protected: MaskLike | None = None,
) -> "Tensor | NDArray[Any]":
    """Draw one noisy copy of each input of ``batch``, in the form in which `SmoothedClassifier` gives it to a model.

    ``batch`` has one input per row: integers 0..K, or floats that are multiples of 1/K. The result is float32 scaled to
    [0, 1], or int64 with ``feed="levels"``: of a tensor a tensor on its device, otherwise a numpy array. The same seed,
    step and noise give the same random numbers, so each batch needs its own ``step`` (or seed). ``protected``: booleans
    in the shape of the batch, True where noise leaves it alone.
    """
    noise = read_noise(noise)
    check_feed(noise, Feed.of(feed))
    levels, masks = read_inputs(noise, read_levels(batch, noise.levels), protected)
    device: Any = getattr(batch, "device", None) if is_tensor(batch) else None
    source = open_training_source(
        noise,
        read_integer(seed, "seed", 0),
        epoch=0,
        stage=Stage.TRAIN,
        step=read_integer(step, "step", 0),
        device=device,
    )
    noisy = sample_noisy_batch(noise, levels, masks, source)
    samples = prepare_for_model(noisy, noise.levels, Feed.of(feed))
    if device is not None:
        import torch

        samples = torch.as_tensor(samples)
    return cast("Tensor | NDArray[Any]", samples)


def open_training_source(
    noise: NoiseFamily, seed: int, epoch: int, stage: Stage, step: int, device: "torch.device | None"
) -> RandomSource:
    """The stream of one step of an epoch."""
    key = hashlib.blake2b(f"{seed} {noise.tag} {epoch}".encode(), digest_size=16).digest()
    return open_source(key, stage, step, device)
