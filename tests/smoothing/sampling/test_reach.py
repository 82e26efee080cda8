"""Whether votes can certify a radius of 1 is computed before the first vote."""

from dataclasses import replace
from fractions import Fraction

import pytest

from ellzero.smoothing import CertifySettings, DiscreteNoise
from ellzero.smoothing.sampling.reach import can_reach_one, explain_unreachable, least_n, nearest_alpha

NOISE = DiscreteNoise(99, "0.6")


@pytest.mark.parametrize(
    ("stopping", "runner_up"),
    [("settled", False), ("anytime", False), ("settled", True), ("staged", False), ("staged", True)],
)
def test_the_advised_n_reaches_radius_one_and_no_smaller_n_does(stopping: str, runner_up: bool) -> None:
    settings = CertifySettings.of(10, 5, "0.001", 0, stopping, runner_up)
    n = least_n(NOISE, settings, 3)
    assert n is not None
    assert can_reach_one(NOISE, replace(settings, n=n), 3)
    assert not can_reach_one(NOISE, replace(settings, n=n - 1), 3)
    line = explain_unreachable(NOISE, settings, 3)
    assert line is not None
    assert f"n = {n:,}" in line
    assert explain_unreachable(NOISE, replace(settings, n=n), 3) is None


def test_the_advised_alpha_reaches_radius_one() -> None:
    noise = DiscreteNoise(1, "0.999")
    settings = CertifySettings.of(10, 100, "0.001", 0)
    alpha = nearest_alpha(noise, settings, 2)
    assert alpha is not None
    assert can_reach_one(DiscreteNoise(1, alpha), settings, 2)
    assert not can_reach_one(DiscreteNoise(1, Fraction(alpha) + Fraction(1, 100)), settings, 2)
