"""When enough votes have been drawn, and what they certify."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from threading import Lock
from typing import Protocol

from ellzero.certificates import (
    Bounds,
    Votes,
    anytime_lower_bound,
    bounds_from_counts,
    lower_bound,
)
from ellzero.smoothing.noise.base import NoiseFamily


class Stopping(StrEnum):
    """When to stop before all n votes are drawn.

    *settled*: when the votes left cannot change class or radius, so that the answer is that of all n. *anytime*: when
    by a confidence sequence the radius is already the one that all n would reach at the present share of votes.
    """

    SETTLED = "settled"
    ANYTIME = "anytime"
    NEVER = "never"


@dataclass(frozen=True)
class Tally:
    """Votes of each class so far, out of n that may be drawn; the class was chosen on others."""

    counts: tuple[int, ...]
    chosen: int
    n: int

    @property
    def drawn(self) -> int:
        return sum(self.counts)

    @property
    def count(self) -> int:
        """Votes for the chosen class."""
        return self.counts[self.chosen]

    @property
    def undrawn(self) -> int:
        return self.n - self.drawn

    def complete_with(self, label: int) -> "Tally":
        """With all undrawn votes for one class."""
        counts = list(self.counts)
        counts[label] += self.undrawn
        return Tally(tuple(counts), self.chosen, self.n)


@dataclass(frozen=True)
class TallyCertificate:
    """What a tally certifies: a radius, None to abstain, by a lower bound of p and an upper one of all others."""

    radius: int | None
    lower: float
    upper: float | None = None


class StoppingRule(Protocol):
    """Turns tallies into certificates."""

    def is_finished(self, tally: Tally) -> bool:
        """Whether no more votes are wanted."""

    def certify(self, tally: Tally) -> TallyCertificate:
        """What the votes certify if no more are drawn."""


class OneClassRule:
    """Clopper–Pearson for n votes fixed beforehand; undrawn ones count as failures."""

    def __init__(self, noise: NoiseFamily, d: int, n: int, failure: Fraction) -> None:
        self._steps = StepFunction(lambda count: noise.radius(Votes(count, n, failure), d), n)
        self._failure = failure

    def is_finished(self, tally: Tally) -> bool:
        return tally.count + tally.undrawn < self._steps.end(tally.count)

    def certify(self, tally: Tally) -> TallyCertificate:
        return TallyCertificate(self._steps.value(tally.count), lower_bound(Votes(tally.count, tally.n, self._failure)))


class RunnerUpRule:
    """The (p_A, p_B) certificate: the chosen class at ε/2, every other at ε/(2(C−1))."""

    def __init__(self, noise: NoiseFamily, d: int, failure: Fraction) -> None:
        self._noise, self._d, self._failure = noise, d, failure

    def is_finished(self, tally: Tally) -> bool:
        """All undrawn votes for the rival make the least radius, all for the chosen class the largest."""
        least = self.certify(tally).radius
        return least == self.certify(tally.complete_with(tally.chosen)).radius

    def certify(self, tally: Tally) -> TallyCertificate:
        bounds = bounds_from_counts(tally.counts, tally.chosen, tally.n, self._failure)
        return TallyCertificate(self._noise.two_class_radius(bounds, self._d), bounds.lower, bounds.upper)


class AnytimeRule:
    """The confidence sequence: valid after any number of votes, whatever made somebody stop."""

    def __init__(self, noise: NoiseFamily, d: int, failure: Fraction) -> None:
        self._noise, self._d, self._failure = noise, d, failure

    def is_finished(self, tally: Tally) -> bool:
        """Whether all n votes, with the present share for the chosen class, would certify no more than these do."""
        if not tally.drawn:
            return False
        expected = -(-tally.count * tally.n // tally.drawn)
        return self._radius(expected, tally.n) == self._radius(tally.count, tally.drawn)

    def certify(self, tally: Tally) -> TallyCertificate:
        votes = Votes(tally.count, tally.drawn, self._failure)
        return TallyCertificate(self._radius(tally.count, tally.drawn), anytime_lower_bound(votes))

    def _radius(self, count: int, n: int) -> int | None:
        return self._noise.anytime_radius(Votes(count, n, self._failure), self._d)


class StepFunction:
    """A value that grows with a count from 0 to n in few steps, asked for as seldom as possible."""

    def __init__(self, value: Callable[[int], int | None], n: int) -> None:
        self._value, self._n = value, n
        self._starts: list[int] = []  # of spans known so far, ascending
        self._ends: list[int] = []
        self._values: list[int | None] = []
        self._lock = Lock()

    def value(self, count: int) -> int | None:
        """The value at a count."""
        with self._lock:
            return self._values[self._span(count)]

    def end(self, count: int) -> int:
        """The least count above at which the value is another; n + 1 if there is none."""
        with self._lock:
            return self._ends[self._span(count)]

    def _span(self, count: int) -> int:
        at = bisect_right(self._starts, count) - 1
        if at >= 0 and count < self._ends[at]:
            return at
        value = self._value(count)
        low = self._last_other(value, count, self._ends[at] if at >= 0 else 0)
        high = self._first_other(value, count, self._starts[at + 1] if at + 1 < len(self._starts) else self._n + 1)
        self._starts.insert(at + 1, low)
        self._ends.insert(at + 1, high)
        self._values.insert(at + 1, value)
        return at + 1

    def _last_other(self, value: int | None, count: int, low: int) -> int:
        """The least count from ``low`` on that has the value."""
        while low < count:
            middle = (low + count) // 2
            if self._value(middle) == value:
                count = middle
            else:
                low = middle + 1
        return count

    def _first_other(self, value: int | None, count: int, high: int) -> int:
        """The least count up to ``high`` that has another value, given that ``high`` has."""
        while high - count > 1:
            middle = (count + high) // 2
            if self._value(middle) == value:
                count = middle
            else:
                high = middle
        return high


@lru_cache(maxsize=256)
def make_rule(
    noise: NoiseFamily, d: int, n: int, failure: Fraction, stopping: Stopping, runner_up: bool
) -> StoppingRule:
    """The rule of a certification; all inputs of a data set share it, and what it has found out."""
    if runner_up:
        noise.two_class_radius(Bounds(1.0, 0.0), d)  # a noise that has no such certificate says so before any vote
        return RunnerUpRule(noise, d, failure)
    if stopping is Stopping.ANYTIME:
        return AnytimeRule(noise, d, failure)
    return OneClassRule(noise, d, n, failure)
