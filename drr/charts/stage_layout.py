"""Works out where everything on the stage stands, for a whole run: panels, rows, scales and axes. No step is looked at.

Nothing of it changes while the run plays, so axes never jump and nothing moves but what moves in the router. All words
stand on one page axis, in pixels too: plotly.js hides text points that lie outside the range of their own axes.
"""

from __future__ import annotations

from math import ceil, cos, floor, pi, sin

from drr.charts.palette import LIGHT
from drr.charts.stage_keys import Sheet, draw_headers
from drr.charts.stage_plan import (
    FLOATING,
    GUTTER,
    LEAST_LANE_ROWS,
    LINE_PX,
    MANY_CLASSES,
    MANY_LANES,
    MANY_WORKERS,
    MARGIN,
    MARKS_PX,
    MOST_BOXES,
    NAME_SIZE,
    NARROW,
    ROW_GAP,
    SMALL,
    STRIP_WORDS_PX,
    WORD_SIZE,
    BarPlan,
    CostScale,
    LanePlan,
    LaneRow,
    Panel,
    RingPlan,
    StageLayout,
)
from drr.charts.survey import Survey
from drr.charts.words import Anchor, shorten_all, spread, text_width, tokens_text
from drr.scheduler.lanes import SHARED


def stage_layout(facts: Survey, *, width: int = 900) -> StageLayout:
    """Lay out the stage for a run at ``width`` pixels (at least 340)."""
    layout = _stage_layout(facts, width, header_lines=2)
    if draw_headers(Sheet(layout, LIGHT)):
        layout = _stage_layout(facts, width, header_lines=3)
    return layout


def _stage_layout(facts: Survey, width: int, *, header_lines: int) -> StageLayout:
    width = max(340, width)
    inner = width - 2 * MARGIN
    n_classes, n_workers = len(facts.class_names), len(facts.endpoint_names)
    rows, lanes_px = _lane_rows(facts, width)
    ring_px = min(inner, 400.0)
    crowded = n_classes > MANY_CLASSES or len(rows) > MANY_LANES or n_workers > MANY_CLASSES
    if width < SMALL:
        pairs: list[list[tuple[str, float]]] = [[(name, inner)] for name in ("ring", "lanes", "deficits", "workers")]
    elif width < NARROW:
        ring_px = min(ring_px, inner * 0.58)
        rest = inner - ring_px - GUTTER
        pairs = [[("ring", ring_px), ("workers", rest)], [("lanes", inner)], [("deficits", inner)]]
    elif crowded:
        left = (inner - GUTTER) * 0.64
        pairs = [
            [("ring", ring_px), ("deficits", inner - ring_px - GUTTER)],
            [("lanes", left), ("workers", inner - GUTTER - left)],
        ]
    else:
        left = (inner - GUTTER) * 0.56
        pairs = [
            [("ring", ring_px), ("lanes", inner - ring_px - GUTTER)],
            [("deficits", left), ("workers", inner - GUTTER - left)],
        ]
    tall = {
        "ring": _ring_height(n_classes, ring_px),
        "lanes": lanes_px,
        "deficits": n_classes * (30 if n_classes <= MANY_CLASSES else 23) + 24.0,
        "workers": 220.0 if n_workers > MANY_WORKERS else max(1, n_workers) * 34 + 24.0 + _marks_px(facts),
    }
    if ["ring", "deficits"] in [[name for name, _ in pair] for pair in pairs]:
        tall["deficits"] = n_classes * min(40.0, max(23.0, (tall["ring"] - 24) / n_classes)) + 24
    header_px = 10 + LINE_PX * header_lines
    panels, top = {}, 6.0
    for pair in pairs:
        left, height = float(MARGIN), max(tall[name] for name, _ in pair)
        for name, room in pair:
            panels[name] = Panel(
                left=left, top=top + header_px, width=room, height=height if name == "ring" else tall[name]
            )
            left += room + GUTTER
        top += header_px + height + ROW_GAP
    return StageLayout(
        width=width,
        height=round(top),
        header_px=header_px,
        survey=facts,
        ring=_ring(facts, panels["ring"]),
        lanes=_lane_plan(facts, panels["lanes"], rows, width),
        deficits=_deficits(facts, panels["deficits"]),
        workers=_workers(facts, panels["workers"]),
    )


# --- ring --------------------------------------------------------------------------------------------------


def _ring_height(n_classes: int, room: float) -> float:
    if n_classes <= MANY_CLASSES:
        return min(room, 330.0)
    return max(min(room, 350.0), 36.0 * (ceil(n_classes / 2) + 2))


