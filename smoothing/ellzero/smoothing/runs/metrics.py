"""Metrics of a data set's certificates: μ(R) and ACC@r, with confidence intervals."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist, fmean, median, stdev

from ellzero.certificates import Votes, lower_bound, upper_bound
from ellzero.core.errors import InvalidInput

_CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True)
class Outcome:
    """One input: its class, the prediction (−1 to abstain) and the certified radius."""

    label: int
    prediction: int
    radius: int | None

    @property
    def certified(self) -> int:
        """The radius within which the answer is certified to be right; −1 if it is wrong or missing."""
        return self.radius if self.radius is not None and self.prediction == self.label else -1


@dataclass(frozen=True)
class Accuracy:
    """The share of inputs whose answer is right whatever r units are changed, with a confidence interval."""

    r: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Report:
    """The metrics of a data set's certificates.

    ``mean_radius`` is the paper's μ(R): a wrong answer and an abstention count as radius 0. Intervals are of 95 %, over
    inputs from the same source: for ACC@r by Clopper and Pearson, for μ(R) by its standard error. They do not include
    the failure probability of each certificate.
    """

    inputs: int
    abstained: int
    wrong: int
    mean_radius: float
    mean_radius_error: float
    median_radius: float
    accuracy: tuple[Accuracy, ...]


def summarize(outcomes: Sequence[Outcome], r_max: int | None = None) -> Report:
    """The report of at least one outcome, with ACC@r up to the largest radius, or to ``r_max``."""
    if not outcomes:
        raise InvalidInput("results", "of at least one input", 0)
    certified = [outcome.certified for outcome in outcomes]
    radii = [max(radius, 0) for radius in certified]
    last = max(radii) if r_max is None else r_max
    half = NormalDist().inv_cdf(float(1 + _CONFIDENCE) / 2)
    return Report(
        inputs=len(outcomes),
        abstained=sum(outcome.radius is None for outcome in outcomes),
        wrong=sum(outcome.radius is not None and outcome.prediction != outcome.label for outcome in outcomes),
        mean_radius=fmean(radii),
        mean_radius_error=half * stdev(radii) / sqrt(len(radii)) if len(radii) > 1 else float("inf"),
        median_radius=median(radii),
        accuracy=tuple(_list_accuracies(certified, last)),
    )


def bound_share(count: int, n: int) -> tuple[float, float]:
    """The interval of 95 % by Clopper and Pearson for the share that ``count`` of n inputs show."""
    votes = Votes(count, n, (1 - _CONFIDENCE) / 2)
    return lower_bound(votes), upper_bound(votes)


def _list_accuracies(certified: Sequence[int], last: int) -> Iterator[Accuracy]:
    """ACC@0 … ACC@last. Bounds are computed once for each count: radii may be thousands, and counts few."""
    ordered, n = sorted(certified), len(certified)
    bounds: dict[int, tuple[float, float]] = {}
    for r in range(last + 1):
        count = n - bisect_left(ordered, r)
        if count not in bounds:
            bounds[count] = bound_share(count, n)
        yield Accuracy(r, count / n, *bounds[count])
