"""Whether votes can certify a radius of 1 at all, computed before the first vote is drawn."""

from dataclasses import replace

from ellzero.certificates import Votes, bounds_from_counts
from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.discrete import DiscreteNoise
from ellzero.smoothing.sampling.sampling_task import CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping

_ALPHA_STEPS = 100


def can_reach_one(noise: NoiseFamily, settings: CertifySettings, classes: int) -> bool:
    """Whether n unanimous votes certify a radius of at least 1 under these settings."""
    n, failure = settings.n, settings.failure
    if looks := settings.stopping.plan(n, failure):
        failure = looks[-1].failure  # unanimous votes prove the most at the last look
    # τ_1 depends on no coordinate but the changed one, so d = 1 answers for every d.
    if settings.runner_up:
        counts = (n,) + (0,) * (classes - 1)
        bounds = bounds_from_counts(counts, 0, n, failure, settings.top_k)
        radius = noise.two_class_radius(bounds, 1, settings.top_k)
    elif settings.stopping is Stopping.ANYTIME:
        radius = noise.anytime_radius(Votes(n, n, failure), 1, settings.top_k)
    else:
        radius = noise.radius(Votes(n, n, failure), 1, settings.top_k)
    return radius is not None and radius >= 1


def least_n(noise: NoiseFamily, settings: CertifySettings, classes: int) -> int | None:
    """The least n from which unanimous votes certify a radius of at least 1; None if no n up to 10^8 does."""
    low, high = 0, settings.n
    while not can_reach_one(noise, replace(settings, n=high), classes):
        if high == MAX_VOTES:
            return None
        low, high = high, min(2 * high, MAX_VOTES)
    while high - low > 1:
        middle = (low + high) // 2
        if can_reach_one(noise, replace(settings, n=middle), classes):
            high = middle
        else:
            low = middle
    return high


def nearest_alpha(noise: NoiseFamily, settings: CertifySettings, classes: int) -> str | None:
    """The multiple of 0.01 nearest to α, preferring less noise, with which these votes can certify a radius of 1."""
    if not isinstance(noise, DiscreteNoise) or noise.description()["family"] != "discrete":
        return None
    channels = noise.channels if noise.unit == "pixel" else None
    alpha = noise.noise.alpha * _ALPHA_STEPS
    grid = sorted(range(1, _ALPHA_STEPS), key=lambda step: (abs(step - alpha), -step))
    for step in grid:
        other = DiscreteNoise(noise.levels - 1, f"{step}/{_ALPHA_STEPS}", unit=noise.unit, channels=channels)
        if can_reach_one(other, settings, classes):
            return f"{step / _ALPHA_STEPS:g}"
    return None


def explain_unreachable(noise: NoiseFamily, settings: CertifySettings, classes: int) -> str | None:
    """None if a radius of at least 1 can be certified; otherwise one line with an n or an α that could."""
    if can_reach_one(noise, settings, classes):
        return None
    n, alpha = least_n(noise, settings, classes), nearest_alpha(noise, settings, classes)
    ways = [*([] if n is None else [f"n = {n:,}"]), *([] if alpha is None else [f"α = {alpha}"])]
    advice = f"; {' or '.join(ways)} could" if ways else "; no n up to 100,000,000 can"
    votes = "the vote" if settings.n == 1 else f"all {settings.n:,} votes"
    return f"no radius of 1 or more can be certified at this noise, even if {votes} agree{advice}"
