"""The event loop: arrivals, passes of the mock engines, drains of the router, in the order of the real offline replay.

At one timestamp, until nothing changes: pass completions by worker id and dp rank, arrivals in order, pass starts with
the lowest idle one first. Endpoints are numbered in that order, so their index is all that is compared.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from drr.errors import ReplayAbortedError, WorkloadError
from drr.policy.schema import Profile
from drr.router.endpoints import Endpoints, Worker, uniform_cluster
from drr.router.prefix import BlockIdentities
from drr.router.requests import WIDE_TOKENS, RequestTable
from drr.router.router import ERROR, REFUSED, ArrivalMode, Router
from drr.router.selection import WorkerChoice
from drr.scheduler.arbiters import ArbiterName
from drr.scheduler.ring import CursorRule
from drr.simulation.arrivals import Arrivals
from drr.simulation.backlog import BacklogTally
from drr.simulation.cluster import Change, TimedChange, endpoint_changes, foresee
from drr.simulation.engine_options import SPEEDUPS, EngineOptions, in_speedup_range
from drr.simulation.mock_engine import EngineRequests, MockEngine
from drr.simulation.recording import Recorder, Run, RunInputs
from drr.simulation.timing import PassTiming

PROGRESS_EVERY = 1024

Progress = Callable[[int, int], object]
"""Is called now and then with (requests over, requests in all); whatever it raises ends the run."""


def replay(
    profile: Profile,
    requests: RequestTable,
    *,
    workers: int | Sequence[Worker] = 1,
    engine: EngineOptions | None = None,
    trace_block_size: int = 512,
    arrival_speedup_ratio: float = 1.0,
    cursor_rule: CursorRule = "documented",
    arbiter: ArbiterName = "drr",
    arrivals: ArrivalMode = "bypass",
    seed: int = 0,
    abort_on_refusal: bool = False,
    follow: Sequence[int | None] | None = None,
    changes: Sequence[TimedChange] = (),
    record: bool = True,
    progress: Progress | None = None,
) -> Run:
    """Run a workload through the router and its mock engines.

    ``workers`` is a number of equal workers or the workers themselves. ``follow`` names, per row, the endpoint to take
    where the router chooses (rows whose followed endpoint was not among the cheapest are in ``Run.not_cheapest``).
    ``changes`` are workers that come, go or are overloaded meanwhile, which the real offline replay does not know.
    A full class ends the run as it ends the real replay if ``abort_on_refusal``; the reason is ``Run.aborted_because``.
    Raises :class:`WorkloadError` for fixed cache hits and for times that make no order of arrivals; what else the real
    replay refuses in a row (an ``input_length`` of 0, too few ``hash_ids``) the readers of traces have refused.
    """
    options = engine or EngineOptions()
    _check(requests, arrival_speedup_ratio, trace_block_size)
    cluster = (
        uniform_cluster(workers, max_num_batched_tokens=options.max_num_batched_tokens)
        if isinstance(workers, int)
        else tuple(workers)
    )

    def run(rule: CursorRule, *, record: bool) -> Run:
        recorder = Recorder(len(requests), wide=_is_wide(profile, requests)) if record else None
        inputs = RunInputs(
            profile=profile,
            requests=requests,
            workers=cluster,
            cursor_rule=rule,
            arbiter=arbiter,
            arrivals=arrivals,
            rerun=lambda other: run(other, record=False),
        )
        loop = _Loop(
            inputs,
            options,
            recorder,
            identities=BlockIdentities(options.block_size, trace_block_size),
            arrivals=Arrivals(requests, arrival_speedup_ratio),
            choice=WorkerChoice(options.block_size, seed, follow),
            changes=changes,
            progress=progress,
        )
        aborted: str | None = None
        try:
            loop.run(abort_on_refusal)
        except ReplayAbortedError as reason:
            aborted = str(reason)
        result = loop.result(aborted)
        loop.release()
        return result

    return run(cursor_rule, record=record)


def _check(requests: RequestTable, arrival_speedup_ratio: float, trace_block_size: int) -> None:
    """Raise :class:`WorkloadError` for what no replay can be made of."""
    # A fixed hit of 0 says what the cache would say where the prompt shares nothing.
    if any(hit > 0 or (not hit and ids) for hit, ids in zip(requests.cached_tokens, requests.hash_ids, strict=True)):
        raise WorkloadError(
            "fixed cache hits (cached_tokens) are for teaching runs; the mock engine has its own cache, so leave the "
            "column cached_tokens out"
        )
    if not in_speedup_range(arrival_speedup_ratio):
        raise WorkloadError(f"the arrival speed-up is {arrival_speedup_ratio!r}; {SPEEDUPS} is allowed")
    if trace_block_size < 1:
        raise WorkloadError(f"trace_block_size is {trace_block_size!r}; a whole number of at least 1 is allowed")


def _is_wide(profile: Profile, requests: RequestTable) -> bool:
    """Whether the bulk rounds of a call, at most as many as the largest cost has tokens, may not fit a 64-bit column.

    Deficits are in no column; the quantum is added for good measure.
    """
    largest = max(requests.isl_tokens, default=0) + max(c.quantum for c in profile.classes)
    return largest >= WIDE_TOKENS


def _chains(requests: RequestTable, identities: BlockIdentities, progress: Progress | None) -> list[Sequence[int]]:
    """Block identities of every prompt; long work, so it reports (0 requests over) on the way."""
    chains: list[Sequence[int]] = []
    for row, (isl, hash_ids) in enumerate(zip(requests.isl_tokens, requests.hash_ids, strict=True)):
        if progress is not None and row % PROGRESS_EVERY == 0:
            progress(0, len(requests))
        chains.append(identities.chain(isl, hash_ids))
    return chains


def _targets(requests: RequestTable, max_model_len: int | None) -> list[int]:
    """Tokens to generate per row: the output length, cut where the model's length ends."""
    if max_model_len is None:
        return requests.output_tokens
    pairs = zip(requests.output_tokens, requests.isl_tokens, strict=True)
    return [min(output, max(max_model_len - isl, 0)) for output, isl in pairs]


