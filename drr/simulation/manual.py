"""The manual worker model, for teaching: nothing happens by itself, a script says what happens next.

With ``capacity="open"`` nothing is ever busy and a request is gone once it is dispatched; with ``"one"`` a worker is
busy while it holds a request; with ``"policy"`` the policy's thresholds decide. Under every capacity a script can block
workers, free them, let them join and leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from drr.errors import WorkloadError
from drr.policy.schema import Profile
from drr.router.endpoints import NEVER_BUSY, Endpoints, Worker, uniform_cluster
from drr.router.requests import RequestTable
from drr.router.router import ArrivalMode, Router
from drr.router.selection import WorkerChoice
from drr.scheduler.arbiters import ArbiterName
from drr.scheduler.ring import CursorRule
from drr.simulation.cluster import Change, endpoint_changes, with_worker
from drr.simulation.recording import Recorder, Run, RunInputs

__all__ = [
    "Action",
    "Arrive",
    "At",
    "Call",
    "Capacity",
    "Change",
    "Drain",
    "Finish",
    "FirstToken",
    "run_manual",
]

Capacity = Literal["open", "one", "policy"]

_LIMITS: dict[Capacity, int | None] = {"open": NEVER_BUSY, "one": 0, "policy": None}


@dataclass(frozen=True, slots=True)
class Arrive:
    """A request arrives. With ``wait`` it joins its lane and nothing is dispatched until a call is made."""

    request: int
    wait: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """Make this many arbitration calls, dispatching or not."""

    times: int = 1


@dataclass(frozen=True, slots=True)
class Drain:
    """Call arbitration until it returns nothing."""


@dataclass(frozen=True, slots=True)
class Finish:
    """A request ends where it runs and gives its load back, then a drain; where none fits there is only the drain.

    Without a ``request`` the oldest one on ``worker`` ends, without a worker the oldest anywhere.
    """

    request: int | None = None
    worker: int | None = None


@dataclass(frozen=True, slots=True)
class FirstToken:
    """A request's prefill ends (its prefill load comes back), then the ring is drained."""

    request: int


@dataclass(frozen=True, slots=True)
class At:
    """The clock goes to this time (ms)."""

    time_ms: float


Action = Arrive | Call | Drain | Finish | FirstToken | Change | At


def run_manual(
    profile: Profile,
    requests: RequestTable,
    script: Sequence[Action],
    *,
    workers: int | Sequence[Worker] = 1,
    capacity: Capacity = "open",
    cursor_rule: CursorRule = "documented",
    arbiter: ArbiterName = "drr",
    arrivals: ArrivalMode = "through_ring",
    seed: int = 0,
) -> Run:
    """Play a script. Requests that the script does not let arrive stay away; what waits at the end keeps waiting.

    Whatever the policy says, every class queues here unless ``capacity`` is ``"policy"``.
    """
    cluster = uniform_cluster(workers) if isinstance(workers, int) else tuple(workers)

    def run(rule: CursorRule) -> Run:
        inputs = RunInputs(
            profile=profile,
            requests=requests,
            workers=cluster,
            cursor_rule=rule,
            arbiter=arbiter,
            arrivals=arrivals,
            rerun=run,
            limit_for_all=_LIMITS[capacity],
            runs_at_once=True,
        )
        player = _Player(inputs, capacity, seed)
        for action in script:
            player.play(action)
        return player.result()

    return run(cursor_rule)


