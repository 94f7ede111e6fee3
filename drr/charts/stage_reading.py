"""What a state means for the rows of the stage: questions that its numbers and its words both ask."""

from __future__ import annotations

from collections.abc import Sequence

from drr.charts.stage_plan import FLOATING, StageLayout
from drr.scheduler.calls import BULK_RULES, QUANTUM_RULES, VisitRule
from drr.simulation.state import EndpointState, LaneState, RunState

_BOX_GAP = 2.5


def held_parts(state: RunState) -> tuple[list[int], list[int], list[int]]:
    """Per class what it kept, was granted in this call, and was granted in bulk, before it paid."""
    count = len(state.classes)
    kept, granted, bulk = [c.deficit_tokens for c in state.classes], [0] * count, [0] * count
    for visit in reversed(state.visits):  # the first visit of a class has the last word on what it kept
        kept[visit.class_index] = 0 if visit.rule is VisitRule.EMPTY else visit.deficit_before
    for visit in state.visits:
        if visit.rule in QUANTUM_RULES:
            granted[visit.class_index] += visit.granted_tokens
        elif visit.rule in BULK_RULES:
            bulk[visit.class_index] += visit.granted_tokens
    return kept, granted, bulk


def held_tokens(state: RunState) -> list[int]:
    """Per class the deficit as it stood in this call before it paid."""
    return [sum(parts) for parts in zip(*held_parts(state), strict=True)]


def rows_shown(layout: StageLayout, state: RunState) -> list[list[LaneState]]:
    """The lanes each row of the panel shows: none, one, or in a folding row several."""
    by_key = {(lane.class_index, lane.endpoint): lane for lane in state.lanes}
    exact: dict[int, list[LaneState]] = {}
    for lane in state.lanes:
        if lane.endpoint >= 0:
            exact.setdefault(lane.class_index, []).append(lane)
    shown = []
    for row in layout.lanes.rows:
        if row.endpoint == FLOATING:
            mine = exact.get(row.class_index, [])
            shown.append(mine[row.place :] if row.folds else mine[row.place : row.place + 1])
        else:
            found = by_key.get((row.class_index, row.endpoint))
            shown.append([found] if found is not None else [])
    return shown


def boxes(layout: StageLayout, lanes: Sequence[LaneState], costs: Sequence[int]) -> list[tuple[float, float]]:
    """(start, width) in pixels of the boxes a row draws, the head's first. Always the head, and as many as fit."""
    drawn: list[tuple[float, float]] = []
    if len(lanes) == 1:
        end = 0.0
        for request in lanes[0].waiting[: layout.lanes.slots]:
            width = min(layout.lanes.scale.width(costs[request]), layout.lanes.boxes_px)
            if drawn and end + width > layout.lanes.boxes_px:
                break
            drawn.append((end, width - _BOX_GAP))
            end += width
    return drawn


def busy_classes(endpoint: EndpointState) -> tuple[int, int]:
    """For how many classes an endpoint is busy, and how many have a limit there at all."""
    limited = [index for index, limit in enumerate(endpoint.limits_tokens) if limit is not None]
    return sum(endpoint.is_busy_for(index) for index in limited), len(limited)
