"""The page's numbers: what is typed and read in a real browser, against the real service and the engine."""

import csv
import io
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect
from serve.page.view import WAIT_MS, NewView, View, needs_chromium

from ellzero.certificates import (
    Discrete,
    Votes,
    certify,
    gaussian_l0_radius,
    min_count,
    plan,
    radius,
    radius_from_votes,
    sigma_for_alpha,
    thresholds,
)

pytestmark = needs_chromium


@pytest.mark.parametrize(
    ("k", "alpha", "d", "p"),
    [(255, "0.2", 150528, "0.99"), (1, "4/5", 784, "0.9999"), (16, "0.3", 5, "0.99999"), (255, "0.1", 784, "2/3")],
)
def test_a_radius_comes_with_its_reason_and_the_samples_that_prove_it(
    view: View, k: int, alpha: str, d: int, p: str
) -> None:
    view.type(k=str(k), alpha=f"0.7, {alpha}", d=str(d), p=p)
    view.choose("at", alpha)
    certificate = certify(Discrete(k, alpha), p, d)
    assert certificate.radius is not None
    view.shows("radius", str(certificate.radius))
    view.shows("threshold", str(certificate.threshold))
    if certificate.next_threshold is not None:
        view.shows("next-threshold", str(certificate.next_threshold))
    margin = Decimal(view.at("margin").inner_text())
    assert 0 <= certificate.margin - Fraction(margin) < Fraction(1, 10**19)  # type: ignore[operator]  # a radius has a margin
    planned = plan(Discrete(k, alpha), certificate.radius, p)
    assert planned is not None
    view.says("samples", f"takes {planned.n:,} of them", f"if {planned.min_count:,} are for the class")


def test_half_is_not_a_majority_and_the_page_says_why_it_abstains(view: View) -> None:
    view.type(p="0.5")
    view.shows("radius", "abstain")
    view.says("meaning", "p does not exceed 1/2", "Not even r = 0")
    view.shows("next-threshold", "0.50000000000000000000")
    expect(view.at("samples")).to_have_count(0)


def test_votes_show_what_one_radius_more_would_need(view: View) -> None:
    view.choose("mode", "votes")
    view.type(count="9950", n="10000", failure="0.01")
    noise, votes = Discrete(255, "0.2"), Votes(9950, 10_000, "0.01")
    certified = radius_from_votes(noise, votes, 150528)
    assert certified is not None
    view.says("next-min-count", f"{min_count(noise, certified + 1, 10_000, '0.01'):,} of 10,000")
    view.says("min-count", f"{min_count(noise, certified, 10_000, '0.01'):,} of 10,000")
    view.shows("radius", str(certified))
    view.says("meaning", "With confidence 99 %", "cannot change the smoothed classifier’s answer")
    planned = plan(noise, certified + 1, "9950/10000", "0.01")
    assert planned is not None
    view.says("samples", "If p is 9950/10000, as these votes suggest", f"r = {certified + 1} takes {planned.n:,} votes")
    view.says("samples", f"if {planned.min_count:,} of them are for the class", "confidence 99 %")


def test_too_few_votes_abstain(view: View) -> None:
    view.choose("mode", "votes")
    view.type(count="5", n="5")
    view.shows("radius", "abstain")
    view.says("meaning", "votes do not prove with confidence 99.9 %")
    view.shows("next-min-count", "not even all 5")


def test_a_runner_up_certifies_more(view: View) -> None:
    view.type(p="0.8", p_b="0.01")
    noise = Discrete(255, "0.2")
    two, alone = radius(noise, "0.8", 150528, "0.01"), radius(noise, "0.8", 150528)
    assert two != alone
    view.shows("radius", str(two))
    view.shows("alone", f"r = {alone}")
    view.says("rule", "two-class rule", "no margin")
    view.type(p="0.4", p_b="0.1")
    view.shows("alone", "nothing (abstain)")
    view.type(p_b="")
    expect(view.at("rule")).to_have_count(0)
    expect(view.at("alone")).to_have_count(0)