class _Player:
    """One manual run in progress."""

    def __init__(self, inputs: RunInputs, capacity: Capacity, seed: int) -> None:
        rows = len(inputs.requests)
        self._inputs = inputs
        self._gone_at_once = capacity == "open"
        self._recorder = Recorder(rows, wide=True)
        self._endpoints = Endpoints(inputs.workers, inputs.profile.classes, limit_for_all=inputs.limit_for_all)
        self._router = Router(
            inputs.profile,
            self._endpoints,
            inputs.requests,
            self._submit,
            choice=WorkerChoice(1, seed),
            block_size=1,
            cursor_rule=inputs.cursor_rule,
            arbiter=inputs.arbiter,
            arrivals=inputs.arrivals,
            log=self._recorder.calls,
            listener=self._recorder,
            every_class_queues=capacity != "policy",
            # One request at a time: even a prompt that is cached whole holds its worker.
            least_load=1 if capacity == "one" else 0,
        )
        self._known = {worker.worker_id: worker for worker in inputs.workers}
        self._now_ms = 0.0
        self._running: list[int] = []
        self._ended: list[int] = []
        self._started: list[float | None] = [None] * rows
        self._first: list[float | None] = [None] * rows
        self._last: list[float | None] = [None] * rows

    def _submit(self, request: int, endpoint: int) -> None:
        self._started[request] = self._now_ms
        self._running.append(request)

    def play(self, action: Action) -> None:
        """Do one thing; what makes no sense here raises :class:`WorkloadError`."""
        router = self._router
        if isinstance(action, At):
            if action.time_ms < self._now_ms:
                raise WorkloadError(f"script: the clock cannot go back from {self._now_ms:g} to {action.time_ms:g} ms")
            self._now_ms = action.time_ms
        elif isinstance(action, Arrive):
            self._arrive(action)
        elif isinstance(action, Call):
            for _ in range(action.times):
                router.call(self._now_ms)
                self._clear()
        elif isinstance(action, Drain):
            while router.call(self._now_ms):
                self._clear()
        elif isinstance(action, Finish):
            self._finish(action)
        elif isinstance(action, FirstToken):
            self._first_token(action.request)
        else:
            self._change(action)
        self._clear()

    def _arrive(self, action: Arrive) -> None:
        router = self._router
        if router.outcomes.arrival_ms[action.request] is not None:
            raise WorkloadError(f"script: {self._inputs.requests.label(action.request)} arrives a second time")
        if action.wait:
            _, lane = router.classify(action.request, self._now_ms)
            router.enqueue(action.request, self._now_ms, lane, drain=False)
        else:
            router.arrive(action.request, self._now_ms)

    def _first_token(self, request: int) -> None:
        if request not in self._running or self._recorder.had_first_token[request]:
            raise WorkloadError(f"script: {self._inputs.requests.label(request)} is not in its prefill on any worker")
        self._first[request] = self._now_ms
        self._router.prefill_ended(request)
        self._recorder.first_token(self._now_ms, request, self._router.outcomes.endpoint[request])
        self._router.drain(self._now_ms)

    def _clear(self) -> None:
        """With open capacity whatever was dispatched is gone at once: its end is recorded, no drain follows."""
        self._router.failed.clear()
        while self._gone_at_once and self._running:
            self._end(self._running[0])

    def _end(self, request: int) -> None:
        self._running.remove(request)
        if self._first[request] is None:
            self._first[request] = self._now_ms
        self._last[request] = self._now_ms
        self._ended.append(request)
        self._router.completed(request, prefilling=not self._recorder.had_first_token[request])
        self._recorder.completed(self._now_ms, request, self._router.outcomes.endpoint[request])

    def _finish(self, action: Finish) -> None:
        for request in list(self._running):
            key = self._endpoints.keys[self._router.outcomes.endpoint[request]]
            if action.request == request or (action.request is None and action.worker in (None, key[0])):
                self._end(request)
                break
        self._router.drain(self._now_ms)

    def _change(self, change: Change) -> None:
        """Make a change, and drain unless the script wants to make the next call itself."""
        for each in endpoint_changes(self._endpoints, with_worker(change, self._known)):
            each.apply(self._endpoints)
            self._recorder.worker_changed(self._now_ms, each)
        for endpoint in range(len(self._endpoints.keys)):
            self._router.endpoint_changed(endpoint)
        if not change.wait:
            self._router.drain(self._now_ms)

    def result(self) -> Run:
        """Wrap up what happened."""
        self._inputs.endpoint_keys = list(self._endpoints.keys)
        return Run(
            self._inputs,
            self._router.outcomes,
            self._recorder,
            first_admit_ms=self._started,
            first_token_ms=self._first,
            last_token_ms=self._last,
            completion_order=self._ended,
        )
