"""How much work arbitration does, counted: head checks, class visits, and no loop per token or per round."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.scheduler.calls import BULK_RULES, CallLog
from drr.scheduler.lanes import SHARED, ClassLanes
from drr.scheduler.ring import CURSOR_RULES, CursorRule, Ring
from drr.simulation.state import CALL_KINDS
from tests.simulation.building import order, run_queued


class CountingGate:
    """Endpoints below ``blocked_below`` are busy; every question is counted."""

    def __init__(self, blocked_below: int = 0) -> None:
        self.blocked_below = blocked_below
        self.questions = 0

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        self.questions += 1
        return False

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        self.questions += 1
        return endpoint < self.blocked_below


@pytest.mark.parametrize("rule", CURSOR_RULES)
@pytest.mark.parametrize("seed", [0, 1])
def test_draining_10000_exact_lanes_of_which_half_are_blocked_checks_10000_heads(rule: CursorRule, seed: int) -> None:
    gate = CountingGate(blocked_below=5_000)
    lanes = ClassLanes(0, gate)
    ring = Ring([lanes], [100], rule)
    endpoints = list(range(10_000))
    random.Random(seed).shuffle(endpoints)
    for number, endpoint in enumerate(endpoints):
        lanes.push((0, 0.0, number, number, 10), endpoint)
    served = 0
    while ring.pop_next() is not None:
        served += 1
    assert (served, lanes.size) == (5_000, 5_000)
    assert gate.questions == lanes.head_checks == 10_000
    # Asking again and again changes nothing while no endpoint changes.
    for _ in range(100):
        assert ring.pop_next() is None
    assert gate.questions == 10_000
    # One endpoint that comes free costs one question, not 5,000.
    gate.blocked_below = 4_999
    lanes.endpoint_changed(4_999)
    assert ring.pop_next() is not None
    assert ring.pop_next() is None
    assert gate.questions == 10_001
    lanes._check()


def test_an_endpoint_that_stays_busy_costs_one_question_each_time_it_changes() -> None:
    gate = CountingGate(blocked_below=10)
    lanes = ClassLanes(0, gate)
    for number in range(10):
        lanes.push((0, 0.0, number, number, 10), number)
    assert lanes.candidate() is None
    assert gate.questions == 10
    for _ in range(5):
        lanes.endpoint_changed(3)
        assert lanes.candidate() is None
    assert gate.questions == 15
    lanes._check()


def test_a_blocked_shared_head_is_asked_again_only_after_a_change_or_a_better_head() -> None:
    class Shut(CountingGate):
        def shared_is_blocked(self, class_index: int, request: int) -> bool:
            super().shared_is_blocked(class_index, request)
            return True

    gate = Shut()
    lanes = ClassLanes(0, gate)
    lanes.push((0, 0.0, 1, 1, 10), SHARED)
    for _ in range(10):
        assert lanes.candidate() is None
    assert gate.questions == 1
    lanes.push((0, 0.0, 2, 2, 10), SHARED)
    assert lanes.candidate() is None
    assert gate.questions == 1, "one behind the head is no reason to ask again"
    lanes.push((-1, 0.0, 3, 3, 10), SHARED)
    assert lanes.candidate() is None
    assert gate.questions == 2, "a better head is"
    lanes.endpoint_changed(0)
    assert lanes.candidate() is None
    assert gate.questions == 3


@pytest.mark.parametrize("rule", CURSOR_RULES)
@pytest.mark.parametrize("cost", [10**18, 10**30])
def test_a_head_of_10_to_the_18_tokens_with_quantum_3_takes_two_ring_scans(rule: CursorRule, cost: int) -> None:
    started = time.perf_counter()
    run = run_queued({"A": 3, "B": 3, "C": 3}, {"A": [cost], "C": [cost + 1, cost + 1]}, rule)
    assert time.perf_counter() - started < 1
    first = run.state_at(run.decision_steps[0])
    # Three classes in the first scan, the two that have a candidate in the second.
    assert len(first.visits) == 5
    assert first.bulk_rounds == -(-(cost - 3) // 3)
    assert first.classes[2].deficit_tokens == 3 * (1 + first.bulk_rounds) - (cost + 1) * (first.winner == 2)
    assert order(run)[0] == "a1"


def test_a_call_asks_each_class_once_whatever_the_number_of_rounds() -> None:
    gate = CountingGate()
    classes = [ClassLanes(index, gate) for index in range(50)]
    for index, lanes in enumerate(classes):
        lanes.push((0, 0.0, index, index, 10**12 + index), SHARED)
    ring = Ring(classes, [1] * 50)
    assert ring.pop_next() is not None
    assert gate.questions == 50


@given(
    costs=st.lists(st.lists(st.integers(1, 10**9), max_size=4), min_size=1, max_size=6),
    quanta=st.lists(st.integers(1, 10**6), min_size=6, max_size=6),
    rule=st.sampled_from(CURSOR_RULES),
)
def test_a_call_visits_at_most_twice_the_number_of_classes(
    costs: list[list[int]], quanta: list[int], rule: CursorRule
) -> None:
    names = [f"c{i}" for i in range(len(costs))]
    run = run_queued(dict(zip(names, quanta, strict=False)), dict(zip(names, costs, strict=True)), rule)
    for step, kind in enumerate(run.kinds):
        if kind not in CALL_KINDS:
            continue
        visits = run.state_at(step).visits
        first_scan = [
            visit for visit in visits if visit.rule not in BULK_RULES and not visit.rule.name.startswith("CARRY")
        ]
        bulk = [visit for visit in visits if visit.rule in BULK_RULES]
        assert len(first_scan) <= len(costs)
        assert len(bulk) <= len(costs)
        # A carry look that fails comes on top: its answer is reused when the scan comes to that class.
        assert len(visits) - len(first_scan) - len(bulk) <= 1
        assert visits or kind not in CALL_KINDS


@pytest.mark.parametrize("classes", [1, 7])
def test_a_log_costs_one_line_per_visit_and_a_ring_without_one_writes_none(classes: int) -> None:
    def pop_all(log: CallLog | None) -> list[int]:
        lanes = [ClassLanes(index, CountingGate()) for index in range(classes)]
        for number in range(60):
            lanes[number % classes].push((0, 0.0, number, number, 1 + number % 5), SHARED)
        ring = Ring(lanes, [2] * classes, "carry", log)
        served = []
        while (going := ring.pop_next()) is not None:
            served.append(going.request)
        return served

    log = CallLog()
    assert pop_all(log) == pop_all(None)
    assert len(log) == 61
    assert log.visit_ends[-1] == len(log.rules) == len(log.heads)
