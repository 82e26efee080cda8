"""Estimates of exact answers grow with what they depend on."""

from serve.tree_models import make_trees

from ellzero.serve.trees.cost_estimates import TreeCosts
from ellzero.trees.forest import Forest


def test_more_inputs_and_more_changes_cost_more_until_all_features_may_change() -> None:
    estimator = make_trees()["digits-forest"]
    links = (estimator.feature_, estimator.left_, estimator.right_)
    forest = Forest.of(*links, estimator.value_, estimator.roots_, estimator.n_features_in_)
    costs = TreeCosts(forest, estimator.alpha_)
    assert costs.estimate_seconds(1, 0) < costs.estimate_seconds(2, 0) < costs.estimate_seconds(2, 1)
    by_radius = [costs.estimate_seconds(10, r) for r in range(70)]
    assert by_radius == sorted(by_radius)
    assert by_radius[-1] == by_radius[len(forest.inner)] > by_radius[1]
