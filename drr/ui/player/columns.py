"""A run's records as arrays, made small: what the browser needs to rebuild the state at any step."""

from __future__ import annotations

from typing import Any

import numpy as np

from drr.router.endpoints import NEVER_BUSY, Endpoints, SelectionError
from drr.router.requests import Constraint
from drr.scheduler.lanes import fcfs_score, wspt_score
from drr.simulation.recording import Recorder, Run
from drr.simulation.state import CALL_KINDS, StepKind
from drr.ui.player.blob import Array, is_wide

_CALLS = [int(kind) for kind in CALL_KINDS]
_SAME = 0
"""A visit's head that is the request of its call."""


def step_columns(run: Run) -> dict[str, Array]:
    """Kind, time, request and endpoint of every step.

    ``step_row`` holds differences from the last step of the same kind; ``times_ms`` only the times that differ from
    the one before, and ``new_time`` says at which steps they begin.
    """
    kinds = np.frombuffer(bytes(run.kinds), dtype=np.uint8)
    times = np.asarray(run.times_ms, dtype=np.float64)
    fresh = np.ones(len(times), dtype=bool)
    fresh[1:] = times[1:] != times[:-1]
    return {
        "kind": kinds,
        "new_time": np.packbits(fresh, bitorder="little"),
        "times_ms": times[fresh],
        "step_row": _differences_by_kind(kinds, np.asarray(run.step_request, dtype=np.int64)),
        "step_endpoint": np.asarray(run.step_endpoint, dtype=np.int64),
    }


def _differences_by_kind(kinds: Array, rows: Array) -> Array:
    out = np.zeros(len(rows), dtype=np.int64)
    for kind in np.unique(kinds):
        where = np.flatnonzero(kinds == kind)
        out[where] = np.diff(rows[where], prepend=0)
    return out


def call_columns(run: Run) -> dict[str, Array]:
    """The arbitration calls and their class visits, see :class:`drr.scheduler.calls.CallLog`.

    ``visit_head`` is 0 for the request of the call, 1 for none, else the request row plus 2. Bulk rounds are sparse.
    """
    calls = _recorder(run).calls
    kinds = np.frombuffer(bytes(run.kinds), dtype=np.uint8)
    requests = np.asarray(run.step_request, dtype=np.int64)[np.isin(kinds, _CALLS)]
    ends = np.asarray(calls.visit_ends, dtype=np.int64)
    counts = np.diff(ends, prepend=0)
    heads = np.asarray(calls.heads, dtype=np.int64)
    is_mine = (heads >= 0) & (heads == np.repeat(requests, counts))
    columns = {
        "visits": counts,
        "cursor": np.asarray(calls.cursors, dtype=np.int64),
        "carried": np.asarray(calls.carried, dtype=np.int64),
        "bulk_call": np.diff(np.asarray(bulk_calls(run), dtype=np.int64), prepend=0),
        "visit_rule": np.frombuffer(bytes(calls.rules), dtype=np.uint8),
        "visit_head": np.where(is_mine, _SAME, heads + 2),
    }
    if calls.classes is not None:
        columns["visit_class"] = np.asarray(calls.classes, dtype=np.int64)
    return columns


def bulk_calls(run: Run) -> list[int]:
    """The calls that granted bulk rounds, ascending."""
    return [call for call, rounds in enumerate(_recorder(run).calls.rounds) if rounds]


def request_columns(run: Run) -> dict[str, Array]:
    """Class and admission of every request row.

    ``was_admitted`` is a bit per row; ``admit_step`` lists, endpoint by endpoint (``admits`` many each), at which step
    one more request counts as admitted there, as differences.
    """
    outcomes = run.outcomes
    admitted = np.frombuffer(_recorder(run).admit_steps, dtype=np.intc) >= 0
    admit_steps, admits = _admissions(run)
    return {
        "row_class": np.asarray(outcomes.class_index, dtype=np.int64),
        "was_admitted": np.packbits(admitted, bitorder="little"),
        "admits": np.asarray(admits, dtype=np.int64),
        "admit_step": admit_steps,
    }


def token_columns(run: Run) -> dict[str, Array]:
    """Scheduling cost of every request row, and how its prefill tokens differ from that."""
    cost = np.asarray(run.cost_tokens, dtype=np.int64)
    prefill = np.asarray(run.outcomes.prefill_tokens, dtype=np.int64)
    return {"row_cost": cost, "row_prefill": prefill - cost}


