"""A fitted scikit-learn classifier as a voter: its labels become their indices in ``classes_``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.noise.arrays import read_array
from ellzero.smoothing.noise.random_streams import Array
from ellzero.smoothing.voters.base import Labels, Preprocess, batch_of_arrays, explain_errors


class EstimatorVoter:
    """Anything with ``predict`` and ``classes_``. Samples are flattened to rows; ``preprocess`` may make of them what
    the classifier needs, such as a data frame."""

    device = None
    one_size = False

    def __init__(self, model: Any, preprocess: Preprocess | None) -> None:
        names = read_array(model.classes_)
        if names is None:  # labels of any objects
            names = np.asarray(model.classes_, dtype=object)
        if names.ndim != 1 or len(names) < 2:
            raise InvalidInput("model", "a classifier of one output with at least two classes_", names.shape)
        self.classes = len(names)
        self._model, self._preprocess = model, preprocess
        try:
            self._order: NDArray[np.int64] = np.argsort(names, kind="stable")
        except TypeError:
            raise InvalidInput("model", "a classifier with classes_ of one kind", model.classes_) from None
        self._names = names[self._order]

    def estimate_batch_size(self, example: Array) -> int:
        return batch_of_arrays(example)

    def label(self, samples: Array) -> Labels:
        rows = samples.reshape(len(samples), -1)
        with explain_errors():
            output = self._model.predict(rows if self._preprocess is None else self._preprocess(rows))
        labels = np.asarray(output)
        if labels.size != len(samples):
            raise ModelFailed(f"returned an array of shape {labels.shape} for {len(samples)} samples")
        return self._find_classes(labels.reshape(-1))

    def _find_classes(self, labels: NDArray[Any]) -> Labels:
        try:
            places = np.minimum(np.searchsorted(self._names, labels), self.classes - 1)
            right = self._names[places] == labels
        except TypeError:  # kinds that cannot be compared
            places, right = np.zeros(len(labels), np.int64), np.zeros(len(labels), bool)
        if not right.all():
            raise ModelFailed(f"returned the label {labels[~right][0]!r}, which is not in its classes_")
        return self._order[places]
