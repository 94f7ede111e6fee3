"""What the layout of the stage has to know of a whole run before any step is drawn: who is there, how far axes go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from drr.simulation.recording import Run
from drr.simulation.state import StepKind

_LEAVES_LANE = (StepKind.DECISION, StepKind.HEAD_ERROR)
_CHANGES_LOOKED_AT = 200
"""A state is rebuilt at each; the axis need not know the limits of workers that join later still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Facts of a run that hold at all of its steps."""

    class_names: tuple[str, ...]
    quanta: tuple[int, ...]
    endpoint_names: tuple[str, ...]
    lanes: tuple[tuple[int, int], ...]
    """(class index, endpoint index or -1 for shared) of every lane anything ever waited in, in ring order."""
    limits_tokens: tuple[tuple[int | None, ...], ...]
    """Per endpoint and class: busy when its active prefill tokens are above this; None = never."""
    least_cost_tokens: int
    largest_costs_tokens: tuple[int, ...]
    """Per class the largest scheduling cost, 0 where no request came."""
    most_active_tokens: int
    """The largest active prefill load of any endpoint at any step."""
    most_waiting: int
    """The largest number of requests waiting in one class at any step."""
    carries: bool
    """The run goes by the cursor rule ``carry``."""
    n_steps: int


def survey(run: Run) -> Survey:
    """Survey a recorded run. Costs a few passes over its columns, no state is rebuilt but at worker changes."""
    loads = [int(load.max(initial=0)) for load in (endpoint_loads(run, e) for e in range(len(run.endpoint_names)))]
    waiting = [int(column.max(initial=0)) for column in waiting_requests(run)]
    largest = [0] * len(run.class_names)
    least = 0
    for index, cost in zip(run.class_index, run.cost_tokens, strict=True):
        if index >= 0:
            largest[index] = max(largest[index], cost)
            least = cost if least == 0 else min(least, cost)
    return Survey(
        class_names=run.class_names,
        quanta=tuple(c.quantum for c in run.profile.classes),
        endpoint_names=run.endpoint_names,
        lanes=_lanes(run),
        limits_tokens=_limits(run),
        least_cost_tokens=max(1, least),
        largest_costs_tokens=tuple(largest),
        most_active_tokens=max(loads, default=0),
        most_waiting=max(waiting, default=0),
        carries=run.cursor_rule == "carry",
        n_steps=run.n_steps,
    )


def step_columns(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Kind, request row and endpoint of every step as arrays of length ``n_steps``."""
    kinds = np.frombuffer(bytes(run.kinds), dtype=np.uint8)
    return kinds, np.asarray(run.step_request, dtype=np.int64), np.asarray(run.step_endpoint, dtype=np.int64)


def waiting_requests(run: Run) -> list[np.ndarray]:
    """Per class, how many requests wait after every step."""
    return _waiting(run, np.ones(len(run.class_index), dtype=np.int64))


def waiting_tokens(run: Run) -> list[np.ndarray]:
    """Per class, how many uncached tokens the waiting requests have after every step; costs may be beyond 64 bits."""
    return _waiting(run, np.asarray(run.cost_tokens, dtype=float))


def _waiting(run: Run, size: np.ndarray) -> list[np.ndarray]:
    kinds, rows, _ = step_columns(run)
    classes = np.append(np.asarray(run.class_index, dtype=np.int64), -1)[rows]
    change = (kinds == StepKind.QUEUED).astype(np.int64) - np.isin(kinds, _LEAVES_LANE)
    sizes = change * np.append(size, 0)[rows]
    return [np.cumsum(np.where(classes == index, sizes, 0)) for index in range(len(run.class_names))]


def endpoint_loads(run: Run, endpoint: int) -> np.ndarray:
    """Active prefill tokens of one endpoint after every step."""
    kinds, rows, endpoints = step_columns(run)
    prefill = np.append(np.asarray(run.outcomes.prefill_tokens, dtype=np.int64), 0)[rows]
    had_first = np.zeros(len(run.class_index) + 1, dtype=bool)
    firsts = kinds == StepKind.FIRST_TOKEN
    had_first[rows[firsts]] = True
    starts = np.isin(kinds, (StepKind.BYPASSED, StepKind.DECISION))
    ends = firsts | ((kinds == StepKind.COMPLETION) & ~had_first[rows])
    change = np.where(starts, prefill, 0) - np.where(ends, prefill, 0)
    return np.cumsum(np.where(endpoints == endpoint, change, 0))


def _lanes(run: Run) -> tuple[tuple[int, int], ...]:
    kinds, rows, endpoints = step_columns(run)
    queued = np.flatnonzero(kinds == StepKind.QUEUED)
    return tuple(sorted({(run.class_index[rows[step]], int(endpoints[step])) for step in queued}))


def _limits(run: Run) -> tuple[tuple[int | None, ...], ...]:
    """Limits as they are when the run starts, for a worker that joins later as they are when it joins."""
    found: list[Sequence[int | None]] = [e.limits_tokens for e in run.state_at(-1).endpoints]
    changes = np.flatnonzero(step_columns(run)[0] == StepKind.WORKER_CHANGE)
    for step in changes[:_CHANGES_LOOKED_AT]:
        for index, endpoint in enumerate(run.state_at(int(step)).endpoints):
            if all(limit is None or limit < 0 for limit in found[index]):
                found[index] = endpoint.limits_tokens
    return tuple(tuple(None if limit is None or limit < 0 else limit for limit in row) for row in found)
