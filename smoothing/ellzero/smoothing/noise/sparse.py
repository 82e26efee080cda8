"""Noises for sparse data: values are mostly 0, and fewer zeros than others are struck. Drawn exactly."""

from math import prod

from ellzero.certificates import Sparse, SparseLevels
from ellzero.core.numbers import RationalLike
from ellzero.smoothing.noise.discrete import sample_coins, sample_levels
from ellzero.smoothing.noise.family_noise import FamilyNoise
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape, level_kind

_LEVELS = 2


class SparseNoise(FamilyNoise):
    """Bits: a 0 becomes 1 with probability ``p_add``, a 1 becomes 0 with probability ``p_del``."""

    def __init__(self, p_add: RationalLike, p_del: RationalLike) -> None:
        self._sparse = Sparse(p_add, p_del)
        super().__init__(self._sparse, _LEVELS)

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        own = source.array(x)
        added, deleted = (
            source.cast(sample_coins(source, share, count * prod(shape)), level_kind(_LEVELS)).reshape(count, *shape)
            for share in (self._sparse.p_add, self._sparse.p_del)
        )
        # A bit flips if the coin for its value says so: of zeros that of ``added``, of ones that of ``deleted``.
        deleted ^= added
        deleted &= own
        added ^= deleted
        added ^= own
        return added


class SparseLevelsNoise(FamilyNoise):
    """Values 0..K: a 0 changes with probability ``p_add``, another value with probability ``p_del``; which of the K
    other values it becomes is uniform."""

    def __init__(self, k: int, p_add: RationalLike, p_del: RationalLike) -> None:
        self._sparse = SparseLevels(k, p_add, p_del)
        super().__init__(self._sparse, self._sparse.k + 1)

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        own = source.cast(source.array(x), "int32")
        size = count * prod(shape)
        added, deleted = (
            sample_coins(source, share, size).reshape(count, *shape)
            for share in (self._sparse.p_add, self._sparse.p_del)
        )
        zero = own == 0
        struck = (added & zero) | (deleted & ~zero)
        # One of 1..K steps around the circle of all K + 1 levels leads to each of the K others.
        step = source.cast(sample_levels(source, self._sparse.k, size), "int32").reshape(count, *shape) + 1
        moved = own + source.cast(struck, "int32") * step
        moved %= self.levels
        return source.cast(moved, level_kind(self.levels))
