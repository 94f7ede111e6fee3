"""Every scenario ends as its "what to watch" says."""

from __future__ import annotations

import time
from functools import lru_cache

import pytest

from drr.analysis.outcomes import class_figures, completed_first, shares, spread
from drr.errors import WorkloadError
from drr.policy import read_policy
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS, StepKind
from drr.workload.experiment import Experiment
from drr.workload.scenarios import SCENARIOS, Scenario, build, scenario
from drr.workload.spec_reading import read_spec
from drr.workload.typed import read_typed


@lru_cache(maxsize=4)
def run_of(name: str) -> Run:
    return build(scenario(name))


def calls(run: Run) -> list[tuple[str, list[int]]]:
    """What every call let go, with the deficits after it."""
    found = []
    for step, kind in enumerate(run.kinds):
        if kind in CALL_KINDS and kind != StepKind.EMPTY_CALL:
            deficits = [c.deficit_tokens for c in run.state_at(step).classes]
            found.append((run.requests.name[run.step_request[step]], deficits))
    return found


def rows_in(run: Run, name: str) -> list[int]:
    index = run.class_names.index(name)
    return [row for row, each in enumerate(run.class_index) if each == index]


def waits(run: Run, rows: list[int]) -> list[float]:
    found = []
    for row in rows:
        arrival, released = run.arrival_ms[row], run.released_at_ms[row]
        assert arrival is not None
        found.append(0.0 if released is None else released - arrival)
    return found


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_a_scenario_is_quick_complete_and_says_two_sentences(each: Scenario) -> None:
    started = time.process_time()
    run = build(each)
    assert time.process_time() - started < 2
    assert run.aborted_because is None
    assert run.n_steps
    assert each.watch.endswith(".")
    assert each.watch.count(". ") == 1
    assert Experiment.from_mapping(each.experiment.to_mapping()) == each.experiment


@pytest.mark.parametrize("each", SCENARIOS, ids=lambda each: each.name)
def test_the_texts_of_a_scenario_read_without_an_error(each: Scenario) -> None:
    text = each.experiment.workload.text  # type: ignore[union-attr]
    if each.is_typed:
        assert read_typed(text).ok
    else:
        assert read_spec(text).diagnostics == ()
        reading = read_policy(each.experiment.policy_text)
        assert reading.router_accepts
        assert all(c.has_threshold for c in reading.document.profile_for().classes)  # type: ignore[union-attr]


def test_names_are_unique_and_an_unknown_one_is_told() -> None:
    assert len({each.name for each in SCENARIOS}) == len(SCENARIOS)
    with pytest.raises(WorkloadError, match="premium_burst"):
        scenario("premium")


def test_lecture() -> None:
    order = [name for name, _ in calls(run_of("lecture"))]
    assert order == ["A1", "B1", "C1", "C2", "C3", "A2", "A3", "B2", "C4"]


@pytest.mark.parametrize(("name", "first"), [("premium_burst", [255, 65]), ("equal_control", [160, 160])])
def test_bursts(name: str, first: list[int]) -> None:
    run = run_of(name)
    assert completed_first(run, 320) == first
    assert completed_first(run, 640) == [320, 320]


def test_spike() -> None:
    run = run_of("spike")
    assert shares(run).got[1] == pytest.approx(0.2, abs=0.01)
    last_premium = max(run.last_token_ms[row] or 0 for row in rows_in(run, "premium"))
    regular = [run.last_token_ms[row] or 0 for row in rows_in(run, "regular")]
    for second in range(2, 6):
        assert sum(second * 1000 <= t < second * 1000 + 1000 for t in regular) >= 15
    # 80 requests of 512 tokens a second is what the worker can do.
    assert sum(last_premium <= t < last_premium + 1000 for t in regular) >= 78
    assert max(regular) > last_premium + 3000


def test_oversized_head() -> None:
    run = run_of("oversized_head")
    assert calls(run) == [("latency1", [5000, 1000]), ("latency2", [6000, 0]), ("standard1", [0, 0])]
    assert [run.state_at(step).bulk_rounds for step in run.decision_steps] == [4, 0, 0]


def test_hot_worker() -> None:
    run = run_of("hot_worker")
    pinned = sorted(run.requests.constraints)
    anywhere = [row for row in range(len(run.requests)) if row not in run.requests.constraints]
    assert {run.endpoint[row] for row in pinned} == {0}
    assert spread(waits(run, pinned)).p50 > 200  # type: ignore[operator]
    assert spread(waits(run, anywhere)).p95 == 0
    # Nothing overtakes within the lane, long or short.
    released = [run.released_at_ms[row] for row in pinned if run.released_at_ms[row] is not None]
    assert released == sorted(t for t in released if t is not None)
    short = [row for row in pinned if run.requests.isl_tokens[row] == 512]
    assert spread(waits(run, short)).p50 > 200  # type: ignore[operator]


