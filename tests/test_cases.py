"""Cases from public reports about deficit round robin and policy-class queues, each as a test of its whole kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.policy.schema import Profile
from drr.router.admission import Refusal
from drr.router.endpoints import Endpoints, SelectionError, Worker, busy_limit, pool_is_busy
from drr.router.requests import Constraint, RequestTable
from drr.router.router import ArrivalMode
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.engine_options import EngineOptions, FixedTiming
from drr.simulation.manual import Action, Arrive, At, Call, Change, Drain, Finish, FirstToken, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.state import CALL_KINDS, StepKind
from tests.simulation.building import (
    SEED_ENGINE,
    add,
    deficits_after_dispatches,
    deficits_at,
    order,
    ring_of,
    run_queued,
    sample_profile,
    waiting_at,
)

ARRIVAL_MODES: tuple[ArrivalMode, ...] = ("bypass", "through_ring")


def scaled(costs: Mapping[str, Sequence[int]], factor: int) -> dict[str, list[int]]:
    return {name: [cost * factor for cost in tokens] for name, tokens in costs.items()}


# --- 1: leftover deficit carries to the next round --------------------------------------------------------

BURSTS = {"A": [25, 45, 10], "B": [50, 30], "C": [20, 20, 20, 20]}
BURST_DEFICITS = [
    (35, 0, 0),
    (35, 10, 0),
    (35, 10, 40),
    (35, 10, 20),
    (35, 10, 0),
    (50, 10, 0),
    (0, 10, 0),
    (0, 0, 0),
    (0, 0, 0),
]


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_leftover_deficit_pays_later_requests_and_a_burst_of_small_ones_runs_no_further_than_paid(
    rule: CursorRule,
) -> None:
    run = run_queued({"A": 60, "B": 60, "C": 60}, BURSTS, rule)
    assert order(run) == ["a1", "b1", "c1", "c2", "c3", "a2", "a3", "b2", "c4"]
    assert deficits_after_dispatches(run) == BURST_DEFICITS


@given(factor=st.integers(1, 10**25))
def test_the_bursts_come_out_the_same_whatever_a_token_is_worth(factor: int) -> None:
    run = run_queued(dict.fromkeys(BURSTS, 60 * factor), scaled(BURSTS, factor))
    assert order(run) == ["a1", "b1", "c1", "c2", "c3", "a2", "a3", "b2", "c4"]
    assert deficits_after_dispatches(run) == [tuple(d * factor for d in row) for row in BURST_DEFICITS]


# --- 2: every head is larger than the quantum -------------------------------------------------------------


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_heads_above_the_quantum_wait_for_rounds_and_no_deficit_is_negative(rule: CursorRule) -> None:
    run = run_queued(dict.fromkeys("PQRS", 5), {"P": [18], "Q": [11], "R": [14], "S": [9]}, rule)
    assert order(run) == ["s1", "q1", "r1", "p1"]
    assert deficits_after_dispatches(run) == [(10, 10, 10, 0), (15, 0, 10, 0), (15, 0, 0, 0), (0, 0, 0, 0)]
    assert [run.state_at(step).bulk_rounds for step in run.decision_steps] == [1, 0, 0, 0]


@given(
    costs=st.lists(st.integers(2, 10**12), min_size=2, max_size=6),
    quantum=st.integers(1, 10**6),
    rule=st.sampled_from(CURSOR_RULES),
)
def test_with_equal_quanta_the_head_that_needs_the_fewest_rounds_goes_first_in_ring_order(
    costs: list[int], quantum: int, rule: CursorRule
) -> None:
    names = [f"c{i}" for i in range(len(costs))]
    run = run_queued(dict.fromkeys(names, quantum), {n: [c] for n, c in zip(names, costs, strict=True)}, rule)
    rounds = [-(-cost // quantum) for cost in costs]
    assert run.state_at(run.decision_steps[0]).winner == rounds.index(min(rounds))
    assert all(deficit >= 0 for row in deficits_after_dispatches(run) for deficit in row)
    assert len(run.decision_steps) == len(costs), "nobody stalls"


# --- 4: 4:1 quanta, equal cost ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "of_320", "regular_left"), [("premium_4_to_1", (256, 64), 241), ("equal_share", (160, 160), 1)]
)
@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_the_share_of_320_equal_requests_is_that_of_the_quanta(
    policy: str, of_320: tuple[int, int], regular_left: int, rule: CursorRule
) -> None:
    table = RequestTable()
    add(table, "premium", *[512] * 320)
    add(table, "regular", *[512] * 320)
    script: list[Action] = [*(Arrive(row, wait=True) for row in range(640)), Call(640)]
    run = run_manual(sample_profile(policy), table, script, cursor_rule=rule)
    served = "".join(name[0] for name in order(run))
    assert (served[:320].count("p"), served[:320].count("r")) == of_320
    assert (served.count("p"), served.count("r")) == (320, 320)
    pattern = "ppppr" if policy == "premium_4_to_1" else "pr"
    assert served[: served.rindex("p")] == (pattern * 320)[: served.rindex("p")]
    last_premium = run.decision_steps[served.rindex("p")]
    assert run.state_at(last_premium).classes[1].waiting_requests == regular_left


@given(
    ratio=st.integers(1, 12),
    quantum=st.integers(1, 10**9),
    groups=st.integers(1, 6),
    rule=st.sampled_from(CURSOR_RULES),
)
def test_a_quantum_ratio_of_k_serves_k_to_one_while_both_wait(
    ratio: int, quantum: int, groups: int, rule: CursorRule
) -> None:
    cost = ratio * quantum
    count = ratio * groups
    run = run_queued({"P": cost, "R": quantum}, {"P": [cost] * count, "R": [cost] * count}, rule)
    served = "".join(name[0] for name in order(run))
    assert served[: groups * (ratio + 1) - 1] == (("p" * ratio + "r") * groups)[:-1]


# --- 5: an idle class must not bank its deficit -----------------------------------------------------------


@given(factor=st.integers(1, 10**20), rule=st.sampled_from(CURSOR_RULES))
def test_a_class_that_runs_empty_starts_again_from_nothing(factor: int, rule: CursorRule) -> None:
    table = RequestTable()
    add(table, "A", 10 * factor)
    add(table, "B", *[30 * factor] * 3)
    (late,) = add(table, "A", 150 * factor)
    script = [*(Arrive(row, wait=True) for row in range(4)), Call(2), Arrive(late, wait=True), Call(3)]
    run = run_manual(ring_of({"A": 100 * factor, "B": 30 * factor}), table, script, cursor_rule=rule)
    assert order(run) == ["a1", "b1", "b2", "a2", "b3"]
    first, second, third, fourth, fifth = deficits_after_dispatches(run)
    assert (first, second, fifth) == ((0, 0), (0, 0), (0, 0))
    assert third == (100 * factor, 0)
    assert fourth == (0, 0), "a2 leaves 50 over, but A is empty again"


# --- 8: the ring goes on where it stopped -----------------------------------------------------------------


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_a_class_that_was_empty_for_a_while_keeps_its_place_in_the_ring(rule: CursorRule) -> None:
    names = [f"c{i}" for i in range(1, 6)]
    table = RequestTable()
    for name in names:
        for letter in "ab":
            table.append(10, policy_header=name, name=name + letter)
    late = table.name.index("c3b")
    script = [*(Arrive(row, wait=True) for row in range(10) if row != late), Call(4), Arrive(late, wait=True), Call(6)]
    run = run_manual(ring_of(dict.fromkeys(names, 10)), table, script, cursor_rule=rule)
    assert order(run) == [f"{name}{letter}" for letter in "ab" for name in names]
    assert deficits_after_dispatches(run) == [(0,) * 5] * 10


@given(
    classes=st.integers(1, 9), each=st.integers(1, 5), quantum=st.integers(1, 10**6), rule=st.sampled_from(CURSOR_RULES)
)
def test_with_equal_quanta_and_costs_nobody_waits_longer_than_one_turn_of_the_ring(
    classes: int, each: int, quantum: int, rule: CursorRule
) -> None:
    names = [f"c{i}x" for i in range(classes)]
    run = run_queued(dict.fromkeys(names, quantum), dict.fromkeys(names, [quantum] * each), rule)
    assert order(run) == [f"{name}{number}" for number in range(1, each + 1) for name in names]


# --- 17: exactly at the threshold is not busy -------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "started", "active"), [(1_536, 4, 2_048), (1_535, 3, 1_536)])
@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
def test_a_worker_is_busy_above_its_threshold_not_at_it(
    threshold: int, started: int, active: int, arrivals: ArrivalMode
) -> None:
    table = RequestTable()
    add(table, "A", *[512] * 6)
    run = run_manual(
        ring_of({"A": 512}, prefill_busy_threshold=threshold),
        table,
        [*(Arrive(row) for row in range(6)), FirstToken(0)],
        capacity="policy",
        arrivals=arrivals,
    )
    prefill_ended = list(run.kinds).index(StepKind.FIRST_TOKEN)
    before, after = run.state_at(prefill_ended - 1), run.state_at(run.n_steps - 1)
    assert (before.endpoints[0].in_flight_requests, before.endpoints[0].active_prefill_tokens) == (started, active)
    assert before.classes[0].waiting_requests == 6 - started
    assert before.classes[0].is_blocked
    assert before.lanes[0].blocked_by[0].active_prefill_tokens > before.lanes[0].blocked_by[0].limit_tokens
    assert after.endpoints[0].in_flight_requests == started + 1, "exactly one more starts"


def test_a_prompt_above_the_threshold_starts_on_an_idle_worker_and_the_next_one_waits() -> None:
    table = RequestTable()
    add(table, "A", 1_537, 1)
    run = run_manual(
        ring_of({"A": 512}, prefill_busy_threshold=1_536), table, [Arrive(0), Arrive(1)], capacity="policy"
    )
    last = run.state_at(run.n_steps - 1)
    assert (last.endpoints[0].active_prefill_tokens, waiting_at(run, last.step)) == (1_537, ["a2"])


@given(threshold=st.integers(0, 5_000), cost=st.integers(1, 1_000), count=st.integers(1, 30))
def test_as_many_start_as_it_takes_to_come_above_the_threshold(threshold: int, cost: int, count: int) -> None:
    table = RequestTable()
    add(table, "A", *[cost] * count)
    run = replay(
        ring_of({"A": 1}, prefill_busy_threshold=threshold),
        table,
        engine=EngineOptions(enable_prefix_caching=False, timing_model=FixedTiming(1, 1)),
    )
    started = min(count, threshold // cost + 1)
    assert list(run.outcome) == ["immediate"] * started + ["queued"] * (count - started)


# --- 19: two thresholds, two scales, and a pool ratio -----------------------------------------------------


def two_scales(ratio: float | None) -> Profile:
    return ring_of({"A": 100}, prefill_busy_threshold=1_000, prefill_busy_threshold_frac=0.5, busy_worker_ratio=ratio)


@pytest.mark.parametrize(
    ("ratio", "second_tokens", "waits"),
    [(None, 600, False), (0.5, 600, True), (0.51, 600, False), (1.0, 600, False), (0.5, 512, False), (0.5, 513, True)],
)
@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
def test_either_threshold_makes_a_worker_busy_and_the_ratio_says_how_many_close_the_gate(
    ratio: float | None, second_tokens: int, waits: bool, arrivals: ArrivalMode
) -> None:
    table = RequestTable()
    table.append(900, policy_header="A", constraint=Constraint(1))
    table.append(second_tokens, policy_header="A", constraint=Constraint(2))
    table.append(10, policy_header="A")
    run = run_manual(
        two_scales(ratio),
        table,
        [Arrive(0), Arrive(1), Arrive(2)],
        workers=[Worker(1, max_num_batched_tokens=8_192), Worker(2, max_num_batched_tokens=1_024)],
        capacity="policy",
        arrivals=arrivals,
    )
    last = run.state_at(run.n_steps - 1)
    # Where it goes is a matter of cost alone: worker 2 has less to prefill, busy or not.
    assert (run.endpoint[2], last.classes[0].waiting_requests) == ((-1, 1) if waits else (1, 0))
    busy = [endpoint.is_busy_for(0) for endpoint in last.endpoints]
    assert busy == [False, second_tokens > 512 or not waits]
    if waits:
        assert last.lanes[0].blocked_by[0].limit_tokens == 512


@pytest.mark.parametrize(
    ("eligible", "ratio", "busy_endpoints", "closed"),
    [
        (128, 0.95, 121, False),
        (128, 0.95, 122, True),
        (2, 0.95, 1, False),
        (2, 0.95, 2, True),
        (3, 0.34, 1, False),
        (3, 0.34, 2, True),
        (3, None, 2, False),
        (3, None, 3, True),
        (0, 0.5, 0, False),
        (0, None, 0, False),
    ],
)
def test_the_gate_closes_when_the_busy_share_reaches_the_ratio(
    eligible: int, ratio: float | None, busy_endpoints: int, closed: bool
) -> None:
    assert pool_is_busy(busy_endpoints, eligible, ratio) is closed


@given(
    threshold=st.none() | st.integers(0, 10**6),
    fraction=st.none() | st.floats(0, 100, allow_nan=False),
    batched=st.integers(1, 10**6),
    load=st.integers(0, 10**8),
)
def test_busy_is_above_the_threshold_or_above_the_fraction_of_the_workers_own_batch(
    threshold: int | None, fraction: float | None, batched: int, load: int
) -> None:
    profile = ring_of({"A": 1}, prefill_busy_threshold=threshold, prefill_busy_threshold_frac=fraction)
    expected = (threshold is not None and load > threshold) or (fraction is not None and load > fraction * batched)
    assert (load > busy_limit(profile.classes[0], batched)) is expected


# --- 20: a blocked head stops its own lane only -----------------------------------------------------------


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_a_blocked_head_stops_its_lane_and_no_other_and_nothing_overtakes_it(rule: CursorRule) -> None:
    table = RequestTable()
    for name, constraint in (
        ("s1", Constraint(allowed_workers=frozenset({1}))),
        ("s2", None),
        ("e1", Constraint(1)),
        ("e2", Constraint(2)),
    ):
        table.append(10, policy_header="A", name=name, constraint=constraint)
    script: list[Action] = [Change("hold", 1), *(Arrive(row) for row in range(4)), Change("free", 1)]
    run = run_manual(ring_of({"A": 100}), table, script, workers=[Worker(1), Worker(2)], cursor_rule=rule)
    freed = max(step for step, kind in enumerate(run.kinds) if kind == StepKind.WORKER_CHANGE)
    assert order(run) == ["e2", "s1", "s2", "e1"]
    assert [step < freed for step in run.decision_steps] == [True, False, False, False]
    shared, exact = run.state_at(freed - 1).lanes
    assert [run.requests.label(row) for row in shared.waiting] == ["s1", "s2"]
    assert [run.requests.label(row) for row in exact.waiting] == ["e1"]
    for lane in (shared, exact):
        assert [(reason.endpoint, reason.limit_tokens) for reason in lane.blocked_by] == [(0, -1)]
    assert run.state_at(freed - 1).classes[0].is_blocked


# --- 22: no eligible worker is an error, not an eternal wait -----------------------------------------------


@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
def test_a_pin_to_a_worker_that_is_not_there_ends_in_an_error_and_the_others_are_served(arrivals: ArrivalMode) -> None:
    table = RequestTable()
    blocker = table.append(5, policy_header="A", name="blocker")
    table.append(10, policy_header="A", name="r1", constraint=Constraint(9))
    table.append(10, policy_header="A", name="r2")
    script: list[Action] = [Arrive(blocker), Arrive(1), Arrive(2), At(5.0), Finish(blocker)]
    run = run_manual(
        ring_of({"A": 100}, prefill_busy_threshold=0),
        table,
        script,
        workers=[Worker(1)],
        capacity="policy",
        arrivals=arrivals,
    )
    assert run.outcome[1:] == ["error", "queued"]
    assert run.outcomes.error == {1: SelectionError.PINNED_WORKER_UNKNOWN}
    assert run.reason(1) == str(SelectionError.PINNED_WORKER_UNKNOWN)
    assert run.released_at_ms[2] == 5.0
    assert_all_accounted_for(run)


@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
def test_without_any_worker_every_request_ends_in_an_error(arrivals: ArrivalMode) -> None:
    table = RequestTable()
    add(table, "A", 10, 20)
    profile = ring_of({"A": 100}, prefill_busy_threshold=0)
    run = run_manual(profile, table, [Arrive(0), Arrive(1)], workers=0, capacity="policy", arrivals=arrivals)
    assert run.outcome == ["error", "error"]
    assert set(run.outcomes.error.values()) == {SelectionError.NO_ENDPOINTS}
    assert_all_accounted_for(run)
    replayed = replay(profile, table, workers=(), arrivals=arrivals)
    assert replayed.outcome == ["error", "error"]
    assert replayed.aborted_because is None


def test_a_head_that_ends_in_an_error_is_charged_like_any_dispatch() -> None:
    table = RequestTable()
    add(table, "A", 30, constraint=Constraint(9))
    add(table, "A", 30, 30)
    script: list[Action] = [*(Arrive(row, wait=True) for row in range(3)), Call(3)]
    run = run_manual(ring_of({"A": 40}), table, script)
    calls = [step for step, kind in enumerate(run.kinds) if kind in CALL_KINDS]
    assert [StepKind(run.kinds[step]) for step in calls] == [StepKind.HEAD_ERROR, StepKind.DECISION, StepKind.DECISION]
    assert [deficits_at(run, step) for step in calls] == [(10,), (20,), (0,)]


def assert_all_accounted_for(run: Run) -> None:
    """Arrived = served or in flight + waiting + refused + errors, at the last step."""
    last = run.state_at(run.n_steps - 1)
    counts = Counter(StepKind(kind) for kind in run.kinds)
    waiting = sum(each.waiting_requests for each in last.classes)
    arrived = counts[StepKind.BYPASSED] + counts[StepKind.QUEUED] + counts[StepKind.REFUSED] + counts[StepKind.ERROR]
    dispatched = counts[StepKind.BYPASSED] + counts[StepKind.DECISION]
    errors = counts[StepKind.ERROR] + counts[StepKind.HEAD_ERROR]
    assert arrived == dispatched + waiting + counts[StepKind.REFUSED] + errors
    in_flight = sum(endpoint.in_flight_requests for endpoint in last.endpoints)
    assert dispatched == in_flight + counts[StepKind.COMPLETION]


# --- 23: the request that crosses the limit is still accepted ----------------------------------------------


def test_the_request_that_crosses_a_limit_is_accepted_and_the_next_one_refused() -> None:
    table = RequestTable()
    add(table, "A", 1_500, 900, 100, 100, constraint=Constraint(allowed_workers=frozenset({0})))
    script: list[Action] = [
        Change("hold", 0),
        Change("hold", 1),
        *(Arrive(row) for row in range(3)),
        Change("free", 0),
        Arrive(3),
    ]
    run = run_manual(
        ring_of({"A": 512}, raw_isl_token_queue_limit_per_worker=1_000), table, script, workers=2, capacity="one"
    )
    assert run.outcome == ["queued", "queued", "refused", "queued"]
    refusal = Refusal(0, "raw_isl_tokens", 2_400, 2_000)
    assert run.outcomes.refusal == {2: refusal}
    refused = list(run.kinds).index(StepKind.REFUSED)
    assert run.refusal_at(refused) == refusal
    assert run.refusal_at(refused - 1) is None
    reason = run.reason(2)
    assert reason is not None
    assert "current=2400, limit=2000" in reason
    before, after = run.state_at(refused - 1), run.state_at(refused)
    assert (before.classes, before.lanes, before.cursor) == (after.classes, after.lanes, after.cursor)
    assert waiting_at(run, run.n_steps - 1) == ["a2", "a4"]
    assert run.state_at(run.n_steps - 1).classes[0].waiting_tokens == 1_000


@given(
    kind=st.sampled_from(["requests", "raw_isl_tokens", "cached_tokens"]),
    limit=st.integers(0, 40),
    workers=st.integers(0, 3),
    sizes=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30)), min_size=1, max_size=12),
)
def test_a_class_refuses_as_soon_as_what_waits_reaches_its_limit_times_the_endpoints(
    kind: str, limit: int, workers: int, sizes: list[tuple[int, int]]
) -> None:
    field = {
        "requests": "request_queue_limit_per_worker",
        "raw_isl_tokens": "raw_isl_token_queue_limit_per_worker",
        "cached_tokens": "cached_token_queue_limit_per_worker",
    }[kind]
    table = RequestTable()
    for raw, cached in sizes:
        table.append(raw, policy_header="A", cached_tokens=cached)
    script: list[Action] = [
        *(Change("hold", w) for w in range(workers)),
        *(Arrive(r, wait=True) for r in range(len(sizes))),
    ]
    run = run_manual(ring_of({"A": 7}, **{field: limit}), table, script, workers=workers)
    used = 0
    for row, (raw, cached) in enumerate(sizes):
        if used >= limit * workers:
            assert run.outcome[row] == "refused"
            assert run.outcomes.refusal[row] == Refusal(0, kind, used, limit * workers)  # type: ignore[arg-type]
        else:
            assert run.outcome[row] == "queued"
            used += {"requests": 1, "raw_isl_tokens": raw, "cached_tokens": min(raw, cached)}[kind]


# --- 25: fewer workers, nothing is thrown out ---------------------------------------------------------------


def test_a_shrinking_cluster_evicts_nothing_and_refuses_new_ones_until_it_drained() -> None:
    table = RequestTable()
    add(table, "A", *[10] * 8)
    script: list[Action] = [
        *(Change("hold", worker) for worker in range(3)),
        *(Arrive(row) for row in range(5)),
        Change("leave", 1),
        Change("leave", 2),
        Arrive(5),
        Change("free", 0),
        Finish(),
        Finish(),
        Finish(),
        Arrive(6),
        Arrive(7),
    ]
    run = run_manual(ring_of({"A": 10}, request_queue_limit_per_worker=2), table, script, workers=3, capacity="one")
    assert run.outcome == ["queued"] * 5 + ["refused", "queued", "refused"]
    assert run.outcomes.refusal == {5: Refusal(0, "requests", 5, 2), 7: Refusal(0, "requests", 2, 2)}
    present = [sum(e.is_present for e in run.state_at(step).endpoints) for step in range(run.n_steps)]
    assert sorted(present, reverse=True) == present
    assert set(present) == {3, 2, 1}
    assert waiting_at(run, list(run.kinds).index(StepKind.REFUSED)) == ["a1", "a2", "a3", "a4", "a5"]
    assert waiting_at(run, run.n_steps - 1) == ["a5", "a7"]


# --- the seed experiment, end to end -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "alternating", "of_320", "regular_left"),
    [
        ("premium_4_to_1", True, (255, 65), 239),
        ("equal_share", True, (160, 160), 1),
        ("premium_4_to_1", False, (257, 63), None),
        ("equal_share", False, (162, 158), None),
    ],
)
def test_the_premium_experiment_comes_out_as_in_the_real_offline_replay(
    policy: str, alternating: bool, of_320: tuple[int, int], regular_left: int | None
) -> None:
    headers = ["premium", "regular"] * 320 if alternating else ["premium"] * 320 + ["regular"] * 320
    table = RequestTable()
    for header in headers:
        table.append(512, policy_header=header)
    run = replay(sample_profile(policy), table, engine=SEED_ENGINE)
    completed = [headers[row] for row in run.completion_order]
    assert (completed[:320].count("premium"), completed[:320].count("regular")) == of_320
    assert (completed.count("premium"), completed.count("regular")) == (320, 320)
    if regular_left is not None:
        last_premium = max(i for i, header in enumerate(completed) if header == "premium")
        assert completed[last_premium:].count("regular") == regular_left


def test_the_manual_model_and_the_ring_drain_the_same_backlog_alike() -> None:
    drained_at_once = run_manual(
        ring_of({"A": 60, "B": 60, "C": 60}),
        run_queued(dict.fromkeys("ABC", 60), BURSTS).requests,
        [*(Arrive(row, wait=True) for row in range(9)), Drain()],
    )
    assert order(drained_at_once) == order(run_queued(dict.fromkeys("ABC", 60), BURSTS))
    assert Endpoints([Worker(0)], ring_of({"A": 1}).classes).discovered() == 1
