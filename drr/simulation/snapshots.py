"""Rebuilds the state of the router at any step of a run from its columns.

Small state (deficits, counts, loads) is kept at checkpoints and brought forward from the nearest one; lane contents
need no checkpoint of their own, since a lane's order never changes: what waits is what came in and is not out yet.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drr.router.endpoints import NEVER_BUSY, Endpoints, SelectionError, pool_is_busy
from drr.router.requests import Constraint
from drr.router.router import RequestOutcomes
from drr.scheduler.calls import Visit, replay_call
from drr.scheduler.lanes import fcfs_score, wspt_score
from drr.simulation.state import (
    CALL_KINDS,
    BusyEndpoint,
    ClassState,
    EndpointState,
    LaneState,
    RunState,
    StepKind,
)

if TYPE_CHECKING:
    from drr.simulation.recording import Recorder, RunInputs

CHECKPOINT_STEPS = 512

_CALLS = frozenset(int(kind) for kind in CALL_KINDS)
_QUEUED, _FIRST_TOKEN, _COMPLETION = int(StepKind.QUEUED), int(StepKind.FIRST_TOKEN), int(StepKind.COMPLETION)
_CHANGE, _BYPASSED, _DECISION = int(StepKind.WORKER_CHANGE), int(StepKind.BYPASSED), int(StepKind.DECISION)
_ANYWHERE = Constraint()


@dataclass(slots=True)
class _Lane:
    """Everything that ever waited in one lane: rows and steps in order of enqueueing."""

    class_index: int
    endpoint: int
    rows: list[int]
    queued_steps: list[int]
    keys: dict[int, tuple[float, float, int]] | None = None
    """Order keys per row where the lane's order is not the order of enqueueing."""


_LISTS = (
    "deficits",
    "waiting",
    "lane_counts",
    "lane_tokens",
    "lane_low",
    "loads",
    "in_flight",
    "completed_admitted",
)


class Walker:
    """The small state of the router, moved forward step by step. Figures are per class, lane or endpoint index."""

    __slots__ = (
        "call",
        "changes",
        "completed_admitted",
        "deficits",
        "in_flight",
        "lane_counts",
        "lane_low",
        "lane_tokens",
        "loads",
        "step",
        "visits",
        "waiting",
    )

    def __init__(self, classes: int, lanes: int, endpoints: int) -> None:
        self.step = -1
        self.call = -1
        self.changes = 0
        self.deficits = [0] * classes
        self.waiting = [0] * classes
        self.lane_counts = [0] * lanes
        self.lane_tokens = [0] * lanes
        self.lane_low = [0] * lanes
        self.loads = [0] * endpoints
        self.in_flight = [0] * endpoints
        self.completed_admitted = [0] * endpoints
        self.visits: list[Visit] = []

    def copy(self) -> Walker:
        """An independent copy; it does not remember the last step's visits."""
        twin = Walker(0, 0, 0)
        twin.step, twin.call, twin.changes = self.step, self.call, self.changes
        for name in _LISTS:
            setattr(twin, name, list(getattr(self, name)))
        return twin