class _Loop:
    """One run in progress."""

    def __init__(
        self,
        inputs: RunInputs,
        options: EngineOptions,
        recorder: Recorder | None,
        *,
        identities: BlockIdentities,
        arrivals: Arrivals,
        choice: WorkerChoice,
        changes: Sequence[TimedChange],
        progress: Progress | None,
    ) -> None:
        requests = inputs.requests
        self._inputs = inputs
        self._recorder = recorder
        self._arrivals = arrivals
        self._choice = choice
        self._progress = progress
        self._endpoints = Endpoints((), inputs.profile.classes)
        self._changes = foresee(self._endpoints, changes, inputs.workers)
        self._changes.reverse()
        count = len(self._endpoints.keys)
        chains: list[Sequence[int]] | None = None
        if options.enable_prefix_caching or count > 1:
            chains = _chains(requests, identities, progress)
        self.router = Router(
            inputs.profile,
            self._endpoints,
            requests,
            self._submit,
            choice=choice,
            block_size=options.block_size,
            cursor_rule=inputs.cursor_rule,
            arbiter=inputs.arbiter,
            arrivals=inputs.arrivals,
            log=recorder.calls if recorder is not None else None,
            listener=recorder,
        )
        self._tally: BacklogTally | None = None
        if recorder is None:
            outcomes = self.router.outcomes
            self._tally = BacklogTally(outcomes.class_index, outcomes.cost_tokens, len(inputs.profile.classes))
            self.router.listener = self._tally
        # The engines put chains of their own in the place of these when they extend them by generated blocks.
        self.router.chains = None if chains is None else list(chains)
        if options.enable_prefix_caching:
            self.router.cached_blocks = [set() for _ in range(count)]
        own_chains = chains if options.enable_prefix_caching else None
        self.requests = EngineRequests(
            requests.isl_tokens, _targets(requests, options.max_model_len), own_chains, block_size=options.block_size
        )
        timing = PassTiming(options)
        self._engines = [MockEngine(options, timing, self.requests, identities) for _ in range(count)]
        self._in_pass = [False] * count
        self._startable: set[int] = set()
        self._passes: list[tuple[float, int]] = []
        self._arrived = 0
        self._over = 0
        self._completed = array("i")
        self._refused_by_engine: set[int] = set()

    def _submit(self, request: int, endpoint: int) -> None:
        self._engines[endpoint].waiting.append(request)
        if not self._in_pass[endpoint]:
            self._startable.add(endpoint)

    def run(self, abort_on_refusal: bool) -> None:
        """Run until no pass runs and no arrival is to come."""
        total = len(self._inputs.requests)
        reported = 0
        passes = self._passes
        arrivals = self._arrivals
        while True:
            now = self._next_time(arrivals.next_ms())
            if now is None:
                break
            while passes and passes[0][0] <= now:
                self._end_pass(heappop(passes)[1], now)
            while self._changes and self._changes[-1].at_ms <= now:
                self._change(self._changes.pop().change, now)
            next_arrival = arrivals.next_ms()
            while next_arrival is not None and next_arrival <= now:
                self._arrive(arrivals.pop(), now, abort_on_refusal)
                next_arrival = arrivals.next_ms()
            self._start_passes(now)
            if self._progress is not None and self._over - reported >= PROGRESS_EVERY:
                reported = self._over
                self._progress(self._over, total)
        left = self._arrived - self._over
        if left:
            raise ReplayAbortedError(
                "replay invariant violated: offline replay detected an effect-free zero-duration pass "
                f"with {left} in-flight requests remaining"
            )
        if self._progress is not None:
            self._progress(self._over, total)

    def _next_time(self, arrival_ms: float | None) -> float | None:
        """When the next thing happens; None when nothing is left. Cluster changes alone keep no run going."""
        passes = self._passes
        now = passes[0][0] if passes and (arrival_ms is None or passes[0][0] <= arrival_ms) else arrival_ms
        if self._changes and (now is not None or self._arrived > self._over):
            at = self._changes[-1].at_ms
            return at if now is None or at < now else now
        return now

    def _change(self, change: Change, now_ms: float) -> None:
        """Change the cluster and drain: what waited for it, or cannot be served any more, goes."""
        for each in endpoint_changes(self._endpoints, change):
            each.apply(self._endpoints)
            if self._recorder is not None:
                self._recorder.worker_changed(now_ms, each)
        for endpoint in range(len(self._endpoints.keys)):
            self.router.endpoint_changed(endpoint)
        self.router.drain(now_ms)
        self._end_failed(now_ms)

    def _arrive(self, request: int, now_ms: float, abort_on_refusal: bool) -> None:
        self._arrived += 1
        router = self.router
        router.arrive(request, now_ms)
        outcome = router.outcomes.outcome[request]
        if outcome == REFUSED or (outcome == ERROR and request not in router.failed):
            if outcome == REFUSED and abort_on_refusal:
                refusal = router.outcomes.refusal[request]
                name = self._inputs.profile.classes[refusal.class_index].name
                raise ReplayAbortedError(f"placement policy error: {refusal.text(name)}")
            self._end_request(request, now_ms)
        self._end_failed(now_ms)

    def _end_failed(self, now_ms: float) -> None:
        failed = self.router.failed
        while failed:
            self._end_request(failed.pop(), now_ms)

    def _end_request(self, request: int, now_ms: float) -> None:
        self._over += 1
        self._arrivals.completed(request, now_ms)

    def _start_passes(self, now_ms: float) -> None:
        """Start a pass on every idle endpoint with work, lowest first; one of zero duration ends on the spot."""
        startable = self._startable
        while startable:
            endpoint = min(startable)
            startable.remove(endpoint)
            engine = self._engines[endpoint]
            end = engine.start_pass(now_ms)
            if end is None:
                continue
            if self._recorder is not None:
                for request in engine.admitted:
                    self._recorder.admitted(request)
            self._in_pass[endpoint] = True
            if end > now_ms:
                heappush(self._passes, (end, endpoint))
            else:
                self._end_pass(endpoint, now_ms)

    def _end_pass(self, endpoint: int, now_ms: float) -> None:
        """Deliver cache events, then signal the router request by request, with one drain per signal."""
        engine = self._engines[endpoint]
        router = self.router
        recorder = self._recorder
        refused = engine.refused
        if engine.pool.caches:
            cached = router.cached_blocks[endpoint]
            for stored, identity in engine.pool.take_events():
                if stored:
                    cached.add(identity)
                else:
                    cached.discard(identity)
        if refused:
            self._refused_by_engine.update(refused)
        for request, finished, first in engine.end_pass(now_ms):
            if finished:
                router.completed(request, prefilling=first)
                if recorder is not None:
                    recorder.completed(now_ms, request, endpoint)
                self._completed.append(request)
                self._end_request(request, now_ms)
            else:
                router.prefill_ended(request)
                if recorder is not None:
                    recorder.first_token(now_ms, request, endpoint)
            if router.waiting:
                router.drain(now_ms)
                if router.failed:
                    self._end_failed(now_ms)
        self._in_pass[endpoint] = False
        if engine.waiting or engine.running:
            self._startable.add(endpoint)

    def result(self, aborted_because: str | None) -> Run:
        """Wrap up what happened."""
        self._inputs.endpoint_keys = list(self._endpoints.keys)
        return Run(
            self._inputs,
            self.router.outcomes,
            self._recorder,
            first_admit_ms=self.requests.first_admit_ms,
            first_token_ms=self.requests.first_token_ms,
            last_token_ms=self.requests.last_token_ms,
            completion_order=self._completed,
            tally=self._tally,
            refused_by_engine=frozenset(self._refused_by_engine),
            not_cheapest=self._choice.not_cheapest,
            aborted_because=aborted_because,
        )

    def release(self) -> None:
        """Give back what is large at once: as loop and router know each other, it would wait for the collector."""
        self.router.chains = None
        self.router.cached_blocks.clear()
        vars(self).clear()
