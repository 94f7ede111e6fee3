"""Single rules of the router, each with the figures on both sides of it."""

from __future__ import annotations

import pytest

from drr.router.endpoints import Worker, busy_limit
from drr.router.requests import Constraint, RequestTable
from drr.simulation.manual import Action, Arrive, Call, Change, Drain, Finish, run_manual
from tests.simulation.building import add, order, ring_of


def test_wspt_goes_by_uncached_tokens() -> None:
    table = RequestTable()
    table.append(50, policy_header="A", name="short", cached_tokens=0)
    table.append(100, policy_header="A", name="long but cached", cached_tokens=90)
    run = run_manual(
        ring_of({"A": 10}, queue_policy="wspt"), table, [Arrive(0, wait=True), Arrive(1, wait=True), Call(2)]
    )
    assert order(run) == ["long but cached", "short"]
    assert list(run.cost_tokens) == [50, 10]


@pytest.mark.parametrize(("tokens", "waits"), [(100, False), (101, True)])
def test_a_pinned_worker_is_busy_above_its_threshold_not_at_it(tokens: int, waits: bool) -> None:
    table = RequestTable()
    add(table, "A", tokens, 5, constraint=Constraint(1))
    run = run_manual(
        ring_of({"A": 10}, prefill_busy_threshold=100),
        table,
        [Arrive(0), Arrive(1)],
        workers=[Worker(0), Worker(1)],
        capacity="policy",
    )
    assert (run.endpoint[1] == -1) is waits


@pytest.mark.parametrize(
    ("fraction", "batched", "limit"), [(0.5, 3, 1), (0.5, 4, 2), (0.0, 100, 0), (1.5, 1_001, 1_501), (1e-9, 8_192, 0)]
)
def test_above_a_fraction_of_a_token_is_from_the_next_whole_one_on(fraction: float, batched: int, limit: int) -> None:
    (policy_class,) = ring_of({"A": 1}, prefill_busy_threshold_frac=fraction).classes
    assert busy_limit(policy_class, batched) == limit


def test_what_is_cached_is_no_more_than_the_prompt_and_a_cost_is_at_least_1() -> None:
    table = RequestTable()
    table.append(10, policy_header="A", cached_tokens=99)
    table.append(10, policy_header="A", cached_tokens=4)
    run = run_manual(ring_of({"A": 10}), table, [Arrive(0), Arrive(1)])
    assert list(run.outcomes.cached_tokens) == [10, 4]
    assert list(run.cost_tokens) == [1, 6]


@pytest.mark.parametrize("queue_policy", ["fcfs", "wspt"])
def test_of_two_equals_the_one_enqueued_first_goes_first(queue_policy: str) -> None:
    table = RequestTable()
    add(table, "A", 7, 7, 7)
    script = [*(Arrive(row, wait=True) for row in (2, 0, 1)), Call(3)]
    run = run_manual(ring_of({"A": 10}, queue_policy=queue_policy), table, script)
    assert order(run) == ["a3", "a1", "a2"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_pin_without_rank_goes_with_its_worker_when_that_comes_back_with_other_ranks(ranks: int) -> None:
    table = RequestTable()
    add(table, "A", 10, 10, *[10] * ranks, constraint=Constraint(1))
    script: list[Action] = [Arrive(0), Arrive(1), Change("join", Worker(1, ranks, dp_start=4))]
    run = run_manual(ring_of({"A": 10}), table, script, workers=[Worker(0), Worker(1)], capacity="one")
    keys = run.inputs.endpoint_keys
    assert keys[run.endpoint[0]] == (1, 0)
    assert keys[run.endpoint[1]][1] >= 4, "its old rank is busy, and none of its business"


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_pin_to_a_worker_that_was_not_there_waits_for_the_ranks_it_came_with(ranks: int) -> None:
    """Its lane is named after rank 0, and looked at again when a rank that is there gets free."""
    table = RequestTable()
    pinned = table.append(10, policy_header="A", constraint=Constraint(5))
    others = [table.append(10, policy_header="B", constraint=Constraint(5, 4 + rank)) for rank in range(ranks)]
    comes: list[Action] = [Arrive(pinned, wait=True), Change("join", Worker(5, ranks, dp_start=4), wait=True)]
    for script in ([*comes, Change("hold", 5)], [*comes, *map(Arrive, others), Drain()]):
        run = run_manual(ring_of({"A": 1, "B": 1}), table, script, capacity="one", arrivals="bypass")
        assert run.endpoint[pinned] == -1
        (lane,) = run.state_at(run.n_steps - 1).lanes
        assert [run.inputs.endpoint_keys[each.endpoint] for each in lane.blocked_by] == [
            (5, 4 + r) for r in range(ranks)
        ]
    script = [*comes, *map(Arrive, others), Drain(), Finish(others[-1])]
    run = run_manual(ring_of({"A": 1, "B": 1}), table, script, capacity="one", arrivals="bypass")
    assert run.endpoint[pinned] == run.endpoint[others[-1]]
