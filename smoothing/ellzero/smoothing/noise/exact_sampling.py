"""Exact random choices from uniform words: a coin of any rational bias, a level out of any number of them.

Nothing is rounded and nothing is reduced modulo what does not divide it: a float32 between 0 and 1 sits on a grid of
2^-24, a remainder prefers small values, and neither is the noise that was certified.
"""

from fractions import Fraction

from ellzero.smoothing.noise.random_streams import Array, Kind, RandomSource, level_kind

_BYTE_BITS, _SHORT_BITS, _LONG_BITS = 8, 15, 62


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

    Bits are masked off where ``levels`` is a power of two; otherwise words past its last whole multiple are drawn anew.
    """
    if levels <= 1 << _BYTE_BITS and levels & (levels - 1) == 0:
        drawn = source.words(count, "uint8")
        if levels < 1 << _BYTE_BITS:
            drawn &= levels - 1
        return drawn
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


def _digits(share: Fraction, bits: int) -> tuple[int, Fraction]:
    """The first ``bits`` bits of a number in [0, 1), and the rest of it, in [0, 1) again."""
    scaled = share * (1 << bits)
    whole = scaled.numerator // scaled.denominator
    return whole, scaled - whole


def _nonnegative(words: Array, bits: int) -> Array:
    words &= (1 << bits) - 1
    return words
