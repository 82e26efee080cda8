"""Results of data sets on the page, in a real browser: what the service says of its runs, and the inputs themselves."""

import re
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx2
import numpy as np
import pytest
from playwright.sync_api import Locator, expect
from serve.page.service import page_service
from serve.page.test_accessibility import check_with_axe, skip_without_axe
from serve.page.view import UNREACHABLE, WAIT_MS, NewView, View, needs_chromium
from serve.results_folders import certified, certify_bits, certify_digits, write_images, write_results

from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.data.source import DataSource

pytestmark = needs_chromium
DIGITS = "digits/alpha-0.9"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs over the digits, one over colour images, one of a tree, and a damaged one."""
    place = tmp_path_factory.mktemp("results")
    certify_digits(place / "digits" / "alpha-0.9", "0.9", 30)
    certify_digits(place / "digits" / "alpha-0.8", "0.8", 5)
    rows = [(0, certified(0, 3)), (1, certified(2, 1)), (2, certified(1, None, 400)), (0, certified(0, 0, 700, 800))]
    write_results(place / "colour", rows, source=write_images(place / "images.npz"))
    certify_bits(place, place / "bits")
    (place / "broken").mkdir()
    (place / "broken" / "run.json").write_text("{")
    return place


@pytest.fixture(scope="module")
def results_service(folder: Path) -> Iterator[str]:
    with page_service({"ELLZERO_SERVE_RESULTS": str(folder)}) as address:
        yield address


@pytest.fixture
def panel(new_view: NewView, results_service: str) -> View:
    return open_panel(new_view(results_service))


def open_panel(view: View, query: str = "") -> View:
    view.open(query)
    view.page.locator("#runs-chart[data-ready]").wait_for(timeout=WAIT_MS)
    expect(rows(view).first).to_be_visible(timeout=WAIT_MS)
    return view


def rows(view: View) -> Locator:
    return view.page.locator("#inputs-table tbody tr")


def column(view: View, title: str) -> list[str]:
    """The cells of a column of the table of inputs."""
    titles = view.page.locator("#inputs-table thead th").all_inner_texts()
    place = next(number for number, text in enumerate(titles) if text.startswith(title))
    return view.page.locator(f"#inputs-table tbody tr > :nth-child({place + 1})").all_inner_texts()


def tick(view: View, name: str) -> None:
    view.page.locator(f"#runs-rows input[value='{name}']").click()


def names_in_chart(view: View) -> list[str]:
    names: list[str] = view.evaluate(
        "document.getElementById('runs-chart').data.filter((one) => one.showlegend !== false).map((one) => one.name)"
    )
    return names


def test_the_panel_is_hidden_where_there_are_no_results(view: View) -> None:
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    expect(view.at("runs")).to_be_hidden()


def test_runs_are_listed_with_what_the_service_says(panel: View, results_service: str) -> None:
    runs = httpx2.get(f"{results_service}/v1/results").json()["results"]
    listed = panel.page.locator("#runs-rows tr")
    expect(listed).to_have_count(len(runs))
    for run, row in zip(runs, listed.all(), strict=True):
        expect(row.locator("th")).to_have_text(run["name"])
        expect(row).to_contain_text(f"{run['mean_radius']:.3f} ± ")
        expect(row).to_contain_text(run["noise"])
    panel.says("runs-unusable-list", "broken: run.json is damaged")
    panel.says("runs-text", "cover 95 % over inputs")


def test_the_curves_and_bands_are_those_of_the_reports(panel: View, results_service: str) -> None:
    expect(panel.page.locator("#runs-rows :checked")).to_have_count(4)
    traces = panel.evaluate(
        "document.getElementById('runs-chart').data.map(({ x, y, fill }) => [Array.from(x), Array.from(y), fill ?? ''])"
    )
    curves, bands = traces[:4], traces[4:]
    assert [fill for _, _, fill in traces] == [""] * 4 + ["toself"] * 4
    assert len({len(x) for x, _, _ in curves}) == 1
    for name, (x, y, _), (_, outline, _) in zip(
        ["bits", "colour", "digits/alpha-0.8", DIGITS], curves, bands, strict=True
    ):
        accuracy = httpx2.get(f"{results_service}/v1/results/report", params={"name": name}).json()["accuracy"]
        assert x == list(range(len(x)))
        assert y[: len(accuracy)] == [each["share"] for each in accuracy]
        assert set(y[len(accuracy) :]) <= {accuracy[-1]["share"]}
        assert set(outline) == {each[end] for each in accuracy for end in ("low", "high")}


def test_the_chart_is_read_by_keyboard(panel: View, results_service: str) -> None:
    accuracy = httpx2.get(f"{results_service}/v1/results/report", params={"name": DIGITS}).json()["accuracy"]
    panel.at("runs-chart").focus()
    for key in ("End", "Home", "ArrowUp", "ArrowRight"):
        panel.page.keyboard.press(key)
    share, low, high = (accuracy[1][name] for name in ("share", "low", "high"))
    panel.says("runs-readout", f"ACC@1, {DIGITS}: {100 * share:.1f} % (")
    text = panel.at("runs-readout").inner_text()
    shown = [float(number) / 100 for number in re.findall(r"([\d.]+) %", text)]
    assert low - 0.001 < shown[1] <= low <= high <= shown[2] < high + 0.001


def test_the_facts_of_a_run_say_what_its_numbers_mean(panel: View) -> None:
    panel.at("runs-selected").select_option(DIGITS)
    panel.says("runs-facts", "n = 2,000 at most", "1/1000", "30: ", "K = 1, α = 9/10 per coordinate", "d = 64")
    panel.says("runs-meaning", "Each certificate holds with confidence 99.9 %")
    panel.at("runs-selected").select_option("bits")
    panel.says("runs-meaning", "The certificates are exact: each holds with certainty.")
    expect(panel.at("runs-facts")).not_to_contain_text("Votes")


def test_the_inputs_are_shown_beside_their_votes(panel: View, results_service: str) -> None:
    panel.at("runs-selected").select_option(DIGITS)
    expect(panel.page.locator("#inputs-table canvas")).to_have_count(12, timeout=WAIT_MS)
    listed = httpx2.get(f"{results_service}/v1/results/inputs", params={"name": DIGITS, "limit": 12}).json()["rows"]
    assert column(panel, "Votes") == [
        f"{row['count']:,} / {row['drawn']:,}, {len(row['looks'])} looks" for row in listed
    ]
    assert column(panel, "Radius") == ["abstain" if row["radius"] is None else str(row["radius"]) for row in listed]
    assert column(panel, "Class") == [str(row["label"]) for row in listed]
    pixels = panel.evaluate(
        "[...document.querySelectorAll('#inputs-table canvas')]"
        ".map((one) => Array.from(one.getContext('2d').getImageData(0, 0, 8, 8).data).filter((_, i) => i % 4 === 0))"
    )
    digits = load_data("digits", "test").inputs(range(12)) >= 8
    assert pixels == (255 * digits.reshape(12, 64).astype(int)).tolist()


def test_colour_images_are_shown_in_their_colours(panel: View, folder: Path) -> None:
    panel.at("runs-selected").select_option("colour")
    expect(panel.page.locator("#inputs-table canvas")).to_have_count(4, timeout=WAIT_MS)
    data = panel.evaluate(
        "Array.from(document.querySelector('#inputs-table canvas').getContext('2d').getImageData(0, 0, 2, 2).data)"
    )
    x = DataSource(str(folder / "images.npz"), "test", None, 224, None).load().inputs([0])[0]
    assert np.array(data).reshape(2, 2, 4)[:, :, :3].tolist() == x.transpose(1, 2, 0).tolist()
    assert column(panel, "Class") == ["airplane", "ship", "frog", "airplane"]
    assert column(panel, "Prediction") == ["airplane", "frog (wrong)", "–", "airplane"]


def test_the_table_is_sorted_by_its_headers_with_the_keyboard(panel: View) -> None:
    panel.at("runs-selected").select_option("colour")
    expect(panel.page.locator("#inputs-table canvas")).to_have_count(4, timeout=WAIT_MS)
    header = panel.page.locator("#inputs-table th:has(button[value=radius])")
    header.locator("button").focus()
    for direction, expected in (
        ("descending", ["3", "1", "0", "abstain"]),
        ("ascending", ["abstain", "0", "1", "3"]),
    ):
        panel.page.keyboard.press("Enter")
        expect(header).to_have_attribute("aria-sort", direction)
        expect(header.locator("button")).to_be_focused()
        assert column(panel, "Radius") == expected


def test_pages_turn_and_end(panel: View) -> None:
    panel.at("runs-selected").select_option(DIGITS)
    for text, previous, following in (
        ("1 – 12 of 30", False, True),
        ("13 – 24 of 30", True, True),
        ("25 – 30 of 30", True, False),
    ):
        panel.shows("inputs-status", text)
        expect(panel.at("inputs-previous")).to_be_enabled(enabled=previous)
        expect(panel.at("inputs-next")).to_be_enabled(enabled=following)
        if following:
            panel.at("inputs-next").click()
    panel.at("inputs-previous").click()
    panel.shows("inputs-status", "13 – 24 of 30")
    assert column(panel, "Index")[0] == "12"


def test_the_features_of_a_tree_are_not_drawn_and_the_page_says_why(panel: View) -> None:
    panel.at("runs-selected").select_option("bits")
    panel.says("inputs-note", "cannot be shown: a tree or forest was certified on features, not on images.")
    expect(panel.page.locator("#inputs-table canvas")).to_have_count(0)
    expect(panel.page.locator("#inputs-table button[value=count]")).to_have_count(0)


def test_runs_are_compared_and_at_least_one_is_drawn(panel: View) -> None:
    for name in ("colour", "bits", "digits/alpha-0.8"):
        tick(panel, name)
    expect(panel.page.locator("#runs-rows :checked")).to_have_count(1)
    panel.says("runs-summary", f"{DIGITS}; r from 0")
    assert names_in_chart(panel) == [DIGITS]
    tick(panel, DIGITS)
    expect(panel.page.locator("#runs-rows :checked")).to_have_count(1)
    tick(panel, "colour")
    panel.says("runs-summary", f"{DIGITS}; colour; r from 0")
    expect(panel.page.locator("#runs-selected option")).to_have_text([DIGITS, "colour"])


def test_the_address_describes_the_panel(panel: View, new_view: NewView, results_service: str) -> None:
    tick(panel, "bits")
    panel.at("runs-selected").select_option(DIGITS)
    panel.page.locator("#inputs-table button[value=radius]").click()
    panel.at("inputs-next").click()
    panel.shows("inputs-status", "13 – 24 of 30")
    query = panel.page.url.removeprefix(f"{results_service}/")
    assert f"run=colour&run=digits/alpha-0.8&run={DIGITS}&inputs={DIGITS}&sort=-radius&from=12" in query
    panel.type(k="1")
    assert "&sort=-radius&from=12" in panel.page.url
    other = open_panel(new_view(results_service), query)
    other.shows("inputs-status", "13 – 24 of 30")
    assert column(other, "Index") == column(panel, "Index")
    expect(other.page.locator("#runs-rows :checked")).to_have_count(3)
    expect(other.at("runs-selected")).to_have_value(DIGITS)


@pytest.mark.parametrize(
    "query",
    ["?run=missing&inputs=missing", "?run=bits&sort=seconds&from=-1", "?run=bits&from=999999999", "?run=%00&run="],
)
def test_an_address_with_wrong_values_shows_what_there_is(new_view: NewView, results_service: str, query: str) -> None:
    view = open_panel(new_view(results_service), query)
    view.says("inputs-status", "1 – ")
    view.shows("inputs-status", "1 – 12 of 60")


def test_a_run_in_progress_grows_when_it_is_read_again(panel: View, folder: Path) -> None:
    source = write_images(folder / "growing.npz", 3)
    store = write_results(folder / "growing", [], source=source)
    panel.at("runs-reload").click()
    panel.says("runs-text", "One run has no results yet.")
    for inputs in (1, 2):
        store.write([(inputs - 1, 0, certified(0, 1))])
        panel.at("runs-reload").click()
        expect(panel.page.locator("#runs-rows tr", has_text="growing").locator("td").nth(1)).to_have_text(str(inputs))
    tick(panel, "growing")
    panel.at("runs-selected").select_option("growing")
    expect(panel.page.locator("#inputs-table canvas")).to_have_count(2, timeout=WAIT_MS)
    write_images(folder / "growing.npz", 3, seed=9)
    panel.at("runs-reload").click()
    panel.says("inputs-note", "cannot be shown: growing.npz is not the data set that this run certified.")
    expect(panel.page.locator("#inputs-table canvas")).to_have_count(0)
    for file in (folder / "growing").iterdir():
        file.unlink()
    panel.at("runs-reload").click()
    expect(panel.page.locator("#runs-rows tr", has_text="growing")).to_have_count(0)


def test_a_run_that_breaks_is_named_and_leaves_no_old_numbers(panel: View, folder: Path) -> None:
    """Its name is shown as it is, whatever it looks like."""
    name = "a <b>bold</b> & name"
    for other in ("colour", "bits", "digits/alpha-0.8"):
        tick(panel, other)
    write_results(folder / "breaking" / name, [(0, certified(0, 1))])
    (part,) = (folder / "breaking").rglob("part-*")
    content = part.read_bytes()
    panel.at("runs-reload").click()
    tick(panel, f"breaking/{name}")
    panel.says("runs-summary", f"breaking/{name}; r from 0")
    assert panel.page.locator("#runs-chart .legendtext").all_text_contents() == [DIGITS, f"breaking/{name}"]
    panel.expected.add(422)
    part.write_bytes(content[:100])
    panel.at("runs-selected").select_option(f"breaking/{name}")
    panel.says("runs-note", f"the results breaking/{name} cannot be read: {part.name} is damaged")
    panel.says("inputs-note", f"the results breaking/{name} cannot be read: {part.name} is damaged")
    expect(panel.at("runs-columns")).to_be_hidden()
    expect(rows(panel)).to_have_count(0)
    tick(panel, f"breaking/{name}")
    expect(panel.at("runs-columns")).to_be_visible()
    panel.shows("runs-note", "")
    panel.shows("inputs-status", "1 – 12 of 30")
    shutil.rmtree(folder / "breaking")


def test_a_list_that_cannot_be_read_is_explained(panel: View) -> None:
    """In the place of numbers that may be out of date."""
    panel.expected.add(UNREACHABLE)
    listing = re.compile(r"/v1/results\??$")
    panel.page.route(listing, lambda route: route.abort("connectionrefused"))
    panel.at("runs-reload").click()
    expect(panel.at("runs-body")).to_be_hidden()
    expect(panel.at("runs-text")).not_to_contain_text("ACC@r")
    expect(panel.at("runs-text")).not_to_be_empty()
    panel.page.unroute(listing)
    panel.at("runs-reload").click()
    expect(rows(panel).first).to_be_visible()


def test_the_interval_around_a_rounded_mean_has_the_computed_one(panel: View, results_service: str) -> None:
    for run in httpx2.get(f"{results_service}/v1/results").json()["results"]:
        if run["mean_radius_error"] is None:
            continue
        cell = panel.page.locator("#runs-rows tr", has_text=run["name"]).first.locator("td").first
        mean, error = (Decimal(number) for number in cell.inner_text().split(" ± "))
        low, high = (Decimal(run["mean_radius"]) + sign * Decimal(run["mean_radius_error"]) for sign in (-1, 1))
        rounding = Decimal("1e-9")  # of floats
        assert mean - error <= low + rounding
        assert high - rounding <= mean + error


def test_axe_finds_nothing_beside_results(new_view: NewView, results_service: str) -> None:
    skip_without_axe()
    view = open_panel(new_view(results_service, bypass_csp=True), f"?run=colour&run={DIGITS}&sort=-radius")
    expect(view.page.locator("#inputs-table canvas")).to_have_count(4, timeout=WAIT_MS)
    check_with_axe(view)
