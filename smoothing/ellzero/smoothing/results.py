"""The results of smoothed prediction and certification."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ellzero.certificates import (
    Family,
    Votes,
    anytime_certified,
    certified,
    certified_from_votes,
    lower_bound,
)
from ellzero.certificates.certified_budgets import CertifiedBudgets
from ellzero.certificates.families.base import Budget

ABSTAIN: Final = -1
"""The prediction if no class can be given at this failure probability."""


@dataclass(frozen=True)
class Predicted:
    """The smoothed classifier's answer for an input, or ``ABSTAIN``.

    With probability at least 1 − ``failure``, the class is the most probable one under noise. ``counts`` are the votes
    of each class; ``drawn`` of ``n`` were needed.
    """

    prediction: int
    counts: tuple[int, ...]
    drawn: int
    n: int
    failure: Fraction
    seed: int
    noise: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True)
class LookResult:
    """A look at the first ``n`` votes, of which ``count`` were for the class, and ``rival`` for the strongest other.

    Its bound is false with probability at most ``failure``, its share of the whole.
    """

    n: int
    failure: Fraction
    count: int
    rival: int | None = None


@dataclass(frozen=True)
class Certified:
    """The class that the smoothed classifier answers within ``radius`` changed units, or ``ABSTAIN`` (``radius`` None).

    With ``top_k`` = k > 1 the class remains one of the k most probable there.
    Holds with probability at least 1 − ``failure`` over the votes. The n0 votes of ``selection`` chose the class
    ``selected``; of ``drawn`` other votes, by class in ``counts``, ``count`` were for it. ``lower_bound`` bounds its
    probability p, with undrawn votes as failures; ``upper_bound``, with ``runner_up``, that of every other class, or
    of the k-th most probable of them.
    ``looks``, with staged stopping, are those that were made: all hold together, and the best of them counts, so that
    the bounds are then those of one look, without undrawn votes.
    An adversary may change ``d`` units; ``protected`` others, nobody changes. ``noise`` says what a unit is.
    ``other_radii``: of continuous noise, in l1, l2 and linf.
    """

    prediction: int
    radius: int | None
    selected: int
    count: int
    drawn: int
    counts: tuple[int, ...]
    selection: tuple[int, ...]
    lower_bound: float
    upper_bound: float | None
    other_radii: Mapping[str, float]
    n0: int
    n: int
    failure: Fraction
    seed: int
    stopping: str
    noise: Mapping[str, Any]
    d: int
    seconds: float
    looks: tuple[LookResult, ...] = ()
    protected: int = 0
    top_k: int = 1

    def budgets(self, limits: Budget | None = None) -> CertifiedBudgets:
        """The largest budgets within ``limits`` that these votes certify: how many changes of *each kind*.

        ``radius`` is for changes of any kinds; with several kinds of change this says more, and holds together with it
        (docs/families.md). Votes that were not drawn count as failures, unless stopping was staged, hasty or anytime.
        """
        family = self._family()
        if self.radius is None:
            return None
        if self.upper_bound is not None:
            return certified(family, self.lower_bound, limits, p_b=self.upper_bound, top_k=self.top_k)
        if self.stopping == "anytime":
            return anytime_certified(family, Votes(self.count, self.drawn, self.failure), limits, top_k=self.top_k)
        looks = [Votes(look.count, look.n, look.failure) for look in self.looks]
        # All looks hold together, so the one with the largest bound does, and it certifies what any other does.
        best = max(looks, key=lower_bound) if looks else Votes(self.count, self.n, self.failure)
        return certified_from_votes(family, best, limits, top_k=self.top_k)

    def whole_pixels(self, channels: int) -> int | None:
        """How many whole pixels of so many channels the radius covers: ⌊R/C⌋ if noise is on coordinates."""
        if self.radius is None:
            return None
        return self.radius if self.noise.get("unit") == "pixel" else self.radius // channels

    def _family(self) -> Family:
        from ellzero.smoothing.noise.registry import find_family, make_noise  # of which making loads numpy

        return find_family(make_noise(self.noise))


@dataclass(frozen=True)
class PredictionSet:
    """The classes that got at least ``critical_count`` of ``n`` votes on an input, their ``counts`` being those of all.

    They hold the true class with probability at least 1 − ``error``, over the calibration, the input and the votes, if
    the input that was seen is a clean one changed within ``budget``.
    """

    labels: tuple[int, ...]
    budget: Budget
    critical_count: int
    counts: tuple[int, ...]
    n: int
    error: Fraction
    seed: int
    noise: Mapping[str, Any]
