"""Changes of the cluster during a run: a worker is held busy or let go, overloaded or not, joins or leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from drr.errors import WorkloadError
from drr.router.endpoints import Endpoints, Worker

ChangeKind = Literal["hold", "free", "overload", "recover", "join", "leave"]
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)


@dataclass(frozen=True, slots=True)
class Change:
    """A worker (all its dp ranks) changes. A worker that leaves takes no more requests; those it has it finishes.

    The router then dispatches until nothing may go; with ``wait`` (scripts) not before a call is made.
    """

    what: ChangeKind
    worker: int | Worker
    wait: bool = False

    @property
    def worker_id(self) -> int:
        """The id of the worker."""
        return self.worker.worker_id if isinstance(self.worker, Worker) else self.worker


@dataclass(frozen=True, slots=True)
class TimedChange:
    """A change at a moment of simulated time (ms)."""

    at_ms: float
    change: Change

    def __post_init__(self) -> None:
        if not 0 <= self.at_ms < float("inf"):
            raise WorkloadError(f"cluster change at {self.at_ms!r} ms: a finite time of at least 0 ms is allowed")
        if self.change.what not in CHANGE_KINDS:
            raise WorkloadError(f"cluster change {self.change.what!r} is unknown, allowed: {', '.join(CHANGE_KINDS)}")


@dataclass(frozen=True, slots=True)
class EndpointChange:
    """What a change means for one endpoint; ``worker`` is the one that joins."""

    what: Literal["join", "leave", "overloaded", "held"]
    endpoint: int
    worker: Worker | None = None
    value: bool = True

    def apply(self, endpoints: Endpoints) -> None:
        """Make the change."""
        if self.what == "join" and self.worker is not None:
            endpoints.add_worker(self.worker)
        elif self.what == "leave":
            endpoints.remove_worker(endpoints.keys[self.endpoint][0])
        elif self.what == "overloaded":
            endpoints.set_overloaded(self.endpoint, self.value)
        else:
            endpoints.set_held(self.endpoint, self.value)


def endpoint_changes(endpoints: Endpoints, change: Change) -> list[EndpointChange]:
    """The changes per endpoint, not made yet; none where the worker is not there."""
    if change.what == "join":
        worker = change.worker if isinstance(change.worker, Worker) else Worker(change.worker)
        return [EndpointChange("join", endpoints.index(worker.worker_id, worker.dp_start), worker)]
    mine = [e for e, key in enumerate(endpoints.keys) if key[0] == change.worker_id and endpoints.present[e]]
    if change.what == "leave":
        return [EndpointChange("leave", mine[0])] if mine else []
    if change.what in ("hold", "free"):
        return [EndpointChange("held", e, value=change.what == "hold") for e in mine]
    return [EndpointChange("overloaded", e, value=change.what == "overload") for e in mine]


def foresee(endpoints: Endpoints, changes: Sequence[TimedChange], workers: Sequence[Worker]) -> list[TimedChange]:
    """The changes in order of time; every endpoint that will ever join gets its index now.

    A worker that joins by its id alone comes back as it was, or as the first worker is.
    """
    known = {worker.worker_id: worker for worker in workers}
    ordered = []
    for timed in sorted(changes, key=lambda each: each.at_ms):
        change = timed.change
        if change.what == "join" and not isinstance(change.worker, Worker):
            like = known.get(change.worker, workers[0] if workers else Worker(change.worker))
            change = Change("join", Worker(change.worker, like.dp_size, like.dp_start, like.max_num_batched_tokens))
            if change.worker_id in known:
                change = Change("join", like)
        if isinstance(change.worker, Worker):
            known[change.worker_id] = change.worker
            for rank in range(change.worker.dp_size):
                endpoints.index(change.worker_id, change.worker.dp_start + rank)
        ordered.append(TimedChange(timed.at_ms, change))
    return ordered
