"""Regenerates the pictures of the page in docs: ``PYTHONPATH=tests python tests/serve/page/screenshots.py``."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, expect
from serve.page.service import page_service
from serve.page.view import WAIT_MS, launch_browser, watch
from serve.results_folders import certify_digits

DOCS = Path(__file__).parents[3] / "docs"
ALPHAS = ("0.8", "0.9", "0.95")


def draw_screenshots(browser: Browser, address: str, folder: Path) -> None:
    """Save pictures of the top of the page, with a threshold read out, of a map, a model's certificate, and results."""
    context = browser.new_context(viewport={"width": 1280, "height": 1100})
    with watch(context.new_page(), address) as view:
        view.open()
        view.at("chart").focus()
        for _ in range(10):
            view.page.keyboard.press("ArrowRight")
        view.says("chart-readout", "r = 9, α = 0.2")
        view.page.evaluate("document.activeElement.blur()")
        expect(view.page.locator("#chart .hovertext")).to_have_count(0)
        view.page.screenshot(path=folder / "page.png")
        expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
        view.choose("voting-example", "6")
        view.at("voting-start").click()
        expect(view.at("voting-radius")).to_be_visible(timeout=WAIT_MS)
        view.page.mouse.move(0, 0)  # no button looks pointed at
        view.at("voting").screenshot(path=folder / "voting.png")
        view.at("runs-selected").select_option(f"alpha-{ALPHAS[-1]}")
        view.shows("inputs-status", "1 – 12 of 200")
        view.page.locator("#inputs-table button[value=radius]").click()
        expect(view.page.locator("#inputs-table canvas")).to_have_count(12, timeout=WAIT_MS)
        view.page.mouse.move(0, 0)
        view.evaluate("document.activeElement.blur()")
        view.at("runs").screenshot(path=folder / "results.png")
        view.page.goto(f"{address}/?family=sparse&p=0.95&limits=add:8,delete:20")
        view.page.locator("#budgets-map[data-ready]").wait_for(timeout=WAIT_MS)
        view.at("budgets-map").focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp"):
            view.page.keyboard.press(key)
        view.says("budgets-readout", "add 1, delete 2", "certified at p = 0.95")
        view.evaluate("document.activeElement.blur()")
        expect(view.page.locator("#budgets-map .hovertext")).to_have_count(0)
        view.page.screenshot(path=folder / "families.png")
    context.close()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    with TemporaryDirectory() as results:
        for alpha in ALPHAS:
            certify_digits(Path(results, f"alpha-{alpha}"), alpha, 200)
        with page_service({"ELLZERO_SERVE_RESULTS": results}) as address, launch_browser() as browser:
            draw_screenshots(browser, address, target)
