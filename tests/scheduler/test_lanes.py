"""The lanes of one class against a plain model of them."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from drr.scheduler.lanes import COST, REQUEST, SHARED, ClassLanes, Entry, fcfs_score, wspt_score

ENDPOINTS = 5


def test_fcfs_takes_the_older_first_and_a_jump_of_a_second_outweighs_a_second_of_age() -> None:
    assert fcfs_score(0.0, 1.0) > fcfs_score(0.0, 2.0)
    assert fcfs_score(1.0, 2.0) == fcfs_score(0.0, 1.0)
    assert fcfs_score(1.5, 2.0) > fcfs_score(0.0, 1.0)
    assert fcfs_score(-5.0, 1.0) == fcfs_score(0.0, 1.0), "a negative jump counts as none"
    assert fcfs_score(0.0, -1.0) == fcfs_score(0.0, 0.0), "a negative arrival counts as 0"


def test_wspt_takes_the_shorter_first_scaled_by_the_jump() -> None:
    assert wspt_score(0.0, 100) > wspt_score(0.0, 200)
    assert wspt_score(1.0, 200) == wspt_score(0.0, 100)
    assert wspt_score(-1.0, 100) == wspt_score(0.0, 100)


class LanesMachine(RuleBasedStateMachine):
    """Requests come and go, endpoints get busy without notice and come free with one."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes = ClassLanes(3, self)
        self.model: dict[int, list[Entry]] = {}
        self.busy_now: set[int] = set()
        self.eligible: dict[int, set[int]] = {}
        self.number = 0
        self.allowed_checks = 0

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        assert class_index == 3
        return self.eligible[request] <= self.busy_now

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        assert any(request == entry[REQUEST] for entry in self.model[endpoint])
        return endpoint in self.busy_now

    def dispatchable(self) -> list[tuple[Entry, int]]:
        heads = [(sorted(entries)[0], lane) for lane, entries in self.model.items() if entries]
        free = [
            (head, lane)
            for head, lane in heads
            if not (self.eligible[head[REQUEST]] <= self.busy_now if lane == SHARED else lane in self.busy_now)
        ]
        return sorted(free)

    @rule(
        endpoint=st.integers(-1, ENDPOINTS - 1),
        strict=st.integers(0, 2),
        score=st.sampled_from([0.0, -1.5, 2.0]),
        eligible=st.sets(st.integers(0, ENDPOINTS - 1), min_size=1),
    )
    def push(self, endpoint: int, strict: int, score: float, eligible: set[int]) -> None:
        self.number += 1
        entry = (-strict, -score, self.number, 100 + self.number, 7)
        self.eligible[entry[REQUEST]] = eligible
        self.model.setdefault(endpoint, []).append(entry)
        became_head = self.lanes.push(entry, endpoint)
        assert became_head == (sorted(self.model[endpoint])[0] == entry)
        self.allowed_checks += became_head

    @rule(endpoint=st.integers(0, ENDPOINTS - 1))
    def get_busy(self, endpoint: int) -> None:
        self.busy_now.add(endpoint)

    @rule(endpoint=st.integers(0, ENDPOINTS - 1))
    def come_free(self, endpoint: int) -> None:
        self.busy_now.discard(endpoint)
        self.lanes.endpoint_changed(endpoint)
        self.allowed_checks += 2

    @rule()
    def look(self) -> None:
        found = self.dispatchable()
        before = self.lanes.head_checks
        assert self.lanes.candidate() == (found[0] if found else None)
        asked = self.lanes.head_checks - before
        # At most the blocked ones not yet known to be blocked, and what can go: the best and one rival.
        assert asked <= self.allowed_checks + 2
        self.allowed_checks = max(0, self.allowed_checks - max(0, asked - 2))

    @precondition(lambda self: self.dispatchable())
    @rule()
    def take(self) -> None:
        found = self.lanes.candidate()
        assert found is not None
        entry, lane = found
        assert (entry, lane) == self.dispatchable()[0]
        assert self.lanes.take(lane) is entry
        self.model[lane].remove(entry)
        assert entry[COST] == 7
        self.allowed_checks += 2

    @invariant()
    def the_structure_holds_and_tells_the_same_contents(self) -> None:
        self.lanes._check()
        expected = {lane: sorted(entries) for lane, entries in self.model.items() if entries}
        assert self.lanes.lanes() == expected
        assert self.lanes.size == sum(map(len, expected.values()))

    @rule()
    def ask_for_the_best_head(self) -> None:
        heads = [sorted(entries)[0] for entries in self.model.values() if entries]
        assert self.lanes.best_head() == min(heads, default=None)


TestLanes = LanesMachine.TestCase


def test_the_index_of_heads_does_not_grow_with_the_number_of_changes() -> None:
    class Shut:
        def shared_is_blocked(self, class_index: int, request: int) -> bool:
            return True

        def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
            return True

    lanes = ClassLanes(0, Shut())
    lanes.push((0, 0.0, 1, 1, 7), 0)
    for _ in range(1_000):
        assert lanes.candidate() is None
        lanes.endpoint_changed(0)
    assert len(lanes._heads.pairs) + len(lanes._parked_heads.pairs) < 100
