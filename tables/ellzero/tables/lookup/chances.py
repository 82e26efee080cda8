"""Thresholds from rows as the chances of votes."""

from collections.abc import Callable
from fractions import Fraction

from ellzero.certificates import Noise
from ellzero.certificates.binomial_tails import ThresholdProbability
from ellzero.tables.format.rows import DIGITS, ColumnSlice

_UNIT = 10**DIGITS


def threshold_probabilities(noise: Noise, part: ColumnSlice | None) -> Callable[[int], ThresholdProbability]:
    """τ_r as a chance, for any r: from the rows 0, 1, … at hand to begin with, by the engine where they do not decide.

    A row says that τ_r lies less than a unit below its decimal, or on it. That is hardly ever too little, and spares
    the r steps of the engine.
    """

    def chance(r: int) -> ThresholdProbability:
        if part is None or r >= part.stop:
            return ThresholdProbability(noise, r)
        unit = part.rows.unit(r)
        below = 0 if part.rows.exact[r] else 1
        return ThresholdProbability(noise, r, (Fraction(unit - below, _UNIT), Fraction(unit, _UNIT)))

    return chance
