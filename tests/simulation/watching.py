"""Runs that are watched while they happen: the live router at every record, to compare with what is rebuilt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from drr.router.endpoints import SelectionError
from drr.router.router import Router
from drr.scheduler.lanes import REQUEST
from drr.simulation.mock_engine import EngineRequests
from drr.simulation.recording import Recorder, Run
from drr.simulation.state import RunState


@dataclass(frozen=True)
class Seen:
    """The live router right after one record."""

    deficits: tuple[int, ...]
    cursor: int
    carried: int
    lanes: tuple[tuple[int, int, tuple[int, ...], bool], ...]
    """(class, lane, rows in order, blocked), shared lane first."""
    loads: tuple[int, ...]
    in_flight: tuple[int, ...]
    admitted: tuple[int, ...]
    """Per endpoint what its engine has admitted and not ended."""
    present: tuple[bool, ...]
    overloaded: tuple[bool, ...]
    limits: tuple[tuple[int, ...], ...]


class Watcher:
    """Stands beside the recorder of a run and looks at the live router whenever something is noted."""

    def __init__(self) -> None:
        self.router: Router | None = None
        self.engine_requests: EngineRequests | None = None
        self.seen: list[Seen] = []
        self.running: dict[int, list[int]] = {}

    def is_blocked(self, index: int, request: int) -> bool:
        """Whether a lane head has to wait, from the endpoints alone."""
        router = self.router
        assert router is not None
        eligible = router.eligible(request)
        if isinstance(eligible, SelectionError):
            return False
        count = sum(router.endpoints.loads[e] > router.endpoints.limits[index][e] for e in eligible)
        ratio = router.profile.classes[index].busy_worker_ratio
        return count >= len(eligible) * (1.0 if ratio is None else ratio)

    def admitted(self, endpoint: int) -> int:
        if self.engine_requests is None:
            return len(self.running.get(endpoint, []))
        times = self.engine_requests.first_admit_ms
        return sum(times[row] is not None for row in self.running.get(endpoint, []))

    def look(self) -> None:
        router = self.router
        assert router is not None
        lanes = [
            (index, lane, tuple(e[REQUEST] for e in entries), self.is_blocked(index, entries[0][REQUEST]))
            for index, of_class in enumerate(router.lanes)
            for lane, entries in of_class.lanes().items()
        ]
        endpoints = router.endpoints
        count = len(endpoints.keys)
        admitted = tuple(self.admitted(endpoint) for endpoint in range(count))
        self.seen.append(
            Seen(
                tuple(router.ring.deficits),
                router.ring.cursor,
                router.ring.carried,
                tuple(lanes),
                tuple(endpoints.loads),
                tuple(len(self.running.get(endpoint, [])) for endpoint in range(count)),
                admitted,
                tuple(endpoints.present),
                tuple(endpoints.overloaded),
                tuple(tuple(limits) for limits in endpoints.limits),
            )
        )


@contextmanager
def watched() -> Iterator[Watcher]:
    """Every recorded run inside this block is watched (one at a time)."""
    watcher = Watcher()

    class WatchedRecorder(Recorder):
        def _note(self, kind: int, now_ms: float, request: int, endpoint: int) -> None:
            super()._note(kind, now_ms, request, endpoint)
            watcher.look()

        def bypassed(self, now_ms: float, request: int, endpoint: int) -> None:
            watcher.running.setdefault(endpoint, []).append(request)
            super().bypassed(now_ms, request, endpoint)

        def dispatched(self, now_ms: float, request: int, endpoint: int) -> None:
            watcher.running.setdefault(endpoint, []).append(request)
            super().dispatched(now_ms, request, endpoint)

        def completed(self, now_ms: float, request: int, endpoint: int) -> None:
            watcher.running[endpoint].remove(request)
            super().completed(now_ms, request, endpoint)

    class WatchedRouter(Router):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[arg-type]
            watcher.router = self

    class WatchedRequests(EngineRequests):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[arg-type]
            watcher.engine_requests = self

    with (
        patch("drr.simulation.replay.Recorder", WatchedRecorder),
        patch("drr.simulation.manual.Recorder", WatchedRecorder),
        patch("drr.simulation.replay.Router", WatchedRouter),
        patch("drr.simulation.manual.Router", WatchedRouter),
        patch("drr.simulation.replay.EngineRequests", WatchedRequests),
    ):
        yield watcher


def assert_state_is(state: RunState, seen: Seen, run: Run) -> None:
    """The rebuilt state tells everything that was seen live."""
    assert tuple(each.deficit_tokens for each in state.classes) == seen.deficits
    assert (state.cursor, state.carried) == (seen.cursor, seen.carried)
    lanes = tuple((each.class_index, each.endpoint, tuple(each.waiting), bool(each.blocked_by)) for each in state.lanes)
    assert lanes == tuple(sorted(seen.lanes, key=lambda lane: lane[:2]))
    costs = run.cost_tokens
    for lane in state.lanes:
        assert lane.waiting_tokens == sum(costs[row] for row in lane.waiting)
        for reason in lane.blocked_by:
            assert reason.active_prefill_tokens == seen.loads[reason.endpoint] > reason.limit_tokens
    for index, each in enumerate(state.classes):
        mine = [lane for lane in state.lanes if lane.class_index == index]
        assert each.waiting_requests == sum(len(lane.waiting) for lane in mine)
        assert each.waiting_tokens == sum(lane.waiting_tokens for lane in mine)
        assert each.is_blocked == (bool(mine) and all(lane.blocked_by for lane in mine))
        assert (each.head in [lane.waiting[0] for lane in mine]) if mine else each.head == -1
    # An endpoint that the live router had not heard of yet is not there in the rebuilt state.
    known = len(seen.loads)
    assert tuple(e.active_prefill_tokens for e in state.endpoints[:known]) == seen.loads
    assert tuple(e.in_flight_requests for e in state.endpoints[:known]) == seen.in_flight
    assert tuple(e.is_present for e in state.endpoints[:known]) == seen.present
    assert tuple(e.is_overloaded for e in state.endpoints[:known]) == seen.overloaded
    for e in state.endpoints[known:]:
        assert (e.is_present, e.in_flight_requests, e.active_prefill_tokens) == (False, 0, 0)
    for index, limits in enumerate(seen.limits):
        for endpoint, limit in zip(state.endpoints, limits, strict=False):
            assert endpoint.is_busy_for(index) == (endpoint.active_prefill_tokens > limit)
    for endpoint, admitted in zip(state.endpoints, seen.admitted, strict=False):
        assert endpoint.running_requests == admitted
