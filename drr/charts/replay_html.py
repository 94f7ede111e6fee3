"""A self-contained replay of a run: one HTML file that opens from disk and asks no other machine for anything.

The file carries plotly.js, the stage at the first step, what differs at every later one, and the sentences, all
deflated; a small script of ours (``replay.js``) puts them together. Nothing of the data is ever read as HTML.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from drr.analysis.explain import explain
from drr.charts.export import ExportError, Progress, check_step, nothing
from drr.charts.handout import facts
from drr.charts.palette import LIGHT, Theme
from drr.charts.stage import plotly_values, stage_json
from drr.charts.stage_layout import stage_layout
from drr.charts.stage_values import stage_values
from drr.charts.survey import survey
from drr.charts.timelines import PanelName, playhead_x, timeline_figure
from drr.simulation.recording import Run

MOST_FRAMES = 640
WIDTH = 1000
_PANELS: tuple[PanelName, ...] = ("share", "waiting")
_SCRIPT = Path(__file__).with_name("replay.js")
# No source but the file itself: whatever is in it, the browser asks nobody.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ margin: 0 auto; padding: 16px; width: {width}px; background: {ground}; color: {ink}; font: 15px/1.45 {font}; }}
h1 {{ font-size: 22px; margin: 0; }}
#facts, #when {{ color: {muted}; }}
#bar {{ display: flex; gap: 8px; align-items: center; margin: 12px 0 6px; }}
#bar input {{ flex: 1; }}
button, select {{ font: inherit; color: inherit; background: {ground}; border: 1px solid {muted}; border-radius: 6px;
  padding: 4px 12px; cursor: pointer; }}
#said {{ min-height: 4.4em; overflow-wrap: anywhere; }}
#below {{ position: relative; }}
#playhead {{ position: absolute; top: 34px; bottom: 34px; width: 2px; background: {ink}; }}
</style>
</head>
<body>
<h1>{title}</h1>
<div id="facts">{facts}</div>
<div id="bar"><button id="play">Play</button>
<button id="back" aria-label="one step back">&#8249;</button>
<button id="on" aria-label="one step on">&#8250;</button>
<input id="scrub" type="range" min="0" value="0" aria-label="Step">
<select id="speed" aria-label="Steps per second"><option>1</option><option>2</option><option selected>5</option>
<option>10</option><option>30</option><option>60</option></select><span>steps/s</span></div>
<div id="when"></div>
<div id="said" aria-live="polite">Unpacking …</div>
<div id="stage"></div>
<div id="below"><div id="timelines"></div><div id="playhead"></div></div>
<script type="text/plain" id="plotly">{plotly}</script>
<script type="text/plain" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def replay_html(
    run: Run, steps: Sequence[int], *, title: str, theme: Theme = LIGHT, progress: Progress = nothing
) -> str:
    """The replay of these steps, at most :data:`MOST_FRAMES`; raises :class:`ExportError` for more or none."""
    if not 1 <= len(steps) <= MOST_FRAMES:
        raise ExportError(f"a replay of {len(steps):,} steps: between 1 and {MOST_FRAMES} are allowed, choose a range")
    for step in steps:
        check_step(run, step)
    data = json.dumps(_contents(run, steps, theme, progress), separators=(",", ":"), ensure_ascii=False)
    return _PAGE.format(
        policy=_POLICY,
        title=escape(title),
        facts=escape(facts(run)),
        width=WIDTH,
        ground=theme.ground,
        ink=theme.ink,
        muted=theme.muted,
        font=theme.font,
        plotly=_plotly(),
        data=_packed(data.encode()),
        script=_SCRIPT.read_text(encoding="utf-8"),
    )


def _contents(run: Run, steps: Sequence[int], theme: Theme, progress: Progress) -> dict[str, Any]:
    layout = stage_layout(survey(run), width=WIDTH)
    frames: list[dict[str, Any]] = []
    shown: dict[str, Any] = {}
    figure: dict[str, Any] = {}
    said = []
    for over, step in enumerate(steps):
        progress(over, len(steps))
        values = stage_values(layout, run.state_at(step), run.cost_tokens)
        if not frames:
            figure = stage_json(layout, values, theme=theme)
        ready = dict(plotly_values(values, theme))
        frames.append({uid: value for uid, value in ready.items() if shown.get(uid) != value})
        shown = ready
        told = explain(run, step)
        time = f", {run.times_ms[step]:,.3f} ms" if step >= 0 else ""
        said.append([f"Step {step + 1:,} of {run.n_steps:,}{time}", told.headline, told.text])
    lines = timeline_figure(run, theme=theme, width=WIDTH, panels=_PANELS).to_plotly_json()
    axis = lines["layout"]["xaxis"] if "xaxis" in lines["layout"] else lines["layout"]["xaxis1"]
    start, end = axis["range"]
    left, right = axis["domain"]
    scale = WIDTH * (right - left) / ((end - start) or 1)
    return {
        "figure": figure,
        "timelines": {
            "data": [trace for trace in lines["data"] if not str(trace.get("uid", "")).startswith("playhead")],
            "layout": lines["layout"],
        },
        "frames": frames,
        "said": said,
        "playhead": [round(WIDTH * left + (playhead_x(run, step) - start) * scale, 1) for step in steps],
    }


@cache
def _plotly() -> str:
    import plotly

    return _packed((Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_bytes())


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode()
