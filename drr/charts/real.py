"""Ours over the real router: shares over time, and completions of a probe beside the predicted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from drr.charts.palette import ClassStyle, Theme, class_styles
from drr.charts.series import thin
from drr.charts.words import spread
from drr.charts.workload import shown, small_figure, time_unit
from drr.dynamo.case import ObservedRow
from drr.dynamo.side_by_side import SideBySide

Side = Literal["real", "ours", "other"]
SERVICE_HEIGHT = 340
COMPLETION_HEIGHT = 320
_MOST_POINTS = 1_200
_LABEL_PX = 15.0
_LONGEST_NAME = 18
_STROKES: Mapping[Side, dict[str, Any]] = {
    "real": {"width": 7, "dash": "solid"},
    "ours": {"width": 1.8, "dash": "solid"},
    "other": {"width": 1.8, "dash": "4px,4px"},
}
_OPACITY: Mapping[Side, float] = {"real": 0.35, "ours": 1.0, "other": 1.0}


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One line: a class on one side."""

    name: str
    side: Side
    x: np.ndarray
    y: np.ndarray


def shares_over_time(
    rows: Sequence[ObservedRow], class_index: Sequence[int], cost_tokens: Sequence[int], classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """When the ring released requests (ms), and each class's part of the tokens released so far (classes x times).

    One point per moment: what was released together counts together. Requests sent at once are not the ring's choice.
    """
    queued = [row for row, each in enumerate(rows) if each.outcome == "queued" and each.released_at_ms is not None]
    times = np.asarray([rows[row].released_at_ms for row in queued], dtype=float)
    order = np.argsort(times, kind="stable")
    times = times[order]
    taken = np.asarray(queued, dtype=np.int64)[order]
    of_class = np.asarray(class_index, dtype=np.int64)[taken]
    cost = np.asarray(cost_tokens, dtype=float)[taken]
    got = np.stack([np.cumsum(np.where(of_class == index, cost, 0.0)) for index in range(classes)])
    last = np.flatnonzero(np.append(np.diff(times) > 0, True)) if len(times) else np.arange(0)
    total = got.sum(axis=0)
    return times[last], got[:, last] / total[last]


def service_figure(found: SideBySide, *, theme: Theme) -> go.Figure | None:
    """Share of service so far over time, the real router's as a broad line under ours; None where nothing waited."""
    if found.real.observed is None:
        return None
    sides: list[tuple[Side, str, Sequence[ObservedRow]]] = [("real", "real router", found.real.observed)]
    for side, rule in (("ours", "carry"), ("other", "documented")):
        observed = found.answer(rule).own.observed  # type: ignore[arg-type]
        if observed is not None:
            sides.append((side, f"ours, {rule}", observed))  # type: ignore[arg-type]
    curves = []
    for side, _, rows in sides:
        times, shares = shares_over_time(rows, found.class_index, found.cost_tokens, len(found.class_names))
        if not len(times):
            return None
        curves += [Curve(name, side, times, shares[i]) for i, name in enumerate(found.class_names) if shares[i].any()]
    unit_ms, unit = time_unit(max(float(curve.x[-1]) for curve in curves))
    curves = [Curve(c.name, c.side, c.x / unit_ms, c.y) for c in curves]
    figure = _overlay(curves, {side: text for side, text, _ in sides}, theme, height=SERVICE_HEIGHT, is_share=True)
    settled = max(float(np.max(c.y[len(c.y) // 20 :])) for c in curves)
    top = min(1.03, 1.12 * settled)
    figure.update_yaxes(tickformat=".0%", range=[0, top], title_text="share of tokens released", dtick=0.2)
    _name_ends(figure, curves, top, theme)
    figure.update_xaxes(title_text=f"simulated time, {unit}")
    return figure


def completion_figure(
    classes: Sequence[str],
    measured: Sequence[str],
    predicted: Sequence[str] | None,
    *,
    planned: int,
    first: int,
    theme: Theme,
) -> go.Figure:
    """Completions per class over all completions: ``measured`` and ``predicted`` are classes in completion order.

    ``planned`` requests make the axis, so that a live picture does not jump; a line stands at the ``first`` ones.
    """
    curves: list[Curve] = []
    names: dict[Side, str] = {"ours": "measured"}
    orders: list[tuple[Side, Sequence[str]]] = [("ours", measured)]
    if predicted is not None:
        names = {"real": "predicted", **names}
        orders = [("real", predicted), *orders]
    for side, order in orders:
        places = np.arange(len(order) + 1, dtype=float)
        for name in classes:
            counts = np.concatenate(([0.0], np.cumsum([float(each == name) for each in order])))
            curves.append(Curve(name, side, places, counts))
    figure = _overlay(curves, names, theme, height=COMPLETION_HEIGHT, is_share=False, classes=classes)
    highest = 1.06 * max([1.0, *(float(curve.y[-1]) for curve in curves)])
    figure.update_yaxes(title_text="completed, of each class", range=[0, highest])
    figure.update_xaxes(title_text="completed, of all", range=[0, planned])
    figure.update_layout(margin={"r": 24})
    mark = {"color": theme.muted, "width": 1, "dash": "3px,4px"}
    figure.add_shape(type="line", x0=first, x1=first, y0=0, y1=1, yref="paper", line=mark)
    figure.add_annotation(
        x=first, y=1, yref="paper", text=f"first {first:,}", showarrow=False, xanchor="left", yanchor="top", xshift=4,
        font={"size": 11, "color": theme.muted},
    )  # fmt: skip
    _name_counts(figure, classes, orders, first, highest, theme)
    return figure


def _name_counts(
    figure: go.Figure,
    classes: Sequence[str],
    orders: Sequence[tuple[Side, Sequence[str]]],
    first: int,
    highest: float,
    theme: Theme,
) -> None:
    """Name and number of every class at the mark: the measured ones once the measuring has come so far."""
    order = next((order for _, order in reversed(orders) if len(order) >= first), orders[0][1])
    looks = class_styles(classes, theme)
    plot_px = COMPLETION_HEIGHT - 75.0
    head = list(order[:first])
    counts = [head.count(name) for name in classes]
    wanted = [plot_px * (1 - count / highest) for count in counts]
    for name, count, y in zip(classes, counts, spread(wanted, _LABEL_PX, 24.0, plot_px - 4), strict=True):
        figure.add_annotation(
            x=min(first, len(order)),
            y=1 - y / plot_px,
            yref="paper",
            text=f"{shown(shorten_name(name))} {count:,}",
            showarrow=False,
            xanchor="right",
            xshift=-14,
            yshift=14,
            font={"size": 12, "color": looks[name].text_colour},
        )


def _overlay(
    curves: Sequence[Curve],
    sides: Mapping[Side, str],
    theme: Theme,
    *,
    height: int,
    is_share: bool,
    classes: Sequence[str] = (),
) -> go.Figure:
    """Curves in the colour of their class and the stroke of their side, with a legend for the sides."""
    looks = class_styles([*classes, *(curve.name for curve in curves)], theme)
    traces: list[dict[str, Any]] = [_key(side, text, theme) for side, text in sides.items()]
    traces += [_trace(curve, looks[curve.name], sides[curve.side], is_share) for curve in curves]
    figure = small_figure(traces, theme, x_title=" ", y_title=" ")
    figure.update_layout(height=height, showlegend=True, margin={"t": 30})
    return figure


def shorten_name(name: str) -> str:
    """A class name that fits beside a line."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _key(side: Side, text: str, theme: Theme) -> dict[str, Any]:
    """A line that is in the legend alone."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": text,
        "x": [None],
        "y": [None],
        "line": {**_STROKES[side], "color": theme.ink},
        "opacity": _OPACITY[side],
    }


def _trace(curve: Curve, look: ClassStyle, side: str, is_share: bool) -> dict[str, Any]:
    keep = thin(curve.x, curve.y, _MOST_POINTS)
    value = "%{y:.1%}" if is_share else "%{y:,.0f}"
    return {
        "type": "scatter",
        "mode": "lines",
        "name": shown(curve.name),
        "showlegend": False,
        "x": curve.x[keep].tolist(),
        "y": curve.y[keep].tolist(),
        "line": {**_STROKES[curve.side], "color": look.colour, "shape": "linear"},
        "opacity": _OPACITY[curve.side],
        "hovertemplate": f"{shown(curve.name)}, {side}: {value}<extra></extra>",
    }


def _name_ends(figure: go.Figure, curves: Sequence[Curve], top: float, theme: Theme) -> None:
    """The class names right of the plot, where their lines end, spread so that none covers another."""
    looks = class_styles([curve.name for curve in curves], theme)
    # Lines that end at one place are named in the order they came from.
    ends = {curve.name: float(curve.y[-1] + 1e-3 * np.mean(curve.y)) for curve in curves if len(curve.y)}
    names = list(ends)
    plot_px = SERVICE_HEIGHT - 75.0
    widest = max(len(shorten_name(name)) for name in names)
    figure.update_layout(margin={"r": 20 + 7 * widest})
    wanted = [plot_px * (1 - ends[name] / top) for name in names]
    for name, y in zip(names, spread(wanted, _LABEL_PX, 0.0, plot_px), strict=True):
        figure.add_annotation(
            x=1,
            xref="paper",
            y=1 - y / plot_px,
            yref="paper",
            text=shown(shorten_name(name)),
            showarrow=False,
            xanchor="left",
            xshift=8,
            font={"size": 11.5, "color": looks[name].text_colour},
        )
