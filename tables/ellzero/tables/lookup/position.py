"""Where a probability lies among the rows of a part, exactly: in integers, found through doubles."""

from bisect import bisect_left, bisect_right
from fractions import Fraction
from math import nextafter
from typing import NamedTuple

import numpy as np

from ellzero.tables.format.rows import DIGITS, ColumnSlice

_UNIT = 10**DIGITS


class RowPosition(NamedTuple):
    """p exceeds the thresholds of ``passed`` rows; of the next ``ties`` only the engine can tell; no others."""

    passed: int
    ties: int


def place(part: ColumnSlice, p: Fraction, d: int) -> RowPosition | None:
    """The place of p, 1/2 < p < 1, among the rows r ≤ d of a part that is not flat; None if it may lie beyond them."""
    units, rest = divmod(p.numerator * _UNIT, p.denominator)
    ceiling = units + (rest > 0)
    rows, stop = part.rows, min(part.stop, d + 1)
    # The last threshold lies less than a unit below its decimal.
    if d >= part.stop and ceiling >= part.last_unit:
        return None
    # Rows below the ceiling are passed: all whose min_p is at most the double below p, which lies thousands of units
    # under p, and hardly ever any more.
    passed = min(int(rows.min_p.searchsorted(nextafter(float(p), 0.0), "right")), stop)
    if passed < stop and rows.unit(passed) < ceiling:
        passed = bisect_left(range(stop), ceiling, passed + 1, key=rows.unit)
    if passed == stop or rows.unit(passed) > ceiling:
        return RowPosition(passed, 0)
    # Of the rows equal to the ceiling the inexact come first, since τ never falls: their τ lies less than a unit below,
    # so p passes them if it is that decimal; otherwise only the engine can tell.
    equal = bisect_right(range(stop), ceiling, passed, key=rows.unit)
    close = int(np.count_nonzero(~rows.exact[passed:equal]))
    return RowPosition(passed, close) if rest else RowPosition(passed + close, 0)
