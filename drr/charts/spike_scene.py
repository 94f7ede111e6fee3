"""The demand spike of the premium demonstration: premium comes, gets its share, goes; regular takes all capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from drr.analysis.premium import PREMIUM, REGULAR, Moment, completion_times
from drr.charts.palette import ClassStyle, Theme
from drr.charts.scene import MARGIN, MOST_POINTS, NAMES, Scene, asked_of, looks_of, side_labels
from drr.charts.series import thin, waiting
from drr.charts.words import text_width
from drr.simulation.recording import Run

_WINDOW_MS = 500.0


def spike_scene(run: Run, moments: Sequence[Moment], *, theme: Theme, width: int, scale: float = 1.0) -> dict[str, Any]:
    """Premium comes, gets its share and goes: share of answers lately, answers per second, and who waits."""
    scene = Scene(theme, width, scale, completion_times(run)[-1])
    looks = looks_of(run, theme)
    left, tail = MARGIN + scene.px(44), scene.px(104)
    room = width - left - tail - MARGIN
    top = _moment_labels(scene, moments, left, room)
    times, rates = _recent_rates(run)
    total = rates.sum(axis=0)
    top = _title(scene, top, "Share of answers", "over the last half second; thin dashes: what the quanta ask for")
    number = scene.panel((left, top, room), scene.px(130), high=1.05, ticks=".0%", time=False)
    asked = asked_of(run)
    for owner, look in enumerate(looks):
        share = rates[owner] / np.maximum(total, 1e-9)
        scene.line(number, times, share.tolist(), look, width=scene.px(2.6))
        scene.asked(number, [moments[1].time_ms, moments[4].time_ms], asked[owner], look)
    side_labels(scene, looks, asked, (left + room, top, scene.px(130)))
    top = _rates(scene, looks, (left, top + scene.px(146), room), times, rates)
    top = _title(scene, top, "Waiting", "requests")
    lines = waiting(run)
    high = 1.08 * max(float(np.max(line.y)) for line in lines)
    number = scene.panel((left, top, room), scene.px(100), high=high, ticks=",", time=True)
    for line in lines:
        keep = thin(line.x, line.y, MOST_POINTS)
        scene.line(number, line.x[keep], line.y[keep], looks[line.owner], shape="hv")
    scene.height = top + scene.px(130)
    _moment_rules(scene, moments)
    return scene.to_json(moments)


def _title(scene: Scene, top: float, title: str, note: str) -> float:
    end = scene.say(MARGIN, top + scene.px(10), title, size=13, bold=True)
    scene.say(end + scene.px(10), top + scene.px(10), note, size=12, colour=scene.theme.muted)
    return top + scene.px(26)


def _rates(
    scene: Scene, looks: list[ClassStyle], place: tuple[float, float, float], times: list[float], rates: np.ndarray
) -> float:
    """Answers per second, regular below and premium on top of it: together what the worker can do."""
    left, top, room = place
    top = _title(scene, top, "Answers per second", "regular below, premium on top: together all the worker can do")
    high = 1.15 * float(rates.sum(axis=0).max())
    number = scene.panel((left, top, room), scene.px(110), high=high, ticks=",", time=False)
    base = np.zeros(len(times))
    for owner in (REGULAR, PREMIUM):
        look = looks[owner]
        upper = base + rates[owner]
        fill = {"fill": "toself", "fillcolor": look.pale, "line": {"width": 0}}
        scene.path(number, [*times, *times[::-1]], [*upper.tolist(), *base[::-1].tolist()], **fill)
        scene.line(number, times, upper.tolist(), look, width=scene.px(1.6))
        base = upper
    for place_y, owner in ((0.3, PREMIUM), (0.7, REGULAR)):
        y = top + scene.px(110) * place_y
        scene.name(left + room + scene.px(10), y, looks[owner], NAMES[owner])
    return top + scene.px(124)


def _moment_labels(scene: Scene, moments: Sequence[Moment], left: float, room: float) -> float:
    """The labels of the moments in as many rows as keep them apart; returns where the panels may start."""
    ends: list[float] = []
    for moment in moments:
        x = left + room * moment.time_ms / scene.duration_ms
        wide = text_width(moment.label, scene.px(12.5), bold=True)
        x = max(4.0, min(x - wide / 2, scene.width - wide - 4))
        row = next((k for k, end in enumerate(ends) if end + 10 <= x), len(ends))
        ends[row : row + 1] = [x + wide]
        scene.say(x, scene.px(12 + 17 * row), moment.label, size=12.5, bold=True)
    return scene.px(12 + 17 * len(ends) + 6)


def _moment_rules(scene: Scene, moments: Sequence[Moment]) -> None:
    """A thin upright rule through all panels at every moment."""
    x: list[float | None] = []
    y: list[float | None] = []
    for moment in moments:
        for panel in scene.panels:
            at = panel.left + panel.width * moment.time_ms / scene.duration_ms
            x += [at, at, None]
            y += [panel.top, panel.top + panel.height, None]
    rule = {"color": scene.theme.muted, "width": 1, "dash": "2px,3px"}
    scene.still.append({"type": "scatter", "mode": "lines", "x": x, "y": y, "line": rule, "hoverinfo": "skip"})


def _recent_rates(run: Run) -> tuple[list[float], np.ndarray]:
    """Completions per second of each class over the last half second (less at the start), every 50 ms.

    Four requests end together, so counts are interpolated between ends: else the edge of the window would make waves.
    """
    end = completion_times(run)[-1]
    times = np.append(np.arange(50.0, end, 50.0), end)
    before = np.maximum(times - _WINDOW_MS, 0.0)
    rows = []
    for owner in (PREMIUM, REGULAR):
        ends = np.asarray(completion_times(run, owner))
        together = np.append(np.diff(ends) > 0.01, True)
        at, reached = ends[together], np.flatnonzero(together) + 1.0
        # Nothing ended before the first end.
        at, reached = np.append([0.0, max(0.0, at[0] - 50.0)], at), np.append([0.0, 0.0], reached)
        rows.append((np.interp(times, at, reached) - np.interp(before, at, reached)) / (times - before) * 1000)
    return times.tolist(), np.asarray(rows)
