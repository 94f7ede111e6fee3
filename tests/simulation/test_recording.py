"""What a run recorded, rebuilt step by step, beside the live router; light runs beside recorded ones."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings

from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Action, Arrive, At, Call, Change, Drain, Finish, FirstToken, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.snapshots import CHECKPOINT_STEPS
from drr.simulation.state import CALL_KINDS, StepKind
from tests.simulation.building import SEED_ENGINE, add, order, ring_of, run_queued, sample_profile
from tests.simulation.strategies import ManualInputs, ReplayInputs, manual_inputs, replay_inputs
from tests.simulation.watching import Watcher, assert_state_is, watched
from tests.support import ROOT


def assert_every_step_is_rebuilt(run: Run, watcher: Watcher) -> None:
    """Forwards, backwards and in any order the state at each step is what was there."""
    assert len(watcher.seen) == run.n_steps
    forwards = [run.state_at(step) for step in range(run.n_steps)]
    for state, seen in zip(forwards, watcher.seen, strict=True):
        assert_state_is(state, seen, run)
    backwards = [run.state_at(step) for step in reversed(range(run.n_steps))]
    assert backwards[::-1] == forwards
    cursor, carried = 0, -1
    for state in forwards:
        assert (state.cursor_before, state.carried_before) == (
            (cursor, carried) if state.kind in CALL_KINDS else (state.cursor, state.carried)
        )
        cursor, carried = state.cursor, state.carried
        assert (state.visits != ()) == (state.kind in CALL_KINDS)
    before = run.state_at(-1)
    assert (before.step, before.lanes, before.visits, before.cursor, before.carried) == (-1, (), (), 0, -1)


@given(inputs=replay_inputs())
def test_the_state_at_every_step_of_a_replay_is_that_of_the_live_router(inputs: ReplayInputs) -> None:
    with watched() as watcher:
        run = replay(inputs.profile, inputs.requests, **inputs.settings)
    assert_every_step_is_rebuilt(run, watcher)


@given(inputs=manual_inputs())
def test_the_state_at_every_step_of_a_manual_run_is_that_of_the_live_router(inputs: ManualInputs) -> None:
    with watched() as watcher:
        run = run_manual(inputs.profile, inputs.requests, inputs.script, **inputs.settings)
    assert_every_step_is_rebuilt(run, watcher)


@given(inputs=manual_inputs(largest=10**22, most=15))
def test_figures_beyond_64_bits_are_kept_exactly(inputs: ManualInputs) -> None:
    with watched() as watcher:
        run = run_manual(inputs.profile, inputs.requests, inputs.script, **inputs.settings)
    assert_every_step_is_rebuilt(run, watcher)


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_a_replay_of_more_than_64_bits_is_recorded_exactly(rule: CursorRule) -> None:
    huge = 2**64 + 12_345
    table = RequestTable()
    # The first one makes the worker busy; the huge ones wait, are charged, and the engine refuses them.
    for tokens, header in ((600, "A"), (huge, "A"), (huge + 1, "B"), (7, "B"), (huge, "A")):
        table.append(tokens, policy_header=header)
    profile = ring_of({"A": 3, "B": 2**63 - 1}, prefill_busy_threshold=0)
    with watched() as watcher:
        run = replay(profile, table, cursor_rule=rule, engine=EngineOptions(enable_prefix_caching=False))
    assert_every_step_is_rebuilt(run, watcher)
    assert max(run.state_at(step).bulk_rounds for step in range(run.n_steps)) >= 1
    assert run.refused_by_engine == {1, 2, 4}


def long_run(cursor_rule: CursorRule = "documented") -> tuple[Any, RequestTable, dict[str, Any]]:
    """About three checkpoints of steps, with every kind of order in the lanes."""
    draw = random.Random(5)
    table = RequestTable()
    for row in range(420):
        table.append(
            draw.randint(1, 900),
            policy_header=draw.choice(["premium", "regular"]),
            timestamp_ms=row * 3.0,
            priority_jump=draw.choice([0.0, 0.0, 1.0]),
            output_tokens=draw.choice([1, 2]),
            constraint=draw.choice([None, None, Constraint(0), Constraint(allowed_workers=frozenset({1}))]),
        )
    return sample_profile("premium_4_to_1"), table, {"workers": 2, "engine": SEED_ENGINE, "cursor_rule": cursor_rule}


@pytest.mark.parametrize("rule", CURSOR_RULES)
def test_steps_around_checkpoints_are_rebuilt_with_their_visits(rule: CursorRule) -> None:
    profile, table, inputs = long_run(rule)
    with watched() as watcher:
        run = replay(profile, table, **inputs)
    assert run.n_steps > 2 * CHECKPOINT_STEPS + 2
    walked = {walker.step: (list(walker.deficits), list(walker.visits)) for walker in run.snapshots.walk()}
    assert list(walked) == list(range(run.n_steps))
    for middle in range(CHECKPOINT_STEPS, run.n_steps, CHECKPOINT_STEPS):
        for step in range(middle - 3, middle + 3):
            state = run.state_at(step)
            assert_state_is(state, watcher.seen[step], run)
            assert ([c.deficit_tokens for c in state.classes], list(state.visits)) == walked[step]
    calls = [step for step in range(run.n_steps) if run.kinds[step] in CALL_KINDS]
    assert all(run.state_at(step).visits for step in calls)


def test_calls_that_fall_on_a_checkpoint_keep_their_visits() -> None:
    run = run_queued({"A": 10, "B": 10}, {"A": [10] * 699, "B": [10] * 700})
    on_checkpoints = [
        step for step in range(CHECKPOINT_STEPS - 1, run.n_steps, CHECKPOINT_STEPS) if run.kinds[step] in CALL_KINDS
    ]
    assert on_checkpoints
    for step in on_checkpoints:
        assert run.state_at(step).visits


@pytest.mark.parametrize("step", [-2, 10**6])
def test_a_step_that_is_not_there_is_an_error(step: int) -> None:
    run = run_queued({"A": 10}, {"A": [5]})
    with pytest.raises(IndexError, match="of a run with"):
        run.state_at(step)


def test_a_step_is_found_by_its_time() -> None:
    table = RequestTable()
    add(table, "A", 5, 5)
    run = run_manual(ring_of({"A": 10}), table, [At(1.0), Arrive(0), At(2.0), Arrive(1)])
    assert run.step_at_time(0.5) == -1
    assert run.times_ms[run.step_at_time(1.0)] == 1.0
    assert run.times_ms[run.step_at_time(1.0) + 1] == 2.0
    assert run.step_at_time(99.0) == run.n_steps - 1


def test_what_runs_is_counted_while_another_worker_refuses_at_the_same_time() -> None:
    table = RequestTable()
    table.append(10, constraint=Constraint(0))
    table.append(1_000, constraint=Constraint(1))
    run = replay(ring_of({"A": 1}), table, workers=2, engine=EngineOptions(num_gpu_blocks=1))
    refused = list(run.kinds).index(StepKind.COMPLETION)
    assert run.step_request[refused] == 1
    assert run.state_at(refused).endpoints[0].running_requests == 1


# --- light runs ---------------------------------------------------------------------------------------------


def service(run: Run) -> dict[str, Any]:
    tally = run.backlog
    return {
        "tokens": tally.service_tokens,
        "requests": tally.service_requests,
        "ever": tally.ever_backlogged,
    }


@given(inputs=replay_inputs())
def test_a_light_run_has_the_results_and_the_service_of_a_recorded_one(inputs: ReplayInputs) -> None:
    recorded = replay(inputs.profile, inputs.requests, **inputs.settings)
    light = replay(inputs.profile, inputs.requests, **inputs.settings, record=False)
    assert light.result_rows() == recorded.result_rows()
    assert list(light.completion_order) == list(recorded.completion_order)
    assert light.aborted_because == recorded.aborted_because
    assert service(light) == service(recorded)
    with pytest.raises(ValueError, match="without recording"):
        _ = light.n_steps


@given(inputs=replay_inputs(most=15))
def test_service_while_backlogged_adds_up_to_everything_that_calls_dispatched(inputs: ReplayInputs) -> None:
    run = replay(inputs.profile, inputs.requests, **inputs.settings)
    tally = run.backlog
    decided = [run.step_request[step] for step in run.decision_steps]
    classes = range(len(run.class_names))
    tokens = [sum(run.cost_tokens[row] for row in decided if run.class_index[row] == i) for i in classes]
    assert [sum(row[i] for row in tally.service_tokens.values()) for i in classes] == tokens
    assert tally.joint_service(0)[0] == tokens
    for mask, row in tally.service_tokens.items():
        assert mask & tally.ever_backlogged == mask
        assert all(served == 0 or mask >> index & 1 for index, served in enumerate(row))


@given(inputs=replay_inputs(most=15))
def test_the_other_rule_is_the_same_inputs_under_the_other_rule(inputs: ReplayInputs) -> None:
    run = replay(inputs.profile, inputs.requests, **inputs.settings)
    other = "carry" if inputs.settings["cursor_rule"] == "documented" else "documented"
    expected = replay(inputs.profile, inputs.requests, **{**inputs.settings, "cursor_rule": other})
    assert run.other_rule is run.other_rule
    assert run.other_rule.cursor_rule == other
    assert run.other_rule.result_rows() == expected.result_rows()
    assert service(run.other_rule) == service(expected)


@given(inputs=manual_inputs(most=15))
def test_the_other_rule_of_a_manual_run_plays_the_same_script(inputs: ManualInputs) -> None:
    run = run_manual(inputs.profile, inputs.requests, inputs.script, **inputs.settings)
    other = "carry" if inputs.settings["cursor_rule"] == "documented" else "documented"
    expected = run_manual(inputs.profile, inputs.requests, inputs.script, **{**inputs.settings, "cursor_rule": other})
    assert run.other_rule.cursor_rule == other
    assert run.other_rule.result_rows() == expected.result_rows()
    assert order(run.other_rule) == order(expected)


# --- the same again -------------------------------------------------------------------------------------------


@given(inputs=replay_inputs())
def test_the_same_inputs_and_seed_give_the_same_run(inputs: ReplayInputs) -> None:
    runs = [replay(inputs.profile, inputs.requests, **inputs.settings) for _ in range(2)]
    assert digest(runs[0]) == digest(runs[1])


def digest(run: Run) -> str:
    """A fingerprint of everything a run recorded and answers."""
    figures = (
        run.result_rows(),
        list(run.kinds),
        list(run.times_ms),
        list(run.step_request),
        list(run.step_endpoint),
        list(run.completion_order),
        [run.state_at(step) for step in range(0, run.n_steps, 97)],
    )
    return hashlib.sha256(repr(figures).encode()).hexdigest()


def test_processes_with_different_hash_seeds_give_byte_identical_results() -> None:
    program = (
        "from tests.simulation.test_recording import digest, long_run; from drr.simulation.replay import replay\n"
        "profile, table, inputs = long_run(); print(digest(replay(profile, table, **inputs)))"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1
    assert len(answers.pop().strip()) == 64


def test_another_seed_breaks_ties_between_workers_otherwise() -> None:
    table = RequestTable()
    for _ in range(64):
        table.append(64)
    spread = [replay(ring_of({"A": 1}), table, workers=4, seed=seed).endpoint for seed in range(3)]
    assert len({tuple(endpoints) for endpoints in spread}) > 1


# --- tables -----------------------------------------------------------------------------------------------------


@given(inputs=replay_inputs(most=10))
@settings(max_examples=10)
def test_the_tables_have_one_line_per_request_and_per_step(inputs: ReplayInputs) -> None:
    run = replay(inputs.profile, inputs.requests, **inputs.settings)
    requests, steps = run.requests_frame(), run.steps_frame()
    assert len(requests) == len(run.requests)
    assert len(steps) == run.n_steps
    if len(requests):
        assert list(requests["outcome"]) == list(run.outcome)
    assert list(steps["kind"]) == [StepKind(kind).name.lower() for kind in run.kinds]


def test_an_empty_workload_gives_an_empty_run_and_empty_tables() -> None:
    run = replay(ring_of({"A": 1}), RequestTable())
    assert run.n_steps == 0
    assert run.state_at(-1).classes[0].waiting_requests == 0
    assert len(run.requests_frame()) == 0
    assert {"request", "outcome", "arrival_ms"} <= set(run.requests_frame().columns)
    assert len(run.steps_frame()) == 0


# --- the manual model ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", ["open", "one", "policy"])
def test_what_a_manual_worker_holds_runs_there(capacity: Any) -> None:
    table = RequestTable()
    add(table, "A", 5, 5)
    run = run_manual(ring_of({"A": 10}), table, [Arrive(0), Call(1)], capacity=capacity)
    for step in range(run.n_steps):
        for endpoint in run.state_at(step).endpoints:
            assert endpoint.running_requests == endpoint.in_flight_requests


def test_a_worker_that_joins_takes_what_waits_for_the_only_one() -> None:
    table = RequestTable()
    add(table, "A", 10, 10)
    run = run_manual(ring_of({"A": 10}), table, [Arrive(0), Arrive(1), Change("join", 1)], capacity="one")
    assert list(run.endpoint) == [0, 1]


def test_a_worker_that_comes_back_with_one_rank_has_one_endpoint() -> None:
    run = run_manual(ring_of({"A": 10}), RequestTable(), [Change("join", Worker(0))], workers=[Worker(0, 2)])
    assert [e.is_present for e in run.state_at(run.n_steps - 1).endpoints] == [True, False]


def test_first_token_and_finish_give_the_load_back_once() -> None:
    table = RequestTable()
    add(table, "A", 10, 10)
    script: list[Action] = [Arrive(0), At(2.0), FirstToken(0), At(3.0), Finish(0), Drain()]
    run = run_manual(ring_of({"A": 10}), table, script, capacity="one")
    loads = [run.state_at(step).endpoints[0].active_prefill_tokens for step in range(run.n_steps)]
    assert loads[run.step_at_time(1.0)] == 10
    assert loads[-1] == loads[run.step_at_time(2.0)] == 0
    assert (run.first_token_ms[0], run.last_token_ms[0]) == (2.0, 3.0)
    assert run.outcome == ["queued", ""]
