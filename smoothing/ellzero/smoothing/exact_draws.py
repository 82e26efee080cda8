"""Exact random choices from uniform words: a coin of any rational bias, a level out of any number of them.

Nothing is rounded and nothing is reduced modulo what does not divide it: a float32 between 0 and 1 sits on a grid of
2^-24, a remainder prefers small values, and neither is the noise that was certified.
"""

from fractions import Fraction

import torch
from torch import Tensor

from ellzero.smoothing.streams import Source

_BYTE = 1 << 8
_SHORT_BITS, _LONG_BITS = 15, 62


def coins(source: Source, share: Fraction, count: int) -> Tensor:
    """``count`` independent booleans, each True with probability ``share`` exactly, 0 ≤ share < 1.

    A word of 16 bits decides unless it equals the first 16 bits of the share; then more bits do, until they differ.
    """
    first, rest = _digits(share, 16)
    words = source.words(count, torch.int16)
    # The order of signed words is as good as any other: all 2^16 values are equally likely.
    true = words < first - (1 << 15)
    if rest:
        ties = (words == first - (1 << 15)).nonzero().squeeze(1)
        while len(ties) and rest:
            digit, rest = _digits(rest, _LONG_BITS)
            more = _nonnegative(source.words(len(ties), torch.int64), _LONG_BITS)
            true[ties[more < digit]] = True
            ties = ties[more == digit]
    return true


def uniform_levels(source: Source, levels: int, count: int) -> Tensor:
    """``count`` independent levels, uniform over 0..levels−1: uint8 up to 256 of them, int32 beyond.

    Bits are masked off where ``levels`` is a power of two; otherwise words past its last whole multiple are drawn anew.
    """
    if levels <= _BYTE and levels & (levels - 1) == 0:
        drawn = source.words(count, torch.uint8)
        return drawn if levels == _BYTE else drawn.bitwise_and_(levels - 1)
    dtype, bits, kept = (
        (torch.int16, _SHORT_BITS, torch.uint8) if levels <= _BYTE else (torch.int64, _LONG_BITS, torch.int32)
    )
    end = (1 << bits) // levels * levels
    words = _nonnegative(source.words(count, dtype), bits)
    beyond = (words >= end).nonzero().squeeze(1)
    while len(beyond):
        words[beyond] = _nonnegative(source.words(len(beyond), dtype), bits)
        beyond = beyond[words[beyond] >= end]
    return words.remainder_(levels).to(kept)


def _digits(share: Fraction, bits: int) -> tuple[int, Fraction]:
    """The first ``bits`` bits of a number in [0, 1), and the rest of it, in [0, 1) again."""
    scaled = share * (1 << bits)
    whole = scaled.numerator // scaled.denominator
    return whole, scaled - whole


def _nonnegative(words: Tensor, bits: int) -> Tensor:
    return words.bitwise_and_((1 << bits) - 1)
