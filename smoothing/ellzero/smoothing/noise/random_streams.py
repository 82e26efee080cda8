"""Where randomness comes from: every block of samples of every input has a stream of its own.

A stream is named by (seed, noise, input, stage, block). So the votes of an input depend neither on how samples are put
into batches, nor on what else is certified, nor on which worker draws them. On CPU the words are those of SFC64, whose
state numpy's ``SeedSequence`` fills from 128 bits that are a hash of the whole name: two streams overlap as rarely as
somebody guesses a key. A GPU draws with its own Philox 4×32-10, whose 64-bit seed is a hash plus the number of the
block, so that the streams of one input certainly differ.
"""

import hashlib
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Array: TypeAlias = Any  # numpy.ndarray, or torch.Tensor on a GPU
Shape: TypeAlias = tuple[int, ...]
Kind: TypeAlias = Literal["uint8", "int16", "int32", "int64", "float32"]

# The coordinates of a block fit the cache; its size must depend on nothing but the size of the input.
_BLOCK_COORDINATES = 1 << 19
_MOST_SAMPLES = 1_024
WORD_BYTES = 8


class Stage(IntEnum):
    """What votes are for. Those that choose a class or a noise must not be those that bound its probability."""

    SELECT = 0
    BOUND = 1
    PREDICT = 2
    SHOW = 3
    TRAIN = 4
    VALIDATE = 5
    CALIBRATE = 6
    PREDICT_SET = 7
    ADVISE = 8


class RandomSource(Protocol):
    """The stream of a block, drawn from front to back.

    Arrays are numpy's on a CPU and torch's on a GPU, and code that uses them is written in operators that both have. On
    a CPU numpy is several times faster, since a block is too small to be shared between threads, which torch would wake
    at every step; and it needs no torch, so that any model's votes can be drawn.
    """

    def words(self, count: int, kind: Kind) -> Array:
        """``count`` integers, uniform over *all* values of their kind."""

    def array(self, levels: Array) -> Array:
        """Levels as such an array, sharing their memory if they are one already."""

    def expand(self, levels: Array, shape: Shape) -> Array:
        """Levels repeated to a shape that ends in theirs, as such an array that is only read."""

    def join(self, parts: list[Array]) -> Array:
        """Such arrays side by side, along their second axis."""

    def cast(self, array: Array, kind: Kind) -> Array:
        """The same values as another kind of numbers, in an array of their own."""

    def places(self, mask: Array) -> Array:
        """Where a flat array is true."""

    def smallest(self, rows: Array, rank: int) -> Array:
        """The number of this rank in each row of an array, as a column; 1 is the smallest."""

    def normals(self, count: int) -> Array:
        """``count`` standard normal float32 numbers."""

    def uniforms(self, count: int) -> Array:
        """``count`` float32 numbers, uniform on [−1, 1)."""


def level_kind(levels: int) -> Kind:
    """The integer type of this many levels."""
    return "uint8" if levels <= 256 else "int32"


def block_samples(coordinates: int) -> int:
    """How many samples a block has, for inputs of so many coordinates: a power of two."""
    most = max(1, min(_MOST_SAMPLES, _BLOCK_COORDINATES // max(1, coordinates)))
    return 1 << (most.bit_length() - 1)


def stream_key(seed: int, noise: str, x: NDArray[Any], protected: NDArray[np.bool_] | None = None) -> bytes:
    """The name of an input's streams. It depends on the input's values and protected positions, not on its place in a
    data set."""
    digest = hashlib.blake2b(digest_size=16, person=b"ellzero streams")
    # Types have torch's names in every key, so that votes are those of releases in which inputs were tensors.
    for field in (str(seed), noise, str(x.shape), f"torch.{x.dtype}"):
        digest.update(f"{len(field)}:{field}".encode())
    digest.update(x.tobytes())
    if protected is not None:
        digest.update(protected.tobytes())
    return digest.digest()


def open_source(key: bytes, stage: Stage, block: int, device: "torch.device | None" = None) -> RandomSource:
    """The stream of a block, drawn on this device; by default on the CPU."""
    if device is None or device.type == "cpu":
        return HostRandomSource(key, stage, block)
    from ellzero.smoothing.noise.device_source import DeviceRandomSource

    return DeviceRandomSource(key, stage, block, device)


class HostRandomSource:
    """Drawn on the CPU, by numpy."""

    def __init__(self, key: bytes, stage: Stage, block: int) -> None:
        name = np.random.SeedSequence(int.from_bytes(key, "little"), spawn_key=(int(stage), block))
        self._bits = np.random.SFC64(name)

    def words(self, count: int, kind: Kind) -> Array:
        dtype = np.dtype(kind)
        whole = -(-count * dtype.itemsize // WORD_BYTES)
        return self._bits.random_raw(whole).view(dtype)[:count]

    def array(self, levels: Array) -> Array:
        return np.asarray(levels)

    def expand(self, levels: Array, shape: Shape) -> Array:
        return np.broadcast_to(levels, shape)

    def join(self, parts: list[Array]) -> Array:
        return np.concatenate(parts, axis=1)

    def cast(self, array: Array, kind: Kind) -> Array:
        return array.astype(kind)

    def places(self, mask: Array) -> Array:
        return np.flatnonzero(mask)

    def smallest(self, rows: Array, rank: int) -> Array:
        return np.partition(rows, rank - 1, axis=1)[:, rank - 1 : rank]

    def normals(self, count: int) -> Array:
        return np.random.Generator(self._bits).standard_normal(count).astype(np.float32)

    def uniforms(self, count: int) -> Array:
        return (np.random.Generator(self._bits).random(count) * 2 - 1).astype(np.float32)
