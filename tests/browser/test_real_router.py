"""The Real router page in the browser: the Lab's experiment beside the real router, then a probe of a live endpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import wait_until_settled
from tests.dynamo.fake_endpoint import FakeEndpoint, Reply, ScriptedWorker, Seen


class Unhurried(ScriptedWorker):
    """Takes long enough per request that the live picture is seen on its way."""

    def __call__(self, seen: Seen, reply: Reply) -> None:
        time.sleep(0.02 * seen.number)
        super().__call__(seen, reply)


@pytest.mark.router
def test_from_the_lab_to_the_real_router_to_a_live_endpoint(
    open_app: Callable[..., Page], screenshot: Callable[..., object], tmp_path: Path
) -> None:
    page = open_app("/", viewport=(1400, 1500))
    page.get_by_role("combobox", name="Scenario").click()
    page.get_by_role("option", name="Quanta far above the costs").click()
    wait_until_settled(page)
    page.get_by_role("link", name="Real router").click()
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("From the Lab: Quanta far above the costs")
    page.get_by_role("button", name="Run on the real router").click()
    expect(main).to_contain_text("The carry rule explains every row of the real router", timeout=60_000)
    expect(main).to_contain_text("carry: 640 of 640 rows identical")
    expect(page.locator(".js-plotly-plot")).to_have_count(1, timeout=30_000)
    page.get_by_text("shipped (carry)").click()
    expect(main).to_contain_text("No row differs under carry: all 640 are identical.")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="All as one zip").click()
    waiting.value.save_as(tmp_path / "all.zip")
    assert (tmp_path / "all.zip").stat().st_size > 1_000
    wait_until_settled(page)
    screenshot(page, "real_replay", full_page=True)

    worker = Unhurried(40, "pppr", {"p": "premium", "r": "regular"})
    with FakeEndpoint(worker) as endpoint:
        page.get_by_role("tab", name="Probe a live endpoint").click()
        for label, text in (("Endpoint", endpoint.url), ("Requests per class", "premium=20 regular=20")):
            field = page.get_by_role("textbox", name=label)
            field.fill(text)
            field.press("Enter")
            wait_until_settled(page)
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
        assert endpoint.seen == []
        page.get_by_text(f"I agree: send this to {endpoint.url.removeprefix('http://')}").click()
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=30_000)
        expect(main).to_contain_text("Of the first 20 completions: 15 premium and 5 regular.", timeout=60_000)
    expect(main).to_contain_text("40 of 40 requests answered")
    expect(page.locator(".js-plotly-plot")).to_have_count(1, timeout=30_000)
    screenshot(page, "real_probe", full_page=True)
    page.get_by_role("link", name="Lab").click()
    wait_until_settled(page)
    page.get_by_role("link", name="Real router").click()
    expect(main).to_contain_text("Of the first 20 completions: 15 premium and 5 regular.", timeout=30_000)
