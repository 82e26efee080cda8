"""The discrete noise of the paper on arrays of levels, drawn exactly from uniform random words.

Nothing is rounded, and no word is reduced modulo a number that does not divide its range: a float32 between 0 and 1
lies on a grid of 2^-24, a remainder prefers small values, and neither would be the noise that is certified.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod
from typing import Any

from numpy.typing import NDArray

from ellzero.certificates import Bounds, Discrete, Votes, anytime_certified, certified, certified_from_votes
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.noise.family_noise import as_radius
from ellzero.smoothing.noise.random_streams import Array, Kind, RandomSource, Shape, level_kind

_BYTE_BITS, _SHORT_BITS, _LONG_BITS = 8, 15, 62


class Unit(StrEnum):
    """What counts as one change in the ℓ0 norm."""

    COORDINATE = "coordinate"
    PIXEL = "pixel"


@dataclass(frozen=True, init=False)
class DiscreteNoise:
    """Keep a unit with probability α, otherwise move it to one of its K other values.

    ``unit`` is what an adversary changes, and what noise replaces as a whole. *coordinate*: each number by itself; K is
    the number of levels minus one, d the number of all coordinates, and with C channels a radius R covers ⌊R/C⌋ whole
    pixels. *pixel*: the C numbers along the first axis are one symbol; K = levels^C − 1 and d = H·W.
    """

    noise: Discrete
    unit: Unit
    levels: int
    channels: int

    def __init__(
        self, k: int, alpha: RationalLike, *, unit: Unit | str = Unit.COORDINATE, channels: int | None = None
    ) -> None:
        """``k`` is the number of levels minus one in both units; ``channels`` is for pixels."""
        unit = _read_unit(unit)
        if (channels is None) is (unit is Unit.PIXEL):
            raise InvalidInput("channels", "given for pixels, and for nothing else", channels)
        unit_numbers = 1 if channels is None else read_integer(channels, "channels", 1, 64)
        levels = read_integer(k, "k", 1) + 1
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "channels", unit_numbers)
        object.__setattr__(self, "noise", Discrete(levels**unit_numbers - 1, alpha))

    @classmethod
    def of(cls, noise: "Discrete | DiscreteNoise") -> "DiscreteNoise":
        """A ``Discrete`` as one on coordinates."""
        return noise if isinstance(noise, DiscreteNoise) else cls(noise.k, noise.alpha)

    @property
    def sample_levels(self) -> int:
        return self.levels

    @property
    def tag(self) -> str:
        return f"discrete k={self.levels - 1} channels={self.channels} alpha={self.noise.alpha}"

    def description(self) -> Mapping[str, Any]:
        return {
            "family": "discrete",
            "k": self.noise.k,
            "alpha": str(self.noise.alpha),
            "unit": str(self.unit),
            "levels": self.levels,
            "channels": self.channels,
        }

    def check_shape(self, shape: Shape) -> None:
        if self.unit is Unit.PIXEL and (len(shape) < 2 or shape[0] != self.channels):
            raise InvalidInput("x", f"an array whose first axis has the {self.channels} channels", tuple(shape))

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        self.check_shape(batch.shape[1:])
        return batch

    @property
    def strikes_independently(self) -> bool:
        return True

    def unit_shape(self, shape: Shape) -> Shape:
        return shape if self.unit is Unit.COORDINATE else shape[1:]

    def dimension(self, shape: Shape) -> int:
        return prod(self.unit_shape(shape))

    def sample(self, x: Array, source: RandomSource, count: int) -> Array:
        return self._sample_noisy(x, x.shape, source, count)

    def sample_batch(self, batch: Array, source: RandomSource) -> Array:
        return self._sample_noisy(batch, batch.shape[1:], source, len(batch))

    def radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        return as_radius(certified_from_votes(self.noise, votes, d, top_k=top_k))

    def anytime_radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        return as_radius(anytime_certified(self.noise, votes, d, top_k=top_k))

    def two_class_radius(self, bounds: Bounds, d: int, top_k: int = 1) -> int | None:
        return as_radius(certified(self.noise, bounds.lower, d, p_b=bounds.upper, top_k=top_k))

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        return {}

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        """``count`` noisy inputs of this shape, from x or from each row of x. Exact, whatever α and K are.

        With α ≥ 1/(K+1): keep with probability α' = (α(K+1)−1)/K, otherwise draw uniformly from *all* K+1 values; so
        that a unit stays with probability α' + (1−α')/(K+1) = α. Below that, keep with probability α, otherwise
        draw from all values until it is another one.
        """
        others_only, share = self._kept_share
        units = shape if self.unit is Unit.COORDINATE else (1, *self.unit_shape(shape))
        own = source.array(x)
        keep = sample_coins(source, share, count * prod(units)).reshape(count, *units)
        values = sample_levels(source, self.levels, count * prod(shape)).reshape(count, *shape)
        if others_only:
            self._draw_others(values, keep, own, source)
        # x where ``keep`` is true, the value elsewhere: by bits, since a choice for each element has a branch for each.
        mask = source.cast(keep, level_kind(self.levels))
        mask -= 1  # keep: 0; else all ones
        values ^= own
        values &= mask
        values ^= own
        return values

    @cached_property
    def _kept_share(self) -> tuple[bool, Fraction]:
        """Whether replaced units are drawn from the others only, and the probability to be kept before that."""
        k, alpha = self.noise.k, self.noise.alpha
        others_only = alpha * (k + 1) < 1
        return others_only, alpha if others_only else (alpha * (k + 1) - 1) / Fraction(k)

    def _draw_others(self, values: Array, keep: Array, own: Array, source: RandomSource) -> None:
        """Draw the values of replaced units again until all of them differ from those of x."""
        flat = values.reshape(len(values), self.channels, -1)  # samples, numbers of a unit, units
        while True:
            same = (values == own).reshape(flat.shape).all(1) & ~keep.reshape(len(values), -1)
            again = source.places(same.reshape(-1))
            if not len(again):
                return
            sample, unit = again // flat.shape[2], again % flat.shape[2]
            fresh = sample_levels(source, self.levels, len(again) * self.channels)
            flat[sample, :, unit] = fresh.reshape(-1, self.channels)


def _read_unit(unit: Unit | str) -> Unit:
    try:
        return Unit(unit)
    except ValueError:
        raise InvalidInput("unit", " or ".join(Unit), unit) from None


def sample_coins(source: RandomSource, share: Fraction, count: int) -> Array:
    """``count`` independent booleans, each True with probability ``share`` exactly, 0 ≤ share < 1.

    A byte decides unless it equals the first 8 bits of the share; then more bits do, until they differ.
    """
    first, rest = _digits(share, _BYTE_BITS)
    words = source.words(count, "uint8")
    true = words < first
    ties = source.places(words == first) if rest else ()
    while len(ties) and rest:
        digit, rest = _digits(rest, _LONG_BITS)
        more = _nonnegative(source.words(len(ties), "int64"), _LONG_BITS)
        true[ties[more < digit]] = True
        ties = ties[more == digit]
    return true


def sample_levels(source: RandomSource, levels: int, count: int) -> Array:
    """``count`` independent levels, uniform over 0..levels−1, of their `level_kind`.

    If ``levels`` is a power of two, bits are masked off; otherwise words past its last whole multiple are drawn again.
    """
    if levels <= 1 << _BYTE_BITS and levels & (levels - 1) == 0:
        masked = source.words(count, "uint8")
        if levels < 1 << _BYTE_BITS:
            masked &= levels - 1
        return masked
    kind: Kind
    kind, bits = ("int16", _SHORT_BITS) if levels <= 1 << _BYTE_BITS else ("int64", _LONG_BITS)
    end = (1 << bits) // levels * levels
    words = _nonnegative(source.words(count, kind), bits)
    beyond = source.places(words >= end)
    while len(beyond):
        words[beyond] = _nonnegative(source.words(len(beyond), kind), bits)
        beyond = beyond[words[beyond] >= end]
    words %= levels
    return source.cast(words, level_kind(levels))


@lru_cache(maxsize=1_024)
def _digits(share: Fraction, bits: int) -> tuple[int, Fraction]:
    """The first ``bits`` bits of a number in [0, 1), and the rest of it, in [0, 1) again."""
    scaled = share * (1 << bits)
    whole = scaled.numerator // scaled.denominator
    return whole, scaled - whole


def _nonnegative(words: Array, bits: int) -> Array:
    words &= (1 << bits) - 1
    return words