def _ring(facts: Survey, panel: Panel) -> RingPlan:
    count = len(facts.class_names)
    many = count > MANY_CLASSES
    lines = 2 if many else 3
    centre_x, centre_y = panel.width / 2, panel.height / 2
    largest = 26.0 if count > 10 else 32.0 if many else 42.0
    side = 96.0 if many else 92.0
    caption = 16.0 * lines + 4
    radius = min(panel.width / 2 - side - largest / 2 - 10, panel.height / 2 - caption - largest / 2 - 8)
    angles = tuple(2 * pi * i / count for i in range(count))
    node_x = tuple(centre_x + radius * sin(a) for a in angles)
    node_y = tuple(centre_y - radius * cos(a) for a in angles)
    reach = largest / 2 + 12
    anchors: list[Anchor] = []
    label_x, label_y = [], []
    for angle, x, y in zip(angles, node_x, node_y, strict=True):
        across, down = sin(angle), -cos(angle)
        if abs(across) < 0.2:
            anchors.append("center")
            label_x.append(x)
            label_y.append(y + (reach + caption / 2 - 4) * (1 if down > 0 else -1))
        else:
            anchors.append("left" if across > 0 else "right")
            label_x.append(
                centre_x + (radius + reach) * (1 if across > 0 else -1)
                if many
                else x + reach * (1 if across > 0 else -1)
            )
            label_y.append(y if many else y + reach * down * 0.5)
    if many:
        label_y = _spread_sides(anchors, label_y, panel.height, 16.0 * lines + 4)
        # Away from the middle the circle leaves room: labels follow it inwards.
        for i, anchor in enumerate(anchors):
            if anchor != "center":
                up = min(abs(label_y[i] - centre_y), radius)
                inward = max((radius**2 - up**2) ** 0.5, radius * 0.55)
                label_x[i] = centre_x + (inward + reach) * (1 if anchor == "left" else -1)
    room = min(
        (2 * min(x, panel.width - x) if anchor == "center" else panel.width - x if anchor == "left" else x)
        for x, anchor in zip(label_x, anchors, strict=True)
    )
    return RingPlan(
        panel=panel,
        centre_x=centre_x,
        centre_y=centre_y,
        radius=radius,
        node_x=node_x,
        node_y=node_y,
        angles=angles,
        least_node=12.0 if many else 16.0,
        largest_node=largest,
        label_x=tuple(label_x),
        label_y=tuple(label_y),
        label_anchor=tuple(anchors),
        labels=shorten_all(facts.class_names, room, NAME_SIZE, bold=True),
        has_leaders=many,
        lines=lines,
    )


def _spread_sides(anchors: list[Anchor], wanted: list[float], height: float, gap: float) -> list[float]:
    placed = list(wanted)
    for side in ("left", "right"):
        members = [i for i, anchor in enumerate(anchors) if anchor == side]
        edge = gap / 2 + (gap if "center" in anchors else 0)
        for i, y in zip(members, spread([wanted[i] for i in members], gap, edge, height - edge), strict=True):
            placed[i] = y
    return placed


# --- lanes -------------------------------------------------------------------------------------------------


def _lane_rows(facts: Survey, width: int) -> tuple[tuple[LaneRow, ...], float]:
    """A row for every shared lane and, as far as rows go, every exact lane; and the height of them all."""
    count = len(facts.class_names)
    exact = [[e for c, e in facts.lanes if c == index and e != SHARED] for index in range(count)]
    granted = [0] * count
    spare = max(LEAST_LANE_ROWS - count, count)
    while spare > 0 and any(granted[c] < len(exact[c]) for c in range(count)):
        for index in range(count):
            if spare > 0 and granted[index] < len(exact[index]):
                granted[index] += 1
                spare -= 1
    total = count + sum(granted)
    step, first = (51.0, 14.0) if total <= MANY_LANES or width < SMALL else (23.0, 10.0)
    rows: list[LaneRow] = []

    def add(index: int, endpoint: int, place: int = -1, folds: bool = False) -> None:
        y = first + step * len(rows)
        rows.append(LaneRow(class_index=index, endpoint=endpoint, place=place, folds=folds, y=y))

    for index in range(count):
        add(index, SHARED)
        if granted[index] == len(exact[index]):
            for endpoint in exact[index]:
                add(index, endpoint)
        else:
            for place in range(granted[index]):
                add(index, FLOATING, place, place == granted[index] - 1)
    return tuple(rows), step * total


def _cost_scale(facts: Survey, most_px: float) -> CostScale:
    low, high = facts.least_cost_tokens, max(*facts.largest_costs_tokens, facts.least_cost_tokens, 1)
    ratio = high / low
    if ratio <= 1.02:
        return CostScale(kind="equal", low_tokens=low, high_tokens=high, low_px=24.0, high_px=24.0)
    if ratio <= 6:
        wide = min(most_px, 18.0 * ratio)
        return CostScale(kind="linear", low_tokens=low, high_tokens=high, low_px=wide / ratio, high_px=wide)
    return CostScale(kind="log", low_tokens=low, high_tokens=high, low_px=14.0, high_px=min(most_px, 72.0))


