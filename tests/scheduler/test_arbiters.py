"""The rival arbiters: worked examples from where they come from, and what must hold for any run of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.scheduler.arbiters import ARBITERS, ArbiterName
from drr.scheduler.calls import WINNING_RULES, VisitRule
from drr.scheduler.ring import CURSOR_RULES
from drr.simulation.manual import Action, Arrive, Call, Change, Drain, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS, StepKind
from tests.simulation.building import (
    add,
    deficits_after_dispatches,
    deficits_at,
    order,
    queued_first,
    ring_of,
)
from tests.simulation.strategies import ManualInputs, ReplayInputs, manual_inputs, replay_inputs
from tests.simulation.watching import assert_state_is, watched

RIVALS = tuple(name for name in ARBITERS if name != "drr")
WITHOUT_DEFICITS: tuple[ArbiterName, ...] = ("round_robin", "strict", "fcfs")


def run_of(arbiter: ArbiterName, quanta: Mapping[str, int], costs: Mapping[str, Sequence[int]]) -> Run:
    """All requests wait before the first call, nothing is ever busy."""
    table, script = queued_first(costs)
    return run_manual(ring_of(quanta), table, script, arbiter=arbiter)


def classes_gone(run: Run) -> str:
    return "".join(run.class_names[run.class_index[run.step_request[step]]] for step in run.decision_steps)


def one_at_a_time(arbiter: ArbiterName, quanta: Mapping[str, int], costs: Mapping[str, Sequence[int]]) -> Run:
    """One slot: after each dispatch one more call finds everybody blocked."""
    table, script = queued_first(costs)
    script = [*script[:-1], Drain(), *[Finish()] * len(table)]
    return run_manual(ring_of(quanta), table, script, arbiter=arbiter, capacity="one")


# --- classic DRR ---


def test_classic_drr_reproduces_the_example_of_the_emory_lecture_notes() -> None:
    """https://www.cs.emory.edu/~cheung/Courses/558/Syllabus/11-Fairness/DDR.html: three flows, quantum 500."""
    run = run_of(
        "classic_drr",
        {"A": 500, "B": 500, "C": 500},
        {"A": [200, 400], "B": [100, 200, 300], "C": [200, 200, 200]},
    )
    assert order(run) == ["a1", "b1", "b2", "c1", "c2", "a2", "b3", "c3"]
    # The notes show 300 left with flow 1 and 200 with flow 2, both carried over to the next round.
    assert deficits_after_dispatches(run) == [
        *((300, 0, 0), (300, 400, 0), (300, 200, 0), (300, 200, 300), (300, 200, 100)),
        *((0, 200, 100), (0, 0, 100), (0, 0, 0)),
    ]


def test_classic_drr_reproduces_the_figures_of_shreedhar_and_varghese() -> None:
    """Figures 2 and 3 of the paper: quantum 500; after its packet of 200 the first flow has 300 left, not enough for
    the next of 750, and comes back with 300 + 500 = 800."""
    run = run_of(
        "classic_drr",
        dict.fromkeys("ABCD", 500),
        {"A": [200, 750, 20], "B": [500, 500], "C": [100, 600, 200], "D": [180, 700, 50]},
    )
    first, second, third, *_ = run.decision_steps
    assert deficits_at(run, first) == (300, 0, 0, 0)
    assert [run.state_at(step).cursor for step in (first, second, third)] == [1, 2, 3]
    assert order(run)[:4] == ["a1", "b1", "c1", "d1"]
    a2 = run.state_at(run.decision_steps[4]).visits[0]
    assert (a2.deficit_before, a2.granted_tokens, a2.charged_tokens, a2.deficit_after) == (300, 500, 750, 50)


def test_classic_drr_solves_the_exercise_with_four_heads_above_the_quantum() -> None:
    """A DRR exercise (lengths 16, 10, 12, 8, quantum 4): 8 goes in round 2, 10 and 12 in round 3, 16 in round 4."""
    run = run_of("classic_drr", dict.fromkeys("PQRS", 4), {"P": [16], "Q": [10], "R": [12], "S": [8]})
    assert order(run) == ["s1", "q1", "r1", "p1"]
    assert deficits_after_dispatches(run) == [(8, 8, 8, 0), (12, 0, 8, 0), (12, 0, 0, 0), (0, 0, 0, 0)]


