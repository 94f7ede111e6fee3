"""Switching pages: from the click on a page's name in the menu to that page, drawn and at rest.

One session in headless Chromium visits every page once, then goes round again and again. The clock runs in the browser,
from the click to the first painted frame in which the page is there, the app's script is over, every player is drawn
and nothing is stale. A page opened for the first time in a session also loads what it draws with,
so that is reported on its own.

``python benchmarks/pages.py [--rounds N] [--write]``
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright
from support import ROOT, Figures

sys.path.insert(0, str(ROOT))
from tests.browser.helpers import CHROMIUM_FLAGS, StreamlitServer, find_chromium, wait_until_settled

BAR_MS = 300.0
MARKS = {
    "Learn": ".st-key-learn_bar",
    "Tune": ".st-key-tune-view",
    "Compare": ".st-key-cmp_stages",
    "Premium demo": ".ringside-scene[data-counts]",
    "Traces": ".st-key-traces-upload",
    "Real router": ".st-key-real-tab",
    "Lab": ".st-key-lab-stage",
}
"""What each page has that no other has, in the order of the round; the Lab is open when it starts."""
REST_MS = 400
"""How long a page has to be left alone before the next click, as a reader would."""

# Clicks on a link of the menu. Resolves with the ms to the first painted frame of the page at rest.
SWITCH = """([title, mark]) => new Promise((done, fail) => {
    const links = [...document.querySelectorAll('[data-testid="stTopNavLink"]')];
    const link = links.find((each) => each.innerText.trim() === title);
    const app = document.querySelector('[data-testid="stApp"]');
    const late = setTimeout(() => fail(new Error(`${title} did not open`)), 60000);
    const isThere = () => document.querySelector(mark) && app.getAttribute('data-test-script-state') === 'notRunning'
        && !document.querySelector('[data-testid="stSkeleton"], [data-stale="true"], .rp:not([data-ready="true"])');
    const began = performance.now();
    link.click();
    const look = () => {
        if (!isThere()) return requestAnimationFrame(look);
        clearTimeout(late);
        requestAnimationFrame(() => done(performance.now() - began));
    };
    look();
})"""


def start_demo(page: Page) -> None:
    """Have the demo show what it is for; before, it is a page with a button."""
    page.get_by_role("link", name="Premium demo").click()
    page.get_by_role("button", name="Run the seed experiment").click()
    page.wait_for_selector(MARKS["Premium demo"])
    page.get_by_role("link", name="Lab").click()
    page.wait_for_selector(MARKS["Lab"])
    wait_until_settled(page, quiet_ms=REST_MS)


def rounds(page: Page, count: int) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Times in ms by page: of the first visit, and of every later one."""
    first: dict[str, float] = {}
    later: dict[str, list[float]] = {title: [] for title in MARKS}
    for turn in range(count + 1):
        for title, mark in MARKS.items():
            took = page.evaluate(SWITCH, [title, mark])
            if turn:
                later[title].append(took)
            else:
                first[title] = took
            wait_until_settled(page, quiet_ms=REST_MS)
    return first, later


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(playwright), headless=True, args=list(CHROMIUM_FLAGS)
        )
        with StreamlitServer(ROOT / "app.py", Path(folder) / "server.log") as server:
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(server.url, wait_until="commit")
            wait_until_settled(page, quiet_ms=REST_MS)
            start_demo(page)
            first, later = rounds(page, options.rounds)
        chromium.close()
    for title, times in later.items():
        figures.add(f"to {title}, median of {len(times)}", median(times), "ms", bar=BAR_MS)
    figures.add("slowest of all", max(max(times) for times in later.values()), "ms")
    for title, took in first.items():
        figures.add(f"to {title}, first visit of a session", took, "ms")
    return figures.finish("benchmarks/pages.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
