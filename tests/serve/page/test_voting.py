"""Votes on the page, in a real browser: models, inputs, noise, votes as they arrive, and the library's radius."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import expect
from serve.page.service import page_service
from serve.page.view import WAIT_MS, NewView, View, needs_chromium
from serve.voting_models import add_digits

from ellzero.smoothing import CertifySettings, DiscreteNoise, GaussianNoise, SmoothedClassifier
from ellzero.smoothing.data.datasets import binarize
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.models.architectures import build
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import load_model, save_model

pytestmark = needs_chromium
IMAGES = np.stack([np.full((28, 28), 255, np.uint8), np.full((28, 28), 7, np.uint8)])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    add_digits(folder)
    saved = load_model(folder / "digits.safetensors")
    _add_images(folder, "mnist", (28, 28))
    _add_images(folder, "colour", (3, 32, 32))
    _add_images(folder, "vector", (20,))
    np.savez(folder / "mnist.examples.npz", x=IMAGES, y=np.array([3, 1]))
    (folder / "broken.safetensors").write_bytes(b"x")
    card = replace(saved.card, noise=dict(GaussianNoise("0.1", k=1).description()))
    save_model(folder / "gaussian.safetensors", saved.network, card)
    return folder


def _add_images(folder: Path, name: str, shape: tuple[int, ...]) -> None:
    """A small perceptron for bytes, whose weights were drawn."""
    torch.manual_seed(1)
    noise = dict(DiscreteNoise(255, "0.9").description())
    card = ModelCard("mlp", shape, 10, 256, config={"width": 8, "depth": 1}, noise=noise)
    save_model(folder / f"{name}.safetensors", build("mlp", shape, 10, 256, card.config), card)


@pytest.fixture(scope="module")
def voting_service(models: Path) -> Iterator[str]:
    settings = {"ELLZERO_SERVE_MODELS": str(models), "ELLZERO_SERVE_JOBS": str(models / "jobs")}
    with page_service(settings) as address:
        yield address


@pytest.fixture
def voting(new_view: NewView, voting_service: str) -> View:
    view = new_view(voting_service)
    view.expected.add(404)  # models without examples
    view.open()
    expect(view.at("voting-body")).to_be_visible(timeout=WAIT_MS)
    view.at("voting-model").select_option("digits")
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    return view


@pytest.mark.parametrize(("stopping", "looks"), [("staged", ", in "), ("settled", "; seed ")])
def test_a_radius_is_the_one_that_the_library_gives(voting: View, models: Path, stopping: str, looks: str) -> None:
    voting.choose("voting-example", "4")
    voting.choose("voting-alpha", "0.99")
    voting.type(**{"voting-n": "3000"})
    voting.at("voting-stopping").select_option(stopping)
    voting.says("voting-stopping-hint", {"staged": "unlikely to raise", "settled": "no remaining vote"}[stopping])
    voting.at("voting-start").click()
    voting.says("voting-progress", f"votes were needed{looks}", "; seed ")
    text = voting.at("voting-progress").inner_text()
    seed = int(re.search(r"seed (\d+)", text)[1])  # type: ignore[index]
    data = binarize(load_data("digits", "test"), 8)
    fourth = data.inputs([data.labels.tolist().index(4)])[0]
    classifier = SmoothedClassifier(load_model(models / "digits.safetensors").network, DiscreteNoise(1, "0.99"), 10)
    (result,) = classifier.certify_many([fourth], CertifySettings.of(100, 3_000, "0.001", seed, stopping))
    voting.shows("voting-radius", "abstain" if result.radius is None else str(result.radius))
    counts = [int(text.replace(",", "")) for text in voting.page.locator("#voting-bars .count").all_inner_texts()]
    assert tuple(counts) == result.counts
    assert f"{result.drawn:,} of 3,000 votes" in text
    assert (f"in {len(result.looks)} looks" in text) is (stopping == "staged")
    if stopping == "staged":
        voting.page.locator("#voting-looks summary").click()
        cells = [row.locator("td").all_inner_texts() for row in voting.page.locator("#voting-looks tbody tr").all()]
        shown = [(int(n.replace(",", "")), int(count.replace(",", ""))) for n, count, _ in cells]
        assert shown == [(look.n, look.count) for look in result.looks]
        for (*_, share), look in zip(cells, result.looks, strict=True):
            assert look.failure <= Fraction(share) <= look.failure * Fraction(102, 100)
    # Cut and not rounded: the page must not claim more than was proved.
    voting.says("voting-verdict", f"its probability is at least {Decimal(result.lower_bound):.20f}"[:-16] + "…")


def test_votes_on_another_choice_are_ended_and_never_shown(voting: View) -> None:
    """A certificate beside an image that it does not speak of would be a false one."""
    voting.type(**{"voting-n": "10000000"})
    voting.at("voting-stopping").select_option("never")
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
    voting.says("voting-progress", "votes were needed", "; seed ")


def test_votes_are_seen_to_arrive_and_can_be_cancelled(voting: View) -> None:
    voting.type(**{"voting-n": "10000000"})
    voting.at("voting-stopping").select_option("never")
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


def test_each_wrong_field_has_its_message(voting: View) -> None:
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
    view.says("voting-progress", "votes were needed", "; seed ")
    expect(view.at("voting-radius")).to_have_text(re.compile(r"^[012]$"), timeout=WAIT_MS)


def test_the_examples_beside_a_model_are_shown_and_certified(voting: View) -> None:
    voting.at("voting-model").select_option("mnist")
    expect(voting.page.locator("#voting-examples label")).to_have_text(["3", "1", "blank"])
    expect(voting.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    pixels = """() => [...document.querySelectorAll("#voting-examples canvas")].map(
        (canvas) => [canvas.width, canvas.height, ...canvas.getContext("2d").getImageData(0, 0, 1, 1).data])"""
    assert voting.evaluate(pixels) == [[28, 28, 255, 255, 255, 255], [28, 28, 7, 7, 7, 255], [28, 28, 0, 0, 0, 255]]
    voting.choose("voting-example", "1")
    assert _certify(voting) == IMAGES[1].tolist()


def test_an_input_from_a_file_is_certified_as_it_is_shown(voting: View, tmp_path: Path) -> None:
    voting.at("voting-model").select_option("colour")
    voting.says("voting-examples-hint", "no colour.examples.npz beside the model")
    expect(voting.page.locator("#voting-examples label")).to_have_text(["blank"])
    colours = """() => [...document.querySelector("#voting-examples label:last-child canvas")
        .getContext("2d").getImageData(5, 0, 1, 1).data]"""
    for shift, kind in enumerate(("uint8", "<i8", "<f4", "<f8")):
        levels = (np.arange(3 * 32 * 32).reshape(3, 32, 32) + shift) % 256
        path = tmp_path / f"own-{shift}.npy"
        np.save(path, (levels / 255 if "f" in kind else levels).astype(kind))
        voting.at("voting-file").set_input_files(path)
        expect(voting.page.locator("#voting-examples label")).to_have_text(["blank", path.name])
        expect(voting.page.locator("#voting-examples :checked + span")).to_have_text(path.name)
        assert voting.evaluate(colours) == [*levels[:, 0, 5].tolist(), 255]
        assert _certify(voting) == levels.tolist()


def test_a_blank_input_can_be_certified(voting: View) -> None:
    voting.at("voting-model").select_option("colour")
    expect(voting.page.locator("#voting-examples label")).to_have_text(["blank"])
    assert _certify(voting) == np.zeros((3, 32, 32), int).tolist()


def _certify(voting: View) -> Any:
    """Certify the selected input; return what was sent as ``x``."""
    voting.type(**{"voting-n": "500"})
    with voting.page.expect_request("**/v1/certify") as request:
        voting.at("voting-start").click()
    expect(voting.at("voting-radius")).to_be_visible(timeout=WAIT_MS)
    return json.loads(request.value.post_data or "")["x"]


_REFUSALS: list[tuple[Any, str]] = [
    (np.zeros((28, 28), np.uint8), "must have the shape 3 × 32 × 32; this one has 28 × 28"),
    (np.full((3, 32, 32), 256), "integers from 0 to 255, or floats that are multiples of 1/255; 256 is neither"),
    (np.full((3, 32, 32), 0.3), "0.3 is neither"),
    (np.full((3, 32, 32), np.nan), "NaN is neither"),
    (np.zeros((3, 32, 32), np.uint8, order="F"), "must be in C order"),
    (np.zeros((3, 32, 32), complex), "must hold integers, booleans or floats"),
    (np.zeros((3, 320, 320)), "too large for one input"),
    (b"\x93NUMPY\x01\x00", "not a .npy file"),
    (b"PK", "not a .npy file"),
    (b"", "not a .npy file"),
]


def test_a_file_that_is_not_an_input_is_refused_with_the_reason(voting: View, tmp_path: Path) -> None:
    voting.at("voting-model").select_option("colour")
    for number, (array, message) in enumerate(_REFUSALS):
        path = tmp_path / f"{number}.npy"
        if isinstance(array, bytes):
            path.write_bytes(array)
        else:
            np.save(path, array)
        voting.at("voting-file").set_input_files(path)
        voting.says("voting-file-error", message)
        expect(voting.at("voting-file")).to_have_attribute("aria-invalid", "true")
        expect(voting.page.locator("#voting-examples label")).to_have_text(["blank"])
        voting.at("voting-model").select_option("mnist")  # which clears the message
        voting.shows("voting-file-error", "")
        voting.at("voting-model").select_option("colour")


def test_models_that_cannot_be_tried_are_named_with_the_reason(voting: View) -> None:
    expect(voting.page.locator("#voting-model option")).to_have_text(
        ["colour", "demo-digits", "digits", "gaussian", "mnist"]
    )
    reasons = voting.page.locator("#voting-others-list li")
    expect(reasons).to_have_count(2)
    expect(reasons.filter(has_text="broken: ")).to_contain_text("safetensors file")
    expect(reasons.filter(has_text="vector: ")).to_contain_text("of shape 20, are not images of at most 64 × 64 pixels")


def test_small_grey_and_colour_images_can_be_drawn(view: View) -> None:
    sizes = [
        ([28, 28], {"channels": 1, "height": 28, "width": 28}),
        ([1, 28, 28], {"channels": 1, "height": 28, "width": 28}),
        ([3, 32, 64], {"channels": 3, "height": 32, "width": 64}),
        ([2, 8, 8], None),
        ([3, 65, 8], None),
        ([784], None),
        ([1, 1, 8, 8], None),
    ]
    script = "async shapes => shapes.map((await import('./assets/picture.js')).getImageSize)"
    assert view.evaluate(script, [shape for shape, _ in sizes]) == [size for _, size in sizes]


def test_levels_are_drawn_from_dark_to_light_in_rows_and_columns(view: View) -> None:
    draw = """async ([x, shape, levels]) => {
        const canvas = (await import("./assets/picture.js")).drawPicture(x, { shape, levels });
        return [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data];
    }"""
    grey = [0, 0, 0, 255, 85, 85, 85, 255, 170, 170, 170, 255, 255, 255, 255, 255]
    assert view.evaluate(draw, [[[0, 1], [2, 3]], [2, 2], 4]) == grey
    assert view.evaluate(draw, [[[[0, 1], [2, 3]]], [1, 2, 2], 4]) == grey
    assert view.evaluate(draw, [[[[1]], [[0]], [[1]]], [3, 1, 1], 2]) == [255, 0, 255, 255]
