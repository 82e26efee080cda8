"""Families of noises on the page: what is typed and read in a real browser, against the real service and the engine."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Locator, Route, expect
from serve.page.service import page_service
from serve.page.test_accessibility import check_with_axe, skip_without_axe
from serve.page.view import WAIT_MS, NewView, View, needs_chromium, watch

from ellzero.certificates import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    Joint,
    Mask,
    Sparse,
    SparseLevels,
    Votes,
    certified,
    certified_from_votes,
    make_family,
    radius,
    threshold,
)
from ellzero.certificates.families.base import Budget
from ellzero.tables.lookup.family_catalogue import answer_families

pytestmark = needs_chromium
FAMILIES = {info.name: info for info in answer_families().families}
JOINT = FAMILIES["joint"].example
JOINT_LIMITS = json.dumps({"edges": {"add": 1}, "tokens": 2})
MAP, CURVE = "budgets-map", "budgets-chart"


@pytest.fixture
def view(context: BrowserContext, service: str) -> Iterator[View]:
    """A page that shows nothing yet: each test opens a link of its own."""
    with watch(context.new_page(), service) as blank:
        yield blank


def open_family(view: View, query: str) -> View:
    """Open a link to a family, and wait until it is drawn and calculated."""
    view.page.goto(f"{view.address}/?family={query}")
    wait_drawn(view)
    return view


def wait_drawn(view: View) -> None:
    expect(view.page.locator("#verdict > *").first).to_be_visible(timeout=WAIT_MS)
    expect(view.page.locator("[aria-busy]")).to_have_count(0, timeout=WAIT_MS)


def choose_family(view: View, name: str) -> None:
    """Choose a family once there are any to choose from."""
    expect(view.page.locator("#family-name option")).to_have_count(len(FAMILIES), timeout=WAIT_MS)
    view.at("family-name").select_option(name)


def field(view: View, name: str) -> Locator:
    """A field by its id, which may have dots."""
    return view.page.locator(f"[id='{name}']")


def read_table(view: View) -> list[list[str]]:
    """The rows of the table of thresholds."""
    view.choose("view", "table")
    expect(view.page.locator("#table-view tbody tr").first).to_be_visible(timeout=WAIT_MS)
    return [re.split(r"\t", row) for row in view.page.locator("#table-view tbody tr").all_inner_texts()]


def read_largest(view: View) -> list[tuple[int, ...]]:
    rows = view.page.locator("#certified tbody tr")
    expect(rows.first).to_be_visible(timeout=WAIT_MS)
    return [tuple(map(int, text.split("\t"))) for text in rows.all_inner_texts()]


def read_outline(view: View) -> list[tuple[float, float]]:
    """The corners of the line around the certified region."""
    view.page.locator(f"#{MAP}[data-ready]").wait_for(timeout=WAIT_MS)
    lines = view.evaluate(
        f"document.getElementById('{MAP}').data.slice(1).map(({{ x, y }}) => x.map((at, i) => [at, y[i]]))"
    )
    return [tuple(point) for point in lines[-1]] if lines else []


def outline(certified: set[tuple[int, int]]) -> list[tuple[float, float]]:
    """The line around a staircase of cells, drawn by hand: up on the left, down the steps, and back."""
    points = [(-0.5, -0.5)]
    columns = sorted({x for x, _ in certified})
    for x in columns:
        top = max(y for at, y in certified if at == x) + 0.5
        points += [(x - 0.5, top), (x + 0.5, top)]
    return [*points, (columns[-1] + 0.5, -0.5), (-0.5, -0.5)]


def test_the_page_offers_every_family_of_the_service_and_begins_with_discrete_noise(view: View) -> None:
    view.page.goto(view.address)
    expect(view.page.locator("#family-name option")).to_have_count(len(FAMILIES), timeout=WAIT_MS)
    assert view.page.locator("#family-name option").all_inner_texts() == list(FAMILIES)
    expect(view.at("family-name")).to_have_value("discrete")
    view.shows("radius", str(radius(Discrete(255, "0.2"), "0.99", 150528)))
    expect(view.at("family-fields")).to_be_hidden()
    assert "family" not in view.page.url


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "discrete"])
def test_every_family_works_as_the_service_offers_it(view: View, name: str) -> None:
    view.page.goto(view.address)
    info = FAMILIES[name]
    choose_family(view, name)
    view.shows("family-name-hint", info.models)
    if not info.composed:
        for parameter in info.parameters:
            expect(field(view, f"family.{parameter.name}")).to_have_value(str(parameter.example), timeout=WAIT_MS)
            if parameter.high is not None:
                expect(field(view, f"family.{parameter.name}-hint")).to_contain_text(f"to {parameter.high:,}")
    family = make_family(info.example)
    wanted = certified(family, "0.99", info.limits)
    if isinstance(wanted, tuple):
        assert read_largest(view) == [flatten(budget) for budget in wanted]
    else:
        view.shows("certified", "abstain" if wanted is None else str(wanted))
    expect(view.at("discrete-fields")).to_be_hidden()
    expect(view.at("comparison")).to_be_hidden()
    wait_drawn(view)
    assert view.page.locator(".error:not(:empty)").all_inner_texts() == []


def flatten(budget: Any) -> tuple[int, ...]:
    return (budget,) if isinstance(budget, int) else sum((flatten(part) for part in budget.values()), ())


def test_discrete_noise_comes_back_as_it_was_left(view: View) -> None:
    view.page.goto(view.address)
    view.type(k="1", alpha="4/5", d="784", p="0.9999")
    expected = str(radius(Discrete(1, "4/5"), "0.9999", 784))
    view.shows("radius", expected)
    choose_family(view, "mask")
    view.shows("certified", str(certified(Mask("0.9"), "0.9999", 100)))
    choose_family(view, "discrete")
    view.shows("radius", expected)
    expect(view.at("chart")).to_be_visible()
    expect(view.at("budgets-view")).to_be_hidden()
    assert "family=" not in view.page.url
    assert "k=1&alpha=4/5&d=784" in view.page.url


def test_what_was_typed_for_a_family_is_there_when_it_is_chosen_again(view: View) -> None:
    view.page.goto(view.address)
    choose_family(view, "mask")
    field(view, "family.m").fill("0.95")
    choose_family(view, "deletion")
    expect(field(view, "family.m")).to_have_value("0.9")
    choose_family(view, "mask")
    expect(field(view, "family.m")).to_have_value("0.95")
    view.shows("certified", str(certified(Mask("0.95"), "0.99", 100)))


@pytest.mark.parametrize(
    ("query", "family", "limit"),
    [
        ("mask&m=0.95&limits=40", Mask("0.95"), 40),
        ("ablation&d=100&keep=7&limits=100", Ablation(100, 7), 100),
        ("deletion&m=2/3&limits=12", Deletion("2/3"), 12),
    ],
    ids=["mask", "ablation", "deletion"],
)
def test_one_kind_of_change_has_a_radius_and_a_curve(view: View, query: str, family: Family, limit: int) -> None:
    open_family(view, f"{query}&p=0.97")
    wanted = certified(family, "0.97", limit)
    assert isinstance(wanted, int)
    view.shows("certified", str(wanted))
    view.page.locator(f"#{CURVE}[data-ready]").wait_for(timeout=WAIT_MS)
    view.at(CURVE).focus()
    for _ in range(wanted + 1):
        view.page.keyboard.press("ArrowRight")
    view.says(
        "budgets-readout",
        f"r = {wanted}: p must exceed {threshold(family, wanted, digits=20)}",
        "; certified at p = 0.97",
    )
    rows = read_table(view)
    assert [row[0] for row in rows] == [str(count) for count in range(limit + 1)]
    assert [row[1] for row in rows] == [f"{threshold(family, count, digits=20):.20f}" for count in range(limit + 1)]
    assert [row[3] for row in rows] == ["certified"] * (wanted + 1) + ["not certified"] * (limit - wanted)


def test_a_curve_ends_where_no_p_certifies_more(view: View) -> None:
    open_family(view, "mask&m=0.4&limits=9")
    view.says("budgets-summary", "1 of 10 budgets are certified", "No p certifies r = 1 or more")
    view.at(CURVE).focus()
    view.page.keyboard.press("End")
    view.shows("budgets-readout", "r = 1: no p certifies it, since the threshold is 1; not certified at p = 0.99")


def test_two_kinds_of_change_are_a_map_with_the_certified_region_outlined(view: View) -> None:
    family, limits = Sparse("0.01", "0.6"), {"add": 5, "delete": 20}
    open_family(view, "sparse&p=0.95")
    wanted = certified(family, "0.95", limits)
    assert isinstance(wanted, tuple)
    assert read_largest(view) == [flatten(budget) for budget in wanted]
    cells = {(x, y) for x, y in product(range(6), range(21)) if threshold(family, {"add": x, "delete": y}) < 0.95}
    view.says("budgets-summary", f"{len(cells)} of 126 budgets are certified at p = 0.95")
    assert read_outline(view) == outline(cells)
    bars = view.evaluate(
        f"(({{ x, base }}) => x.map((at, i) => [at, base[i] + 0.5]))(document.getElementById('{MAP}').data[0])"
    )
    assert sorted(map(tuple, bars)) == sorted(product(range(6), range(21)))


def test_pointing_at_a_budget_reads_its_exact_threshold(view: View) -> None:
    family = Sparse("0.01", "0.6")
    open_family(view, "sparse&limits=add:3,delete:4&p=0.95")
    view.page.locator(f"#{MAP}[data-ready]").wait_for(timeout=WAIT_MS)
    cells = view.page.locator(f"#{MAP} .point")
    expect(cells).to_have_count(20, timeout=WAIT_MS)
    view.at(MAP).scroll_into_view_if_needed()
    place = view.page.locator(f"#{MAP} .nsewdrag").bounding_box()
    assert place is not None
    column, row = place["width"] / 4, place["height"] / 5
    view.page.mouse.move(place["x"] + 1.5 * column, place["y"] + place["height"] - 2.5 * row)
    exact = threshold(family, {"add": 1, "delete": 2}, digits=20)
    view.shows("budgets-readout", f"add 1, delete 2: p must exceed {exact} (rounded up); certified at p = 0.95")
    expect(view.page.locator(f"#{MAP} .hovertext")).to_contain_text(str(exact), timeout=WAIT_MS)


def test_the_keyboard_steps_through_the_map(view: View) -> None:
    open_family(view, "sparse&limits=add:3,delete:4&p=0.9")
    view.page.locator(f"#{MAP}[data-ready]").wait_for(timeout=WAIT_MS)
    view.at(MAP).focus()
    view.page.keyboard.press("ArrowRight")
    view.shows("budgets-readout", "add 0, delete 0: p must exceed 0.50000000000000000000 (exact); certified at p = 0.9")
    view.page.keyboard.press("ArrowRight")
    view.page.keyboard.press("ArrowUp")
    view.shows("budgets-readout", "add 1, delete 1: p must exceed 0.89000000000000000000 (exact); certified at p = 0.9")
    expect(view.page.locator(f"#{MAP} .hovertext")).to_have_count(1, timeout=WAIT_MS)
    view.page.keyboard.press("End")
    view.says("budgets-readout", "add 3, delete 1", "not certified at p = 0.9")
    view.page.keyboard.press("ArrowDown")
    view.page.keyboard.press("Home")
    view.says("budgets-readout", "add 0, delete 0")
    view.at("p").focus()
    expect(view.page.locator(f"#{MAP} .hovertext")).to_have_count(0, timeout=WAIT_MS)


def test_no_float_decides_what_is_certified(view: View) -> None:
    """Thresholds that are exactly 0.89: p = 0.89 does not exceed it, and a hair more does."""
    open_family(view, "sparse&limits=add:1,delete:1&p=0.89")
    assert read_largest(view) == [(0, 1), (1, 0)]
    more = "0.89" + "0" * 30 + "1"
    view.type(p=more)
    view.says("budgets-summary", "4 of 4 budgets are certified")
    assert read_largest(view) == [(1, 1)]


def test_colours_are_steps_by_exact_comparison(view: View) -> None:
    view.page.goto(view.address)
    script = """async texts => {
      const { findStep, listEdges } = await import('./assets/threshold_steps.js');
      const edges = listEdges(texts);
      return [edges, texts.map((text) => findStep(text, edges))];
    }"""
    edges, steps = view.evaluate(script, ["0.9", "0.90000000000000000001", "0.6", "0.5", "0.98", "0.99"])
    assert edges == ["0.6", "0.7", "0.8", "0.9", "0.95", "0.98"]
    assert steps == [3, 4, 0, 0, 5, 6]
    edges, steps = view.evaluate(script, ["0.5", "0.999", "0.99900000000000000001", "0.99999999999999999999", "1"])
    assert edges[:4] == ["0.75", "0.9", "0.99", "0.999"]
    assert len(edges) == 6
    assert steps == [0, 3, 4, 6, 6]


def test_votes_certify_with_confidence(view: View) -> None:
    family, limits = Sparse("0.01", "0.6"), {"add": 5, "delete": 20}
    open_family(view, "sparse&mode=votes&count=9900&n=10000&failure=0.001")
    wanted = certified_from_votes(family, Votes(9900, 10_000, "0.001"), limits)
    assert isinstance(wanted, tuple)
    assert read_largest(view) == [flatten(budget) for budget in wanted]
    view.says("meaning", "With confidence 99.9 %, changes within one of these budgets")
    view.says("budgets-summary", "budgets are certified by these votes")
    view.type(count="10001")
    view.says("count-error", "to 10,000")
    expect(view.at("certified")).to_have_count(0)


def test_a_runner_up_certifies_more_and_the_page_says_by_which_rule(view: View) -> None:
    family, limits = Sparse("0.01", "0.6"), {"add": 2, "delete": 6}
    open_family(view, "sparse&limits=add:2,delete:6&p=0.8")
    alone = read_largest(view)
    view.type(p_b="0.01")
    view.says("rule", "two-class rule")
    two = certified(family, "0.8", limits, p_b="0.01")
    assert isinstance(two, tuple)
    assert read_largest(view) == [flatten(budget) for budget in two] != alone
    view.says("budgets-summary", "certified at p = 0.8, p_b = 0.01")


def test_abstaining_is_explained(view: View) -> None:
    open_family(view, "sparse&p=0.5")
    view.shows("certified", "abstain")
    view.says("meaning", "p does not exceed 1/2")
    view.says("budgets-summary", "0 of 126 budgets are certified")
    assert read_outline(view) == []


def test_a_limit_that_was_reached_is_pointed_out(view: View) -> None:
    open_family(view, "mask&limits=3")
    view.shows("at-limit", "more may be certified")
    field(view, "limits").fill("50")
    view.shows("certified", str(certified(Mask("0.9"), "0.99", 50)))
    expect(view.at("at-limit")).to_have_count(0)


def test_limits_may_be_far_beyond_what_is_drawn(view: View) -> None:
    open_family(view, "sparse&limits=add:1000000,delete:2147483647&p=0.95")
    wanted = certified(Sparse("0.01", "0.6"), "0.95", {"add": 10, "delete": 20})
    assert isinstance(wanted, tuple)
    assert read_largest(view) == [flatten(budget) for budget in wanted]
    view.says("budgets-summary", "of 2,601 budgets", "Drawn up to add 50, delete 50.")


def test_of_three_kinds_two_are_drawn_and_the_others_fixed(view: View) -> None:
    family, limits = SparseLevels(5, "0.01", "0.6"), {"add": 2, "delete": 5, "change": 2}
    open_family(view, "sparse-levels&p=0.95")
    wanted = certified(family, "0.95", limits)
    assert isinstance(wanted, tuple)
    assert read_largest(view) == [flatten(budget) for budget in wanted]

    def certified_cells(x: str, y: str, **others: int) -> set[tuple[int, int]]:
        places = product(range(limits[x] + 1), range(limits[y] + 1))
        return {(i, j) for i, j in places if threshold(family, {x: i, y: j, **others}) < 0.95}

    assert read_outline(view) == outline(certified_cells("add", "delete"))
    field(view, "fixed.change").fill("1")
    cells = certified_cells("add", "delete", change=1)
    view.says("budgets-summary", f"{len(cells)} of 18 budgets")
    assert read_outline(view) == outline(cells)
    view.at("axis-up").select_option("change")
    cells = certified_cells("add", "change")
    view.says("budgets-summary", f"{len(cells)} of 9 budgets")
    assert read_outline(view) == outline(cells)
    view.at("axis-across").select_option("change")
    expect(view.at("axis-up")).to_have_value("add", timeout=WAIT_MS)
    view.says("budgets-summary", f"{len(cells)} of 9 budgets")
    assert "axes=change,add&fixed=delete:0" in view.page.url
    field(view, "fixed.delete").fill("6")
    expect(field(view, "fixed.delete-error")).to_have_text("delete must be an integer from 0 to 5.", timeout=WAIT_MS)


def test_a_composed_family_is_json_with_the_services_error_beside_it(view: View) -> None:
    view.page.goto(view.address)
    view.expected.add(422)
    choose_family(view, "joint")
    expect(view.at("family")).to_have_value(json.dumps(JOINT, indent=2), timeout=WAIT_MS)
    wanted = certified(make_family(JOINT), "0.99", FAMILIES["joint"].limits)
    assert isinstance(wanted, tuple)
    assert read_largest(view) == [flatten(budget) for budget in wanted]
    assert view.page.locator("#certified th").all_inner_texts() == ["edges.add", "edges.delete", "tokens"]
    view.at("family").fill(json.dumps(JOINT).replace("0.01", "7"))
    view.says("family-error", "family.members.edges.p_add must be", "between 0 and 1", "got '7'")
    expect(view.at("family")).to_have_attribute("aria-invalid", "true")
    expect(view.at("notice")).to_be_hidden()
    view.at("family").fill("{")
    view.says("family-error", "The description must be JSON")
    view.at("family").fill('{"family": "mask", "m": "0.9"}')
    view.shows("family-error", 'The description must be an object with "family": "joint".')
    view.at("family").fill(json.dumps({"family": "joint", "members": {"a": JOINT["members"]["tokens"]}}))
    view.says("limits-error", "limits must be an integer")
    view.at("limits").fill("100")
    view.shows("certified", str(certified(Joint(a=Mask("0.9")), "0.99", {"a": 100})))


def test_wrong_limits_in_json_are_explained(view: View) -> None:
    open_family(view, "joint")
    for limits, message in {
        '{"edges": {"add": 1}, "nodes": 2}': "There is no kind of change “nodes”",
        '{"edges": 4}': "There is no kind of change “edges”",
        '{"tokens": 1.5}': "limits.tokens must be an integer from 0 to 2,147,483,647.",
        "5": 'limits must be like {"edges":{"add":1,"delete":1},"tokens":1}.',
        "{": "limits must be JSON",
    }.items():
        view.type(limits=limits)
        view.says("limits-error", message)
        expect(view.at("certified")).to_have_count(0, timeout=WAIT_MS)


@pytest.mark.parametrize(
    ("query", "name", "message"),
    [
        ("sparse&p_add=1", "family.p_add", "p_add must be a number strictly between 0 and 1"),
        ("sparse-levels&k=0", "family.k", "k must be an integer from 1 to 100,000,000."),
        ("ablation&d=10&keep=11", "family.keep", "family.keep must be an integer from 1 to 10"),
        ("sparse&limits=add:x,delete:3", "limits.add", "limits must be an integer from 0 to 2,147,483,647."),
        ("mask&limits=2147483648", "limits", "limits must be an integer from 0 to 2,147,483,647."),
        ("mask&p=7", "p", "p must be a number from 0 to 1"),
    ],
)
def test_wrong_fields_have_messages_of_their_own(view: View, query: str, name: str, message: str) -> None:
    view.expected.add(422)  # some limits are only the service's to know
    open_family(view, query)
    expect(field(view, f"{name}-error")).to_contain_text(message, timeout=WAIT_MS)
    expect(field(view, name)).to_have_attribute("aria-invalid", "true")
    view.shows("verdict", "No result: see the messages beside the fields.")


def test_thresholds_that_take_too_long_leave_the_certificate(new_view: NewView) -> None:
    with page_service({"ELLZERO_SERVE_MAX_SECONDS": "0.02"}) as address:
        view = new_view(address)
        view.expected.add(422)
        open_family(view, "sparse&limits=add:50,delete:50&p=0.9")
        view.says("budgets-note", "The thresholds cannot be shown", "would take")
        assert read_largest(view)
        field(view, "limits.add").fill("1")
        field(view, "limits.delete").fill("1")
        view.says("budgets-summary", "of 4 budgets are certified")
        view.shows("budgets-note", "")


def test_a_link_to_a_family_waits_for_the_key(new_view: NewView) -> None:
    digest = hashlib.sha256(b"open sesame").hexdigest()
    with page_service({"ELLZERO_SERVE_API_KEYS": json.dumps({"reader": {"sha256": digest}})}) as address:
        view = new_view(address)
        view.expected.add(401)
        view.page.goto(f"{address}/?family=mask&m=0.95&limits=40")
        view.says("notice", "requires an API key")
        view.type(**{"api-key": "open sesame"})
        view.page.keyboard.press("Enter")
        view.shows("certified", str(certified(Mask("0.95"), "0.99", 40)))
        expect(view.at("notice")).to_be_hidden(timeout=WAIT_MS)
        expect(field(view, "family.m")).to_have_value("0.95")


def test_an_unknown_family_is_named(view: View) -> None:
    view.page.goto(f"{view.address}/?family=other")
    view.says("family-name-error", "There is no family of noises “other”.")
    view.shows("radius", str(radius(Discrete(255, "0.2"), "0.99", 150528)))


@pytest.mark.parametrize(
    "query",
    [
        "sparse&p_add=0.02&p_del=1/2&limits=add:3,delete:4&p=0.9&view=table",
        "sparse-levels&k=9&limits=add:1,delete:2,change:3&axes=change,add&fixed=delete:1&mode=votes&count=990&n=1000",
        f"joint&description={quote(json.dumps(JOINT))}&limits={quote(JOINT_LIMITS)}&p=0.97",
        "mask&m=0.8&limits=12&p=0.9&p_b=0.05",
    ],
)
def test_a_link_reproduces_the_whole_view(view: View, new_view: NewView, query: str) -> None:
    open_family(view, query)
    link = write_address(view)
    other = new_view()
    other.page.goto(link)
    assert write_address(other) == link
    assert describe_view(other) == describe_view(view)


def write_address(view: View) -> str:
    """Have the page write its address, as after any change, and wait until it is drawn again."""
    wait_drawn(view)
    view.evaluate("document.getElementById('evidence').dispatchEvent(new Event('input'))")
    view.page.wait_for_timeout(500)  # the page waits for the end of typing
    wait_drawn(view)
    return view.page.url


def describe_view(view: View) -> Any:
    """All visible fields, and what the cards say."""
    return view.evaluate(
        """[...document.querySelectorAll('#noise, #thresholds, #calculator')].map((card) => [
          card.innerText,
          [...card.querySelectorAll('input, select, textarea')]
            .filter((one) => one.checkVisibility())
            .map(({ id, value, checked }) => [id, value, checked]),
        ])"""
    )


def test_an_old_answer_never_overwrites_a_newer_one(view: View) -> None:
    open_family(view, "sparse&limits=add:2,delete:4&p=0.9")
    held: list[Route] = []

    def hold(route: Route) -> None:
        if '"0.02"' in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    view.page.route("**/v1/thresholds", hold)
    view.page.route("**/v1/radius", hold)
    field(view, "family.p_add").fill("0.02")
    while len(held) < 2:
        view.page.wait_for_timeout(50)
    field(view, "family.p_add").fill("0.03")
    wanted = certified(Sparse("0.03", "0.6"), "0.9", {"add": 2, "delete": 4})
    assert isinstance(wanted, tuple)
    expect(view.page.locator("[aria-busy]")).to_have_count(0, timeout=WAIT_MS)
    for route in held:
        route.fulfill(json={"rows": [], "certified": None})
    wait_drawn(view)
    assert read_largest(view) == [flatten(budget) for budget in wanted]
    view.says("budgets-summary", "of 15 budgets are certified at p = 0.9")


def test_thresholds_are_saved_as_the_service_writes_them(view: View, tmp_path: Path) -> None:
    open_family(view, "sparse&limits=add:2,delete:3")
    with view.page.expect_download(timeout=WAIT_MS) as download:
        view.at("csv").click()
    assert download.value.suggested_filename == "ellzero-thresholds-sparse.csv"
    download.value.save_as(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(newline="") as file:
        saved = list(csv.reader(file))
    url = f"{view.address}/v1/thresholds?family=sparse&p_add=0.01&p_del=0.6&limits=add:2,delete:3"
    text = view.page.request.get(url, headers={"accept": "text/csv"}).text()
    assert saved == list(csv.reader(io.StringIO(text)))
    with view.page.expect_download(timeout=WAIT_MS) as download:
        view.at("png").click()
    download.value.save_as(tmp_path / "map.png")
    with Image.open(tmp_path / "map.png") as image:
        assert image.size == (2000, 1200)
        assert len(image.convert("RGB").getcolors(10**7) or []) > 10


@pytest.mark.parametrize(
    "query",
    [
        "mask&view=table",
        "sparse-levels&fixed=change:1",
        f"joint&description={quote('[' * 400)}",
        "sparse&p_add=7&p=2",
    ],
)
def test_a_phone_never_scrolls_sideways(new_view: NewView, query: str) -> None:
    view = open_family(new_view(viewport={"width": 360, "height": 700}), query)
    assert view.evaluate("document.documentElement.scrollWidth") == 360
    sticking = "[...document.querySelectorAll('.card')].filter(card => card.scrollWidth > card.clientWidth)"
    assert view.evaluate(f"{sticking}.map(card => card.id)") == []


@pytest.mark.parametrize("query", ["mask", "sparse-levels&fixed=change:x", "joint&view=table"])
def test_axe_finds_nothing(new_view: NewView, query: str) -> None:
    skip_without_axe()
    check_with_axe(open_family(new_view(bypass_csp=True), query))


def test_what_no_p_certifies_is_hatched(view: View) -> None:
    open_family(view, f"joint&limits={quote(json.dumps({'edges': {'add': 1}, 'tokens': 9}))}&axes=edges.add,tokens")
    view.says("map-legend", "1: no p certifies it")
    patterns = view.page.locator(f"#{MAP} pattern path")
    family = make_family(JOINT)
    budgets: list[Budget] = [{"edges": {"add": x}, "tokens": y} for x, y in product(range(2), range(10))]
    expect(patterns).to_have_count(sum(threshold(family, budget) == 1 for budget in budgets), timeout=WAIT_MS)
    soft = view.evaluate("getComputedStyle(document.getElementById('map-legend')).getPropertyValue('--soft')")
    expect(patterns.first).to_have_attribute("stroke", soft)


def test_the_map_has_the_colours_of_the_theme(new_view: NewView) -> None:
    view = open_family(new_view(color_scheme="light"), "sparse")
    view.page.locator(f"#{MAP}[data-ready]").wait_for(timeout=WAIT_MS)
    colours = f"document.getElementById('{MAP}').data[0].marker.color"
    light = view.evaluate(colours)
    view.at("theme").click()
    view.page.wait_for_function(f"light => {colours}[0] !== light[0]", arg=light, timeout=WAIT_MS)
    before = "getComputedStyle(one, '::before').backgroundColor"
    legend = f"[...document.querySelectorAll('#map-legend span')].map(one => {before})"
    assert set(view.evaluate(colours)) <= set(view.evaluate(legend))
