from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.errors import WorkloadError
from drr.policy import load_policy
from drr.policy.fields import MAX_PROBLEMS
from drr.policy.samples import sample
from drr.router.endpoints import Worker
from drr.simulation.manual import run_manual
from drr.simulation.recording import Run
from drr.simulation.state import DISPATCH_KINDS, StepKind
from drr.workload.typed import MAX_REQUESTS, load_typed, profile_of, read_typed, typed_profile

LECTURE = """
A (60): 25 45 10      # three flows
B (60): 50 30
C (60): 20 20 20 20
"""


def play(text: str, **how: object) -> Run:
    queues = load_typed(text)
    capacity = how.get("capacity", "open")
    script = queues.script_for(capacity, how.get("workers", 1))  # type: ignore[arg-type]
    return run_manual(queues.profile, queues.requests, script, **how)  # type: ignore[arg-type]


def order(run: Run) -> list[str]:
    return [run.requests.name[run.step_request[step]] for step in run.decision_steps]


def deficits(run: Run) -> list[list[int]]:
    return [[c.deficit_tokens for c in run.state_at(step).classes] for step in run.decision_steps]


def test_the_lecture_example_typed_in_gives_the_lecture_order_and_deficits() -> None:
    run = play(LECTURE)
    assert order(run) == ["A1", "B1", "C1", "C2", "C3", "A2", "A3", "B2", "C4"]
    expected = ["35/0/0", "35/10/0", "35/10/40", "35/10/20", "35/10/0", "50/10/0", "0/10/0", "0/0/0", "0/0/0"]
    assert ["/".join(map(str, row)) for row in deficits(run)] == expected


def test_heads_larger_than_the_quantum_pile_up_deficit() -> None:
    run = play("P (5): 18\nQ (5): 11\nR (5): 14\nS (5): 9")
    assert order(run) == ["S1", "Q1", "R1", "P1"]
    assert deficits(run) == [[10, 10, 10, 0], [15, 0, 10, 0], [15, 0, 0, 0], [0, 0, 0, 0]]
    assert [run.state_at(step).bulk_rounds for step in run.decision_steps] == [1, 0, 0, 0]


def test_an_idle_class_has_banked_nothing_when_its_next_request_comes() -> None:
    run = play("a (100): 10 150@2\nb (30): 30 30 30")
    assert order(run) == ["a1", "b1", "b2", "a2", "b3"]
    assert deficits(run)[0][0] == 0


def test_the_ring_starts_where_it_stopped_and_keeps_the_place_of_an_empty_class() -> None:
    run = play("c1 (10): 10 10\nc2 (10): 10 10\nc3 (10): 10 10@4\nc4 (10): 10 10\nc5 (10): 10 10")
    assert order(run) == [f"c{c}{n}" for n in (1, 2) for c in range(1, 6)]


@pytest.mark.parametrize("capacity", ["open", "one"])
def test_one_request_per_worker_keeps_the_order_of_the_documented_rule(capacity: str) -> None:
    run = play(LECTURE, capacity=capacity)
    assert order(run) == ["A1", "B1", "C1", "C2", "C3", "A2", "A3", "B2", "C4"]
    assert run.inputs.requests.name == ["A1", "A2", "A3", "B1", "B2", "C1", "C2", "C3", "C4"]


@pytest.mark.parametrize(("capacity", "workers"), [("one", 1), ("one", 3), ("open", 1)])
def test_a_later_request_arrives_after_as_many_dispatches_as_typed(capacity: str, workers: int) -> None:
    run = play("A (10): 10 10 10 10 10\nB (10): 10@3 10@5", capacity=capacity, workers=workers)
    for name, dispatches in (("B1", 3), ("B2", 5)):
        row = run.requests.name.index(name)
        arrival = next(s for s in range(run.n_steps) if run.kinds[s] == StepKind.QUEUED and run.step_request[s] == row)
        assert sum(step < arrival for step in run.decision_steps) == dispatches
    assert len(run.completion_order) == 7