def _lane_plan(facts: Survey, panel: Panel, rows: tuple[LaneRow, ...], width: int) -> LanePlan:
    is_roomy = len(rows) <= MANY_LANES or width < SMALL
    lane_label = max((text_width(name, WORD_SIZE) for name in ("any worker", *facts.endpoint_names)), default=0.0)
    if is_roomy:
        wanted = max(text_width(name, NAME_SIZE, bold=True) for name in facts.class_names)
        name_px = min(max(wanted, lane_label) + 14, panel.width * 0.34)
        room = name_px - 14
        names = shorten_all(facts.class_names, room, NAME_SIZE, bold=True)
        words_px = 0.0
    else:
        room = min(max(text_width(n, NAME_SIZE - 1, bold=True) for n in facts.class_names), panel.width * 0.22)
        names = shorten_all(facts.class_names, room, NAME_SIZE - 1, bold=True)
        name_px = room + min(lane_label, panel.width * 0.2) + 24
        words_px = min(176.0, panel.width * 0.42)
    plot = Panel(left=panel.left + name_px, top=panel.top, width=panel.width - name_px, height=panel.height)
    more_px = text_width(f"+{facts.most_waiting:,}", WORD_SIZE) + 12
    boxes_px = plot.width - more_px - (0.0 if is_roomy else words_px + 6)
    scale = _cost_scale(facts, boxes_px * 0.5)
    boxes_px = min(boxes_px, MOST_BOXES * scale.high_px)
    return LanePlan(
        panel=plot,
        rows=rows,
        is_roomy=is_roomy,
        names=names,
        scale=scale,
        name_left=panel.left,
        label_px=room + 10,
        slots=max(1, min(MOST_BOXES, floor(boxes_px / scale.low_px))),
        boxes_px=boxes_px,
        words_x=0.0 if is_roomy else plot.width - words_px,
        box_px=22.0 if is_roomy else 14.0,
        is_terse=not is_roomy or _longest_reason(facts) > plot.width,
    )


def _longest_reason(facts: Survey) -> float:
    most = f"{max(facts.most_active_tokens, 1000):,}"
    name = max(facts.endpoint_names, key=len, default="")
    texts = (
        f"waits for {name}: {most} > {most} tokens",
        f"all {len(facts.endpoint_names)} workers, first {name}: {most} > {most}",
    )
    return max(text_width(text, WORD_SIZE) for text in texts)


# --- bars --------------------------------------------------------------------------------------------------


def _deficits(facts: Survey, panel: Panel) -> BarPlan:
    # A class is granted until it can pay, so it never holds more than its dearest head and one quantum.
    most = max(cost + quantum for cost, quantum in zip(facts.largest_costs_tokens, facts.quanta, strict=True))
    bound = 24 * max(*facts.largest_costs_tokens, 1, 1)
    room = min(max(text_width(name, NAME_SIZE) for name in facts.class_names) + 30, panel.width * 0.3)
    cost, held = (tokens_text(max(1, int(n))) for n in (max(facts.largest_costs_tokens), most))
    longest = (f"pays {cost}, {held} left", f"\u00bb {held} of {cost}" if most > bound else f"{held} of {cost}")
    words_px = max(text_width(text, WORD_SIZE, bold=text is longest[0]) for text in longest) + 10
    plot = Panel(left=panel.left + room, top=panel.top, width=panel.width - room - words_px, height=panel.height - 24)
    return BarPlan(
        panel=plot,
        names=shorten_all(facts.class_names, room - 30, NAME_SIZE),
        high_tokens=1.03 * min(most, bound),
        is_cut=most > bound,
        name_px=room,
        words_px=words_px,
    )


def _marks_px(facts: Survey) -> float:
    return MARKS_PX if len({limit for row in facts.limits_tokens for limit in row if limit is not None}) > 1 else 0.0


def _workers(facts: Survey, panel: Panel) -> BarPlan:
    marks_px = _marks_px(facts)
    limits = [limit for row in facts.limits_tokens for limit in row if limit is not None]
    # Limits far above any load would flatten the bars; they are said in words then.
    near = [limit for limit in limits if limit <= 3 * max(facts.most_active_tokens, 1)]
    high = 1.06 * max(facts.most_active_tokens, *near, 1)
    is_strip = len(facts.endpoint_names) > MANY_WORKERS
    if is_strip:
        name_px, words_px, names = 48.0, marks_px, facts.endpoint_names
        plot = Panel(
            left=panel.left + name_px,
            top=panel.top + STRIP_WORDS_PX,
            width=panel.width - name_px - words_px,
            height=panel.height - STRIP_WORDS_PX - 24,
        )
    else:
        widest = max((text_width(name, NAME_SIZE) for name in facts.endpoint_names), default=0.0)
        name_px, words_px = min(widest + 12, panel.width * 0.34), 104.0
        names = shorten_all(facts.endpoint_names, name_px - 12, NAME_SIZE)
        plot = Panel(
            left=panel.left + name_px,
            top=panel.top + marks_px,
            width=panel.width - name_px - words_px,
            height=panel.height - 24 - marks_px,
        )
    return BarPlan(
        panel=plot,
        names=names,
        high_tokens=float(ceil(high)),
        is_cut=False,
        name_px=name_px,
        words_px=words_px,
        marks_px=marks_px,
        is_strip=is_strip,
    )