def test_classic_drr_gives_the_notes_case_with_quantum_60_the_order_of_our_ring() -> None:
    quanta, costs = dict.fromkeys("ABC", 60), {"A": [25, 45, 10], "B": [50, 30], "C": [20, 20, 20, 20]}
    run = run_of("classic_drr", quanta, costs)
    assert order(run) == ["a1", "b1", "c1", "c2", "c3", "a2", "a3", "b2", "c4"]
    ours = run_of("drr", quanta, costs)
    assert order(ours) == order(run)
    assert deficits_after_dispatches(ours) == deficits_after_dispatches(run)


def test_classic_drr_puts_a_class_that_comes_back_at_the_end_of_the_list_and_the_ring_keeps_its_place() -> None:
    quanta = {"A": 10, "B": 10, "C": 10}
    orders = {}
    for arbiter in ("classic_drr", "drr"):
        table, _ = queued_first({"A": [10], "B": [10, 10], "C": [10, 10]})
        late = add(table, "A", 10)[0]
        script: list[Action] = [*(Arrive(row, wait=True) for row in range(5)), Call(2), Arrive(late, wait=True)]
        run = run_manual(ring_of(quanta), table, [*script, Call(4)], arbiter=arbiter)
        orders[arbiter] = order(run)
    # B is behind C when A comes back: its turn is over. In the ring A stands before B, where it always stood.
    assert orders == {
        "classic_drr": ["a1", "b1", "c1", "b2", "a2", "c2"],
        "drr": ["a1", "b1", "c1", "a2", "b2", "c2"],
    }


def test_classic_drr_differs_from_the_ring_once_complete_rounds_were_granted_behind_the_winner() -> None:
    quanta, costs = dict.fromkeys("WKJ", 5), {"W": [10] * 1_000, "K": [1_000] * 12, "J": [10] * 1_000}
    tokens = {}
    for arbiter in ("drr", "classic_drr"):
        gone = classes_gone(run_of(arbiter, quanta, costs)).split("K")[:11]
        tokens[arbiter] = [10 * "".join(gone[:10]).count("W"), 10 * "".join(gone[:10]).count("J")]
    # When ten requests of K are gone (10,000 tokens), W and J should have had as much.
    assert tokens == {"drr": [6_700, 6_690], "classic_drr": [10_000, 9_990]}


@st.composite
def all_queued(draw: st.DrawFn, *, largest_quantum: int = 60) -> tuple[dict[str, int], dict[str, list[int]]]:
    names = "ABCD"[: draw(st.integers(1, 4))]
    quanta = {name: draw(st.integers(1, largest_quantum)) for name in names}
    costs = {name: draw(st.lists(st.integers(1, 60), max_size=6)) for name in names}
    return quanta, costs


@given(all_queued())
def test_classic_drr_and_the_ring_agree_up_to_the_first_complete_rounds_and_then_differ_by_one_quantum(
    drawn: tuple[dict[str, int], dict[str, list[int]]],
) -> None:
    quanta, costs = drawn
    ours, classic = run_of("drr", quanta, costs), run_of("classic_drr", quanta, costs)
    for mine, theirs in zip(ours.decision_steps, classic.decision_steps, strict=True):
        state, rival = ours.state_at(mine), classic.state_at(theirs)
        assert state.request == rival.request
        behind = [visit.class_index for visit in state.visits if visit.rule == VisitRule.BULK_BEHIND]
        for index, (own, other) in enumerate(zip(state.classes, rival.classes, strict=True)):
            # Ours has granted the last round already to whoever stands behind the winner.
            extra = ours.profile.classes[index].quantum if index in behind else 0
            assert own.deficit_tokens == other.deficit_tokens + extra
        if behind:
            break
        assert (
            state.cursor == rival.cursor
            or not rival.classes[rival.cursor].waiting_requests
            or not (state.classes[state.cursor].waiting_requests)
        )


@given(all_queued())
def test_classic_drr_leaves_no_class_more_than_its_next_head_needs(
    drawn: tuple[dict[str, int], dict[str, list[int]]],
) -> None:
    run = run_of("classic_drr", *drawn)
    for step in run.decision_steps:
        state = run.state_at(step)
        for index, each in enumerate(state.classes):
            largest = max([1, *drawn[1][run.class_names[index]]])
            bound = largest + (run.profile.classes[index].quantum if state.cursor == index else 0)
            assert 0 <= each.deficit_tokens < bound