def test_thresholds_decide_when_the_policy_has_the_say() -> None:
    profile = load_policy(sample("premium_4_to_1").text()).profile_for()
    queues = load_typed("premium: 512 512 512 512 512 512\nregular: 512@4", profile)
    run = run_manual(profile, queues.requests, queues.script_for("policy"), capacity="policy")
    started = [row for row in range(7) if run.released_at_ms[row] == 0.0]
    assert len(started) == 4
    assert len(run.completion_order) == 7


def test_every_suffix_says_what_it_means() -> None:
    queues = load_typed("A (60 wspt): 25!3 45^2.5 10>1 30>2.1 80/79\nB (7): 5@2/0")
    requests = queues.requests
    assert requests.name == ["A1", "A2", "A3", "A4", "A5", "B1"]
    assert requests.strict_priority == [3, 0, 0, 0, 0, 0]
    assert requests.priority_jump == [0, 2.5, 0, 0, 0, 0]
    assert requests.cached_tokens == [-1, -1, -1, -1, 79, 0]
    pins = {row: (c.pin_worker, c.pin_rank) for row, c in requests.constraints.items()}
    assert pins == {2: (1, None), 3: (2, 1)}
    assert queues.after_dispatches == (0, 0, 0, 0, 0, 2)
    assert [(c.name, c.quantum, c.queue_policy) for c in queues.profile.classes] == [
        ("A", 60, "wspt"),
        ("B", 7, "fcfs"),
    ]


def test_strict_priority_jump_and_cached_tokens_change_order_and_cost() -> None:
    run = play("A (100): 10 20^1 30!1 40/39")
    assert order(run) == ["A3", "A2", "A1", "A4"]
    assert run.cost_tokens[3] == 1


def test_a_jump_of_two_seconds_overtakes_what_came_in_the_last_two_dispatches() -> None:
    run = play("A (1000): 10 10 10 10@1 10@2 10@3^2.5")
    assert order(run) == ["A1", "A2", "A3", "A6", "A4", "A5"]
    run = play("A (1000): 10 10 10 10@1 10@2 10@3^1.5")
    assert order(run) == ["A1", "A2", "A3", "A4", "A6", "A5"]


def test_a_pinned_request_waits_for_its_worker_and_others_pass_it() -> None:
    run = play("A (100): 10>0 20>0 30>1", capacity="one", workers=[Worker(0), Worker(1)])
    assert order(run) == ["A1", "A3", "A2"]


def test_names_are_classes_or_families_of_the_policy_at_hand() -> None:
    profile = load_policy(sample("cached_uncached").text()).profile_for()
    queues = load_typed("standard: 100 5000\ncached: 100\nuncached: 9000 9000/1000", profile)
    run = run_manual(profile, queues.requests, queues.script)
    names = [run.class_names[index] for index in run.class_index]
    assert names == ["cached", "uncached", "cached", "uncached", "uncached"]
    assert queues.class_names == ("standard", "cached", "uncached")


def test_lines_of_the_same_class_go_on_where_the_last_one_stopped() -> None:
    queues = load_typed("A (60): 25\n\n  B (1): 2\nA: 45,\n")
    assert queues.requests.name == ["A1", "B1", "A2"]


def test_a_line_with_a_star_changes_workers_between_dispatches() -> None:
    text = "A (100): 10 10 10 10 10 10 10>0\n* join 1 @2\n* leave 0 @5\n* finish 1 @3"
    run = play(text, capacity="one")
    workers = [run.endpoint[row] for row in (run.step_request[step] for step in run.decision_steps)]
    assert workers == [0, 0, 1, 1, 0, 1]
    assert run.outcome[6] == "error"
    assert run.reason(6) == "the worker it is pinned to is not there"


def test_a_held_worker_keeps_its_lane_waiting_until_it_is_freed() -> None:
    run = play("A (100): 10>0 20>1\nB (100): 30>1 40>1\n* hold 0\n* free 0 @3", capacity="one", workers=2)
    assert order(run) == ["A2", "B1", "B2", "A1"]
    run = play("A (100): 10>0 20>1\n* hold 0", capacity="one", workers=2)
    assert order(run) == ["A2"]
    run = play("A (100): 10>0 20>1\n* hold 0", workers=2)
    assert order(run) == ["A2"]


