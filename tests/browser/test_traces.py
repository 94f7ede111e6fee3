"""A trace's way in a browser: dropped, mapped, cut, run in the Lab; and a file with bad rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.helpers import wait_until_settled
from tests.support import skip_or_fail

OpenApp = Callable[..., Page]
SECONDS = 60


def drop(page: Page, *files: Path | dict[str, object]) -> None:
    page.locator(".stFileUploader input[type=file]").set_input_files(list(files))  # type: ignore[arg-type]
    wait_until_settled(page)


def choose(page: Page, label: str, option: str) -> None:
    page.locator(".stSelectbox", has=page.get_by_text(label, exact=True)).first.locator("input").click()
    page.get_by_role("option", name=option, exact=True).click()
    wait_until_settled(page)


def see(page: Page, text: str | re.Pattern[str]) -> None:
    expect(page.get_by_text(text).first).to_be_visible(timeout=SECONDS * 1000)


def test_a_trace_is_dropped_mapped_cut_and_run_in_the_lab(
    open_app: OpenApp, shared_folder: Path, tmp_path: Path, screenshot: Callable[..., object]
) -> None:
    path = shared_folder / "traces" / "mooncake_mixed_1000.jsonl"
    if not path.is_file():
        skip_or_fail("no trace mooncake_mixed_1000 in the shared folder")
    page = open_app("/traces", viewport=(1400, 1500))
    see(page, "Drop the requests of a real deployment")
    screenshot(page, "traces_empty")
    drop(page, path)
    see(page, "1,000 rows loaded, none left out")
    see(page, re.compile(r"at most 39\.0 % of the prompt tokens"))
    see(page, "bounded, per worker")  # the last thing that comes by itself
    wait_until_settled(page)
    choose(page, "74: 153 requests", "premium")
    page.get_by_label("Rate ×", exact=True).fill("4")
    page.get_by_label("Rate ×", exact=True).press("Enter")
    see(page, "1,000 requests, 4 × as fast")
    wait_until_settled(page)

    # Dragging over the arrivals cuts a window; its numbers can be set exactly.
    chart = page.get_by_test_id("stPlotlyChart").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 70, steps=6)
    page.mouse.up()
    see(page, re.compile(r"of 1,000 requests, from [\d.]+ s to [\d.]+ s"))
    wait_until_settled(page)
    for label, seconds in (("From, s", "30"), ("To, s", "60")):
        page.get_by_label(label, exact=True).fill(seconds)
        page.get_by_label(label, exact=True).press("Enter")
        wait_until_settled(page)
    see(page, re.compile("of 1,000 requests, from 30 s to 60 s, 4 × as fast"))
    see(page, "bounded, per worker")
    screenshot(page, "traces_cut", full_page=True)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as Mooncake JSONL").click()
    exported = tmp_path / "out.jsonl"
    download.value.save_as(exported)
    lines = exported.read_text().splitlines()
    assert f".{len(lines)}-requests.mooncake.jsonl" in download.value.suggested_filename
    assert all('"policy_class": "' in line for line in lines)

    page.get_by_role("button", name="Open in the Lab").click()
    expect(page.get_by_text(re.compile(rf"^{len(lines):,} requests · 2 classes"))).to_be_visible(timeout=SECONDS * 1000)
    see(page, f"The window from 30 s to 60 s of the trace: {len(lines):,} requests.")
    screenshot(page, "traces_in_the_lab")

    # Back on the page everything is as it was.
    page.get_by_role("link", name="Traces").click()
    see(page, re.compile("of 1,000 requests, from 30 s to 60 s, 4 × as fast"))
    expect(page.get_by_label("Rate ×", exact=True)).to_have_value("4")


def test_a_file_with_bad_rows_says_which_and_why(open_app: OpenApp, screenshot: Callable[..., object]) -> None:
    good = '{"timestamp": %d, "input_length": 512, "output_length": 9, "hash_ids": [4]}\n'
    text = good % 0 + '{"timestamp": 20, "input_length": 700, "output_length": 12 80}\n' + good % 40
    page = open_app("/traces")
    drop(
        page,
        {"name": "bad.jsonl", "mimeType": "application/json", "buffer": text.encode()},
        {"name": "cat.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"},
    )
    see(page, "cat.png: the first line is no UTF-8 text")
    see(page, "1 row of 3 cannot be read")
    expect(page.get_by_role("button", name="Open in the Lab")).to_be_disabled()
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button", name="Download as CSV").click()
    assert "2,no valid JSON" in download.value.path().read_text().replace('"', "")
    screenshot(page, "traces_bad_rows")
    page.get_by_role("button", name="Leave them out").click()
    see(page, "2 rows loaded, 1 left out")
    expect(page.get_by_role("button", name="Open in the Lab")).to_be_enabled(timeout=SECONDS * 1000)