def _admissions(run: Run) -> tuple[Array, list[int]]:
    per_endpoint: list[list[int]] = [[] for _ in run.endpoint_names]
    for row, step in enumerate(_recorder(run).admit_steps):
        if step >= 0:
            per_endpoint[run.endpoint[row]].append(step)
    parts = [np.diff(np.sort(np.asarray(each, dtype=np.int64)), prepend=0) for each in per_endpoint]
    return (np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)), [len(each) for each in per_endpoint]


def lane_ranks(run: Run) -> dict[str, Array]:
    """Where lanes have an order of their own: the place of every request that waited, in the order of lane heads."""
    requests, classes = run.requests, run.profile.classes
    queued = np.flatnonzero(np.frombuffer(bytes(run.kinds), dtype=np.uint8) == StepKind.QUEUED)
    waited = [(step, run.step_request[step]) for step in queued.tolist()]
    rows = [row for _, row in waited]
    has_wspt = any(classes[run.class_index[row]].queue_policy == "wspt" for row in rows)
    if not has_wspt and not any(requests.priority_jump[row] > 0 or requests.strict_priority[row] for row in rows):
        return {}
    keyed = sorted((_order_key(run, row, step), row) for step, row in waited)
    ranks = np.zeros(len(requests), dtype=np.int64)
    ranks[[row for _, row in keyed]] = np.arange(len(keyed))
    return {"row_rank": ranks}


def _order_key(run: Run, row: int, step: int) -> tuple[float, float, int]:
    """The key of :data:`drr.scheduler.lanes.Entry`; the step of enqueueing orders like the enqueue sequence."""
    jump = run.requests.priority_jump[row]
    if run.profile.classes[run.class_index[row]].queue_policy == "wspt":
        score = wspt_score(jump, run.cost_tokens[row])
    else:
        score = fcfs_score(jump, (run.arrival_ms[row] or 0.0) / 1000.0)
    return (-run.requests.strict_priority[row], -score, step)


def cluster_edits(run: Run) -> dict[str, Any]:
    """The endpoints at the start and what changes about them, as plain data.

    ``limits`` has a row per endpoint and edits are ``[change, endpoint, present, overloaded, limits per class]``; a
    limit is None where the class is never busy there. ``constraints`` maps the rows that cannot go anywhere to numbers,
    constraint 0 allows every endpoint; ``eligible`` are edits too: ``[change, constraint, endpoints]``, with None for
    the endpoints where nothing may serve.
    """
    numbers: dict[Constraint, int] = {Constraint(): 0}
    rows = {
        row: numbers.setdefault(constraint, len(numbers))
        for row, constraint in run.requests.constraints.items()
        if constraint != Constraint()
    }
    edits: list[list[Any]] = []
    eligible_edits: list[list[Any]] = []
    shown: dict[int, list[Any]] = {}
    eligible_shown: dict[int, Any] = {}
    cluster = Endpoints((), run.profile.classes, limit_for_all=run.inputs.limit_for_all)
    for key in run.inputs.endpoint_keys:
        cluster.index(*key)
    for worker in run.inputs.workers:
        cluster.add_worker(worker)
    changes = _recorder(run).changes
    for change, step in enumerate([-1, *sorted(changes)]):
        if change:
            changes[step].apply(cluster)
        for endpoint in range(len(cluster.keys)):
            limits = [_limit(row[endpoint]) for row in cluster.limits]
            now = [int(cluster.present[endpoint]), int(cluster.overloaded[endpoint]), limits]
            if shown.get(endpoint) != now:
                shown[endpoint] = now
                edits.append([change, endpoint, *now])
        for constraint, number in numbers.items():
            found = cluster.eligible(constraint)
            what = None if isinstance(found, SelectionError) else list(found)
            if number not in eligible_shown or eligible_shown[number] != what:
                eligible_shown[number] = what
                eligible_edits.append([change, number, what])
    return {"edits": edits, "eligible": eligible_edits, "constraints": [list(rows), list(rows.values())]}


def _limit(limit: int) -> int | str | None:
    """A limit, as text where a browser's number does not hold it exactly; no load of such a run reaches it."""
    return None if limit >= NEVER_BUSY else str(limit) if is_wide((limit,)) else limit


def _recorder(run: Run) -> Recorder:
    if run.recorder is None:
        raise ValueError("this run was made without recording: it has no steps to show")
    return run.recorder
