"""The page on phones and in the dark, with slow answers, behind a key, and without its service."""

import hashlib
from math import log10
from typing import Any

import pytest
from playwright.sync_api import Route, expect
from serve.page.service import page_service
from serve.page.view import UNREACHABLE, WAIT_MS, NewView, View, needs_chromium

from ellzero.certificates import Discrete, radius

pytestmark = needs_chromium


@pytest.mark.parametrize(
    "query",
    [
        "?",
        "?view=table&mode=votes",
        "?k=1&alpha=4/5,0.6,0.7,0.8,0.9,0.51,0.52,0.53",
        f"?p=0.{'9' * 45}",
        f"?k=1&alpha=0.8{'0' * 60},0.7&at=0.8{'0' * 60}",
        "?k=1&alpha=1/2&d=2147483647",
    ],
)
def test_a_phone_never_scrolls_sideways(new_view: NewView, query: str) -> None:
    view = new_view(viewport={"width": 360, "height": 700})
    view.open(query)
    view.shows("radius", view.at("radius").inner_text())
    _stays_within(view, 360)


def test_long_numbers_do_not_widen_the_page(new_view: NewView) -> None:
    view = new_view(viewport={"width": 1280, "height": 800})
    view.open(f"?p=0.{'9' * 60}&k=1&alpha=0.8{'0' * 60}")
    view.says("samples", "0." + "9" * 60)
    _stays_within(view, 1280)


def _stays_within(view: View, width: int) -> None:
    """Neither the page nor a card has anything that sticks out."""
    expect(view.page.locator("[aria-busy]")).to_have_count(0)
    assert view.evaluate("document.documentElement.scrollWidth") == width
    sticking = "[...document.querySelectorAll('.card')].filter(card => card.scrollWidth > card.clientWidth)"
    assert view.evaluate(f"{sticking}.map(card => card.id)") == []


def test_curves_keep_their_room_on_a_phone(new_view: NewView) -> None:
    view = new_view(viewport={"width": 360, "height": 700})
    view.open("?k=1&alpha=0.8,0.7,0.6,0.9,4/5,0.55,0.95,0.99&r_max=40")
    plot = view.page.locator("#chart .nsewdrag").bounding_box()
    assert plot is not None
    assert plot["height"] > 200
    expect(view.page.locator("#chart .legend")).to_have_count(0)
    expect(view.at("chart-legend").locator("span")).to_have_count(8)
    expect(view.at("chart-legend")).to_be_visible()
    expect(view.page.locator("#comparison-chart .legend .traces")).to_have_count(2)
    expect(view.page.locator("#chart .scatterlayer .trace").first.locator(".point")).to_have_count(0)
    view.page.set_viewport_size({"width": 1280, "height": 800})
    expect(view.at("chart-legend")).to_be_hidden()
    expect(view.page.locator("#chart .legend .traces")).to_have_count(8)
    expect(view.page.locator("#chart .scatterlayer .trace").first.locator(".point")).to_have_count(41)


@pytest.mark.parametrize(
    ("settings", "has_keys"),
    [
        ({"viewport": {"width": 1280, "height": 800}}, True),
        ({"viewport": {"width": 360, "height": 700}}, False),
        ({"viewport": {"width": 1280, "height": 800}, "has_touch": True, "is_mobile": True}, False),
    ],
    ids=["desktop", "phone", "tablet"],
)
def test_hints_about_keys_are_for_those_who_have_keys(
    new_view: NewView, settings: dict[str, Any], has_keys: bool
) -> None:
    view = new_view(**settings)
    view.open()
    expect(view.at("chart-keys")).to_be_visible(visible=has_keys)
    expect(view.page.locator("#chart-view .touch")).to_be_visible(visible=not has_keys)
    expect(view.page.locator("kbd").first).to_be_visible(visible=has_keys)


def test_the_label_of_a_point_goes_with_the_focus(view: View) -> None:
    view.at("chart").focus()
    view.page.keyboard.press("ArrowRight")
    expect(view.page.locator("#chart .hovertext")).to_have_count(1)
    view.at("p").focus()
    expect(view.page.locator("#chart .hovertext")).to_have_count(0)
    view.says("chart-readout", "r = 0")


def test_the_theme_follows_the_system_until_one_is_chosen(new_view: NewView) -> None:
    view = new_view(color_scheme="dark")
    view.open()
    back = "getComputedStyle(document.body).backgroundColor"
    dark = view.evaluate(back)
    view.at("theme").click()
    assert view.evaluate(back) != dark
    view.page.reload()
    assert view.evaluate(back) != dark
    view.at("theme").click()
    assert view.evaluate(back) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_and_enough_contrast(new_view: NewView, scheme: str) -> None:
    view = new_view(color_scheme=scheme)
    view.expected.add(422)
    view.open("?p=1.5")
    view.says("p-error", "must be")
    unnamed = (
        "[...document.querySelectorAll('input, button, a')].filter(e => !e.labels?.length && !e.textContent.trim())"
    )
    assert view.evaluate(f"{unnamed}.map(e => e.outerHTML)") == []
    for selector in (
        ".hint",
        ".sub",
        ".error",
        ".big strong",
        "h1",
        "button",
        "nav a",
        "dt",
        ".segments :checked + span",
    ):
        assert view.evaluate(_CONTRAST, selector) >= 4.5, selector


