"""The page's votes, in a real browser: examples, noise, votes as they arrive, and the radius that the library gives."""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import expect
from serve.page.service import page_service
from serve.page.view import WAIT_MS, NewView, View, needs_chromium
from serve.voting_models import add_digits

from ellzero.smoothing import CertifySettings, DiscreteNoise, GaussianNoise, SmoothedClassifier
from ellzero.smoothing.data.datasets import binarize
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.models.files import load_model, save_model

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    add_digits(folder)
    saved = load_model(folder / "digits.safetensors")
    card = replace(saved.card, noise=dict(GaussianNoise("0.1", k=1).description()))
    save_model(folder / "gaussian.safetensors", saved.network, card)
    return folder


@pytest.fixture(scope="module")
def voting_service(models: Path) -> Iterator[str]:
    settings = {"ELLZERO_SERVE_MODELS": str(models), "ELLZERO_SERVE_JOBS": str(models / "jobs")}
    with page_service(settings) as address:
        yield address


@pytest.fixture
def voting(new_view: NewView, voting_service: str) -> View:
    view = new_view(voting_service)
    view.open()
    expect(view.at("voting-body")).to_be_visible(timeout=WAIT_MS)
    view.at("voting-model").select_option("digits")
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    return view


def test_a_radius_is_the_one_that_the_library_gives(voting: View, models: Path) -> None:
    voting.choose("voting-example", "4")
    voting.choose("voting-alpha", "0.99")
    voting.type(**{"voting-n": "3000"})
    voting.at("voting-start").click()
    voting.says("voting-progress", "votes were needed; seed ")
    said = voting.at("voting-progress").inner_text()
    seed = int(re.search(r"seed (\d+)", said)[1])  # type: ignore[index]
    data = binarize(load_data("digits", "test"), 8)
    fourth = data.inputs([data.labels.tolist().index(4)])[0]
    classifier = SmoothedClassifier(load_model(models / "digits.safetensors").network, DiscreteNoise(1, "0.99"), 10)
    (result,) = classifier.certify_many([fourth], CertifySettings.of(100, 3_000, "0.001", seed))
    voting.shows("voting-radius", "abstain" if result.radius is None else str(result.radius))
    counts = [int(text.replace(",", "")) for text in voting.page.locator("#voting-bars .count").all_inner_texts()]
    assert tuple(counts) == result.counts
    assert f"{result.drawn:,} of 3,000 votes" in said
    # Cut and not rounded: the page must not claim more than was proved.
    voting.says("voting-verdict", f"its probability is at least {Decimal(result.lower_bound):.20f}"[:-16] + "…")


def test_votes_on_another_choice_are_ended_and_never_shown(voting: View) -> None:
    """A certificate beside an image that it does not speak of would be a false one."""
    voting.type(**{"voting-n": "10000000"})
    for group, value in (("voting-example", "7"), ("voting-alpha", "0.8")):
        voting.at("voting-start").click()
        voting.says("voting-progress", "running: ")
        with voting.page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
            voting.choose(group, value)
        assert deleted.value.json()["state"] == "cancelled"
        expect(voting.at("voting-start")).to_be_enabled()
        voting.page.wait_for_timeout(600)  # more than two polls
        for name in ("voting-progress", "voting-verdict", "voting-bars"):
            expect(voting.at(name)).to_be_empty()


def test_a_model_of_gaussian_noise_is_voted_with_its_own(voting: View) -> None:
    voting.at("voting-model").select_option("gaussian")
    voting.says("voting-model-hint", "trained with Gaussian noise, σ = 1/10")
    expect(voting.at("voting-alphas")).to_be_hidden()
    voting.type(**{"voting-n": "1000"})
    voting.at("voting-start").click()
    voting.says("voting-progress", "votes were needed; seed ")


def test_votes_are_seen_to_arrive_and_can_be_cancelled(voting: View) -> None:
    voting.type(**{"voting-n": "10000000"})
    voting.at("voting-start").click()
    voting.says("voting-progress", "running: ", "of at most 10,000,100 votes", "s left")
    first = voting.at("voting-progress").inner_text()
    expect(voting.at("voting-progress")).not_to_have_text(first, timeout=WAIT_MS)
    voting.at("voting-cancel").click()
    voting.says("voting-progress", "The votes were cancelled")
    expect(voting.at("voting-start")).to_be_enabled()


def test_the_image_is_shown_under_each_noise(voting: View) -> None:
    voting.type(**{"voting-alphas": "0.999, 0.5"})
    expect(voting.page.locator("#voting-noisy canvas")).to_have_count(2, timeout=WAIT_MS)
    changed = """() => {
        const pixels = (canvas) => [...canvas.getContext("2d").getImageData(0, 0, 8, 8).data];
        const own = pixels(document.querySelector("#voting-examples canvas"));
        const count = (canvas) => pixels(canvas).filter((value, place) => value !== own[place]).length / 3;
        return [...document.querySelectorAll("#voting-noisy canvas")].map(count);
    }"""
    little, much = voting.evaluate(changed)
    assert little <= 3
    assert 15 <= much <= 50


def test_what_is_wrong_stands_by_its_field(voting: View) -> None:
    voting.type(**{"voting-alphas": "2"})
    voting.says("voting-alphas-error", "α must be a number strictly between 0 and 1")
    voting.type(**{"voting-n": "0"})
    voting.at("voting-start").click()
    voting.says("voting-n-error", "n must be an integer from 1 to")
    voting.says("voting-alphas-error", "α must be")


def test_the_model_that_ships_can_be_tried_at_once(new_view: NewView) -> None:
    view = new_view()
    view.open()
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    view.choose("voting-example", "0")
    view.type(**{"voting-n": "2000"})
    view.at("voting-start").click()
    view.says("voting-progress", "votes were needed; seed ")
    expect(view.at("voting-radius")).to_have_text(re.compile(r"^[012]$"), timeout=WAIT_MS)


def test_an_empty_folder_leaves_the_model_that_ships(new_view: NewView, tmp_path: Path) -> None:
    with page_service({"ELLZERO_SERVE_MODELS": str(tmp_path), "ELLZERO_SERVE_JOBS": str(tmp_path)}) as address:
        view = new_view(address)
        view.open()
        expect(view.page.locator("#voting-model option")).to_have_text(["demo-digits"], timeout=WAIT_MS)
        expect(view.at("voting-others")).to_be_hidden()
