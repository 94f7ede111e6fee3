"""Who may serve a request, who is busy, and what a refusal or an error says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.router.admission import QueueLimits, Refusal
from drr.router.endpoints import NEVER_BUSY, Endpoints, SelectionError, Worker, busy_limit, uniform_cluster
from drr.router.requests import Constraint, RequestTable
from drr.router.selection import WorkerChoice
from drr.simulation.manual import Arrive, Change, run_manual
from tests.simulation.building import add, ring_of

BIG = frozenset({"big"})
CLUSTER = [Worker(1, dp_size=2), Worker(2, dp_start=4, taints=BIG), Worker(3)]


def endpoints() -> Endpoints:
    return Endpoints(CLUSTER, ring_of({"A": 1}, prefill_busy_threshold=10).classes)


@pytest.mark.parametrize(
    ("constraint", "found"),
    [
        (Constraint(), [(1, 0), (1, 1), (2, 4), (3, 0)]),
        (Constraint(1), [(1, 0), (1, 1)]),
        (Constraint(1, 1), [(1, 1)]),
        (Constraint(2), [(2, 4)]),
        (Constraint(allowed_workers=frozenset({2, 3, 9})), [(2, 4), (3, 0)]),
        (Constraint(required_taints=BIG), [(2, 4)]),
        (Constraint(2, 4, allowed_workers=frozenset({2}), required_taints=BIG), [(2, 4)]),
        (Constraint(9), SelectionError.PINNED_WORKER_UNKNOWN),
        (Constraint(1, 2), SelectionError.DP_RANK_OUT_OF_RANGE),
        (Constraint(2, 0), SelectionError.DP_RANK_OUT_OF_RANGE),
        (Constraint(1, allowed_workers=frozenset({2})), SelectionError.PINNED_WORKER_NOT_ALLOWED),
        (Constraint(1, required_taints=BIG), SelectionError.PINNED_WORKER_NOT_ALLOWED),
        (Constraint(allowed_workers=frozenset({9})), SelectionError.NO_ENDPOINTS),
        (Constraint(required_taints=frozenset({"small"})), SelectionError.NO_ENDPOINTS),
    ],
)
def test_pins_ranks_allow_lists_and_taints_decide_who_may_serve(
    constraint: Constraint, found: list[tuple[int, int]] | SelectionError
) -> None:
    cluster = endpoints()
    answer = cluster.eligible(constraint)
    if isinstance(answer, tuple):
        assert [cluster.keys[endpoint] for endpoint in answer] == found
    else:
        assert answer is found


def test_an_overloaded_endpoint_serves_nobody_and_the_error_says_so() -> None:
    cluster = endpoints()
    cluster.set_overloaded(cluster.index(3, 0), True)
    assert cluster.eligible(Constraint(3)) is SelectionError.PINNED_WORKER_OVERLOADED
    assert cluster.eligible(Constraint(allowed_workers=frozenset({3}))) is SelectionError.ALL_OVERLOADED
    assert len(cluster.eligible(Constraint())) == 3
    assert cluster.discovered() == 4, "it still counts for the limits"
    cluster.set_overloaded(cluster.index(3, 0), False)
    assert cluster.eligible(Constraint(3)) == (cluster.index(3, 0),)


@pytest.mark.parametrize(
    ("constraint", "lane"),
    [
        (Constraint(), None),
        (Constraint(allowed_workers=frozenset({3})), None),
        (Constraint(1), None),
        (Constraint(1, 0), (1, 0)),
        (Constraint(2), (2, 4)),
        (Constraint(3), (3, 0)),
        (Constraint(1, 7), (1, 7)),
        (Constraint(9), (9, 0)),
    ],
)
def test_a_pin_has_a_lane_of_its_own_where_it_names_one_endpoint(
    constraint: Constraint, lane: tuple[int, int] | None
) -> None:
    cluster = endpoints()
    target = cluster.target(constraint)
    assert (None if target == -1 else cluster.keys[target]) == lane


def test_a_worker_that_left_and_came_back_keeps_its_endpoint_and_what_it_holds() -> None:
    cluster = endpoints()
    (endpoint,) = cluster.remove_worker(3)
    cluster.loads[endpoint] = 5
    assert cluster.discovered() == 3
    assert cluster.remove_worker(3) == []
    assert cluster.add_worker(Worker(3)) == [endpoint]
    assert cluster.loads[endpoint] == 5
    assert cluster.discovered() == 4


def test_a_uniform_cluster_counts_its_workers_from_0() -> None:
    assert [worker.worker_id for worker in uniform_cluster(3, dp_size=2)] == [0, 1, 2]


def test_limits_are_asked_in_the_order_requests_raw_tokens_cached_tokens() -> None:
    classes = ring_of(
        {"A": 1},
        request_queue_limit_per_worker=1,
        raw_isl_token_queue_limit_per_worker=10,
        cached_token_queue_limit_per_worker=5,
    ).classes
    limits = QueueLimits(classes)
    assert limits.refusal(0, 1) is None
    assert limits.refusal(0, 0) == Refusal(0, "requests", 0, 0), "without endpoints every limit is 0"
    limits.add(0, 100, 50)
    assert limits.refusal(0, 1) == Refusal(0, "requests", 1, 1)
    assert limits.refusal(0, 2) == Refusal(0, "raw_isl_tokens", 100, 20)
    assert limits.refusal(0, 10) == Refusal(0, "raw_isl_tokens", 100, 100)
    assert limits.refusal(0, 11) is None
    limits.add(0, 100, 50, -1)
    assert limits.refusal(0, 1) is None


@given(
    loads=st.lists(st.integers(0, 10_000), min_size=1, max_size=5),
    isl=st.integers(1, 5_000),
    block=st.sampled_from([1, 64, 512]),
    data=st.data(),
)
def test_the_cheapest_endpoint_is_that_of_the_formula(
    loads: list[int], isl: int, block: int, data: st.DataObject
) -> None:
    chain = tuple(range(isl // block))[:40]
    overlaps = [data.draw(st.integers(0, len(chain))) for _ in loads]
    choice = WorkerChoice(block)
    held = {}
    for endpoint in range(len(loads)):
        shared, others = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 3))
        held[endpoint] = (*range(shared), *range(900, 900 + others))
        choice.hold(endpoint, held[endpoint])
        choice.hold(endpoint, held[endpoint])
        choice.release(endpoint, held[endpoint])
    eligible = sorted(data.draw(st.sets(st.sampled_from(range(len(loads))), min_size=1)))

    def cost(endpoint: int) -> float:
        leading = 0
        while leading < len(chain) and chain[leading] in held[endpoint]:
            leading += 1
        prefill = max(0.0, (loads[endpoint] + isl) / block - overlaps[endpoint])
        return prefill + (len(set(held[endpoint])) + len(chain) - leading)

    chosen = choice.choose(0, eligible, loads, isl_tokens=isl, overlaps=overlaps, chain=chain)
    assert chosen in eligible
    assert cost(chosen) == min(map(cost, eligible))


def test_a_fully_cached_request_is_no_active_prefill() -> None:
    table = RequestTable()
    table.append(10, policy_header="A", cached_tokens=10)
    run = run_manual(ring_of({"A": 1}, prefill_busy_threshold=0), table, [Arrive(0)], capacity="policy")
    assert run.state_at(run.n_steps - 1).endpoints[0].active_prefill_tokens == 0


def test_a_worker_held_busy_may_still_be_chosen_once_another_one_is_free() -> None:
    """Worker choice looks at all eligible endpoints, busy or not, as the real router's does."""
    table = RequestTable()
    add(table, "A", 10)
    seen = {
        run_manual(
            ring_of({"A": 10}), table, [Change("hold", 1), Arrive(0)], workers=2, capacity="one", seed=seed
        ).endpoint[0]
        for seed in range(8)
    }
    assert seen == {0, 1}


