"""axe-core finds nothing wrong with the page: light and dark, wide and narrow, with results and with errors."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from serve.page.view import WAIT_MS, NewView, needs_chromium

AXE = Path(__file__).parents[3] / ".venv/axe/node_modules/axe-core/axe.min.js"
pytestmark = needs_chromium
_RUN = "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map(node => node.html)])"


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["?", "?k=1&alpha=4/5&view=table&mode=votes", "?k=x&alpha=2&d=0&p=7&p_b=9"])
def test_axe_finds_nothing(new_view: NewView, width: int, scheme: str, query: str) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core: make .venv/.axe")
    view = new_view(viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True)
    view.page.goto(f"{view.address}/{query}")
    expect(view.page.locator("#voting-noisy canvas")).to_have_count(4, timeout=WAIT_MS)
    view.type(**{"voting-n": "1000"})
    view.at("voting-start").click()
    expect(view.at("voting-radius")).to_be_visible(timeout=WAIT_MS)
    expect(view.page.locator("[aria-busy]")).to_have_count(0, timeout=WAIT_MS)
    view.page.add_script_tag(path=AXE)
    assert view.evaluate(_RUN) == []
