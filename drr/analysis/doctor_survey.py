"""What the doctor's checks have in common: one walk over the records of a run, and figures gathered on the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Literal

from drr.analysis.outcomes import SHARES_DIFFER, Shares, shares
from drr.router.router import QUEUED
from drr.simulation.recording import Run
from drr.simulation.state import StepKind

FindingKind = Literal[
    "never_together",
    "no_threshold",
    "threshold_never_reached",
    "quanta_above_costs",
    "quanta_far_below_costs",
    "blocked_on_one_worker",
    "unknown_header",
    "missing_header",
    "unreached_bucket",
    "unreached_family",
    "refusals",
    "wspt_starves_large",
    "strict_starves_low",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why a ratio does not bind, or why somebody waits longer than he should.

    ``step`` is the step of the run that shows it, None where no single one does. ``quanta`` are quanta by class name
    that would help, where some would. ``warning`` means that somebody gets something else than the policy seems to ask
    for, ``info`` that it is worth knowing.
    """

    kind: FindingKind
    headline: str
    evidence: str
    remedy: str
    step: int | None
    severity: Literal["warning", "info"]
    quanta: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class LaneWait:
    """How long requests waited in one exact-worker lane, ms, and how long of that another worker was free for them."""

    waiting_ms: float = 0.0
    other_free_ms: float = 0.0
    waiting: int = 0
    most: int = 0
    most_step: int = -1


@dataclass(slots=True)
class Walked:
    """What one walk over the records found. Times are ms of simulated time."""

    some_wait_ms: float = 0.0
    together_ms: float = 0.0
    decisions: int = 0
    together_decisions: int = 0
    apart_step: int | None = None
    """The first decision that was made while not every compared class had requests waiting."""
    peak_tokens: int = 0
    peak_step: int | None = None
    lanes: dict[tuple[int, int], LaneWait] = field(default_factory=dict)
    arrival_step: dict[int, int] = field(default_factory=dict)
    gone_step: dict[int, int] = field(default_factory=dict)


class Survey:
    """A run as the checks look at it. Lists are per class in ring order."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.names = run.class_names
        self.classes = run.profile.classes
        self.rows_of: list[list[int]] = [[] for _ in self.names]
        for row, index in enumerate(run.class_index):
            if index >= 0:
                self.rows_of[index].append(row)
        self.queued_of = [[row for row in rows if run.outcomes.outcome[row] == QUEUED] for rows in self.rows_of]
        costs = run.cost_tokens
        self.typical_cost = [median(costs[row] for row in rows) if rows else None for rows in self.queued_of]
        """Median cost of the requests that waited, None where none did."""
        self.shares: Shares = shares(run)

    @cached_property
    def walked(self) -> Walked:
        """The walk over the records; nothing in it for a run without recording."""
        return Walked() if self.run.recorder is None else _walk(self.run, set(self.shares.compared))

    @property
    def duration_ms(self) -> float:
        """From the first record to the last."""
        times = () if self.run.recorder is None else self.run.times_ms
        return times[-1] - times[0] if len(times) else 0.0

    @property
    def together_share(self) -> float | None:
        """Share of the time in which anything waited that all compared classes did; of the decisions, where no time
        passes (teaching runs); None where nothing waited.
        """
        walked = self.walked
        if walked.some_wait_ms > 0:
            return walked.together_ms / walked.some_wait_ms
        return walked.together_decisions / walked.decisions if walked.decisions else None

    def first_step_of(self, rows: Iterable[int]) -> int | None:
        """The earliest arrival of some requests."""
        return min((step for row in rows if (step := self.walked.arrival_step.get(row)) is not None), default=None)

    def quanta_that_bind(self) -> tuple[tuple[str, int], ...]:
        """The same ratio, as large as it may be without any quantum above what its class's typical request costs."""
        costs = self.typical_cost
        pairs = [(cost, c.quantum) for cost, c in zip(costs, self.classes, strict=True) if cost is not None]
        if not pairs:
            return ()
        factor = min(cost / quantum for cost, quantum in pairs)
        return tuple((c.name, max(1, round(c.quantum * factor))) for c in self.classes)


