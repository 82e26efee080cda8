"""Noise that hides tokens, pixels or features: they are replaced by a symbol that no input has. Drawn exactly."""

from typing import ClassVar

import torch
from torch import Tensor

from ellzero.certificates import Mask
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.noise.discrete import sample_coins
from ellzero.smoothing.noise.family_noise import FamilyNoise
from ellzero.smoothing.noise.random_streams import RandomSource, level_kind


class MaskNoise(FamilyNoise):
    """Each number of an input is hidden with probability ``m``: it becomes the level K + 1, which inputs do not have.

    ``k`` is the number of levels minus one, as in `DiscreteNoise`. The model must take levels (``feed="levels"``) and
    know K + 2 of them: a mask has no place among scaled values.
    """

    keeps_levels: ClassVar[bool] = False

    def __init__(self, k: int, m: RationalLike) -> None:
        self._mask = Mask(m)
        super().__init__(self._mask, read_integer(k, "k", 1, 2**31 - 3) + 1)

    def _sample_noisy(self, x: Tensor, shape: torch.Size, source: RandomSource, count: int) -> Tensor:
        kind = level_kind(self.levels + 1)
        own = source.cast(source.array(x), kind)
        hidden = source.cast(sample_coins(source, self._mask.m, count * shape.numel()), kind).reshape(count, *shape)
        # The level of the mask where ``hidden`` is 1, x elsewhere: by arithmetic, without a branch for each number.
        return source.tensor(own + hidden * (self.levels - own))
