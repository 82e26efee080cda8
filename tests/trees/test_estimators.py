"""The estimators are scikit-learn's in every respect that bits and two classes allow."""

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.estimator_checks import check_estimator

from ellzero.core.errors import InvalidInput
from ellzero.trees import SmoothedForestClassifier, SmoothedTreeClassifier, UnusableTree, validation
from ellzero.trees.estimators import SmoothedTrees

ESTIMATORS = [SmoothedTreeClassifier(max_depth=3), SmoothedForestClassifier(n_trees=3, max_depth=2)]
NOT_BITS = "its features are not 0 and 1"
EXPECTED_FAILURES = dict.fromkeys(
    (
        "check_classifier_data_not_an_array",
        "check_classifiers_classes",
        "check_classifiers_train",
        "check_dict_unchanged",
        "check_dont_overwrite_parameters",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_fit_returns_self",
        "check_estimators_nan_inf",
        "check_estimators_overwrite_params",
        "check_estimators_pickle",
        "check_f_contiguous_array_estimator",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
        "check_fit_check_is_fitted",
        "check_fit_idempotent",
        "check_fit_score_takes_y",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_n_features_in",
        "check_n_features_in_after_fitting",
        "check_pipeline_consistency",
        "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input",
        "check_supervised_y_2d",
    ),
    NOT_BITS,
)


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (120, 12))
    return bits, np.where(bits[:, 0] + bits[:, 1] + rng.random(120) > 1.5, "yes", "no")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_check_estimator_fails_only_where_its_features_are_not_bits(estimator: SmoothedTrees) -> None:
    results = check_estimator(clone(estimator), expected_failed_checks=EXPECTED_FAILURES, on_fail="raise")
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    assert failed == set(EXPECTED_FAILURES), "a check that passes need not be listed"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_check_estimator_passes_entirely_once_its_features_are_made_bits(
    estimator: SmoothedTrees, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "_read_bits", lambda features: np.asarray(features, dtype=float) > 0.5)
    results = check_estimator(clone(estimator), on_fail="raise")
    assert {result["status"] for result in results} <= {"passed", "skipped"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pickled_estimators_answer_the_same(estimator: SmoothedTrees, data: tuple[np.ndarray, np.ndarray]) -> None:
    bits, labels = data
    fitted = clone(estimator).fit(bits, labels)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(bits).tolist() == fitted.predict(bits).tolist()
    assert again.certified_radius(bits).tolist() == fitted.certified_radius(bits).tolist()
    assert again.alpha_ == Fraction(4, 5)


def test_pipelines_and_grid_search_work(data: tuple[np.ndarray, np.ndarray]) -> None:
    bits, labels = data
    pipeline = make_pipeline(Binarizer(threshold=0.5), SmoothedTreeClassifier())
    grid = {
        "smoothedtreeclassifier__alpha": ["0.7", "0.9"],
        "smoothedtreeclassifier__max_depth": [1, 3],
        "smoothedtreeclassifier__leaf": ["share", "majority"],
    }
    search = GridSearchCV(pipeline, grid, cv=3, scoring="roc_auc").fit(bits * 0.9, labels)
    assert search.best_score_ > 0.7
    assert set(search.predict(bits)) <= {"yes", "no"}


def test_labels_and_their_order_are_the_callers(data: tuple[np.ndarray, np.ndarray]) -> None:
    bits, labels = data
    tree = SmoothedTreeClassifier(alpha="9/10", max_depth=3).fit(bits, labels)
    assert tree.classes_.tolist() == ["no", "yes"]
    assert (tree.predict(bits) == labels).mean() > 0.7
    low, high = tree.probability_bounds(bits, 1)
    assert np.all(low[:, 0] <= tree.predict_proba(bits)[:, 1])
    assert np.all(tree.predict_proba(bits)[:, 1] <= high[:, 0])
    toward_no = tree.adversarial_input(bits[:1], 1, toward="no")
    assert tree.predict_proba(toward_no)[0, 1] <= tree.predict_proba(bits[:1])[0, 1]


def test_arrays_of_a_fitted_estimator_make_an_equal_one(data: tuple[np.ndarray, np.ndarray]) -> None:
    bits, labels = data
    forest = SmoothedForestClassifier(2, "0.7", 3).fit(bits, labels)
    again = SmoothedForestClassifier.from_arrays(
        forest.feature_,
        forest.left_,
        forest.right_,
        forest.value_,
        roots=forest.roots_,
        n_features=12,
        classes=forest.classes_,
        **forest.get_params(),
    )
    assert again.predict_proba(bits).tolist() == forest.predict_proba(bits).tolist()
    assert again.predict(bits).tolist() == forest.predict(bits).tolist()


LEAF: dict[str, Any] = {"feature": [-1], "left": [-1], "right": [-1], "value": [0.5], "n_features": 2}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": [1, 1]}, "classes must be two different labels"),
        ({"classes": [0, "a"]}, "classes must be two different labels of one kind"),
        ({"classes": [0, float("nan")]}, "classes must be two different labels of one kind"),
        ({"leaf": "mean"}, "leaf must be 'share' or 'majority'"),
        ({"max_depth": 0}, "max_depth must be an integer of at least 1"),
        ({"n_features": 0}, "n_features must be an integer of at least 1"),
        ({"alpha": "1/2"}, "alpha must be a rational number above 1/2"),
        ({"feature": [-1] * 2, "left": [-1] * 2, "right": [-1] * 2, "value": [0, 1], "roots": [0, 1]}, "roots must be"),
    ],
)
def test_arrays_of_no_estimator_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SmoothedTreeClassifier.from_arrays(**LEAF | change)
    with pytest.raises((InvalidInput, UnusableTree)):
        SmoothedForestClassifier.from_arrays(**LEAF | change, n_trees=3)


@pytest.mark.parametrize("value", [[[0.5]], 0.5, ["x"], [1j], [None], [2.0]])
def test_values_that_are_no_list_of_probabilities_are_refused(value: Any) -> None:
    with pytest.raises(UnusableTree, match="value must be a (list of numbers|number from 0 to 1)"):
        SmoothedTreeClassifier.from_arrays(**LEAF | {"value": value})


def test_attributes_that_were_tampered_with_make_no_certificate(data: tuple[np.ndarray, np.ndarray]) -> None:
    tree = SmoothedTreeClassifier(max_depth=2).fit(*data)
    tree.feature_[1] = tree.feature_[0]
    with pytest.raises(UnusableTree, match="a feature is tested at more than one node"):
        tree.certified_radius(data[0])
    tree = SmoothedTreeClassifier(max_depth=2).fit(*data)
    tree.alpha_ = Fraction(3, 2)
    with pytest.raises(InvalidInput, match="alpha must be a rational number above 1/2 and at most 1"):
        tree.probability_bounds(data[0], 1)
