"""Pictures of sweeps: figures over one setting with intervals, a heat map over two, waits traded against each other.

They are drawn from the table of means (:func:`drr.analysis.sweep_frame.intervals_frame`). Every mark carries the number
of its sweep point as ``customdata``, so that a click finds it. Rules are told apart by shape: ``documented`` is a full
line with small full marks, ``carry`` a dashed one with large open marks, so both can be seen where they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from drr.analysis.sweep_figures import ASKED, JAIN, REFUSED, SHARE, TTFT_P95, WAIT_P95, WITHOUT_SERVICE
from drr.analysis.sweep_frame import HALF_WIDTH
from drr.charts.palette import ClassStyle, Theme, class_styles, mix
from drr.charts.workload import shown, small_figure

HEIGHT = 250
WIDE_HEIGHT = 360
_RULES = {"carry": ("6px,4px", "-open", 11), "documented": ("solid", "", 6)}
"""Dash of the line, ending of the mark's symbol and its size by rule, in the order in which they are drawn."""
_CELLS_WITH_TEXT = 14
"""Cells of a heat map carry their figure where there are not more of them side by side."""
_WHOLE_RUN = frozenset({JAIN})


@dataclass(frozen=True, slots=True)
class Quantity:
    """How a figure is shown: its name, the unit it is divided by, and the format of its ticks."""

    title: str
    per: float = 1.0
    ticks: str = ",~g"


QUANTITIES: Mapping[str, Quantity] = {
    SHARE: Quantity("share of the tokens while all wait", 1.0, ".0%"),
    "wait_p50_ms": Quantity("wait, median, seconds", 1000.0),
    WAIT_P95: Quantity("wait, 95 of 100 within, seconds", 1000.0),
    "wait_p99_ms": Quantity("wait, 99 of 100 within, seconds", 1000.0),
    "ttft_p50_ms": Quantity("time to first token, median, seconds", 1000.0),
    TTFT_P95: Quantity("time to first token, 95 of 100 within, seconds", 1000.0),
    "ttft_p99_ms": Quantity("time to first token, 99 of 100 within, seconds", 1000.0),
    WITHOUT_SERVICE: Quantity("longest without service, seconds", 1000.0),
    REFUSED: Quantity("refused requests"),
    JAIN: Quantity("fairness against the ratio (1 is exact)", 1.0, ".2f"),
}
"""Figures that can be drawn, in the order in which they are offered."""


@dataclass(frozen=True, slots=True)
class SettingAxis:
    """The axis of what is varied: its column, its title, whether it is logarithmic, and the value of the policy now."""

    path: str
    title: str
    is_log: bool
    now: float | None


def lines_figure(
    means: pd.DataFrame,
    figure: str,
    axis: SettingAxis,
    *,
    classes: Sequence[str],
    theme: Theme,
    keep: Mapping[str, int] | None = None,
) -> go.Figure:
    """One figure over one setting, a line per class and rule with 95 % intervals; asked shares are dotted."""
    quantity = QUANTITIES[figure]
    looks = class_styles(classes, theme, keep=keep)
    traces: list[dict[str, Any]] = []
    for name in classes[:1] if figure in _WHOLE_RUN else classes:
        rows = means[means["policy_class"] == name]
        look = None if figure in _WHOLE_RUN else looks[name]
        if figure == SHARE:
            traces.append(_asked_line(rows[rows["cursor_rule"] == rows["cursor_rule"].iloc[0]], axis, looks[name]))
        for rule in _RULES:
            of_rule = rows[rows["cursor_rule"] == rule]
            if len(of_rule):
                traces.append(_line(of_rule, figure, axis, name, look, theme, quantity, rule))
    made = small_figure(traces, theme, x_title=axis.title, y_title=quantity.title)
    made.update_layout(
        height=HEIGHT,
        showlegend=len(classes) > 1 and figure not in _WHOLE_RUN,
        margin={"t": 24},
        clickmode="event+select",
        dragmode=False,
    )
    made.update_yaxes(tickformat=quantity.ticks, rangemode="tozero", nticks=6)
    if figure in (SHARE, JAIN):
        made.update_yaxes(range=[0, 1.05], dtick=0.25)
    _setting_axis(made, axis, means[axis.path], theme)
    return made


