"""The player against the bars for the stage: painted steps per second, gaps, size on the wire, time until it is there.

Both sides run in one browser, one after the other: the player while it plays, and on the same page a bare loop that
animates two traces; the Lab opened cold, and a bare Streamlit page with one Plotly chart.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright
from support import ROOT, Figures

sys.path.insert(0, str(ROOT))

from drr.charts.palette import LIGHT
from drr.ui.player.pack import pack
from tests.browser.helpers import (
    CHROMIUM_FLAGS,
    StreamlitServer,
    find_chromium,
    stays_on_this_machine,
    wait_until_settled,
)
from tests.ui.player_runs import named_run

SECONDS = 6
SETTLE_MS = 500
RUNS = {"640 decisions": ("premium", 200), "20,000 decisions": ("long-10000", 1000)}

PLAYER_PAGE = """
import streamlit as st
from drr.ui import stage_view
from tests.ui.player_runs import named_run
st.set_page_config(layout="wide")
stage_view.show(named_run(st.query_params["run"]), slot="bench", start=-1)
"""
CHART_PAGE = """
import plotly.graph_objects as go
import streamlit as st
st.plotly_chart(go.Figure(go.Bar(y=[1, 2, 3])))
"""

# Both loops note when they painted, and give back steps per second and the longest gap, after the first half second.
MEASURE = """
const result = (times, from) => {
  const late = times.filter((at) => at > from + SETTLE_MS);
  const gaps = late.slice(1).map((at, i) => at - late[i]);
  return [late.length / ((late.at(-1) - late[0]) / 1000), Math.max(...gaps)];
};
""".replace("SETTLE_MS", str(SETTLE_MS))
PLAY = (
    "async ([speed, ms]) => {"
    + MEASURE
    + """
  const player = document.querySelector(".rp").parentElement.ringside.player;
  player.setMode("step");
  player.moveTo({step: -1, visit: -1});
  player.playback.setSpeed(speed);
  const times = [], paint = player.paint.bind(player);
  player.paint = () => { paint(); times.push(performance.now()); };
  const from = performance.now();
  player.playback.play();
  await new Promise((done) => setTimeout(done, ms));
  player.playback.pause();
  delete player.paint;
  return result(times, from);
}
"""
)
BARE = (
    "async (ms) => {"
    + MEASURE
    + """
  const graph = document.createElement("div");
  graph.style.cssText = "position:fixed;inset:0 auto auto 0;width:700px;height:400px;z-index:99;background:white";
  document.body.append(graph);
  const heights = () => [0, 1, 2, 3, 4, 5].map(() => Math.random() * 10);
  const options = {mode: "immediate", frame: {duration: 0, redraw: false}, transition: {duration: 0}};
  const bars = () => ({type: "bar", y: heights()});
  await Plotly.newPlot(graph, [bars(), bars()], {yaxis: {range: [0, 10]}}, {staticPlot: true});
  const times = [], from = performance.now();
  await new Promise((done) => {
    const frame = () => {
      Plotly.animate(graph, {data: [{y: heights()}, {y: heights()}], traces: [0, 1]}, options).catch(() => {});
      times.push(performance.now());
      if (performance.now() < from + ms) requestAnimationFrame(frame); else done();
    };
    requestAnimationFrame(frame);
  });
  graph.remove();
  return result(times, from);
}
"""
)


def open_cold(browser: Browser, url: str, ready: str, elsewhere: list[str]) -> tuple[Page, float]:
    """A page in a context of its own, and the seconds until ``ready`` was there; other machines are noted."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.on("request", lambda r: None if stays_on_this_machine(r.url) else elsewhere.append(r.url))
    page = context.new_page()
    started = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(ready).first.wait_for(timeout=120_000)
    return page, time.perf_counter() - started


def measure_play(browser: Browser, folder: Path, figures: Figures, elsewhere: list[str], repeats: int) -> None:
    script = folder / "player_page.py"
    script.write_text(PLAYER_PAGE)
    # The page lies elsewhere; the components are found beside the project's own ringside.py.
    os.environ["PYTHONPATH"] = str(ROOT)
    with StreamlitServer(script, folder / "player.log") as server:
        for name, (run, speed) in RUNS.items():
            page, _ = open_cold(browser, f"{server.url}/?run={run}", ".rp[data-ready=true]", elsewhere)
            wait_until_settled(page)
            page.wait_for_timeout(1500)
            bare, played, gaps = [], [], []
            for _ in range(repeats):
                bare.append(page.evaluate(BARE, SECONDS * 1000)[0])
                rate, gap = page.evaluate(PLAY, [speed, SECONDS * 1000])
                played.append(rate)
                gaps.append(gap)
            figures.add(f"bare loop of two traces beside {name}", median(bare), "steps/s")
            figures.add(f"player, {name}", median(played), "painted steps/s")
            figures.add(f"time per painted step, {name}", 1000 / median(played), "ms", bar=1000 / 45)
            figures.add(f"bare loop over player, {name}", median(bare) / median(played), bar=1 / 0.9)
            figures.add(f"longest gap, {name}", median(gaps), "ms", bar=100)
            page.context.close()


def measure_ready(browser: Browser, folder: Path, figures: Figures, elsewhere: list[str], repeats: int) -> None:
    script = folder / "chart_page.py"
    script.write_text(CHART_PAGE)
    seconds: dict[str, list[float]] = {"chart": [], "lab": []}
    with (
        StreamlitServer(script, folder / "chart.log") as chart,
        StreamlitServer(ROOT / "app.py", folder / "app.log") as app,
    ):
        for turn in range(repeats + 1):
            for name, url, ready in (
                ("chart", chart.url, ".js-plotly-plot .main-svg"),
                ("lab", app.url, ".rp[data-ready=true]"),
            ):
                page, took = open_cold(browser, url, ready, elsewhere)
                page.context.close()
                if turn:  # the first visit of a server imports what the later ones use
                    seconds[name].append(took)
    lab, bare = median(seconds["lab"]), median(seconds["chart"])
    figures.add("a page with one Plotly chart, cold", bare, "s")
    figures.add("the Lab, cold", lab, "s")
    figures.add("the Lab over the page with one chart", lab / bare, bar=1.5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="how often every side is measured")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    arguments = parser.parse_args()
    figures = Figures()
    run = named_run(RUNS["20,000 decisions"][0])
    assert run.snapshots is not None  # made where the run is made, not where it is packed
    started = time.process_time()
    size = len(pack(run, LIGHT))
    figures.add("packing 20,000 decisions", time.process_time() - started, "s of processor time", bar=2)
    figures.add("stage data of 20,000 decisions on the wire", size, "bytes", bar=600_000)
    elsewhere: list[str] = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        executable = find_chromium(playwright)
        if executable is None:
            raise SystemExit("no Chromium found; name it with RINGSIDE_CHROMIUM")
        browser = playwright.chromium.launch(executable_path=executable, headless=True, args=list(CHROMIUM_FLAGS))
        measure_play(browser, Path(folder), figures, elsewhere, arguments.repeats)
        measure_ready(browser, Path(folder), figures, elsewhere, arguments.repeats)
        browser.close()
    figures.add("requests to other machines", len(elsewhere), bar=0)
    return figures.finish("benchmarks/player.py", write=arguments.write)


if __name__ == "__main__":
    raise SystemExit(main())
