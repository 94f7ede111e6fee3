"""What stands still inside the panels: the ring's track, ticks at every quantum, the busy limits of the workers.

They are shapes, not traces: an animation without redraw wipes the still traces of a panel.
"""

from __future__ import annotations

from math import cos, pi, sin

from drr.charts.stage_keys import Sheet


def draw_scales(sheet: Sheet) -> None:
    """The marks inside the plot areas that never move: ticks at every quantum, and the busy limits of the workers."""
    layout = sheet.layout
    bars, height = layout.deficits, layout.deficits.panel.height / len(layout.deficits.names)
    for row, quantum in enumerate(layout.survey.quanta):
        step, left, middle = (
            quantum * bars.panel.width / bars.high_tokens,
            bars.panel.left,
            bars.panel.top + height * (row + 0.5),
        )
        if step < 5:  # ticks this close would melt into a line anyway
            edge = middle + 0.38 * height
            sheet.path([[(left, edge), (left + bars.panel.width, edge)]], line=1.2)
            continue
        places = [left + step * k for k in range(1, int(bars.panel.width / step) + 1)]
        sheet.path([[(x, middle + 0.3 * height), (x, middle + 0.44 * height)] for x in places], line=1.2)
    workers = layout.workers
    panel, count = workers.panel, max(1, len(workers.names))
    lines = []
    for row, limits in enumerate(layout.survey.limits_tokens):
        for limit in sorted({v for v in limits if v is not None and v <= workers.high_tokens}):
            share = limit / workers.high_tokens
            if workers.is_strip:
                y, x = panel.top + panel.height * (1 - share), panel.left + panel.width * row / count
                lines.append([(x, y), (x + panel.width / count, y)])
            else:
                x, y = panel.left + panel.width * share, panel.top + panel.height * row / count
                lines.append([(x, y), (x, y + panel.height / count)])
    sheet.path(lines, line=1.5, dash="4px,3px")


def draw_ring(sheet: Sheet) -> None:
    """The ring's track, its direction, and on a crowded ring thin lines from the nodes to their labels."""
    ring = sheet.layout.ring
    count = len(ring.node_x)
    x0, y0 = ring.panel.left + ring.centre_x, ring.panel.top + ring.centre_y

    def at(turn: float, out: float = 0.0) -> tuple[float, float]:
        return x0 + (ring.radius + out) * sin(turn), y0 - (ring.radius + out) * cos(turn)

    circle = [2 * pi * k / 90 for k in range(91)]
    track = [at(turn, 4) for turn in circle] + [at(turn, -4) for turn in reversed(circle)]
    sheet.path([track], line=0, fill=sheet.theme.grid, below=True)
    # Halfway between two classes; on a crowded ring in every second gap.
    gaps = [2 * pi * (k + 0.5) / max(count, 4) for k in range(max(count, 4))][:: 2 if count > 8 else 1]
    ahead, behind = 6 / ring.radius, 4 / ring.radius
    arrows = [[at(turn + ahead), at(turn - behind, 6), at(turn - behind, -6)] for turn in gaps]
    sheet.path(arrows, line=0, fill=sheet.theme.muted, below=True)
    if ring.has_leaders:
        ends = zip(ring.node_x, ring.node_y, ring.label_x, ring.label_y, ring.label_anchor, strict=True)
        left, top = ring.panel.left, ring.panel.top
        leaders = [
            [(left + x, top + y), (left + u + (-3 if anchor == "left" else 3), top + v)]
            for x, y, u, v, anchor in ends
            if anchor != "center"
        ]
        sheet.path(leaders, line=1, below=True)
