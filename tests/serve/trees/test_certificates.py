"""Exact answers of a tree or forest in the service's types: probabilities enclosed, and too much work refused."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from serve.tree_models import BITS

from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.trees.certificates import ServedTrees
from ellzero.trees import SmoothedTreeClassifier, load_trees, save_trees


def serve(estimator: SmoothedTreeClassifier, folder: Path, seconds: float = 5.0) -> ServedTrees:
    save_trees(estimator, folder / "model.json")
    return ServedTrees("model", load_trees(folder / "model.json"), seconds)


def make_chain(length: int, alpha: str) -> SmoothedTreeClassifier:
    """A tree that is one long path: node 2i tests feature i, and ends to the left."""
    inner = np.arange(length)
    feature, left, right, value = (np.full(2 * length + 1, filler) for filler in (-1, -1, -1, 0.0))
    feature[2 * inner], left[2 * inner], right[2 * inner] = inner, 2 * inner + 1, 2 * inner + 2
    value[2 * inner + 1] = inner % 2
    value[-1] = 1.0
    return SmoothedTreeClassifier.from_arrays(
        feature.astype(int), left.astype(int), right.astype(int), value, n_features=length, alpha=alpha
    )


def test_a_long_fraction_is_enclosed_in_twenty_digits(tmp_path: Path) -> None:
    estimator = make_chain(700, "1234567890123456789/1234567890123456790")
    x = np.ones(700, np.uint8)
    (result,) = serve(estimator, tmp_path).certify(x)
    p = estimator.probability_bounds([x], 0, exact=True)[0][0, 0]
    assert result.exact is not None
    assert result.exact.p.fraction is None
    lower, upper = Fraction(result.exact.p.lower), Fraction(result.exact.p.upper)
    assert lower < p < upper
    assert upper - lower <= Fraction(1, 10**20)
    assert Fraction(result.lower_bound) <= p < Fraction(np.nextafter(result.lower_bound, 1.0))


def test_work_that_would_take_too_long_is_refused_before_and_after_the_radii(tmp_path: Path) -> None:
    estimator = SmoothedTreeClassifier(alpha="4/5", max_depth=5).fit(BITS, BITS[:, 20])
    served = serve(estimator, tmp_path, seconds=1e-6)
    for work in (served.predict, served.certify):
        with pytest.raises(HttpProblem, match="send fewer inputs") as refused:
            work(BITS[0])
        assert (refused.value.status, refused.value.kind) == (422, "too-costly")
        assert refused.value.members["limit_seconds"] == 1e-6
    chain = make_chain(400, "9/10")
    inputs = np.zeros((64, 400), np.uint8)
    enough = serve(chain, tmp_path)
    seconds = enough._costs.estimate_seconds(64, 0)
    radius = int(chain.certified_radius(inputs[:1])[0])
    assert enough._costs.estimate_seconds(64, radius + 1) > seconds
    with pytest.raises(HttpProblem, match="send fewer inputs"):
        serve(chain, tmp_path, seconds=1.01 * seconds).certify(inputs)
    assert len(serve(chain, tmp_path, seconds=1.01 * seconds).predict(inputs)) == 64
