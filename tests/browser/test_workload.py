"""The Lab's workload side in a browser: scenarios, form and text, the lecture stepped through, a trace, targets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from playwright.sync_api import Locator, Page, expect

from drr.workload.scenarios import scenario
from tests.browser.helpers import change_colours, wait_until_settled
from tests.support import skip_or_fail

OpenApp = Callable[..., Page]
SECONDS = 60
QUEUES = "A (60): 25 45 10\nB (60): 50 30\nC (60): 20 20 20 20"


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    shown = {"Workload": "Typed queues", "Workers": "Cursor rule"}[name]
    expect(page.get_by_text(shown, exact=True).first).to_be_visible(timeout=SECONDS * 1000)
    wait_until_settled(page)


def choose(page: Page, label: str, option: str) -> None:
    page.locator(".stSelectbox", has=page.get_by_text(label, exact=True)).first.locator("input").click()
    page.get_by_role("option", name=option, exact=True).click()
    wait_until_settled(page)


def pick(page: Page, name: str) -> None:
    page.get_by_test_id("stButtonGroup").get_by_role("radio", name=name, exact=True).or_(
        page.get_by_test_id("stButtonGroup").get_by_role("button", name=name, exact=True)
    ).first.click()
    wait_until_settled(page)


def result(page: Page) -> Locator:
    return page.locator('[data-testid="stHeading"] h3').first


def facts(page: Page) -> Locator:
    return page.get_by_text(re.compile(r"^[\d,]+ requests · "))


def type_queues(page: Page, text: str) -> None:
    box = page.locator(".stTextArea textarea").first
    box.fill(text)
    box.press("Control+Enter")
    wait_until_settled(page)


def type_spec(editor: Locator, text: str) -> None:
    """Put another text into an editor, in one go: typed, it would be indented and completed on the way."""
    editor.click()
    editor.press("Control+a")
    editor.page.keyboard.insert_text(text)


def test_scenarios_of_every_kind_are_loaded_one_after_the_other(open_app: OpenApp) -> None:
    page = open_app()
    for name in ("lecture", "join_leave", "large_cluster", "premium_burst"):
        each = scenario(name)
        choose(page, "Scenario", each.title)
        expect(page.get_by_text(each.watch[:30])).to_be_visible()
        classes = len(each.experiment.run().class_names)
        expect(facts(page)).to_contain_text(re.compile(rf"[· ]{classes} class"), timeout=SECONDS * 1000)
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
        expect(page.get_by_text("Changed since")).to_have_count(0)


def test_form_and_text_show_the_same_workload(open_app: OpenApp, screenshot: Callable[..., object]) -> None:
    page = open_app()
    tab(page, "Workload")
    screenshot(page, "workload_form")
    page.get_by_label("Requests", exact=True).first.fill("120")
    page.get_by_label("Requests", exact=True).first.press("Enter")
    expect(facts(page)).to_contain_text("440 requests", timeout=SECONDS * 1000)
    pick(page, "Text")
    spec = page.get_by_role("textbox", name="Workload spec, YAML")
    expect(spec).to_contain_text("requests: 120")
    text = "\n".join(spec.locator(".cm-line").all_inner_texts())
    type_spec(spec, text.replace("requests: 120", "requests: 80"))
    expect(facts(page)).to_contain_text("400 requests", timeout=SECONDS * 1000)
    type_spec(spec, text.replace("shape: burst", "shape: brst", 1))
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1, timeout=SECONDS * 1000)
    error = page.locator('[data-testid="stAlert"]', has_text="brst").first
    expect(error).to_contain_text(re.compile(r"line \d+, column \d+"))
    expect(error.locator("code").last).to_contain_text("^")
    screenshot(page, "workload_text_error")
    type_spec(spec, "# my own\n" + text.replace("requests: 120", "requests: 80"))
    expect(page.locator(".cm-lint-marker-error")).to_have_count(0, timeout=SECONDS * 1000)
    pick(page, "Form")
    requests = page.get_by_label("Requests", exact=True).first
    expect(requests).to_have_value("80")
    requests.fill("70")
    requests.press("Enter")
    expect(facts(page)).to_contain_text("390 requests", timeout=SECONDS * 1000)
    pick(page, "Text")
    expect(spec).to_contain_text("# my own")
    expect(spec).to_contain_text("requests: 70")


def test_the_lecture_is_typed_and_stepped_through_in_less_than_two_minutes(
    open_app: OpenApp, screenshot: Callable[..., object]
) -> None:
    started = time.monotonic()
    page = open_app()
    tab(page, "Workload")
    pick(page, "Typed queues")
    type_queues(page, QUEUES)
    expect(facts(page)).to_contain_text("9 requests · 3 classes", timeout=SECONDS * 1000)
    page.get_by_role("button", name="To the start (Home)").click()
    on = page.get_by_role("button", name="On (→)")
    served = []
    for number in range(1, 10):
        on.click()
        told = page.get_by_text(re.compile(rf"^Decision {number}: . goes"))
        expect(told.first).to_be_visible(timeout=SECONDS * 1000)
        served.append(told.first.inner_text().split(": ")[1][0])
    assert "".join(served) == "ABCCCAABC"
    screenshot(page, "lecture_at_the_end")
    assert time.monotonic() - started < 120


def test_a_worker_is_blocked_a_request_arrives_and_the_session_is_saved(
    open_app: OpenApp, tmp_path: Path, screenshot: Callable[..., object]
) -> None:
    page = open_app()
    choose(page, "Scenario", "Three flows of the textbook")
    tab(page, "Workload")
    expect(facts(page)).to_contain_text("9 requests", timeout=SECONDS * 1000)
    box = page.locator(".stTextArea textarea").first
    page.get_by_role("button", name="To the start (Home)").click()
    for number in range(1, 4):
        page.get_by_role("button", name="On (→)").click()
        expect(page.get_by_text(re.compile(rf"^Decision {number}: ")).first).to_be_visible(timeout=SECONDS * 1000)
    page.get_by_role("button", name="Block or free worker 0").click()
    expect(box).to_have_value(QUEUES + "\n* hold 0 @3\n", timeout=SECONDS * 1000)
    page.get_by_role("button", name="Arrive").click()
    expect(box).to_have_value(QUEUES.replace("10", "10 30@3") + "\n* hold 0 @3\n", timeout=SECONDS * 1000)
    page.get_by_role("button", name="Block or free worker 0").click()
    expect(box).to_have_value(re.compile(r"\* hold 0 @3\n\* free 0 @3\n$"), timeout=SECONDS * 1000)
    expect(facts(page)).to_contain_text("10 requests", timeout=SECONDS * 1000)
    screenshot(page, "lecture_changed")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as a scenario file").click()
    path = tmp_path / "lesson.ringside.json"
    download.value.save_as(path)
    assert "free 0 @3" in path.read_text()


def test_a_trace_is_dropped_and_its_families_run(
    open_app: OpenApp, shared_folder: Path, screenshot: Callable[..., object]
) -> None:
    path = shared_folder / "traces" / "mooncake_mixed_1000.jsonl"
    if not path.is_file():
        skip_or_fail("no trace mooncake_mixed_1000 in the shared folder")
    page = open_app()
    tab(page, "Workload")
    pick(page, "Trace")
    expect(page.get_by_text("choose a trace file first").first).to_be_visible(timeout=SECONDS * 1000)
    page.locator(".st-key-lab-upload input[type=file]").set_input_files(path)
    expect(page.get_by_text("1,000 rows loaded")).to_be_visible(timeout=SECONDS * 1000)
    expect(facts(page)).to_contain_text("1,000 requests · 2 classes", timeout=SECONDS * 1000)
    screenshot(page, "workload_trace", full_page=True)


def test_targets_show_the_share_in_time_and_the_search_finds_a_rate(
    open_app: OpenApp, screenshot: Callable[..., object]
) -> None:
    page = open_app(viewport=(1400, 2000))
    choose(page, "Scenario", "A premium spike that subsides")
    page.get_by_text("Service levels: how many requests are in time").click()
    grid = page.get_by_test_id("stExpander").filter(has_text="Service levels").get_by_test_id("stDataFrame")
    expect(grid).to_be_visible()
    grid.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # the grid draws itself on a canvas once it knows its width
    box = grid.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.25, box["y"] + 52)
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)  # the cell's own editor opens
    page.keyboard.type("3000", delay=60)
    page.keyboard.press("Enter")
    expect(page.get_by_text(re.compile(r"^In time: premium [\d.]+ % of [\d,]+ requests"))).to_be_visible(
        timeout=SECONDS * 1000
    )
    wait_until_settled(page)
    page.get_by_role("button", name="Find the highest rate that keeps this").click()
    expect(page.get_by_text(re.compile(r"The highest rate is [\d.,]+ requests/s"))).to_be_visible(
        timeout=2 * SECONDS * 1000
    )
    screenshot(page, "service_levels")


LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (
    *(("light", 1400), ("light", 800)),
    *(("dark", 800), ("dark", 1400)),
)


def test_the_tabs_fit_the_page(open_app: OpenApp, screenshot: Callable[..., object]) -> None:
    page = open_app(viewport=(1400, 1400))
    choose(page, "Scenario", "A premium spike that subsides")
    for name in ("Workers", "Workload"):
        tab(page, name)
        for colour_scheme, width in LOOKS:
            page.set_viewport_size({"width": width, "height": 1400})
            change_colours(page, colour_scheme)
            screenshot(page, f"{name.lower()}_{colour_scheme}_{width}")
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0
    charts = page.get_by_test_id("stPlotlyChart")
    expect(charts.first).to_be_visible(timeout=SECONDS * 1000)
