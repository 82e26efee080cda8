"""The tables of the experiment beyond the paper: the median's band, and what a note says of a published figure."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom

from ellzero.experiments.beyond_mnist_settings import BeyondRow
from ellzero.experiments.beyond_mnist_tables import RowResult, estimate_median, make_beyond_notes
from ellzero.experiments.dataset_runs import CertifiedInputs
from ellzero.smoothing.runs.metrics import Outcome, summarize


@given(st.lists(st.one_of(st.none(), st.integers(0, 6)), min_size=1, max_size=40))
def test_the_median_and_its_band_are_those_of_binomial_tests(radii: list[int | None]) -> None:
    """At least r is refuted where so few images reach r that 1/2 of all is implausible, at 2.5 % each side."""
    report = summarize([Outcome(1, 1, radius) for radius in radii])
    n = len(radii)
    reached = [sum(radius is not None and radius >= r for radius in radii) for r in range(8)]
    median = max((r for r in range(8) if 2 * reached[r] >= n), default=0)
    surely = max((r for r in range(8) if binom.sf(reached[r] - 1, n, 0.5) <= 0.025), default=0)
    perhaps = max((r for r in range(8) if binom.cdf(reached[r], n, 0.5) >= 0.025), default=0)
    estimate = estimate_median(report)
    assert estimate.value == median
    if n < 6:
        assert binom.cdf(0, n, 0.5) >= 0.025, "none of them refutes any median"
        assert (estimate.low, estimate.high) == (None, None)
    else:
        assert (estimate.low, estimate.high) == (surely, perhaps)


@pytest.mark.parametrize(
    ("row", "radius", "said"),
    [
        (
            BeyondRow.MEAN,
            9,
            "μ(R) is with its whole band above 3.456, the paper's; the median radius is with its whole band",
        ),
        (BeyondRow.MEAN, 2, "μ(R) is with its whole band below 3.456"),
        (BeyondRow.GREY, 9, "the median radius is with its whole band above 8, that of randomized ablation"),
        (BeyondRow.GREY, 8, "the median radius is equal to, with a band that contains, 8"),
    ],
)
def test_a_note_says_where_the_band_is(row: BeyondRow, radius: int, said: str) -> None:
    outcomes = (
        tuple(Outcome(1, 1, radius - place % 2 * (radius != 8)) for place in range(4, 44))
        + (Outcome(1, 1, radius),) * 100
    )
    network: Any = None
    result = RowResult(row, 30, 100, network, CertifiedInputs(outcomes, Fraction(1)), summarize(outcomes))
    (note,) = make_beyond_notes([result], compare=True)
    assert said in note
    assert note.startswith("30 shown: ")
