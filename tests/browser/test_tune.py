"""The Tune page in the browser: a platform engineer's way from a question to a better policy in the Lab."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser.helpers import wait_until_settled

MINUTE_MS = 60_000


def charts(page: Page) -> Locator:
    return page.locator(".js-plotly-plot")


def show(page: Page, view: str) -> None:
    page.get_by_role("radio", name=view).click()
    wait_until_settled(page)


def test_a_number_is_varied_a_point_clicked_and_its_policy_opens_in_the_lab(
    open_app: Callable[..., Page], screenshot: Callable[..., object]
) -> None:
    page = open_app("/tune", viewport=(1400, 1600))
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("From the Lab: quanta premium 512 and regular 128; 1 worker.", timeout=MINUTE_MS)
    page.get_by_role("button", name="Run 27 experiments").click()
    expect(main).to_contain_text("Click a mark to see its policy.", timeout=MINUTE_MS)
    expect(charts(page)).to_have_count(4, timeout=MINUTE_MS)
    wait_until_settled(page)
    screenshot(page, "tune_light", full_page=True)
    # Premium's marks under carry come first; the last but one is at 2,896 tokens.
    charts(page).nth(0).locator(".points path").nth(7).click(force=True)
    expect(main).to_contain_text("Chosen: premium: quantum, tokens = ", timeout=MINUTE_MS)
    expect(page.get_by_text("-    quantum: 512")).to_be_visible()
    page.get_by_role("button", name="Open in the Lab").click()
    expect(page.locator(".rp")).to_have_count(1, timeout=MINUTE_MS)
    expect(page.get_by_test_id("stMain")).to_contain_text("the quanta ask for", timeout=MINUTE_MS)
    page.get_by_role("link", name="Tune").click()
    wait_until_settled(page)
    expect(main).to_contain_text("These figures are of an earlier experiment in the Lab", timeout=MINUTE_MS)


def test_goals_give_quanta_and_two_numbers_a_map(
    open_app: Callable[..., Page], screenshot: Callable[..., object]
) -> None:
    page = open_app("/tune", viewport=(1400, 1600), colour_scheme="dark")
    main = page.get_by_test_id("stMain")
    show(page, "Goals")
    page.get_by_role("button", name="Find quanta").click()
    expect(main).to_contain_text("premium 3, regular 1 keeps every goal.", timeout=MINUTE_MS)
    expect(main).to_contain_text("at most one request per ring round")
    screenshot(page, "tune_goals_dark", full_page=True)
    page.get_by_label("Goals, one per line").fill("premium wait p95 <= 1 s\nregular wait p95 <= 1 s")
    page.get_by_label("Goals, one per line").press("Control+Enter")
    wait_until_settled(page)
    page.get_by_role("button", name="Find quanta").click()
    expect(main).to_contain_text("It cannot be done with quanta alone.", timeout=2 * MINUTE_MS)
    show(page, "Two numbers")
    for place, label in enumerate(("Run 63 experiments", "Run 27 experiments")):
        field = page.get_by_label("Points").nth(place)
        field.fill("3")
        field.press("Enter")
        expect(page.get_by_role("button", name=label)).to_be_visible(timeout=MINUTE_MS)
        wait_until_settled(page)
    page.get_by_role("button", name="Run 27 experiments").click()
    expect(main).to_contain_text("Click a cell or a mark to see its policy.", timeout=MINUTE_MS)
    wait_until_settled(page)
    charts(page).nth(0).locator(".scatterlayer .points path").nth(0).click(force=True)
    expect(main).to_contain_text(
        "Chosen: premium: quantum, tokens = 64; regular: quantum, tokens = 16", timeout=MINUTE_MS
    )
    screenshot(page, "tune_two_dark", full_page=True)


def test_a_long_sweep_shows_progress_and_keeps_what_was_done_when_it_is_cancelled(
    open_app: Callable[..., Page],
) -> None:
    page = open_app("/tune", viewport=(800, 1000))
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("From the Lab", timeout=MINUTE_MS)
    page.get_by_label("Points").fill("40")
    page.get_by_label("Points").press("Enter")
    page.get_by_role("button", name="Run 120 experiments").click()
    expect(main).to_contain_text("of 120 runs, about", timeout=MINUTE_MS)
    cancel = page.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    # Something of it is over once a first slice is.
    expect(main).not_to_contain_text(" 0 of 120 runs", timeout=MINUTE_MS)
    page.wait_for_function("() => /(\\d+) of 120 runs/.exec(document.body.innerText)?.[1] > 30", timeout=MINUTE_MS)
    cancel.click()
    expect(main).to_contain_text("cancelled; the figures are of the others.", timeout=MINUTE_MS)
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
