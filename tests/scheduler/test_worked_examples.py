"""The worked examples of the algorithm, with the deficits after each step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.router.requests import RequestTable
from drr.scheduler.calls import VisitRule
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.manual import Action, Arrive, Call, Change, Drain, Finish, run_manual
from drr.simulation.state import StepKind
from tests.simulation.building import add, deficits_after_dispatches, deficits_at, order, ring_of, run_queued


def test_one_grant_pays_three_requests_of_three_tokens_and_the_cursor_moves_before_the_fourth() -> None:
    run = run_queued({"A": 10, "B": 10}, {"A": [3, 3, 3, 3]})
    first, second, third, fourth = run.decision_steps
    assert [run.state_at(step).classes[0].deficit_tokens for step in (first, second, third)] == [7, 4, 1]
    assert [run.state_at(step).cursor for step in (first, second, third)] == [0, 0, 1]
    assert [run.state_at(step).visits[0].rule for step in (first, second, third)] == [
        VisitRule.GRANT_PAYS,
        VisitRule.KEPT_PAYS,
        VisitRule.KEPT_PAYS,
    ]
    # The cursor stood on the empty class B; A is granted its second quantum when the scan comes round.
    last = run.state_at(fourth)
    assert last.cursor_before == 1
    assert [visit.rule for visit in last.visits] == [VisitRule.EMPTY, VisitRule.GRANT_PAYS]
    assert last.visits[1].deficit_before == 1
    assert last.classes[0].deficit_tokens == 0


@pytest.mark.parametrize(("waiting_behind", "left"), [([], 0), ([9_000], 1_000)])
def test_heads_of_7000_and_9000_take_four_bulk_rounds_and_latency_goes(waiting_behind: list[int], left: int) -> None:
    run = run_queued({"standard": 1_000, "latency": 2_000}, {"standard": [7_000], "latency": [9_000, *waiting_behind]})
    state = run.state_at(run.decision_steps[0])
    standard, latency, standard_bulk, latency_bulk = state.visits
    assert (standard.rule, standard.deficit_after) == (VisitRule.GRANT_SHORT, 1_000)
    assert (latency.rule, latency.deficit_after) == (VisitRule.GRANT_SHORT, 2_000)
    # 6 rounds would pay standard, 4 pay latency: both get 4.
    assert state.bulk_rounds == 4
    assert (standard_bulk.rule, standard_bulk.granted_tokens, standard_bulk.deficit_after) == (
        VisitRule.BULK_SHORT,
        4_000,
        5_000,
    )
    assert (latency_bulk.rule, latency_bulk.deficit_before + latency_bulk.granted_tokens) == (
        VisitRule.BULK_PAYS,
        10_000,
    )
    assert state.winner == 1
    assert deficits_at(run, state.step) == (5_000, left)


def test_a_class_behind_the_bulk_winner_keeps_its_bulk_grant() -> None:
    run = run_queued({"A": 10, "B": 3}, {"A": [100, 5], "B": [200]})
    state = run.state_at(run.decision_steps[0])
    assert [visit.rule for visit in state.visits] == [
        VisitRule.GRANT_SHORT,
        VisitRule.GRANT_SHORT,
        VisitRule.BULK_PAYS,
        VisitRule.BULK_BEHIND,
    ]
    assert state.bulk_rounds == 9
    assert deficits_at(run, state.step) == (0, 30)


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_a_class_behind_the_bulk_winner_gains_a_quantum_each_time_so_equal_quanta_serve_1_to_1_4(
    rule: CursorRule,
) -> None:
    """B keeps the bulk grant of A's call and gets its own quantum in the next: they alternate, 25 tokens to 35."""
    run = run_queued({"A": 10, "B": 10}, {"A": [25] * 40, "B": [35] * 40}, rule)
    assert order(run)[:40] == [name for pair in range(1, 21) for name in (f"a{pair}", f"b{pair}")]
    assert deficits_after_dispatches(run)[:5] == [(5, 30), (5, 5), (0, 25), (0, 0), (5, 30)]


def serve_one_by_one(cursor_rule: CursorRule, quanta: dict[str, int], *, cost: int, count: int) -> list[str]:
    """One worker that holds one request at a time and is drained whenever one ends."""
    table = RequestTable()
    for name in quanta:
        add(table, name, *[cost] * count)
    blocker = table.append(1, policy_header=next(iter(quanta)), name="blocker")
    script: list[Action] = [Arrive(blocker)]
    for pair in range(count):
        script += [Arrive(pair + i * count) for i in range(len(quanta))]
    script += [Finish()] * len(table)
    run = run_manual(ring_of(quanta), table, script, capacity="one", cursor_rule=cursor_rule)
    return [name[0] for name in order(run) if name != "blocker"]


@pytest.mark.parametrize(("rule", "of_first_110"), [("documented", (100, 10)), ("carry", (55, 55))])
def test_one_at_a_time_large_quanta_give_ten_to_one_as_documented_and_one_to_one_with_carry(
    rule: CursorRule, of_first_110: tuple[int, int]
) -> None:
    served = serve_one_by_one(rule, {"A": 1_000, "B": 100}, cost=50, count=200)[:110]
    assert (served.count("a"), served.count("b")) == of_first_110


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_one_at_a_time_quanta_up_to_the_cost_give_four_to_one_under_both_rules(rule: CursorRule) -> None:
    served = serve_one_by_one(rule, {"A": 512, "B": 128}, cost=512, count=100)[:100]
    assert (served.count("a"), served.count("b")) == (80, 20)


