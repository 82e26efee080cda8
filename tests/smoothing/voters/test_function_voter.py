"""A function votes without torch, and gets arrays that it may change."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from smoothing.classifiers import NOISE, make_inputs
from smoothing.every_noise import EVERY_NOISE, count_by_sum, make_input

from ellzero.smoothing import DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.errors import OutOfMemory

WITHOUT_TORCH = """
import json, sys
absent = ["torch", "safetensors", "pydantic", "sklearn", "pandas", "ray"]
sys.modules.update(dict.fromkeys(absent))  # importing any of them fails
import numpy as np
import ellzero.smoothing
for name in ellzero.smoothing.__all__:
    getattr(ellzero.smoothing, name)
from ellzero.smoothing import RemoteModel, SmoothedClassifier, add_noise
from ellzero.smoothing.noise.registry import make_noise

def count_by_sum(samples):
    whole = (samples * np.float32(1_000)).round() if samples.dtype.kind == "f" else samples
    return whole.astype(np.int64).reshape(len(samples), -1).sum(1) % 3

class Estimator:
    classes_ = ["a", "b", "c"]
    def predict(self, rows):
        return np.array(self.classes_)[count_by_sum(rows)]

results = []
for description, x in json.load(sys.stdin):
    noise = make_noise(description)
    for model, classes in ((count_by_sum, 3), (Estimator(), None), (RemoteModel(count_by_sum), 3)):
        classifier = SmoothedClassifier(model, noise, classes, feed="levels")
        result = classifier.certify(x, 20, 200, "0.01", seed=7, stopping="never")
        results.append([result.counts, result.radius])
    add_noise(np.array([x]), noise, seed=1, feed="levels")
print(json.dumps(results))
assert sys.modules["torch"] is None
"""


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")
def test_without_torch_functions_are_certified_as_with_it() -> None:
    cases = [(noise, make_input(noise, shape).tolist()) for noise, shape in EVERY_NOISE.values()]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_TORCH],
        input=json.dumps([(dict(noise.description()), x) for noise, x in cases]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = []
    for noise, x in cases:
        classifier = SmoothedClassifier(count_by_sum, noise, 3, feed="levels")
        result = classifier.certify(x, 20, 200, "0.01", seed=7, stopping="never")
        expected += [[list(result.counts), result.radius]] * 3
    assert json.loads(done.stdout) == expected


def test_a_function_that_works_in_place_does_not_change_the_noise() -> None:
    def call(samples: NDArray[Any]) -> NDArray[Any]:
        labels = count_by_sum(samples)
        samples[:] = 0
        return labels

    classifier = SmoothedClassifier(call, NOISE, 3, feed="levels", batch_size=16)
    plain = SmoothedClassifier(count_by_sum, NOISE, 3, feed="levels", batch_size=16)
    x = make_inputs(1)[0]
    assert classifier.predict(x, 500, "0.5", seed=3).counts == plain.predict(x, 500, "0.5", seed=3).counts


def test_a_function_that_runs_out_of_memory_gets_smaller_batches() -> None:
    sizes: list[int] = []

    def call(samples: NDArray[Any]) -> NDArray[Any]:
        sizes.append(len(samples))
        if len(samples) > 10:
            raise MemoryError
        return count_by_sum(samples)

    classifier = SmoothedClassifier(call, NOISE, 3, feed="levels")
    counts = classifier.predict(make_inputs(1)[0], 500, "0.5", seed=3).counts
    assert (
        counts
        == SmoothedClassifier(count_by_sum, NOISE, 3, feed="levels")
        .predict(make_inputs(1)[0], 500, "0.5", seed=3)
        .counts
    )
    assert classifier.sampler.batch_size == 8

    def fail(samples: NDArray[Any]) -> NDArray[Any]:
        raise MemoryError

    with pytest.raises(OutOfMemory, match="the model ran out of memory on cpu with a single sample"):
        SmoothedClassifier(fail, NOISE, 3).predict(make_inputs(1)[0], 10)


def test_large_inputs_come_in_small_batches() -> None:
    classifier = SmoothedClassifier(lambda samples: [0] * len(samples), DiscreteNoise(255, "0.9"), 2)
    classifier.predict(np.zeros((3, 224, 224), np.uint8), 10)
    assert classifier.sampler.batch_size == 32  # of 600 kB each, as float32
