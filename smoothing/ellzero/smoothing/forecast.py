"""What votes on a few inputs let one expect of certificates with many: μ(R) and ACC@r, each with a band.

An expectation to plan by, never a certificate. Nothing here is exact, and nothing that is certified depends on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DRAWS = 1_000
_TAIL = 0.025  # on either side of a band
_SURE = 0.95

Radii = NDArray[np.int64]


@dataclass(frozen=True)
class Expected:
    """An expected value, and its band from ``low`` to ``high``."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Forecast:
    """What certificates under one noise are expected to give, on inputs from the same source as those of the votes.

    ``mean_radius`` is μ(R), and ``accuracy`` has ACC@0, ACC@1, … up to ``reach``, the radius of n unanimous votes (None
    if those abstain). ``share`` is the median share of the votes that an input's class had. Bands are of 95 %: see
    `make_forecast`.
    """

    reach: int | None
    mean_radius: Expected
    accuracy: tuple[Expected, ...]
    share: float
    _radii: Radii = field(repr=False, compare=False)

    def score(self, target: int | None = None) -> Expected:
        """ACC@target, or without a target μ(R)."""
        if target is None:
            return self.mean_radius
        return self.accuracy[target] if target < len(self.accuracy) else Expected(0.0, 0.0, 0.0)

    def share_at_reach(self) -> float:
        """The share of inputs that are expected to get the largest radius that n votes can reach."""
        return 0.0 if self.reach is None else float((self._radii == self.reach).mean())

    def beats(self, other: "Forecast", target: int | None = None) -> bool:
        """Whether the score is larger than that of another noise, of the same inputs, in 95 % of draws.

        The shares of inputs are common to both, and what is drawn of the votes is not. As in bands, votes err on all
        inputs in one direction.
        """
        random = np.random.default_rng(0)
        own, others = (random.permutation(each._scores(target)) for each in (self, other))
        weights = random.dirichlet(np.ones(own.shape[1]), len(own))
        return float(((weights * (own - others)).sum(1) > 0).mean()) >= _SURE

    def _scores(self, target: int | None) -> NDArray[np.int64]:
        """The score of each input, from its least draw to its largest."""
        radii = np.sort(self._radii, 0)
        return np.maximum(radii, 0) if target is None else (radii >= target).astype(np.int64)


def make_forecast(
    counts: Sequence[Sequence[int]],
    labels: Sequence[int] | None,
    least_counts: Sequence[Sequence[int]],
    n0: int,
    n: int,
    *,
    draws: int = _DRAWS,
) -> Forecast:
    """What n0 + n fresh votes would certify, from the votes by class of a random sample of inputs.

    ``least_counts`` has for each input the least of n counts that certifies each radius. An input counts with its
    radius if the class that n0 votes select is its label; without ``labels``, whichever class that is.

    Probabilities of classes are drawn from their Dirichlet posterior given the votes, then the n0 votes, then the n: a
    Beta-binomial count, read as a radius. The expected values are means of such draws, with half a vote more for the
    class and half a vote more for its strongest rival (Jeffreys).

    A band counts *one whole vote more* on each input, and *one input more*: at its low end against the class, and at
    its high end for it, with the largest radius drawn. Votes are taken to err on all inputs in one direction, since
    nothing is known of what inputs have in common. Inputs get random shares that sum to 1, uniformly drawn: for a share
    of inputs whose radii are certain that is the interval of Clopper and Pearson, and for means the bound of Gaffke.
    Simulated bands of 95 % hold at least as often. A rare kind of inputs, of which the sample has none, is in no band.
    """
    random = np.random.default_rng(0)
    reach = max(map(len, least_counts)) - 1
    middle, low, high = (
        np.stack(
            [
                _draw_radii(
                    random, votes, None if labels is None else labels[at], least_counts[at], n0, n, leaning, draws
                )
                for at, votes in enumerate(np.asarray(counts, np.int64))
            ],
            axis=1,
        )
        for leaning in ((0.5, 0.5), (0.0, 1.0), (1.0, 0.0))
    )
    low, high = np.sort(low, 0), np.sort(high, 0)  # in a row are draws of one rank: all lucky, or all unlucky
    weights = random.dirichlet(np.ones(len(counts) + 1), draws)

    def expect(value: float, pessimistic: NDArray[Any], optimistic: NDArray[Any], best: Radii | int) -> Expected:
        lows = (weights[:, :-1] * pessimistic).sum(1)
        missed = np.reshape(best, (-1, 1)) - optimistic  # so that nothing is lost to rounding where nothing is missed
        highs = best - (weights[:, :-1] * missed).sum(1)
        return Expected(
            value, min(value, float(np.quantile(lows, _TAIL))), max(value, float(np.quantile(highs, 1 - _TAIL)))
        )

    radii, least_radii, largest_radii = (np.maximum(each, 0) for each in (middle, low, high))
    return Forecast(
        reach=reach if reach >= 0 else None,
        mean_radius=expect(float(radii.mean()), least_radii, largest_radii, largest_radii.max(1).clip(min(1, reach))),
        accuracy=tuple(expect(float((middle >= r).mean()), low >= r, high >= r, 1) for r in range(reach + 1)),
        share=_median_share(counts, labels),
        _radii=middle,
    )


def _draw_radii(
    random: np.random.Generator,
    votes: NDArray[np.int64],
    label: int | None,
    least_counts: Sequence[int],
    n0: int,
    n: int,
    leaning: tuple[float, float],
    draws: int,
) -> Radii:
    """Radii that an input may get; −1 if it abstains, or selects another class than the label.

    ``leaning`` are votes that are added for its class and for the strongest rival.
    """
    own = int(votes.argmax()) if label is None else label
    rivals = -np.sort(-np.delete(votes, own))
    shapes = np.concatenate([votes[own : own + 1], rivals[: max(1, np.count_nonzero(rivals))]]).astype(np.float64)
    shapes[:2] += leaning
    masses = random.standard_gamma(shapes, (draws, len(shapes)))
    probabilities = masses / masses.sum(1, keepdims=True)
    selected = random.multinomial(n0, probabilities).argmax(1)
    counts = random.binomial(n, np.minimum(probabilities[np.arange(draws), selected], 1))
    radii: Radii = np.searchsorted(np.asarray(least_counts, np.int64), counts, side="right") - 1
    return radii if label is None else np.where(selected == 0, radii, -1)


def _median_share(counts: Sequence[Sequence[int]], labels: Sequence[int] | None) -> float:
    own = [max(votes) if labels is None else votes[labels[at]] for at, votes in enumerate(counts)]
    return median(count / sum(votes) for count, votes in zip(own, counts, strict=True))
