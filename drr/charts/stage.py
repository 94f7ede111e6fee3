"""The stage: ring, deficits, lanes and workers of one run at one step, as a Plotly figure.

The figure has one array trace per panel and layer, the same traces at every step. What changes comes from
:func:`drr.charts.stage_values.stage_values` alone; layout, axis ranges, colours and marks never change. So a player can
animate it with ``Plotly.animate(figure, {data, traces}, options)`` and ``frame: {redraw: false, duration: 0}``. Every
call has to name all traces that have values: plotly.js wipes the others of a panel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from drr.charts.palette import Theme, class_styles
from drr.charts.stage_keys import Sheet, draw_headers
from drr.charts.stage_layout import stage_layout
from drr.charts.stage_plan import Panel, StageLayout
from drr.charts.stage_scales import draw_ring, draw_scales
from drr.charts.stage_traces import (
    deficit_traces,
    lane_traces,
    name_points,
    ring_traces,
    still_traces,
    text_trace,
    word_points,
    worker_traces,
)
from drr.charts.stage_values import Values, guess_state, stage_values
from drr.charts.survey import survey
from drr.simulation.recording import Run


def stage_figure(
    run: Run,
    step: int,
    *,
    theme: Theme,
    width: int = 900,
    guess: bool = False,
    keep: Mapping[str, int] | None = None,
    layout: StageLayout | None = None,
) -> go.Figure:
    """The stage of ``run`` right after record ``step`` (-1: before the first).

    ``width`` is in pixels, the height follows from the run. ``guess`` shows the state before the record and asks who is
    next. ``keep`` are class slots to hold on to (:func:`drr.charts.palette.class_slots`); ``layout`` saves surveying
    the run again. Raises IndexError for a step the run does not have.
    """
    plan = layout or stage_layout(survey(run), width=width)
    state = guess_state(run, step) if guess and step >= 0 else run.state_at(step)
    values = stage_values(plan, state, run.cost_tokens, guess=guess)
    # Without a template: Plotly would look it up again for every trace in every frame.
    figure = go.Figure(stage_json(plan, values, theme=theme, keep=keep))
    figure.update_layout(template="none")
    return figure


def stage_json(
    plan: StageLayout, values: Values, *, theme: Theme, keep: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The figure as plain data (``data`` and ``layout``), without Plotly's own checks."""
    styles = class_styles(plan.survey.class_names, theme, keep=keep)
    looks = [styles[name] for name in plan.survey.class_names]
    sheet = Sheet(plan, theme)
    draw_headers(sheet)
    draw_scales(sheet)
    draw_ring(sheet)
    traces = [
        *ring_traces(plan, looks, theme),
        *deficit_traces(looks, theme),
        *lane_traces(plan, looks, theme),
        *worker_traces(plan, theme),
        text_trace("words", word_points(plan)),
        *still_traces(plan, looks, theme, [*sheet.words, *name_points(plan, theme)]),
    ]
    ready = plotly_values(values, theme)
    for trace in traces:
        for key, value in ready.get(trace["uid"], {}).items():
            trace[key] = {**trace.get(key, {}), **value} if isinstance(value, dict) else value
    return {"data": traces, "layout": _layout(plan, theme, sheet)}


def plotly_values(values: Values, theme: Theme) -> Values:
    """``values`` as ``Plotly.animate`` takes them: the tones of the words become colours and strengths."""
    words = values["words"]
    looks = [tone_look(theme, tone) for tone in words["tone"]]
    font = {"color": [colour for colour, _ in looks], "weight": [strength for _, strength in looks]}
    return {**values, "words": {"text": words["text"], "textfont": font}}


def tone_look(theme: Theme, tone: int) -> tuple[str, str]:
    """Colour and font strength of a tone (quiet, warn, strong)."""
    return ((theme.muted, "normal"), (theme.warn, "normal"), (theme.ink, "bold"))[tone]


def _layout(plan: StageLayout, theme: Theme, sheet: Sheet) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "width": plan.width,
        "height": plan.height,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0, "pad": 0},
        "paper_bgcolor": theme.ground,
        # The page axis lies over all panels.
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": theme.font, "color": theme.ink, "size": 12},
        "barmode": "overlay",
        "showlegend": False,
        "hovermode": False,
        "dragmode": False,
        "shapes": sheet.shapes(),
        "xaxis5": {"domain": [0, 1], "range": [0, plan.width], "anchor": "y5", "visible": False, "fixedrange": True},
        "yaxis5": {"domain": [0, 1], "range": [plan.height, 0], "anchor": "x5", "visible": False, "fixedrange": True},
    }
    pixels = (("", plan.ring.panel), ("2", plan.lanes.panel))
    for name, panel in pixels:
        layout["xaxis" + name] = {**_axis(plan, panel, "x", name), "range": [0, panel.width], "visible": False}
        layout["yaxis" + name] = {**_axis(plan, panel, "y", name), "range": [panel.height, 0], "visible": False}
    for name, bars in (("3", plan.deficits), ("4", plan.workers)):
        tokens, rows = ("y", "x") if bars.is_strip else ("x", "y")
        count = max(1, len(bars.names))
        layout[f"{tokens}axis{name}"] = {
            **_axis(plan, bars.panel, tokens, name),
            "range": [0, bars.high_tokens],
            "tickformat": "," if bars.high_tokens < 1e7 else ".0e",
            "nticks": max(
                2, int((bars.panel.height if bars.is_strip else bars.panel.width) / (36 if bars.is_strip else 50))
            ),
            "tickangle": 0,
            "tickfont": {"size": 11, "color": theme.muted},
            "gridcolor": theme.grid,
            "zerolinecolor": theme.grid,
            "ticklabelstandoff": 4,
        }
        layout[f"{rows}axis{name}"] = {
            **_axis(plan, bars.panel, rows, name),
            "range": [-0.5, count - 0.5] if bars.is_strip else [count - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
            "showticklabels": False,
        }
        if bars.is_strip:
            every = max(1, -(-count * 15 // int(bars.panel.width)))
            layout[f"{rows}axis{name}"] |= {
                "showticklabels": True,
                "tickvals": list(range(0, count, every)),
                "ticktext": [
                    bars.names[i].removeprefix("worker ").replace(" rank ", ":") for i in range(0, count, every)
                ],
                "tickfont": {"size": 10, "color": theme.muted},
                "tickangle": 0,
            }
    return layout


def _axis(plan: StageLayout, panel: Panel, direction: str, name: str) -> dict[str, Any]:
    if direction == "x":
        domain = [panel.left / plan.width, (panel.left + panel.width) / plan.width]
    else:
        domain = [1 - (panel.top + panel.height) / plan.height, 1 - panel.top / plan.height]
    domain = [min(1.0, max(0.0, edge)) for edge in domain]
    return {"domain": domain, "anchor": ("y" if direction == "x" else "x") + name, "fixedrange": True}
