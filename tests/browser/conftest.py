"""Fixtures of the browser tests: one server and one browser for the session, fresh pages for every test.

A test asks for ``open_app`` and calls it, once per page it wants:

    def test_the_lab_opens(open_app, screenshot):
        page = open_app()                                        # 1400 x 900, light
        dark = open_app("/learn", viewport=(800, 900), colour_scheme="dark")
        screenshot(page, "lab_light")

Every test here carries the marker ``browser``. A script error, a console error or a request to another machine fails
it, unless ``page_watch.allow("pattern")`` said that it is expected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.helpers import PageWatch, StreamlitServer, wait_until_settled
from tests.support import ROOT

HERE = Path(__file__).resolve().parent


class OpenApp(Protocol):
    """Opens a page of the app and waits until it has settled."""

    def __call__(
        self,
        path: str = "/",
        *,
        viewport: tuple[int, int] = (1400, 900),
        colour_scheme: Literal["light", "dark"] = "light",
        reduced_motion: bool = False,
        settle: bool = True,
    ) -> Page: ...


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def app_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamlitServer]:
    """The app, served on a free loopback port for the whole session."""
    log_path = tmp_path_factory.mktemp("streamlit") / "server.log"
    with StreamlitServer(ROOT / "app.py", log_path) as server:
        yield server


@pytest.fixture
def page_watch() -> Iterator[PageWatch]:
    """What went wrong on the pages of this test; anything not allowed fails it at the end."""
    watch = PageWatch()
    yield watch
    assert watch.verdict() == []


@pytest.fixture
def new_context(browser: Browser, page_watch: PageWatch) -> Iterator[Callable[..., BrowserContext]]:
    """Makes watched browser contexts; the arguments are those of Playwright's ``new_context``."""
    contexts: list[BrowserContext] = []

    def make(**options: object) -> BrowserContext:
        context = browser.new_context(**options)
        page_watch.attach_to_context(context)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()


class NewPage(Protocol):
    """Makes a watched page without a context of its own; it is closed when the test ends."""

    def __call__(
        self,
        *,
        viewport: tuple[int, int] = (1400, 900),
        colour_scheme: Literal["light", "dark"] = "light",
        reduced_motion: bool = False,
    ) -> Page: ...


class WarmContext:
    """A context for the whole session. A page stays open in it, so that the others find the app's scripts compiled.

    They share its process, whose memory grows with every page, and its collector's work with that; so now and then,
    while no other page is open, the process is let go.
    """

    TESTS_PER_PROCESS = 30

    def __init__(self, browser: Browser, url: str) -> None:
        self.context = browser.new_context(accept_downloads=True)
        self._url = url
        self._tests = 0
        self._open()

    def _open(self) -> None:
        self._stays = self.context.new_page()
        self._stays.goto(self._url)
        wait_until_settled(self._stays)

    def renew(self) -> None:
        """Call it before a test opens pages."""
        self._tests += 1
        if self._tests % self.TESTS_PER_PROCESS == 0:
            self._stays.close()
            self._open()


@pytest.fixture(scope="session")
def warm_context(browser: Browser, app_server: StreamlitServer) -> Iterator[WarmContext]:
    """Where pages without a context of their own are opened."""
    warm = WarmContext(browser, app_server.url)
    yield warm
    warm.context.close()


@pytest.fixture
def new_page(warm_context: WarmContext, page_watch: PageWatch) -> Iterator[NewPage]:
    """Makes pages that share a cache, and nothing else that the app uses: a session of the app belongs to a page."""
    pages: list[Page] = []
    warm_context.renew()

    def make(
        *,
        viewport: tuple[int, int] = (1400, 900),
        colour_scheme: Literal["light", "dark"] = "light",
        reduced_motion: bool = False,
    ) -> Page:
        page = warm_context.context.new_page()
        pages.append(page)
        page_watch.attach_to_page(page)
        page.set_viewport_size({"width": viewport[0], "height": viewport[1]})
        page.emulate_media(color_scheme=colour_scheme, reduced_motion="reduce" if reduced_motion else "no-preference")
        return page

    yield make
    for page in pages:
        page.close()


@pytest.fixture
def open_app(new_page: NewPage, app_server: StreamlitServer) -> OpenApp:
    """Opens pages of the app; see :class:`OpenApp` for what can be chosen."""

    def open_page(path: str = "/", *, settle: bool = True, **options: Any) -> Page:
        page = new_page(**options)
        page.goto(app_server.url + path, wait_until="commit")
        if settle:
            wait_until_settled(page)
        return page

    return open_page


@pytest.fixture
def screenshot() -> Callable[..., Path | None]:
    """Writes a picture of a page into the folder RINGSIDE_SHOTS names; does nothing where none is named."""
    folder = os.environ.get("RINGSIDE_SHOTS")

    def take(page: Page, name: str, *, full_page: bool = False) -> Path | None:
        if not folder:
            return None
        path = Path(folder) / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=path, full_page=full_page)
        return path

    return take
