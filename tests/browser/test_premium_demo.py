"""The premium demonstration in a browser: it plays, keeps its time, takes links and keys; replays open from disk."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from drr.analysis.premium import burst_experiment
from drr.charts.export import steps_from
from drr.charts.replay_html import replay_html
from tests.browser.helpers import PageWatch, wait_until_settled

PREMIUM = "/premium_demo"


@pytest.fixture(autouse=True)
def _page_opened_by_its_address(page_watch: PageWatch) -> None:
    """Streamlit's front end looks for its server below the page's own address first, which is not found there."""
    page_watch.allow(r"_stcore/(health|host-config)")


def scene(page: Page, number: int = 0) -> dict[str, str]:
    """What a scene says of itself: time, moment, numbers."""
    locator = page.locator(".ringside-scene").nth(number)
    expect(locator).to_have_attribute("data-counts", re.compile(r"^$|\d"), timeout=30_000)
    found: dict[str, str] = locator.evaluate("(element) => ({...element.dataset})")
    return found


def time_of(page: Page) -> float:
    return float(scene(page)["timeMs"])


def test_one_button_plays_the_burst_and_its_end_is_true(open_app: Callable[..., Page]) -> None:
    page = open_app(PREMIUM)
    page.get_by_role("button", name="Run the seed experiment").click()
    wait_until_settled(page)
    first = time_of(page)
    page.wait_for_function(
        "(from) => Number(document.querySelector('.ringside-scene').dataset.timeMs) > from + 200", arg=first
    )
    page.get_by_role("button", name="Premium done").click()
    wait_until_settled(page)
    assert scene(page)["counts"] == "160|160|120|119|65|255|239|0"
    expect(page).to_have_url(re.compile("moment=premium-done"))
    expect(page.locator(".ringside-scene .caption").first).to_contain_text("239 regular requests are left")


def test_a_link_opens_its_moment_and_stands_still(
    open_app: Callable[..., Page], screenshot: Callable[..., object]
) -> None:
    page = open_app(f"{PREMIUM}?moment=first-320")
    assert scene(page)["counts"] == "160|160|160|160|65|255|255|65"
    page.wait_for_timeout(500)
    assert scene(page)["moment"] == "first-320"
    screenshot(page, "premium_first_320", full_page=True)


def test_dragging_the_quantum_while_it_plays_keeps_the_playheads_time(open_app: Callable[..., Page]) -> None:
    page = open_app(f"{PREMIUM}?moment=first-320")
    page.get_by_role("button", name="Play").first.click()
    page.wait_for_timeout(300)
    before = time_of(page)
    slider = page.get_by_role("slider", name="quantum")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('h3').innerText.includes('768')", timeout=30_000)
    wait_until_settled(page)
    after = scene(page)
    assert float(after["timeMs"]) > before
    # The first 320 are over: their counters show what 768 : 128 comes to.
    assert after["counts"].split("|")[4:6] != ["65", "255"]
    expect(page.get_by_role("button", name="Pause").first).to_be_visible()


def test_a_speaker_needs_only_the_keyboard(open_app: Callable[..., Page], screenshot: Callable[..., object]) -> None:
    page = open_app(f"{PREMIUM}?speaker=1&moment=sharing&quantum=1024")
    assert scene(page)["moment"] == "sharing"
    page.keyboard.press("PageDown")
    assert scene(page)["moment"] == "first-320"
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    assert scene(page)["moment"] == "end"
    page.keyboard.press("PageUp")
    assert scene(page)["moment"] == "premium-done"
    screenshot(page, "premium_speaker")
    page.keyboard.press("r")
    page.wait_for_function(
        "() => Number(document.querySelector('.ringside-scene').dataset.timeMs) < 3000", timeout=30_000
    )
    wait_until_settled(page)
    expect(page).not_to_have_url(re.compile("quantum"))
    expect(page.get_by_role("slider", name="quantum")).to_have_attribute("aria-valuetext", "512")
    # An audience sees it play again.
    expect(page.get_by_role("button", name="Pause")).to_be_visible(timeout=30_000)
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_nothing_plays_by_itself_for_those_who_want_less_motion(open_app: Callable[..., Page]) -> None:
    page = open_app(f"{PREMIUM}?speaker=1", reduced_motion=True)
    page.wait_for_timeout(500)
    assert time_of(page) == 0
    expect(page.get_by_role("button", name="Play")).to_be_visible()


@pytest.mark.parametrize("moment", ["quiet", "share", "after"])
def test_the_spike_has_captions_at_its_moments(
    open_app: Callable[..., Page], screenshot: Callable[..., object], moment: str
) -> None:
    page = open_app(f"{PREMIUM}?speaker=1&moment={moment}", colour_scheme="dark")
    caption = {"quiet": "Only regular asks", "share": "80% of the answers", "after": "Everything was served"}[moment]
    assert scene(page)["moment"] == moment
    expect(page.locator(".ringside-scene .caption")).to_contain_text(caption)
    screenshot(page, f"premium_spike_{moment}")


def test_a_file_of_the_run_is_offered_with_its_size(open_app: Callable[..., Page], tmp_path: Path) -> None:
    page = open_app(f"{PREMIUM}?moment=end")
    page.get_by_text("Show every decision").click()
    wait_until_settled(page)
    page.get_by_text("Export: picture").click()
    page.get_by_text("Offline replay", exact=True).click()
    wait_until_settled(page)
    page.get_by_role("spinbutton").fill("5")
    page.get_by_role("spinbutton").press("Enter")
    wait_until_settled(page)
    page.get_by_role("button", name="Make the file").click()
    offer = page.get_by_role("button", name="Download ringside-replay")
    expect(offer).to_contain_text("MB", timeout=60_000)
    with page.expect_download() as download:
        offer.click()
    path = tmp_path / "replay.html"
    download.value.save_as(path)
    assert abs(path.stat().st_size / 1e6 - float(offer.inner_text().split(", ")[1].split()[0])) < 0.06


def test_a_replay_opens_from_disk_asks_nobody_and_steps(
    new_context: Callable[..., BrowserContext], tmp_path: Path
) -> None:
    run = burst_experiment(512).run()
    steps = steps_from(run, -1, 60, decisions_only=True)
    path = tmp_path / "replay.html"
    path.write_text(replay_html(run, steps, title="Sixty <b>decisions</b>"), encoding="utf-8")
    context = new_context(viewport={"width": 1100, "height": 900}, offline=True)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    expect(page.locator("h1")).to_have_text("Sixty <b>decisions</b>")
    expect(page.locator("#said")).to_contain_text("Decision 1: premium goes.")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#said")).to_contain_text("Decision 12:")
    waiting = run.state_at(steps[11]).classes[0].waiting_requests
    expect(page.locator("#stage")).to_contain_text(f"{waiting:,} wait")
    expect(page.locator("#stage")).to_contain_text(f"step {steps[11] + 1:,} of {run.n_steps:,}")
    page.keyboard.press("Home")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => Number(document.body.dataset.place) > 2")
    page.get_by_role("button", name="Pause").click()
    page.keyboard.press("End")
    expect(page.locator("#said")).to_contain_text("Decision 60:")
    assert requests == [path.as_uri()]
