"""axe-core finds nothing wrong with the page: light and dark, wide and narrow, with results and with errors."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import expect
from serve.page.view import WAIT_MS, NewView, View, needs_chromium

VENV = Path(__file__).parents[3] / ".venv"
AXE, INSTALLED = VENV / "axe.min.js", VENV / ".axe"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
pytestmark = needs_chromium
RUN_AXE = "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map(node => node.html)])"


def skip_without_axe() -> None:
    if not INSTALLED.exists():
        pytest.skip("needs axe-core, which make .venv/.axe installs by npm")


def check_with_axe(view: View) -> None:
    """axe-core finds nothing wrong with the page as it is, wide and narrow, light and dark."""
    view.page.add_script_tag(path=AXE)
    for width in (1280, 360):
        for scheme in SCHEMES:
            view.page.set_viewport_size({"width": width, "height": 800})
            view.page.emulate_media(color_scheme=scheme)
            expect(view.page.locator("[aria-busy]")).to_have_count(0, timeout=WAIT_MS)
            assert view.evaluate(RUN_AXE) == [], (width, scheme)


@pytest.mark.parametrize("query", ["?", "?k=1&alpha=4/5&view=table&mode=votes", "?k=x&alpha=2&d=0&p=7&p_b=9"])
def test_axe_finds_nothing(new_view: NewView, query: str) -> None:
    skip_without_axe()
    view = new_view(bypass_csp=True)
    view.page.goto(f"{view.address}/{query}")
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    view.type(**{"voting-n": "1000"})
    view.at("voting-start").click()
    expect(view.at("voting-radius")).to_be_visible(timeout=WAIT_MS)
    check_with_axe(view)
