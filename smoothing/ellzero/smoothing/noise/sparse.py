"""Noise for sparse bits: ones are rare, and fewer zeros than ones are struck. Drawn exactly."""

import torch
from torch import Tensor

from ellzero.certificates import Sparse
from ellzero.core.numbers import RationalLike
from ellzero.smoothing.noise.discrete import sample_coins
from ellzero.smoothing.noise.family_noise import FamilyNoise
from ellzero.smoothing.noise.random_streams import RandomSource, level_kind

_LEVELS = 2


class SparseNoise(FamilyNoise):
    """Bits: a 0 becomes 1 with probability ``p_add``, a 1 becomes 0 with probability ``p_del``."""

    def __init__(self, p_add: RationalLike, p_del: RationalLike) -> None:
        self._sparse = Sparse(p_add, p_del)
        super().__init__(self._sparse, _LEVELS)

    def _sample_noisy(self, x: Tensor, shape: torch.Size, source: RandomSource, count: int) -> Tensor:
        own = source.array(x)
        added, deleted = (
            source.cast(sample_coins(source, share, count * shape.numel()), level_kind(_LEVELS)).reshape(count, *shape)
            for share in (self._sparse.p_add, self._sparse.p_del)
        )
        # A bit flips if the coin for its value says so: of zeros that of ``added``, of ones that of ``deleted``.
        deleted ^= added
        deleted &= own
        added ^= deleted
        added ^= own
        return source.tensor(added)
