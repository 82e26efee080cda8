"""The worst manipulation of a test set for its AUC: branch and bound in integers.

With x the manipulated positives and y the manipulated negatives, the loss in half pairs is

    loss(x, y) = a·x + b·y + xᵀ e y,          |x| = s, |y| = t,

a, b and e integers. For **any** matrix u the two sides may be maximised apart, which gives Lagrange's bound

    loss ≤ max_x Σ_i x_i (a_i + t largest of u_i·)  +  max_y Σ_j y_j (b_j + s largest of (e − u)_·j),

two sorts and no solver. u is held in integers of 1/2¹⁶, so the bound is exact arithmetic, and its floor bounds the
integer loss. Subgradient steps choose u; they decide how tight the bound is, never whether it holds. What stays open is
branched on: a point is manipulated, or neither it nor any point like it is.
"""

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_SCALE = 2**16
_LARGEST = 2**30  # of a multiplier: 2²⁵ pairs of it stay below 2⁶³
_STEPS = 35
_PATIENCE = 5


@dataclass(frozen=True)
class Manipulation:
    """Which positives and which negatives are manipulated, by their places, and how many half pairs that costs."""

    positives: Integers
    negatives: Integers
    loss: int


@dataclass(frozen=True)
class _Part:
    """What is open: s of ``rows`` and t of ``columns`` are to be added to those already chosen, which cost ``base``."""

    base: int
    chosen_rows: Integers
    chosen_columns: Integers
    rows: Integers
    columns: Integers
    a: Integers
    b: Integers
    e: Integers
    s: int
    t: int
    u: Integers

    def with_row(self, row: int) -> "_Part":
        """The part in which this row is chosen."""
        rest = np.arange(len(self.rows)) != row
        return replace(
            self._restricted(rest),
            base=self.base + int(self.a[row]),
            chosen_rows=np.append(self.chosen_rows, self.rows[row]),
            b=self.b + self.e[row],
            s=self.s - 1,
        )

    def without_row(self, row: int) -> "_Part":
        """The part in which neither this row nor one equal to it is chosen: of equal rows this one comes first."""
        return self._restricted((self.a != self.a[row]) | (self.e != self.e[row]).any(axis=1))

    def _restricted(self, rest: npt.NDArray[np.bool_]) -> "_Part":
        return replace(self, rows=self.rows[rest], a=self.a[rest], e=self.e[rest], u=self.u[rest])

    def transpose(self) -> "_Part":
        """The same with the sides exchanged."""
        return _Part(
            self.base,
            self.chosen_columns,
            self.chosen_rows,
            self.columns,
            self.rows,
            self.b,
            self.a,
            self.e.T,
            self.t,
            self.s,
            _SCALE * self.e.T - self.u.T,
        )

    @property
    def possible(self) -> bool:
        """Whether there are as many rows and columns as must be chosen."""
        return self.s <= len(self.rows) and self.t <= len(self.columns)

    @property
    def one_sided(self) -> bool:
        """Whether one side has no choice left, so that sorting the other solves the part."""
        return self.s in (0, len(self.rows)) or self.t in (0, len(self.columns))

    @property
    def total(self) -> int:
        """The loss if all rows and columns were chosen: no choice of fewer loses more."""
        return self.base + int(self.a.sum() + self.b.sum() + self.e.sum())

    def best_columns(self, rows: npt.NDArray[Any]) -> Integers:
        """The best answer of the columns to chosen rows."""
        return _largest(self.b + self.e[rows].sum(axis=0), self.t)

    def best_rows(self, columns: npt.NDArray[Any]) -> Integers:
        """The best answer of the rows to chosen columns."""
        return _largest(self.a + self.e[:, columns].sum(axis=1), self.s)

    def manipulation(self, rows: Integers, columns: Integers) -> Manipulation:
        """What the choice of these comes to, with what is chosen already."""
        loss = self.base + self.a[rows].sum() + self.b[columns].sum() + self.e[np.ix_(rows, columns)].sum()
        return Manipulation(
            np.append(self.chosen_rows, self.rows[rows]),
            np.append(self.chosen_columns, self.columns[columns]),
            int(loss),
        )


