"""What a data set is: inputs as levels, with labels."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput

_MOST_HELD_OUT = 5_000

Levels = NDArray[np.uint8] | NDArray[np.int32]


class DataSet(Protocol):
    """Inputs as levels, with labels."""

    @property
    def name(self) -> str:
        """A name to show to people."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an input."""

    @property
    def levels(self) -> int:
        """How many values a number of an input can have."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each input."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, in the order of their numbers."""

    @property
    def digest(self) -> str:
        """Identifies the data: it differs if inputs, labels or levels do."""

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        """The inputs with these indices, stacked."""

    def protected(self, indices: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """The positions of these inputs that noise leaves alone and no adversary can change; None if there are none."""


@runtime_checkable
class CroppableData(Protocol):
    """A data set whose inputs are parts of larger images."""

    def random_crops(self, indices: Sequence[int] | NDArray[np.int64], stream: str) -> Levels:
        """A random part of each input, perhaps mirrored; it depends on its index and the name ``stream`` alone."""


@dataclass(frozen=True, eq=False)
class ArrayData:
    """A data set in memory. ``mask`` is True at protected positions of its inputs, such as padding."""

    name: str
    arrays: Levels
    labels: NDArray[np.int64]
    levels: int
    class_names: tuple[str, ...]
    mask: NDArray[np.bool_] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.arrays.shape[1:])

    @property
    def digest(self) -> str:
        content = hashlib.sha256(f"{self.arrays.dtype} {self.arrays.shape} {self.levels}".encode())
        content.update(np.ascontiguousarray(self.arrays).tobytes())
        content.update(self.labels.tobytes())
        if self.mask is not None:
            content.update(np.packbits(self.mask).tobytes())
        return content.hexdigest()

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        inputs: Levels = self.arrays[np.asarray(indices, np.int64)]
        return inputs

    def protected(self, indices: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_] | None:
        return None if self.mask is None else self.mask[np.asarray(indices, np.int64)]


@dataclass(frozen=True, eq=False)
class ReorderedData:
    """Some inputs of a data set, in an order of their own: ``order`` has the index there of each input here."""

    data: DataSet
    order: NDArray[np.int64]
    name: str

    @classmethod
    def shuffle(cls, data: DataSet, seed: int) -> "ReorderedData":
        """All inputs in an order drawn from the seed, so that the first ones are a random sample of all."""
        order = np.random.Generator(np.random.Philox(key=seed)).permutation(len(data.labels))
        return cls(data, order, f"{data.name}, shuffled by seed {seed}")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def levels(self) -> int:
        return self.data.levels

    @property
    def labels(self) -> NDArray[np.int64]:
        return self.data.labels[self.order]

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.data.class_names

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data.digest.encode() + self.order.astype("<i8").tobytes()).hexdigest()

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        return self.data.inputs(self.order[np.asarray(indices, np.int64)])

    def protected(self, indices: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_] | None:
        return self.data.protected(self.order[np.asarray(indices, np.int64)])


def read_one(data: DataSet, index: int) -> tuple[Levels, NDArray[np.bool_] | None]:
    """An input and its protected positions, as tasks take them."""
    masks = data.protected([index])
    x: Levels = data.inputs([index])[0]
    return x, None if masks is None else masks[0]


def hold_out(inputs: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The inputs that a training with this seed holds out, a tenth of all and at most 5,000; and the others."""
    digest = hashlib.blake2b(f"{seed} split".encode(), digest_size=16).digest()
    order = np.random.Generator(np.random.Philox(key=int.from_bytes(digest, "little"))).permutation(inputs)
    count = min(_MOST_HELD_OUT, inputs // 10)
    return np.sort(order[:count]), np.sort(order[count:])


def binarize(data: DataSet, threshold: int) -> DataSet:
    """Turn levels into bits: 1 from a level on, as the paper does for MNIST (128, more than half of 255)."""
    if not 1 <= threshold < data.levels:
        raise InvalidInput("binarize", f"a level from 1 to {data.levels - 1}", threshold)
    arrays, mask = data.inputs(range(len(data.labels))), data.protected(range(len(data.labels)))
    return ArrayData(
        f"{data.name}, 1 from level {threshold} on",
        (arrays >= threshold).astype(np.uint8),
        data.labels,
        2,
        data.class_names,
        mask,
    )