def _setting_axis(figure: go.Figure, axis: SettingAxis, values: pd.Series[Any], theme: Theme) -> None:
    """Ticks at some of the values, and a mark where the policy is now."""
    there = sorted(set(values))
    # The policy's own value has its tick in any case, and its neighbours make room for it.
    every = max(1, (len(there) + 5) // 6)
    own = there.index(axis.now) if axis.now in there else 0
    some = there[own % every :: every]
    figure.update_xaxes(
        type="log" if axis.is_log else "linear", tickvals=some, ticktext=[_tick(value, axis) for value in some]
    )
    if axis.now is not None:
        figure.add_vline(x=axis.now, line={"color": theme.muted, "width": 1, "dash": "4px,3px"}, layer="below")


def _tick(value: float, axis: SettingAxis) -> str:
    return f"<b>{_number(value)}</b><br>now" if value == axis.now else _number(value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def _asked_line(rows: pd.DataFrame, axis: SettingAxis, look: ClassStyle) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": rows[axis.path].tolist(),
        "y": _column(rows, ASKED),
        "line": {"color": look.colour, "width": 1.5, "dash": "2px,3px"},
        "hovertemplate": "asked: %{y:.1%}<extra></extra>",
        "showlegend": False,
    }


def _line(
    rows: pd.DataFrame,
    figure: str,
    axis: SettingAxis,
    name: str,
    look: ClassStyle | None,
    theme: Theme,
    quantity: Quantity,
    rule: str,
) -> dict[str, Any]:
    dash, ending, size = _RULES[rule]
    colour, symbol = (theme.ink, "circle") if look is None else (look.colour, look.symbol)
    who = "" if look is None else f"{shown(name)}, "
    shape = "%{y:.1%}" if quantity.ticks.endswith("%") else "%{y:,.4~g}"
    half = _column(rows, figure + HALF_WIDTH, quantity.per)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": shown(name),
        "legendgroup": name,
        "showlegend": rule == "documented",
        "x": rows[axis.path].tolist(),
        "y": _column(rows, figure, quantity.per),
        "customdata": rows["point"].tolist(),
        "error_y": {"type": "data", "array": half, "color": colour, "thickness": 1, "width": 3, "visible": any(half)},
        "line": {"color": colour, "width": 2, "dash": dash},
        "marker": {"color": colour, "symbol": symbol + ending, "size": size},
        "selected": {"marker": {"size": size + 5}},
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "hovertemplate": f"{who}{rule}: {shape} at %{{x:,}}<extra></extra>",
    }


def _column(rows: pd.DataFrame, name: str, per: float = 1.0) -> list[float | None]:
    """A column as numbers in its unit, None where there is none."""
    return [None if pd.isna(value) else float(value) / per for value in rows[name]]


# Two settings


def heat_figure(
    means: pd.DataFrame,
    figure: str,
    axes: tuple[SettingAxis, SettingAxis],
    *,
    policy_class: str,
    cursor_rule: str,
    theme: Theme,
) -> go.Figure:
    """One figure of one class under one rule over two settings; cells are places of equal size."""
    quantity = QUANTITIES[figure]
    rows = means[(means["policy_class"] == policy_class) & (means["cursor_rule"] == cursor_rule)]
    across, up = (sorted(set(rows[axis.path])) for axis in axes)
    cells = [[float("nan")] * len(across) for _ in up]
    texts = [[""] * len(across) for _ in up]
    marks: list[tuple[int, int, int, str]] = []
    values = _column(rows, figure, quantity.per)
    for x, y, point, value in zip(rows[axes[0].path], rows[axes[1].path], rows["point"], values, strict=True):
        column, row = across.index(x), up.index(y)
        cells[row][column] = float("nan") if value is None else value
        said = "none" if value is None else f"{value:.1%}" if quantity.ticks.endswith("%") else f"{value:,.4g}"
        texts[row][column] = f"<b>{said}</b>" if (x, y) == (axes[0].now, axes[1].now) else said
        marks.append((column, row, int(point), f"{_number(x)} and {_number(y)}: {said}"))
    with_text = len(across) <= _CELLS_WITH_TEXT
    traces = [_cells(cells, texts, quantity, theme, with_text=with_text), _cell_marks(marks)]
    made = small_figure(traces, theme, x_title=axes[0].title, y_title=axes[1].title)
    plain = {"bgcolor": theme.ground, "bordercolor": theme.muted, "font": {"color": theme.ink}}
    made.update_layout(height=WIDE_HEIGHT, showlegend=False, hoverlabel=plain)
    made.update_layout(clickmode="event+select", dragmode=False)
    made.update_xaxes(tickvals=list(range(len(across))), ticktext=[_tick(value, axes[0]) for value in across])
    labels = [_tick(value, axes[1]).replace("<br>", " ") for value in up]
    made.update_yaxes(tickvals=list(range(len(up))), ticktext=labels, showgrid=False)
    if axes[0].now in across and axes[1].now in up:
        x, y = across.index(axes[0].now), up.index(axes[1].now)
        made.add_shape(
            type="rect", x0=x - 0.48, x1=x + 0.48, y0=y - 0.48, y1=y + 0.48, line={"color": theme.ink, "width": 2}
        )
    return made