class Snapshots:
    """Index over a recorded run that gives the state at any step."""

    def __init__(
        self,
        inputs: RunInputs,
        outcomes: RequestOutcomes,
        recorder: Recorder,
    ) -> None:
        self._inputs = inputs
        self._outcomes = outcomes
        self._recorder = recorder
        self._quanta = [c.quantum for c in inputs.profile.classes]
        self._queued_step = [-1] * len(inputs.requests)
        self._gone_step = [len(recorder.kinds)] * len(inputs.requests)
        self._lane_of = [-1] * len(inputs.requests)
        self._lanes: list[_Lane] = []
        self._clusters: dict[int, Endpoints] = {}
        self._change_steps = sorted(recorder.changes)
        self._admits: list[list[int]] = [[] for _ in inputs.endpoint_keys]
        self._index_lanes()
        self._index_admissions()
        every = CHECKPOINT_STEPS
        walk = self.walk(with_visits=False)
        self._checkpoints = [walker.copy() for walker in walk if (walker.step + 1) % every == 0]

    # --- indexes -----------------------------------------------------------------------------------------

    def _index_lanes(self) -> None:
        """Find out who waited where, and from when to when."""
        recorder = self._recorder
        positions: dict[tuple[int, int], int] = {}
        for step, kind in enumerate(recorder.kinds):
            if kind == _QUEUED:
                row = recorder.requests[step]
                key = (self._outcomes.class_index[row], recorder.endpoints[step])
                position = positions.get(key)
                if position is None:
                    position = positions[key] = len(self._lanes)
                    self._lanes.append(_Lane(*key, [], []))
                self._lane_of[row] = position
                self._queued_step[row] = step
                self._lanes[position].rows.append(row)
                self._lanes[position].queued_steps.append(step)
            elif kind in _CALLS and recorder.requests[step] >= 0:
                self._gone_step[recorder.requests[step]] = step
        requests = self._inputs.requests
        for lane in self._lanes:
            wspt = self._inputs.profile.classes[lane.class_index].queue_policy == "wspt"
            if wspt or any(requests.priority_jump[r] > 0 or requests.strict_priority[r] for r in lane.rows):
                lane.keys = {row: self._order_key(row, wspt) for row in lane.rows}

    def _order_key(self, row: int, wspt: bool) -> tuple[float, float, int]:
        """The key of :data:`drr.scheduler.lanes.Entry`; the step of enqueueing orders like the enqueue sequence."""
        jump = self._inputs.requests.priority_jump[row]
        if wspt:
            score = wspt_score(jump, self._outcomes.cost_tokens[row])
        else:
            score = fcfs_score(jump, (self._outcomes.arrival_ms[row] or 0.0) / 1000.0)
        return (-self._inputs.requests.strict_priority[row], -score, self._queued_step[row])

    def _index_admissions(self) -> None:
        for row, step in enumerate(self._recorder.admit_steps):
            if step >= 0:
                self._admits[self._outcomes.endpoint[row]].append(step)
        for steps in self._admits:
            steps.sort()

    # --- walking -----------------------------------------------------------------------------------------

    def walk(self, start: Walker | None = None, *, with_visits: bool = True) -> Iterator[Walker]:
        """The small state after every step from ``start`` (or the beginning) on; the same object every time."""
        walker = start or Walker(len(self._quanta), len(self._lanes), len(self._inputs.endpoint_keys))
        while walker.step + 1 < len(self._recorder.kinds):
            self._advance(walker, with_visits=with_visits)
            yield walker

    def _advance(self, walker: Walker, *, with_visits: bool = True) -> None:
        """Apply the record after the walker's step."""
        recorder = self._recorder
        outcomes = self._outcomes
        walker.step += 1
        step = walker.step
        kind = recorder.kinds[step]
        row = recorder.requests[step]
        endpoint = recorder.endpoints[step]
        walker.visits = []
        if kind == _QUEUED:
            self._count(walker, row, 1)
        elif kind in _CALLS:
            if row >= 0:
                self._count(walker, row, -1)
            walker.call += 1
            walker.visits = replay_call(
                recorder.calls,
                walker.call,
                walker.deficits,
                quanta=self._quanta,
                costs=outcomes.cost_tokens,
                emptied=row >= 0 and not walker.waiting[outcomes.class_index[row]],
                with_visits=with_visits,
            )
        elif kind == _FIRST_TOKEN:
            walker.loads[endpoint] -= outcomes.prefill_tokens[row]
        elif kind == _COMPLETION:
            if not recorder.had_first_token[row]:
                walker.loads[endpoint] -= outcomes.prefill_tokens[row]
            walker.in_flight[endpoint] -= 1
            walker.completed_admitted[endpoint] += recorder.admit_steps[row] >= 0
        elif kind == _CHANGE:
            walker.changes += 1
        if kind in (_BYPASSED, _DECISION):
            walker.loads[endpoint] += outcomes.prefill_tokens[row]
            walker.in_flight[endpoint] += 1

    def _count(self, walker: Walker, row: int, sign: int) -> None:
        """A request starts (1) or stops (-1) to wait."""
        position = self._lane_of[row]
        lane = self._lanes[position]
        walker.waiting[lane.class_index] += sign
        walker.lane_counts[position] += sign
        walker.lane_tokens[position] += sign * self._outcomes.cost_tokens[row]
        if sign < 0:
            low = walker.lane_low[position]
            while low < len(lane.rows) and self._gone_step[lane.rows[low]] <= walker.step:
                low += 1
            walker.lane_low[position] = low

    # --- pictures ----------------------------------------------------------------------------------------

    def walker_at(self, step: int) -> Walker:
        """The small state after a step, from the nearest checkpoint."""
        if not -1 <= step < len(self._recorder.kinds):
            raise IndexError(f"step {step} of a run with {len(self._recorder.kinds)} steps")
        # A checkpoint does not know what its own step did, so a step is always reached by doing it.
        nearest = max(step, 0) // CHECKPOINT_STEPS
        fresh = Walker(len(self._quanta), len(self._lanes), len(self._inputs.endpoint_keys))
        walker = self._checkpoints[nearest - 1].copy() if nearest else fresh
        while walker.step < step:
            self._advance(walker)
        return walker

    def lane_rows(self, position: int, walker: Walker) -> list[int]:
        """Request rows waiting in a lane, head first."""
        lane = self._lanes[position]
        if not walker.lane_counts[position]:
            return []
        end = bisect_right(lane.queued_steps, walker.step)
        rows = lane.rows[walker.lane_low[position] : end]
        if lane.keys is None:
            return rows
        return sorted((row for row in rows if self._gone_step[row] > walker.step), key=lane.keys.__getitem__)

    def cluster(self, changes: int) -> Endpoints:
        """The endpoints as they are after so many changes (flags and limits; loads are the walker's)."""
        found = self._clusters.get(changes)
        if found is None:
            found = Endpoints((), self._inputs.profile.classes, limit_for_all=self._inputs.limit_for_all)
            for key in self._inputs.endpoint_keys:
                found.index(*key)
            for worker in self._inputs.workers:
                found.add_worker(worker)
            for step in self._change_steps[:changes]:
                self._recorder.changes[step].apply(found)
            self._clusters[changes] = found
        return found

    def _blocked_by(self, lane: _Lane, head: int, walker: Walker, cluster: Endpoints) -> tuple[BusyEndpoint, ...]:
        eligible = cluster.eligible(self._inputs.requests.constraints.get(head, _ANYWHERE))
        if isinstance(eligible, SelectionError):
            return ()
        # Of an exact head only its target is eligible, so one question answers both kinds.
        limits = cluster.limits[lane.class_index]
        held = tuple(BusyEndpoint(e, walker.loads[e], limits[e]) for e in eligible if walker.loads[e] > limits[e])
        ratio = self._inputs.profile.classes[lane.class_index].busy_worker_ratio
        return held if pool_is_busy(len(held), len(eligible), ratio) else ()

    def _lane_states(self, walker: Walker, cluster: Endpoints) -> tuple[LaneState, ...]:
        order = sorted(
            (p for p in range(len(self._lanes)) if walker.lane_counts[p]),
            key=lambda p: (self._lanes[p].class_index, self._lanes[p].endpoint),
        )
        states = []
        for position in order:
            lane = self._lanes[position]
            rows = self.lane_rows(position, walker)
            blocked = self._blocked_by(lane, rows[0], walker, cluster)
            states.append(LaneState(lane.class_index, lane.endpoint, rows, walker.lane_tokens[position], blocked))
        return tuple(states)

    def _class_states(self, walker: Walker, lanes: tuple[LaneState, ...]) -> tuple[ClassState, ...]:
        states = []
        for index, deficit in enumerate(walker.deficits):
            mine = [lane for lane in lanes if lane.class_index == index]
            wspt = self._inputs.profile.classes[index].queue_policy == "wspt"
            heads = [lane.waiting[0] for lane in mine]
            head = min(((self._order_key(row, wspt), row) for row in heads), default=(None, -1))[1]
            tokens = sum(lane.waiting_tokens for lane in mine)
            blocked = bool(mine) and all(lane.blocked_by for lane in mine)
            states.append(ClassState(deficit, walker.waiting[index], tokens, head, blocked))
        return tuple(states)

    def _endpoint_states(self, walker: Walker, cluster: Endpoints) -> tuple[EndpointState, ...]:
        states = []
        for e, (worker, rank) in enumerate(self._inputs.endpoint_keys):
            limits = tuple(row[e] if row[e] < NEVER_BUSY else None for row in cluster.limits)
            running = bisect_right(self._admits[e], walker.step) - walker.completed_admitted[e]
            states.append(
                EndpointState(
                    worker,
                    rank,
                    cluster.present[e],
                    cluster.overloaded[e],
                    walker.loads[e],
                    walker.in_flight[e],
                    walker.in_flight[e] if self._inputs.runs_at_once else running,
                    limits,
                )
            )
        return tuple(states)

    def state_at(self, step: int) -> RunState:
        """The whole picture right after a step; -1 is the state before the first, of kind ``WORKER_CHANGE``."""
        recorder = self._recorder
        walker = self.walker_at(step)
        cluster = self.cluster(walker.changes)
        lanes = self._lane_states(walker, cluster)
        kind = StepKind(recorder.kinds[step]) if step >= 0 else StepKind.WORKER_CHANGE
        is_call = step >= 0 and kind in CALL_KINDS
        calls = recorder.calls
        call = walker.call
        cursor = calls.cursors[call] if call >= 0 else 0
        carried = calls.carried[call] if call >= 0 else -1
        row = recorder.requests[step] if step >= 0 else -1
        time_ms = recorder.times_ms[step] if step >= 0 else 0.0
        return RunState(
            step=step,
            time_ms=time_ms,
            kind=kind,
            request=row,
            class_index=self._outcomes.class_index[row] if row >= 0 else -1,
            endpoint=recorder.endpoints[step] if step >= 0 else -1,
            cursor=cursor,
            cursor_before=(calls.cursors[call - 1] if call >= 1 else 0) if is_call else cursor,
            carried=carried,
            carried_before=(calls.carried[call - 1] if call >= 1 else -1) if is_call else carried,
            bulk_rounds=calls.rounds[call] if is_call else 0,
            visits=tuple(walker.visits),
            classes=self._class_states(walker, lanes),
            lanes=lanes,
            endpoints=self._endpoint_states(walker, cluster),
        )
