"""The endpoints, that is (worker, dp rank) pairs: who is there, what they hold, and when they count as busy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from drr.errors import WorkloadError
from drr.policy.schema import PolicyClass
from drr.router.requests import Constraint

NEVER_BUSY = 1 << 200
"""A busy limit no load reaches: the class has no threshold."""

MOST_BATCHED_TOKENS = 2**63
"""The largest ``max_num_batched_tokens``: a fraction of it is a double."""

HELD_BUSY = -1
"""A busy limit every load is above: a script holds the endpoint busy."""


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker: its dp ranks are ``dp_start .. dp_start + dp_size - 1``, every rank an endpoint of its own.

    ``max_num_batched_tokens`` is what a class's ``prefill_busy_threshold_frac`` is a fraction of. Raises
    :class:`WorkloadError` where it is more than :data:`MOST_BATCHED_TOKENS`.
    """

    worker_id: int
    dp_size: int = 1
    dp_start: int = 0
    max_num_batched_tokens: int = 8192
    taints: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.max_num_batched_tokens > MOST_BATCHED_TOKENS:
            raise WorkloadError(f"worker {self.worker_id}: max_num_batched_tokens of at most 2^63 is allowed")


def uniform_cluster(workers: int, *, dp_size: int = 1, max_num_batched_tokens: int = 8192) -> tuple[Worker, ...]:
    """``workers`` equal workers with ids 0, 1, 2 ..."""
    return tuple(Worker(i, dp_size, max_num_batched_tokens=max_num_batched_tokens) for i in range(workers))


class SelectionError(StrEnum):
    """Why no endpoint may serve a request."""

    NO_ENDPOINTS = "no endpoint is there that may serve it"
    PINNED_WORKER_UNKNOWN = "the worker it is pinned to is not there"
    PINNED_WORKER_NOT_ALLOWED = "the worker it is pinned to is not on its allow-list or lacks a required taint"
    DP_RANK_OUT_OF_RANGE = "the worker it is pinned to has no such dp rank"
    PINNED_WORKER_OVERLOADED = "the worker it is pinned to is overloaded"
    ALL_OVERLOADED = "every endpoint that may serve it is overloaded"


def busy_limit(policy_class: PolicyClass, max_num_batched_tokens: int) -> int:
    """The active prefill tokens above which an endpoint is busy for a class; either threshold is enough.

    "Above x" with a whole number of tokens is "above floor(x)", so the fraction becomes a whole limit.
    """
    limit = NEVER_BUSY
    if policy_class.prefill_busy_threshold is not None:
        limit = policy_class.prefill_busy_threshold
    if policy_class.prefill_busy_threshold_frac is not None:
        scaled = policy_class.prefill_busy_threshold_frac * max_num_batched_tokens
        if scaled < NEVER_BUSY:
            limit = min(limit, math.floor(scaled))
    return limit


def pool_is_busy(busy_count: int, eligible: int, busy_worker_ratio: float | None) -> bool:
    """Whether so many busy endpoints among so many eligible ones make a shared head wait; with none eligible never."""
    if not eligible:
        return False
    return busy_count >= (eligible if busy_worker_ratio is None else busy_worker_ratio * eligible)


