"""Changes of the cluster during a run: a worker is held busy or let go, overloaded or not, joins or leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """The changes per endpoint, not made yet; none where the worker is not there. See :func:`with_worker` for joins."""
    if change.what == "join":
        worker = change.worker if isinstance(change.worker, Worker) else Worker(change.worker)
        return [EndpointChange("join", endpoints.index(worker.worker_id, worker.dp_start), worker)]
    mine = [e for e, key in enumerate(endpoints.keys) if key[0] == change.worker_id and endpoints.present[e]]
    if change.what == "leave":
        return [EndpointChange("leave", mine[0])] if mine else []
    if change.what in ("hold", "free"):
        return [EndpointChange("held", e, value=change.what == "hold") for e in mine]
    return [EndpointChange("overloaded", e, value=change.what == "overload") for e in mine]


def with_worker(change: Change, known: dict[int, Worker]) -> Change:
    """A change whose joining worker is whole: one that joins by its id alone comes back as it was, or as the first is.

    ``known`` are all workers so far by id, the first one first; one that joins is added. New workers have no taints.
    """
    if change.what != "join":
        return change
    worker = change.worker
    if not isinstance(worker, Worker):
        first = next(iter(known.values()), Worker(worker))
        worker = known.get(worker, replace(first, worker_id=worker, taints=frozenset()))
    known[worker.worker_id] = worker
    return replace(change, worker=worker)


def foresee(endpoints: Endpoints, changes: Sequence[TimedChange], workers: Sequence[Worker]) -> list[TimedChange]:
    """The changes in order of time, and the ``workers`` of the start put in place.

    Every endpoint that will ever be there gets its index now, in the order of worker id and dp rank: that is the order
    of what happens at one time.
    """
    known = {worker.worker_id: worker for worker in workers}
    ordered = [
        replace(timed, change=with_worker(timed.change, known))
        for timed in sorted(changes, key=lambda each: each.at_ms)
    ]
    every = [*workers, *(t.change.worker for t in ordered if isinstance(t.change.worker, Worker))]
    for key in sorted((each.worker_id, each.dp_start + rank) for each in every for rank in range(each.dp_size)):
        endpoints.index(*key)
    for worker in workers:
        endpoints.add_worker(worker)
    return ordered
