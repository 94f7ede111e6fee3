"""The order of events in a replay: arrivals, sessions, ties, signals and drains."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.simulation.cluster import Change, TimedChange
from drr.simulation.engine_options import EngineOptions, FixedTiming
from drr.simulation.manual import Action, run_manual
from drr.simulation.mock_engine import MockEngine
from drr.simulation.recording import Run
from drr.simulation.replay import PROGRESS_EVERY, replay
from drr.simulation.state import StepKind
from tests.simulation.building import ring_of
from tests.simulation.watching import assert_state_is, watched

ONE_AT_A_TIME = EngineOptions(max_num_seqs=1, enable_prefix_caching=False, timing_model=FixedTiming(10.0, 2.0))
BIG = frozenset({"big"})
HOLDS_ONE = ring_of({"A": 100}, prefill_busy_threshold=0)


def rows(*requests: dict[str, Any]) -> RequestTable:
    table = RequestTable()
    for request in requests:
        table.append(request.pop("isl", 100), **{"timestamp_ms": 0.0, **request})
    return table


def run_one_by_one(table: RequestTable, **settings: Any) -> Run:
    return replay(HOLDS_ONE, table, **{"engine": ONE_AT_A_TIME, **settings})


def test_time_starts_at_the_smallest_first_timestamp_and_the_speedup_divides_it() -> None:
    table = rows({"timestamp_ms": 1_300.0}, {"timestamp_ms": 1_000.0}, {"timestamp_ms": 1_100.0})
    assert run_one_by_one(table).arrival_ms == [300.0, 0.0, 100.0]
    assert run_one_by_one(table, arrival_speedup_ratio=4.0).arrival_ms == [75.0, 0.0, 25.0]


def test_arrivals_at_the_same_time_come_in_the_order_of_their_lines() -> None:
    table = rows({"timestamp_ms": 5.0}, {"timestamp_ms": 0.0}, {"timestamp_ms": 5.0}, {"timestamp_ms": 5.0})
    run = run_one_by_one(table)
    arrivals = [run.step_request[s] for s, kind in enumerate(run.kinds) if kind in (StepKind.BYPASSED, StepKind.QUEUED)]
    assert arrivals == [1, 0, 2, 3]


def test_a_turn_that_ties_with_a_planned_arrival_goes_by_the_line_of_its_sessions_first_row() -> None:
    # Row 0 ends at 10 ms; its next turn (row 3) is ready at 20 ms, when rows 1 and 2 arrive.
    early = rows({"session": "s"}, {"timestamp_ms": 20.0}, {"session": "s", "delay_ms": 10.0}, {"timestamp_ms": 20.0})
    assert arrival_order(run_one_by_one(early)) == [0, 2, 1, 3]
    late = rows({"timestamp_ms": 20.0}, {"session": "s"}, {"session": "s", "delay_ms": 10.0}, {"timestamp_ms": 20.0})
    assert arrival_order(run_one_by_one(late)) == [1, 0, 2, 3]


def arrival_order(run: Run) -> list[int]:
    kinds = (StepKind.BYPASSED, StepKind.QUEUED, StepKind.ERROR, StepKind.REFUSED)
    return [run.step_request[step] for step, kind in enumerate(run.kinds) if kind in kinds]


def test_a_turn_is_ready_at_the_completion_before_it_plus_its_delay_over_the_speedup() -> None:
    table = rows(
        {"session": "s"},
        {"session": "s", "delay_ms": 30.0, "timestamp_ms": None},
        {"session": "s", "timestamp_ms": None, "delay_ms": 0.0},
    )
    run = run_one_by_one(table)
    assert run.arrival_ms == [0.0, 40.0, 50.0]
    assert run_one_by_one(table, arrival_speedup_ratio=2.0).arrival_ms == [0.0, 25.0, 35.0]


def test_without_a_delay_a_turn_waits_for_the_difference_of_the_timestamps() -> None:
    table = rows(
        {"session": "s", "timestamp_ms": 100.0},
        {"session": "s", "timestamp_ms": 170.0},
        {"session": "s", "timestamp_ms": 170.0},
    )
    assert run_one_by_one(table).arrival_ms == [0.0, 80.0, 90.0]


def test_turns_without_a_timestamp_are_ready_at_once_and_passed_over_by_the_next_difference() -> None:
    table = rows(
        {"session": "s", "timestamp_ms": 100.0},
        {"session": "s", "timestamp_ms": None},
        {"session": "s", "timestamp_ms": 170.0},
    )
    assert run_one_by_one(table).arrival_ms == [0.0, 10.0, 90.0]


def test_later_turns_do_not_set_the_start_of_time() -> None:
    table = rows({"session": "s", "timestamp_ms": 50.0}, {"timestamp_ms": 60.0}, {"session": "s", "timestamp_ms": 51.0})
    assert run_one_by_one(table).arrival_ms[:2] == [0.0, 10.0]


@pytest.mark.parametrize(
    ("requests", "told"),
    [
        ([{"delay_ms": 5.0}], "row 1: delay"),
        ([{}, {"session": "s", "delay_ms": 5.0}], "row 2: delay"),
        ([{"session": "s"}, {"session": "s", "delay_ms": -1.0}], "row 2: delay is -1 ms"),
        ([{"session": "s", "timestamp_ms": 9.0}, {"session": "s", "timestamp_ms": 8.0}], "row 2: timestamp"),
        ([{"timestamp_ms": None}], "row 1: timestamp is missing"),
        ([{"cached_tokens": 5}], "fixed cache hits.*leave the column cached_tokens out$"),
        ([{}, {"cached_tokens": 0, "hash_ids": (1,)}], "fixed cache hits"),
    ],
)
def test_an_impossible_workload_is_refused_with_its_row(requests: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(WorkloadError, match=told):
        run_one_by_one(rows(*requests))


@pytest.mark.parametrize("arrivals", ["bypass", "through_ring"])
@pytest.mark.parametrize("fails", ["refused", "error"])
def test_the_next_turn_comes_once_after_one_that_was_refused_or_failed(arrivals: Any, fails: str) -> None:
    pin = Constraint(7) if fails == "error" else None
    table = rows({}, {}, {"session": "s", "constraint": pin}, {"session": "s", "delay_ms": 3.0})
    limit = 1 if fails == "refused" else None
    profile = ring_of({"A": 100}, prefill_busy_threshold=0, request_queue_limit_per_worker=limit)
    run = replay(profile, table, engine=ONE_AT_A_TIME, arrivals=arrivals)
    assert run.outcome[2] == fails
    assert run.arrival_ms[3] == 3.0
    assert run.aborted_because is None
    assert arrival_order(run) == [0, 1, 2, 3]


def test_a_refusal_can_end_the_replay_as_it_ends_the_real_one() -> None:
    profile = ring_of({"A": 100}, prefill_busy_threshold=0, request_queue_limit_per_worker=1)
    run = replay(profile, rows({}, {}, {}, {}), engine=ONE_AT_A_TIME, abort_on_refusal=True)
    assert run.aborted_because is not None
    assert 'router policy class "A" queue requests limit reached (current=1, limit=1)' in run.aborted_because
    assert run.outcome == ["immediate", "queued", "refused", ""]


def test_completions_come_before_arrivals_of_the_same_time() -> None:
    # Row 0 ends at 10 ms, exactly when row 1 arrives: nothing holds it any more.
    run = run_one_by_one(rows({}, {"timestamp_ms": 10.0}))
    assert run.outcome == ["immediate", "immediate"]
    assert list(run.kinds) == [StepKind.BYPASSED, StepKind.COMPLETION, StepKind.BYPASSED, StepKind.COMPLETION]


def test_arrivals_of_one_time_share_the_pass_that_starts_then() -> None:
    engine = EngineOptions(enable_prefix_caching=False, timing_model=FixedTiming(10.0, 2.0))
    run = replay(ring_of({"A": 1}), rows({}, {}, {"timestamp_ms": 4.0}), engine=engine)
    assert run.first_admit_ms == [0.0, 0.0, 10.0], "who comes in the middle of a pass waits for the next one"


def test_every_signal_is_followed_by_its_own_drain() -> None:
    """Two end in one pass: after each signal one waiting request goes, not two after both."""
    engine = EngineOptions(max_num_seqs=2, enable_prefix_caching=False, timing_model=FixedTiming(10.0, 2.0))
    profile = ring_of({"A": 100}, prefill_busy_threshold=100)
    run = replay(profile, rows(*({} for _ in range(6))), engine=engine)
    pass_end = [StepKind(kind) for kind, time in zip(run.kinds, run.times_ms, strict=True) if time == 10.0]
    assert [kind for kind in pass_end if kind != StepKind.EMPTY_CALL] == [
        StepKind.COMPLETION,
        StepKind.DECISION,
        StepKind.COMPLETION,
        StepKind.DECISION,
    ]
    assert pass_end[2] == StepKind.EMPTY_CALL


def test_a_first_token_gives_the_prefill_load_back_and_later_tokens_say_nothing() -> None:
    run = run_one_by_one(rows({"output_tokens": 3}, {}))
    assert [StepKind(kind) for kind in run.kinds if kind != StepKind.EMPTY_CALL] == [
        StepKind.BYPASSED,
        StepKind.QUEUED,
        StepKind.FIRST_TOKEN,
        StepKind.DECISION,
        StepKind.COMPLETION,
        StepKind.COMPLETION,
    ]
    assert run.released_at_ms == [None, 10.0]


def test_chunks_do_not_reduce_the_active_prefill_tokens() -> None:
    engine = EngineOptions(max_num_batched_tokens=100, enable_prefix_caching=False, timing_model=FixedTiming(10.0, 2.0))
    run = replay(HOLDS_ONE, rows({"isl": 250}, {"timestamp_ms": 25.0}), engine=engine)
    assert run.state_at(run.step_at_time(25.0)).endpoints[0].active_prefill_tokens == 250


def test_another_classs_backlog_holds_nobody() -> None:
    table = rows({"policy_header": "A"}, {"policy_header": "A"}, {"policy_header": "B"})
    profile = ring_of({"A": 100, "B": 100})
    busy_for_a_alone = type(profile)(
        "A",
        profile.buckets,
        (
            type(profile.classes[0])("A", 100, "A", "all", prefill_busy_threshold=0),
            type(profile.classes[0])("B", 100, "B", "all", prefill_busy_threshold=10_000),
        ),
    )
    run = replay(busy_for_a_alone, table, engine=ONE_AT_A_TIME)
    assert run.outcome == ["immediate", "queued", "immediate"]


def test_a_class_without_thresholds_never_queues() -> None:
    run = replay(ring_of({"A": 1}), rows(*({} for _ in range(50))), engine=ONE_AT_A_TIME, arrivals="through_ring")
    assert set(run.outcome) == {"immediate"}
    assert len(run.decision_steps) == 0


@pytest.mark.parametrize(
    ("first", "joining"),
    [((0, 1, 2), ()), ((7, 2, 4), ()), ((0,), (5, 3)), ((9,), (5, 12, 3)), ((4, 1), (3, 0))],
)
@pytest.mark.parametrize("ranks", [1, 2])
def test_pass_starts_and_completions_of_one_time_come_by_worker_id_and_rank(
    first: tuple[int, ...], joining: tuple[int, ...], ranks: int
) -> None:
    every = [(worker, 3 + rank) for worker in (*first, *joining) for rank in range(ranks)]
    table = rows(*({"constraint": Constraint(*key), "timestamp_ms": 10.0} for key in every))
    table.append(100, timestamp_ms=0.0, constraint=Constraint(first[0]))
    changes = [TimedChange(float(at), Change("join", worker)) for at, worker in enumerate(joining, start=1)]
    cluster = [Worker(worker, ranks, dp_start=3) for worker in first]
    engine = EngineOptions(max_num_seqs=1, enable_prefix_caching=False, timing_model=FixedTiming(1.0, 1.0))
    with watched() as watcher:
        run = replay(ring_of({"A": 1}), table, engine=engine, workers=cluster, changes=changes)
    assert run.inputs.endpoint_keys == sorted(every)
    assert list(run.completion_order)[1:] == sorted(range(len(every)), key=every.__getitem__)
    for step, seen in enumerate(watcher.seen):
        assert_state_is(run.state_at(step), seen, run)


@pytest.mark.parametrize("scripted", [False, True])
@pytest.mark.parametrize("fields", [{"dp_size": 2}, {"dp_start": 1}, {"max_num_batched_tokens": 7}, {"taints": BIG}])
def test_a_worker_that_joins_by_its_id_alone_comes_back_as_it_was_or_as_the_first_is(
    fields: dict[str, Any], scripted: bool
) -> None:
    workers = [Worker(3, **fields), Worker(1, max_num_batched_tokens=99)]
    changes = [Change("leave", 1), Change("leave", 3), *(Change("join", worker) for worker in (1, 3, 8))]
    table = rows({}, {"timestamp_ms": 100.0})
    profile = ring_of({"A": 1}, prefill_busy_threshold_frac=1.0)
    if scripted:
        run = run_manual(profile, table, changes, workers=workers, capacity="policy")
    else:
        timed = [TimedChange(float(at), change) for at, change in enumerate(changes, start=1)]
        run = replay(profile, table, engine=ONE_AT_A_TIME, workers=workers, changes=timed)
    joined = [change.worker for change in run.recorder.changes.values() if change.what == "join"]
    assert joined == [workers[1], workers[0], replace(workers[0], worker_id=8, taints=frozenset())]


def test_a_worker_comes_back_as_it_last_was() -> None:
    changed = Worker(0, max_num_batched_tokens=5)
    script: list[Action] = [Change("join", changed), Change("leave", 0), Change("join", 0), Change("join", 4)]
    run = run_manual(ring_of({"A": 1}), RequestTable(), script)
    joined = [change.worker for change in run.recorder.changes.values() if change.what == "join"]
    assert joined == [changed, changed, replace(changed, worker_id=4)]


def test_a_pass_of_refusals_alone_takes_no_time_and_frees_the_router_at_once() -> None:
    engine = EngineOptions(
        max_num_seqs=1, max_model_len=50, enable_prefix_caching=False, timing_model=FixedTiming(10.0, 2.0)
    )
    run = replay(HOLDS_ONE, rows({"isl": 60}, {"isl": 40}), engine=engine)
    assert run.refused_by_engine == {0}
    assert run.first_admit_ms == [None, 0.0]
    assert run.last_token_ms == [None, 10.0]


def test_the_least_loaded_worker_is_chosen_busy_or_not() -> None:
    table = rows({"isl": 1_000}, {"isl": 10}, {"isl": 10}, {"isl": 10})
    run = replay(ring_of({"A": 1}), table, engine=EngineOptions(enable_prefix_caching=False), workers=2)
    first = run.endpoint[0]
    assert list(run.endpoint)[1:] == [1 - first] * 3


def test_a_cached_prefix_draws_a_request_to_its_worker() -> None:
    ids = tuple(range(8))
    table = rows(
        {"isl": 4_096, "hash_ids": ids, "constraint": Constraint(1)},
        {"isl": 4_096, "hash_ids": ids, "timestamp_ms": 1_000.0},
    )
    run = replay(ring_of({"A": 1}), table, workers=2)
    assert list(run.endpoint) == [1, 1]
    assert list(run.outcomes.cached_tokens) == [0, 4_096]


def test_a_followed_worker_is_taken_and_noted_where_it_was_not_the_cheapest() -> None:
    table = rows({"isl": 1_000}, {"isl": 10})
    run = replay(ring_of({"A": 1}), table, engine=EngineOptions(enable_prefix_caching=False), workers=2, follow=[0, 0])
    assert list(run.endpoint) == [0, 0]
    assert run.not_cheapest == {1: (0, (1,))}


def test_ranks_are_endpoints_of_their_own() -> None:
    table = rows(
        {"constraint": Constraint(0, 1)}, {"constraint": Constraint(0, 0)}, {"constraint": Constraint(0)}, {"isl": 50}
    )
    run = replay(HOLDS_ONE, table, engine=ONE_AT_A_TIME, workers=[Worker(0, dp_size=2)])
    assert run.endpoint_names == ("worker 0 rank 0", "worker 0 rank 1")
    assert list(run.endpoint)[:2] == [1, 0]
    assert run.outcome == ["immediate", "immediate", "queued", "queued"]
    assert run.outcomes.lane[2] == -1, "a pin without rank is an allow-list where there are several ranks"


@given(
    turns=st.lists(st.tuples(st.integers(1, 4), st.integers(0, 50)), min_size=1, max_size=5),
    speedup=st.sampled_from([1.0, 3.0]),
)
def test_sessions_are_closed_loops_whatever_else_goes_on(turns: list[tuple[int, int]], speedup: float) -> None:
    table = RequestTable()
    for number, (count, delay) in enumerate(turns):
        for turn in range(count):
            table.append(100, session=str(number), timestamp_ms=float(number), delay_ms=float(delay) if turn else None)
    run = run_one_by_one(table, arrival_speedup_ratio=speedup)
    last: dict[str, int] = {}
    for row in range(len(table)):
        session = table.session[row]
        assert session is not None
        if session in last:
            ended = run.last_token_ms[last[session]]
            assert ended is not None
            assert run.arrival_ms[row] == ended + (table.delay_ms[row] or 0.0) / speedup
        last[session] = row
    assert run.aborted_because is None


def test_progress_is_told_and_can_end_a_run() -> None:
    table = rows(*({"isl": 1} for _ in range(3 * PROGRESS_EVERY)))
    told: list[tuple[int, int]] = []
    replay(ring_of({"A": 1}), table, record=False, progress=lambda over, total: told.append((over, total)))
    assert told[-1] == (len(table), len(table))
    assert told == sorted(told)

    class StopNowError(Exception):
        pass

    def stop(over: int, total: int) -> None:
        raise StopNowError

    with pytest.raises(StopNowError):
        replay(ring_of({"A": 1}), table, record=False, progress=stop)


def test_a_prompt_that_no_pool_can_hold_takes_no_room_for_its_blocks() -> None:
    table = rows({"isl": 64 * 1_000_000})
    tracemalloc.start()
    try:
        replay(ring_of({"A": 1}), table, engine=EngineOptions(num_gpu_blocks=10))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


def test_what_a_run_no_longer_needs_is_given_back_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    engines: weakref.WeakSet[MockEngine] = weakref.WeakSet()
    seen: list[int] = []

    class Known(MockEngine):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            engines.add(self)

    monkeypatch.setattr("drr.simulation.replay.MockEngine", Known)
    gc.disable()  # the collector would find them some day
    try:
        run = replay(HOLDS_ONE, rows({}, {}), workers=3, progress=lambda over, total: seen.append(len(engines)))
    finally:
        gc.enable()
    assert seen[-1] == 3
    assert not engines, f"{len(engines)} engines, with all their blocks, outlive the run"
    assert len(run.completion_order) == 2


def test_a_class_is_found_beyond_the_first_32767() -> None:
    count = 33_000
    run = replay(ring_of({f"c{i}": 1 for i in range(count)}), rows({"policy_header": f"c{count - 1}"}), record=False)
    assert run.class_index[0] == count - 1


@given(zeros=st.lists(st.booleans(), min_size=1, max_size=8), share=st.booleans())
def test_fixed_hits_of_0_change_nothing_where_the_cache_would_say_the_same(zeros: list[bool], share: bool) -> None:
    """Rows that share nothing may say so; one with block ids may not, since the engine would find them."""
    hits = [0 if zero else -1 for zero in zeros]
    table = rows(*({"cached_tokens": hit, "hash_ids": (1,) if share and hit else ()} for hit in hits))
    plain = rows(*({"hash_ids": ids} for ids in table.hash_ids))
    ours, theirs = (replay(HOLDS_ONE, each, workers=2) for each in (table, plain))
    assert ours.result_rows() == theirs.result_rows()
    assert list(ours.outcomes.prefill_tokens) == list(theirs.outcomes.prefill_tokens)