# The contrast of text with what it lies on, as WCAG 2 defines it; Chromium gives colours as rgb(…).
_CONTRAST = """selector => {
  const element = [...document.querySelectorAll(selector)].find(e => e.checkVisibility() && e.textContent.trim());
  if (!element) return 21;
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const opaque = (e) => {
    const colour = getComputedStyle(e).backgroundColor;
    return channels(colour)[3] === 0 ? opaque(e.parentElement) : colour;
  };
  const linear = (v) => v <= 0.04045 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = (colour) => {
    const [r, g, b] = channels(colour).map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [high, low] = [light(getComputedStyle(element).color), light(opaque(element))].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}"""


def test_places_on_the_axis_come_from_the_exact_complement(view: View) -> None:
    texts = ["0.5", "0.99999999999999999999", "0." + "9" * 150, "1e-3", "999/1000", "1", "1.00000000000000000000", "x"]
    heights = view.evaluate("async texts => texts.map((await import('./assets/exact.js')).countNines)", texts)
    assert heights[:5] == pytest.approx([log10(2), 20, 150, -log10(0.999), 3], abs=1e-12)
    assert heights[5:] == [None, None, None]


def test_an_old_answer_never_overwrites_a_newer_one(view: View) -> None:
    held: list[Route] = []
    view.page.route("**/v1/radius?*p=0.6*", lambda route: held.append(route))
    view.type(p="0.6")
    expect(view.at("calculator")).to_have_attribute("aria-busy", "true")
    while not held:
        view.page.wait_for_timeout(50)
    view.type(p="0.99999")
    expected = str(radius(Discrete(255, "0.2"), "0.99999", 150528))
    view.shows("radius", expected)
    held[0].fulfill(json={"radius": 0})
    view.wait_drawn()
    view.shows("radius", expected)


_DIGEST = hashlib.sha256(b"open sesame").hexdigest()
_WITH_KEY = {"ELLZERO_SERVE_API_KEYS": f'{{"reader": {{"sha256": "{_DIGEST}"}}}}'}
_NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });
}"""


@pytest.mark.parametrize("storage", [True, False], ids=["storage", "no storage"])
def test_the_page_asks_for_the_key_and_says_when_the_service_is_gone(new_view: NewView, storage: bool) -> None:
    with page_service(_WITH_KEY) as address:
        view = new_view(address)
        view.expected |= {401, UNREACHABLE}
        if not storage:
            view.page.add_init_script(_NO_STORAGE)
        view.page.goto(address)
        view.says("notice", "requires an API key")
        view.type(**{"api-key": "wrong"})
        view.page.keyboard.press("Enter")
        view.says("notice", "API key is unknown")
        view.type(**{"api-key": "open sesame"})
        view.page.keyboard.press("Enter")
        view.shows("radius", str(radius(Discrete(255, "0.2"), "0.99", 150528)))
        expect(view.at("notice")).to_be_hidden()
        assert "sesame" not in view.page.url
    view.type(p="0.9")
    view.says("notice", "cannot be reached")
    expect(view.at("retry")).to_be_visible()


def test_the_docs_offer_authorize_if_keys_are_configured(new_view: NewView) -> None:
    def open_operation(view: View) -> None:
        view.page.goto(f"{view.address}/docs")
        view.page.locator(".opblock", has_text="/v1/tables").locator(".opblock-summary").click(timeout=WAIT_MS)

    without = new_view()
    open_operation(without)
    expect(without.page.get_by_role("button", name="Authorize")).to_have_count(0)
    with page_service(_WITH_KEY) as address:
        view = new_view(address)
        open_operation(view)
        view.page.get_by_role("button", name="Authorize", exact=True).click()
        view.page.get_by_label("Value").first.fill("open sesame")
        view.page.get_by_role("button", name="Apply credentials").first.click()
        view.page.get_by_role("button", name="Close", exact=True).first.click()
        view.page.get_by_role("button", name="Try it out").click()
        view.page.get_by_role("button", name="Execute", exact=True).click()
        expect(view.page.locator(".live-responses-table .response .response-col_status")).to_contain_text(
            "200", timeout=WAIT_MS
        )


@pytest.mark.parametrize("path", ["", "docs"])
def test_pages_work_below_a_path_of_a_proxy(new_view: NewView, path: str) -> None:
    view = new_view()
    below = f"{view.address}/below/"
    outside: list[str] = []

    def forward(route: Route) -> None:
        url = route.request.url
        if not url.startswith(below):
            outside.append(url)
        route.fulfill(response=route.fetch(url=url.replace(below, f"{view.address}/")))

    view.page.route(f"{view.address}/**", forward)
    view.page.goto(below + path)
    if path:
        view.page.locator("#operations-operation-healthz_healthz_get").click()
        view.page.get_by_role("button", name="Try it out").click()
        view.page.get_by_role("button", name="Execute", exact=True).click()
        expect(view.page.locator(".request-url")).to_contain_text(f"{below}healthz")
        expect(view.page.locator(".live-responses-table")).to_contain_text("ok")
    else:
        view.wait_drawn()
        view.shows("radius", str(radius(Discrete(255, "0.2"), "0.99", 150528)))
    assert outside == []
