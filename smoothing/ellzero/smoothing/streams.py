"""Where randomness comes from: every block of samples of every input has a stream of its own.

A stream is named by (seed, noise, input, stage, block). So the votes of an input do not depend on how samples are
put into batches, on what else is certified, nor on who computes which part; and no two votes share a random word. On
CPU the words are those of Philox 4×64-10: the name's hash is its key, stage and block are the high words of its
counter, so that the streams of one input cannot overlap. A GPU draws with its own Philox 4×32-10, whose 64-bit seed is
the hash plus the number of the block.
"""

import hashlib
from enum import IntEnum
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

# A block is so many samples that its coordinates fit the cache; its size must depend on nothing but the input's.
_BLOCK_COORDINATES = 1 << 18
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


class Source(Protocol):
    """The stream of a block, drawn from front to back."""

    def words(self, count: int, dtype: torch.dtype) -> Tensor:
        """``count`` integers, uniform over *all* values of ``dtype``: uint8, int16 or int64."""

    def normals(self, count: int) -> Tensor:
        """``count`` standard normal float32 numbers."""

    def uniforms(self, count: int) -> Tensor:
        """``count`` float32 numbers, uniform on [−1, 1)."""


def block_samples(coordinates: int) -> int:
    """How many samples of an input with so many coordinates make a block: a power of two."""
    most = max(1, min(_MOST_SAMPLES, _BLOCK_COORDINATES // max(1, coordinates)))
    return 1 << (most.bit_length() - 1)


def stream_key(seed: int, noise: str, x: Tensor) -> bytes:
    """The name of the streams of an input: its bytes count, not its place in a data set."""
    digest = hashlib.blake2b(digest_size=16, person=b"ellzero streams")
    for part in (str(seed), noise, str(tuple(x.shape)), str(x.dtype)):
        digest.update(f"{len(part)}:{part}".encode())
    digest.update(x.cpu().contiguous().numpy().tobytes())
    return digest.digest()


def open_source(key: bytes, stage: Stage, block: int, device: torch.device) -> Source:
    """The stream of a block."""
    if device.type == "cuda":
        return _DeviceSource(key, stage, block, device)
    return _HostSource(key, stage, block, device)


class _HostSource:
    """Drawn on the CPU, then moved to where it is needed."""

    def __init__(self, key: bytes, stage: Stage, block: int, device: torch.device) -> None:
        self._bits = np.random.Philox(key=int.from_bytes(key, "little"), counter=[0, 0, block, int(stage)])
        self._device = device

    def words(self, count: int, dtype: torch.dtype) -> Tensor:
        whole = -(-count * dtype.itemsize // _WORD_BYTES)
        raw = torch.from_numpy(self._bits.random_raw(whole).view(np.int64))
        return raw.view(dtype)[:count].to(self._device)

    def normals(self, count: int) -> Tensor:
        return torch.from_numpy(np.random.Generator(self._bits).standard_normal(count).astype(np.float32)).to(
            self._device
        )

    def uniforms(self, count: int) -> Tensor:
        drawn = np.random.Generator(self._bits).random(count) * 2 - 1
        return torch.from_numpy(drawn.astype(np.float32)).to(self._device)


class _DeviceSource:
    """Drawn on the device itself."""

    def __init__(self, key: bytes, stage: Stage, block: int, device: torch.device) -> None:
        start = int.from_bytes(key[:8], "little") + (int(stage) << _STAGE_SHIFT) + block
        self._generator = torch.Generator(device).manual_seed(start % (1 << 64) - (1 << 63))
        self._device = device

    def words(self, count: int, dtype: torch.dtype) -> Tensor:
        whole = -(-count * dtype.itemsize // _WORD_BYTES)
        raw = torch.empty(whole, dtype=torch.int64, device=self._device)
        return raw.random_(-(1 << 63), None, generator=self._generator).view(dtype)[:count]

    def normals(self, count: int) -> Tensor:
        return torch.randn(count, dtype=torch.float64, device=self._device, generator=self._generator).float()

    def uniforms(self, count: int) -> Tensor:
        drawn = torch.rand(count, dtype=torch.float64, device=self._device, generator=self._generator)
        return (drawn * 2 - 1).float()
