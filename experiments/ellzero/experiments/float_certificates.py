"""Certificates as they are usually computed: in floating point, and as RanMASK has them. For comparison only.

None of this proves anything: bounds and thresholds are rounded to the nearest double, and two of the rules are not
those of the noise that was drawn. What the same votes prove stands beside it.

RanMASK, as its description and its public code are read here (github.com/zjiehang/RanMASK, `utils/certify.py`,
`utils/mask.py` and `classifier.py` at 4b79c3d): with the lower bound p of the class's probability, r changes are
certified if p − β·Δ > 1/2, Δ the probability that a changed token is shown. β is the probability of the class given
that one is. β = 1 is sound. The code may put the share of the votes for the class in its place, which is an estimate of
another probability. It shows two tokens at least, but computes Δ for as many as the share would leave, also if that is
one or none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import special, stats

from ellzero.certificates import Discrete, Look, threshold
from ellzero.experiments.masked_share import count_shown


@dataclass(frozen=True)
class LookCount:
    """Votes for the class after ``n`` of them, and their lower bound of its probability."""

    n: int
    count: int
    bound: float

    @property
    def share(self) -> float:
        return self.count / self.n


def float_looks(counts: Sequence[Sequence[int]], looks: Sequence[Look]) -> list[list[LookCount]]:
    """The looks at the votes of each input, by their counts for the class: Clopper and Pearson's lower bound by the
    quantile of a beta distribution, as it is usually computed."""
    rows = [(count, look.n, float(look.failure)) for own in counts for count, look in zip(own, looks, strict=False)]
    count, n, failure = (np.array(column) for column in zip(*rows, strict=True))
    bounds = iter(np.where(count > 0, stats.beta.ppf(failure, np.maximum(count, 1), n - count + 1), 0.0).tolist())
    return [[LookCount(look.n, count, next(bounds)) for count, look in zip(own, looks, strict=False)] for own in counts]


Rule = Callable[[LookCount, int, int], bool]
"""Whether a look certifies r changes of d tokens: called with the look, d and r."""


def float_radius(looks: Sequence[LookCount], d: int, rule: Rule) -> int | None:
    """The largest radius that the rule finds at any look, going up from 0 as long as it holds; None to abstain."""
    radii = [_climb(look, d, rule) for look in looks]
    return max((radius for radius in radii if radius is not None), default=None)


def _climb(look: LookCount, d: int, rule: Rule) -> int | None:
    radius = None
    for r in range(d + 1):
        if not rule(look, d, r):
            break
        radius = r
    return radius


def mask_rule(m: str) -> Rule:
    """Tokens hidden independently: p − (1 − m^r) > 1/2."""
    hidden = float(m)
    return lambda look, d, r: look.bound - (1 - hidden**r) > 0.5


def mask_share_rule(m: str) -> Rule:
    """The same with the share of the votes for β."""
    hidden = float(m)
    return lambda look, d, r: look.bound - look.share * (1 - hidden**r) > 0.5


def discrete_rule(k: int, alpha: str) -> Rule:
    """Tokens substituted: p > τ_r, rounded to the nearest double."""
    noise = Discrete(k, alpha)

    @lru_cache
    def nearest(r: int) -> float:
        return float(threshold(noise, r))

    return lambda look, d, r: look.bound > nearest(r)


def ablation_rule(share: str, least: int) -> Rule:
    """A fixed share hidden: p − Δ > 1/2, Δ from binomial coefficients in floating point."""
    hidden = Fraction(share)
    return lambda look, d, r: look.bound - _shown_changes(d, count_shown(d, hidden, least), r) > 0.5


def ablation_share_rule(share: str, least: int) -> Rule:
    """The same with the share of the votes for β."""
    hidden = Fraction(share)
    return lambda look, d, r: look.bound - look.share * _shown_changes(d, count_shown(d, hidden, least), r) > 0.5


def public_ablation_rule(share: str) -> Rule:
    """β = 1, and Δ without the least number of tokens that are shown: for short sentences that of another noise."""
    return ablation_rule(share, least=0)


@lru_cache(maxsize=10_000)
def _shown_changes(d: int, shown: int, r: int) -> float:
    """Δ: how probable it is that one of r changed tokens is among those that are shown."""
    return 1 - float(special.comb(d - r, shown)) / float(special.comb(d, shown))


FLOAT_THRESHOLD: Final = "τ as the nearest double"
BETA_ONE: Final = "β = 1, floating point"
BETA_SHARE: Final = "β = share of the votes"
PUBLIC_SHOWN: Final = "β = 1, Δ as if fewer tokens were shown"
"""What rules are called in tables."""
