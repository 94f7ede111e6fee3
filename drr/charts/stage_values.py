"""Everything on the stage that changes from step to step, as plain numbers and words per trace.

:func:`stage_values` is the only place that turns a state into a picture; the player in the browser works out the same
arrays from the run's columns. Every array has the same length at every step: what is not needed is 0, ``BLANK`` or
parked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import cos, sin
from typing import Any, Protocol

from drr.charts.stage_plan import PARKED, StageLayout
from drr.charts.stage_reading import boxes, busy_classes, held_parts, rows_shown
from drr.charts.stage_words import stage_words
from drr.charts.words import BLANK
from drr.simulation.state import RunState, StepKind

Values = dict[str, dict[str, Any]]
"""Trace uid -> attribute -> array, as ``Plotly.animate`` takes them; but ``words`` has a ``tone`` per text, see
:func:`drr.charts.stage.plotly_values`."""


class StepSource(Protocol):
    """What :func:`guess_state` needs of a run."""

    def state_at(self, step: int) -> RunState:
        """The whole picture right after a step."""
        ...


def guess_state(run: StepSource, step: int) -> RunState:
    """The state before the record of ``step``, as the call found it, for "who is next?": nothing tells the winner."""
    after, before = run.state_at(step), run.state_at(step - 1)
    return replace(
        before,
        step=step,
        time_ms=after.time_ms,
        kind=StepKind.EMPTY_CALL,
        request=-1,
        class_index=-1,
        endpoint=-1,
        cursor=after.cursor_before,
        cursor_before=after.cursor_before,
        carried=after.carried_before,
        carried_before=after.carried_before,
        bulk_rounds=0,
        visits=(),
    )


def stage_values(layout: StageLayout, state: RunState, costs: Sequence[int], *, guess: bool = False) -> Values:
    """All dynamic arrays of the stage for one state; ``costs`` are the scheduling costs per request row, in tokens.

    With ``guess`` the state is one of :func:`guess_state`: the headline asks instead of telling.
    """
    tones, texts = zip(*stage_words(layout, state, costs, guess=guess), strict=True)
    return {
        **_ring_values(layout, state),
        **_deficit_values(state, costs),
        **_lane_values(layout, state, costs),
        **_worker_values(layout, state),
        "words": {"text": list(texts), "tone": list(tones)},
    }


def _ring_values(layout: StageLayout, state: RunState) -> Values:
    ring, most = layout.ring, max(1, layout.survey.most_waiting)
    room = ring.largest_node - ring.least_node
    sizes = [ring.least_node + room * (c.waiting_requests / most) ** 0.5 for c in state.classes]
    # The winner went, even where its dispatch filled the last free worker.
    stopped = [c.is_blocked and index != state.winner for index, c in enumerate(state.classes)]
    moved = state.cursor_before != state.cursor
    return {
        "ring.halo": _point(ring.node_x, ring.node_y, state.winner),
        "ring.carry": _point(ring.node_x, ring.node_y, state.carried),
        "ring.node": {"marker": {"size": [0.0 if s else size for size, s in zip(sizes, stopped, strict=True)]}},
        "ring.node_blocked": {"marker": {"size": [size if s else 0.0 for size, s in zip(sizes, stopped, strict=True)]}},
        "ring.cursor_before": _hand(layout, state.cursor_before if moved else -1),
        "ring.cursor": _hand(layout, state.cursor),
    }


def _point(xs: Sequence[float], ys: Sequence[float], index: int) -> dict[str, object]:
    return {"x": [xs[index] if index >= 0 else PARKED], "y": [ys[index] if index >= 0 else PARKED]}


def _hand(layout: StageLayout, index: int) -> dict[str, object]:
    """Outline of the cursor's hand: a shaft with an arrow head, from the middle of the ring towards a class."""
    if index < 0:
        return {"x": [PARKED] * 8, "y": [PARKED] * 8}
    ring = layout.ring
    tip = ring.radius - ring.largest_node / 2 - 9
    neck = max(tip - 15, tip * 0.45)
    outline = ((6, -2.2), (neck, -2.2), (neck, -7.5), (tip, 0), (neck, 7.5), (neck, 2.2), (6, 2.2), (6, -2.2))
    along, across = sin(ring.angles[index]), -cos(ring.angles[index])
    return {
        "x": [ring.centre_x + along * out - across * side for out, side in outline],
        "y": [ring.centre_y + across * out + along * side for out, side in outline],
    }


def _deficit_values(state: RunState, costs: Sequence[int]) -> Values:
    kept, granted, bulk = held_parts(state)
    looked_at = [costs[c.head] if c.head >= 0 else 0 for c in state.classes]
    for visit in state.visits:
        if visit.head >= 0:
            looked_at[visit.class_index] = visit.head_cost_tokens
    line_x: list[float | None] = []
    for cost in looked_at:
        line_x += [cost, cost, None] if cost else [None, None, None]
    return {
        "deficits.kept": {"x": kept},
        "deficits.granted": {"x": granted, "base": _based(granted, kept)},
        "deficits.bulk": {"x": bulk, "base": _based(bulk, [a + b for a, b in zip(kept, granted, strict=True)])},
        "deficits.head": {"x": line_x},
    }


def _based(lengths: Sequence[float], bases: Sequence[float]) -> list[float]:
    """Bases of outlined bars; a bar of no length is parked, for its outline would stay as a thin line."""
    return [base if length else PARKED for length, base in zip(lengths, bases, strict=True)]


def _lane_values(layout: StageLayout, state: RunState, costs: Sequence[int]) -> Values:
    slots, count = layout.lanes.slots, len(layout.lanes.rows)
    wide, base = [0.0] * (count * slots), [PARKED] * (count * slots)
    head, head_blocked = [0.0] * count, [0.0] * count
    for place, lanes in enumerate(rows_shown(layout, state)):
        for k, (start, width) in enumerate(boxes(layout, lanes, costs)):
            if k:
                wide[place * slots + k], base[place * slots + k] = width, start
            elif lanes[0].blocked_by:
                head_blocked[place] = width
            else:
                head[place] = width
    return {
        "lanes.waiting": {"x": wide, "base": base},
        "lanes.head": {"x": head, "base": _based(head, [0.0] * count)},
        "lanes.head_blocked": {"x": head_blocked, "base": _based(head_blocked, [0.0] * count)},
    }


def _worker_values(layout: StageLayout, state: RunState) -> Values:
    axis = "y" if layout.workers.is_strip else "x"
    loads = [e.active_prefill_tokens for e in state.endpoints]
    stages = []
    for endpoint in state.endpoints:
        stopped, limited = busy_classes(endpoint)
        stages.append(0 if not stopped else 2 if stopped == limited else 1)
    values: Values = {
        f"workers.{name}": _outlined(axis, [load if s == stage else 0 for load, s in zip(loads, stages, strict=True)])
        for stage, name in enumerate(("free", "part_busy", "busy"))
    }
    if layout.workers.is_strip:
        values["workers.marks"] = {"y": loads, "text": [(BLANK, "/", "\u00d7")[s] for s in stages]}
    return values


def _outlined(axis: str, lengths: list[int]) -> dict[str, object]:
    return {axis: lengths, "base": _based(lengths, [0] * len(lengths))}
