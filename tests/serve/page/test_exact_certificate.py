"""Trees and forests on the page, in a real browser: the estimator's radius, its p, and what an adversary changes."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect
from serve.page.service import page_service
from serve.page.test_accessibility import check_with_axe, skip_without_axe
from serve.page.view import WAIT_MS, NewView, View, needs_chromium
from serve.tree_models import BITS, LABELS, NAMES, add_trees

from ellzero.trees.estimators import SmoothedTrees

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trees")


@pytest.fixture(scope="module")
def estimators(folder: Path) -> dict[str, SmoothedTrees]:
    np.savez(folder / "digits-tree.examples.npz", x=BITS[:3], y=LABELS[:3])
    return add_trees(folder)


@pytest.fixture(scope="module")
def tree_service(folder: Path, estimators: dict[str, SmoothedTrees]) -> Iterator[str]:
    settings = {"ELLZERO_SERVE_MODELS": str(folder), "ELLZERO_SERVE_JOBS": str(folder / "jobs")}
    with page_service(settings) as address:
        yield address


@pytest.fixture
def panel(new_view: NewView, tree_service: str) -> View:
    return open_panel(new_view(tree_service))


def open_panel(view: View) -> View:
    view.expected.add(404)  # models without examples
    view.open()
    expect(view.at("voting-body")).to_be_visible(timeout=WAIT_MS)
    view.at("voting-model").select_option("digits-tree")
    return view


def test_the_radius_p_and_the_adversary_are_those_of_the_estimator(
    panel: View, estimators: dict[str, SmoothedTrees]
) -> None:
    estimator, x = estimators["digits-tree"], BITS[1:2]
    panel.choose("voting-example", "1")
    panel.at("voting-start").click()
    radius = int(estimator.certified_radius(x)[0])
    panel.shows("voting-radius", str(radius))
    panel.says("voting-meaning", "Exact, no votes: this holds with certainty for this tree smoothed with α = 4/5.")
    p = estimator.probability_bounds(x, 0, exact=True)[0][0, 0]
    own = max(p, 1 - p)
    panel.says("voting-probability", f"{int(own * 10**6) / 10**6:.6f}…", "under noise")
    other = estimator.classes_[int(p < Fraction(1, 2))]
    changed = estimator.adversarial_input(x, radius + 1, other)
    features = np.flatnonzero(changed[0] != x[0])
    expected = [f"{NAMES[feature]}: {x[0][feature]} → {changed[0][feature]}" for feature in features]
    expect(panel.page.locator("#voting-adversary li")).to_have_text(expected)
    panel.says("voting-adversary", f"to {other}; p of ")


def test_what_is_about_votes_is_hidden_for_a_tree_and_shown_for_a_network(panel: View) -> None:
    for name in ("voting-n", "voting-alphas", "voting-cancel"):
        expect(panel.at(name)).to_be_hidden()
    panel.says("voting-text", "no votes are needed")
    panel.says("voting-model-hint", "a smoothed tree on 64 features of 0 and 1; α = 4/5")
    panel.at("voting-start").click()
    expect(panel.at("voting-adversary")).to_be_visible(timeout=WAIT_MS)
    panel.at("voting-model").select_option("demo-digits")
    expect(panel.at("voting-verdict")).to_be_empty()
    for name in ("voting-n", "voting-alphas", "voting-cancel"):
        expect(panel.at(name)).to_be_visible()
    panel.says("voting-text", "Each vote is the model’s answer")


def test_ties_and_answers_that_no_change_moves_are_explained(panel: View, tmp_path: Path) -> None:
    panel.at("voting-model").select_option("constant")
    panel.at("voting-start").click()
    panel.shows("voting-radius", "3")
    panel.says("voting-meaning", "Whichever of the 3 features change, the smoothed tree’s answer stays 1.")
    panel.says("voting-probability", "p = 3/4 = 0.75, the probability of 1 under noise")
    expect(panel.at("voting-adversary")).to_have_count(0)
    panel.at("voting-model").select_option("tie")
    for bits, radius, message in (
        ([0, 1], "abstain", "Both classes have the probability 1/2, so the smoothed tree abstains."),
        ([1, 1], "0", "answer for this input is yes, but it can change if a single feature changes."),
    ):
        own = tmp_path / f"input-{radius}.npy"
        np.save(own, np.array(bits, np.uint8))
        panel.at("voting-file").set_input_files(own)
        expect(panel.page.locator("#voting-examples label")).to_have_text(["blank", own.name])
        expect(panel.at("voting-verdict")).to_be_empty()
        panel.at("voting-start").click()
        panel.shows("voting-radius", radius)
        panel.says("voting-meaning", message)
    panel.says("voting-adversary", "This change leads to a tie; p of yes is then 1/2 = 0.5:", "feature 0: 1 → 0")


def test_axe_finds_nothing_beside_a_tree(new_view: NewView, tree_service: str) -> None:
    skip_without_axe()
    view = open_panel(new_view(tree_service, bypass_csp=True))
    view.at("voting-start").click()
    expect(view.at("voting-adversary")).to_be_visible(timeout=WAIT_MS)
    check_with_axe(view)
