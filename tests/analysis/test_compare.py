"""Two runs side by side: same requests, first difference, figures, seeds, and why in words."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drr.analysis.compare import (
    APART,
    EVERYBODY,
    JAIN,
    MOST_SEEDS,
    REFUSED_REQUESTS,
    SHARE,
    WAITS,
    differences_over_seeds,
    figure_rows,
    first_difference,
    interval,
    policy_diff,
    reasons,
    requests_digest,
    with_seed,
)
from drr.analysis.fairness import fairness
from drr.analysis.outcomes import class_figures, completed_first, shares, shares_differ
from drr.errors import WorkloadError
from drr.policy import CacheBucket, PolicyClass, Profile
from drr.router.requests import Constraint, RequestTable
from drr.scheduler.arbiters import ARBITERS, ArbiterName
from drr.simulation.manual import run_manual
from drr.simulation.replay import replay
from drr.simulation.state import StepKind
from drr.workload.experiment import Experiment, SpecWorkload
from drr.workload.scenarios import SCENARIOS, scenario
from tests.simulation.building import queued_first, ring_of
from tests.simulation.strategies import ManualInputs, ReplayInputs, manual_inputs, replay_inputs

BURST = scenario("premium_burst").experiment


def with_quanta(premium: int, regular: int, cost: int, **changes: object) -> Experiment:
    text = BURST.policy_text.replace("quantum: 512", f"quantum: {premium}").replace(
        "quantum: 128", f"quantum: {regular}"
    )
    assert isinstance(BURST.workload, SpecWorkload)
    return replace(
        BURST,
        policy_text=text,
        workload=SpecWorkload(BURST.workload.text.replace("512", str(cost))),
        **changes,  # type: ignore[arg-type]
    )


def one_per_drain() -> Experiment:
    base = with_quanta(1_000, 100, 50)
    policy = base.policy_text.replace("prefill_busy_threshold: 1536", "prefill_busy_threshold: 0")
    return replace(base, policy_text=policy, engine=replace(base.engine, max_num_seqs=1))


# --- the premium burst ---


def test_both_rules_give_the_premium_burst_the_same_shares_at_512_to_128_and_the_reason_is_said() -> None:
    first, second = BURST.run(), replace(BURST, cursor_rule="carry").run()
    assert completed_first(first, 320) == completed_first(second, 320) == [255, 65]
    assert shares(first).got == shares(second).got
    assert first_difference(first, second) is None
    (why,) = reasons(first, second)
    assert "no quantum is above what a request costs (at most 512, at least 512 tokens)" in why


def test_one_request_per_drain_gives_10_to_1_against_1_to_1_and_the_reason_is_said() -> None:
    documented, carry = one_per_drain().run(), replace(one_per_drain(), cursor_rule="carry").run()
    first, second = (shares(run).joint_tokens for run in (documented, carry))
    assert first[0] / first[1] == pytest.approx(10, abs=0.7)
    assert second[0] / second[1] == pytest.approx(1, abs=0.02)
    (why,) = reasons(documented, carry)
    assert "premium's quantum 1,000 is above its costs (at most 50 tokens)" in why
    found = first_difference(documented, carry)
    assert found is not None
    assert found.decision == 2
    assert found.first_said is not None
    assert found.second_said is not None
    assert found.first_said.headline == "Decision 2: premium goes."
    assert found.second_said.headline == "Decision 2: regular goes."


# --- the same requests ---


@pytest.mark.parametrize("arbiter", ARBITERS)
def test_arrivals_are_the_same_bytes_on_both_sides(arbiter: ArbiterName) -> None:
    other = replace(BURST, arbiter=arbiter, workers=3, policy_text=scenario("equal_control").experiment.policy_text)
    first, second = BURST.run(record=False), other.run(record=False)
    assert first.requests is not second.requests
    assert requests_digest(first.requests) == requests_digest(second.requests)
    assert list(first.arrival_ms) == list(second.arrival_ms)


def test_a_change_of_any_column_changes_the_digest() -> None:
    def table(**change: object) -> RequestTable:
        made = RequestTable()
        made.append(512, policy_header="premium", timestamp_ms=1.0)
        made.append(512, **change)  # type: ignore[arg-type]
        return made

    changes: list[dict[str, object]] = [
        {},
        {"output_tokens": 2},
        {"timestamp_ms": 1.5},
        {"hash_ids": (3,)},
        {"policy_header": "regular"},
        {"priority_jump": 1.0},
        {"strict_priority": 1},
        {"session": "s"},
        {"delay_ms": 2.0},
        {"cached_tokens": 3},
        {"name": "x"},
        {"constraint": Constraint(pin_worker=0)},
        {"constraint": Constraint(allowed_workers=frozenset({0}))},
        {"constraint": Constraint(required_taints=frozenset({"big"}))},
    ]
    assert len({requests_digest(table(**change)) for change in changes}) == len(changes)
    assert requests_digest(table()) == requests_digest(table())


# --- the first difference ---


@given(replay_inputs(most=15))
def test_a_run_differs_from_itself_at_no_step(inputs: ReplayInputs) -> None:
    first, second = (replay(inputs.profile, inputs.requests, **inputs.settings) for _ in range(2))
    assert first_difference(first, second) is None


@given(manual_inputs(most=15), st.sampled_from(list(ARBITERS)), st.sampled_from(["documented", "carry"]))
def test_up_to_the_first_difference_everything_is_the_same(
    inputs: ManualInputs, arbiter: ArbiterName, rule: str
) -> None:
    first = run_manual(inputs.profile, inputs.requests, inputs.script, **inputs.settings)
    settings = {**inputs.settings, "cursor_rule": rule}
    second = run_manual(inputs.profile, inputs.requests, inputs.script, arbiter=arbiter, **settings)
    found = first_difference(first, second)

    def told(run: object, until: int | None) -> list[tuple[object, ...]]:
        steps = range(run.n_steps if until is None else until)  # type: ignore[attr-defined]
        return [
            (run.kinds[s], run.times_ms[s], run.step_request[s], run.step_endpoint[s])  # type: ignore[attr-defined]
            for s in steps
            if run.kinds[s] != StepKind.EMPTY_CALL  # type: ignore[attr-defined]
        ]

    if found is None:
        assert told(first, None) == told(second, None)
    else:
        assert told(first, found.first_step) == told(second, found.second_step)
        assert (found.first_said is None) == (found.first_step is None)


def test_a_run_that_ends_earlier_differs_where_it_ends() -> None:
    table, script = queued_first({"A": [5, 5]})
    longer = run_manual(ring_of({"A": 5}), table, script)
    shorter = run_manual(ring_of({"A": 5}), table, script[:-1])
    found = first_difference(longer, shorter)
    assert found is not None
    assert (found.first_step, found.second_step, found.second_said) == (2, None, None)


# --- figures ---


def test_figures_are_those_of_the_runs_and_their_differences() -> None:
    first, second = one_per_drain().run(), replace(one_per_drain(), cursor_rule="carry").run()
    rows = {(row.policy_class, row.figure): row for row in figure_rows(first, second)}
    got = rows["regular", SHARE]
    assert (got.first, got.second) == (shares(first).got[1], shares(second).got[1])
    waits = [class_figures(run)[0].wait.p95 for run in (first, second)]
    assert [rows["premium", WAITS[1]].first, rows["premium", WAITS[1]].second] == waits
    fair = [fairness(run) for run in (first, second)]
    assert [rows[EVERYBODY, JAIN].first, rows[EVERYBODY, JAIN].second] == [fair[0].jain, fair[1].jain]
    assert rows[EVERYBODY, APART].second == float(fair[1].pairs[0].largest)
    assert rows["regular", REFUSED_REQUESTS].difference == 0
    for row in rows.values():
        if row.first is not None and row.second is not None:
            assert row.difference == row.second - row.first


def test_classes_of_one_side_alone_have_no_difference() -> None:
    table, script = queued_first({"A": [5, 5]})
    first = run_manual(ring_of({"A": 5, "B": 5}), table, script)
    second = run_manual(ring_of({"A": 5, "C": 5}), table, script)
    rows = {(row.policy_class, row.figure): row for row in figure_rows(first, second)}
    assert rows["B", REFUSED_REQUESTS].second is None
    assert rows["C", REFUSED_REQUESTS].first is None
    assert rows["C", REFUSED_REQUESTS].difference is None
    assert any("only A has B" in text for text in reasons(first, second))
    assert any("only B has C" in text for text in reasons(first, second))


# --- seeds ---


def test_the_interval_is_that_of_students_t() -> None:
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0])
    # t for 4 degrees of freedom 2.776, deviation 1.5811, root of five 2.2361.
    assert (found.mean, found.count) == (3.0, 5)
    assert found.half_width == pytest.approx(2.776 * 1.5811 / 2.2361, abs=1e-3)
    assert interval([2.0, 2.0]).half_width == 0
    assert interval([0.20033955857385397] * 10).half_width == 0
    for bad in ([], [1.0], [0.0] * (MOST_SEEDS + 1)):
        with pytest.raises(ValueError, match="values"):
            interval(bad)


def test_intervals_cover_the_truth_in_about_95_of_100_samples() -> None:
    draw = random.Random(5)
    hits = 0
    for _ in range(2_000):
        found = interval([draw.gauss(3, 2) for _ in range(6)])
        hits += abs(found.mean - 3) <= found.half_width
    assert 0.935 <= hits / 2_000 <= 0.965


def test_differences_over_seeds_are_paired_by_seed() -> None:
    random_costs = BURST.workload
    assert isinstance(random_costs, SpecWorkload)
    text = random_costs.text.replace("320", "30").replace(
        "input_tokens: 512", "input_tokens: {shape: bimodal, low: 64, high: 900, high_share: 0.5}"
    )
    first = replace(BURST, workload=SpecWorkload(text))
    second = replace(first, policy_text=scenario("equal_control").experiment.policy_text)
    told: list[tuple[int, int]] = []
    found = differences_over_seeds(first, second, range(4), lambda over, total: told.append((over, total)))
    assert told == [(n, 8) for n in range(8)]
    by_hand = []
    for seed in range(4):
        pair = [shares(with_seed(each, seed).run()).got[0] for each in (first, second)]
        assert pair[0] is not None
        assert pair[1] is not None
        by_hand.append(pair[1] - pair[0])
    assert found["premium", SHARE].mean == pytest.approx(math.fsum(by_hand) / 4)
    assert found["premium", SHARE].is_clear
    assert len({requests_digest(with_seed(first, seed).run(record=False).requests) for seed in range(4)}) == 4


def test_without_chance_every_seed_gives_the_same() -> None:
    second = replace(one_per_drain(), cursor_rule="carry")
    found = differences_over_seeds(one_per_drain(), second, range(2))
    assert all(each.half_width == 0 for each in found.values())


def test_the_seed_of_a_workload_is_set_whether_it_has_one_or_not() -> None:
    assert isinstance(BURST.workload, SpecWorkload)
    once = with_seed(BURST, 7)
    twice = with_seed(once, 8)
    assert isinstance(twice.workload, SpecWorkload)
    assert twice.workload.text.count("seed:") == 1
    with pytest.raises(WorkloadError):
        with_seed(replace(BURST, workload=SpecWorkload("{streams: [{header: a, requests: 1, input_tokens: 5}]}")), 3)


# --- why, and the texts ---


@pytest.mark.parametrize("name", [each.name for each in SCENARIOS if each.name != "large_cluster"])
def test_every_scenario_has_a_reason_in_words(name: str) -> None:
    base = replace(scenario(name).experiment, cursor_rule="documented")
    first, second = base.run(), replace(base, cursor_rule="carry").run()
    found = reasons(first, second)
    assert found
    assert all(text.endswith(".") for text in found)


def test_arbiters_policies_and_workers_are_named() -> None:
    first = BURST.run()
    rival = replace(BURST, arbiter="fcfs", workers=2, policy_text=scenario("equal_control").experiment.policy_text)
    text = " ".join(reasons(first, rival.run()))
    assert "global FCFS serves requests in order of arrival" in text
    assert "regular has quantum 128 in A and 512 in B." in text
    assert "A has 1 worker, B 2 workers." in text
    assert reasons(first, BURST.run()) == ["A and B are the same: same policy, same arbitration, same workers."]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda profile: replace(profile, buckets=(CacheBucket(0, "short"), CacheBucket(200, "long"))),
            "the buckets (tokens) are short from 0, long from 100 in A; short from 0, long from 200 in B.",
        ),
        (
            lambda profile: replace(profile, default_policy_family="batch"),
            "the default family is chat in A and batch in B.",
        ),
        (
            lambda profile: replace(profile, classes=profile.classes[::-1]),
            "the ring order is chat-short, chat-long, batch-short, batch-long in A and "
            "batch-long, batch-short, chat-long, chat-short in B.",
        ),
        (
            lambda profile: replace(profile, classes=(replace(profile.classes[0], quantum=7), *profile.classes[1:])),
            "chat-short has quantum 5 in A and 7 in B.",
        ),
    ],
    ids=["buckets", "default family", "ring order", "quantum"],
)
def test_policies_that_differ_anywhere_are_not_said_to_be_the_same(
    change: Callable[[Profile], Profile], said: str
) -> None:
    buckets = (CacheBucket(0, "short"), CacheBucket(100, "long"))
    classes = tuple(
        PolicyClass(f"{family}-{bucket.name}", 5, family, bucket.name)
        for family in ("chat", "batch")
        for bucket in buckets
    )
    profile = Profile("chat", buckets, classes)
    runs = [run_manual(each, RequestTable(), []) for each in (profile, change(profile))]
    assert reasons(*runs) == [said]
    assert reasons(runs[0], runs[0]) == ["A and B are the same: same policy, same arbitration, same workers."]


@pytest.mark.parametrize("turned", [False, True])
def test_shares_are_compared_by_the_name_of_the_class(turned: bool) -> None:
    table, script = queued_first({"A": [10] * 60, "B": [10] * 60})
    order = {"B": 10, "A": 60} if turned else {"A": 60, "B": 10}
    runs = [run_manual(ring_of(quanta), table, script) for quanta in ({"A": 60, "B": 10}, order)]
    assert not shares_differ(*runs)
    assert shares_differ(runs[0], run_manual(ring_of(dict.fromkeys(order, 10)), table, script))


def test_the_text_diff_shows_changed_lines_and_nothing_for_equal_texts() -> None:
    other = BURST.policy_text.replace("quantum: 128", "quantum: 512")
    lines = policy_diff(BURST.policy_text, other).splitlines()
    assert [line.strip("+- ") for line in lines if line.startswith(("-  ", "+  "))] == ["quantum: 128", "quantum: 512"]
    assert policy_diff(other, other) == ""
