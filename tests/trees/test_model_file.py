"""Models as files: read as they were written, named by their bytes, and checked."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sklearn.exceptions import NotFittedError

from ellzero.core.errors import InvalidInput
from ellzero.trees import (
    SmoothedForestClassifier,
    SmoothedTreeClassifier,
    UnreadableFile,
    UnusableFeatures,
    UnusableLabels,
    load_trees,
    save_trees,
)
from ellzero.trees.model_file import parse_trees

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def fit(trees: int, seed: int = 0, labels: tuple[Any, Any] = (0, 1), **parameters: Any) -> Any:
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 2, (40, 12)), np.array(labels)[random.integers(0, 2, 40)]
    made = SmoothedTreeClassifier(**parameters) if trees == 1 else SmoothedForestClassifier(trees, **parameters)
    return made.fit(x, y)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(1, 3),
    st.integers(0, 1000),
    st.sampled_from(["4/5", "0.9", "2/3"]),
    st.sampled_from([(0, 1), ("a", "b"), (-1, 1), (False, True)]),
)
def test_a_model_is_read_as_it_was_written(
    tmp_path: Path, trees: int, seed: int, alpha: str, labels: tuple[Any, Any]
) -> None:
    made = fit(trees, seed, labels, alpha=alpha, max_depth=3)
    digest = save_trees(made, tmp_path / "model.json", {"data": "random"})
    saved = load_trees(tmp_path / "model.json")
    assert saved.digest == digest == hashlib.sha256((tmp_path / "model.json").read_bytes()).hexdigest()
    assert saved.notes == {"data": "random"}
    assert saved.kind == ("tree" if trees == 1 else "forest")
    for name in ("feature_", "left_", "right_", "value_", "roots_", "classes_"):
        assert getattr(saved.estimator, name).tolist() == getattr(made, name).tolist(), name
    assert (saved.estimator.alpha_, saved.estimator.n_features_in_) == (made.alpha_, made.n_features_in_)
    x = np.random.default_rng(1).integers(0, 2, (5, 12))
    assert (
        saved.estimator.probability_bounds(x, 2, exact=True)[0] == made.probability_bounds(x, 2, exact=True)[0]
    ).all()


def model() -> dict[str, Any]:
    return {
        "format": "ellzero trees",
        "version": 1,
        "kind": "tree",
        "alpha": "4/5",
        "max_depth": 2,
        "leaf": "share",
        "n_features": 3,
        "classes": [0, 1],
        "feature": [2, -1, -1],
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "value": [0.5, 0.25, 1],
        "roots": [0],
        "feature_names": None,
        "notes": {},
    }


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(model())), JSON_VALUES)
def test_a_field_of_any_other_value_is_read_or_refused_by_one_error(name: str, value: Any) -> None:
    parse_or_refuse(json.dumps({**model(), name: value}).encode())


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 30))
def test_a_damaged_file_is_refused_by_one_error(noise: bytes, start: int, length: int) -> None:
    whole = json.dumps(model()).encode()
    parse_or_refuse(whole[:start] + noise + whole[start + length :])


def parse_or_refuse(content: bytes) -> None:
    problem = ""
    try:
        estimator = parse_trees(content, "model.json").estimator
        estimator.certified_radius(np.zeros((1, min(estimator.n_features_in_, 1000))))
    except (UnreadableFile, UnusableFeatures) as error:  # features: a model of more than a thousand
        problem = str(error)
    assert not problem or problem.startswith("model.json is no model of trees: ") or "expecting" in problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "version: Input should be less than or equal to 1"),
        ({"format": "other"}, "format: Input should be 'ellzero trees'"),
        ({"value": [0.5, 0.25, 2]}, "every value must be a number from 0 to 1"),
        ({"value": [0.5, 0.25]}, "of one length"),
        ({"feature": [3, -1, -1]}, "features must be from 0 to 2"),
        ({"left": [0, -1, -1]}, "every node must be a root or the child of one node before it"),
        ({"alpha": "1/3"}, "alpha must be a rational number above 1/2"),
        ({"classes": [1, 1]}, "classes must be two different labels"),
        ({"feature_names": ["a", "b"]}, "feature_names must be 3 names, one for each feature"),
        ({"code": "print(1)"}, "code: Unexpected keyword argument"),
    ],
)
def test_an_error_says_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UnreadableFile, match=message):
        parse_trees(json.dumps({**model(), **changes}).encode(), "model.json")


def test_a_file_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="cannot be read: No such file"):
        load_trees(tmp_path / "absent.json")


def test_only_fitted_estimators_with_classes_of_numbers_or_text_are_written(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        save_trees(SmoothedTreeClassifier(), tmp_path / "model.json")
    days = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")
    with pytest.raises(UnusableLabels, match="a model file has classes of numbers or text, not of date"):
        save_trees(fit(1, 0, (days[0], days[1])), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_names_of_features_are_kept_and_must_be_as_many(tmp_path: Path) -> None:
    estimator = fit(1, 0, (0, 1))
    names = [f"bit {place}" for place in range(estimator.n_features_in_)]
    save_trees(estimator, tmp_path / "model.json", feature_names=names)
    assert load_trees(tmp_path / "model.json").feature_names == names
    with pytest.raises(InvalidInput, match="feature_names must be .* names, one for each feature"):
        save_trees(estimator, tmp_path / "other.json", feature_names=names[1:])
    estimator.feature_names_in_ = np.array(names, object)  # as scikit-learn sets it after a data frame
    save_trees(estimator, tmp_path / "frame.json")
    assert load_trees(tmp_path / "frame.json").feature_names == names
