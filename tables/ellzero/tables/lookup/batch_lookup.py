"""Radii of arrays: of doubles by one search, of counts by as few certificates as possible."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete
from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import Source, combine_sources
from ellzero.tables.format.rows import End
from ellzero.tables.lookup.column_cache import ColumnCache
from ellzero.tables.lookup.results import ABSTAIN, RadiiResult, RadiusResult

_P_ARRAY = "an array of float64, float32 or float16 from 0 to 1"
_COUNT_ARRAY = "an array of integers from 0 to n"


def radii_of_doubles(columns: ColumnCache, p: NDArray[Any], noise: Discrete, d: int) -> RadiiResult:
    """The largest r ≤ d with p > τ_r for each p: the number of rows whose min_p it reaches, minus one."""
    if p.dtype.kind != "f" or p.dtype.itemsize > 8:
        raise InvalidInput("p", _P_ARRAY, p.dtype)
    if not p.size:
        return RadiiResult(np.empty(p.shape, np.int32), Source.TABLE)
    doubles = np.ascontiguousarray(p, np.float64).ravel()
    if not (doubles.min() >= 0 and doubles.max() <= 1):  # false for NaN too
        wrong = doubles[~((doubles >= 0) & (doubles <= 1))][0]
        raise InvalidInput("p", _P_ARRAY, float(wrong))
    column, source = columns.find(noise)
    if column is None:
        radii, last = np.where(doubles > 0.5, 0, ABSTAIN).astype(np.int32), 0
    else:
        radii, last = column.rows.min_p.searchsorted(doubles, "right").astype(np.int32), len(column.rows) - 1
        radii -= 1
    if radii.max() == last:
        beyond = radii == last
        if column is not None and (column.end is not End.CUT or d < column.stop):
            radii[beyond] = d
        else:
            radii[beyond], computed = _beyond(columns, doubles[beyond], noise, d)
            source = Source.COMPUTED if computed else source
    if last > d:
        np.minimum(radii, d, out=radii)
    return RadiiResult(radii.reshape(p.shape), source)


def radii_of_counts(
    counts: NDArray[Any], n: int, certify: Callable[[int], RadiusResult], least_count: Callable[[int], int | None]
) -> RadiiResult:
    """The radius of each count of n votes: ``certify`` decides one; ``least_count`` is k*_r."""
    if counts.dtype.kind not in "iu":
        raise InvalidInput("counts", _COUNT_ARRAY, counts.dtype)
    if counts.size and not (counts.min() >= 0 and counts.max() <= n):
        raise InvalidInput("counts", _COUNT_ARRAY, counts.min() if counts.min() < 0 else counts.max())
    if not counts.size:
        return RadiiResult(np.empty(counts.shape, np.int32), Source.TABLE)
    distinct, places = np.unique(counts.astype(np.int64), return_inverse=True)
    results = [certify(int(distinct[0])), certify(int(distinct[-1]))]
    first, last = (result.number for result in results)
    if len(distinct) <= last - first:
        results = [certify(count) for count in distinct.tolist()]
        radii = np.array([result.number for result in results])
    else:
        # k*_r never decreases with r, so a count's radius follows from the number of least counts that it reaches.
        least = [least_count(r) for r in range(first + 1, last + 1)]
        radii = first + np.searchsorted(np.array(least, np.int64), distinct, "right")
    source = combine_sources([result.source for result in results])
    return RadiiResult(radii.astype(np.int32)[places].reshape(counts.shape), source)


def _beyond(
    columns: ColumnCache, doubles: NDArray[np.float64], noise: Discrete, d: int
) -> tuple[NDArray[np.int64], bool]:
    """The radii of probabilities beyond the rows in memory, and whether any had to be computed (p = 1 does not)."""
    radii = np.full(doubles.shape, d, np.int64)
    below = doubles < 1.0
    needed = bool(below.any())
    if needed:
        distinct, inverse = np.unique(doubles[below], return_inverse=True)
        radii[below] = columns.compute_radii(noise, distinct, d)[inverse]
    return radii, needed
