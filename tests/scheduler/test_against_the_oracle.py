"""Every call of the ring, and what it wrote down, against a slow model that grants one complete round at a time."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from drr.scheduler.calls import CallLog, replay_call
from drr.scheduler.lanes import SHARED, ClassLanes, fcfs_score, wspt_score
from drr.scheduler.ring import CURSOR_RULES, CursorRule, Ring
from tests.scheduler.oracle import Called, SlowRing, Waiting

ENDPOINTS = 4
quanta = st.one_of(st.integers(1, 8), st.integers(1, 300))
costs = st.one_of(st.integers(1, 12), st.integers(1, 600))


@dataclass
class Shop:
    """A ring and its model side by side, fed the same requests over the same endpoints."""

    classes: list[tuple[int, bool]]
    rule: CursorRule

    def __post_init__(self) -> None:
        self.lanes = [ClassLanes(index, self) for index in range(len(self.classes))]
        self.log = CallLog()
        self.ring = Ring(self.lanes, [quantum for quantum, _ in self.classes], self.rule, self.log)
        self.slow = SlowRing(self.classes, carry=self.rule == "carry")
        self.held: set[tuple[int, int]] = set()
        self.requests: list[tuple[int, Waiting]] = []
        self.served: list[int] = []
        self.replayed = [0] * len(self.classes)

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        return self.blocked(class_index, self.requests[request][1])

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        return self.blocked(class_index, self.requests[request][1])

    def blocked(self, class_index: int, request: Waiting) -> bool:
        """A shared head may go to any endpoint. Endpoints are busy class by class."""
        if request.lane is None:
            return all((class_index, endpoint) in self.held for endpoint in range(ENDPOINTS))
        return (class_index, request.lane) in self.held

    def enqueue(
        self, index: int, cost: int, *, lane: int = SHARED, strict: int = 0, jump: float = 0.0, arrival_s: float = 0.0
    ) -> None:
        row = len(self.requests)
        request = Waiting(row, cost, row, strict, jump, arrival_s, None if lane == SHARED else lane)
        self.requests.append((index, request))
        self.slow.enqueue(index, request)
        score = wspt_score(jump, cost) if self.classes[index][1] else fcfs_score(jump, arrival_s)
        self.lanes[index].push((-strict, -score, row, row, cost), lane)

    def call(self) -> Called:
        """One call on both sides; everything about it must be equal."""
        gained_nothing = [
            (index, self.ring.deficits[index])
            for index in range(len(self.classes))
            if self.slow.waiting[index] and self.slow.candidate(index, self.blocked) is None
        ]
        expected = self.slow.call(self.blocked)
        going = self.ring.pop_next()
        if expected.winner is None:
            assert going is None
        else:
            assert going is not None
            index, request = self.requests[going.request]
            assert request == expected.winner
            assert going == (index, request.row, request.cost, SHARED if request.lane is None else request.lane)
            self.served.append(request.row)
        assert self.ring.deficits == self.slow.deficits
        assert self.ring.cursor == self.slow.cursor
        assert self.ring.carried == (-1 if self.slow.carried is None else self.slow.carried)
        for index, deficit in gained_nothing:
            assert self.ring.deficits[index] == deficit, "a blocked class gains nothing"
        self.compare_record(expected)
        return expected

    def compare_record(self, expected: Called) -> None:
        visits = replay_call(
            self.log,
            len(self.log) - 1,
            self.replayed,
            quanta=[quantum for quantum, _ in self.classes],
            costs=[request.cost for _, request in self.requests],
            emptied=expected.winner is not None and not self.slow.waiting[self.requests[expected.winner.row][0]],
        )
        assert self.replayed == self.ring.deficits, "the record rebuilds the deficits"
        found = [
            (v.class_index, v.rule.name, v.deficit_before, v.granted_tokens, v.head, v.charged_tokens, v.deficit_after)
            for v in visits
        ]
        assert found == expected.visits
        assert self.log.rounds[-1] == expected.rounds

    def check(self) -> None:
        self.ring._check()
        for index, lanes in enumerate(self.lanes):
            expected = {
                SHARED if lane is None else lane: [r.row for r in self.slow.lane(index, lane)]
                for lane in {request.lane for request in self.slow.waiting[index]}
            }
            assert {lane: [entry[3] for entry in found] for lane, found in lanes.lanes().items()} == expected
        waiting = [request.row for waiting in self.slow.waiting for request in waiting]
        assert sorted(waiting + self.served) == list(range(len(self.requests))), "nothing lost, nothing served twice"


class RingMachine(RuleBasedStateMachine):
    """Enqueue, block, free, call, in any order."""

    @initialize(
        classes=st.lists(st.tuples(quanta, st.booleans()), min_size=1, max_size=5), rule_=st.sampled_from(CURSOR_RULES)
    )
    def start(self, classes: list[tuple[int, bool]], rule_: CursorRule) -> None:
        self.shop = Shop(classes, rule_)
        self.now_s = 0.0

    @rule(
        data=st.data(),
        cost=costs,
        lane=st.integers(-1, ENDPOINTS - 1),
        strict=st.integers(0, 2),
        jump=st.sampled_from([0.0, 0.0, 0.5, 3.0, -1.0]),
        wait_s=st.sampled_from([0.0, 0.0, 0.25, 1.0]),
    )
    def enqueue(self, data: st.DataObject, cost: int, lane: int, strict: int, jump: float, wait_s: float) -> None:
        self.now_s += wait_s
        index = data.draw(st.integers(0, len(self.shop.classes) - 1))
        self.shop.enqueue(index, cost, lane=lane, strict=strict, jump=jump, arrival_s=self.now_s)

    @rule(data=st.data(), cost=costs, count=st.integers(2, 6))
    def enqueue_several(self, data: st.DataObject, cost: int, count: int) -> None:
        index = data.draw(st.integers(0, len(self.shop.classes) - 1))
        for _ in range(count):
            self.shop.enqueue(index, cost, arrival_s=self.now_s)

    @rule(data=st.data(), endpoints=st.sets(st.integers(0, ENDPOINTS - 1)))
    def block(self, data: st.DataObject, endpoints: set[int]) -> None:
        index = data.draw(st.integers(0, len(self.shop.classes) - 1))
        self.shop.held |= {(index, endpoint) for endpoint in endpoints}

    @rule(endpoint=st.integers(0, ENDPOINTS - 1))
    def free(self, endpoint: int) -> None:
        self.shop.held -= {(index, endpoint) for index in range(len(self.shop.classes))}
        for lanes in self.shop.lanes:
            lanes.endpoint_changed(endpoint)

    @rule(times=st.integers(1, 6))
    def call(self, times: int) -> None:
        for _ in range(times):
            self.shop.call()

    @rule()
    def drain(self) -> None:
        while self.shop.call().winner is not None:
            pass

    @invariant()
    def everything_holds(self) -> None:
        if hasattr(self, "shop"):
            self.shop.check()


TestRing = RingMachine.TestCase
TestRing.settings = settings(stateful_step_count=30)


@given(
    classes=st.lists(st.tuples(quanta, st.booleans(), st.lists(costs, max_size=12)), min_size=1, max_size=5),
    rule_=st.sampled_from(CURSOR_RULES),
)
def test_a_backlog_is_served_like_the_model_to_the_last_request(
    classes: list[tuple[int, bool, list[int]]], rule_: CursorRule
) -> None:
    shop = Shop([(quantum, wspt) for quantum, wspt, _ in classes], rule_)
    for index, (_, _, waiting) in enumerate(classes):
        for cost in waiting:
            shop.enqueue(index, cost)
    while shop.call().winner is not None:
        shop.check()
    assert len(shop.served) == len(shop.requests)
    assert shop.ring.deficits == [0] * len(classes)


@given(
    classes=st.lists(
        st.tuples(st.integers(1, 40), st.lists(st.integers(1, 60), min_size=15, max_size=15)), min_size=2, max_size=3
    ),
    rule_=st.sampled_from(CURSOR_RULES),
)
def test_backlogged_classes_are_served_what_their_quanta_grant_but_for_bulk_calls(
    classes: list[tuple[int, list[int]]], rule_: CursorRule
) -> None:
    """While all wait, rounds of service differ by what deficits hold, by one round, and by one more per bulk call."""
    shop = Shop([(quantum, False) for quantum, _ in classes], rule_)
    for index, (_, waiting) in enumerate(classes):
        for cost in waiting:
            shop.enqueue(index, cost)
    served = [0] * len(classes)
    bulk_calls = 0
    while all(shop.slow.waiting):
        called = shop.call()
        assert called.winner is not None
        bulk_calls += called.rounds > 0
        index = shop.requests[called.winner.row][0]
        if not shop.slow.waiting[index]:
            break
        served[index] += called.winner.cost
        granted = [s + deficit for s, deficit in zip(served, shop.ring.deficits, strict=True)]
        rounds = [tokens // quantum for tokens, (quantum, _) in zip(granted, classes, strict=True)]
        assert all(tokens % quantum == 0 for tokens, (quantum, _) in zip(granted, classes, strict=True))
        assert max(rounds) - min(rounds) <= 1 + bulk_calls
        assert all(deficit < 60 + quantum for deficit, (quantum, _) in zip(shop.ring.deficits, classes, strict=True))
