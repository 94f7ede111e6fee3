"""The traces of the stage as they are before any step is put in: marks, colours, and everything that never moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from drr.charts.palette import ClassStyle, Theme
from drr.charts.stage_plan import LINE_PX, NAME_SIZE, WORD_SIZE, BarPlan, StageLayout
from drr.charts.words import TextPoint, spread
from drr.scheduler.lanes import SHARED

Trace = dict[str, Any]


def _marks(uid: str, axis: str, **rest: Any) -> Trace:
    return {"uid": uid, "type": "scatter", "mode": "markers", "xaxis": f"x{axis}", "yaxis": f"y{axis}", **rest}


def _path(uid: str, axis: str, **rest: Any) -> Trace:
    return _marks(uid, axis, **{"mode": "lines", "hoverinfo": "skip", **rest})


def _bars(uid: str, axis: str, **rest: Any) -> Trace:
    return {"uid": uid, "type": "bar", "orientation": "h", "xaxis": f"x{axis}", "yaxis": f"y{axis}", **rest}


def text_trace(uid: str, points: Sequence[TextPoint]) -> Trace:
    """A trace of text on the page axis."""
    return {
        **_marks(uid, "5"),
        "mode": "text",
        "x": [point.x for point in points],
        "y": [point.y for point in points],
        "text": [point.text for point in points],
        "textposition": [_TEXT_PLACE[point.anchor] for point in points],
        "textfont": {
            "color": [point.colour for point in points],
            "size": [point.size for point in points],
            "weight": ["bold" if point.is_bold else "normal" for point in points],
        },
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def word_points(plan: StageLayout) -> list[TextPoint]:
    """Where the words of :func:`drr.charts.stage_words.stage_words` stand, in their order."""
    ring, lanes, bars, workers = plan.ring, plan.lanes, plan.deficits, plan.workers
    labels = [
        TextPoint(
            ring.panel.left + x, ring.panel.top + y + (0 if ring.lines == 3 else 8), size=WORD_SIZE, anchor=anchor
        )
        for x, y, anchor in zip(ring.label_x, ring.label_y, ring.label_anchor, strict=True)
    ]
    points = [*labels]
    if ring.lines == 3:
        points += [replace(point, y=point.y + 16) for point in labels]
    points.append(TextPoint(ring.panel.left, ring.panel.top - 1 - LINE_PX))
    points += [TextPoint(bars.panel.left + bars.panel.width + 8, row_y(bars, i)) for i in range(len(bars.names))]
    across, down = (0.0, 22.0) if lanes.is_roomy else (lanes.label_px, 0.0)
    rows = [lanes.panel.top + row.y for row in lanes.rows]
    points += [TextPoint(lanes.name_left + across, y + down) for y in rows]
    points += [TextPoint(lanes.panel.left + lanes.words_x, y + down) for y in rows]
    points += [TextPoint(lanes.panel.left + lanes.boxes_px + 4, y) for y in rows]
    if workers.is_strip:
        points += [TextPoint(workers.panel.left, workers.panel.top - up) for up in (29, 12)]
    else:
        end, count = workers.panel.left + workers.panel.width + 8, len(workers.names)
        points += [TextPoint(end, row_y(workers, i + shift)) for shift in (-0.22, 0.22) for i in range(count)]
    return [replace(point, size=WORD_SIZE) for point in points]


# plotly.js names the side of the point on which the text stands.
_TEXT_PLACE = {"left": "middle right", "center": "middle center", "right": "middle left"}


def name_points(plan: StageLayout, theme: Theme) -> list[TextPoint]:
    """All names that never change: classes at the ring, at the deficits and at the lanes, workers."""
    ring, lanes = plan.ring, plan.lanes
    shift = 16 if ring.lines == 3 else 8
    at_ring = [
        TextPoint(ring.panel.left + x, ring.panel.top + y - shift, name, theme.ink, NAME_SIZE, True, anchor)
        for x, y, name, anchor in zip(ring.label_x, ring.label_y, ring.labels, ring.label_anchor, strict=True)
    ]
    size = NAME_SIZE if lanes.is_roomy else NAME_SIZE - 1
    at_lanes = [
        TextPoint(lanes.name_left, lanes.panel.top + row.y, lanes.names[row.class_index], theme.ink, size, True)
        for row in lanes.rows
        if row.endpoint == SHARED or lanes.is_roomy
    ]
    bars, workers = plan.deficits, plan.workers
    at_bars = [
        TextPoint(bars.panel.left - bars.name_px + 22, row_y(bars, i), name, theme.ink, NAME_SIZE)
        for i, name in enumerate(bars.names)
    ]
    if workers.is_strip:
        return [*at_ring, *at_lanes, *at_bars]
    at_workers = [
        TextPoint(workers.panel.left - workers.name_px, row_y(workers, i), name, theme.ink, NAME_SIZE)
        for i, name in enumerate(workers.names)
    ]
    return [*at_ring, *at_lanes, *at_bars, *at_workers]


def row_y(bars: BarPlan, row: float) -> float:
    """Page pixel of the middle of a row of bars."""
    return bars.panel.top + bars.panel.height * (row + 0.5) / max(1, len(bars.names))


def worker_spot(bars: BarPlan, row: int) -> tuple[int, int, int, int]:
    """Page pixels a worker takes up with its name and words: left, top, width, height."""
    panel, count = bars.panel, max(1, len(bars.names))
    if bars.is_strip:
        wide = panel.width / count
        return round(panel.left + row * wide), round(panel.top), round(wide), round(panel.height)
    tall = panel.height / count
    wide = bars.name_px + panel.width + bars.words_px
    return round(panel.left - bars.name_px), round(panel.top + row * tall), round(wide), round(tall)


def ring_traces(plan: StageLayout, looks: list[ClassStyle], theme: Theme) -> list[Trace]:
    """The winner's ring, carry, nodes (free and blocked), the cursor's hand before the call and now."""
    ring = plan.ring
    colours = [look.colour for look in looks]
    where = {"x": list(ring.node_x), "y": list(ring.node_y)}
    halo = {"color": theme.ground, "line": {"color": theme.ink, "width": 3.5}}
    carry = {"symbol": "circle-open", "color": theme.ink, "line": {"width": 1.5}}
    # Sizes that are arrays make plotly.js draw markers half transparent unless told otherwise.
    blocked = {"symbol": "circle-x", "color": theme.ground, "opacity": 1, "line": {"color": colours, "width": 2.5}}
    before = {"fillcolor": theme.ground, "line": {"color": theme.muted, "width": 1}}
    return [
        _marks("ring.halo", "", marker={"size": ring.largest_node + 15, **halo}),
        _marks("ring.carry", "", marker={"size": ring.largest_node + 6, **carry}),
        _marks("ring.node", "", **where, marker={"color": colours, "opacity": 1, "line": {"width": 0}}),
        _marks("ring.node_blocked", "", **where, marker=blocked),
        _path("ring.cursor_before", "", fill="toself", **before),
        _path("ring.cursor", "", fill="toself", fillcolor=theme.ink, line={"color": theme.ink, "width": 1}),
    ]


def _pattern(shape: str, size: float = 6, solidity: float = 0.35) -> dict[str, Any]:
    """A pattern in the bar's own colour on the bare ground; ``fgcolor`` arrays are not honoured by plotly.js."""
    return {"shape": shape, "fillmode": "replace", "size": size, "solidity": solidity}


