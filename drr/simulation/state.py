"""What the stage shows: the router at one step of a run, as frozen values.

A *step* is one record of a run; the state "at step k" is the state right after record k. These types carry indices
(class index in ring order, endpoint index, request row), the names behind them are in the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from drr.scheduler.calls import WINNING_RULES, Visit, VisitRule

__all__ = [
    "CALL_KINDS",
    "DISPATCH_KINDS",
    "WINNING_RULES",
    "BusyEndpoint",
    "ClassState",
    "EndpointState",
    "LaneState",
    "RunState",
    "StepKind",
    "Visit",
    "VisitRule",
]


class StepKind(IntEnum):
    """What a record tells."""

    BYPASSED = 0
    """Arrival that was dispatched at once, outside ring and deficits."""
    QUEUED = 1
    """Arrival that joined a lane."""
    REFUSED = 2
    """Arrival that met a full class (HTTP 529)."""
    DECISION = 3
    """An arbitration call that dispatched a request."""
    EMPTY_CALL = 4
    """An arbitration call that dispatched nothing."""
    FIRST_TOKEN = 5
    """A request's prefill ended: its prefill load is off the worker."""
    COMPLETION = 6
    """A request ended on its worker (its first token too, if it had not come before)."""
    ERROR = 7
    """An arrival that no endpoint may serve ended in a selection error."""
    WORKER_CHANGE = 8
    """An endpoint joined, left, was blocked, freed, or changed its flags."""
    HEAD_ERROR = 9
    """A lane head that an arbitration call let go, and charged, ended in a selection error."""


CALL_KINDS = frozenset({StepKind.DECISION, StepKind.EMPTY_CALL, StepKind.HEAD_ERROR})
"""The steps that are arbitration calls."""

DISPATCH_KINDS = frozenset({StepKind.BYPASSED, StepKind.DECISION, StepKind.HEAD_ERROR})
"""The steps that count as a dispatch: at once, by a call, or by a call only to end in an error."""


@dataclass(frozen=True, slots=True)
class BusyEndpoint:
    """Why an endpoint is busy for a class: what it holds and what it may hold before it counts as busy."""

    endpoint: int
    active_prefill_tokens: int
    limit_tokens: int
    """Busy when the active prefill tokens are above this; -1 means held busy by a script."""


@dataclass(frozen=True, slots=True)
class LaneState:
    """One lane of a class: the shared one (``endpoint`` -1) or the one of an exact endpoint."""

    class_index: int
    endpoint: int
    waiting: Sequence[int]
    """Request rows in lane order, head first. Never empty."""
    waiting_tokens: int
    """Sum of the scheduling costs."""
    blocked_by: tuple[BusyEndpoint, ...]
    """The busy endpoints the head waits for; empty where the head may go."""


@dataclass(frozen=True, slots=True)
class ClassState:
    """One class of the ring."""

    deficit_tokens: int
    waiting_requests: int
    waiting_tokens: int
    head: int
    """Best head over all lanes, busy or not; -1 where nothing waits."""
    is_blocked: bool
    """Requests wait, and no head is dispatchable."""


@dataclass(frozen=True, slots=True)
class EndpointState:
    """One (worker, dp rank)."""

    worker_id: int
    dp_rank: int
    is_present: bool
    is_overloaded: bool
    active_prefill_tokens: int
    in_flight_requests: int
    """Dispatched to it and not completed."""
    running_requests: int
    """Of these, how many have been admitted by its engine so far."""
    limits_tokens: tuple[int | None, ...]
    """Per class: busy when ``active_prefill_tokens`` is above it; None = never busy, -1 = held busy by a script."""

    def is_busy_for(self, class_index: int) -> bool:
        """Whether the endpoint is busy for a class."""
        limit = self.limits_tokens[class_index]
        return limit is not None and self.active_prefill_tokens > limit


@dataclass(frozen=True, slots=True)
class RunState:
    """The whole picture at one step."""

    step: int
    time_ms: float
    kind: StepKind
    """``WORKER_CHANGE`` before the first step (-1), which is no record: the workers are there, nothing else."""
    request: int
    """The request the record is about; -1 for empty calls and worker changes."""
    class_index: int
    """Its class, -1 where there is no request."""
    endpoint: int
    """Where it was dispatched to, ran, or what changed; -1 where nothing fits."""
    cursor: int
    """Class index under the ring cursor, after the record."""
    cursor_before: int
    carried: int
    """Class index whose carry the next call looks at first (rule ``carry``), -1 for none."""
    carried_before: int
    bulk_rounds: int
    """Virtual rounds granted in this call, 0 for none."""
    visits: tuple[Visit, ...]
    classes: tuple[ClassState, ...]
    lanes: tuple[LaneState, ...]
    """In ring order, shared lane before exact lanes, exact lanes by endpoint index."""
    endpoints: tuple[EndpointState, ...]

    @property
    def winner(self) -> int:
        """Class index that the call dispatched, -1 where it dispatched nothing."""
        return self.class_index if self.kind in (StepKind.DECISION, StepKind.HEAD_ERROR) else -1
