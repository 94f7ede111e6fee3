"""Every page opens, in both colour schemes, without an error and without asking another machine for anything.

While it is open it is looked at by axe-core, walked through by keyboard alone, and enlarged to 200 %.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.browser.access import fits_when_enlarged, grave_problems, walk_by_keyboard
from tests.browser.helpers import change_colours, wait_until_settled
from tests.support import ROOT

PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
FEWEST_STOPS = 5
"""The menu alone has more."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_shows_something_and_can_be_used_by_everybody(
    open_app: Callable[..., Page], screenshot: Callable[..., object], name: str
) -> None:
    page = open_app("/" if name == "lab" else f"/{name}", colour_scheme="dark")
    grounds = set()
    schemes: tuple[Literal["dark", "light"], ...] = ("dark", "light")
    for colour_scheme in schemes:
        change_colours(page, colour_scheme)
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert page.get_by_test_id("stMain").inner_text().strip()
        screenshot(page, f"{name}_{colour_scheme}")
        assert grave_problems(page) == []
        grounds.add(page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor"))
    assert len(grounds) == 2, "the page follows the colour scheme"
    # Keys and sizes are the same in the dark.
    assert len(walk_by_keyboard(page)) >= FEWEST_STOPS
    fits_when_enlarged(page)


def test_a_page_is_as_it_was_left_however_often_the_others_are_opened(open_app: Callable[..., Page]) -> None:
    page = open_app("/")

    def go(title: str) -> None:
        page.get_by_role("link", name=title, exact=True).click()
        wait_until_settled(page)
        expect(page.get_by_test_id("stException")).to_have_count(0)

    def lesson() -> str:
        return page.get_by_test_id("stHeading").first.inner_text()

    go("Learn")
    page.get_by_test_id("stButtonGroup").first.get_by_text("3", exact=True).click()
    expect(page.get_by_test_id("stHeading").first).to_contain_text("3. ")
    go("Compare")
    go("Learn")
    assert lesson().startswith("3. ")
    go("Compare")
    workers = page.get_by_label("Workers").nth(1)
    workers.fill("3")
    workers.press("Enter")
    wait_until_settled(page)
    for title in ("Tune", "Premium demo", "Traces", "Real router", "Lab", "Learn"):
        go(title)
    assert lesson().startswith("3. ")
    go("Compare")
    expect(page.get_by_label("Workers").nth(0)).to_have_value("1")
    expect(page.get_by_label("Workers").nth(1)).to_have_value("3")