def deficit_traces(looks: list[ClassStyle], theme: Theme) -> list[Trace]:
    """Bars of kept, granted and bulk tokens, the line at the head's cost."""
    count = len(looks)
    rows = list(range(count))
    colours = [look.colour for look in looks]
    thick = 0.5
    edge: list[float | None] = []
    for i in rows:
        edge += [i - 0.42, i + 0.42, None]
    return [
        _bars(
            "deficits.kept", "3", y=rows, width=thick, base=[0] * count, marker={"color": colours, "line": {"width": 0}}
        ),
        _bars(
            "deficits.granted",
            "3",
            y=rows,
            width=thick,
            marker={"color": [look.pale for look in looks], "line": {"color": colours, "width": 1.2}},
        ),
        _bars(
            "deficits.bulk",
            "3",
            y=rows,
            width=thick,
            marker={
                "color": colours,
                "line": {"color": colours, "width": 1.2},
                "pattern": _pattern(".", 6, 0.4),
            },
        ),
        _path("deficits.head", "3", y=edge, line={"color": theme.ink, "width": 3}),
    ]


def lane_traces(plan: StageLayout, looks: list[ClassStyle], theme: Theme) -> list[Trace]:
    """Boxes and heads of the lanes; every box slot keeps the colour of its row's class."""
    lanes = plan.lanes
    rows = [row.y for row in lanes.rows]
    mine = [looks[row.class_index] for row in lanes.rows]
    colours = [look.colour for look in mine]
    spread_out = [i for i in range(len(rows)) for _ in range(lanes.slots)]
    outline = {"color": theme.ink, "width": 2}
    return [
        _bars(
            "lanes.waiting",
            "2",
            y=[rows[i] for i in spread_out],
            width=lanes.box_px,
            marker={
                "color": [mine[i].pale for i in spread_out],
                "line": {"color": [colours[i] for i in spread_out], "width": 1.2},
            },
        ),
        _bars("lanes.head", "2", y=rows, width=lanes.box_px, marker={"color": colours, "line": outline}),
        _bars(
            "lanes.head_blocked",
            "2",
            y=rows,
            width=lanes.box_px,
            marker={
                "color": colours,
                "line": outline,
                "pattern": _pattern("/"),
            },
        ),
    ]