def test_an_overloaded_worker_takes_no_part_until_it_recovers() -> None:
    run = play("A (100): 10 20 30@2\n* overload 1\n* recover 1 @2", capacity="one", workers=2)
    assert [run.endpoint[row] for row in range(3)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("A (60): 25 1,024", 1, 12, "did you mean `1024`?"),
        ("A (60): 25 1_024", 1, 12, "did you mean `1024`?"),
        ("A (60): 0", 1, 9, "a whole number of at least 1"),
        ("A (60): -5", 1, 9, '"-5" is no number of tokens'),
        ("A (60): 2.5", 1, 9, "a whole number of at least 1"),
        ("A (60): ١٢", 1, 9, "a whole number of at least 1"),
        ("A (60): 5 @2", 1, 11, "the number of tokens is missing"),
        ("A (60): 5@", 1, 10, '"@" is no number of dispatches'),
        ("A (60): 5@x", 1, 10, '"@x" is no number of dispatches'),
        ("A (60): 5@1", 1, 9, "only 0 requests arrive before it"),
        ("A (60): 5 5@2", 1, 11, "at most `@1`"),
        ("A (60): 5!1!2", 1, 12, "`!` stands twice"),
        ("A (60): 5^-1", 1, 10, "seconds, such as `^5`"),
        ("A (60): 5>w1", 1, 10, "`>0` for worker 0"),
        ("A (60): 5/6", 1, 10, "at most 5, the length of the prompt"),
        ("A (60): 5\n25 10", 2, 1, "`name: 25 45 10`"),
        ("A (60): 5\n : 10", 2, 2, "the class name is missing"),
        ("A/b (60): 10", 1, 1, '"A/b" is no class name'),
        ("A: 10", 1, 1, "class A has no quantum"),
        ("A (0): 10", 1, 4, "a quantum of at least 1 token"),
        ("A (" + "9" * 5000 + "): 10", 1, 4, "a quantum of at least 1 token"),
        ("A (wspt): 10", 1, 4, "the parentheses hold no quantum"),
        ("A (60 lifo): 10", 1, 4, '"lifo" is not allowed'),
        ("A (60): 10\nA (70): 10", 2, 4, "on an earlier line"),
        ("A (60 wspt): 10\nA (60 fcfs): 10", 2, 4, "A has the order wspt on an earlier line"),
        ("A (60 fcfs): 10\nA (60): 1\nA (60, wspt): 10", 3, 4, "A has the order fcfs on an earlier line"),
        ("A (60 wspt fcfs): 10", 1, 4, '"fcfs" is not allowed'),
        ("", 1, 1, "there is no request"),
        ("# only words", 1, 1, "there is no request"),
        ("A (60):", 1, 1, "there is no request"),
        ("A (60): 1\n * hols 0 @1", 2, 2, "did you mean `hold`?"),
        ("A (60): 1\n* hold", 2, 1, "`* WORD WORKER @n`"),
        ("A (60): 1\n* hold 0 @2", 2, 1, "at most `@1`"),
    ],
)
def test_a_slip_is_told_with_its_place_and_what_is_allowed(text: str, line: int, column: int, part: str) -> None:
    reading = read_typed(text)
    assert not reading.ok
    (found,) = reading.diagnostics
    assert (found.line, found.column) == (line, column)
    assert part in found.text()
    assert found.allowed


def test_all_slips_are_told_at_once_in_text_order() -> None:
    found = read_typed("A (60): x 5 y\nB: 4\n?").diagnostics
    assert [(d.line, d.column) for d in found] == [(1, 9), (1, 13), (2, 1), (3, 1)]


def test_a_class_that_the_policy_lacks_is_named_with_what_there_is() -> None:
    profile = load_policy(sample("premium_4_to_1").text()).profile_for()
    (found,) = read_typed("premum: 512", profile).diagnostics
    assert found.suggestion == "premium"
    assert "`regular`" in found.allowed
    (found,) = read_typed("premium (100): 512", profile).diagnostics
    assert "premium 512" in found.message
    assert read_typed("premium (512): 512", profile).ok


