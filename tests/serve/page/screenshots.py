"""Regenerates docs/page.png and docs/voting.png: ``PYTHONPATH=tests python tests/serve/page/screenshots.py``."""

import sys
from pathlib import Path

from playwright.sync_api import Browser, expect
from serve.page.service import page_service
from serve.page.view import WAIT_MS, launch_browser, watch

DOCS = Path(__file__).parents[3] / "docs"


def draw_screenshots(browser: Browser, address: str, folder: Path) -> None:
    """Save pictures of the top of the page, with a threshold read out, and of the panel that certifies with a model."""
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
    context.close()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    with page_service() as address, launch_browser() as browser:
        draw_screenshots(browser, address, target)
