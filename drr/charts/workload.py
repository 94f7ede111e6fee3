"""Small pictures of a workload before it runs: when requests come, and how long their prompts are."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from drr.charts.palette import ClassStyle, Theme, class_styles

HEIGHT = 150
_LEGEND_AT_MOST = 8
_LENGTH_BINS = 32
_LOG_ABOVE = 40
"""Where the longest prompt is so many times the shortest one, the axis of lengths is logarithmic."""

Samples = Mapping[str, tuple[Sequence[int], Sequence[float]]]
"""Per family prompt lengths (tokens), and how much each of them counts."""


def arrivals_figure(
    rates: Mapping[str, Sequence[float]],
    *,
    bin_ms: float,
    theme: Theme,
    bursts: Mapping[str, Sequence[tuple[float, int]]] | None = None,
) -> go.Figure:
    """Requests per second over time, one line per family; bursts (ms, requests) are marks at the top.

    ``rates`` are one number per bin of ``bin_ms``.
    """
    looks = class_styles([*rates, *(bursts or {})], theme)
    bins = max((len(values) for values in rates.values()), default=0)
    unit_ms, unit = time_unit(bins * bin_ms)
    edges = [number * bin_ms / unit_ms for number in range(bins + 1)]
    high = max((max(values, default=0.0) for values in rates.values()), default=0.0) or 1.0
    traces: list[dict[str, Any]] = []
    for name, values in rates.items():
        if any(values):
            hover = f"{shown(name)}: %{{y:,.3~g}} requests/s<extra></extra>"
            traces.append(line(name, edges, [*values, values[-1]], looks[name], "hv") | {"hovertemplate": hover})
    for name, found in (bursts or {}).items():
        if found:
            traces.append(_burst_marks(name, found, looks[name], unit_ms, high))
    figure = small_figure(traces, theme, x_title=unit, y_title="requests/s")
    figure.update_xaxes(range=[0, edges[-1] or 1])
    figure.update_yaxes(range=[0, high * (1.25 if bursts else 1.1)])
    return figure


def _burst_marks(
    name: str, found: Sequence[tuple[float, int]], look: ClassStyle, unit_ms: float, high: float
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": f"{shown(name)}, at once",
        "mode": "markers",
        "x": [at / unit_ms for at, _ in found],
        "y": [high * 1.12] * len(found),
        "customdata": [count for _, count in found],
        "marker": {"symbol": look.symbol, "size": 10, "color": look.colour},
        "hovertemplate": f"{shown(name)}: %{{customdata:,}} requests at once<extra></extra>",
        "cliponaxis": False,
    }


def lengths_figure(samples: Samples, *, theme: Theme, what: str = "prompt") -> go.Figure:
    """How the lengths of every family's prompts (or of ``what``) are spread: its share of requests per range."""
    looks = class_styles(samples, theme)
    known = [tokens for lengths, _ in samples.values() for tokens in lengths]
    low, high = max(1, min(known, default=1)), max(2, max(known, default=2))
    is_log = high / low > _LOG_ABOVE
    if is_log:
        edges = np.geomspace(low, high * 1.0001, _LENGTH_BINS + 1)
    else:
        room = max(0.02 * (high - low), 0.5)
        edges = np.linspace(low - room, high + room, _LENGTH_BINS + 1)
    traces = []
    for name, (lengths, shares) in samples.items():
        counts, _ = np.histogram(lengths, bins=edges, weights=shares)
        total = counts.sum() or 1.0
        heights = [0.0, *(counts / total).tolist(), 0.0]
        made = line(name, [edges[0], *edges.tolist()], heights, looks[name], "hv")
        hover = f"{shown(name)}: %{{y:.1%}} from %{{x:,.0f}} tokens<extra></extra>"
        traces.append(made | {"hovertemplate": hover})
    figure = small_figure(traces, theme, x_title=f"{what}, tokens", y_title="share")
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    if is_log:
        ends = [math.log10(low) - 0.02, math.log10(high) + 0.02]
        figure.update_xaxes(type="log", range=ends, **_log_ticks(low, high))
    return figure


def _log_ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks at whole powers, or at 1, 2 and 5 times them where there are few."""
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    few = len([p for p in powers if low <= p <= high]) < 3
    ticks = [p * m for p in powers for m in ((1, 2, 5) if few else (1,)) if low <= p * m <= high]
    return {"tickvals": ticks, "ticktext": [f"{tick:,.0f}" for tick in ticks]}


def time_unit(span_ms: float) -> tuple[float, str]:
    """Milliseconds per unit of the time axis, and its title."""
    for limit_ms, unit_ms, unit in ((300_000, 1000.0, "seconds"), (7_200_000, 60_000.0, "minutes")):
        if span_ms <= limit_ms:
            return unit_ms, unit
    return 3_600_000.0, "hours"


def line(name: str, x: Sequence[float], y: Sequence[float | None], look: ClassStyle, shape: str) -> dict[str, Any]:
    """A line of a class over ``x``; ``shape`` is Plotly's."""
    return {
        "type": "scatter",
        "name": shown(name),
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "line": {"color": look.colour, "width": 2, "dash": look.dash, "shape": shape},
    }


def shown(name: str) -> str:
    """A name from outside, so that Plotly shows it as it is written."""
    return html.escape(name, quote=False).replace("%", "&#37;")


def small_figure(traces: list[dict[str, Any]], theme: Theme, *, x_title: str, y_title: str) -> go.Figure:
    """A small picture with titles on both axes, and a legend where there are several lines but not too many."""
    axis = {
        "gridcolor": theme.grid,
        "zerolinecolor": theme.grid,
        "tickfont": {"size": 11, "color": theme.muted},
        "tickformat": ",",
        "nticks": 5,
        "fixedrange": True,
        "automargin": True,
    }

    def title(text: str) -> dict[str, Any]:
        return {"text": text, "font": {"size": 11, "color": theme.muted}, "standoff": 4}

    layout = {
        "height": HEIGHT,
        "margin": {"l": 8, "r": 8, "t": 22 if len(traces) > 1 else 6, "b": 8},
        "paper_bgcolor": theme.ground,
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": theme.font, "color": theme.ink, "size": 11},
        "showlegend": 1 < len(traces) <= _LEGEND_AT_MOST,
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "font": {"size": 11}, "itemclick": False},
        "hovermode": "closest",
        "xaxis": axis | {"title": title(x_title), "showgrid": False},
        "yaxis": axis | {"title": title(y_title), "nticks": 4},
        "template": "none",
    }
    return go.Figure({"data": traces, "layout": layout})
