"""Rules that recordings and examples happen not to reach; ``make mutants`` found them untested."""

from __future__ import annotations

import pytest

from drr.policy.schema import PolicyClass
from drr.router.endpoints import busy_limit
from drr.router.prefix import BlockIdentities
from drr.router.requests import Constraint, RequestTable
from drr.router.selection import WorkerChoice
from drr.scheduler.lanes import SHARED, ClassLanes
from drr.scheduler.ring import Ring
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Arrive, Drain, run_manual
from drr.simulation.replay import replay
from drr.simulation.timing import nanoseconds
from tests.simulation.building import add, order, ring_of


@pytest.mark.parametrize(("seconds", "expected"), [(1 / 1024, 976_562), (3 / 1024, 2_929_688), (-1 / 1024, -976_562)])
def test_exactly_half_a_nanosecond_goes_to_the_even_neighbour(seconds: float, expected: int) -> None:
    assert nanoseconds(seconds) == expected


class OneBusyEndpoint:
    """A gate at which endpoint 1 is busy for every class."""

    def shared_is_blocked(self, class_index: int, request: int) -> bool:
        return False

    def exact_is_blocked(self, class_index: int, request: int, endpoint: int) -> bool:
        return endpoint == 1


def test_a_next_head_that_is_blocked_keeps_the_cursor_if_the_deficit_pays_for_it() -> None:
    lanes = [ClassLanes(index, OneBusyEndpoint()) for index in range(2)]
    ring = Ring(lanes, [10, 10])
    lanes[0].push((0, 0.0, 0, 0, 4), 0)
    lanes[0].push((0, 0.0, 1, 1, 4), 1)
    lanes[1].push((0, 0.0, 2, 2, 4), SHARED)
    first = ring.pop_next()
    assert first is not None
    assert first.request == 0
    assert (ring.deficits, ring.cursor) == ([6, 0], 0)
    second = ring.pop_next()
    assert second is not None
    assert second.request == 2


def test_wspt_goes_by_uncached_tokens_not_by_the_length_of_the_prompt() -> None:
    table = RequestTable()
    add(table, "A", 100)
    add(table, "A", 1_000, cached_tokens=990)
    script = [Arrive(0, wait=True), Arrive(1, wait=True), Drain()]
    assert order(run_manual(ring_of({"A": 10}, queue_policy="wspt"), table, script)) == ["a2", "a1"]


def test_a_pinned_worker_is_busy_above_its_threshold_not_at_it() -> None:
    table = RequestTable()
    add(table, "A", 100, 100, 100, constraint=Constraint(0))
    profile = ring_of({"A": 10}, prefill_busy_threshold=100)
    run = run_manual(profile, table, [Arrive(0), Arrive(1), Arrive(2)], capacity="policy", arrivals="bypass")
    assert run.outcome == ["immediate", "immediate", "queued"]
    assert run.endpoint[2] == -1


@pytest.mark.parametrize(("fraction", "most_allowed_tokens"), [(0.0002, 1), (0.00012207, 0), (1.0, 8_192), (0.0, 0)])
def test_a_worker_is_busy_above_a_fraction_that_is_no_whole_number_of_tokens(
    fraction: float, most_allowed_tokens: int
) -> None:
    policy_class = PolicyClass("A", quantum=1, prefill_busy_threshold_frac=fraction)
    limit = busy_limit(policy_class, 8_192)
    assert limit == most_allowed_tokens
    assert not limit > fraction * 8_192
    assert limit + 1 > fraction * 8_192


@pytest.mark.parametrize("seed", range(8))
def test_the_worker_choice_counts_parts_of_blocks(seed: int) -> None:
    choice = WorkerChoice(64, seed)
    assert choice.choose(0, (0, 1), [30, 20], isl_tokens=10, overlaps=(), chain=()) == 1
    assert choice.choose(0, (0, 1), [20, 30], isl_tokens=10, overlaps=(), chain=()) == 0


def test_a_higher_strict_priority_goes_first() -> None:
    table = RequestTable()
    add(table, "A", 10)
    add(table, "A", 10, strict_priority=1)
    add(table, "A", 10, strict_priority=2)
    script = [*(Arrive(row, wait=True) for row in range(3)), Drain()]
    assert order(run_manual(ring_of({"A": 10}), table, script)) == ["a3", "a2", "a1"]


def test_an_arrival_whose_class_has_a_backlog_goes_through_the_ring_though_a_worker_is_idle() -> None:
    table = RequestTable()
    add(table, "A", 10, 10, constraint=Constraint(0))
    add(table, "A", 10)
    script = [Arrive(row) for row in range(3)]
    run = run_manual(ring_of({"A": 10}), table, script, workers=2, capacity="one", arrivals="bypass")
    assert run.outcome == ["immediate", "queued", "queued"]
    assert list(run.endpoint) == [0, -1, 1]


def test_equal_content_behind_a_different_block_is_a_different_block() -> None:
    identities = BlockIdentities(512, 512)
    first, second = identities.chain(1024, (1, 2)), identities.chain(1024, (3, 2))
    assert first[1] != second[1]
    assert identities.chain(1536, (1, 2, 3))[:2] == first


@pytest.mark.parametrize("seed", range(4))
def test_of_two_idle_workers_the_lower_one_starts_first(seed: int) -> None:
    """Neither prompt fits its pool, so both passes take no time and end in the order in which they start."""
    table = RequestTable()
    add(table, "A", 5_000, 5_000)
    run = replay(
        ring_of({"A": 10}), table, workers=2, engine=EngineOptions(block_size=512, num_gpu_blocks=4), seed=seed
    )
    assert [run.endpoint[row] for row in run.completion_order] == [0, 1]


def test_once_the_budget_is_spent_one_request_that_needs_no_tokens_is_still_admitted_and_no_second() -> None:
    table = RequestTable()
    add(table, "A", 512, hash_ids=(1,))
    add(table, "A", 512, hash_ids=(2,), timestamp_ms=1_000.0)
    add(table, "A", 512, 512, hash_ids=(1,), timestamp_ms=1_000.0, output_tokens=0)
    engine = EngineOptions(block_size=512, max_num_batched_tokens=512)
    admitted = replay(ring_of({"A": 10}), table, engine=engine).first_admit_ms
    assert admitted[:3] == [0.0, 1_000.0, 1_000.0]
    assert admitted[3] is not None
    assert admitted[3] > 1_000.0
