"""Made-up runs in every size: random but consistent states, for looking at figures and for their invariants."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from drr.charts.stage_layout import StageLayout, stage_layout
from drr.charts.survey import Survey
from drr.scheduler.calls import Visit, VisitRule
from drr.scheduler.lanes import SHARED
from drr.simulation.state import (
    BusyEndpoint,
    ClassState,
    EndpointState,
    LaneState,
    RunState,
    StepKind,
)

NAMES = (
    *("premium", "regular", "batch", "agents", "cached", "uncached.long-context", "interactive", "evaluation"),
    *("nightly-batch", "search", "code", "vision", "internal_tools", "free-tier"),
)
COSTS = {"equal": (512,), "near": (256, 512, 768, 1024), "wide": (64, 512, 2048, 8192, 120_000)}


@dataclass(frozen=True)
class MadeUpRun:
    """As much of a run as the stage asks for."""

    facts: Survey
    states: Sequence[RunState]
    cost_tokens: Sequence[int]

    def state_at(self, step: int) -> RunState:
        return self.states[step + 1]

    def layout(self, width: int) -> StageLayout:
        return stage_layout(self.facts, width=width)


def made_up_run(
    classes: int, lanes: int, workers: int, *, seed: int = 0, steps: int = 8, costs: str = "near", limits: str = "one"
) -> MadeUpRun:
    rng = random.Random(seed * 1000 + classes * 100 + lanes * 10 + workers)
    quanta = tuple(rng.choice((128, 512, 1024, 2048)) for _ in range(classes))
    rows = [rng.choice(COSTS[costs]) for _ in range(600)]
    per_class = {"none": None, "one": 1536}
    limit_row = tuple(
        512 * rng.randint(1, 8)
        if limits == "many"
        else (1536 if c % 2 else 3072)
        if limits == "two"
        else per_class[limits]
        for c in range(classes)
    )
    keys = [(c, SHARED) for c in range(classes)] + [(c, e) for e in range(workers) for c in range(classes)]
    lane_keys = tuple(sorted(keys[:lanes]))
    states = [
        _state(step, rng, rows, quanta, lane_keys, [limit_row] * workers, is_quiet=step in (-1, steps - 1))
        for step in range(-1, steps)
    ]
    facts = Survey(
        class_names=tuple(NAMES[i] if i < len(NAMES) else f"class-{i}" for i in range(classes)),
        quanta=quanta,
        endpoint_names=tuple(f"worker {i}" for i in range(workers)),
        lanes=lane_keys,
        limits_tokens=(limit_row,) * workers,
        least_cost_tokens=min(rows),
        largest_costs_tokens=(max(rows),) * classes,
        most_active_tokens=max(e.active_prefill_tokens for s in states for e in s.endpoints),
        most_waiting=max(c.waiting_requests for s in states for c in s.classes),
        carries=True,
        n_steps=steps,
    )
    return MadeUpRun(facts, states, rows)


def _state(
    step: int,
    rng: random.Random,
    rows: list[int],
    quanta: tuple[int, ...],
    lane_keys: tuple[tuple[int, int], ...],
    limits: list[tuple[int | None, ...]],
    *,
    is_quiet: bool,
) -> RunState:
    count = len(quanta)
    endpoints = tuple(
        EndpointState(
            worker_id=i,
            dp_rank=0,
            is_present=rng.random() > 0.05 or i == 0,
            is_overloaded=rng.random() < 0.05,
            active_prefill_tokens=0 if is_quiet else rng.choice((0, 512, 1024, 1536, 2048, 3584)),
            in_flight_requests=(flying := rng.randint(0, 12)),
            running_requests=rng.randint(0, flying),
            limits_tokens=row,
        )
        for i, row in enumerate(limits)
    )
    lanes = []
    for index, endpoint in lane_keys:
        if is_quiet or rng.random() < 0.15:
            continue
        waiting = [rng.randrange(len(rows)) for _ in range(rng.choice((1, 2, 5, 9, 200)))]
        among = range(len(endpoints)) if endpoint == SHARED else (endpoint,)
        limit = limits[0][index] if limits else None
        full = [
            BusyEndpoint(e, endpoints[e].active_prefill_tokens, limit)
            for e in among
            if limit is not None and endpoints[e].active_prefill_tokens > limit
        ]
        blocked = tuple(full) if len(full) == len(among) else ()
        lanes.append(LaneState(index, endpoint, waiting, sum(rows[r] for r in waiting), blocked))
    classes = []
    for index in range(count):
        mine = [lane for lane in lanes if lane.class_index == index]
        classes.append(
            ClassState(
                deficit_tokens=rng.randrange(0, max(rows)) if mine else 0,
                waiting_requests=sum(len(lane.waiting) for lane in mine),
                waiting_tokens=sum(lane.waiting_tokens for lane in mine),
                head=mine[0].waiting[0] if mine else -1,
                is_blocked=bool(mine) and all(lane.blocked_by for lane in mine),
            )
        )
    free = [i for i, c in enumerate(classes) if c.waiting_requests and not c.is_blocked]
    winner = rng.choice(free) if free and step % 4 != 3 else -1
    visits = _visits(rng, classes, quanta, rows, winner) if step % 4 != 3 and not is_quiet else ()
    kind = StepKind.DECISION if winner >= 0 else StepKind.EMPTY_CALL
    if step % 4 == 3 or is_quiet:
        kind = rng.choice((StepKind.QUEUED, StepKind.REFUSED, StepKind.BYPASSED))
    return RunState(
        step=step,
        time_ms=step * 1371.4,
        kind=kind,
        request=0,
        class_index=winner if winner >= 0 else rng.randrange(count),
        endpoint=-1,
        cursor=rng.randrange(count),
        cursor_before=rng.randrange(count),
        carried=rng.randrange(-1, count),
        carried_before=-1,
        bulk_rounds=0,
        visits=tuple(visits),
        classes=tuple(classes),
        lanes=tuple(lanes),
        endpoints=endpoints,
    )


def _visits(
    rng: random.Random, classes: list[ClassState], quanta: tuple[int, ...], rows: list[int], winner: int
) -> list[Visit]:
    visits = []
    for index, here in enumerate(classes):
        before, cost = here.deficit_tokens, rows[here.head] if here.head >= 0 else 0
        if here.head < 0:
            visits.append(Visit(index, VisitRule.EMPTY, 0, 0, -1, 0, 0, 0))
        elif here.is_blocked:
            visits.append(Visit(index, VisitRule.BLOCKED, before, 0, -1, 0, 0, before))
        elif index == winner:
            held = max(before, cost)
            visits.append(Visit(index, VisitRule.BULK_PAYS, before, held - before, here.head, cost, cost, held - cost))
            break
        else:
            granted = rng.choice((quanta[index], 2 * quanta[index]))
            rule = VisitRule.GRANT_SHORT if granted == quanta[index] else VisitRule.BULK_SHORT
            visits.append(Visit(index, rule, before, granted, here.head, cost, 0, before + granted))
    return visits
