"""The stage as plotly.js draws it: what a player does to the figure must give the figure of the step, both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly
import pytest
from playwright.sync_api import Browser, Page

from drr.charts.palette import LIGHT
from drr.charts.stage import plotly_values, stage_json
from drr.charts.stage_values import stage_values
from tests.charts.made_up import MadeUpRun, made_up_run

pytestmark = pytest.mark.browser

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
WIDTH = 900

# Every shape and word as it stands on the page; ids of clips and patterns differ from plot to plot.
PICTURE = """
() => {
  const graph = document.getElementById("graph");
  const marks = [...graph.querySelectorAll(".points path, .js-line, .js-fill, .fills path")].map((e) => [
    e.getAttribute("d"), e.getAttribute("transform"), e.style.fill.startsWith("url") ? "pattern" : e.style.fill,
  ]);
  const words = [...graph.querySelectorAll(".textpoint text, .textpoint text tspan")].map((e) => [
    e.textContent, e.getAttribute("x"), e.getAttribute("y"), e.style.fill, e.style.fontWeight,
  ]);
  return JSON.stringify([marks, words]);
}
"""
ANIMATE = """
async (frames) => {
  const graph = document.getElementById("graph");
  for (const values of frames) {
    const uids = Object.keys(values);
    const traces = uids.map((uid) => graph.data.findIndex((trace) => trace.uid === uid));
    await Plotly.animate(graph, {data: uids.map((uid) => values[uid]), traces}, {
      mode: "immediate", frame: {redraw: false, duration: 0}, transition: {duration: 0},
    });
  }
}
"""
TEXTS = """
() => [...document.querySelectorAll("#graph .textpoint text, #graph .xtick text, #graph .ytick text")]
  .filter((e) => e.textContent.trim().replaceAll("\\u00a0", ""))
  .map((e) => { const r = e.getBoundingClientRect(); return [e.textContent, r.left, r.top, r.right, r.bottom]; })
"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1000, "height": 1600})
    page.set_content("<body style='margin:0'><div id='graph'></div></body>")
    page.add_script_tag(path=PLOTLY)
    yield page
    page.close()


def draw(page: Page, run: MadeUpRun, step: int, width: int = WIDTH) -> None:
    layout = run.layout(width)
    figure = stage_json(layout, stage_values(layout, run.state_at(step), run.cost_tokens), theme=LIGHT)
    page.evaluate("(f) => Plotly.newPlot('graph', f.data, f.layout, {staticPlot: true})", figure)


def values(run: MadeUpRun, step: int) -> dict[str, Any]:
    return plotly_values(stage_values(run.layout(WIDTH), run.state_at(step), run.cost_tokens), LIGHT)


@pytest.mark.parametrize("size", [(1, 1, 1), (4, 7, 3), (14, 64, 32)], ids=str)
def test_playing_to_a_step_gives_the_picture_of_that_step_forwards_and_backwards(
    page: Page, size: tuple[int, int, int]
):
    run = made_up_run(*size, costs="wide", limits="two", seed=3)
    pictures = []
    for step in (-1, 0, 3):
        draw(page, run, step)
        pictures.append(json.loads(page.evaluate(PICTURE)))
    draw(page, run, -1)
    page.evaluate(ANIMATE, [values(run, step) for step in (0, 1, 2, 3)])
    assert json.loads(page.evaluate(PICTURE)) == pictures[2]
    page.evaluate(ANIMATE, [values(run, step) for step in (2, 1, 0)])
    assert json.loads(page.evaluate(PICTURE)) == pictures[1]
    page.evaluate(ANIMATE, [values(run, -1)])
    assert json.loads(page.evaluate(PICTURE)) == pictures[0]


@pytest.mark.parametrize("width", [900, 740])
@pytest.mark.parametrize("size", [(1, 1, 1), (2, 3, 1), (4, 7, 3), (4, 30, 12), (6, 10, 6), (14, 64, 32)], ids=str)
def test_no_drawn_words_overlap_or_leave_the_figure(page: Page, size: tuple[int, int, int], width: int):
    run = made_up_run(*size, costs="wide", limits="many")
    draw(page, run, 1, width)
    texts = page.evaluate(TEXTS)
    height = run.layout(width).height
    for text, left, top, right, bottom in texts:
        assert left >= -1, text
        assert right <= width + 1, text
        assert top >= -1, text
        assert bottom <= height + 1, text
    for i, (a, *one) in enumerate(texts):
        for b, *other in texts[:i]:
            across = min(one[2], other[2]) - max(one[0], other[0])
            down = min(one[3], other[3]) - max(one[1], other[1])
            assert across <= 1 or down <= 3, (a, b)