@dataclass
class Search:
    """A search for the largest loss. ``bound`` never falls short of it, and ``best`` has been found."""

    a: Integers
    b: Integers
    e: Integers
    best: Manipulation = field(init=False)
    bound: int = field(init=False)

    def run(self, budget: int, deadline: float) -> None:
        """Search until the bound is attained, or the clock `time.monotonic` says ``deadline``.

        One manipulation and one bound come first, whatever the deadline. Manipulating a further point never raises the
        AUC, so the whole budget is spent: s positives and the rest negatives, every s a part of its own.
        """
        cap, likely = self._own_losses(budget)
        n, m = self.e.shape
        shares = sorted(range(max(0, budget - m), min(budget, n) + 1), key=lambda s: abs(s - likely))
        half = self.e * (_SCALE // 2)
        self.best = _climb(self._share(likely, budget - likely, half))
        order = count()  # of equal bounds the older part comes first, and parts are never compared
        heap: list[tuple[int, int, _Part]] = []

        def push(part: _Part, bound: int) -> None:
            if bound > self.best.loss:
                heapq.heappush(heap, (-bound, next(order), part))

        for s in shares:
            part = self._share(s, budget - s, half)
            in_time = time.monotonic() < deadline
            if in_time:
                self._keep(_climb(part))
            push(part, min(cap, self._first_bound(part)) if in_time else cap)
        while heap and -heap[0][0] > self.best.loss and time.monotonic() < deadline:
            bound, _, part = heapq.heappop(heap)
            tighter, part, place = self._tighten(part, deadline)
            bound = min(-bound, tighter)
            if bound <= self.best.loss:
                continue
            if time.monotonic() >= deadline:
                push(part, bound)
                break
            for branch in _branches(part, place):
                if branch.possible:
                    push(branch, min(bound, self._first_bound(branch)))
        self.bound = max([self.best.loss, *(-bound for bound, _, _ in heap[:1])])

    def _own_losses(self, budget: int) -> tuple[int, int]:
        """A bound by one sort, since xy ≤ (x + y)/2, and how many positives are among the points that it is made of."""
        gains = np.maximum(self.e, 0)
        doubled = np.concatenate([2 * self.a + gains.sum(axis=1), 2 * self.b + gains.sum(axis=0)])
        largest = _largest(doubled, budget)
        everything = int(self.a.sum() + self.b.sum() + self.e.sum())
        return min(everything, int(doubled[largest].sum()) // 2), int((largest < len(self.a)).sum())

    def _share(self, s: int, t: int, u: Integers) -> _Part:
        none = np.zeros(0, np.int64)
        n, m = self.e.shape
        return _Part(0, none, none, np.arange(n), np.arange(m), self.a, self.b, self.e, s, t, u)

    def _first_bound(self, part: _Part) -> int:
        return self._solve(part) if part.one_sided else min(part.total, _relax(part, part.u)[0])

    def _solve(self, part: _Part) -> int:
        """The largest loss of a part with one free side; it is kept if it is the best so far."""
        if part.s in (0, len(part.rows)):
            rows = np.arange(part.s)
            columns = part.best_columns(rows)
        else:
            columns = np.arange(part.t)
            rows = part.best_rows(columns)
        return self._keep(part.manipulation(rows, columns))

    def _keep(self, found: Manipulation) -> int:
        if found.loss > self.best.loss:
            self.best = found
        return found.loss

    def _tighten(self, part: _Part, deadline: float) -> tuple[int, _Part, tuple[int, int]]:
        """Subgradient steps: the least bound, the part with its multipliers, and where to branch (axis, place)."""
        u, step, waited = part.u, 1.0, 0
        least, kept, place = None, part.u, (0, 0)
        for _ in range(_STEPS):
            bound, scaled, rows, columns, gradient = _relax(part, u)
            self._keep(part.manipulation(rows, part.best_columns(rows)))
            self._keep(part.manipulation(part.best_rows(columns), columns))
            if least is None or scaled < least[1]:
                least, kept, waited = (bound, scaled), u, 0
                place = _most_contested(gradient)
            else:
                waited += 1
                if waited == _PATIENCE:
                    u, step, waited = kept, step / 2, 0
            length = int((gradient * gradient).sum())
            if least[0] <= self.best.loss or length == 0 or time.monotonic() >= deadline:
                break
            shift = int(step * (scaled - _SCALE * self.best.loss) / length) or 1
            u = np.clip(u - shift * gradient, -_LARGEST, _LARGEST)
        assert least is not None
        return least[0], replace(part, u=kept), place


def _relax(part: _Part, u: Integers) -> tuple[int, int, Integers, Integers, Integers]:
    """The bound of u as an integer and in 1/2¹⁶, the rows and columns that attain it, and where the sides disagree."""
    v = _SCALE * part.e - u
    columns_of = np.argpartition(-u, part.t - 1, axis=1)[:, : part.t]
    rows_of = np.argpartition(-v, part.s - 1, axis=0)[: part.s]
    of_rows = _SCALE * part.a + np.take_along_axis(u, columns_of, 1).sum(axis=1)
    of_columns = _SCALE * part.b + np.take_along_axis(v, rows_of, 0).sum(axis=0)
    rows, columns = _largest(of_rows, part.s), _largest(of_columns, part.t)
    scaled = _SCALE * part.base + int(of_rows[rows].sum()) + int(of_columns[columns].sum())
    gradient = np.zeros_like(u)
    gradient[rows[:, None], columns_of[rows]] = 1
    gradient[rows_of[:, columns], columns[None, :]] -= 1
    return scaled // _SCALE, scaled, rows, columns, gradient


def _largest(values: Integers, number: int) -> Integers:
    """The places of the largest values."""
    return np.argsort(-values, kind="stable")[:number]


def _climb(part: _Part) -> Manipulation:
    """Each side answers the other as well as it can until neither gains: a manipulation to begin with."""
    columns = _largest(part.b, part.t)
    best = part.manipulation(part.best_rows(columns), columns)
    while True:
        rows = part.best_rows(columns)
        columns = part.best_columns(rows)
        better = part.manipulation(rows, columns)
        if better.loss <= best.loss:
            return best
        best = better


def _most_contested(gradient: Integers) -> tuple[int, int]:
    """The row (axis 0) or column (axis 1) on which the two sides of the relaxation disagree most."""
    off = np.abs(gradient)
    by_row, by_column = off.sum(axis=1) * gradient.shape[0], off.sum(axis=0) * gradient.shape[1]
    if by_row.max() >= by_column.max():
        return 0, int(by_row.argmax())
    return 1, int(by_column.argmax())


def _branches(part: _Part, place: tuple[int, int]) -> Iterator[_Part]:
    axis, index = place
    if axis == 0:
        yield part.with_row(index)
        yield part.without_row(index)
    else:
        turned = part.transpose()
        yield turned.with_row(index).transpose()
        yield turned.without_row(index).transpose()
