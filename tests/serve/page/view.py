"""The page in a real Chromium, as a user has it, and what must hold of it in every test."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, expect, sync_playwright

CHROMIUM = shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs chromium on the PATH: apt install chromium, or your system's package of it"
)
# Nothing that Chromium asks other hosts for on its own.
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_REFUSED = re.compile(r"Failed to load resource: (?:the server responded with a status of (\d+)|net::ERR_CONNECTION)")
UNREACHABLE = 0
WAIT_MS = 30_000


@dataclass
class View:
    """One page, with its console messages and its requests.

    ``expected`` are statuses that a test provokes, or `UNREACHABLE`: Chromium itself reports each of them as an error.
    """

    page: Page
    address: str
    expected: set[int] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("request", self._request)

    def open(self, query: str = "") -> None:
        """Open the page and wait until it is drawn and calculated."""
        self.page.goto(f"{self.address}/{query}")
        self.wait_drawn()

    def wait_drawn(self) -> None:
        self.page.locator("#chart[data-ready]").wait_for(state="attached", timeout=WAIT_MS)
        expect(self.page.locator("[aria-busy]")).to_have_count(0, timeout=WAIT_MS)

    def type(self, **fields: str) -> None:
        """Type into fields, by their ids."""
        for name, value in fields.items():
            self.page.locator(f"#{name}").fill(value)

    def choose(self, name: str, value: str) -> None:
        """Choose one of several."""
        self.page.locator(f"label:has(input[name={name}][value='{value}'])").click()

    def at(self, name: str) -> Locator:
        return self.page.locator(f"#{name}")

    def shows(self, name: str, text: str) -> None:
        """The element comes to have exactly this text."""
        expect(self.at(name)).to_have_text(text, timeout=WAIT_MS)

    def says(self, name: str, *parts: str) -> None:
        """The element comes to have each of these in its text."""
        for part in parts:
            expect(self.at(name)).to_contain_text(part, timeout=WAIT_MS)

    def evaluate(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)

    def check(self) -> None:
        """The console has no error or warning, and no request went to another host."""
        assert self.complaints == []
        foreign = [url for url in self.requested if not url.startswith(("data:", "blob:"))]
        assert {urlsplit(url).netloc for url in foreign} <= {urlsplit(self.address).netloc}

    def _console(self, message: ConsoleMessage) -> None:
        refused = _REFUSED.match(message.text)
        if refused and int(refused[1] or UNREACHABLE) in self.expected:
            return
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        self.requested.append(request.url)


NewView = Callable[..., View]


@contextmanager
def launch_browser() -> Iterator[Browser]:
    """Debian's chromium, without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def watch(page: Page, address: str) -> Iterator[View]:
    """A view that is checked at the end: no console error or warning, no request to another host."""
    view = View(page, address)
    yield view
    view.check()
    page.close()
