"""The lessons in the browser: walked from end to end by keyboard, opened by link, printed, taken to the Lab."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from drr.analysis.answers import answer_of
from drr.workload.lessons import LESSONS
from tests.browser.helpers import PageWatch, wait_until_settled

MOST_TABS = 80


@pytest.fixture
def open_learn(open_app: Callable[..., Page], page_watch: PageWatch) -> Callable[..., Page]:
    """Opens a lesson by its link; the front page is seen first, as by anybody who was sent one."""
    # Streamlit asks where it is served from, beneath a page's address too, and takes the 404 for an answer.
    page_watch.allow("404.*_stcore/(health|host-config)")

    def open_it(link: str = "", **options: object) -> Page:
        page = open_app("/", **options)
        page.goto(page.url.split("?")[0].rstrip("/") + f"/learn{link}", wait_until="commit")
        wait_until_settled(page)
        return page

    return open_it


def focused(page: Page) -> str:
    """Label of what has the keyboard focus."""
    return str(
        page.evaluate("() => (document.activeElement?.ariaLabel || document.activeElement?.innerText || '').trim()")
    )


def tab_to(page: Page, label: str) -> None:
    """Press Tab until the focus is on something with this label."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if focused(page) == label:
            return
    raise AssertionError(f"{label!r} is not reached by {MOST_TABS} Tabs")


def test_all_lessons_are_walked_through_by_keyboard(
    open_learn: Callable[..., Page], screenshot: Callable[..., object]
) -> None:
    page = open_learn("?lesson=1")
    for number, each in enumerate(LESSONS, start=1):
        expect(page.get_by_role("heading", name=f"{number}. {each.title}")).to_be_visible()
        answer = answer_of(each.experiment.run(), each.question)
        if answer.choices:
            tab_to(page, answer.right)
            page.keyboard.press("Enter")
        else:
            tab_to(page, "Tokens, then Enter")
            page.keyboard.type(answer.right.replace(",", ""))
            page.keyboard.press("Enter")
        expect(page.get_by_test_id("stAlert").filter(has_text="Right:")).to_be_visible(timeout=30_000)
        # The run is there to step through, at the call that was asked about.
        expect(page.locator(".rp-sentence strong")).not_to_be_empty(timeout=30_000)
        wait_until_settled(page)
        if number == 4:
            screenshot(page, "learn_answered", full_page=True)
        if number < len(LESSONS):
            tab_to(page, "Next lesson")
            page.keyboard.press("Enter")
            expect(page).to_have_url(re.compile(rf"lesson={number + 1}$"), timeout=30_000)
            wait_until_settled(page)
    expect(page.get_by_text("10 of 10 answered, 10 right")).to_be_visible()


def test_the_question_comes_with_a_still_of_the_stage_that_gives_nothing_away(
    open_learn: Callable[..., Page], screenshot: Callable[..., object]
) -> None:
    page = open_learn("?lesson=3", viewport=(800, 900), colour_scheme="dark")
    expect(page.get_by_role("heading", name="3. What is left over stays")).to_be_visible()
    expect(page.locator(".js-plotly-plot").get_by_text("who is next?")).to_be_visible(timeout=30_000)
    expect(page.locator(".rp")).to_have_count(0)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    screenshot(page, "learn_800_dark", full_page=True)


def test_a_printed_lesson_has_its_question_with_boxes_and_no_buttons(open_learn: Callable[..., Page]) -> None:
    page = open_learn("?lesson=oversized&teacher=1")
    expect(page.locator(".learn-paper")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.locator(".learn-paper")).to_be_visible()
    expect(page.locator(".learn-paper")).to_contain_text("☐ latency")
    expect(page.get_by_role("button", name="latency")).to_be_hidden()
    assert len(page.pdf()) > 10_000


def test_a_lesson_opens_in_the_lab(open_learn: Callable[..., Page]) -> None:
    page = open_learn("?lesson=4")
    page.get_by_role("button", name="Open in the Lab").click()
    wait_until_settled(page)
    expect(page.locator(".rp")).to_contain_text("latency", timeout=30_000)