_WRONG_AND_RIGHT = {
    "p": [
        ("k", "zero", "255"),
        ("alpha", "0.2, 1.5", "0.2"),
        ("alpha", "0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9", "0.2"),
        ("d", "0", "150528"),
        ("r_max", "-1", "5"),
        ("r_max", "2001", "5"),
        ("p", "1.01", "0.9"),
        ("p_b", "<b>", "0.1"),
    ],
    "votes": [("count", "100001", "5"), ("n", "many", "100000"), ("failure", "2", "0.1")],
}


@pytest.mark.parametrize("mode", ["p", "votes"])
def test_a_wrong_value_is_explained_beside_its_field_until_it_is_right(view: View, mode: str) -> None:
    view.expected.add(422)
    view.choose("mode", mode)
    for name, wrong, right in _WRONG_AND_RIGHT[mode]:
        view.type(**{name: wrong})
        expect(view.at(f"{name}-error")).to_contain_text(re.compile("must be|at most", re.I), timeout=WAIT_MS)
        expect(view.at(name)).to_have_attribute("aria-invalid", "true")
        expect(view.at("notice")).to_be_hidden()
        view.type(**{name: right})
        view.shows(f"{name}-error", "")
        expect(view.page.locator("[aria-invalid]")).to_have_count(0)


_MESSAGES = {
    "k": ("x", "K must be an integer from 1 to"),
    "alpha": ("2", "α must be a number strictly between 0 and 1"),
    "d": ("0", "d must be an integer from 1 to"),
    "r_max": ("-1", "The largest radius must be an integer from 0 to"),
}
_EVIDENCE_MESSAGES = {
    "p": {"p": ("7", "p must be a number from 0 to 1"), "p_b": ("9", "p_b must be a number from 0 to 1")},
    "votes": {
        "count": ("-5", "The number of votes for the class must be an integer from 0 to"),
        "n": ("none", "n must be an integer from 1 to"),
        "failure": ("1", "The failure probability must be a number strictly between 0 and 1"),
    },
}


@pytest.mark.parametrize("mode", ["p", "votes"])
def test_all_wrong_fields_are_marked_at_once_each_with_its_message(view: View, mode: str) -> None:
    view.choose("mode", mode)
    wrong = _MESSAGES | _EVIDENCE_MESSAGES[mode]
    view.type(**{name: value for name, (value, _) in wrong.items()})
    for name, (_, message) in wrong.items():
        view.says(f"{name}-error", message)
        expect(view.at(name)).to_have_attribute("aria-invalid", "true")
        assert f"{name}-error" in (view.at(name).get_attribute("aria-describedby") or "").split()
    expect(view.page.locator("[aria-invalid]")).to_have_count(len(wrong))


def test_every_certificate_from_votes_names_its_confidence_and_the_smoothed_classifier(new_view: NewView) -> None:
    view = new_view()
    view.open("?k=1&alpha=4/5&at=4/5&d=784&mode=votes&count=99990&n=100000&failure=0.001")
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    view.type(**{"voting-n": "1000"})
    view.at("voting-start").click()
    for name in ("meaning", "comparison-meaning", "voting-meaning"):
        view.says(name, "With confidence 99.9 %", "smoothed classifier’s answer")
    expect(view.page.locator("#meaning, #comparison-meaning")).to_contain_text(["cannot change", "cannot change"])
    expect(view.page.locator("dt:has(+ #p-lower)")).to_have_text("with confidence 99.9 %, p is at least")
    view.says("samples", "with confidence 99.9 %")
    view.choose("mode", "p")
    view.says("meaning", "Changing at most")
    for name in ("meaning", "comparison-meaning"):
        expect(view.at(name)).not_to_contain_text("confidence", timeout=WAIT_MS)


def test_confidence_is_exact_or_cut(view: View) -> None:
    script = "async texts => texts.map((await import('./assets/exact.js')).formatConfidence)"
    texts = ["1/1000", "0.05", "1/3", "1/1" + "0" * 300, "2"]
    assert view.evaluate(script, texts) == ["99.9 %", "95 %", "66.666666666666… %", "99.999999999999… %", None]


