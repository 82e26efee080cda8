"""What a noise must offer, so that votes under it become certificates."""

from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from ellzero.certificates import Bounds, Votes
from ellzero.smoothing.noise.random_streams import RandomSource


class NoiseFamily(Protocol):
    """Noise on inputs whose numbers are levels 0..levels−1, and the certificate that belongs to it.

    The noise sits on the levels, before anything else: scaling, standardising and the model come after it.
    """

    def __hash__(self) -> int:
        """Noises are keys."""

    @property
    def levels(self) -> int:
        """How many values a number of the input has."""

    @property
    def tag(self) -> str:
        """A text that no other noise has."""

    def description(self) -> Mapping[str, Any]:
        """The family and its parameters, as results state them."""

    def check_shape(self, shape: torch.Size) -> None:
        """Raise ``InvalidInput`` if no input of this shape can be."""

    def dimension(self, shape: torch.Size) -> int:
        """d: how many things of an input of this shape an adversary may change, each of which counts one."""

    def sample(self, x: Tensor, source: RandomSource, count: int) -> Tensor:
        """``count`` noisy copies of x, a tensor of levels: levels again, or float32 in units of the whole range."""

    def sample_batch(self, batch: Tensor, source: RandomSource) -> Tensor:
        """One noisy copy of each of several inputs, as `sample` makes them of one."""

    def radius(self, votes: Votes, d: int) -> int | None:
        """The ℓ0 radius that votes certify; None to abstain."""

    def anytime_radius(self, votes: Votes, d: int) -> int | None:
        """The same when somebody may have stopped after looking at the votes."""

    def two_class_radius(self, bounds: Bounds, d: int) -> int | None:
        """The ℓ0 radius that bounds of a class and of all others certify."""

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        """Radii in other norms that a lower bound of p certifies, by the names l1, l2 and linf."""
