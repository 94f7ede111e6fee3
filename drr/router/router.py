"""The router: classifies arrivals, queues or dispatches them, and drains the ring when capacity comes back."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Literal, Protocol, get_args

from drr.policy.schema import Profile
from drr.router.admission import QueueLimits, Refusal
from drr.router.endpoints import Endpoints, SelectionError, pool_is_busy
from drr.router.prefix import NO_BLOCKS, leading
from drr.router.requests import Constraint, RequestTable, token_column
from drr.router.selection import WorkerChoice
from drr.scheduler.arbiters import Arbiter, ArbiterName, make_arbiter
from drr.scheduler.calls import CallLog
from drr.scheduler.lanes import SHARED, ClassLanes, fcfs_score, wspt_score
from drr.scheduler.ring import CursorRule

ArrivalMode = Literal["bypass", "through_ring"]
"""Whether a request that need not wait goes out at once (offline replay) or by an arbitration call (live service)."""

ARRIVAL_MODES: tuple[ArrivalMode, ...] = get_args(ArrivalMode)

OUTCOMES = ("", "immediate", "queued", "refused", "error")
NOT_ARRIVED, IMMEDIATE, QUEUED, REFUSED, ERROR = range(5)
"""Outcome codes; a queued request keeps its code after its dispatch."""

_ANYWHERE = Constraint()


class Listener(Protocol):
    """Is told what the router does, in order. Times are milliseconds of simulated time."""

    def bypassed(self, now_ms: float, request: int, endpoint: int) -> None:
        """An arrival was dispatched at once, outside ring and deficits."""

    def queued(self, now_ms: float, request: int, lane: int) -> None:
        """An arrival joined a lane of its class (-1: the shared one)."""

    def refused(self, now_ms: float, request: int, refusal: Refusal) -> None:
        """An arrival met a full class."""

    def dispatched(self, now_ms: float, request: int, endpoint: int) -> None:
        """An arbitration call let a request go."""

    def nothing_dispatched(self, now_ms: float) -> None:
        """An arbitration call let nothing go."""

    def failed(self, now_ms: float, request: int, error: SelectionError, by_call: bool) -> None:
        """No endpoint may serve a request: found at arrival, or (``by_call``) at the head of its lane."""


class RequestOutcomes:
    """What became of every request, by row: class, cost and cache hit in tokens, endpoint, outcome, release time."""

    def __init__(self, requests: RequestTable) -> None:
        rows = len(requests)
        most_tokens = max(requests.isl_tokens, default=0)
        self.class_index = array("i", [-1]) * rows
        self.cost_tokens = token_column(rows, most_tokens)
        self.cached_tokens = token_column(rows, most_tokens)
        self.prefill_tokens = token_column(rows, most_tokens)
        """What the request adds to the active prefill tokens of the endpoint it was dispatched to."""
        self.lane = array("i", [SHARED]) * rows
        self.endpoint = array("i", [-1]) * rows
        self.outcome = array("B", bytes(rows))
        self.arrival_ms: list[float | None] = [None] * rows
        self.released_ms: list[float | None] = [None] * rows
        self.error: dict[int, SelectionError] = {}
        self.refusal: dict[int, Refusal] = {}


class Router:
    """One profile's router over a set of endpoints. ``submit(request, endpoint)`` is called for every dispatch.

    Deficits, lanes and loads are those of the real router; time only passes through the ``now_ms`` arguments.
    """

    def __init__(
        self,
        profile: Profile,
        endpoints: Endpoints,
        requests: RequestTable,
        submit: Callable[[int, int], None],
        *,
        choice: WorkerChoice,
        block_size: int,
        cursor_rule: CursorRule = "documented",
        arbiter: ArbiterName = "drr",
        arrivals: ArrivalMode = "bypass",
        log: CallLog | None = None,
        listener: Listener | None = None,
        every_class_queues: bool = False,
        least_load: int = 0,
    ) -> None:
        self.profile = profile
        self.endpoints = endpoints
        self.requests = requests
        self.outcomes = RequestOutcomes(requests)
        self.waiting = 0
        self.lanes = [ClassLanes(i, self) for i in range(len(profile.classes))]
        quanta = [c.quantum for c in profile.classes]
        self.ring: Arbiter = make_arbiter(arbiter, self.lanes, quanta, cursor_rule, log)
        self.limits = QueueLimits(profile.classes)
        self.chains: list[Sequence[int]] | None = None
        """Block identities of every prompt, by row; None where neither caches nor worker choice need them."""
        self.failed: list[int] = []
        """Requests that calls let go only to end in a selection error; whoever drives the router empties the list."""
        self.cached_blocks: list[set[int]] = []
        """Per endpoint the identities its worker has cached, as far as the router was told; empty without caching."""
        self._submit = submit
        self._choice = choice
        self._block_size = block_size
        self._through_ring = arrivals == "through_ring"
        self.listener = listener
        self._overlaps: dict[int, list[int]] = {}
        # Per endpoint the exact lanes of others whose heads wait for it.
        self._strays: dict[int, set[int]] = {}
        self._sequence = 0
        # True while a further arbitration call would find what the last one found: nothing.
        self._settled = True
        self._plain = not requests.constraints
        self._one = len(endpoints.keys) == 1 and self._plain
        self._ratios = [c.busy_worker_ratio for c in profile.classes]
        self._can_queue = [c.has_threshold or every_class_queues for c in profile.classes]
        self._wspt = [c.queue_policy == "wspt" for c in profile.classes]
        self._class_of_header: dict[str | None, int] = {}
        self._one_bucket = len(profile.buckets) <= 1
        self._jumps = requests.priority_jump
        self._strict = requests.strict_priority
        self._least_load = least_load
        self._fixed_hits = any(hit >= 0 for hit in requests.cached_tokens)

    # --- questions about endpoints (the scheduler's Gate) -------------------------------------------------

    def eligible(self, request: int) -> tuple[int, ...] | SelectionError:
        """The endpoints that may serve a request now, or why there is none."""
        constraint = _ANYWHERE if self._plain else self.requests.constraints.get(request, _ANYWHERE)
        return self.endpoints.eligible(constraint)

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        """Whether all (or ``busy_worker_ratio`` of) the endpoints that may serve the request are busy for its class."""
        endpoints = self.endpoints
        loads = endpoints.loads
        limits = endpoints.limits[class_index]
        if self._one and endpoints.present[0] and not endpoints.overloaded[0]:
            return loads[0] > limits[0]
        eligible = self.eligible(request)
        if isinstance(eligible, SelectionError):
            return False
        return pool_is_busy(sum(loads[e] > limits[e] for e in eligible), len(eligible), self._ratios[class_index])

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        """Whether the pinned endpoint is busy for the class. One that may not serve the request blocks nothing."""
        eligible = self.eligible(request)
        if isinstance(eligible, SelectionError):
            return False
        if eligible[0] != endpoint or len(eligible) > 1:
            # A pin without rank goes with its worker, which came (back) with other ranks than its lane is named after.
            for each in eligible:
                self._strays.setdefault(each, set()).add(endpoint)
            return self.shared_is_blocked(class_index, request)
        return self.endpoints.loads[endpoint] > self.endpoints.limits[class_index][endpoint]

    # --- arrivals ----------------------------------------------------------------------------------------

    def arrive(self, request: int, now_ms: float) -> None:
        """A request arrives: it is dispatched at once, queued (and the ring drained), refused, or ends in an error."""
        index, lane = self.classify(request, now_ms)
        if self._can_queue[index] and (
            self._through_ring or self.lanes[index].size or self._is_blocked(index, request, lane)
        ):
            self.enqueue(request, now_ms, lane)
        else:
            self._dispatch(request, now_ms, by_call=False)

    def enqueue(self, request: int, now_ms: float, lane: int, *, drain: bool = True) -> None:
        """Put a classified request into a lane if its class is not full, then drain the ring."""
        outcomes = self.outcomes
        index = outcomes.class_index[request]
        if self.limits.limited[index]:
            refusal = self.limits.refusal(index, self.endpoints.discovered())
            if refusal is not None:
                outcomes.outcome[request] = REFUSED
                outcomes.refusal[request] = refusal
                if self.listener is not None:
                    self.listener.refused(now_ms, request, refusal)
                return
            self.limits.add(index, self.requests.isl_tokens[request], outcomes.cached_tokens[request])
        cost = outcomes.cost_tokens[request]
        jump = self._jumps[request]
        score = wspt_score(jump, cost) if self._wspt[index] else fcfs_score(jump, now_ms / 1000.0)
        entry = (-self._strict[request], -score, self._sequence, request, cost)
        self._sequence += 1
        became_head = self.lanes[index].push(entry, lane)
        outcomes.outcome[request] = QUEUED
        outcomes.lane[request] = lane
        self.waiting += 1
        if self.listener is not None:
            self.listener.queued(now_ms, request, lane)
        # Behind a head, or at the head of a lane that has to wait, the newcomer changes nothing for the ring.
        if became_head and not self._is_blocked(index, request, lane):
            self._settled = False
        if drain:
            self.drain(now_ms)

    def classify(self, request: int, now_ms: float) -> tuple[int, int]:
        """Resolve the class of an arrival and its lane in it (:data:`SHARED` or an endpoint); once per request."""
        index = self._take_snapshot(request, now_ms)
        constraint = self.requests.constraints.get(request)
        return index, SHARED if constraint is None else self.endpoints.target(constraint)

    def _take_snapshot(self, request: int, now_ms: float) -> int:
        """Freeze what is known at arrival: cache overlap per endpoint, cached and uncached tokens, cost; the class."""
        requests = self.requests
        outcomes = self.outcomes
        raw = requests.isl_tokens[request]
        cached = 0
        if self.cached_blocks or self._fixed_hits:
            cached = min(self._cached_tokens(request), raw)
            outcomes.cached_tokens[request] = cached
        uncached = raw - cached
        header = requests.policy_header[request]
        if self._one_bucket:
            known = self._class_of_header.get(header)
            if known is None:
                known = self._class_of_header[header] = self.profile.class_index(header, uncached)
        else:
            known = self.profile.class_index(header, uncached)
        outcomes.class_index[request] = known
        outcomes.cost_tokens[request] = uncached or 1
        outcomes.arrival_ms[request] = now_ms
        return known

    def _cached_tokens(self, request: int) -> int:
        """Best cached length over the eligible endpoints, in tokens; notes the overlap per endpoint."""
        if self._fixed_hits and self.requests.cached_tokens[request] >= 0:
            return self.requests.cached_tokens[request]
        chain = self.chains[request] if self.chains is not None else NO_BLOCKS
        overlaps = [leading(chain, present) for present in self.cached_blocks]
        if not any(overlaps):
            return 0
        self._overlaps[request] = overlaps
        eligible = self.eligible(request)
        if isinstance(eligible, SelectionError):
            return 0
        return self._block_size * max(overlaps[e] for e in eligible)

    def _is_blocked(self, index: int, request: int, lane: int) -> bool:
        if lane == SHARED:
            return self.shared_is_blocked(index, request)
        return self.exact_is_blocked(index, request, lane)

    # --- dispatch and drain ------------------------------------------------------------------------------

    def drain(self, now_ms: float) -> None:
        """Call arbitration until it returns nothing. A call that is known to find nothing is not made."""
        while self.waiting and not self._settled:
            self.call(now_ms)

    def call(self, now_ms: float) -> bool:
        """One arbitration call; True when it let a request go."""
        going = self.ring.pop_next()
        if going is None:
            self._settled = True
            if self.listener is not None:
                self.listener.nothing_dispatched(now_ms)
            return False
        self.waiting -= 1
        index, request = going[0], going[1]
        if self.limits.limited[index]:
            self.limits.add(index, self.requests.isl_tokens[request], self.outcomes.cached_tokens[request], -1)
        self.outcomes.released_ms[request] = now_ms
        self._dispatch(request, now_ms, by_call=True)
        return True

    def _dispatch(self, request: int, now_ms: float, *, by_call: bool) -> None:
        """Choose the endpoint, put the prefill load on it, and hand the request over; or end it in an error."""
        outcomes = self.outcomes
        isl = self.requests.isl_tokens[request]
        endpoints = self.endpoints
        if self._one and endpoints.present[0] and not endpoints.overloaded[0]:
            endpoint = 0
        else:
            eligible = self.eligible(request)
            if isinstance(eligible, SelectionError):
                self._fail(request, now_ms, eligible, by_call)
                return
            chain = self.chains[request] if self.chains is not None else NO_BLOCKS
            overlaps = self._overlaps.get(request, ())
            endpoint = self._choice.choose(
                request, eligible, endpoints.loads, isl_tokens=isl, overlaps=overlaps, chain=chain
            )
            self._choice.hold(endpoint, chain)
        load = isl
        if self._fixed_hits and self.requests.cached_tokens[request] >= 0:
            load = max(isl - outcomes.cached_tokens[request], self._least_load)
        elif request in self._overlaps:
            load -= min(isl, self._block_size * self._overlaps.pop(request)[endpoint])
        endpoints.loads[endpoint] += load
        outcomes.prefill_tokens[request] = load
        outcomes.endpoint[request] = endpoint
        if not by_call:
            outcomes.outcome[request] = IMMEDIATE
        if self.listener is not None:
            if by_call:
                self.listener.dispatched(now_ms, request, endpoint)
            else:
                self.listener.bypassed(now_ms, request, endpoint)
        self._submit(request, endpoint)

    def _fail(self, request: int, now_ms: float, error: SelectionError, by_call: bool) -> None:
        self.outcomes.outcome[request] = ERROR
        self.outcomes.error[request] = error
        self._overlaps.pop(request, None)
        if by_call:
            self.failed.append(request)
        if self.listener is not None:
            self.listener.failed(now_ms, request, error, by_call)

    # --- capacity comes back -----------------------------------------------------------------------------

    def prefill_ended(self, request: int) -> None:
        """The first token of a request came: its prefill load is off its endpoint. Drain afterwards."""
        endpoint = self.outcomes.endpoint[request]
        self.endpoints.loads[endpoint] -= self.outcomes.prefill_tokens[request]
        self.endpoint_changed(endpoint)

    def completed(self, request: int, *, prefilling: bool) -> None:
        """A request ended on its endpoint; ``prefilling`` when its first token had not come. Drain afterwards."""
        endpoint = self.outcomes.endpoint[request]
        if prefilling:
            self.endpoints.loads[endpoint] -= self.outcomes.prefill_tokens[request]
        if not self._one and self.chains is not None:
            self._choice.release(endpoint, self.chains[request])
        self.endpoint_changed(endpoint)

    def endpoint_changed(self, endpoint: int) -> None:
        """An endpoint's load fell or its state changed: heads that wait for it will be asked again."""
        self._settled = False
        if endpoint:
            self._one = False
        for lanes in self.lanes:
            lanes.endpoint_changed(endpoint)
        if self._strays:
            for stray in self._strays.pop(endpoint, ()):
                for lanes in self.lanes:
                    lanes.endpoint_changed(stray)
