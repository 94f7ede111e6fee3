"""The Compare page in the browser: two stages on the same requests, scrubbed together."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import PageWatch, wait_until_settled


@pytest.fixture
def open_compare(open_app: Callable[..., Page], page_watch: PageWatch) -> Callable[..., Page]:
    """Opens a comparison by its link, after the front page."""
    page_watch.allow("404.*_stcore/(health|host-config)")

    def open_it(link: str = "", **options: object) -> Page:
        page = open_app("/", **options)
        page.goto(page.url.split("?")[0].rstrip("/") + f"/compare{link}", wait_until="commit")
        expect(page.locator(".rp-sentence strong")).to_have_count(2, timeout=60_000)
        wait_until_settled(page)
        return page

    return open_it


def headlines(page: Page) -> list[str]:
    return [text.strip() for text in page.locator(".rp-sentence strong").all_inner_texts()]


def test_the_page_shows_its_point_at_once_and_both_stages_move_by_decision(
    open_compare: Callable[..., Page], screenshot: Callable[..., object]
) -> None:
    page = open_compare(viewport=(1400, 2400))
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("premium got 1.0 × the tokens of regular")
    expect(main).to_contain_text("premium's quantum 1,000 is above its costs")
    expect(main).to_contain_text("Both ran the same 640 requests, byte for byte")
    expect(main).to_contain_text("First difference: decision 2")
    expect(page.locator(".rp-sentence strong").nth(0)).to_have_text("Decision 2: premium goes.", timeout=30_000)
    expect(page.locator(".rp-sentence strong").nth(1)).to_have_text("Decision 2: regular goes.", timeout=30_000)
    screenshot(page, "compare_light", full_page=True)
    page.get_by_role("slider", name="Decision of A and B").focus()
    page.keyboard.press("ArrowRight")
    for place in (0, 1):
        expect(page.locator(".rp-sentence strong").nth(place)).to_contain_text("Decision 3:", timeout=30_000)
    page.locator(".rp").nth(1).focus()
    page.keyboard.press("ArrowRight")  # a step in one player takes the other one and the slider along
    for place in (0, 1):
        expect(page.locator(".rp-sentence strong").nth(place)).to_contain_text("Decision 4:", timeout=30_000)
    expect(page.get_by_role("slider", name="Decision of A and B")).to_have_value("4", timeout=30_000)
    page.get_by_role("button", name="Go there").click()
    for place in (0, 1):
        expect(page.locator(".rp-sentence strong").nth(place)).to_contain_text("Decision 2:", timeout=30_000)


def test_by_time_one_stage_follows_the_other(open_compare: Callable[..., Page]) -> None:
    page = open_compare("?compare=share")
    page.get_by_role("radio", name="by time").click()
    expect(page.get_by_text("the other one follows in simulated time")).to_be_visible(timeout=30_000)
    wait_until_settled(page)
    page.locator(".rp").nth(0).focus()
    page.keyboard.press("End")
    for place in (0, 1):
        expect(page.locator(".rp-sentence strong").nth(place)).to_contain_text("Completion", timeout=30_000)


def test_equal_sides_differ_at_no_step_and_the_reason_is_said(open_compare: Callable[..., Page]) -> None:
    page = open_compare("?compare=burst", viewport=(800, 900), colour_scheme="dark")
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("A and B differ at no step.")
    expect(main).to_contain_text("no quantum is above what a request costs (at most 512, at least 512 tokens)")
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_seeds_are_run_elsewhere_and_a_side_goes_to_the_lab(open_compare: Callable[..., Page]) -> None:
    page = open_compare("?compare=grant")
    page.get_by_role("button", name="Run over seeds").click()
    expect(page.get_by_text("The same in every seed")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Open B in the Lab").click()
    wait_until_settled(page)
    expect(page.locator(".rp")).to_have_count(1, timeout=60_000)
    expect(page.locator(".rp")).to_contain_text("C", timeout=30_000)