@pytest.mark.parametrize("worker", [Worker(1, dp_size=2), Worker(2, dp_start=4), Worker(3, dp_size=3, dp_start=1)])
def test_a_pin_without_rank_is_an_allow_list_where_there_are_several_ranks_when_all_are_overloaded_too(
    worker: Worker,
) -> None:
    cluster = Endpoints([worker, Worker(7)], ring_of({"A": 1}).classes)
    for rank in range(worker.dp_size):
        cluster.set_overloaded(cluster.index(worker.worker_id, worker.dp_start + rank), True)
    several = worker.dp_size > 1
    expected = SelectionError.ALL_OVERLOADED if several else SelectionError.PINNED_WORKER_OVERLOADED
    assert cluster.eligible(Constraint(worker.worker_id)) is expected
    pinned = Constraint(worker.worker_id, worker.dp_start)
    assert cluster.eligible(pinned) is SelectionError.PINNED_WORKER_OVERLOADED


def test_more_batched_tokens_than_a_double_holds_are_refused() -> None:
    (policy_class,) = ring_of({"A": 1}, prefill_busy_threshold_frac=1e308).classes
    most = Worker(0, max_num_batched_tokens=2**63)
    assert busy_limit(policy_class, most.max_num_batched_tokens) == NEVER_BUSY
    with pytest.raises(WorkloadError, match="at most 2\\^63"):
        Worker(0, max_num_batched_tokens=10**400)