def test_without_the_empty_calls_between_dispatches_carry_gives_ten_to_one_as_well() -> None:
    run = run_queued({"A": 1_000, "B": 100}, {"A": [50] * 200, "B": [50] * 200}, "carry")
    served = [name[0] for name in order(run)[:110]]
    assert (served.count("a"), served.count("b")) == (100, 10)


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_a_carry_is_used_once_forgotten_when_blocked_and_looked_at_first(rule: CursorRule) -> None:
    table = RequestTable()
    a1, a2 = add(table, "A", 4, 4)
    b1, b2 = add(table, "B", 4, 4)
    waits = [Arrive(row, wait=True) for row in (a1, a2, b1, b2)]
    straight = run_manual(ring_of({"A": 10, "B": 10}), table, [*waits, Call(4)], cursor_rule=rule)
    assert order(straight) == ["a1", "a2", "b1", "b2"]
    assert deficits_after_dispatches(straight) == [(6, 0), (0, 0), (0, 6), (0, 0)]
    # An empty call in between: the documented cursor still stands on A, the carry is lost.
    one_by_one = run_manual(
        ring_of({"A": 10, "B": 10}),
        table,
        [Change("hold", 0), *waits, Change("free", 0), Finish(), Finish(), Finish()],
        capacity="one",
        cursor_rule=rule,
    )
    assert order(one_by_one) == (["a1", "a2", "b1", "b2"] if rule == "documented" else ["a1", "b1", "a2", "b2"])


def test_an_empty_call_forgets_a_carry_and_says_so() -> None:
    table = RequestTable()
    rows = add(table, "A", 4, 4)
    run = run_manual(
        ring_of({"A": 10, "B": 10}),
        table,
        [*(Arrive(row, wait=True) for row in rows), Call(2)],
        capacity="one",
        cursor_rule="carry",
    )
    first, empty = run.n_steps - 2, run.n_steps - 1
    assert run.state_at(first).carried == 0
    state = run.state_at(empty)
    assert (state.kind, state.carried_before, state.carried) == (StepKind.EMPTY_CALL, 0, -1)
    # What the carry look found is not asked again: the class stands last in the ring, still blocked.
    assert [(v.class_index, v.rule) for v in state.visits] == [
        (0, VisitRule.CARRY_BLOCKED),
        (1, VisitRule.EMPTY),
        (0, VisitRule.BLOCKED),
    ]
    assert state.classes[0].deficit_tokens == 6


def test_a_carried_class_that_is_short_gets_its_quantum_last_and_counts_in_the_bulk_rounds() -> None:
    run = run_queued({"A": 10, "B": 10}, {"A": [4, 39], "B": [35]}, "carry")
    state = run.state_at(run.decision_steps[1])
    assert [(v.class_index, v.rule, v.deficit_before, v.granted_tokens) for v in state.visits] == [
        (0, VisitRule.CARRY_SHORT, 6, 0),
        (1, VisitRule.GRANT_SHORT, 0, 10),
        (0, VisitRule.GRANT_SHORT, 6, 10),
        (1, VisitRule.BULK_PAYS, 10, 30),
        (0, VisitRule.BULK_BEHIND, 16, 30),
    ]


def test_a_call_without_candidates_adds_nothing_and_resets_empty_classes() -> None:
    table = RequestTable()
    rows = add(table, "A", 30, 30)
    run = run_manual(
        ring_of({"A": 20, "B": 20}),
        table,
        [*(Arrive(row, wait=True) for row in rows), Call(1), Change("hold", 0), Call(3), Change("free", 0), Drain()],
    )
    states = [run.state_at(step) for step in range(run.n_steps)]
    empties = [state for state in states if state.kind == StepKind.EMPTY_CALL]
    assert len(empties) >= 3
    held = [state for state in empties if state.classes[0].waiting_requests]
    assert {state.classes[0].deficit_tokens for state in held} == {10}
    assert {state.cursor for state in held} == {held[0].cursor_before}
    assert order(run) == ["a1", "a2"]


@given(
    quanta=st.tuples(st.integers(1, 10**20), st.integers(1, 10**20)),
    costs=st.tuples(st.integers(1, 10**24), st.integers(1, 10**24)),
    rule=st.sampled_from(CURSOR_RULES),
)
def test_bulk_rounds_are_the_fewest_after_which_one_class_can_pay(
    quanta: tuple[int, int], costs: tuple[int, int], rule: CursorRule
) -> None:
    run = run_queued(dict(zip("AB", quanta, strict=True)), {"A": [costs[0], 1], "B": [costs[1], 1]}, rule)
    state = run.state_at(run.decision_steps[0])
    if not state.bulk_rounds:
        assert any(quantum >= cost for quantum, cost in zip(quanta, costs, strict=True))
        return
    granted = [quantum * (1 + state.bulk_rounds) for quantum in quanta]
    assert any(have >= cost for have, cost in zip(granted, costs, strict=True))
    assert all(have - quantum < cost for have, cost, quantum in zip(granted, costs, quanta, strict=True))
    expected = [
        have - cost * (index == state.winner) for index, (have, cost) in enumerate(zip(granted, costs, strict=True))
    ]
    assert deficits_at(run, state.step) == tuple(expected)
