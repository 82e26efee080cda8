"""The page in a browser: one service for all tests, one browser for each module, a fresh page for each test."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext
from serve.page.service import page_service
from serve.page.view import NewView, View, launch_browser, watch


@pytest.fixture(scope="session")
def service() -> Iterator[str]:
    """The address of a service with its default settings."""
    with page_service() as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser. Playwright keeps an event loop running meanwhile, in which other modules' tests could start none."""
    with launch_browser() as started:
        yield started


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What most tests share, since a browser keeps the scripts that it has compiled."""
    with browser.new_context() as shared:
        yield shared


@pytest.fixture
def view(context: BrowserContext, service: str) -> Iterator[View]:
    """The page as it opens."""
    with watch(context.new_page(), service) as opened:
        opened.open()
        yield opened


@pytest.fixture
def new_view(browser: Browser, service: str) -> Iterator[NewView]:
    """Pages of browsers with empty storage and settings of their own."""
    with ExitStack() as stack:

        def make(address: str = service, **settings: Any) -> View:
            fresh = stack.enter_context(browser.new_context(**settings))
            return stack.enter_context(watch(fresh.new_page(), address))

        yield make
