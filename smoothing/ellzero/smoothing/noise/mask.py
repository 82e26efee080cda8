"""Noises that hide tokens, pixels or features: they are replaced by a symbol that no input has. Drawn exactly."""

from math import prod

from ellzero.certificates import Ablation, Mask
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.noise.discrete import sample_coins
from ellzero.smoothing.noise.family_noise import FamilyNoise
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape, level_kind

_MOST_K = 2**31 - 3


class HidingNoise(FamilyNoise):
    """Noise that hides coordinates: a hidden one becomes the level K + 1, which inputs do not have.

    The model must take levels (``feed="levels"``) and know K + 2 of them: this one has no place among scaled values.
    """

    def _hide(self, hidden: Array, x: Array, source: RandomSource) -> Array:
        """The hidden level where ``hidden`` is true, x elsewhere: by arithmetic, without a branch for each number."""
        kind = level_kind(self.sample_levels)
        own = source.cast(source.array(x), kind)
        return own + source.cast(hidden, kind) * (self.levels - own)


class MaskNoise(HidingNoise):
    """Each number of an input is hidden with probability ``m``: it becomes the level K + 1, which inputs do not have.

    ``k`` is the number of levels minus one, as in `DiscreteNoise`. The model must take levels (``feed="levels"``) and
    know K + 2 of them: a mask has no place among scaled values.
    """

    def __init__(self, k: int, m: RationalLike) -> None:
        self._mask = Mask(m)
        super().__init__(self._mask, read_integer(k, "k", 1, _MOST_K) + 1, extra_levels=1)

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        hidden = sample_coins(source, self._mask.m, count * prod(shape)).reshape(count, *shape)
        return self._hide(hidden, x, source)


class AblationNoise(HidingNoise):
    """Of the ``d`` numbers of an input exactly ``keep`` are shown, chosen uniformly; all others are hidden: they become
    the level K + 1, as under `MaskNoise`."""

    def __init__(self, k: int, d: int, keep: int) -> None:
        self._ablation = Ablation(d, keep)
        super().__init__(self._ablation, read_integer(k, "k", 1, _MOST_K) + 1, extra_levels=1)

    def check_shape(self, shape: Shape) -> None:
        if prod(shape) != self._ablation.d:
            raise InvalidInput("x", f"an input of {self._ablation.d} numbers, which the noise is for", tuple(shape))

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        shown = sample_subsets(source, self._ablation.d, self._ablation.keep, count)
        return self._hide(~shown.reshape(count, *shape), x, source)


def sample_subsets(source: RandomSource, d: int, keep: int, count: int) -> Array:
    """``count`` rows of d booleans, of which ``keep`` are True: every subset of that size is equally probable.

    Each place gets a random key, and those with the smallest keys are chosen. Whether the last of them has a key that
    others beyond it have too does not depend on which place has which key; so a row where that happens is drawn again,
    and given that it did not happen, all subsets remain equally probable. Exact: no tie is broken by a rule.
    """
    keys = source.words(count * d, "int32").reshape(count, d)
    chosen = keys <= source.smallest(keys, keep)
    ties = source.places(chosen.sum(1) > keep)
    while len(ties):
        keys = source.words(len(ties) * d, "int32").reshape(len(ties), d)
        again = keys <= source.smallest(keys, keep)
        chosen[ties] = again
        ties = ties[again.sum(1) > keep]
    return chosen
