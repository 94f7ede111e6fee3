"""Pictures of a trace: when requests come and which window is cut out, tokens per class over time, cache reuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from drr.charts.palette import Theme, class_styles, mix
from drr.charts.workload import arrivals_figure, line, shown, small_figure, time_unit
from drr.workload.trace_stats import TimeSeries

UPPER_BOUND = "upper bound"
BOUNDED = "bounded, per worker"


def whole_figure(series: TimeSeries, *, window_ms: tuple[float, float] | None, theme: Theme) -> tuple[go.Figure, float]:
    """Arrivals per second over a whole trace, a cut window marked; dragging over it selects along the time axis.

    Returns the figure and the milliseconds per unit of its time axis.
    """
    per_second = 1000.0 / series.bin_ms
    rates = {
        name: [count * per_second for count in counts]
        for name, counts in zip(series.groups, series.requests, strict=True)
    }
    figure = arrivals_figure(rates, bin_ms=series.bin_ms, theme=theme)
    unit_ms, _ = time_unit(series.bin_ms * len(series.requests[0]))
    if window_ms is not None:
        first, last = (edge / unit_ms for edge in window_ms)
        colour = mix(theme.ink, theme.ground, 0.2)
        figure.add_vrect(x0=first, x1=last, fillcolor=colour, opacity=0.12, line={"color": colour, "width": 1})
    if len(rates) == 1:  # nobody's colour: these are no class
        figure.update_traces(line={"color": theme.worker, "dash": "solid"})
    # Only markers can be selected, so every point has one that nobody sees.
    figure.update_traces(mode="lines+markers", marker={"opacity": 0, "size": 6})
    figure.update_layout(dragmode="select", selectdirection="h")
    return figure, unit_ms


def tokens_figure(series: TimeSeries, *, theme: Theme) -> go.Figure:
    """Prompt tokens per second over time, one line per class."""
    looks = class_styles(series.groups, theme)
    unit_ms, unit = time_unit(series.bin_ms * _bins(series.input_tokens))
    per_second = 1000.0 / series.bin_ms
    lines = []
    for name, tokens in zip(series.groups, series.input_tokens, strict=True):
        values = [count * per_second for count in tokens]
        made = line(name, _edges(len(values), series.bin_ms / unit_ms), [*values, values[-1]], looks[name], "hv")
        lines.append(made | {"hovertemplate": f"{shown(name)}: %{{y:,.0f}} tokens/s<extra></extra>"})
    figure = small_figure(lines, theme, x_title=unit, y_title="prompt tokens/s")
    figure.update_yaxes(rangemode="tozero", tickformat="~s")
    return figure


def reuse_figure(shares: Mapping[str, Sequence[float | None]], *, bin_ms: float, theme: Theme) -> go.Figure:
    """Cached share of the prompt tokens over time, by cache model; None where no prompt arrives."""
    styles: dict[str, dict[str, Any]] = {
        UPPER_BOUND: {"color": theme.muted, "width": 2, "dash": "6px,4px", "shape": "hvh"},
        BOUNDED: {"color": theme.colour(0), "width": 2, "shape": "hvh"},
    }
    unit_ms, unit = time_unit(bin_ms * _bins(list(shares.values())))
    lines = []
    for name, values in shares.items():
        middles = [(place + 0.5) * bin_ms / unit_ms for place in range(len(values))]
        known = [(at, share) for at, share in zip(middles, values, strict=True) if share is not None]
        lines.append(
            {
                "type": "scatter",
                "name": name,
                "mode": "lines",
                "x": [at for at, _ in known],
                "y": [share for _, share in known],
                "line": styles[name],
                "hovertemplate": f"{name}: %{{y:.1%}}<extra></extra>",
            }
        )
    figure = small_figure(lines, theme, x_title=unit, y_title="cached share")
    figure.update_yaxes(tickformat=".0%", range=[0, 1])
    return figure


def _bins(columns: Sequence[Sequence[object]]) -> int:
    return max((len(column) for column in columns), default=0)


def _edges(bins: int, width: float) -> list[float]:
    return [place * width for place in range(bins + 1)]
