"""Sentences worked out by hand, word for word: one for every kind of step and every rule that can fire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from drr.analysis.explain import decision_number, explain, explain_visit
from drr.policy import CacheBucket, PolicyClass, Profile, synthetic_profile
from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Action, Arrive, Call, Change, Drain, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.state import StepKind


def a_class(name: str, quantum: int, **more: Any) -> PolicyClass:
    return PolicyClass(name, quantum, policy_family=name, cache_bucket="all", **more)


def play(
    classes: Sequence[PolicyClass], requests: Sequence[dict[str, Any]], script: Sequence[Action], **more: Any
) -> Run:
    table = RequestTable()
    for request in requests:
        table.append(**request)
    return run_manual(
        Profile(str(classes[0].policy_family), (CacheBucket(0, "all"),), tuple(classes)), table, script, **more
    )


def request(header: str | None, isl_tokens: int, **more: Any) -> dict[str, Any]:
    return {"policy_header": header, "isl_tokens": isl_tokens, **more}


def all_wait(count: int) -> list[Action]:
    return [Arrive(row, wait=True) for row in range(count)]


def text_of(run: Run, kind: StepKind, place: int = 0) -> str:
    """Headline and text of the ``place``-th step of a kind."""
    steps = [step for step, each in enumerate(run.kinds) if each == kind]
    return str(explain(run, steps[place]))


# --- calls ---------------------------------------------------------------------------------------------------------


def test_bulk_rounds_are_written_out_with_their_ceil() -> None:
    requests = [request("standard", 7_000), request("latency", 9_000), request("latency", 500)]
    run = play([a_class("standard", 1_000), a_class("latency", 2_000)], requests, [*all_wait(3), Call(2)])
    assert text_of(run, StepKind.DECISION) == (
        "Decision 1: latency goes. The cursor stood on standard: it had 0 kept + 1,000 granted = 1,000 tokens and "
        "needs ⌈(7,000 − 1,000) / 1,000⌉ = 6 rounds; latency had 0 kept + 2,000 granted = 2,000 tokens and needs "
        "⌈(9,000 − 2,000) / 2,000⌉ = 4 rounds. Nobody can pay yet, so both get the fewest, 4 rounds: latency has "
        "2,000 + 4 × 2,000 = 10,000 tokens (standard now has 1,000 + 4 × 1,000 = 5,000 tokens); it pays 9,000 and has "
        "1,000 left, and its next head costs 500, affordable already, so the cursor rests on latency. Request 1 goes "
        "to worker 0, which now holds 9,000 prefill tokens."
    )
    assert text_of(run, StepKind.DECISION, 1) == (
        "Decision 2: latency goes. The cursor stood on latency: it had 1,000 tokens kept; it pays 500; nothing more "
        "waits there, so the 500 left are dropped and its deficit is 0, and the cursor moves to standard. Request 2 "
        "goes to worker 0, which now holds 500 prefill tokens."
    )


def test_by_rule_every_visit_of_a_bulk_call_has_its_line() -> None:
    requests = [request("standard", 7_000), request("latency", 9_000), request("latency", 500)]
    run = play([a_class("standard", 1_000), a_class("latency", 2_000)], requests, [*all_wait(3), Call()])
    assert [line.text for line in explain(run, 3).details] == [
        "standard: 0 kept + 1,000 granted = 1,000 tokens, short of its head's 7,000; the scan goes on.",
        "latency: 0 kept + 2,000 granted = 2,000 tokens, short of its head's 9,000; the scan goes on.",
        "standard: needs ⌈(7,000 − 1,000) / 1,000⌉ = 6 rounds, and gets the fewest anybody needs, 4: "
        "1,000 + 4 × 1,000 = 5,000 tokens, still short of its head's 7,000.",
        "latency: needs ⌈(9,000 − 2,000) / 2,000⌉ = 4 rounds, the fewest, so it gets them: "
        "2,000 + 4 × 2,000 = 10,000 tokens, enough for its head's 9,000; it pays 9,000 and has 1,000 left.",
    ]


ONE_BY_ONE = [*all_wait(6), Drain(), Finish(), Finish(), Finish()]


def one_by_one(cursor_rule: str) -> Run:
    """Quantum 1,000 to 100, every cost 50, and a worker that takes one request at a time."""
    requests = [request(name, 50) for name in ("a", "a", "a", "b", "b", "b")]
    classes = [a_class("a", 1_000), a_class("b", 100)]
    return play(classes, requests, ONE_BY_ONE, capacity="one", cursor_rule=cursor_rule)


def test_the_documented_cursor_stays_on_a_class_whose_next_head_is_affordable_though_blocked() -> None:
    assert text_of(one_by_one("documented"), StepKind.DECISION, 1) == (
        "Decision 2: a goes. The cursor stood on a: it had 950 tokens kept; it pays 50 and has 900 left, and its next "
        "head costs 50, affordable already though blocked, so the cursor stays on a. Request 1 goes to worker 0; "
        "a and b now wait for worker 0, which holds 50 > 0 tokens."
    )


def test_under_the_carry_rule_the_class_is_carried_and_an_empty_call_forgets_it() -> None:
    run = one_by_one("carry")
    assert text_of(run, StepKind.DECISION) == (
        "Decision 1: a goes. The cursor stood on a: it had 0 kept + 1,000 granted = 1,000 tokens; it pays 50 and has "
        "950 left, and the cursor moves to b, but a is carried: the next call looks at it first. Request 0 goes to "
        "worker 0; a and b now wait for worker 0, which holds 50 > 0 tokens."
    )
    assert text_of(run, StepKind.EMPTY_CALL) == (
        "Call: nothing goes. b and a wait for worker 0, which holds 50 > 0 tokens. Nothing is granted: b keeps 0 and "
        "a keeps 950 tokens, and the cursor stays on b. The carry of a is forgotten, since it is blocked; the next "
        "call starts at the cursor."
    )
    assert text_of(run, StepKind.DECISION, 1).startswith(
        "Decision 2: b goes. The cursor stood on b: it had 0 kept + 100"
    )
    assert "as ever under this rule (nothing is left, so b is not carried)" in text_of(run, StepKind.DECISION, 3)


def test_a_carried_class_that_pays_is_looked_at_first() -> None:
    requests = [request("a", 50), request("a", 50), request("a", 950), request("b", 50)]
    classes = [a_class("a", 1_000), a_class("b", 100)]
    run = play(classes, requests, [*all_wait(4), Call(3)], cursor_rule="carry")
    assert text_of(run, StepKind.DECISION, 1) == (
        "Decision 2: a goes. a was carried from the last call, so it is looked at first: it had 950 tokens kept; it "
        "pays 50 and has 900 left, and the cursor comes round to b again, but a is carried: the next call looks at it "
        "first. Request 1 goes to worker 0, which now holds 50 prefill tokens."
    )
    assert text_of(run, StepKind.DECISION, 2) == (
        "Decision 3: b goes. The carry of a is forgotten, since it kept 900 of its head's 950 tokens; the cursor stood "
        "on b: it had 0 kept + 100 granted = 100 tokens; it pays 50; nothing more waits there, so the 50 left are "
        "dropped and its deficit is 0, and the cursor moves to a. Request 3 goes to worker 0, which now holds 50 "
        "prefill tokens."
    )
    assert explain(run, run.decision_steps[2]).details[0].text == (
        "a: carried, so it is looked at first, but its head costs 950 tokens, more than the 900 kept; the carry is "
        "forgotten."
    )


def test_with_many_classes_what_mattered_is_named_and_the_rest_counted() -> None:
    names = [f"c{i}" for i in range(9)]
    requests = [request(name, 1_000 + 100 * i) for i, name in enumerate(names)]
    run = play([a_class(name, 10) for name in names], requests, [*all_wait(9), Call(2)])
    assert text_of(run, StepKind.DECISION, 1) == (
        "Decision 2: c1 goes. The cursor stood on c1: it had 1,000 kept + 10 granted = 1,010 tokens and needs "
        "⌈(1,100 − 1,010) / 10⌉ = 9 rounds; c2 had 1,000 kept + 10 granted = 1,010 tokens and needs "
        "⌈(1,200 − 1,010) / 10⌉ = 19 rounds; 6 other classes need at least 9; c0 is empty. Nobody can pay yet, so all "
        "8 get the fewest, 9 rounds: c1 has 1,010 + 9 × 10 = 1,100 tokens (the other 7 keep what they were given); it "
        "pays 1,100; nothing more waits there, so its deficit is 0, and the cursor moves to c2. Request 1 goes to "
        "worker 0, which now holds 1,100 prefill tokens."
    )
    assert len(explain(run, run.decision_steps[1]).details) == 17


def test_many_classes_that_one_quantum_is_not_enough_for_are_counted() -> None:
    names = ["c0", "c1", "c2", "c3", "c4", "rich"]
    classes = [*(a_class(name, 10) for name in names[:5]), a_class("rich", 900)]
    run = play(classes, [request(name, 800) for name in names], [*all_wait(6), Call()])
    assert text_of(run, StepKind.DECISION).startswith(
        "Decision 1: rich goes. The cursor stood on c0: it had 0 kept + 10 granted = 10 tokens, still short of 800; "
        "c1 had 0 kept + 10 granted = 10 tokens, still short of 800; 3 other classes are short after one quantum, too. "
        "rich had 0 kept + 900 granted = 900 tokens; it pays 800;"
    )


def test_a_ring_of_one_class_comes_round_to_it_again() -> None:
    run = play([a_class("only", 10)], [request("only", 3)] * 4, [*all_wait(4), Call(3)])
    assert "its next head costs 3, affordable already, so the cursor stays on only" in text_of(
        run, StepKind.DECISION, 1
    )
    assert "its next head costs 3, more than that, so the cursor comes round to only again" in text_of(
        run, StepKind.DECISION, 2
    )


def test_a_better_head_in_a_blocked_lane_is_named() -> None:
    requests = [request("a", 10, constraint=Constraint(pin_worker=worker)) for worker in (1, 0)]
    script = [*all_wait(2), Change("hold", 1)]
    run = play([a_class("a", 100)], requests, script, workers=2)
    assert text_of(run, StepKind.DECISION) == (
        "Decision 1: a goes. The cursor stood on a: it had 0 kept + 100 granted = 100 tokens; it pays 10 and has 90 "
        "left, and its next head costs 10, affordable already though blocked, so the cursor stays on a. Request 1 goes "
        "to worker 0; request 0 would come first, but its lane is blocked; "
        "a now waits for worker 1, which the script holds busy."
    )


def test_a_head_that_ends_in_an_error_is_charged() -> None:
    requests = [request("a", 10, constraint=Constraint(pin_worker=7)), request("a", 10)]
    run = play([a_class("a", 100)], requests, [*all_wait(2), Call()])
    assert text_of(run, StepKind.HEAD_ERROR) == (
        "Call: the head of a ends in an error. The cursor stood on a: it had 0 kept + 100 granted = 100 tokens; it "
        "pays 10 and has 90 left, and its next head costs 10, affordable already, so the cursor stays on a. Request 0 "
        "ends in an error, charged like any dispatch: the worker it is pinned to is not there."
    )


# --- what is blocked -----------------------------------------------------------------------------------------------

POOL = [a_class("a", 100, prefill_busy_threshold=1_000, busy_worker_ratio=0.5)]


def test_a_busy_share_is_compared_with_the_ratio() -> None:
    requests = [request("a", 1_200), request("a", 1_300), request("a", 1)]
    script = [Arrive(0), Arrive(1), Arrive(2), Change("hold", 0), Change("hold", 1), Change("hold", 2)]
    run = play(POOL, requests, script, workers=3, capacity="policy", arrivals="bypass")
    busy = run.endpoint_names[run.endpoint[0]]
    assert (
        "Nothing waits in a yet, but it waits because 2 of 3 workers are busy and reach busy_worker_ratio 0.5 × 3 = "
        f"1.5, the least of them {busy}, which holds 1,200 > 1,000 tokens." in text_of(run, StepKind.QUEUED)
    )
    assert "2 of 3 workers are free for it and 1 busy, below busy_worker_ratio 0.5 × 3 = 1.5" in text_of(
        run, StepKind.BYPASSED, 1
    )
    assert "a waits for any of 3 workers, all held busy by the script" in str(explain(run, run.n_steps - 1))


def test_a_ratio_that_rounding_would_turn_round_is_shown_exactly() -> None:
    # 0.07 x 100 is a little more than 7 in floating point, so 7 busy workers of 100 do not reach it.
    classes = [a_class("a", 100, prefill_busy_threshold=1_000, busy_worker_ratio=0.07)]
    script = [*(Change("hold", worker) for worker in range(7)), Arrive(0)]
    run = play(classes, [request("a", 5)], script, workers=100, capacity="policy", arrivals="bypass")
    assert "below busy_worker_ratio 0.07 × 100 = 7.000000000000001" in text_of(run, StepKind.BYPASSED)


def test_an_empty_call_with_many_blocked_classes_names_two_reasons() -> None:
    names = [f"c{i}" for i in range(5)]
    requests = [request(name, 10, constraint=Constraint(pin_worker=i)) for i, name in enumerate(names)]
    script = [*(Change("hold", worker) for worker in range(5)), *all_wait(5), Call()]
    run = play([a_class(name, 10) for name in names], requests, script, workers=5)
    assert text_of(run, StepKind.EMPTY_CALL, -1) == (
        "Call: nothing goes. c0 waits for worker 0, which the script holds busy; c1 waits for worker 1, which the "
        "script holds busy; 3 other classes are blocked. Nothing is granted: all 5 blocked classes keep what they "
        "have, and the cursor stays on c0."
    )


# --- arrivals ------------------------------------------------------------------------------------------------------

MATRIX = Profile(
    "std",
    (CacheBucket(0, "short"), CacheBucket(3_072, "long")),
    (
        PolicyClass("std-short", 10, "std", "short"),
        PolicyClass("std-long", 10, "std", "long"),
        PolicyClass("batch", 10),
    ),
)


@pytest.mark.parametrize(
    ("header", "cached", "sentence"),
    [
        (
            "std",
            1_000,
            "Its header names the family std; 4,000 input tokens − 1,000 cached = 3,000 uncached, "
            "in bucket short (from 0, below 3,072): class std-short.",
        ),
        (
            None,
            0,
            "It has no policy header, so the default family std counts; 4,000 uncached tokens, "
            "in bucket long (from 3,072): class std-long.",
        ),
        ("", 0, "Its policy header is empty, so the default family std counts; 4,000 uncached tokens,"),
        ("Std", 0, "Its header 'Std' is no family and no explicit class, so the default family std counts;"),
        (
            "std-long",
            4_000,
            "Its header std-long is the name of a family's class, which no header reaches, so the default family std "
            "counts; 4,000 input tokens − 4,000 cached = 0 uncached (the least cost is 1), in bucket short",
        ),
        ("batch", 0, "Its header names the explicit class batch, whatever is cached: 4,000 uncached tokens."),
        ("x\n" + "y" * 60, 0, f"Its header 'x {'y' * 22}…{'y' * 24}' is no family"),
    ],
)
def test_an_arrival_tells_how_it_found_its_class(header: str | None, cached: int, sentence: str) -> None:
    table = RequestTable()
    table.append(4_000, policy_header=header, cached_tokens=cached)
    run = run_manual(MATRIX, table, [Arrive(0)])
    assert explain(run, 0).text.startswith(sentence)


def test_without_a_policy_there_is_one_class() -> None:
    table = RequestTable()
    table.append(5_000, policy_header="premium")
    run = run_manual(synthetic_profile(), table, [Arrive(0)], capacity="policy")
    assert str(explain(run, 0)) == (
        "Arrival: request 0 (default) goes at once. Without a policy everything is of class default: 5,000 uncached "
        "tokens. default has no busy threshold, so its requests never wait. It goes to worker 0, which now holds 5,000 "
        "prefill tokens; ring and deficits have no part."
    )


FULL = [a_class("a", 100, prefill_busy_threshold=0, raw_isl_token_queue_limit_per_worker=1_000)]


def test_a_refused_arrival_tells_kind_current_and_the_product_of_the_limit() -> None:
    requests = [request("a", tokens) for tokens in (10, 10, 1_500, 900, 100)]
    run = play(FULL, requests, [Arrive(i) for i in range(5)], workers=2, capacity="policy", arrivals="bypass")
    assert text_of(run, StepKind.QUEUED, 1).endswith(
        "1 request of a waits already, so it waits too: a waits for any of 2 workers, all busy, the least of them "
        "worker 0, which holds 10 > 0 tokens. It is number 2 of 2 in the shared lane of a; 1 request stands before it, "
        "1,500 tokens in all."
    )
    assert text_of(run, StepKind.REFUSED) == (
        "Arrival: request 4 is refused, a is full. Its header names the family a; 100 uncached tokens, in bucket all "
        "(from 0): class a. 2,400 input tokens wait in a and the limit is 2,000 (1,000 per worker × 2 workers), so "
        "nothing more may wait there. It is refused with HTTP 529, limit kind raw_isl_tokens; deficits, cursor and "
        "lanes stay as they are."
    )


def test_an_arrival_that_nobody_may_serve_tells_what_it_asked_for() -> None:
    constraint = Constraint(
        pin_worker=9, pin_rank=1, allowed_workers=frozenset({1}), required_taints=frozenset({"gpu"})
    )
    classes = [a_class("a", 100, prefill_busy_threshold=0)]
    script = [Arrive(0)]
    run = play(classes, [request("a", 10, constraint=constraint)], script, capacity="policy", arrivals="bypass")
    assert text_of(run, StepKind.ERROR).endswith(
        "It ends in an error: the worker it is pinned to is not there (pinned to worker 9 rank 1, allowed on 1 worker, "
        "wants gpu); nothing waits for it and nothing is charged."
    )


# --- workers -------------------------------------------------------------------------------------------------------


def test_a_completion_tells_the_load_that_came_back_and_what_it_made_possible() -> None:
    run = one_by_one("documented")
    assert text_of(run, StepKind.COMPLETION) == (
        "Completion: request 0 (a) is done on worker 0. Its first token is its last; its 50 prefill tokens leave "
        "worker 0, which held 50 and now holds 0. a and b (0 ≤ 0 tokens) may go again; the next calls let 1 "
        "request of a go."
    )


def test_a_completion_after_the_first_token_brings_no_load_back() -> None:
    table = RequestTable()
    table.append(512, output_tokens=3, policy_header="a")
    table.append(60_000, policy_header="a")
    profile = Profile("a", (CacheBucket(0, "all"),), (a_class("a", 10, prefill_busy_threshold=100),))
    run = replay(profile, table, engine=EngineOptions(num_gpu_blocks=100))
    assert text_of(run, StepKind.FIRST_TOKEN) == (
        "First token of request 0 (a) on worker 0. Its 512 prefill tokens leave worker 0, which held 512 and now holds "
        "0. a (0 ≤ 100 tokens) may go again; the next calls let 1 request of a go."
    )
    done = {text_of(run, StepKind.COMPLETION, place).partition(". ")[0]: place for place in range(2)}
    refused, served = (
        text_of(run, StepKind.COMPLETION, done[headline])
        for headline in (
            "Refused by the engine: request 1 (a) on worker 0",
            "Completion: request 0 (a) is done on worker 0",
        )
    )
    assert (
        "It does not fit the KV pool or the model length and ends without a token; its 60,000 prefill tokens" in refused
    )
    assert "Its prefill load left worker 0 with its first token; worker 0 holds 0 tokens as before." in served


def test_changes_of_the_cluster_tell_who_may_go() -> None:
    requests = [request("a", 10, constraint=Constraint(pin_worker=1))]
    script = [
        Change("hold", 1),
        *all_wait(1),
        Drain(),
        Change("overload", 0),
        Change("recover", 0),
        Change("leave", 0),
        Change("join", Worker(5, dp_size=2, max_num_batched_tokens=4_096)),
        Change("free", 1),
    ]
    run = play([a_class("a", 100)], requests, script, workers=2)
    still = "a still waits for worker 1, which the script holds busy; the call that follows finds nothing to dispatch."
    changes = [text_of(run, StepKind.WORKER_CHANGE, place) for place in range(6)]
    assert changes == [
        "Worker 1 is held busy. It holds 0 prefill tokens and counts as busy for every class, whatever it carries. "
        "Nothing waits in any class.",
        f"Worker 0 is overloaded. It holds 0 prefill tokens and is out of every choice until that is over. {still}",
        f"Worker 0 is no longer overloaded. It holds 0 prefill tokens and may be chosen again. {still}",
        "Worker 0 leaves. Nothing that waits is thrown out and what it holds goes on; 1 endpoint is there now. "
        + still,
        "Worker 5 joins. It brings 2 dp ranks, busy by fraction of 4,096 tokens; 3 endpoints are there now. " + still,
        "Worker 1 is let go. It holds 0 prefill tokens and is busy by its load again. a is no longer blocked; the next "
        "calls let 1 request of a go.",
    ]


# --- the edges -----------------------------------------------------------------------------------------------------


def test_before_the_first_step_nothing_has_happened_and_beyond_the_last_there_is_none() -> None:
    run = play([a_class("a", 100)], [request("a", 10)], [Arrive(0)])
    assert str(explain(run, -1)) == (
        "Before the first step. Nothing has arrived; every deficit is 0 and the cursor stands on a."
    )
    for step in (-2, run.n_steps):
        with pytest.raises(IndexError, match="of a run with"):
            explain(run, step)
    with pytest.raises(IndexError, match="visit 0 of a step with 0 visits"):
        explain_visit(run, 0, 0)


def test_a_light_run_has_nothing_to_explain() -> None:
    with pytest.raises(ValueError, match="without recording"):
        explain(replay(synthetic_profile(), RequestTable(), record=False), 0)


def test_decisions_are_numbered_from_one_in_the_headline() -> None:
    run = one_by_one("documented")
    for number, step in enumerate(run.decision_steps, start=1):
        assert decision_number(run, step) == number
        assert explain(run, step).headline.startswith(f"Decision {number}: ")