def test_missing_values_are_requested(view: View) -> None:
    view.type(alpha="", p="")
    view.says("alpha-error", "at least one α")
    view.says("verdict", "Enter a probability or votes")
    view.type(alpha="0.2", p="0.99", k="", d="")
    view.says("k-error", "Enter K")
    view.says("d-error", "Enter d")
    view.says("verdict", "see the messages beside the fields")
    view.type(k="255", d="784")
    view.shows("d-error", "")
    view.shows("radius", str(radius(Discrete(255, "0.2"), "0.99", 784)))


@pytest.mark.parametrize("d", ["", "many", "400001"])
def test_no_more_radii_are_drawn_than_a_page_can_hold(new_view: NewView, d: str) -> None:
    view = new_view()
    view.expected.add(422)
    view.page.goto(f"{view.address}/?d={d}&r_max=400000&alpha=0.2&view=table")
    view.says("r_max-error", "from 0 to 2000")
    expect(view.page.locator("#table-view tr")).to_have_count(0)
    assert not [url for url in view.requested if "v1/thresholds" in url]
    view.type(r_max="2000")
    expect(view.page.locator("#table-view tbody tr")).to_have_count(2001)


def test_keys_step_through_radii_and_noises_and_say_exact_thresholds(view: View) -> None:
    view.at("chart").focus()
    for r, tau in enumerate(thresholds(Discrete(255, "0.2"), range(4))):
        view.page.keyboard.press("ArrowRight")
        view.shows("chart-readout", f"r = {r}, α = 0.2: p must exceed {tau}")
        expect(view.page.locator("#chart .hovertext")).to_contain_text(str(tau))
    for key, alpha, r in [("ArrowDown", "0.3", 3), ("ArrowDown", "0.1", 3), ("End", "0.1", 12), ("Home", "0.1", 0)]:
        view.page.keyboard.press(key)
        (tau,) = thresholds(Discrete(255, alpha), [r])
        view.shows("chart-readout", f"r = {r}, α = {alpha}: p must exceed {tau}")


