"""Every page opens, in both colour schemes, without an error and without asking another machine for anything."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.support import ROOT

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_and_shows_something(
    open_app: Callable[..., Page], screenshot: Callable[..., object], name: str, colour_scheme: str
) -> None:
    page = open_app("/" if name == "lab" else f"/{name}", colour_scheme=colour_scheme)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    assert page.locator('[data-testid="stMain"]').inner_text().strip()
    screenshot(page, f"{name}_{colour_scheme}")
