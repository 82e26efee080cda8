"""Noises that hide tokens, pixels or features: they are replaced by a symbol that no input has. Drawn exactly."""

from collections.abc import Mapping
from math import prod
from typing import Any

from ellzero.certificates import Ablation, Family, Mask
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.noise.discrete import sample_coins
from ellzero.smoothing.noise.family_noise import FamilyNoise
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape, level_kind

_MOST_K = 2**31 - 3


class HidingNoise(FamilyNoise):
    """Noise that hides coordinates: a hidden one becomes the level K + 1, which inputs do not have, or ``mask_token``.

    A mask of its own has no place among scaled values: the model must take levels (``feed="levels"``) and know K + 2
    of them. ``mask_token`` is a level that the model knows already, such as a tokenizer's [MASK]. Inputs may contain
    it: showing it instead of a level of its own is a function of the sample, so that it is as if the model began with
    that function, and the certificate is the same.
    """

    def __init__(self, family: Family, k: int, mask_token: int | None) -> None:
        levels = read_integer(k, "k", 1, _MOST_K) + 1
        self._mask_token = None if mask_token is None else read_integer(mask_token, "mask_token", 0, levels - 1)
        super().__init__(family, levels, extra_levels=1 if mask_token is None else 0)

    @property
    def tag(self) -> str:
        return super().tag if self._mask_token is None else f"{super().tag} mask_token={self._mask_token}"

    def description(self) -> Mapping[str, Any]:
        own = {} if self._mask_token is None else {"mask_token": self._mask_token}
        return {**super().description(), **own}

    def _hide(self, hidden: Array, x: Array, source: RandomSource) -> Array:
        """The hidden level where ``hidden`` is true, x elsewhere: by arithmetic, without a branch for each number."""
        kind = level_kind(self.sample_levels)
        own = source.cast(source.array(x), kind)
        shown = self.levels if self._mask_token is None else self._mask_token
        return own + source.cast(hidden, kind) * (shown - own)


class MaskNoise(HidingNoise):
    """Each number of an input is hidden with probability ``m``: it becomes ``mask_token``, by default the level K + 1,
    which inputs do not have.

    ``k`` is the number of levels minus one, as in `DiscreteNoise`. Unless there is a ``mask_token``, the model must
    take levels (``feed="levels"``) and know K + 2 of them: such a mask has no place among scaled values.
    """

    def __init__(self, k: int, m: RationalLike, *, mask_token: int | None = None) -> None:
        self._mask = Mask(m)
        super().__init__(self._mask, k, mask_token)

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        hidden = sample_coins(source, self._mask.m, count * prod(shape)).reshape(count, *shape)
        return self._hide(hidden, x, source)


class AblationNoise(HidingNoise):
    """Of the ``d`` numbers of an input exactly ``keep`` are shown, chosen uniformly; all others are hidden: they become
    ``mask_token``, by default the level K + 1, as under `MaskNoise`."""

    def __init__(self, k: int, d: int, keep: int, *, mask_token: int | None = None) -> None:
        self._ablation = Ablation(d, keep)
        super().__init__(self._ablation, k, mask_token)

    @property
    def strikes_independently(self) -> bool:
        return False

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
