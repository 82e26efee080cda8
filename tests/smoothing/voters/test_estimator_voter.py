"""Labels of scikit-learn's classifiers, whatever they are, become their indices."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from smoothing.classifiers import NOISE, make_inputs

from ellzero.smoothing import SmoothedClassifier
from ellzero.smoothing.errors import ModelFailed
from ellzero.smoothing.voters.estimator_voter import EstimatorVoter


class Answering:
    """Says of every batch the same labels."""

    def __init__(self, classes: Any, labels: Any) -> None:
        self.classes_, self.labels = classes, labels

    def predict(self, rows: Any) -> Any:
        return self.labels


@given(
    st.one_of(
        st.lists(st.integers(-5, 99), min_size=2, max_size=6, unique=True),
        st.lists(st.text("abß ", max_size=3), min_size=2, max_size=6, unique=True),
        st.lists(st.sampled_from([0.5, 1.0, -2.25, 1e9]), min_size=2, unique=True),
        st.just([False, True]),
    ),
    st.data(),
)
def test_labels_become_their_indices_in_any_order_of_classes(classes: list[Any], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(classes) - 1), min_size=1, max_size=9))
    for forms in (np.array(classes), classes, tuple(classes)):
        voter = EstimatorVoter(Answering(forms, np.array([classes[place] for place in places])), None)
        assert voter.label(np.zeros((len(places), 2))).tolist() == places


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "c"], r"returned the label np.str_\('c'\), which is not in its classes_"),
        ([0, 1], "returned the label .*, which is not in its classes_"),
        (["a"], r"returned an array of shape \(1,\) for 2 samples"),
        (None, r"returned an array of shape \(\) for 2 samples"),
    ],
)
def test_labels_that_are_no_classes_are_one_line(labels: Any, message: str) -> None:
    with pytest.raises(ModelFailed, match=f"the model {message}"):
        EstimatorVoter(Answering(["a", "b"], labels), None).label(np.zeros((2, 3)))


def test_a_pipeline_votes_as_its_steps_do() -> None:
    rows = np.random.default_rng(0).integers(0, 4, (200, 8)) / 3
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), tree).fit(rows, rows.sum(1) > 4)
    x = make_inputs(1)[0]
    whole = SmoothedClassifier(pipeline, NOISE).certify(x, 20, 500, seed=1)
    steps = SmoothedClassifier(tree, NOISE, preprocess=pipeline[0].transform).certify(x, 20, 500, seed=1)
    assert (whole.counts, whole.radius) == (steps.counts, steps.radius)
