"""Where randomness comes from: every block of samples of every input has a stream of its own.

A stream is named by (seed, noise, input, stage, block). So the votes of an input depend neither on how samples are put
into batches, nor on what else is certified, nor on which worker draws them. On CPU the words are those of SFC64, whose
state numpy's ``SeedSequence`` fills from 128 bits that are a hash of the whole name: two streams overlap as rarely as
somebody guesses a key. A GPU draws with its own Philox 4×32-10, whose 64-bit seed is a hash plus the number of the
block, so that the streams of one input certainly differ.
"""

import hashlib
from enum import IntEnum
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from torch import Tensor

Array: TypeAlias = Any  # numpy.ndarray or torch.Tensor
Kind: TypeAlias = Literal["uint8", "int16", "int32", "int64"]

# The coordinates of a block fit the cache; its size must depend on nothing but the size of the input.
_BLOCK_COORDINATES = 1 << 19
_MOST_SAMPLES = 1_024
_WORD_BYTES = 8
_STAGE_SHIFT = 40


class Stage(IntEnum):
    """What votes are for. Those that choose a class must not be those that bound it."""

    SELECT = 0
    BOUND = 1
    PREDICT = 2
    SHOW = 3
    TRAIN = 4
    VALIDATE = 5
    CALIBRATE = 6
    PREDICT_SET = 7


class RandomSource(Protocol):
    """The stream of a block, drawn from front to back.

    Arrays are numpy's on a CPU and torch's on a GPU, and code that uses them is written in operators that both have. On
    a CPU numpy is several times faster, since a block is too small to be shared between threads, which torch would wake
    at every step.
    """

    def words(self, count: int, kind: Kind) -> Array:
        """``count`` integers, uniform over *all* values of their kind."""

    def array(self, tensor: Tensor) -> Array:
        """A tensor as such an array, sharing its memory if it is on this device."""

    def tensor(self, array: Array) -> Tensor:
        """Such an array as a tensor, sharing its memory."""

    def cast(self, array: Array, kind: Kind) -> Array:
        """The same values in another kind of integers."""

    def places(self, mask: Array) -> Array:
        """Where a flat array is true."""

    def smallest(self, rows: Array, rank: int) -> Array:
        """The number of this rank in each row of an array, as a column; 1 is the smallest."""

    def normals(self, count: int) -> Tensor:
        """``count`` standard normal float32 numbers."""

    def uniforms(self, count: int) -> Tensor:
        """``count`` float32 numbers, uniform on [−1, 1)."""


def level_kind(levels: int) -> Kind:
    """The integer type of this many levels."""
    return "uint8" if levels <= 256 else "int32"


def block_samples(coordinates: int) -> int:
    """How many samples a block has, for inputs of so many coordinates: a power of two."""
    most = max(1, min(_MOST_SAMPLES, _BLOCK_COORDINATES // max(1, coordinates)))
    return 1 << (most.bit_length() - 1)


def stream_key(seed: int, noise: str, x: Tensor) -> bytes:
    """The name of an input's streams. It depends on the input's values, not on its place in a data set."""
    digest = hashlib.blake2b(digest_size=16, person=b"ellzero streams")
    for field in (str(seed), noise, str(tuple(x.shape)), str(x.dtype)):
        digest.update(f"{len(field)}:{field}".encode())
    digest.update(x.cpu().contiguous().numpy().tobytes())
    return digest.digest()


def open_source(key: bytes, stage: Stage, block: int, device: torch.device) -> RandomSource:
    """The stream of a block."""
    return (
        HostRandomSource(key, stage, block) if device.type == "cpu" else DeviceRandomSource(key, stage, block, device)
    )


class HostRandomSource:
    """Drawn on the CPU, by numpy."""

    def __init__(self, key: bytes, stage: Stage, block: int) -> None:
        name = np.random.SeedSequence(int.from_bytes(key, "little"), spawn_key=(int(stage), block))
        self._bits = np.random.SFC64(name)

    def words(self, count: int, kind: Kind) -> Array:
        dtype = np.dtype(kind)
        whole = -(-count * dtype.itemsize // _WORD_BYTES)
        return self._bits.random_raw(whole).view(dtype)[:count]

    def array(self, tensor: Tensor) -> Array:
        return tensor.numpy()

    def tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(array)

    def cast(self, array: Array, kind: Kind) -> Array:
        return array.astype(kind)

    def places(self, mask: Array) -> Array:
        return np.flatnonzero(mask)

    def smallest(self, rows: Array, rank: int) -> Array:
        return np.partition(rows, rank - 1, axis=1)[:, rank - 1 : rank]

    def normals(self, count: int) -> Tensor:
        return torch.from_numpy(np.random.Generator(self._bits).standard_normal(count).astype(np.float32))

    def uniforms(self, count: int) -> Tensor:
        return torch.from_numpy((np.random.Generator(self._bits).random(count) * 2 - 1).astype(np.float32))


class DeviceRandomSource:
    """Drawn on the device itself, by torch."""

    def __init__(self, key: bytes, stage: Stage, block: int, device: torch.device) -> None:
        start = int.from_bytes(key[:8], "little") + (int(stage) << _STAGE_SHIFT) + block
        self._generator = torch.Generator(device).manual_seed(start % (1 << 64) - (1 << 63))
        self._device = device

    def words(self, count: int, kind: Kind) -> Array:
        dtype: torch.dtype = getattr(torch, kind)
        whole = -(-count * dtype.itemsize // _WORD_BYTES)
        raw = torch.empty(whole, dtype=torch.int64, device=self._device)
        return raw.random_(-(1 << 63), None, generator=self._generator).view(dtype)[:count]

    def array(self, tensor: Tensor) -> Array:
        return tensor.to(self._device)

    def tensor(self, array: Array) -> Tensor:
        tensor: Tensor = array
        return tensor

    def cast(self, array: Array, kind: Kind) -> Array:
        return array.to(getattr(torch, kind))

    def places(self, mask: Array) -> Array:
        return mask.nonzero().squeeze(1)

    def smallest(self, rows: Array, rank: int) -> Array:
        return rows.kthvalue(rank, dim=1, keepdim=True).values

    def normals(self, count: int) -> Tensor:
        return torch.randn(count, dtype=torch.float64, device=self._device, generator=self._generator).float()

    def uniforms(self, count: int) -> Tensor:
        uniform = torch.rand(count, dtype=torch.float64, device=self._device, generator=self._generator)
        return (uniform * 2 - 1).float()