def test_classic_drr_keeps_the_turn_of_a_class_that_is_blocked_for_a_while() -> None:
    run = one_at_a_time("classic_drr", {"A": 1_000, "B": 100}, {"A": [50] * 60, "B": [50] * 60})
    # The empty calls between two dispatches change nothing, so the turns are whole: 20 of A, then 2 of B.
    assert classes_gone(run)[:44] == ("A" * 20 + "BB") * 2
    table, script = queued_first({"A": [50, 50, 50], "B": [50] * 4})
    held: list[Action] = [*script[:-1], Call(), Change("hold", 0), Call(2), Change("free", 0), Call(2)]
    run = run_manual(ring_of({"A": 100, "B": 50}), table, held, arbiter="classic_drr")
    assert order(run)[:3] == ["a1", "a2", "b1"]
    empty = [s for s in range(run.decision_steps[1]) if run.kinds[s] == StepKind.EMPTY_CALL]
    assert [deficits_at(run, step) for step in empty] == [(50, 0)] * len(empty) != []


# --- one quantum per request ---


def test_one_quantum_per_request_lets_the_class_with_small_requests_run_ahead() -> None:
    """The mistake behind the first public case: each request gets a new quantum, so C never stops (by hand)."""
    run = run_of(
        "quantum_per_request", dict.fromkeys("ABC", 60), {"A": [25, 45, 10], "B": [50, 30], "C": [20, 20, 20, 20]}
    )
    assert order(run) == ["a1", "b1", "c1", "c2", "c3", "c4", "a2", "a3", "b2"]
    # A 60-25; B 60-50; C +60-20 each time, the fourth empties it; A 35+60-45, again +60, empty; B 10+60-30, empty.
    assert deficits_after_dispatches(run) == [
        *((35, 0, 0), (35, 10, 0), (35, 10, 40), (35, 10, 80), (35, 10, 120)),
        *((35, 10, 0), (50, 10, 0), (0, 10, 0), (0, 0, 0)),
    ]


def test_one_quantum_per_request_needs_complete_rounds_for_heads_above_the_quantum_too() -> None:
    run = run_of("quantum_per_request", {"A": 1_000, "B": 2_000}, {"A": [7_000], "B": [9_000, 500]})
    state = run.state_at(run.decision_steps[0])
    assert state.bulk_rounds == 4
    assert deficits_at(run, state.step) == (5_000, 1_000)
    assert order(run) == ["b1", "b2", "a1"]


# --- those without deficits ---


def test_round_robin_by_request_gives_tokens_in_proportion_to_request_size() -> None:
    """Shreedhar and Varghese, introduction: round robin by packet lets a flow with packets ten times as long have ten
    times the bandwidth."""
    run = run_of("round_robin", {"A": 1, "B": 9}, {"A": [1_000] * 20, "B": [100] * 20})
    assert classes_gone(run) == "AB" * 20


def test_strict_priority_reproduces_the_schedule_of_the_textbook() -> None:
    """Silberschatz, Galvin, Gagne, Operating System Concepts, priority scheduling: bursts 10 1 2 1 5 with priorities
    3 1 4 5 2 run in the order P2 P5 P1 P3 P4 and wait 8.2 on average."""
    bursts = {"P2": [1], "P5": [5], "P1": [10], "P3": [2], "P4": [1]}
    run = run_of("strict", dict.fromkeys(bursts, 1), bursts)
    assert order(run) == ["p21", "p51", "p11", "p31", "p41"]
    costs = [run.cost_tokens[run.step_request[step]] for step in run.decision_steps]
    waits = [0, *accumulate(costs)][:-1]
    assert sum(waits) / len(waits) == pytest.approx(8.2)


@pytest.mark.parametrize(
    ("arrivals", "average"), [((("P1", 24), ("P2", 3), ("P3", 3)), 17), ((("P2", 3), ("P3", 3), ("P1", 24)), 3)]
)
def test_global_fcfs_reproduces_the_waits_of_the_textbook(
    arrivals: tuple[tuple[str, int], ...], average: float
) -> None:
    """Silberschatz, Galvin, Gagne, Operating System Concepts, first come first served: bursts 24 3 3 wait 0 24 27, 17
    on average; in the order 3 3 24 only 3. The order of the classes in the file plays no part."""
    table, _ = queued_first({})
    rows = [add(table, name, cost)[0] for name, cost in arrivals]
    script = [*(Arrive(row, wait=True) for row in rows), Call(3)]
    run = run_manual(ring_of({"P3": 1, "P1": 1, "P2": 1}), table, script, arbiter="fcfs")
    assert [run.step_request[step] for step in run.decision_steps] == rows
    waits = [0, *accumulate(cost for _, cost in arrivals)][:-1]
    assert sum(waits) / 3 == average


