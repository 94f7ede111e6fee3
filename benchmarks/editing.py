"""Editing live: from a key press, and from a saved file, to the new picture; and what a rerun of the Lab costs.

The seed policy on the seed experiment, in headless Chromium, with the app in a process of its own. A *key press* edit
replaces the quantum of regular in the editor by typing; the clock runs in the browser from the last key to the moment
when the sentence on top names the new ratio and the stage has painted the new run. A *file save* replaces the followed
file; its clock starts just before the write. The *rerun* is the processor time and the time of the script that a
server spends on the Lab when nothing has changed (median, run after run in one session, without a browser).

``python benchmarks/editing.py [--repeat N] [--write]``
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from support import ROOT, Figures

sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from drr.policy.samples import sample
from tests.browser.helpers import CHROMIUM_FLAGS, StreamlitServer, find_chromium, wait_until_settled

PICTURE_BAR_MS = 1000.0
RERUN_BAR_MS = 60.0
RATIOS = {512: "1.0", 256: "2.0", 128: "4.0", 64: "8.2"}

# Resolves with the time (ms since the epoch) of the first painted frame in which the sentence names the ratio and the
# stage has been drawn anew since the edit.
WAIT_FOR_RATIO = """(ratio) => new Promise((done, fail) => {
    const late = setTimeout(() => fail(new Error('no new picture')), 60000);
    const stage = () => document.querySelector('.js-plotly-plot');
    const look = () => {
        const heading = document.querySelector('[data-testid="stHeading"] h3');
        const said = heading && heading.innerText.includes(`got ${ratio} ×`);
        if (said && window.__drawn > 0 && stage()) {
            clearTimeout(late);
            requestAnimationFrame(() => done(Date.now()));
        } else requestAnimationFrame(look);
    };
    look();
})"""
# Counts how often the stage's drawing changes.
WATCH_STAGE = """() => {
    window.__drawn = 0;
    const watch = new MutationObserver((changes) => {
        if (changes.some(({target}) => target.parentElement?.closest?.('.js-plotly-plot'))) window.__drawn++;
    });
    watch.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
}"""


def with_regular(quantum: int) -> str:
    before, _, after = sample("premium_4_to_1").text().rpartition("quantum: 128")
    return f"{before}quantum: {quantum}{after}"


def sequence(repeat: int) -> list[int]:
    """Quanta of regular, none twice in a row; every text is run before, or none is: see ``fresh``."""
    quanta = list(RATIOS)
    return [quanta[(turn * 3 + 1) % len(quanta)] for turn in range(repeat)]


def key_presses(page: Page, repeat: int) -> list[float]:
    """Times in ms from the last key to the new picture."""
    content = page.locator(".cm-content").first
    times = []
    for turn, quantum in enumerate(sequence(repeat)):
        # A comment of its own makes every text new, so every picture needs a run.
        page.evaluate("window.__drawn = 0")
        content.focus()
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(with_regular(quantum) + f"# {turn} ")
        pressed = page.evaluate("Date.now()")
        times.append(page.evaluate(WAIT_FOR_RATIO, RATIOS[quantum]) - pressed)
        wait_until_settled(page)
    return times


def file_saves(page: Page, path: Path, repeat: int) -> list[float]:
    """Times in ms from before the write to the new picture."""
    times = []
    for turn, quantum in enumerate(sequence(repeat)):
        page.evaluate("window.__drawn = 0")
        saved = time.time() * 1000
        other = path.with_suffix(".new")
        other.write_text(with_regular(quantum) + f"# saved {turn}\n")
        os.replace(other, path)
        times.append(page.evaluate(WAIT_FOR_RATIO, RATIOS[quantum]) - saved)
        wait_until_settled(page)
    return times


def reruns(repeat: int) -> tuple[list[float], list[float]]:
    """Time and processor time in ms of script runs of the Lab in which nothing has changed."""
    test = AppTest.from_file(str(ROOT / "pages" / "lab.py"), default_timeout=120)
    for _ in range(3):
        test.run()
    if test.exception:
        raise SystemExit(f"the Lab failed: {test.exception[0].value}")
    wall, processor = [], []
    for _ in range(repeat):
        began, used = time.perf_counter(), time.process_time()
        test.run()
        wall.append((time.perf_counter() - began) * 1000)
        processor.append((time.process_time() - used) * 1000)
    return wall, processor


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    options = parser.parse_args()
    figures = Figures()
    wall, processor = reruns(options.repeat)
    figures.add("rerun of the Lab, nothing changed, median", median(wall), "ms", bar=RERUN_BAR_MS)
    figures.add("rerun of the Lab, processor time, median", median(processor), "ms")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "policy-classes.yaml"
        path.write_text(with_regular(128))
        chromium = playwright.chromium.launch(
            executable_path=find_chromium(playwright), headless=True, args=list(CHROMIUM_FLAGS)
        )
        log = Path(folder) / "server.log"
        with StreamlitServer(ROOT / "app.py", log, arguments=["--policy", str(path)]) as server:
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(server.url, wait_until="commit")
            wait_until_settled(page)
            page.wait_for_selector(".js-plotly-plot")
            page.evaluate(WATCH_STAGE)
            saves = file_saves(page, path, options.repeat)
            presses = key_presses(page, options.repeat)
        chromium.close()
    for name, times in (("key press to new picture", presses), ("file save to new picture", saves)):
        figures.add(f"{name}, median of {len(times)}", median(times), "ms", bar=PICTURE_BAR_MS)
        figures.add(f"{name}, slowest", max(times), "ms")
    return figures.finish("benchmarks/editing.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
