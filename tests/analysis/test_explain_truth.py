"""What a sentence says is what the record holds: numbers and names are parsed back and compared with the states."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.analysis.explain import Explanation, explain, explain_visit
from drr.analysis.log import log_rows
from drr.policy import CacheBucket, PolicyClass, Profile
from drr.router.endpoints import Worker
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.calls import BULK_RULES, WINNING_RULES, VisitRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Arrive, Call, Change, Drain, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.state import CALL_KINDS, RunState, StepKind

# --- random runs -------------------------------------------------------------------------------------------------

STEPS_CHECKED = 10
"""So many steps of every run are looked at."""

FAMILIES = ("gold", "silver", "bronze", "copper", "zinc")
HEADERS = st.sampled_from([*FAMILIES, "solo", "gold-low", "", "Gold", None])


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    families = FAMILIES[: draw(st.integers(1, 5))]
    buckets = [CacheBucket(0, "low"), CacheBucket(700, "high")][: draw(st.integers(1, 2))]
    names = [(f"{family}-{bucket.name}", family, bucket.name) for family in families for bucket in buckets]
    classes = [draw(classes_named(*each)) for each in names]
    if draw(st.booleans()):
        classes.insert(draw(st.integers(0, len(classes))), draw(classes_named("solo", None, None)))
    return Profile(families[-1], tuple(buckets), tuple(classes))


@st.composite
def classes_named(draw: st.DrawFn, name: str, family: str | None, bucket: str | None) -> PolicyClass:
    threshold = draw(st.sampled_from([None, 0, 600, 1_500, 1_500]))
    limits = st.none() | st.integers(0, 3)
    return PolicyClass(
        name,
        quantum=draw(st.sampled_from([1, 7, 50, 128, 512, 2_000, 2**63])),
        policy_family=family,
        cache_bucket=bucket,
        queue_policy=draw(st.sampled_from(["fcfs", "wspt"])),
        prefill_busy_threshold=threshold,
        prefill_busy_threshold_frac=draw(st.sampled_from([None, None, 0.1])),
        busy_worker_ratio=draw(st.sampled_from([None, 0.3, 0.5, 0.7])) if threshold is not None else None,
        request_queue_limit_per_worker=draw(limits),
        raw_isl_token_queue_limit_per_worker=draw(st.none() | st.sampled_from([0, 900, 2_000])),
    )


@st.composite
def manual_runs(draw: st.DrawFn) -> Run:
    profile = draw(profiles())
    ranks = draw(st.integers(1, 2))
    count = draw(st.integers(1, 4))
    workers = [Worker(i, dp_size=ranks, max_num_batched_tokens=4_000) for i in range(count)]
    table = RequestTable()
    script: list[object] = []
    ids = st.integers(0, count)
    changes = st.builds(
        Change, st.sampled_from(["hold", "free", "hold", "free", "overload", "recover", "join", "leave"]), ids
    )
    other = st.one_of(
        st.builds(Call, st.integers(1, 3)), st.just(Drain()), st.builds(Finish), st.builds(Finish, worker=ids), changes
    )
    for _ in range(draw(st.integers(1, 16))):
        isl = draw(st.sampled_from([1, 40, 512, 650, 1_400, 9_000]))
        constraint = draw(
            st.none()
            | st.builds(Constraint, pin_worker=ids, pin_rank=st.none() | st.integers(0, 1))
            | st.builds(Constraint, allowed_workers=st.frozensets(ids, min_size=1))
        )
        row = table.append(
            isl,
            policy_header=draw(HEADERS),
            cached_tokens=draw(st.sampled_from([-1, 0, 30, 600])),
            strict_priority=draw(st.sampled_from([0, 0, 1])),
            constraint=constraint,
        )
        script.append(Arrive(row, wait=draw(st.booleans())))
        script += draw(st.lists(other, max_size=2))
    script += [Drain(), *[Finish()] * 6]
    return run_manual(
        profile,
        table,
        script,  # type: ignore[arg-type]
        workers=workers,
        capacity=draw(st.sampled_from(["open", "one", "policy"])),
        cursor_rule=draw(st.sampled_from(["documented", "carry"])),
        arrivals=draw(st.sampled_from(["bypass", "through_ring"])),
    )


@st.composite
def replays(draw: st.DrawFn) -> Run:
    table = RequestTable()
    for row in range(draw(st.integers(4, 40))):
        table.append(
            draw(st.sampled_from([64, 512, 900, 3_000, 50_000])),
            output_tokens=draw(st.sampled_from([0, 1, 1, 3])),
            timestamp_ms=draw(st.sampled_from([0.0, 1.0, 20.0])),
            policy_header=draw(HEADERS),
            hash_ids=[row % 3] * 100,
        )
    return replay(
        draw(profiles()),
        table,
        workers=draw(st.integers(1, 3)),
        engine=EngineOptions(max_num_seqs=draw(st.integers(1, 4)), num_gpu_blocks=400),
        cursor_rule=draw(st.sampled_from(["documented", "carry"])),
        arrivals=draw(st.sampled_from(["bypass", "through_ring"])),
    )


# --- reading sentences back --------------------------------------------------------------------------------------

N = r"([\d,]+)"
GRANT = re.compile(rf"{N} kept \+ {N} granted = {N} tokens")
BULK = re.compile(rf"{N} \+ {N} × {N} = {N} tokens")
CEIL = re.compile(rf"⌈\({N} − {N}\) / {N}⌉ = {N}")
ABOVE = re.compile(rf"(worker \d+(?: rank \d+)?), which holds {N} > {N} tokens")
AT_MOST = re.compile(rf"{N} ≤ {N} tokens")
CACHED = re.compile(rf"{N} input tokens? − {N} cached = {N} uncached")
STOOD = re.compile(r"[Tt]he cursor stood on ([\w-]+)")
CURSOR = re.compile(r"the cursor (stays on|rests on|moves to|comes round to) ([\w-]+)")
PAYS = re.compile(rf"it pays {N}(?: and has {N} left|; nothing more waits there, so (?:the {N} left are dropped)?)")
SHORT = re.compile(rf"([\w-]+) had {N} kept \+ {N} granted = {N} tokens, still short of {N}")
NEEDS = re.compile(rf"([\w-]+) had {N} kept \+ {N} granted = {N} tokens and needs ⌈\({N} − {N}\) / {N}⌉ = {N} round")
KEEPS = re.compile(rf"([\w-]+) (?:is blocked and keeps its|keeps) {N}")


def ints(match: re.Match[str], first: int = 1) -> list[int]:
    return [int(group.replace(",", "")) for group in match.groups()[first - 1 :] if group]


def check_arithmetic(text: str) -> None:
    """Every equation and comparison that a sentence writes out is right."""
    for match in GRANT.finditer(text):
        kept, granted, total = ints(match)
        assert kept + granted == total
    for match in BULK.finditer(text):
        kept, rounds, quantum, total = ints(match)
        assert kept + rounds * quantum == total
    for match in CEIL.finditer(text):
        cost, deficit, quantum, rounds = ints(match)
        assert (rounds - 1) * quantum < cost - deficit <= rounds * quantum
    for match in ABOVE.finditer(text):
        load, limit = ints(match, 2)
        assert load > limit
    for match in AT_MOST.finditer(text):
        load, limit = ints(match)
        assert load <= limit
    for match in CACHED.finditer(text):
        raw, cached, uncached = ints(match)
        assert raw - cached == uncached


def check_loads(run: Run, text: str, *states: RunState) -> None:
    """A worker that a sentence says to be busy holds what it says, before or after the step."""
    for match in ABOVE.finditer(text):
        endpoint = run.endpoint_names.index(match[1])
        load, limit = ints(match, 2)
        seen = [state.endpoints[endpoint] for state in states]
        assert load in [each.active_prefill_tokens for each in seen]
        assert any(limit in each.limits_tokens for each in seen)


def check_call(run: Run, told: Explanation, before: RunState, after: RunState) -> None:
    names = run.class_names
    stood = STOOD.search(told.text)
    carry_pays = any(visit.rule == VisitRule.CARRY_PAYS for visit in after.visits)
    if after.kind != StepKind.EMPTY_CALL and not carry_pays:
        assert stood
        assert names.index(stood[1]) == after.cursor_before == before.cursor
    moved = CURSOR.findall(told.text)
    assert len(moved) == 1
    assert names.index(moved[0][1]) == after.cursor
    word = {"it": names[after.cursor_before]}
    for match in SHORT.finditer(told.text):
        index = names.index(word.get(match[1], match[1]))
        kept, granted, total, cost = ints(match, 2)
        assert kept == before.classes[index].deficit_tokens
        assert granted == run.profile.classes[index].quantum
        assert total == after.classes[index].deficit_tokens
        assert cost > total
    for match in NEEDS.finditer(told.text):
        index = names.index(word.get(match[1], match[1]))
        kept, granted, total, cost, same, quantum, rounds = ints(match, 2)
        assert (kept, total) == (before.classes[index].deficit_tokens, same)
        assert granted == quantum == run.profile.classes[index].quantum
        assert rounds >= after.bulk_rounds > 0
        assert cost == next(v.head_cost_tokens for v in after.visits if v.class_index == index and v.head >= 0)
    for match in KEEPS.finditer(told.text):
        index = names.index(word.get(match[1], match[1]))
        assert ints(match, 2) == [before.classes[index].deficit_tokens] == [after.classes[index].deficit_tokens]
    assert ("carry of" in told.text) == (before.carried >= 0 and not carry_pays)
    assert ("is carried: " in told.text) == (after.carried >= 0)


def check_winner(run: Run, told: Explanation, before: RunState, after: RunState) -> None:
    winner = after.winner
    assert f"{run.class_names[winner]} " in told.headline
    pays = PAYS.search(told.text)
    assert pays is not None
    charged, *rest = ints(pays)
    assert charged == run.cost_tokens[after.request]
    granted = sum(visit.granted_tokens for visit in after.visits if visit.class_index == winner)
    left = before.classes[winner].deficit_tokens + granted - charged
    if after.classes[winner].waiting_requests:
        assert rest == [left] == [after.classes[winner].deficit_tokens]
    else:
        assert after.classes[winner].deficit_tokens == 0
        assert rest == ([left] if left else [])
        assert "its deficit is 0" in told.text
    for match in BULK.finditer(told.text):
        assert ints(match)[1] == after.bulk_rounds


def sentences(text: str) -> int:
    assert text.endswith(".")
    return len(re.findall(r"\.(?= |$)", text))


def check_step(run: Run, step: int) -> None:
    told = explain(run, step)
    before, after = run.state_at(step - 1), run.state_at(step)
    assert 1 <= sentences(told.text) <= 3
    assert sentences(told.headline) == 1
    for text in (told.text, *(line.text for line in told.details)):
        check_arithmetic(text)
        check_loads(run, text, before, after)
        assert not re.search(r"\d{4,}", text), "numbers have thousands separators"
    assert len(told.details) == len(after.visits)
    if after.kind in CALL_KINDS:
        check_call(run, told, before, after)
        if after.winner >= 0:
            check_winner(run, told, before, after)
        check_details(run, step, told, after)
    elif after.kind in (StepKind.FIRST_TOKEN, StepKind.COMPLETION):
        load = after.endpoints[after.endpoint].active_prefill_tokens
        assert re.search(rf"holds {load:,}\b", told.text)
    check_log(run, step, before, after)


def check_details(run: Run, step: int, told: Explanation, after: RunState) -> None:
    for position, (line, visit) in enumerate(zip(told.details, after.visits, strict=True)):
        if position == step % len(told.details):
            assert line.text == explain_visit(run, step, position)
        assert sentences(line.text) == 1
        assert line.text.startswith(f"{run.class_names[visit.class_index]}: ")
        assert (line.visit_index, line.class_index, line.rule) == (position, visit.class_index, visit.rule)
        assert ("pays" in line.text) == (visit.rule in WINNING_RULES)
        if visit.rule in BULK_RULES:
            assert f"{after.bulk_rounds:,} × {run.profile.classes[visit.class_index].quantum:,}" in line.text


def check_log(run: Run, step: int, before: RunState, after: RunState) -> None:
    (row,) = log_rows(run, step, step + 1)
    assert row.step == step
    assert row.time_ms == run.times_ms[step]
    if after.winner >= 0:
        paid = re.search(rf"pays {N}, (?:class empty, )?{N} left; cursor (\w+)", row.why)
        assert paid is not None
        cost, left, *_ = (int(paid[i].replace(",", "")) for i in (1, 2))
        assert (cost, left) == (run.cost_tokens[after.request], after.classes[after.winner].deficit_tokens)
        if paid[3] != "stays":
            assert f"{run.class_names[after.cursor]}" in row.why.split("; ")[1]
        else:
            assert after.cursor == after.cursor_before


@given(run=manual_runs(), seed=st.integers(0, 2**32))
def test_what_is_said_about_manual_runs_is_true(run: Run, seed: int) -> None:
    steps = range(run.n_steps)
    for step in random.Random(seed).sample(steps, min(STEPS_CHECKED, len(steps))):
        check_step(run, step)


@given(run=replays(), seed=st.integers(0, 2**32))
def test_what_is_said_about_replays_is_true(run: Run, seed: int) -> None:
    steps = range(run.n_steps)
    for step in random.Random(seed).sample(steps, min(STEPS_CHECKED, len(steps))):
        check_step(run, step)


@given(run=manual_runs())
def test_the_log_of_a_window_is_a_part_of_the_whole_log(run: Run) -> None:
    whole = log_rows(run)
    assert [row.step for row in whole] == list(range(run.n_steps))
    for start, stop in pairwise(range(0, run.n_steps + 1, max(1, run.n_steps // 3))):
        assert log_rows(run, start, stop) == whole[start:stop]


@pytest.mark.parametrize("text", ["7,000 kept + 512 granted = 7,511 tokens", "⌈(512 − 128) / 128⌉ = 4 rounds"])
def test_the_arithmetic_check_sees_a_wrong_sum(text: str) -> None:
    with pytest.raises(AssertionError):
        check_arithmetic(text)
