"""Draws docs/pictures/architecture.svg from the imports in the sources: ``python docs/architecture_picture.py``.

An arrow leads from a room to one that it imports. What follows from other arrows is left out, so that one can see the
way; a test makes sure that the picture is that of the sources.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tests.test_layers import ROOMS, imports_of, room_of, source_files  # noqa: E402

PICTURE = ROOT / "docs/pictures/architecture.svg"
ABOUT = {
    "errors": "one tree of errors",
    "policy": "policy YAML to profiles, findings",
    "scheduler": "lanes, ring, deficits",
    "router": "admission, worker choice",
    "simulation": "mock engines, replay, recorded runs",
    "workload": "traces, specs, experiments",
    "analysis": "shares, reasons, sweeps, goals",
    "dynamo": "the real router beside ours",
    "charts": "figures as data (Plotly)",
    "ui": "components, state, worker processes",
    "cli": "python -m drr",
    "app": "the menu",
    "pages": "layout of each page",
}
# Column and row of every room, the lowest row at the bottom.
PLACES = {
    "pages": (0, 0),
    "app": (1, 0),
    "cli": (2, 0),
    "ui": (0.5, 1),
    "charts": (1, 2),
    "dynamo": (1, 3),
    "analysis": (1, 4),
    "workload": (1, 5),
    "simulation": (1, 6),
    "router": (1, 7),
    "scheduler": (0.5, 8),
    "policy": (1.5, 8),
    "errors": (1.5, 9),
}
WIDTH, HEIGHT, STEP_X, STEP_Y, EDGE = 250, 46, 280, 78, 24


def imports() -> dict[str, set[str]]:
    """For every room the rooms below that its files import."""
    found: dict[str, set[str]] = {room: set() for room in ROOMS}
    for path in source_files():
        room = room_of(path)
        for each in imports_of((ROOT / path).read_text(encoding="utf-8"), path):
            parts = each.module.split(".")
            if room and parts[0] == "drr" and len(parts) > 1 and parts[1] in found and parts[1] != room:
                found[room].add(parts[1])
    return found


def arrows(found: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that do not follow from others."""

    def below(room: str) -> set[str]:
        return found[room] | {far for near in found[room] for far in below(near)}

    return [
        (room, other)
        for room in reversed(ROOMS)
        for other in sorted(found[room], key=ROOMS.index)
        if not any(other in below(third) for third in found[room] - {other})
    ]


def svg() -> str:
    """The picture."""
    lines = []
    for room, other in arrows(imports()):
        (x1, y1), (x2, y2) = middle(room), middle(other)
        start, end, bend = y1 + HEIGHT / 2, y2 - HEIGHT / 2 - 9, (y1 + y2) / 2
        path = f"M{x1:.0f} {start:.0f}C{x1:.0f} {bend:.0f} {x2:.0f} {bend:.0f} {x2:.0f} {end:.0f}"
        lines.append(f'<path d="{path}" class="arrow"><title>{room} imports {other}</title></path>')
    for room in ROOMS:
        x, y = middle(room)
        corner = f'x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}"'
        lines.append(f'<rect {corner} width="{WIDTH}" height="{HEIGHT}" rx="6"/>')
        lines.append(f'<text x="{x:.0f}" y="{y - 4:.0f}" class="room">{room}</text>')
        lines.append(f'<text x="{x:.0f}" y="{y + 14:.0f}" class="about">{ABOUT[room]}</text>')
    wide = round(max(middle(room)[0] for room in ROOMS) + WIDTH / 2 + EDGE)
    high = round(max(middle(room)[1] for room in ROOMS) + HEIGHT / 2 + EDGE)
    return HEAD.format(wide=wide, high=high) + "\n".join(lines) + "\n</svg>\n"


def middle(room: str) -> tuple[float, float]:
    """Where the middle of a room is, in pixels."""
    column, row = PLACES[room]
    return EDGE + WIDTH / 2 + column * STEP_X, EDGE + HEIGHT / 2 + row * STEP_Y


HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img">
<title>The rooms of Ringside, and who imports whom</title>
<style>
rect {{ fill: #f6f7f9; stroke: #5f6b7a; }}
text {{ font-family: sans-serif; text-anchor: middle; fill: #1b1f24; }}
.room {{ font-size: 15px; font-weight: 600; }}
.about {{ font-size: 12px; }}
.arrow {{ fill: none; stroke: #5f6b7a; stroke-width: 1.5; marker-end: url(#tip); }}
</style>
<defs><marker id="tip" markerWidth="7" markerHeight="7" refX="1" refY="3.5" orient="auto">
<path d="M0 0L7 3.5L0 7z" fill="#5f6b7a"/></marker></defs>
<rect width="{wide}" height="{high}" style="fill: #ffffff; stroke: none"/>
"""

if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(arrows(imports()))} arrows")
