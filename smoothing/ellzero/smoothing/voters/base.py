"""The interface of a voter: a model as the sampler sees it, whatever it was made with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ellzero.smoothing.models.model_io import is_out_of_memory, make_model_error
from ellzero.smoothing.noise.random_streams import Array

if TYPE_CHECKING:
    import torch

Preprocess: TypeAlias = Callable[[Any], Any]
"""Makes the inputs of a model of noisy samples."""

Labels: TypeAlias = NDArray[np.int64]

_MOST_SAMPLES = 1_024
# One allocation of more than 32 MB is returned to the system after use and faulted in again for every batch.
_LARGEST_ARRAY = 24_000_000


class Voter(Protocol):
    """A model that says of noisy samples which class each has.

    A vote must be that of a function of its sample alone, or of a random one whose answers are independent.
    """

    @property
    def classes(self) -> int:
        """How many classes there are; votes are 0..classes−1."""

    @property
    def device(self) -> "torch.device | None":
        """Where samples are drawn, and expected: None for numpy arrays, which a model on the CPU is given too."""

    @property
    def one_size(self) -> bool:
        """Whether every batch should have the same number of samples."""

    def estimate_batch_size(self, example: Array) -> int:
        """How many samples to classify at once, judging by a batch of one."""

    def label(self, samples: Array) -> Labels:
        """The class of each sample, in their order.

        Raises ``ModelFailed`` if the model fails, or returns what cannot be used as votes; and what the model raises if
        memory runs out, so that fewer samples can be tried.
        """


@contextmanager
def explain_errors() -> Iterator[None]:
    """Turn what a model raises into a `ModelFailed` of one line, unless memory ran out."""
    try:
        yield
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise
        raise make_model_error(error) from error


def batch_of_arrays(example: Array) -> int:
    """How many samples of this size to hold at once: a power of two."""
    return round_to_power(min(_MOST_SAMPLES, _LARGEST_ARRAY // max(1, example.nbytes)))


def round_to_power(most: int) -> int:
    """The largest power of two that is not above ``most``; at least 1."""
    return 1 << (max(1, most).bit_length() - 1)