class Endpoints:
    """Live state of every endpoint, by index. An endpoint that left keeps its index; a pin may name one never seen.

    ``loads[e]`` is the active prefill tokens, ``limits[c][e]`` the busy limit of class c there.
    """

    def __init__(
        self, workers: Iterable[Worker], classes: Sequence[PolicyClass], *, limit_for_all: int | None = None
    ) -> None:
        """Start with these workers; ``limit_for_all`` stands in for every class's own busy limit (teaching runs)."""
        self.classes = tuple(classes)
        self._limit_for_all = limit_for_all
        self.keys: list[tuple[int, int]] = []
        self.loads: list[int] = []
        self.present: list[bool] = []
        self.overloaded: list[bool] = []
        self.held: list[bool] = []
        self.limits: list[list[int]] = [[] for _ in self.classes]
        self.workers: dict[int, Worker] = {}
        self._index: dict[tuple[int, int], int] = {}
        self._eligible: dict[Constraint, tuple[int, ...] | SelectionError] = {}
        for worker in workers:
            self.add_worker(worker)

    def index(self, worker_id: int, dp_rank: int) -> int:
        """Index of an endpoint; one that was never there gets an index too, so that a lane can be named after it."""
        key = (worker_id, dp_rank)
        found = self._index.get(key)
        if found is not None:
            return found
        self._index[key] = len(self.keys)
        self.keys.append(key)
        self.loads.append(0)
        self.present.append(False)
        self.overloaded.append(False)
        self.held.append(False)
        for limits in self.limits:
            limits.append(NEVER_BUSY)
        return len(self.keys) - 1

    def add_worker(self, worker: Worker) -> list[int]:
        """A worker joins (or comes back, perhaps with other properties but the same flags); returns its endpoints."""
        if worker.worker_id in self.workers:
            self.remove_worker(worker.worker_id)
        self.workers[worker.worker_id] = worker
        mine = [self.index(worker.worker_id, worker.dp_start + rank) for rank in range(worker.dp_size)]
        for endpoint in mine:
            self.present[endpoint] = True
            self._set_limits(endpoint)
        self._eligible.clear()
        return mine

    def remove_worker(self, worker_id: int) -> list[int]:
        """A worker leaves; returns its former endpoints. What it holds stays counted until it is given back."""
        self.workers.pop(worker_id, None)
        mine = [e for e, key in enumerate(self.keys) if key[0] == worker_id and self.present[e]]
        for endpoint in mine:
            self.present[endpoint] = False
        self._eligible.clear()
        return mine

    def set_overloaded(self, endpoint: int, overloaded: bool) -> None:
        """Set or clear the flag that takes an endpoint out of selection."""
        self.overloaded[endpoint] = overloaded
        self._eligible.clear()

    def set_held(self, endpoint: int, held: bool) -> None:
        """Hold an endpoint busy for every class, whatever it carries (teaching runs), or let it go."""
        self.held[endpoint] = held
        self._set_limits(endpoint)

    def _set_limits(self, endpoint: int) -> None:
        worker = self.workers.get(self.keys[endpoint][0])
        for policy_class, limits in zip(self.classes, self.limits, strict=True):
            if self.held[endpoint]:
                limits[endpoint] = HELD_BUSY
            elif self._limit_for_all is not None:
                limits[endpoint] = self._limit_for_all
            elif worker is not None:
                limits[endpoint] = busy_limit(policy_class, worker.max_num_batched_tokens)

    def discovered(self) -> int:
        """Number of endpoints that are there, overloaded or not: what queue limits are multiplied with."""
        return sum(self.present)

    def target(self, constraint: Constraint) -> int:
        """The one endpoint a request is pinned to, or -1 where several may serve it."""
        if constraint.pin_worker is None:
            return -1
        if constraint.pin_rank is not None:
            return self.index(constraint.pin_worker, constraint.pin_rank)
        worker = self.workers.get(constraint.pin_worker)
        if worker is None:
            return self.index(constraint.pin_worker, 0)
        return self.index(worker.worker_id, worker.dp_start) if worker.dp_size == 1 else -1

    def eligible(self, constraint: Constraint) -> tuple[int, ...] | SelectionError:
        """The endpoints that may serve a request now, in index order, or why there is none."""
        found = self._eligible.get(constraint)
        if found is None:
            found = self._eligible[constraint] = self._find_eligible(constraint)
        return found

    def _find_eligible(self, constraint: Constraint) -> tuple[int, ...] | SelectionError:
        allowed = [e for e, key in enumerate(self.keys) if self.present[e] and self._allows(constraint, key[0])]
        if constraint.pin_worker is not None:
            return self._find_pinned(constraint, allowed)
        if not allowed:
            return SelectionError.NO_ENDPOINTS
        free = tuple(e for e in allowed if not self.overloaded[e])
        return free or SelectionError.ALL_OVERLOADED

    def _find_pinned(self, constraint: Constraint, allowed: list[int]) -> tuple[int, ...] | SelectionError:
        worker = self.workers.get(constraint.pin_worker) if constraint.pin_worker is not None else None
        if worker is None:
            return SelectionError.PINNED_WORKER_UNKNOWN
        mine = [e for e in allowed if self.keys[e][0] == worker.worker_id]
        if not mine:
            return SelectionError.PINNED_WORKER_NOT_ALLOWED
        if constraint.pin_rank is not None:
            mine = [e for e in mine if self.keys[e][1] == constraint.pin_rank]
            if not mine:
                return SelectionError.DP_RANK_OUT_OF_RANGE
        free = tuple(e for e in mine if not self.overloaded[e])
        # Without a rank, a pin to a worker with several is an allow-list.
        return free or (SelectionError.PINNED_WORKER_OVERLOADED if len(mine) == 1 else SelectionError.ALL_OVERLOADED)

    def _allows(self, constraint: Constraint, worker_id: int) -> bool:
        if constraint.allowed_workers is not None and worker_id not in constraint.allowed_workers:
            return False
        return constraint.required_taints <= self.workers[worker_id].taints
