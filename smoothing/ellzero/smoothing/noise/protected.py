"""Protected positions: those that noise never strikes and that an adversary cannot change.

Start and end tokens, padding, a prompt's template, features that are beyond anybody's reach. If noise strikes every
unit independently of all others, then putting the protected ones back leaves exactly the noise on the others: two
inputs with the same protected values differ in others only, and those are struck as the certificate has it. Ablation
shows ``keep`` of d units, so it is drawn on the others alone, d of them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, cast

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.noise.arrays import read_array
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.deletion import DeletionNoise
from ellzero.smoothing.noise.mask import AblationNoise
from ellzero.smoothing.noise.random_streams import Array, Kind, RandomSource, Shape

if TYPE_CHECKING:
    from torch import Tensor

X = TypeVar("X")
Mask: TypeAlias = NDArray[np.bool_]
MaskLike: TypeAlias = Union[Mask, "Tensor", Sequence[object]]  # a name in quotes has no |


def read_input(
    noise: NoiseFamily, levels: NDArray[Any], protected: MaskLike | None
) -> tuple[NDArray[Any], Mask | None]:
    """An input of levels as `sample_noisy` takes it, and its protected units: None if there are none.

    A unit is a number of the input, or with noise on pixels a pixel, whose mask has no axis for channels.
    """
    batch, masks = read_inputs(noise, levels[None], None if protected is None else _as_array(protected)[None])
    if masks is not None and masks.all():
        raise InvalidInput("protected", "at least one position that is not protected", f"all {masks.size}")
    return batch[0], None if masks is None else masks[0]


def read_inputs(
    noise: NoiseFamily, batch: NDArray[Any], protected: MaskLike | None
) -> tuple[NDArray[Any], Mask | None]:
    """The same for a batch of inputs, some of which may be protected wholly."""
    masks = None if protected is None else _read_masks(noise, batch, _as_array(protected))
    if masks is not None and not noise.strikes_independently:
        return batch, masks  # ablation is for the other units alone
    return noise.read_batch(batch), masks


def pair_masks(inputs: Iterable[X], protected: Iterable[MaskLike | None] | None) -> Iterator[tuple[X, MaskLike | None]]:
    """Each input with its protected positions; None for all if there are none."""
    if protected is None:
        yield from ((x, None) for x in inputs)
        return
    end: Any = object()
    for x, mask in zip_longest(inputs, protected, fillvalue=end):
        if x is end or mask is end:
            raise InvalidInput("protected", "a mask or None for each input", "more" if x is end else "fewer")
        yield x, mask


def count_free(noise: NoiseFamily, shape: Shape, protected: Mask | None) -> int:
    """d: how many units an adversary may change."""
    if protected is None:
        return noise.dimension(shape)
    free = protected.size - int(protected.sum())
    if isinstance(noise, AblationNoise):
        noise.check_shape((free,))
    return free


def sample_noisy(
    noise: NoiseFamily, x: NDArray[Any], protected: Mask | None, source: RandomSource, count: int
) -> Array:
    """``count`` noisy copies of x, in which protected units are as they are in x."""
    if protected is None:
        return noise.sample(x, source, count)
    mask = source.array(protected)
    if isinstance(noise, AblationNoise):
        ablated = noise.sample(x[~protected], source, count)
        samples = source.cast(source.expand(x, (count, *x.shape)), _kind(ablated))
        samples[:, ~mask] = ablated
        return samples
    samples = noise.sample(x, source, count)
    samples[..., mask] = _as_samples(noise, x, samples, source)[..., mask]  # pixels: in every channel
    return samples


def sample_noisy_batch(noise: NoiseFamily, batch: NDArray[Any], protected: Mask | None, source: RandomSource) -> Array:
    """One noisy copy of each input of a batch; ``protected`` has a mask of units for each."""
    if protected is None:
        return noise.sample_batch(batch, source)
    if isinstance(noise, AblationNoise):
        mask = source.array(protected)
        ablated = noise.sample_batch(batch[~protected].reshape(len(batch), -1), source)
        samples = source.cast(source.array(batch), _kind(ablated))
        samples[~mask] = ablated.reshape(-1)
        return samples
    if protected.ndim < batch.ndim:  # noise on pixels: the axis of channels
        protected = protected[:, None]
    mask = source.expand(protected, batch.shape)
    samples = noise.sample_batch(batch, source)
    samples[mask] = _as_samples(noise, batch, samples, source)[mask]
    return samples


def _as_samples(noise: NoiseFamily, levels: NDArray[Any], samples: Array, source: RandomSource) -> Array:
    """Levels as samples without noise would be: levels, or for continuous noise values scaled to [0, 1]."""
    own = source.cast(source.array(levels), _kind(samples))
    return own / (noise.levels - 1) if _kind(samples) == "float32" else own


def _kind(samples: Array) -> Kind:
    return cast("Kind", str(samples.dtype).removeprefix("torch."))


def _read_masks(noise: NoiseFamily, batch: NDArray[Any], protected: NDArray[Any]) -> Mask | None:
    shape = (len(batch), *noise.unit_shape(batch.shape[1:]))
    if protected.dtype != np.bool_ or protected.shape != shape:
        wrong = f"{protected.dtype} of shape {protected.shape[1:]}"
        raise InvalidInput("protected", f"booleans of shape {shape[1:]}", wrong)
    if isinstance(noise, DeletionNoise):  # padding is no position of a sequence, and deletion leaves it alone
        protected = protected & (batch != noise.padding)
    if not protected.any():
        return None
    if not noise.strikes_independently and not isinstance(noise, AblationNoise):
        family = noise.description()["family"]
        raise InvalidInput("protected", f"left out for {family} noise, under which positions do not stay", "a mask")
    return np.ascontiguousarray(protected)


def _as_array(protected: MaskLike) -> NDArray[Any]:
    array = read_array(protected)
    if array is None:
        raise InvalidInput("protected", "booleans in the shape of the input", "lists of different lengths")
    return array
