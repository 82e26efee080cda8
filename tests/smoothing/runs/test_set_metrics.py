"""Metrics of conformal sets."""

from fractions import Fraction

import pytest

from ellzero.certificates import InvalidInput
from ellzero.smoothing import PredictionSet
from ellzero.smoothing.runs.metrics import bound_share
from ellzero.smoothing.runs.set_metrics import summarize_sets


def make_set(labels: tuple[int, ...], r: int) -> PredictionSet:
    return PredictionSet(labels, r, 9 - r, (5, 5, 0), 10, Fraction(1, 10), 1, {})


def test_sets_are_counted_for_each_budget() -> None:
    sets = [
        [make_set((0,), 0), make_set((0, 1), 2)],
        [make_set((), 0), make_set((1,), 2)],
        [make_set((0, 2), 0), make_set((0, 1, 2), 2)],
    ]
    clean, two = summarize_sets([0, 1, 1], sets)
    assert (clean.budget, clean.critical_count, clean.coverage, clean.mean_size) == (0, 9, 1 / 3, 1.0)
    assert (two.budget, two.critical_count, two.coverage, two.mean_size) == (2, 7, 1.0, 2.0)
    assert clean.single == two.single == 1 / 3
    assert (clean.low, clean.high) == bound_share(1, 3)
    assert clean.low < 1 / 3 < clean.high


def test_no_sets_are_refused() -> None:
    with pytest.raises(InvalidInput, match="^sets must be of at least one input"):
        summarize_sets([], [])
