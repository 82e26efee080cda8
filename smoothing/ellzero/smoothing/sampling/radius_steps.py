"""From how many of n votes on each radius is certified, and how many votes a radius takes at least."""

from dataclasses import replace
from functools import cache

from ellzero.certificates import Votes
from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.certificates.search import last_true_near
from ellzero.core.errors import InvalidInput
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.sampling.sampling_task import CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping


def list_least_counts(noise: NoiseFamily, d: int, settings: CertifySettings) -> tuple[int, ...]:
    """k*_0, k*_1, …: the least of n counts that certifies each radius, up to the largest that n votes can reach.

    So `count` votes certify the radius r iff k*_r ≤ count < k*_(r+1), and fewer than k*_0 abstain: by the integer rule
    of the noise, of the last look if stopping is staged. Empty if even n unanimous votes abstain.
    """

    @cache
    def radius(count: int) -> int:
        return _radius_of(noise, d, settings, count)

    counts: list[int] = []
    for r in range(radius(settings.n) + 1):
        low = counts[-1] - 1 if counts else -1  # certifies less than r
        high = settings.n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if radius(middle) >= r else (middle, high)
        counts.append(high)
    return tuple(counts)


def find_least_n(noise: NoiseFamily, d: int, settings: CertifySettings, r: int) -> int | None:
    """The least n from which on unanimous votes certify the radius r; None if no n up to 10^8 does."""

    def too_few(n: int) -> bool:
        return n == 0 or _radius_of(noise, d, replace(settings, n=n), n) < r

    least = last_true_near(too_few, settings.n, 0, MAX_VOTES) + 1
    return least if least <= MAX_VOTES else None


def _radius_of(noise: NoiseFamily, d: int, settings: CertifySettings, count: int) -> int:
    """The radius that so many of n votes certify; −1 to abstain."""
    if settings.runner_up:
        raise InvalidInput("runner_up", "false: the radius of two classes does not depend on one count", True)
    looks = settings.stopping.plan(settings.n, settings.failure)
    votes = Votes(count, settings.n, looks[-1].failure if looks else settings.failure)
    radius = noise.anytime_radius(votes, d) if settings.stopping is Stopping.ANYTIME else noise.radius(votes, d)
    return -1 if radius is None else radius
