"""Noise on sequences: symbols are deleted, and the others move together. Drawn exactly."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Deletion
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.noise.discrete import sample_coins
from ellzero.smoothing.noise.family_noise import FamilyNoise
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape, level_kind


class DeletionNoise(FamilyNoise):
    """Sequences of at most ``length`` symbols 0..K, of which each is deleted with probability ``m``.

    The model sees ``length`` levels: the symbols that are left, in their order and without gaps, then padding, the
    level K + 1. So what it sees depends on those symbols alone: not on their places in x nor on x's length, which an
    adversary may change. Inputs are sequences as such, or padded to ``length`` in the same way. A radius is a number of
    insertions, deletions and substitutions, whose result has at most ``length`` symbols too.
    """

    def __init__(self, k: int, m: RationalLike, length: int) -> None:
        self._deletion = Deletion(m)
        self._length = read_integer(length, "length", 1, 2**31 - 1)
        self._padding = read_integer(k, "k", 1, 2**31 - 3) + 1
        super().__init__(self._deletion, self._padding + 1)

    @property
    def padding(self) -> int:
        """The level after the last symbol of a sequence."""
        return self._padding

    @property
    def tag(self) -> str:
        return f"{super().tag} length={self._length}"

    def description(self) -> Mapping[str, Any]:
        return {**super().description(), "length": self._length}

    def check_shape(self, shape: Shape) -> None:
        if len(shape) != 1 or shape[0] > self._length:
            raise InvalidInput("x", f"a sequence of at most {self._length} symbols", tuple(shape))

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        self.check_shape(batch.shape[1:])
        is_symbol = batch != self._padding
        if bool((is_symbol[:, 1:] & ~is_symbol[:, :-1]).any()):
            raise InvalidInput("x", f"symbols, then padding (level {self._padding}), if any", "a symbol after padding")
        return np.pad(batch, ((0, 0), (0, self._length - batch.shape[1])), constant_values=self._padding)

    @property
    def strikes_independently(self) -> bool:
        return False  # those that are left move together

    def dimension(self, shape: Shape) -> int:
        return self._length

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        kind = level_kind(self.levels)
        own = source.expand(x, (count, *shape)).reshape(-1)
        left = ~sample_coins(source, self._deletion.m, count * self._length) & (own != self._padding)
        places = source.places(left)
        # The n-th symbol that is left in a row goes to its n-th place.
        rank = left.reshape(count, self._length).cumsum(1).reshape(-1)[places]
        samples = source.cast(left, kind) * 0 + self._padding
        samples[places // self._length * self._length + rank - 1] = source.cast(own[places], kind)
        return samples.reshape(count, self._length)
