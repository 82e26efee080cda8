"""A function as a voter: a batch as a numpy array in, labels or scores out."""

from collections.abc import Callable
from typing import Any

from ellzero.smoothing.noise.random_streams import Array
from ellzero.smoothing.voters.base import Labels, Preprocess, batch_of_arrays, explain_errors
from ellzero.smoothing.voters.outputs import read_votes


class FunctionVoter:
    """Any callable. What it returns may be an array of any library that numpy can read, or a list."""

    device = None
    one_size = False

    def __init__(self, call: Callable[[Any], object], classes: int, preprocess: Preprocess | None) -> None:
        self.classes = classes
        self._call, self._preprocess = call, preprocess

    def estimate_batch_size(self, example: Array) -> int:
        return batch_of_arrays(example)

    def label(self, samples: Array) -> Labels:
        count = len(samples)
        with explain_errors():
            output = self._call(samples if self._preprocess is None else self._preprocess(samples))
        return read_votes(output, count, self.classes)
