"""What a callable returns, read as votes: labels or scores, of any array library."""

import numpy as np

from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.noise.arrays import read_array
from ellzero.smoothing.voters.base import Labels


def read_votes(output: object, samples: int, classes: int) -> Labels:
    """The class of each sample: integers 0..classes−1 as they are, of scores the place of the largest, the first of
    several."""
    expected = (
        f"{samples} labels, integers from 0 to {classes - 1}, or scores of shape ({samples}, {classes}), are needed"
    )
    array = read_array(output)
    if array is not None and array.dtype.kind in "SU":
        raise ModelFailed("returned text; labels that are not integers need `classes_`, as scikit-learn's models have")
    if array is None or array.dtype.kind not in "biuf" or array.ndim == 0:
        raise ModelFailed(f"returned {_describe(output)}; {expected}")
    if array.shape == (samples, classes):
        if bool(np.isnan(array).any()):
            raise ModelFailed("returned NaN, which is not a vote")
        best: Labels = array.argmax(1)
        return best
    if array.shape != (samples,) or array.dtype.kind == "f":
        raise ModelFailed(f"returned {array.dtype} of shape {array.shape}; {expected}")
    wrong = array[(array < 0) | (array >= classes)]
    if len(wrong):
        raise ModelFailed(f"returned the label {int(wrong[0])}; {expected}")
    return array.astype(np.int64)


def _describe(output: object) -> str:
    """What a model returned, if it is no array of numbers."""
    if isinstance(output, list | tuple):
        return f"a {type(output).__name__} that is not an array of numbers of one shape"
    return "None" if output is None else type(output).__name__
