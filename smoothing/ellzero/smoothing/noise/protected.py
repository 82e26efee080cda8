"""Protected positions: those that noise never strikes and that an adversary cannot change.

Start and end tokens, padding, a prompt's template, features that are beyond anybody's reach. If noise strikes every
unit independently of all others, then putting the protected ones back leaves exactly the noise on the others: two
inputs with the same protected values differ in others only, and those are struck as the certificate has it. Ablation
shows ``keep`` of d units, so it is drawn on the others alone, d of them.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.deletion import DeletionNoise
from ellzero.smoothing.noise.mask import AblationNoise
from ellzero.smoothing.noise.random_streams import RandomSource

Mask: TypeAlias = NDArray[np.bool_]
MaskLike: TypeAlias = Mask | Tensor | Sequence[object]


def read_input(noise: NoiseFamily, levels: Tensor, protected: MaskLike | None) -> tuple[Tensor, Mask | None]:
    """An input of levels as `sample_noisy` takes it, and its protected units: None if there are none.

    A unit is a number of the input, or with noise on pixels a pixel, whose mask has no axis for channels.
    """
    batch, masks = read_inputs(noise, levels.unsqueeze(0), None if protected is None else _as_array(protected)[None])
    if masks is not None and masks.all():
        raise InvalidInput("protected", "at least one position that is not protected", f"all {masks.size}")
    return batch.squeeze(0), None if masks is None else masks[0]


def read_inputs(noise: NoiseFamily, batch: Tensor, protected: MaskLike | None) -> tuple[Tensor, Mask | None]:
    """The same for a batch of inputs, some of which may be protected wholly."""
    masks = None if protected is None else _read_masks(noise, batch, _as_array(protected))
    if masks is not None and not noise.strikes_independently:
        return batch, masks  # ablation is for the other units alone
    return noise.read_batch(batch), masks


def count_free(noise: NoiseFamily, shape: torch.Size, protected: Mask | None) -> int:
    """d: how many units an adversary may change."""
    if protected is None:
        return noise.dimension(shape)
    free = protected.size - int(protected.sum())
    if isinstance(noise, AblationNoise):
        noise.check_shape(torch.Size((free,)))
    return free


def sample_noisy(noise: NoiseFamily, x: Tensor, protected: Mask | None, source: RandomSource, count: int) -> Tensor:
    """``count`` noisy copies of x, in which protected units are as they are in x."""
    if protected is None:
        return noise.sample(x, source, count)
    mask = torch.from_numpy(protected).to(x.device)
    if isinstance(noise, AblationNoise):
        ablated = noise.sample(x[~mask], source, count)
        samples = x.to(ablated.dtype).expand(count, *x.shape).clone()
        samples[:, ~mask] = ablated
        return samples
    samples = noise.sample(x, source, count)
    own = _as_sample(noise, x, samples.dtype)
    return torch.where(mask.expand(x.shape), own, samples)


def sample_noisy_batch(noise: NoiseFamily, batch: Tensor, protected: Mask | None, source: RandomSource) -> Tensor:
    """One noisy copy of each input of a batch; ``protected`` has a mask of units for each."""
    if protected is None:
        return noise.sample_batch(batch, source)
    mask = torch.from_numpy(protected).to(batch.device)
    if isinstance(noise, AblationNoise):
        ablated = noise.sample_batch(batch[~mask].reshape(len(batch), -1), source)
        samples = batch.to(ablated.dtype, copy=True)
        samples[~mask] = ablated.reshape(-1)
        return samples
    samples = noise.sample_batch(batch, source)
    if mask.dim() < batch.dim():  # noise on pixels: the axis of channels
        mask = mask.unsqueeze(1)
    return torch.where(mask.expand(batch.shape), _as_sample(noise, batch, samples.dtype), samples)


def _as_sample(noise: NoiseFamily, levels: Tensor, dtype: torch.dtype) -> Tensor:
    """Levels as samples without noise would be: levels, or for continuous noise values scaled to [0, 1]."""
    return levels.to(dtype) / (noise.levels - 1) if dtype.is_floating_point else levels.to(dtype)


def _read_masks(noise: NoiseFamily, batch: Tensor, protected: NDArray[Any]) -> Mask | None:
    shape = (len(batch), *noise.unit_shape(batch.shape[1:]))
    if protected.dtype != np.bool_ or protected.shape != shape:
        wrong = f"{protected.dtype} of shape {protected.shape[1:]}"
        raise InvalidInput("protected", f"booleans of shape {shape[1:]}", wrong)
    if isinstance(noise, DeletionNoise):  # padding is no position of a sequence, and deletion leaves it alone
        protected = protected & (batch.cpu().numpy() != noise.padding)
    if not protected.any():
        return None
    if not noise.strikes_independently and not isinstance(noise, AblationNoise):
        family = noise.description()["family"]
        raise InvalidInput("protected", f"left out for {family} noise, under which positions do not stay", "a mask")
    return np.ascontiguousarray(protected)


def _as_array(protected: MaskLike) -> NDArray[Any]:
    try:
        return protected.detach().cpu().numpy() if isinstance(protected, Tensor) else np.asarray(protected)
    except ValueError:  # lists of different lengths
        raise InvalidInput("protected", "booleans in the shape of the input", "lists of different lengths") from None
