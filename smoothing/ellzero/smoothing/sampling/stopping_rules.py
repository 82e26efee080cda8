"""Stopping rules: when enough votes have been drawn, and what they certify."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from threading import Lock
from typing import Protocol

from ellzero.certificates import (
    Bounds,
    Look,
    Votes,
    anytime_lower_bound,
    bounds_from_counts,
    lower_bound,
    plan_looks,
)
from ellzero.certificates.looks import LAST_SHARE
from ellzero.certificates.multiclass import count_upper_bounds
from ellzero.certificates.votes import guess_lower_bound
from ellzero.smoothing.noise.base import NoiseFamily

# A rigorous bound takes a millisecond, a guess a tenth of it; inputs of a data set often have the same counts.
_lower_bound = lru_cache(maxsize=4_096)(lower_bound)
_guess_lower_bound = lru_cache(maxsize=4_096)(guess_lower_bound)


class Stopping(StrEnum):
    """When to stop before all n votes are drawn.

    *settled*: when the remaining votes cannot change class or radius, so that the answer is that of all n. *staged*: at
    one of a few looks, when more votes are unlikely to raise the radius; *hasty* is the same, content with less
    certainty of that. *anytime*: when by a confidence sequence the radius is already the one that all n would reach at
    the present share of votes. *never*: draw all n.
    """

    SETTLED = "settled"
    STAGED = "staged"
    HASTY = "hasty"
    ANYTIME = "anytime"
    NEVER = "never"

    def plan(self, n: int, failure: Fraction) -> tuple[Look, ...]:
        """The looks, of which the best is the certificate; none if the rule has no looks."""
        return plan_looks(n, failure, _STAGING[self].last_share) if self in _STAGING else ()


@dataclass(frozen=True)
class Staging:
    """What distinguishes rules with looks: the last look's share of the failure, and when to stop.

    A rule stops if luck in the remaining votes, of so many standard deviations, would not raise the radius: ``early``
    at the beginning, falling to ``late`` with the fourth root of the share of votes drawn. This decides how many votes
    are drawn and what radius is expected; the certificate holds for any numbers. Those here were chosen by simulation.
    """

    last_share: Fraction
    early: float
    late: float

    def luck(self, tally: "Tally") -> float:
        """How many standard deviations it takes to stop now."""
        return self.early - (self.early - self.late) * sqrt(sqrt(tally.drawn / tally.n))


_STAGING = {
    Stopping.STAGED: Staging(LAST_SHARE, 2.0, 2.0),
    Stopping.HASTY: Staging(Fraction(7, 10), 2.0, 0.75),
}


@dataclass(frozen=True)
class Tally:
    """Votes of each class so far, out of at most n; other votes have chosen the class ``selected``.

    ``looks`` are the counts at every look so far, the present one included, for rules that have looks.
    """

    counts: tuple[int, ...]
    selected: int
    n: int
    looks: tuple[tuple[int, ...], ...] = ()

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

    @property
    def looks(self) -> tuple[Look, ...]:
        """Where the rule looks at the votes; none if it may look at any number of them."""

    def is_finished(self, tally: Tally) -> bool:
        """Whether no more votes are needed."""

    def certify(self, tally: Tally) -> TallyCertificate:
        """What the votes certify if no more are drawn."""


class OneClassRule:
    """Clopper–Pearson for n votes fixed beforehand; undrawn ones count as failures."""

    looks = ()

    def __init__(self, noise: NoiseFamily, d: int, n: int, failure: Fraction, top_k: int) -> None:
        self._radius = MonotoneCache(lambda count: noise.radius(Votes(count, n, failure), d, top_k))
        self._failure = failure

    def is_finished(self, tally: Tally) -> bool:
        return self._radius(tally.count) == self._radius(tally.count + tally.undrawn)

    def certify(self, tally: Tally) -> TallyCertificate:
        return TallyCertificate(self._radius(tally.count), _lower_bound(Votes(tally.count, tally.n, self._failure)))


class RunnerUpRule:
    """The (p_A, p_B) certificate: the selected class at ε/2, every other at ε/(2(C−1)); see `bounds_from_counts`."""

    looks = ()

    def __init__(self, noise: NoiseFamily, d: int, failure: Fraction, top_k: int) -> None:
        self._noise, self._d, self._failure, self._top_k = noise, d, failure, top_k

    def is_finished(self, tally: Tally) -> bool:
        """The radius is least if all undrawn votes go to a rival, and largest if all go to the selected class."""
        least = self.certify(tally).radius
        return least == self.certify(tally.complete_with(tally.selected)).radius

    def certify(self, tally: Tally) -> TallyCertificate:
        bounds = bounds_from_counts(tally.counts, tally.selected, tally.n, self._failure, self._top_k)
        radius = self._noise.two_class_radius(bounds, self._d, self._top_k)
        return TallyCertificate(radius, bounds.lower, bounds.upper)


class AnytimeRule:
    """The confidence sequence: valid after any number of votes, whatever the reason to stop."""

    looks = ()

    def __init__(self, noise: NoiseFamily, d: int, failure: Fraction, top_k: int) -> None:
        self._noise, self._d, self._failure, self._top_k = noise, d, failure, top_k

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
        return self._noise.anytime_radius(Votes(count, n, self._failure), self._d, self._top_k)


class StagedRule:
    """The best of a few looks, each a Clopper–Pearson bound with a share of ε; see `ellzero.certificates.looks`."""

    def __init__(self, noise: NoiseFamily, d: int, looks: tuple[Look, ...], staging: Staging, top_k: int) -> None:
        self.looks, self._staging = looks, staging
        self._radii = [self._radius_at(look, noise, d, top_k) for look in self.looks]

    def is_finished(self, tally: Tally) -> bool:
        """Whether even luck in the remaining votes would certify no more at the last look."""
        radius = _largest(self._radii_of(tally))
        lucky = self._radii[-1](_expect_count(tally.count, tally, self._staging.luck(tally)))
        return _largest([radius, lucky]) == radius

    def certify(self, tally: Tally) -> TallyCertificate:
        """Of the bounds of all looks any may be reported; it is the one that seems largest."""
        votes = [
            Votes(counts[tally.selected], look.n, look.failure)
            for look, counts in zip(self.looks, tally.looks, strict=False)
        ]
        return TallyCertificate(_largest(self._radii_of(tally)), _lower_bound(max(votes, key=_guess_lower_bound)))

    def _radii_of(self, tally: Tally) -> Iterator[int | None]:
        """What each look certifies by itself."""
        pairs = zip(self._radii, tally.looks, strict=False)
        return (radius(counts[tally.selected]) for radius, counts in pairs)

    @staticmethod
    def _radius_at(look: Look, noise: NoiseFamily, d: int, top_k: int) -> "MonotoneCache":
        return MonotoneCache(lambda count: noise.radius(Votes(count, look.n, look.failure), d, top_k))


class StagedRunnerUpRule:
    """The (p_A, p_B) certificate at the same looks: the selected class at ε_j/2, every other at ε_j/(2(C−1)); see
    `bounds_from_counts`.

    All bounds of all looks hold together with probability at least 1 − ε, so any lower one and any upper one do.
    Rigorous bounds are computed for the looks that seem best, once; guesses decide when to stop.
    """

    def __init__(self, noise: NoiseFamily, d: int, looks: tuple[Look, ...], staging: Staging, top_k: int) -> None:
        self.looks, self._staging = looks, staging
        self._noise, self._d, self._top_k = noise, d, top_k

    def is_finished(self, tally: Tally) -> bool:
        """Whether even luck in the remaining votes, for the selected class and against all others, gains nothing."""
        guesses = self._guess_bounds(tally)
        best = Bounds(max(each.lower for each in guesses), min(each.upper for each in guesses))
        luck = self._staging.luck(tally)
        expected = [
            _expect_count(count, tally, luck if label == tally.selected else -luck)
            for label, count in enumerate(tally.counts)
        ]
        lucky = _guess_bounds(expected, tally.selected, self.looks[-1], self._top_k)
        better = Bounds(max(best.lower, lucky.lower), min(best.upper, lucky.upper))
        return self._radius(best) == self._radius(better)

    def certify(self, tally: Tally) -> TallyCertificate:
        guesses = self._guess_bounds(tally)
        places = range(len(guesses))
        best = {max(places, key=lambda at: guesses[at].lower), min(places, key=lambda at: guesses[at].upper)}
        bounds = [
            bounds_from_counts(tally.looks[at], tally.selected, self.looks[at].n, self.looks[at].failure, self._top_k)
            for at in best
        ]
        both = Bounds(max(each.lower for each in bounds), min(each.upper for each in bounds))
        return TallyCertificate(self._radius(both), both.lower, both.upper)

    def _radius(self, bounds: Bounds) -> int | None:
        return self._noise.two_class_radius(bounds, self._d, self._top_k)

    def _guess_bounds(self, tally: Tally) -> list[Bounds]:
        return [
            _guess_bounds(counts, tally.selected, look, self._top_k)
            for look, counts in zip(self.looks, tally.looks, strict=False)
        ]


def _guess_bounds(counts: Sequence[int], selected: int, look: Look, top_k: int) -> Bounds:
    """Doubles near `bounds_from_counts`, in microseconds. Prove nothing."""
    others = sorted((count for label, count in enumerate(counts) if label != selected), reverse=True)
    share = look.failure / (2 * count_upper_bounds(len(others), top_k))
    missing = guess_lower_bound(Votes(look.n - others[top_k - 1], look.n, share))
    return Bounds(guess_lower_bound(Votes(counts[selected], look.n, look.failure / 2)), 1 - missing)


def _expect_count(count: int, tally: Tally, luck: float) -> int:
    """About how many of n votes a class will have, with so many standard deviations of luck. Proves nothing.

    With k of m votes so far and q = (k+½)/(m+1), the n−m others bring about q·(n−m) ± √(q(1−q)·(n−m)·n/m) more: their
    own variance, and that of q.
    """
    drawn, undrawn = tally.drawn, tally.undrawn
    share = (count + 0.5) / (drawn + 1)
    deviation = sqrt(share * (1 - share) * undrawn * (tally.n + 1) / (drawn + 1))
    more = share * undrawn + luck * deviation
    return count + min(undrawn, max(0, round(more)))


def _largest(radii: Iterable[int | None]) -> int | None:
    """The largest radius; None, to abstain, if there is none."""
    return max((radius for radius in radii if radius is not None), default=None)


class MonotoneCache:
    """A value that never falls as a count grows, computed only where the counts known so far do not give it.

    Holds the least and the largest count known of each value: all counts between them have that value.
    """

    def __init__(self, compute: Callable[[int], int | None]) -> None:
        self._compute = compute
        self._spans: dict[int | None, tuple[int, int]] = {}
        self._lock = Lock()

    def __call__(self, count: int) -> int | None:
        """The value at a count."""
        with self._lock:
            for value, (low, high) in self._spans.items():
                if low <= count <= high:
                    return value
            value = self._compute(count)
            low, high = self._spans.get(value, (count, count))
            self._spans[value] = min(low, count), max(high, count)
            return value


@lru_cache(maxsize=256)
def make_rule(
    noise: NoiseFamily, d: int, n: int, failure: Fraction, stopping: Stopping, runner_up: bool, top_k: int = 1
) -> StoppingRule:
    """The rule for these settings; all inputs of a data set share it, and the radii that it has computed."""
    looks = stopping.plan(n, failure)
    if runner_up:
        noise.two_class_radius(Bounds(1.0, 0.0), d, top_k)  # a noise without such certificates raises before any vote
        if looks:
            return StagedRunnerUpRule(noise, d, looks, _STAGING[stopping], top_k)
        return RunnerUpRule(noise, d, failure, top_k)
    if top_k > 1:
        noise.radius(Votes(0, n, failure), d, top_k)  # the same
    if looks:
        return StagedRule(noise, d, looks, _STAGING[stopping], top_k)
    if stopping is Stopping.ANYTIME:
        return AnytimeRule(noise, d, failure, top_k)
    return OneClassRule(noise, d, n, failure, top_k)