def test_an_order_is_the_one_of_the_policy_or_left_out() -> None:
    text = sample("premium_4_to_1").text()
    for order, other in (("fcfs", "wspt"), ("wspt", "fcfs")):
        profile = load_policy(text.replace("queue_policy: fcfs", f"queue_policy: {order}")).profile_for()
        assert {each.queue_policy for each in profile.classes} == {order}
        assert read_typed(f"premium (512 {order}): 512\npremium (512): 5\npremium: 5", profile).ok
        (found,) = read_typed(f"premium (512 {other}): 512", profile).diagnostics
        assert f"another order (premium {order})" in found.message
        assert [d.message.split("(")[0] for d in read_typed(f"premium (5 {other}): 512", profile).diagnostics] == [
            "the policy gives another quantum ",
            "the policy gives another order ",
        ]


def test_a_length_outside_the_bucket_of_the_typed_class_is_told() -> None:
    profile = load_policy(sample("cached_uncached").text()).profile_for()
    (found,) = read_typed("cached: 100 5000", profile).diagnostics
    assert found.column == 13
    assert 'class "uncached", not "cached"' in found.message


def test_too_many_requests_are_refused_once() -> None:
    text = "A (1): " + "1 " * (MAX_REQUESTS + 5)
    (found,) = read_typed(text).diagnostics
    assert "too many" in found.message


def test_bad_text_raises_one_error_with_every_place() -> None:
    with pytest.raises(WorkloadError, match=r"line 1, column 9.*\n.*line 2, column 1"):
        load_typed("A (60): x\nB: 1")


def test_the_profile_alone_can_be_had_from_text_or_from_quanta() -> None:
    assert typed_profile(LECTURE) == profile_of({"A": 60, "B": 60, "C": 60})
    assert typed_profile("A (1 wspt): 1") == profile_of({"A": 1}, {"A": "wspt"})


@given(st.text(max_size=60) | st.text("AB(): 0129@!^>/.*#\n,wsptholdfree", max_size=60))
def test_any_text_is_answered_with_queues_that_run_or_with_places(text: str) -> None:
    reading = read_typed(text)
    if reading.queues is None:
        assert reading.diagnostics
        assert all(d.line >= 1 and d.column >= 1 and d.allowed for d in reading.diagnostics)
        return
    for capacity in ("open", "one", "policy"):
        script = reading.queues.script_for(capacity)  # type: ignore[arg-type]
        run = run_manual(reading.queues.profile, reading.queues.requests, script, capacity=capacity)  # type: ignore[arg-type]
        assert run.aborted_because is None


@pytest.mark.parametrize("line", [" " * 200_000 + "(", "A" * 200_000, "* hold 0" + " " * 200_000 + "x", "A (" * 50_000])
def test_a_long_line_is_answered_at_once(line: str) -> None:
    started = time.process_time()
    assert not read_typed(line).ok
    assert time.process_time() - started < 1


@pytest.mark.parametrize("capacity", ["open", "one"])
def test_a_head_that_goes_out_only_to_fail_counts_as_a_dispatch(capacity: str) -> None:
    run = play("A (100): 10 10>7 10 10@2 10@4", capacity=capacity)
    counted = [step for step, kind in enumerate(run.kinds) if kind in DISPATCH_KINDS]
    assert StepKind.HEAD_ERROR in [run.kinds[step] for step in counted[:2]]
    for row, after in ((3, 2), (4, 4)):
        arrival = next(step for step in range(run.n_steps) if run.step_request[step] == row)
        assert sum(step < arrival for step in counted) == after
    assert len(run.completion_order) == 4


@pytest.mark.parametrize(("errors", "told"), [(MAX_PROBLEMS - 1, MAX_PROBLEMS - 1), (MAX_PROBLEMS, MAX_PROBLEMS + 1)])
@pytest.mark.parametrize("between", [" ", "\nA (60): "])
def test_reading_stops_after_a_hundred_errors(errors: int, told: int, between: str) -> None:
    reading = read_typed("A (60): " + between.join(["x"] * errors))
    assert len(reading.diagnostics) == told
    stopped = told > errors
    assert ("the rest of the text was not looked at" in reading.diagnostics[-1].message) == stopped
    assert not reading.ok
