"""Takes the README's pictures: ``python docs/make_screens.py`` (needs Playwright, kaleido and a Chromium)."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from drr.charts.export import stage_gif  # noqa: E402
from drr.workload.scenarios import build, scenario  # noqa: E402
from tests.browser.helpers import (  # noqa: E402
    CHROMIUM_FLAGS,
    StreamlitServer,
    find_chromium,
    wait_until_settled,
)

PICTURES = ROOT / "docs" / "pictures"
SHOTS = (
    # name, address, colour scheme, what has to be there
    ("lab_light", "/", "light", ".main-svg"),
    ("premium_demo_dark", "/premium_demo?moment=premium-done", "dark", ".ringside-scene[data-counts]"),
)


def take(browser: Browser, url: str, name: str, scheme: str, wanted: str) -> None:
    """One picture, 1,400 pixels wide."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(url, wait_until="commit")
    wait_until_settled(page)
    page.wait_for_selector(wanted, timeout=60_000)
    page.wait_for_timeout(2_000)
    page.screenshot(path=PICTURES / f"{name}.png")
    context.close()


def moving(decisions: int) -> None:
    """The first decisions of the premium burst, as an animation."""
    run = build(scenario("premium_burst"))
    gif = stage_gif(run, run.decision_steps[:decisions], width=900, ms_per_step=700)
    (PICTURES / "premium_burst.gif").write_bytes(gif)


def main() -> None:
    """Take all of them."""
    moving(20)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(playwright), headless=True, args=list(CHROMIUM_FLAGS)
        )
        with StreamlitServer(ROOT / "app.py", Path(folder) / "server.log") as server:
            for name, path, scheme, wanted in SHOTS:
                take(browser, server.url + path, name, scheme, wanted)
        browser.close()


if __name__ == "__main__":
    main()
