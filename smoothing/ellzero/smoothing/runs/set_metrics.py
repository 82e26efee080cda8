"""Metrics of conformal sets over a data set: how often they hold the true class, and how large they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from ellzero.certificates.families.base import Budget
from ellzero.core.errors import InvalidInput
from ellzero.smoothing.results import PredictionSet
from ellzero.smoothing.runs.metrics import bound_share


@dataclass(frozen=True)
class SetReport:
    """The sets of inputs for one budget: a class is in one with ``critical_count`` votes.

    ``coverage`` is the share of sets that hold the true class, ``low`` and ``high`` its interval of 95 % over inputs;
    ``single`` the share of sets with one class.
    """

    budget: Budget
    critical_count: int
    coverage: float
    low: float
    high: float
    mean_size: float
    single: float


def summarize_sets(labels: Sequence[int], sets: Sequence[Sequence[PredictionSet]]) -> list[SetReport]:
    """A report for each budget, from the sets of at least one input, with its true class."""
    if not sets:
        raise InvalidInput("sets", "of at least one input", 0)
    return [_summarize(labels, column) for column in zip(*sets, strict=True)]


def _summarize(labels: Sequence[int], sets: Sequence[PredictionSet]) -> SetReport:
    covered = sum(label in each.labels for label, each in zip(labels, sets, strict=True))
    sizes = [len(each.labels) for each in sets]
    return SetReport(
        sets[0].budget,
        sets[0].critical_count,
        covered / len(sets),
        *bound_share(covered, len(sets)),
        fmean(sizes),
        sizes.count(1) / len(sizes),
    )