def test_blocked_keeps() -> None:
    run = run_of("blocked_keeps")
    assert calls(run) == [
        ("A1", [40, 0]),
        ("B1", [40, 0]),
        ("B2", [40, 0]),
        ("B3", [40, 0]),
        ("B4", [40, 0]),
        ("A2", [80, 0]),
        ("B5", [80, 0]),
        ("A3", [0, 0]),
    ]
    last = run.state_at(run.decision_steps[-1])
    assert last.visits[-1].deficit_before == 80
    assert last.visits[-1].granted_tokens == 0


def test_empty_loses() -> None:
    assert [name for name, _ in calls(run_of("empty_loses"))] == ["A1", "B1", "B2", "A2", "B3"]
    assert calls(run_of("empty_loses"))[0][1] == [0, 0]


def test_wspt_starves() -> None:
    run = run_of("wspt_starves")
    large = [row for row, tokens in enumerate(run.requests.isl_tokens) if tokens == 4096]
    assert max(run.arrival_ms[row] or 0 for row in large) == 0
    late = sorted(run.released_at_ms[row] or 0 for row in large)[1:]
    small = [run.released_at_ms[row] or 0 for row, tokens in enumerate(run.requests.isl_tokens) if tokens == 512]
    assert min(late) >= max(small)


def test_strict_starves() -> None:
    run = run_of("strict_starves")
    ordinary = [row for row, level in enumerate(run.requests.strict_priority) if level == 0]
    urgent = [run.released_at_ms[row] or 0 for row, level in enumerate(run.requests.strict_priority) if level == 1]
    released = sorted(run.released_at_ms[row] or 0 for row in ordinary)
    assert released[:4] == [0] * 4
    assert released[4] >= max(urgent)


def test_quanta_above_costs() -> None:
    run = run_of("quanta_above_costs")
    assert run.cursor_rule == "carry"
    assert shares(run).asked == (0.8, 0.2)
    assert shares(run).got[0] == pytest.approx(0.5, abs=0.01)
    assert shares(run.other_rule).got[0] == pytest.approx(0.8, abs=0.03)


def test_refusal_storm() -> None:
    run = run_of("refusal_storm")
    premium, regular = class_figures(run)
    assert (premium.requests, premium.immediate + premium.dispatched + premium.refused) == (100, 100)
    assert premium.dispatched == 32
    assert premium.refused == 64
    assert {(r.kind, r.current, r.limit) for r in run.outcomes.refusal.values()} == {("requests", 32, 32)}
    assert (regular.refused, regular.immediate + regular.dispatched) == (0, 100)


def test_cache_flips() -> None:
    run = run_of("cache_flips")
    in_order = sorted(range(len(run.requests)), key=lambda row: run.arrival_ms[row] or 0)
    chat = [row for row in in_order if run.requests.hash_ids[row]]
    classes = [run.class_names[run.class_index[row]] for row in chat]
    second = classes.index("uncached", 1)
    assert classes == ["uncached"] + ["cached"] * (second - 1) + ["uncached"] + ["cached"] * (len(classes) - second - 1)
    assert second > 5
    assert len(classes) - second > 5
    flood = [run.arrival_ms[row] or 0 for row in in_order if not run.requests.hash_ids[row]]
    assert (run.arrival_ms[chat[second - 1]] or 0) < flood[0] < (run.arrival_ms[chat[second]] or 0)


def test_join_leave() -> None:
    run = run_of("join_leave")
    assert [name for name, _ in calls(run)] == ["A1", "B1", "A2", "B2", "A3", "B3", "B4", "A4", "B5"]
    by_name = {name: run.endpoint[row] for row, name in enumerate(run.requests.name)}
    assert by_name["B2"] == 1
    assert [by_name[name] for name in ("A4", "B5")] == [1, 1]
    b4 = run.requests.name.index("B4")
    assert run.reason(b4) == "the worker it is pinned to is not there"
    joined, left = (step for step, kind in enumerate(run.kinds) if kind == StepKind.WORKER_CHANGE)
    assert [sum(step < at for step in run.decision_steps) for at in (joined, left)] == [3, 6]


def test_large_cluster() -> None:
    run = run_of("large_cluster")
    assert (len(run.endpoint_names), len(run.class_names)) == (64, 14)
    found = shares(run)
    assert len(found.compared) == 14
    assert min(figure.service_tokens for figure in class_figures(run)) > 0
    for asked, got in zip(found.asked, found.got, strict=True):
        assert got == pytest.approx(asked, abs=0.02)
