"""Every page opens, in both colour schemes, without an error and without asking another machine for anything.

While it is open it is looked at by axe-core, walked through by keyboard alone, and enlarged to 200 %.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.access import fits_when_enlarged, grave_problems, walk_by_keyboard
from tests.support import ROOT

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
FEWEST_STOPS = 5
"""The menu alone has more."""


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_shows_something_and_can_be_used_by_everybody(
    open_app: Callable[..., Page], screenshot: Callable[..., object], name: str, colour_scheme: str
) -> None:
    page = open_app("/" if name == "lab" else f"/{name}", colour_scheme=colour_scheme)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    assert page.locator('[data-testid="stMain"]').inner_text().strip()
    screenshot(page, f"{name}_{colour_scheme}")
    assert grave_problems(page) == []
    if colour_scheme == "light":  # keys and sizes are the same in the dark
        assert len(walk_by_keyboard(page)) >= FEWEST_STOPS
        fits_when_enlarged(page)
