"""Stopping rules: when enough votes have been drawn, and what they certify."""

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

    *settled*: when the remaining votes cannot change class or radius, so that the answer is that of all n. *anytime*:
    when by a confidence sequence the radius is already the one that all n would reach at the present share of votes.
    *never*: draw all n.
    """

    SETTLED = "settled"
    ANYTIME = "anytime"
    NEVER = "never"


@dataclass(frozen=True)
class Tally:
    """Votes of each class so far, out of at most n; other votes have chosen the class ``selected``."""

    counts: tuple[int, ...]
    selected: int
    n: int

    @property
    def drawn(self) -> int:
        return sum(self.counts)

    @property
    def count(self) -> int:
        """Votes for the selected class."""
        return self.counts[self.selected]

    @property
    def undrawn(self) -> int:
        return self.n - self.drawn

    def complete_with(self, label: int) -> "Tally":
        """This tally with all undrawn votes for one class."""
        counts = list(self.counts)
        counts[label] += self.undrawn
        return Tally(tuple(counts), self.selected, self.n)


@dataclass(frozen=True)
class TallyCertificate:
    """What a tally certifies: a radius (None to abstain), a lower bound of p, and an upper one of all other classes."""

    radius: int | None
    lower: float
    upper: float | None = None


class StoppingRule(Protocol):
    """Turns tallies into certificates."""

    def is_finished(self, tally: Tally) -> bool:
        """Whether no more votes are needed."""

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
    """The (p_A, p_B) certificate: the selected class at ε/2, every other at ε/(2(C−1))."""

    def __init__(self, noise: NoiseFamily, d: int, failure: Fraction) -> None:
        self._noise, self._d, self._failure = noise, d, failure

    def is_finished(self, tally: Tally) -> bool:
        """The radius is least if all undrawn votes go to a rival, and largest if all go to the selected class."""
        least = self.certify(tally).radius
        return least == self.certify(tally.complete_with(tally.selected)).radius

    def certify(self, tally: Tally) -> TallyCertificate:
        bounds = bounds_from_counts(tally.counts, tally.selected, tally.n, self._failure)
        return TallyCertificate(self._noise.two_class_radius(bounds, self._d), bounds.lower, bounds.upper)


class AnytimeRule:
    """The confidence sequence: valid after any number of votes, whatever the reason to stop."""

    def __init__(self, noise: NoiseFamily, d: int, failure: Fraction) -> None:
        self._noise, self._d, self._failure = noise, d, failure

    def is_finished(self, tally: Tally) -> bool:
        """Whether all n votes, at the present share for the selected class, would certify no more than these do."""
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
    """A value that grows with a count from 0 to n in few steps, computed as rarely as possible."""

    def __init__(self, value: Callable[[int], int | None], n: int) -> None:
        self._value, self._n = value, n
        self._starts: list[int] = []  # of the spans computed so far, ascending
        self._ends: list[int] = []
        self._values: list[int | None] = []
        self._lock = Lock()

    def value(self, count: int) -> int | None:
        """The value at a count."""
        with self._lock:
            return self._values[self._span(count)]

    def end(self, count: int) -> int:
        """The least larger count with another value; n + 1 if there is none."""
        with self._lock:
            return self._ends[self._span(count)]

    def _span(self, count: int) -> int:
        at = bisect_right(self._starts, count) - 1
        if at >= 0 and count < self._ends[at]:
            return at
        value = self._value(count)
        low = self._find_start(value, count, self._ends[at] if at >= 0 else 0)
        high = self._find_end(value, count, self._starts[at + 1] if at + 1 < len(self._starts) else self._n + 1)
        self._starts.insert(at + 1, low)
        self._ends.insert(at + 1, high)
        self._values.insert(at + 1, value)
        return at + 1

    def _find_start(self, value: int | None, count: int, low: int) -> int:
        """The least count from ``low`` on that has the value."""
        while low < count:
            middle = (low + count) // 2
            if self._value(middle) == value:
                count = middle
            else:
                low = middle + 1
        return count

    def _find_end(self, value: int | None, count: int, high: int) -> int:
        """The least count up to ``high`` that has another value; ``high`` has one."""
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
    """The rule for these settings; all inputs of a data set share it, and the radii that it has computed."""
    if runner_up:
        noise.two_class_radius(Bounds(1.0, 0.0), d)  # a noise without such certificates raises before any vote
        return RunnerUpRule(noise, d, failure)
    if stopping is Stopping.ANYTIME:
        return AnytimeRule(noise, d, failure)
    return OneClassRule(noise, d, n, failure)