def worker_traces(plan: StageLayout, theme: Theme) -> list[Trace]:
    """Bars of the workers in three looks (free, busy for some classes, busy); in a strip also a mark for the look."""
    bars = plan.workers
    count = len(bars.names)
    common: dict[str, Any] = {
        "x" if bars.is_strip else "y": list(range(count)),
        "width": 0.72 if bars.is_strip else 0.5,
    }
    if bars.is_strip:
        common["orientation"] = "v"
    line = {"color": theme.worker, "width": 1}
    fills = {
        "free": {"color": theme.worker, "line": {"width": 0}},
        "part_busy": {"color": theme.worker, "line": line, "pattern": _pattern("/")},
        "busy": {"color": theme.ink, "line": line, "pattern": _pattern("x")},
    }
    traces = [_bars(f"workers.{name}", "4", **common, marker=look) for name, look in fills.items()]
    if bars.is_strip:
        places = [TextPoint(i, 0.0, colour=theme.ink, size=11, is_bold=True) for i in range(count)]
        marks = text_trace("workers.marks", places)
        traces.append(marks | {"xaxis": "x4", "yaxis": "y4", "textposition": "top center"})
    return traces


def still_traces(plan: StageLayout, looks: list[ClassStyle], theme: Theme, words: Sequence[TextPoint]) -> list[Trace]:
    """Marks and words that never change: the classes' symbols at the deficits and at their limits, ``words``."""
    bars = plan.deficits
    marks = [(c, bars.panel.left - bars.name_px + 7, row_y(bars, c), 11.0) for c in range(len(looks))]
    marks += [(c, x, y, 9.0) for c, x, y in _limit_marks(plan)]
    marker = {
        "symbol": [looks[c].symbol for c, _, _, _ in marks],
        "color": [looks[c].colour for c, _, _, _ in marks],
        "size": [size for _, _, _, size in marks],
        "opacity": 1,
        "line": {"width": 0},
    }
    x, y = [x for _, x, _, _ in marks], [y for _, _, y, _ in marks]
    return [
        _marks("page.marks", "5", x=x, y=y, marker=marker, cliponaxis=False),
        text_trace("page.words", words),
    ]


def _limit_marks(plan: StageLayout) -> list[tuple[int, float, float]]:
    """Where limits differ: class, x and y of its mark at its limit (on the first worker), spread so that none hide."""
    bars = plan.workers
    first = plan.survey.limits_tokens[0] if plan.survey.limits_tokens else ()
    shown = [(c, limit) for c, limit in enumerate(first) if limit is not None and limit <= bars.high_tokens]
    left, top, wide, height = bars.panel.left, bars.panel.top, bars.panel.width, bars.panel.height
    if not bars.marks_px:
        return []
    if bars.is_strip:
        ys = spread([top + height * (1 - limit / bars.high_tokens) for _, limit in shown], 11, top, top + height)
        return [(c, left + wide + 9, y) for (c, _), y in zip(shown, ys, strict=True)]
    xs = spread(
        [left + wide * limit / bars.high_tokens for _, limit in shown], 12, left, left + wide + bars.words_px - 8
    )
    return [(c, x, top - 9) for (c, _), x in zip(shown, xs, strict=True)]