@dataclass(frozen=True, slots=True)
class OffShare:
    """The compared class whose share is furthest from the asked one."""

    class_index: int
    asked: float
    got: float


def furthest_off(run: Run, found: Shares) -> OffShare | None:
    """The class that is furthest off; None where nothing could be measured, and where no class is further off than two
    points in a hundred and than what one request more or less would change.
    """
    if not found.is_measured:
        return None
    pairs = [(i, found.asked[i] or 0.0, found.got[i] or 0.0) for i in found.compared]
    worst = OffShare(*max(pairs, key=lambda pair: abs(pair[1] - pair[2])))
    dearest = max(run.cost_tokens[row] for row, outcome in enumerate(run.outcomes.outcome) if outcome == QUEUED)
    least = max(SHARES_DIFFER, dearest / sum(found.joint_tokens))
    return worst if abs(worst.asked - worst.got) >= least else None


def _walk(run: Run, compared: set[int]) -> Walked:
    walked = Walked()
    kinds, times, rows, endpoints = run.kinds, run.times_ms, run.step_request, run.step_endpoint
    waiting = [0] * len(run.class_names)
    loads = [0] * len(run.endpoint_names)
    prefill = run.outcomes.prefill_tokens
    had_first = run.recorder.had_first_token if run.recorder is not None else ()
    changes = 0
    then = times[0] if len(times) else 0.0
    for step, kind in enumerate(kinds):
        passed = times[step] - then
        if passed > 0:
            then = times[step]
            if any(waiting):
                walked.some_wait_ms += passed
                walked.together_ms += passed if all(waiting[i] for i in compared) else 0.0
                _lanes_wait(run, walked.lanes, loads, changes, passed)
        row = rows[step]
        if kind == StepKind.QUEUED:
            index = run.class_index[row]
            waiting[index] += 1
            walked.arrival_step[row] = step
            if endpoints[step] >= 0:
                lane = walked.lanes.setdefault((index, endpoints[step]), LaneWait())
                lane.waiting += 1
                if lane.waiting > lane.most:
                    lane.most, lane.most_step = lane.waiting, step
        elif kind in (StepKind.BYPASSED, StepKind.REFUSED, StepKind.ERROR):
            walked.arrival_step[row] = step
        elif kind in (StepKind.DECISION, StepKind.HEAD_ERROR):
            together = all(waiting[i] for i in compared)
            walked.decisions += 1
            walked.together_decisions += together
            if not together and walked.apart_step is None:
                walked.apart_step = step
            index = run.class_index[row]
            waiting[index] -= 1
            walked.gone_step[row] = step
            waited_in = walked.lanes.get((index, run.outcomes.lane[row]))
            if waited_in is not None:
                waited_in.waiting -= 1
        elif kind == StepKind.WORKER_CHANGE:
            changes += 1
        if kind in (StepKind.BYPASSED, StepKind.DECISION):
            loads[endpoints[step]] += prefill[row]
            if loads[endpoints[step]] > walked.peak_tokens:
                walked.peak_tokens, walked.peak_step = loads[endpoints[step]], step
        elif kind == StepKind.FIRST_TOKEN or (kind == StepKind.COMPLETION and not had_first[row]):
            loads[endpoints[step]] -= prefill[row]
    return walked


def _lanes_wait(
    run: Run, lanes: dict[tuple[int, int], LaneWait], loads: Sequence[int], changes: int, passed_ms: float
) -> None:
    """Time passes: count it for every exact-worker lane in which requests wait."""
    for (index, endpoint), lane in lanes.items():
        if lane.waiting:
            lane.waiting_ms += passed_ms
            cluster = run.snapshots.cluster(changes)
            limits = cluster.limits[index]
            others = (e for e in range(len(loads)) if e != endpoint and cluster.present[e])
            if any(loads[e] <= limits[e] for e in others):
                lane.other_free_ms += passed_ms
