"""What a data set is: inputs as levels, with labels."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput

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


@dataclass(frozen=True, eq=False)
class ArrayData:
    """A data set in memory."""

    name: str
    arrays: Levels
    labels: NDArray[np.int64]
    levels: int
    class_names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.arrays.shape[1:])

    @property
    def digest(self) -> str:
        content = hashlib.sha256(f"{self.arrays.dtype} {self.arrays.shape} {self.levels}".encode())
        content.update(np.ascontiguousarray(self.arrays).tobytes())
        content.update(self.labels.tobytes())
        return content.hexdigest()

    def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
        inputs: Levels = self.arrays[np.asarray(indices, np.int64)]
        return inputs


def binarize(data: DataSet, threshold: int) -> DataSet:
    """Turn levels into bits: 1 from a level on, as the paper does for MNIST (128, more than half of 255)."""
    if not 1 <= threshold < data.levels:
        raise InvalidInput("binarize", f"a level from 1 to {data.levels - 1}", threshold)
    arrays = data.inputs(range(len(data.labels)))
    return ArrayData(
        f"{data.name}, 1 from level {threshold} on",
        (arrays >= threshold).astype(np.uint8),
        data.labels,
        2,
        data.class_names,
    )
