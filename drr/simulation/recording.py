"""A run as columns: what was recorded, and everything that can be asked of it afterwards."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from drr.policy.schema import Profile
from drr.router.admission import Refusal
from drr.router.endpoints import SelectionError, Worker
from drr.router.requests import RequestTable
from drr.router.router import ERROR, OUTCOMES, REFUSED, ArrivalMode, RequestOutcomes
from drr.scheduler.arbiters import ArbiterName
from drr.scheduler.calls import CallLog
from drr.scheduler.ring import CursorRule
from drr.simulation.backlog import BacklogTally
from drr.simulation.cluster import EndpointChange
from drr.simulation.snapshots import Snapshots
from drr.simulation.state import RunState, StepKind

if TYPE_CHECKING:
    import pandas as pd

_BYPASSED, _QUEUED, _REFUSED, _DECISION, _EMPTY_CALL, _FIRST_TOKEN, _COMPLETION, _ERROR, _CHANGE, _HEAD_ERROR = (
    int(kind)
    for kind in (
        StepKind.BYPASSED,
        StepKind.QUEUED,
        StepKind.REFUSED,
        StepKind.DECISION,
        StepKind.EMPTY_CALL,
        StepKind.FIRST_TOKEN,
        StepKind.COMPLETION,
        StepKind.ERROR,
        StepKind.WORKER_CHANGE,
        StepKind.HEAD_ERROR,
    )
)


def _cannot_rerun(rule: CursorRule) -> Run:
    raise ValueError(f"this run came from another process; its twin under rule {rule} can only be made there")


class Recorder:
    """Writes down what it is told, one record (a step) per event, in flat columns.

    ``kinds`` (:class:`StepKind`), ``times_ms``, ``requests`` (row, -1 for none), ``endpoints`` (index, -1 for none);
    for queued arrivals the endpoint column is the lane. ``calls`` is what the ring says of its arbitration calls;
    ``admit_steps`` is, per row, the first step that finds the request admitted by its engine, -1 where none does.
    """

    def __init__(self, rows: int, *, wide: bool = False) -> None:
        self.kinds = array("B")
        self.times_ms = array("d")
        self.requests = array("i")
        self.endpoints = array("i")
        self.calls = CallLog(wide=wide)
        self.had_first_token = array("B", bytes(rows))
        self.admit_steps = array("i", [-1]) * rows
        self.changes: dict[int, EndpointChange] = {}

    def _note(self, kind: int, now_ms: float, request: int, endpoint: int) -> None:
        self.kinds.append(kind)
        self.times_ms.append(now_ms)
        self.requests.append(request)
        self.endpoints.append(endpoint)

    def bypassed(self, now_ms: float, request: int, endpoint: int) -> None:
        """See :class:`drr.router.router.Listener`, which this class is."""
        self._note(_BYPASSED, now_ms, request, endpoint)

    def queued(self, now_ms: float, request: int, lane: int) -> None:
        """Note an arrival that joined a lane."""
        self._note(_QUEUED, now_ms, request, lane)

    def refused(self, now_ms: float, request: int, refusal: Refusal) -> None:
        """Note an arrival that met a full class."""
        self._note(_REFUSED, now_ms, request, -1)

    def dispatched(self, now_ms: float, request: int, endpoint: int) -> None:
        """Note a decision."""
        self._note(_DECISION, now_ms, request, endpoint)

    def nothing_dispatched(self, now_ms: float) -> None:
        """Note an empty call."""
        self._note(_EMPTY_CALL, now_ms, -1, -1)

    def failed(self, now_ms: float, request: int, error: SelectionError, by_call: bool) -> None:
        """Note a selection error."""
        self._note(_HEAD_ERROR if by_call else _ERROR, now_ms, request, -1)

    def first_token(self, now_ms: float, request: int, endpoint: int) -> None:
        """Note the end of a prefill."""
        self.had_first_token[request] = 1
        self._note(_FIRST_TOKEN, now_ms, request, endpoint)

    def admitted(self, request: int) -> None:
        """Note that an engine admitted a request for the first time; that is no step of its own."""
        self.admit_steps[request] = len(self.kinds)

    def completed(self, now_ms: float, request: int, endpoint: int) -> None:
        """Note that a request ended on its endpoint."""
        self._note(_COMPLETION, now_ms, request, endpoint)

    def worker_changed(self, now_ms: float, change: EndpointChange) -> None:
        """Note that an endpoint or worker changed."""
        self.changes[len(self.kinds)] = change
        self._note(_CHANGE, now_ms, -1, change.endpoint)


class ResultRow(NamedTuple):
    """One line of a result file. Times are ms; ``worker`` is a worker id, ``worker:rank`` where workers have ranks."""

    row: int
    policy_class: str | None
    outcome: str
    released_at_ms: float | None
    worker: int | str | None
    first_admit_ms: float | None
    first_token_ms: float | None
    last_token_ms: float | None
    reason: str | None


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class RunInputs:
    """What a run was made from, and how to make its twin under the other cursor rule."""

    profile: Profile
    requests: RequestTable
    workers: tuple[Worker, ...]
    cursor_rule: CursorRule
    rerun: Callable[[CursorRule], Run]
    arbiter: ArbiterName = "drr"
    arrivals: ArrivalMode = "bypass"
    endpoint_keys: list[tuple[int, int]] = field(default_factory=list)
    limit_for_all: int | None = None
    """Busy limit in the place of every class's own (teaching runs); None for the policy's."""
    runs_at_once: bool = False
    """Whether a request runs as soon as it is dispatched (teaching runs); else its engine admits it some time later."""

    def __getstate__(self) -> dict[str, object]:
        """A closure cannot travel to another process."""
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "rerun": _cannot_rerun}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


class Run:
    """A finished (or aborted) run. Steps are records, see :mod:`drr.simulation.state`; rows are requests.

    Columns are read only. ``recorder`` is None for a light run: then there are results per request but no steps.
    """

    def __init__(
        self,
        inputs: RunInputs,
        outcomes: RequestOutcomes,
        recorder: Recorder | None,
        *,
        first_admit_ms: Sequence[float | None],
        first_token_ms: Sequence[float | None],
        last_token_ms: Sequence[float | None],
        completion_order: Sequence[int],
        tally: BacklogTally | None = None,
        refused_by_engine: frozenset[int] = frozenset(),
        not_cheapest: dict[int, tuple[int, tuple[int, ...]]] | None = None,
        aborted_because: str | None = None,
    ) -> None:
        self.inputs = inputs
        self.profile = inputs.profile
        self.requests = inputs.requests
        self.cursor_rule = inputs.cursor_rule
        self.outcomes = outcomes
        self.recorder = recorder
        self.first_admit_ms = first_admit_ms
        self.first_token_ms = first_token_ms
        self.last_token_ms = last_token_ms
        self.completion_order = completion_order
        """Request rows in the order in which they ended on their endpoints."""
        self._tally = tally
        self.refused_by_engine = refused_by_engine
        self.not_cheapest = not_cheapest or {}
        self.aborted_because = aborted_because
        self.class_names = tuple(c.name for c in inputs.profile.classes)
        endpoints_of = Counter(worker for worker, _ in inputs.endpoint_keys)
        self._ranked = {worker for worker, endpoints in endpoints_of.items() if endpoints > 1}
        self.endpoint_names = tuple(
            f"worker {worker} rank {rank}" if worker in self._ranked else f"worker {worker}"
            for worker, rank in inputs.endpoint_keys
        )

    # --- per request row ---------------------------------------------------------------------------------

    @property
    def class_index(self) -> Sequence[int]:
        """Class index per row, -1 where the request never arrived."""
        return self.outcomes.class_index

    @property
    def cost_tokens(self) -> Sequence[int]:
        """Scheduling cost per row: uncached tokens, at least 1."""
        return self.outcomes.cost_tokens

    @property
    def endpoint(self) -> Sequence[int]:
        """Endpoint index per row, -1 where it was never dispatched."""
        return self.outcomes.endpoint

    @property
    def arrival_ms(self) -> Sequence[float | None]:
        """Arrival time per row, None where the request never arrived."""
        return self.outcomes.arrival_ms

    @property
    def released_at_ms(self) -> Sequence[float | None]:
        """When a queued request was dispatched, per row; None where it was not queued or still waits."""
        return self.outcomes.released_ms

    @cached_property
    def outcome(self) -> list[str]:
        """Outcome per row: immediate, queued, refused, error, or empty where the request never arrived."""
        return [OUTCOMES[code] for code in self.outcomes.outcome]

    def reason(self, row: int) -> str | None:
        """Why a request was refused or failed; None where it was served or still waits."""
        code = self.outcomes.outcome[row]
        if code == REFUSED:
            return self.outcomes.refusal[row].text(self.class_names[self.class_index[row]])
        if code == ERROR:
            return str(self.outcomes.error[row])
        if row in self.refused_by_engine:
            return "refused by the engine: the prompt does not fit its KV pool or its model length"
        return None

    def result_rows(self) -> list[ResultRow]:
        """One result per request, in row order."""
        keys = self.inputs.endpoint_keys
        rows = []
        for row, endpoint in enumerate(self.outcomes.endpoint):
            worker: int | str | None = None
            if endpoint >= 0:
                number, rank = keys[endpoint]
                worker = f"{number}:{rank}" if number in self._ranked else number
            index = self.outcomes.class_index[row]
            rows.append(
                ResultRow(
                    row,
                    self.class_names[index] if index >= 0 else None,
                    OUTCOMES[self.outcomes.outcome[row]],
                    self.outcomes.released_ms[row],
                    worker,
                    self.first_admit_ms[row],
                    self.first_token_ms[row],
                    self.last_token_ms[row],
                    self.reason(row),
                )
            )
        return rows

    @cached_property
    def backlog(self) -> BacklogTally:
        """Service per set of backlogged classes."""
        if self._tally is not None:
            return self._tally
        recorder = self._recorded
        tally = BacklogTally(self.class_index, self.cost_tokens, len(self.class_names))
        for kind, row in zip(recorder.kinds, recorder.requests, strict=True):
            if kind == _QUEUED:
                tally.queued(0.0, row, -1)
            elif kind == _DECISION:
                tally.dispatched(0.0, row, -1)
            elif kind == _HEAD_ERROR:
                tally.failed(0.0, row, self.outcomes.error[row], by_call=True)
        return tally

    # --- per step ----------------------------------------------------------------------------------------

    @property
    def _recorded(self) -> Recorder:
        if self.recorder is None:
            raise ValueError("this run was made without recording: it has results but no steps")
        return self.recorder

    @property
    def n_steps(self) -> int:
        """Number of records."""
        return len(self._recorded.kinds)

    @property
    def kinds(self) -> Sequence[int]:
        """:class:`StepKind` value per step."""
        return self._recorded.kinds

    @property
    def times_ms(self) -> Sequence[float]:
        """Simulated time per step."""
        return self._recorded.times_ms

    @property
    def step_request(self) -> Sequence[int]:
        """Request row per step, -1 for none."""
        return self._recorded.requests

    @property
    def step_endpoint(self) -> Sequence[int]:
        """Endpoint index per step, -1 for none; for queued arrivals the lane they joined, -1 for the shared one."""
        return self._recorded.endpoints

    @cached_property
    def decision_steps(self) -> array[int]:
        """The steps that are decisions, ascending."""
        return array("i", (step for step, kind in enumerate(self._recorded.kinds) if kind == _DECISION))

    def step_at_time(self, time_ms: float) -> int:
        """The last step not after a simulated time; -1 before the first."""
        return bisect_right(self._recorded.times_ms, time_ms) - 1

    def refusal_at(self, step: int) -> Refusal | None:
        """What limit the refused arrival of a step met; None for other steps."""
        return self.outcomes.refusal.get(self.step_request[step])

    @cached_property
    def snapshots(self) -> Snapshots:
        """Rebuilds states; its index is made on first use."""
        return Snapshots(self.inputs, self.outcomes, self._recorded)

    def state_at(self, step: int) -> RunState:
        """The whole picture right after a step; -1 is the state before the first."""
        return self.snapshots.state_at(step)

    # --- the other rule, tables --------------------------------------------------------------------------

    @cached_property
    def other_rule(self) -> Run:
        """The same inputs under the other cursor rule, run on first use, without recording."""
        other = self.inputs.rerun("carry" if self.cursor_rule == "documented" else "documented")
        if other.recorder is not None:
            # Scripted runs are recorded under both rules. Without this, one would travel with runs of runs without end.
            other.__dict__["other_rule"] = self
        return other

    def __getstate__(self) -> dict[str, object]:
        """A run that travels to another process takes along what can only be made, or is better made, here."""
        if self.recorder is not None:
            _ = self.other_rule, self.snapshots
        return self.__dict__

    def requests_frame(self) -> pd.DataFrame:
        """One line per request: name, class, cost, outcome, times (ms), endpoint, reason."""
        import pandas as pd

        frame = pd.DataFrame(self.result_rows(), columns=list(ResultRow._fields))
        frame.insert(1, "request", [self.requests.label(row) for row in range(len(self.requests))])
        frame.insert(3, "cost_tokens", list(self.cost_tokens))
        frame.insert(4, "cached_tokens", list(self.outcomes.cached_tokens))
        frame.insert(5, "arrival_ms", list(self.arrival_ms))
        return frame

    def steps_frame(self) -> pd.DataFrame:
        """One line per step: kind, time (ms), request, class, endpoint."""
        import pandas as pd

        rows = self.step_request
        names = (*self.class_names, None)
        return pd.DataFrame(
            {
                "step": range(self.n_steps),
                "kind": [StepKind(kind).name.lower() for kind in self.kinds],
                "time_ms": list(self.times_ms),
                "request": [self.requests.label(row) if row >= 0 else None for row in rows],
                "policy_class": [names[self.class_index[row]] if row >= 0 else None for row in rows],
                "endpoint": [self.endpoint_names[e] if e >= 0 else None for e in self.step_endpoint],
            }
        )