def test_pointing_at_a_radius_shows_the_exact_threshold(view: View) -> None:
    view.at("chart").scroll_into_view_if_needed()
    point = view.page.locator("#chart .scatterlayer .trace").nth(2).locator(".point").nth(5).bounding_box()
    assert point is not None
    view.page.mouse.move(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    (tau,) = thresholds(Discrete(255, "0.3"), [5])
    expect(view.page.locator("#chart .hovertext")).to_contain_text(str(tau))
    view.says("chart-readout", str(tau))


@pytest.mark.parametrize(
    ("k", "alpha", "last"),
    [(255, "0.2", 8), (1, "0.9", 40), (1, "1/2", 6), (1, "0.1", 3)],
    ids=["bytes", "to saturation", "flat", "more often changed than kept"],
)
def test_the_table_has_every_threshold_drawn(view: View, k: int, alpha: str, last: int) -> None:
    view.type(k=str(k), alpha=alpha, r_max=str(last))
    view.choose("view", "table")
    cells = view.page.locator("#table-view tbody tr")
    expect(cells).to_have_count(last + 1)
    expect(view.page.locator("#table-view caption")).to_contain_text(f"K = {k}:")
    expect(view.page.locator("#table-view thead th")).to_have_text(["r", f"α = {alpha}"])
    expect(view.page.locator("#table-view td")).to_have_text(
        [str(tau) for tau in thresholds(Discrete(k, alpha), range(last + 1))]
    )


def test_radii_end_at_the_number_of_coordinates(view: View) -> None:
    view.type(d="4")
    view.choose("view", "table")
    expect(view.page.locator("#table-view tbody tr")).to_have_count(5)


def test_the_csv_is_what_is_drawn(view: View) -> None:
    view.type(alpha="1/5, 0.9", r_max="9")
    view.shows("chart-summary", "K = 255; α = 1/5; α = 0.9; r from 0 to 9.")
    with view.page.expect_download() as download:
        view.at("csv").click()
    assert download.value.suggested_filename == "ellzero-thresholds-k255.csv"
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert rows == [
        {"k": "255", "alpha": alpha, "r": str(r), "threshold": str(tau)}
        for alpha in ("1/5", "0.9")
        for r, tau in enumerate(thresholds(Discrete(255, alpha), range(10)))
    ]


@pytest.mark.parametrize("kind", ["chart", "table"])
def test_the_picture_is_one_of_the_chart(view: View, kind: str) -> None:
    view.choose("view", kind)
    with view.page.expect_download() as download:
        view.at("png").click()
    with Image.open(download.value.path()) as picture:
        assert (picture.format, picture.size) == ("PNG", (2000, 1200))
        pixels = picture.convert("RGB")
        colours = {colour for count, colour in pixels.getcolors(2**24) or [] if count > 500}
    assert {(0, 114, 178), (213, 94, 0), (0, 128, 95)} <= colours  # a line for each noise


def test_a_link_reproduces_the_whole_view(view: View, new_view: NewView) -> None:
    view.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    typed = {"k": "1", "alpha": "4/5, 0.9", "d": "784", "r_max": "7", "count": "995", "n": "1000", "failure": "1/50"}
    view.choose("mode", "votes")
    view.type(**typed)
    view.choose("at", "0.9")
    view.choose("view", "table")
    view.wait_drawn()
    expected = str(radius_from_votes(Discrete(1, "0.9"), Votes(995, 1000, "1/50"), 784))
    view.shows("radius", expected)
    view.at("copy-link").click()
    view.shows("copy-link", "Copied")
    link = view.evaluate("navigator.clipboard.readText()")
    assert link == view.page.url
    other = new_view()
    other.open(link.removeprefix(f"{other.address}/"))
    other.shows("radius", expected)
    for name, value in typed.items():
        expect(other.at(name)).to_have_value(value)
    expect(other.page.locator("#table-view td")).to_have_text(view.page.locator("#table-view td").all_inner_texts())
    expect(other.page.locator("input[name=at]:checked")).to_have_value("0.9")


def test_discrete_and_gaussian_noise_are_compared_where_they_can_be(view: View) -> None:
    view.says("comparison-text", "K = 1", "α > 1/2")
    expect(view.at("comparison-body")).to_be_hidden()
    view.type(p="0.999")
    view.at("example").click()
    view.shows("discrete-radius", str(radius(Discrete(1, "4/5"), "0.999", 150528)))
    sigma = sigma_for_alpha("4/5")
    view.shows("gaussian-radius", str(gaussian_l0_radius(sigma, "0.999", 150528)))
    view.says("comparison-text", f"σ = {sigma:.4g}")
    view.at("comparison-chart").focus()
    view.page.keyboard.press("End")
    view.says("comparison-readout", "discrete, α = 4/5", str(thresholds(Discrete(1, "4/5"), [12])[0]))
    view.page.keyboard.press("ArrowDown")
    view.says("comparison-readout", "Gaussian")
    # What p must exceed by the page's own word is where the Gaussian radius changes.
    tau = Decimal(view.at("comparison-readout").inner_text().split()[-1])
    step = Decimal("1e-20")
    assert gaussian_l0_radius(sigma, tau + step, 784) == 12
    assert gaussian_l0_radius(sigma, tau - step, 784) == 11


@pytest.mark.parametrize("r_max", ["", "far", "2001"])
def test_radii_are_compared_even_if_nothing_can_be_drawn(new_view: NewView, r_max: str) -> None:
    view = new_view()
    view.page.goto(f"{view.address}/?k=1&alpha=0.8&r_max={r_max}&at=0.8&p=0.999")
    view.shows("discrete-radius", str(radius(Discrete(1, "0.8"), "0.999", 150528)))
    expect(view.at("r_max")).to_have_attribute("aria-invalid", "true")
    expect(view.at("comparison-chart")).to_be_hidden()
    view.type(r_max="12")
    expect(view.at("comparison-chart")).to_have_attribute("data-ready", "true", timeout=WAIT_MS)
    view.type(r_max=r_max)
    expect(view.at("comparison-chart")).to_be_hidden()
    view.shows("discrete-radius", str(radius(Discrete(1, "0.8"), "0.999", 150528)))
