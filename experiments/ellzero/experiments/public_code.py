"""What the paper's public code does on MNIST, as a row to compare with: **not a certificate**.

It trains on bits, but certifies grey images. A pixel is kept with probability α − β and otherwise becomes a fair bit,
and the votes are read off the thresholds of the noise on {0, 1}. Those are about inputs in {0, 1}^d, and a grey image
is none. Here the same is done with exact noise and exact thresholds, so that only the protocol differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Bounds, Discrete, Votes, anytime_certified, certified, certified_from_votes
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import SavedModel
from ellzero.smoothing.noise.discrete import DiscreteNoise
from ellzero.smoothing.noise.family_noise import as_radius
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape, level_kind
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.model_function import CalledModel

_KEPT, _WHITE = 0, 2


@dataclass(frozen=True, init=False)
class GreyNoise:
    """A grey level stays with probability 2α − 1, and otherwise becomes black or white, each with the same probability.

    On black and white images it is the discrete noise with K = 1; radii are those of its votes, as if all were such.
    """

    noise: Discrete
    levels: int
    _choice: DiscreteNoise

    def __init__(self, alpha: RationalLike, levels: int = 256) -> None:
        object.__setattr__(self, "noise", Discrete(1, alpha))
        object.__setattr__(self, "levels", levels)
        kept = 2 * self.noise.alpha - 1
        if kept <= 0:
            raise InvalidInput("alpha", "above 1/2 for grey images", alpha)
        object.__setattr__(self, "_choice", DiscreteNoise(2, kept))

    @property
    def sample_levels(self) -> int:
        return self.levels

    @property
    def tag(self) -> str:
        return f"grey levels={self.levels} alpha={self.noise.alpha}"

    def description(self) -> Mapping[str, Any]:
        return {"family": "grey", "k": 1, "alpha": str(self.noise.alpha), "unit": "coordinate", "levels": self.levels}

    def check_shape(self, shape: Shape) -> None:
        """Inputs can have any shape."""

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        return batch

    @property
    def strikes_independently(self) -> bool:
        return True

    def unit_shape(self, shape: Shape) -> Shape:
        return shape

    def dimension(self, shape: Shape) -> int:
        return prod(shape)

    def sample(self, x: Array, source: RandomSource, count: int) -> Array:
        return self._mix(x, self._choice.sample(np.zeros_like(x), source, count), source)

    def sample_batch(self, batch: Array, source: RandomSource) -> Array:
        return self._mix(batch, self._choice.sample_batch(np.zeros_like(batch), source), source)

    def radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        return as_radius(certified_from_votes(self.noise, votes, d, top_k=top_k))

    def anytime_radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        return as_radius(anytime_certified(self.noise, votes, d, top_k=top_k))

    def two_class_radius(self, bounds: Bounds, d: int, top_k: int = 1) -> int | None:
        return as_radius(certified(self.noise, bounds.lower, d, p_b=bounds.upper, top_k=top_k))

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        return {}

    def _mix(self, x: Array, choice: Array, source: RandomSource) -> Array:
        """Level 0 of ``choice`` has probability 2α − 1, levels 1 and 2 have 1 − α each."""
        kind = level_kind(self.levels)
        kept, white = (source.cast(choice == level, kind) for level in (_KEPT, _WHITE))
        return source.cast(source.array(x), kind) * kept + white * (self.levels - 1)


@dataclass(frozen=True)
class GreyRun(DatasetRun):
    """A run on grey images by a model for bits. Its results say that they are no certificates."""

    def manifest(self, card: ModelCard, data: DataSet) -> dict[str, Any]:
        return {**super().manifest(card, data), "certificate": "none: grey images are not in {0, 1}^d"}

    def make_classifier(self, saved: SavedModel | CalledModel) -> SmoothedClassifier:
        noise = GreyNoise(self.noise["alpha"], self.noise["levels"])
        return SmoothedClassifier(
            saved.network, noise, saved.card.num_classes, self.device, feed=saved.card.feed, batch_size=self.batch_size
        )


def for_grey(saved: SavedModel, levels: int = 256) -> SavedModel:
    """The same network, taken to be one for so many levels: it gets values in [0, 1] either way."""
    return replace(saved, card=replace(saved.card, levels=levels, noise={}))
