"""The interface of a noise: sampling, and the certificates that votes under it give."""

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from ellzero.certificates import Bounds, Votes
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape


class NoiseFamily(Protocol):
    """Noise on inputs whose numbers are levels 0..levels−1, and its certificates.

    Noise is added to the levels; scaling, standardising and the model come after it.
    """

    def __hash__(self) -> int:
        """Noises are keys of caches."""

    @property
    def levels(self) -> int:
        """How many values a number of an input can have."""

    @property
    def sample_levels(self) -> int:
        """How many values a number of a sample can have. Scaling has no place for those that inputs do not have."""

    @property
    def tag(self) -> str:
        """A text that identifies the law of the samples: noises that share it draw the same ones from the same seed."""

    def description(self) -> Mapping[str, Any]:
        """The family and its parameters, as written to results and model cards."""

    def check_shape(self, shape: Shape) -> None:
        """Raise ``InvalidInput`` unless inputs can have this shape."""

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        """Inputs as `sample_batch` takes them, from a batch of levels: padded where they may be of different lengths.

        Raises ``InvalidInput`` for shapes and for levels that inputs cannot have.
        """

    @property
    def strikes_independently(self) -> bool:
        """Whether what happens to a unit is independent of all others, and leaves it in its place."""

    def unit_shape(self, shape: Shape) -> Shape:
        """The shape of the units of an input of this shape: one axis less where several numbers are one unit."""

    def dimension(self, shape: Shape) -> int:
        """d: how many units an input of this shape has; changing one unit counts as one change."""

    def sample(self, x: Array, source: RandomSource, count: int) -> Array:
        """``count`` noisy copies of x, an array of levels: levels again, or float32 in units of the whole range.

        The samples are an array of the source's own kind: numpy's on a CPU, and torch's on a GPU.
        """

    def sample_batch(self, batch: Array, source: RandomSource) -> Array:
        """One noisy copy of each of several inputs, as `sample` makes them of one."""

    def radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        """The ℓ0 radius within which votes certify that a class remains one of the ``top_k`` most probable; None to
        abstain."""

    def anytime_radius(self, votes: Votes, d: int, top_k: int = 1) -> int | None:
        """The same for votes that may have been stopped at any time, depending on the votes themselves."""

    def two_class_radius(self, bounds: Bounds, d: int, top_k: int = 1) -> int | None:
        """The same for bounds of the class and of the others."""

    def other_radii(self, bound: float, d: int) -> Mapping[str, float]:
        """Radii in other norms that a lower bound of p certifies, by the names l1, l2 and linf."""