def _cells(
    cells: list[list[float]], texts: list[list[str]], quantity: Quantity, theme: Theme, *, with_text: bool
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": cells,
        "colorscale": [[0, mix(theme.ground, theme.ink, 0.06)], [1, theme.colour(0)]],
        "xgap": 2,
        "ygap": 2,
        "hoverinfo": "skip",
        "text": texts,
        "texttemplate": "%{text}" if with_text else "",
        "textfont": {"size": 11},
        "colorbar": {"thickness": 10, "tickformat": quantity.ticks, "outlinewidth": 0, "tickfont": {"size": 11}},
    }


def _cell_marks(marks: Sequence[tuple[int, int, int, str]]) -> dict[str, Any]:
    """Cells of a heat map cannot be clicked, so a mark that nobody sees lies on every one."""
    unseen = {"marker": {"opacity": 0}}
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [column for column, _, _, _ in marks],
        "y": [row for _, row, _, _ in marks],
        "customdata": [point for _, _, point, _ in marks],
        "hovertext": [text for _, _, _, text in marks],
        "hoverinfo": "text",
        "marker": {"size": 22, "symbol": "square", "opacity": 0},
        "selected": unseen,
        "unselected": unseen,
    }


# Waits against each other


@dataclass(frozen=True, slots=True)
class Goalposts:
    """The longest 95 % waits that two classes may have, ms; None promises nothing."""

    across_ms: float | None
    up_ms: float | None


def trade_figure(
    means: pd.DataFrame,
    classes: tuple[str, str],
    *,
    goals: Goalposts,
    now: int | None,
    theme: Theme,
    label: Mapping[int, str],
) -> go.Figure:
    """The 95 % wait of one class against that of another, a mark per point and rule, the best of them joined.

    ``now`` is the point of the policy as it is; ``label`` says what a point is.
    """
    traces: list[dict[str, Any]] = []
    for rule in _RULES:
        found = trade_points(means, classes, rule)
        if not found:
            continue
        best = sorted(front(found))
        traces.append(_front_line(best, rule, theme))
        _, ending, size = _RULES[rule]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": rule,
                "x": [x for x, _, _ in found],
                "y": [y for _, y, _ in found],
                "customdata": [point for _, _, point in found],
                "text": [shown(label[point]) for _, _, point in found],
                "marker": {"color": theme.ink, "symbol": "circle" + ending, "size": size + 1},
                "selected": {"marker": {"size": size + 6}},
                "unselected": {"marker": {"opacity": 1}},
                "hovertemplate": f"%{{text}}, {rule}: %{{x:,.3~g}} s and %{{y:,.3~g}} s<extra></extra>",
            }
        )
        traces += _now_mark(found, now, theme, is_named=rule == "documented")
    x, y = (f"{shown(name)}: wait, 95 of 100 within, seconds" for name in classes)
    made = small_figure(traces, theme, x_title=x, y_title=y)
    made.update_layout(height=WIDE_HEIGHT, clickmode="event+select", dragmode=False, margin={"t": 24})
    made.update_xaxes(showgrid=True, nticks=8)
    made.update_yaxes(nticks=6)
    for limit_ms, add, side in ((goals.across_ms, made.add_vline, "x"), (goals.up_ms, made.add_hline, "y")):
        if limit_ms is not None:
            add(**{side: limit_ms / 1000}, line={"color": theme.warn, "width": 1.5, "dash": "4px,3px"})
    return made


def trade_points(means: pd.DataFrame, classes: tuple[str, str], rule: str) -> list[tuple[float, float, int]]:
    """Wait of the first class and of the second, seconds, and the point; points where one is missing are left out."""
    rows = means[means["cursor_rule"] == rule]
    waits = [rows[rows["policy_class"] == name].set_index("point")[WAIT_P95] for name in classes]
    both = waits[0].index.intersection(waits[1].index)
    found = [(waits[0][point], waits[1][point], int(point)) for point in both]
    return [(float(x) / 1000, float(y) / 1000, point) for x, y, point in found if not (pd.isna(x) or pd.isna(y))]


def front(points: Sequence[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    """The points that none of the others beats in both waits (the Pareto front)."""
    best: list[tuple[float, float, int]] = []
    for point in sorted(points):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return best


def _front_line(best: Sequence[tuple[float, float, int]], rule: str, theme: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [x for x, _, _ in best],
        "y": [y for _, y, _ in best],
        "line": {"color": theme.muted, "width": 1.5, "dash": _RULES[rule][0]},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _now_mark(
    found: Sequence[tuple[float, float, int]], now: int | None, theme: Theme, *, is_named: bool
) -> list[dict[str, Any]]:
    here = [(x, y) for x, y, point in found if point == now]
    if not here:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [here[0][0]],
            "y": [here[0][1]],
            "text": ["now" if is_named else ""],
            "textposition": "top center",
            "textfont": {"color": theme.ink},
            "marker": {"symbol": "circle-open", "size": 18, "color": theme.ink, "line": {"width": 2}},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]
