"""Probabilities, their bounds and certified radii of a smoothed forest.

Enclosed in doubles, and exact in integers wherever the enclosure leaves a doubt.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.trees.forest import Doubles, Forest, Integers
from ellzero.trees.recursion import (
    Arithmetic,
    Bits,
    DoubleArithmetic,
    IntegerArithmetic,
    Rows,
    unlimited_worst,
    worst_rows,
)

_BLOCK = 512  # inputs at once: what the recursion holds of them stays in the processor's cache
_EXACT_BLOCK = 64
_FIRST_RADIUS = 4


def probabilities(forest: Forest, bits: Bits, alpha: Fraction) -> Doubles:
    """The doubles nearest to 1−p and p: dividing two integers rounds correctly in Python."""
    arithmetic = IntegerArithmetic(forest, alpha)
    numerators, unit = _exact_rows(forest, bits, 0, np.minimum, arithmetic)[:, 0], arithmetic.denominator
    return np.array([[(unit - numerator) / unit, numerator / unit] for numerator in numerators])


def bounds(
    forest: Forest, bits: Bits, alpha: Fraction, r_max: int, *, exact: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The least and the largest p with at most 0..r_max changes: (inputs, r_max + 1) each."""
    if exact:
        integers = IntegerArithmetic(forest, alpha)
        low, high = (
            _exact_fractions(_exact_rows(forest, bits, r_max, worst, integers), integers.denominator)
            for worst in (np.minimum, np.maximum)
        )
    else:
        doubles = DoubleArithmetic(forest, alpha)
        low = doubles.lower(_double_rows(forest, bits, r_max, np.minimum, doubles))
        high = doubles.upper(_double_rows(forest, bits, r_max, np.maximum, doubles))
    return _saturate(low, r_max), _saturate(high, r_max)


def signs(forest: Forest, bits: Bits, alpha: Fraction) -> Integers:
    """1 where p > 1/2, −1 where p < 1/2, 0 where they are equal."""
    doubles = DoubleArithmetic(forest, alpha)
    p = _double_rows(forest, bits, 0, np.minimum, doubles)[:, 0]
    sides = (doubles.lower(p) > 0.5).astype(np.int64) - (doubles.upper(p) < 0.5)
    if len(doubts := np.flatnonzero(sides == 0)):
        integers = IntegerArithmetic(forest, alpha)
        exact = _exact_rows(forest, bits[doubts], 0, np.minimum, integers)[:, 0]
        sides[doubts] = [(2 * p > integers.denominator) - (2 * p < integers.denominator) for p in exact]
    return sides


def radii(forest: Forest, bits: Bits, alpha: Fraction) -> Integers:
    """The largest r at which the class cannot change: −1 at p = 1/2, the number of features where it never can."""
    sides = signs(forest, bits, alpha)
    results = np.full(len(bits), -1, dtype=np.int64)
    for sign, worst in ((1, np.minimum), (-1, np.maximum)):
        group = np.flatnonzero(sides == sign)
        if len(group):
            results[group] = _RadiusSearch(forest, alpha, sign, worst).search(bits[group])
    return results


class _RadiusSearch:
    """The radii of inputs whose class is the one with this sign."""

    def __init__(self, forest: Forest, alpha: Fraction, sign: int, worst: np.ufunc) -> None:
        self._forest, self._sign, self._worst = forest, sign, worst
        self._doubles, self._integers = DoubleArithmetic(forest, alpha), IntegerArithmetic(forest, alpha)
        self._n_tests = int(forest.sizes[forest.roots].sum())

    def search(self, bits: Bits) -> Integers:
        """Twice as far in each round, with the inputs whose class has not changed yet."""
        results = np.full(len(bits), self._forest.n_features, dtype=np.int64)
        if self._is_safe(unlimited_worst(self._forest, self._worst, self._integers)).all():
            return results
        remaining, r_max = np.arange(len(bits)), _FIRST_RADIUS
        while len(remaining):  # which ends: where all bits that are tested may change, every class does
            reach = self._radii_within(bits[remaining], min(r_max, self._n_tests))
            results[remaining] = reach
            remaining, r_max = remaining[reach == r_max], 2 * r_max
        return results

    def _radii_within(self, bits: Bits, r_max: int) -> Integers:
        """The largest r ≤ r_max with the same class, for each input."""
        rows = _double_rows(self._forest, bits, r_max, self._worst, self._doubles)
        lower, upper = self._doubles.lower(rows), self._doubles.upper(rows)
        safe, unsafe = (lower > 0.5, upper <= 0.5) if self._sign > 0 else (upper < 0.5, lower >= 0.5)
        results = safe.sum(axis=1) - 1  # bounds move one way as r grows
        doubts = np.flatnonzero(safe.sum(axis=1) + unsafe.sum(axis=1) < rows.shape[1])
        if len(doubts):
            exact = _exact_rows(self._forest, bits[doubts], r_max, self._worst, self._integers)
            results[doubts] = self._is_safe(exact).sum(axis=1) - 1
        return np.asarray(results, dtype=np.int64)

    def _is_safe(self, numerators: NDArray[Any]) -> NDArray[np.bool_]:
        twice, denominator = 2 * numerators, self._integers.denominator
        return np.asarray(twice > denominator if self._sign > 0 else twice < denominator, dtype=np.bool_)


def _double_rows(forest: Forest, bits: Bits, r_max: int, worst: np.ufunc, arithmetic: DoubleArithmetic) -> Rows:
    return _rows(forest, bits, r_max, worst, arithmetic, _BLOCK)


def _exact_rows(forest: Forest, bits: Bits, r_max: int, worst: np.ufunc, arithmetic: IntegerArithmetic) -> Rows:
    return _rows(forest, bits, r_max, worst, arithmetic, _EXACT_BLOCK)


def _rows(forest: Forest, bits: Bits, r_max: int, worst: np.ufunc, arithmetic: Arithmetic, block: int) -> Rows:
    """`worst_rows`, a block of inputs at a time, as (inputs, radii)."""
    blocks = [
        worst_rows(forest, bits[start : start + block], r_max, worst, arithmetic).T
        for start in range(0, len(bits), block)
    ]
    return np.concatenate(blocks)


def _exact_fractions(numerators: Rows, denominator: int) -> Rows:
    fractions = [Fraction(numerator, denominator) for numerator in numerators.flat]
    return np.array(fractions, dtype=object).reshape(numerators.shape)


def _saturate(rows: Rows, r_max: int) -> Rows:
    """Rows up to r_max: once every feature that is tested may change, nothing more can."""
    return np.pad(rows, ((0, 0), (0, r_max + 1 - rows.shape[1])), mode="edge")
