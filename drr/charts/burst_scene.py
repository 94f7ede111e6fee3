"""The burst of the premium demonstration, under two policies side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drr.analysis.premium import FIRST, PREMIUM, REGULAR, Moment, completion_times
from drr.charts.palette import ClassStyle, Theme
from drr.charts.scene import MARGIN, MOST_POINTS, NAMES, Scene, asked_of, looks_of, side_labels
from drr.charts.series import service_share, thin
from drr.charts.words import BLANK, TextPoint, text_width
from drr.simulation.recording import Run

_CELLS_PER_ROW = 40
_STACKED_BELOW_PX = 760


def burst_scene(
    equal: Run, weighted: Run, moments: Sequence[Moment], *, theme: Theme, width: int, scale: float = 1.0
) -> dict[str, Any]:
    """The burst under both policies: every completion as a mark in order, what is left, and the share so far.

    ``scale`` enlarges type and marks. Side by side from 760 pixels on, else one below the other.
    """
    duration = max(completion_times(run)[-1] for run in (equal, weighted))
    scene = Scene(theme, width, scale, duration)
    is_stacked = width < _STACKED_BELOW_PX * scale
    room = width - 2 * MARGIN if is_stacked else (width - 4 * MARGIN) / 2
    left, top = MARGIN, 0.0
    for run, title in ((equal, "Equal quanta"), (weighted, "Weighted")):
        bottom = _burst_column(scene, run, title, left, top, room)
        if is_stacked:
            top = bottom + 12
        else:
            left += room + 2 * MARGIN
    scene.height = bottom
    return scene.to_json(moments)


def _burst_column(scene: Scene, run: Run, title: str, left: float, top: float, room: float) -> float:
    """One policy's column; returns where it ends."""
    quanta = " : ".join(f"{c.quantum:,}" for c in run.profile.classes)
    y = top + scene.px(16)
    end = scene.say(left, y, title, size=17, bold=True)
    scene.say(end + scene.px(12), y, f"{quanta} tokens per round", size=14, colour=scene.theme.muted)
    looks = looks_of(run, scene.theme)
    times, owners = completion_times(run), [run.class_index[row] for row in run.completion_order]
    y += scene.px(30)
    _tally(scene, f"First {FIRST} answers", (left, y, room), looks, times[:FIRST], owners[:FIRST])
    y += scene.px(18)
    pitch = min(room / _CELLS_PER_ROW, scene.px(16))
    y = _cells(scene, looks, (left, y), pitch, times[:FIRST], owners[:FIRST]) + scene.px(18)
    _left_over(scene, run, (left, y, room), looks)
    y = _cells(scene, looks, (left, y + scene.px(18)), pitch, times[FIRST:], owners[FIRST:])
    return _share_so_far(scene, run, looks, left, y + scene.px(24), room)


def _cells(
    scene: Scene,
    looks: list[ClassStyle],
    corner: tuple[float, float],
    pitch: float,
    times: list[float],
    owners: list[int],
) -> float:
    """A block of completions in order, row by row, a mark each, covered until they come; returns where it ends."""
    left, top = corner
    for owner, look in enumerate(looks):
        mine = [k for k, each in enumerate(owners) if each == owner]
        x = [round(left + pitch * (k % _CELLS_PER_ROW + 0.5), 2) for k in mine]
        y = [round(top + pitch * (k // _CELLS_PER_ROW + 0.5), 2) for k in mine]
        scene.marks(x, y, look, pitch * 0.74)
    rows = -(-len(owners) // _CELLS_PER_ROW)
    scene.covers.append({"left": left, "top": top, "pitch": pitch, "columns": _CELLS_PER_ROW, "rows": rows, "t": times})
    return top + rows * pitch


def _tally(
    scene: Scene,
    title: str,
    place: tuple[float, float, float],
    looks: list[ClassStyle],
    times: list[float],
    owners: list[int],
) -> None:
    """``title``, and how many of each class have come, class after class from the right."""
    left, y, room = place
    scene.say(left, y, title, size=13, bold=True)
    x = left + room
    for owner in (REGULAR, PREMIUM):
        name = NAMES[owner]
        mine = [t for t, each in zip(times, owners, strict=True) if each == owner]
        counts = [str(k + 1) for k in range(len(mine))]
        x = _count(scene, x, y, looks[owner], name, ([0.0, *mine], ["0", *counts]))


def _left_over(scene: Scene, run: Run, place: tuple[float, float, float], looks: list[ClassStyle]) -> None:
    """How many of each class are not completed yet."""
    left, y, room = place
    scene.say(left, y, "Still to come", size=13, bold=True)
    x = left + room
    for owner in (REGULAR, PREMIUM):
        times = completion_times(run, owner)
        texts = [str(len(times) - k) for k in range(len(times) + 1)]
        x = _count(scene, x, y, looks[owner], NAMES[owner], ([0.0, *times], texts))


def _count(
    scene: Scene, right: float, y: float, look: ClassStyle, name: str, texts: tuple[list[float], list[str]]
) -> float:
    """A class's mark and name with a number that changes, ending at ``right``; returns where the next one may end."""
    number_px, name_px = text_width("888", scene.px(20), bold=True), text_width(name, scene.px(13))
    scene.counters.append((TextPoint(right, y, BLANK, look.text_colour, scene.px(20), True, "right"), *texts))
    x = right - number_px - scene.px(6) - name_px
    scene.name(x - scene.px(9), y, look, name, size=13)
    return x - scene.px(34)


def _share_so_far(scene: Scene, run: Run, looks: list[ClassStyle], left: float, top: float, room: float) -> float:
    """The share of service so far over time, with what the quanta ask for."""
    end = scene.say(left, top, "Share of tokens so far", size=13, bold=True)
    scene.say(end + scene.px(10), top, "thin dashes: asked", size=12, colour=scene.theme.muted)
    indent, tail = scene.px(40), scene.px(96)
    height = scene.px(104)
    y = top + scene.px(16)
    width = room - indent - tail
    number = scene.panel((left + indent, y, width), height, high=1.0, ticks=".0%", time=True)
    asked = asked_of(run)
    for line in service_share(run):
        keep = thin(line.x, line.y, MOST_POINTS)
        scene.line(number, line.x[keep], line.y[keep], looks[line.owner])
        scene.asked(number, [0, scene.duration_ms], asked[line.owner], looks[line.owner])
    side_labels(scene, looks, asked, (left + indent + width, y, height))
    return y + height + scene.px(30)