def test_a_blocked_class_does_not_stop_strict_priority_or_fcfs() -> None:
    for arbiter in ("strict", "fcfs"):
        run = one_at_a_time(arbiter, {"A": 1, "B": 1}, {"A": [5, 5], "B": [5]})
        assert order(run)[:3] == ["a1", "a2", "b1"]


# --- what holds for all of them ---


def check_call(run: Run, step: int, arbiter: ArbiterName) -> None:
    """One call of a rival: charged, granted and chosen as its rules say."""
    before, after = run.state_at(step - 1), run.state_at(step)
    winners = [visit for visit in after.visits if visit.rule in WINNING_RULES]
    assert len(winners) == (after.request >= 0)
    able = [i for i, each in enumerate(before.classes) if each.waiting_requests and not each.is_blocked]
    assert bool(winners) == bool(able), "a call dispatches whenever somebody may go"
    assert all(each.deficit_tokens >= 0 for each in after.classes)
    assert not any(each.deficit_tokens for each in after.classes if not each.waiting_requests and arbiter != "drr")
    if arbiter in WITHOUT_DEFICITS:
        assert not any(each.deficit_tokens for each in after.classes)
    if not winners:
        changed = [i for i, each in enumerate(after.classes) if each.deficit_tokens != before.classes[i].deficit_tokens]
        assert not changed
        assert after.cursor == before.cursor
    if arbiter == "strict" and winners:
        assert winners[0].class_index == able[0]
    if arbiter == "round_robin" and winners:
        count = len(before.classes)
        assert winners[0].class_index == min(able, key=lambda i: (i - before.cursor) % count)


@given(manual_inputs(), st.sampled_from(RIVALS))
def test_states_of_a_rival_run_are_those_of_the_live_router(inputs: ManualInputs, arbiter: ArbiterName) -> None:
    with watched() as watcher:
        run = run_manual(inputs.profile, inputs.requests, inputs.script, arbiter=arbiter, **inputs.settings)
        seen = list(watcher.seen)
    assert len(seen) == run.n_steps
    for step, live in enumerate(seen):
        assert_state_is(run.state_at(step), live, run)
        if run.kinds[step] in CALL_KINDS:
            check_call(run, step, arbiter)


@given(replay_inputs(most=20), st.sampled_from(RIVALS))
def test_a_rival_replay_serves_everybody_once_and_can_be_rebuilt(inputs: ReplayInputs, arbiter: ArbiterName) -> None:
    from drr.simulation.replay import replay

    with watched() as watcher:
        run = replay(inputs.profile, inputs.requests, arbiter=arbiter, **inputs.settings)
        seen = list(watcher.seen)
    for step, live in enumerate(seen):
        assert tuple(each.deficit_tokens for each in run.state_at(step).classes) == live.deficits
    gone = [run.step_request[step] for step in run.decision_steps]
    assert len(set(gone)) == len(gone)
    if run.aborted_because is None:
        assert all(run.outcome[row] for row in range(len(run.requests)))


@given(all_queued())
def test_global_fcfs_dispatches_in_order_of_arrival(drawn: tuple[dict[str, int], dict[str, list[int]]]) -> None:
    run = run_of("fcfs", *drawn)
    gone = [run.step_request[step] for step in run.decision_steps]
    assert gone == sorted(gone)


@pytest.mark.parametrize("arbiter", RIVALS)
@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_the_cursor_rule_plays_no_part_for_rivals(arbiter: ArbiterName, rule: str) -> None:
    table, script = queued_first({"A": [50] * 10, "B": [50] * 10})
    run = run_manual(ring_of({"A": 1_000, "B": 100}), table, script, arbiter=arbiter, cursor_rule=rule)  # type: ignore[arg-type]
    assert list(run.other_rule.released_at_ms) == list(run.released_at_ms)
    assert order(run.other_rule) == order(run)
