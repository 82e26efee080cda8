"""Expected radii against the Beta-binomial law, and how often bands hold, by simulation."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from scipy import stats

from ellzero.certificates import Votes, lower_bound
from ellzero.smoothing import CertifySettings, DiscreteNoise
from ellzero.smoothing.forecast import Forecast, make_forecast
from ellzero.smoothing.sampling.radius_steps import list_least_counts

HALF = Fraction(1, 2)


def expected_score(
    votes: Sequence[int], label: int | None, least: Sequence[int], n: int, target: int | None
) -> Fraction:
    """E of the radius, or of R ≥ target, over a Dirichlet posterior, one vote that selects, and n that count; exact.

    ∫ p · C(n, c) p^c (1−p)^(n−c) dBeta(a, b) is C(n, c) times a ratio of rising factorials.
    """
    shapes = [Fraction(count) for count in votes]
    own = max(range(len(votes)), key=votes.__getitem__) if label is None else label
    rival = max((each for each in range(len(votes)) if each != own), key=votes.__getitem__)
    shapes[own] += HALF
    shapes[rival] += HALF
    total = Fraction(0)
    for place in range(len(votes)) if label is None else [label]:
        a, b = shapes[place], sum(shapes) - shapes[place]
        for count in range(n + 1):
            radius = sum(count >= each for each in least) - 1
            score = max(radius, 0) if target is None else int(radius >= target)
            if score:
                mass = comb(n, count) * rising(a, count + 1) * rising(b, n - count) / rising(a + b, n + 1)
                total += score * mass
    return total


def rising(a: Fraction, steps: int) -> Fraction:
    return prod((a + step for step in range(steps)), start=Fraction(1))


@given(
    votes=st.lists(st.integers(0, 12), min_size=2, max_size=4).filter(any),
    labelled=st.booleans(),
    steps=st.lists(st.integers(0, 16), min_size=1, max_size=4, unique=True).map(sorted),
    n=st.integers(1, 16),
)
@settings(max_examples=25)
def test_expected_values_are_those_of_the_beta_binomial_law(
    votes: list[int], labelled: bool, steps: list[int], n: int
) -> None:
    """Within six deviations of the draws: by Hoeffding's inequality beyond that once in 30 million."""
    draws = 20_000
    least = [each for each in steps if each <= n]
    label = len(votes) - 1 if labelled else None
    forecast = make_forecast([votes], None if label is None else [label], [least], 1, n, draws=draws)
    assert forecast.reach == (len(least) - 1 if least else None)
    for target in (None, *range(len(least))):
        span = max(1, len(least) - 1) if target is None else 1
        exact = expected_score(votes, label, least, n, target)
        assert forecast.score(target).value == pytest.approx(float(exact), abs=3 * span / draws**0.5)
        assert forecast.score(target).low <= forecast.score(target).value <= forecast.score(target).high


def test_a_band_of_shares_is_the_interval_of_clopper_and_pearson() -> None:
    """Thirteen inputs of twenty are always right and seven always wrong: only the sample of inputs is uncertain."""
    counts = [[10**7, 0]] * 13 + [[0, 10**7]] * 7
    band = make_forecast(counts, [0] * 20, [[600]] * 20, 100, 1_000, draws=20_000).accuracy[0]
    assert band.value == pytest.approx(13 / 20)
    assert band.low == pytest.approx(lower_bound(Votes(13, 20, "0.025")), abs=0.01)
    assert band.high == pytest.approx(1 - lower_bound(Votes(7, 20, "0.025")), abs=0.01)


Shares = NDArray[np.float64]
NOISE = DiscreteNoise(1, "0.8")
SETTINGS = CertifySettings.of(100, 5_000, "0.001", 0, "never")
LEAST = list_least_counts(NOISE, 64, SETTINGS)
POPULATIONS: dict[str, Callable[[np.random.Generator, int], Shares]] = {
    "some sure, some not": lambda random, size: random.beta(6, 2, size),
    "all beyond what few votes can tell from 1": lambda random, size: 1 - random.exponential(1e-3, size).clip(0, 1),
    "all alike": lambda random, size: np.full(size, 0.93),
    "many unlike": lambda random, size: random.beta(0.7, 0.3, size),
    "near the threshold": lambda random, size: random.normal(0.86, 0.01, size),
    "near chance": lambda random, size: random.beta(50, 48, size),
    "one in five robust": lambda random, size: np.where(random.random(size) < 0.2, 0.9995, 0.4),
}


def true_scores(p: Shares) -> tuple[float, float]:
    """μ(R) and ACC@1 of inputs whose class, the first of two, has these probabilities."""
    selected = stats.binom.sf(SETTINGS.n0 / 2 - 1, SETTINGS.n0, p)  # of equal counts the first class
    reached = [selected * stats.binom.sf(count - 1, SETTINGS.n, p) for count in LEAST]
    return float(np.mean(sum(reached[1:]))), float(np.mean(reached[1]))


@pytest.mark.parametrize("name", POPULATIONS)
def test_bands_hold_at_least_as_often_as_they_say(name: str) -> None:
    """Whatever inputs are like: those of a sample, and votes on each, are drawn again and again."""
    random = np.random.default_rng(5)
    everything = POPULATIONS[name](random, 20_000)
    truth, rounds, votes, inputs = true_scores(everything), 80, 500, 50
    held = np.zeros(2)
    for _ in range(rounds):
        right = random.binomial(votes, random.choice(everything, inputs))
        forecast = make_forecast(
            [[count, votes - count] for count in right.tolist()],
            [0] * inputs,
            [LEAST] * inputs,
            SETTINGS.n0,
            SETTINGS.n,
            draws=150,
        )
        held += [
            each.low <= true <= each.high
            for each, true in zip((forecast.mean_radius, forecast.accuracy[1]), truth, strict=True)
        ]
    assert (held >= 0.95 * rounds).all(), held / rounds


def test_bands_narrow_with_votes_and_inputs() -> None:
    random = np.random.default_rng(2)
    widths = []
    for inputs, votes in ((20, 100), (80, 400), (320, 1_600)):
        right = random.binomial(votes, random.beta(6, 2, inputs))
        counts = [[count, votes - count] for count in right.tolist()]
        mean = make_forecast(counts, [0] * inputs, [LEAST] * inputs, 100, 5_000, draws=500).mean_radius
        widths.append(mean.high - mean.low)
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2] > 0


def test_a_noise_beats_another_only_if_inputs_agree() -> None:
    def forecast(shares: list[float]) -> Forecast:
        counts = [[round(1_000 * share), round(1_000 * (1 - share))] for share in shares]
        return make_forecast(counts, [0] * len(shares), [LEAST] * len(shares), 100, 5_000)

    good, better = forecast([0.8] * 20), forecast([0.95] * 20)
    mixed = forecast([0.7] * 10 + [0.99] * 10)
    assert better.beats(good)
    assert not good.beats(better)
    assert not better.beats(better)
    assert not mixed.beats(better)
    assert not better.beats(mixed)
    assert better.beats(good, target=1)


def test_nothing_is_expected_of_votes_that_cannot_certify() -> None:
    forecast = make_forecast([[5, 0], [5, 0]], None, [(), ()], 10, 3)
    assert (forecast.reach, forecast.accuracy) == (None, ())
    assert (forecast.mean_radius.value, forecast.mean_radius.high) == (0, 0)
    assert (forecast.score(2).high, forecast.share_at_reach()) == (0, 0)
