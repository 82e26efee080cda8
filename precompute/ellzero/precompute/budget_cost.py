"""What a column of budgets will cost, before it is computed: its rows and its seconds. Estimates only, in floats."""

from fractions import Fraction
from itertools import islice
from math import ceil, comb, inf, log, log2
from typing import NamedTuple

from ellzero.certificates import Family
from ellzero.certificates.families.base import Counts
from ellzero.certificates.products import Block
from ellzero.tables.format.rows import DIGITS

# What a machine of 2026 takes for a row, for each of its regions (on a line, or to be sorted), and for a bit of those.
_ROW_SECONDS, _REGION_SECONDS, _SORTED_REGION_SECONDS, _BIT_SECONDS = 7e-5, 4e-7, 4e-6, 3e-10
_MOST_WAYS = 1_000
_MOST_REGIONS = 10**12  # as many as never fit memory


class _AxisChange(NamedTuple):
    """What one change of an axis shows."""

    information: float  # how fast 1 − τ falls: e^-information for each change
    hidden: float  # log of how much of x̄ x may show too
    bits: float
    ratios: tuple[tuple[object, int], ...]  # the line or plane that its ratios lie on, and its dimension
    ways: int  # in which the change may be spent


class BudgetCost:
    """Estimates for the columns of one family."""

    def __init__(self, family: Family, limits: Counts, q: Fraction) -> None:
        self._limits = limits
        self._hidden_most = _loss(q)
        zero = (0,) * len(limits)
        self._changes = [
            _describe_change(family, (*zero[:place], 1, *zero[place + 1 :])) if most else None
            for place, most in enumerate(limits)
        ]

    def rows(self, fixed: Counts) -> int:
        """About how many rows a column has: to its limit, or until thresholds round up to 1.

        That is when the x-mass beyond half of the x̄-mass, about e^(−Σ KL(x̄‖x)), falls below 10^-20; or when what both
        inputs can show falls to q.
        """
        last = self._changes[-1]
        if last is None:
            return 1
        known = [(change, count) for change, count in zip(self._changes, fixed, strict=False) if change and count]
        if not any(change.information or change.hidden for change in (last, *(change for change, _ in known))):
            return 1  # a flat column
        missing, hiding = self._left(fixed)
        rows = min(_divide(missing, last.information), _divide(hiding, last.hidden), float(self._limits[-1]))
        return max(1, ceil(rows) + 1)

    def seconds(self, fixed: Counts, rows: int) -> float:
        """About how long a column of so many rows takes. If all thresholds round up to 1, it takes no product."""
        if min(self._left(fixed)) <= 0:
            return rows * _ROW_SECONDS
        sums: dict[object, tuple[int, int]] = {}
        bits, ways = 0.0, 1
        for change, count in zip(self._changes, (*fixed, rows // 2), strict=True):
            if change is not None and count:
                bits += change.bits * count
                ways = min(ways * comb(count + change.ways - 1, change.ways - 1), _MOST_WAYS)
                for ratio, dimension in change.ratios:
                    sums[ratio] = (sums.get(ratio, (0, 0))[0] + count, dimension)
        regions = 1
        for count, dimension in sums.values():
            regions = min(regions * comb(count + dimension, dimension), _MOST_REGIONS)
        on_line = len(sums) < 2 and all(dimension < 2 for _, dimension in sums.values())
        region_seconds = (_REGION_SECONDS if on_line else _SORTED_REGION_SECONDS) + bits * _BIT_SECONDS
        return rows * ways * (_ROW_SECONDS + regions * region_seconds)

    def _left(self, fixed: Counts) -> tuple[float, float]:
        """How much the last axis may still tell, and hide, before thresholds round up to 1."""
        known = [(change, count) for change, count in zip(self._changes, fixed, strict=False) if change and count]
        told = sum(change.information * count for change, count in known)
        return DIGITS * log(10) - told, self._hidden_most - sum(change.hidden * count for change, count in known)


def _describe_change(family: Family, counts: Counts) -> _AxisChange:
    perturbations = list(islice(family.perturbations(counts), _MOST_WAYS))
    blocks = [[block for block, count in each for _ in range(count)] for each in perturbations]
    longest = max(blocks, key=len)
    return _AxisChange(
        information=max(sum(map(_divergence, own)) for own in blocks),
        hidden=max(sum(_loss(block.common_mass) for block in own) for own in blocks),
        bits=sum(log2(block.z) for block in longest),
        ratios=tuple((_ratios(block), len(block.finite) - 1) for block in longest if len(block.finite) > 1),
        ways=len(perturbations),
    )


def _divergence(block: Block) -> float:
    """KL(x̄‖x) of the outcomes that both can show, as masses of what they share."""
    x, xbar = (sum(pair[side] for pair in block.finite) for side in (0, 1))
    if not x or not xbar:
        return inf
    return sum(b / xbar * (log(b) - log(a) + log(x) - log(xbar)) for a, b in block.finite)


def _loss(share: Fraction) -> float:
    """−log of a share of 1, which may be too small for a double."""
    return max(0.0, log(share.denominator) - log(share.numerator)) if share else inf


def _ratios(block: Block) -> object:
    """The same for a block and for that of the opposite change."""
    return frozenset(frozenset(pair) for pair in block.finite), block.z


def _divide(amount: float, each: float) -> float:
    return 0.0 if amount <= 0 else amount / each if each else inf
