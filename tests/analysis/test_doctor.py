"""Every finding of the doctor: a run that triggers it, and one close to it that does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from drr.analysis.doctor import Finding, findings
from drr.analysis.doctor_requests import _overtaken
from drr.analysis.doctor_survey import Survey
from drr.policy import CacheBucket, PolicyClass, Profile
from drr.router.endpoints import Worker, uniform_cluster
from drr.router.requests import Constraint, RequestTable
from drr.simulation.engine_options import EngineOptions
from drr.simulation.manual import Arrive, Call, Change, Finish, run_manual
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.simulation.state import StepKind
from drr.workload.scenarios import build, scenario
from tests.simulation.strategies import ManualInputs, manual_inputs

ONE_SLOT = EngineOptions(max_num_seqs=1, block_size=64, num_gpu_blocks=100_000, enable_prefix_caching=False)
ALL = (CacheBucket(0, "all"),)


def a_class(name: str, quantum: int, **more: Any) -> PolicyClass:
    return PolicyClass(name, quantum, policy_family=name, cache_bucket="all", **{"prefill_busy_threshold": 0, **more})


def profile(*classes: PolicyClass, buckets: tuple[CacheBucket, ...] = ALL) -> Profile:
    return Profile(str(classes[0].policy_family), buckets, classes)


TWO = profile(a_class("premium", 256), a_class("regular", 64))


def table(*requests: dict[str, Any]) -> RequestTable:
    made = RequestTable()
    for each in requests:
        made.append(**{"isl_tokens": 256, "timestamp_ms": 0.0, **each})
    return made


def both(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"policy_header": name, **more} for _ in range(count) for name in ("premium", "regular")]


def run_of(a_profile: Profile, *requests: dict[str, Any], **more: Any) -> Run:
    return replay(a_profile, table(*requests), **{"engine": ONE_SLOT, **more})


def found(run: Run, kind: str) -> Finding | None:
    matching = [finding for finding in findings(run) if finding.kind == kind]
    assert len(matching) < 2
    return matching[0] if matching else None


def the(run: Run, kind: str) -> Finding:
    finding = found(run, kind)
    assert finding is not None, f"no {kind} among {[each.kind for each in findings(run)]}"
    assert finding.headline
    assert finding.evidence
    assert finding.remedy
    assert finding.step is None or 0 <= finding.step < run.n_steps
    return finding


def test_a_run_whose_ratio_binds_has_no_findings() -> None:
    assert findings(run_of(TWO, *both(40))) == []


# --- waiting together ------------------------------------------------------------------------------------------


def test_classes_that_wait_one_after_the_other_never_wait_together() -> None:
    early = [{"policy_header": "premium"} for _ in range(20)]
    late = [{"policy_header": "regular", "timestamp_ms": 10_000.0} for _ in range(20)]
    run = run_of(TWO, *early, *late)
    finding = the(run, "never_together")
    assert finding.headline == "premium and regular never waited at the same time."
    assert finding.evidence.startswith("In 0 % of the time in which anything waited both had requests waiting.")
    assert finding.step == run.decision_steps[0]
    assert finding.severity == "warning"


def test_classes_that_wait_together_for_a_tenth_of_the_time_are_not_reported() -> None:
    early = [{"policy_header": "premium"} for _ in range(20)]
    assert found(run_of(TWO, *early, *both(10)), "never_together") is None


def test_without_time_the_decisions_are_counted() -> None:
    requests = table(*both(2))
    script = [Arrive(0, wait=True), Arrive(2, wait=True), Call(2), Arrive(1, wait=True), Arrive(3, wait=True), Call(2)]
    finding = the(run_manual(TWO, requests, script), "never_together")
    assert finding.evidence.startswith("In 0 % of the decisions both had requests waiting.")


def test_a_class_that_waits_alone_has_nobody_to_share_with() -> None:
    lone = [{"policy_header": "regular", "timestamp_ms": 60_000.0}]
    finding = the(run_of(TWO, *[{"policy_header": "premium"}] * 5, *lone), "never_together")
    assert finding.headline == "Only premium ever waited, so there was nobody to share with."
    assert finding.evidence.startswith("4 requests of premium waited, none of any other class")


# --- thresholds ------------------------------------------------------------------------------------------------


def test_a_class_without_a_threshold_never_waits() -> None:
    run = run_of(profile(a_class("premium", 256), a_class("regular", 64, prefill_busy_threshold=None)), *both(5))
    finding = the(run, "no_threshold")
    assert finding.headline == "regular has no busy threshold, so nothing of it ever waits."
    assert finding.evidence.startswith("All 5 requests went to a worker the moment they came")
    assert finding.step is not None
    assert run.kinds[finding.step] == StepKind.BYPASSED
    assert found(run_of(TWO, *both(5)), "no_threshold") is None


def test_teaching_runs_queue_every_class_so_thresholds_play_no_part() -> None:
    classes = profile(a_class("premium", 256, prefill_busy_threshold=None), a_class("regular", 64))
    run = run_manual(classes, table(*both(1)), [Arrive(0, wait=True), Arrive(1, wait=True), Call(2)])
    assert found(run, "no_threshold") is None


def test_a_threshold_above_everything_that_comes_is_never_reached() -> None:
    classes = profile(a_class("premium", 256, prefill_busy_threshold=9_999), a_class("regular", 64))
    run = run_of(classes, *both(5))
    finding = the(run, "threshold_never_reached")
    assert finding.headline == "No request of premium ever had to wait."
    assert "a worker counts as busy above 9,999" in finding.evidence
    assert finding.severity == "info", "regular does wait"
    assert finding.step is not None
    assert f"held {run.state_at(finding.step).endpoints[0].active_prefill_tokens:,} prefill" in finding.evidence
    assert found(run_of(TWO, *both(5)), "threshold_never_reached") is None


def quiet(*changes: Change, workers: int = 2) -> Run:
    """One request per class, far apart, and changes of the cluster in between: nothing ever waits."""
    classes = profile(a_class("premium", 256, prefill_busy_threshold=5_000), a_class("regular", 64))
    requests = table({"policy_header": "premium"}, {"policy_header": "regular"})
    script = [Arrive(0), Finish(0), Arrive(1), Finish(1), *changes]
    return run_manual(classes, requests, script, workers=workers, capacity="policy", arrivals="bypass")


def test_a_worker_that_is_held_or_has_left_has_no_limit_to_reach() -> None:
    """Class regular counts a worker as busy above 0 tokens, on those that can be reached."""
    reached = "a worker counts as busy above 0. The quanta"
    assert reached in the(quiet(), "threshold_never_reached").evidence
    for changes in (
        [Change("hold", 0)],
        [Change("leave", 0)],
        [Change("leave", 0), Change("hold", 1), Change("free", 1)],
    ):
        assert reached in the(quiet(*changes), "threshold_never_reached").evidence
    for changes in ([Change("hold", 0), Change("hold", 1)], [Change("leave", 0), Change("leave", 1)]):
        evidence = the(quiet(*changes), "threshold_never_reached").evidence
        assert evidence.startswith("The fullest worker held 256 prefill tokens. The quanta")


def test_the_limit_is_that_of_the_workers_that_are_there() -> None:
    """By fraction of the batch: the worker with the small batch leaves, so its low limit is none any more."""
    classes = profile(a_class("premium", 256, prefill_busy_threshold=None, prefill_busy_threshold_frac=1.0))
    requests = table({"policy_header": "premium"})
    workers = [Worker(0, max_num_batched_tokens=1_000), Worker(1, max_num_batched_tokens=3_000)]
    for changes, limit in (([], "1,000"), ([Change("leave", 0)], "3,000"), ([Change("leave", 1)], "1,000")):
        run = run_manual(
            classes, requests, [Arrive(0), *changes], workers=workers, capacity="policy", arrivals="bypass"
        )
        assert f"busy above {limit}." in the(run, "threshold_never_reached").evidence


def test_where_nothing_at_all_waits_it_is_a_warning() -> None:
    run = run_of(
        TWO, *[{"policy_header": name, "timestamp_ms": at} for at, name in ((0.0, "premium"), (9e4, "regular"))]
    )
    assert the(run, "threshold_never_reached").severity == "warning"


# --- quanta and costs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["documented", "carry"])
def test_quanta_above_the_costs_do_not_bind_on_the_shipped_router(rule: str) -> None:
    run = run_of(profile(a_class("premium", 4096), a_class("regular", 1024)), *both(60), cursor_rule=rule)
    finding = the(run, "quanta_above_costs")
    assert finding.headline == "The shipped router gives premium 50 %, the quanta ask for 80 %."
    assert "premium's quantum is 4,096 tokens, its typical request costs 256" in finding.evidence
    assert finding.quanta == (("premium", 256), ("regular", 64))
    assert finding.remedy.endswith("premium 256 and regular 64.")
    assert finding.step is not None
    state = run.state_at(finding.step)
    assert (state.winner, state.classes[0].deficit_tokens >= 256) == (0, True)
    assert state.cursor == (0 if rule == "documented" else 1), "here the two rules part"


def test_the_quanta_the_doctor_names_bind() -> None:
    classes = profile(a_class("premium", 256), a_class("regular", 64))
    assert found(run_of(classes, *both(60), cursor_rule="carry"), "quanta_above_costs") is None


def test_quanta_above_the_costs_are_no_matter_where_the_drain_is_whole() -> None:
    classes = profile(a_class("premium", 512), a_class("regular", 512))
    assert found(run_of(classes, *both(60)), "quanta_above_costs") is None


def test_quanta_far_below_the_costs_distort_shares_by_the_place_in_the_ring() -> None:
    classes = profile(a_class("first", 5), a_class("second", 5), a_class("third", 5))
    costs = {"first": 10, "second": 1000, "third": 10}
    counts = {"first": 4000, "second": 60, "third": 4000}
    requests = table(*({"policy_header": n, "isl_tokens": costs[n]} for n in costs for _ in range(counts[n])))
    script = [*(Arrive(row, wait=True) for row in range(len(requests))), Call(6000)]
    run = run_manual(classes, requests, script)
    finding = the(run, "quanta_far_below_costs")
    assert "of the decisions one quantum paid for nobody" in finding.headline
    assert "second got 42 % of the tokens while all waited, its quantum asks for 33 %" in finding.evidence
    assert finding.severity == "warning"
    assert finding.step is not None
    assert run.state_at(finding.step).bulk_rounds > 0


def test_quanta_far_below_equal_costs_are_worth_knowing_only() -> None:
    finding = the(run_of(profile(a_class("premium", 16), a_class("regular", 4)), *both(40)), "quanta_far_below_costs")
    assert finding.severity == "info"
    assert "The shares come out right all the same." in finding.evidence
    assert found(run_of(TWO, *both(40)), "quanta_far_below_costs") is None


# --- workers ---------------------------------------------------------------------------------------------------


def pinned(count: int, worker: int | None) -> list[dict[str, Any]]:
    constraint = Constraint(pin_worker=worker) if worker is not None else None
    return [{"policy_header": "premium", "constraint": constraint} for _ in range(count)]


def test_a_lane_that_waits_for_one_worker_while_another_is_free_is_reported() -> None:
    run = run_of(TWO, *pinned(10, 0), workers=uniform_cluster(2))
    finding = the(run, "blocked_on_one_worker")
    assert finding.headline.startswith("Requests of premium that only worker 0 may serve waited in")
    assert "Up to 9 of them waited; in 100 % of that time another worker was free for premium" in finding.evidence
    assert finding.step is not None
    assert len(run.state_at(finding.step).lanes[0].waiting) == 9


@pytest.mark.parametrize(("worker", "workers"), [(None, 2), (0, 1)])
def test_lanes_that_any_worker_serves_and_clusters_of_one_are_not(worker: int | None, workers: int) -> None:
    run = run_of(TWO, *pinned(10, worker), workers=uniform_cluster(workers))
    assert found(run, "blocked_on_one_worker") is None


# --- headers, families, buckets --------------------------------------------------------------------------------


def test_an_unknown_header_is_named_with_what_was_meant() -> None:
    run = run_of(TWO, *both(3), {"policy_header": "premum"}, {"policy_header": "premum"}, {"policy_header": "gold"})
    finding = the(run, "unknown_header")
    assert finding.headline == "3 of 9 requests name a family that the policy does not have."
    assert finding.evidence == (
        "The most frequent one is “premum”, 2 times; did the client mean “premium”? They are served as premium."
    )
    assert finding.step is not None
    assert run.step_request[finding.step] == 6
    assert found(run_of(TWO, *both(3)), "unknown_header") is None


def test_a_header_that_names_a_matrix_class_is_explained() -> None:
    buckets = (CacheBucket(0, "short"), CacheBucket(100, "long"))
    classes = [PolicyClass(f"chat_{b.name}", 64, "chat", b.name, prefill_busy_threshold=0) for b in buckets]
    batch = PolicyClass("batch", 64, prefill_busy_threshold=0)
    run = run_of(profile(*classes, batch, buckets=buckets), {"policy_header": "chat_long"}, {"policy_header": "batch"})
    assert "that is a class, and only its family is a header" in the(run, "unknown_header").evidence


def test_missing_headers_are_counted() -> None:
    finding = the(run_of(TWO, *both(3), {"policy_header": None}, {"policy_header": ""}), "missing_header")
    assert finding.headline == "2 of 8 requests come without a policy header."
    assert finding.severity == "info"
    assert the(run_of(TWO, *[{}] * 3), "missing_header").severity == "warning"
    assert found(run_of(TWO, *both(3)), "missing_header") is None
    assert found(run_of(profile(a_class("only", 64)), {}), "missing_header") is None, "there is nothing to choose"


def test_a_family_that_no_request_is_of_is_named() -> None:
    assert the(run_of(TWO, {"policy_header": "premium"}), "unreached_family").headline == "No request is of regular."
    assert found(run_of(TWO, *both(1)), "unreached_family") is None


def test_a_bucket_that_no_request_falls_into_is_named() -> None:
    buckets = (CacheBucket(0, "short"), CacheBucket(1000, "long"))
    classes = [PolicyClass(b.name, 64, "chat", b.name, prefill_busy_threshold=0) for b in buckets]
    chat = profile(*classes, buckets=buckets)
    finding = the(run_of(chat, {"isl_tokens": 200}, {"isl_tokens": 300}), "unreached_bucket")
    assert finding.headline == "No request falls into the bucket long."
    assert "between 200 and 300 uncached tokens; the buckets are short from 0, long from 1,000" in finding.evidence
    assert found(run_of(chat, {"isl_tokens": 200}, {"isl_tokens": 3000}), "unreached_bucket") is None


# --- refusals and starvation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "limit", "unit"),
    [
        ("request_queue_limit_per_worker", 2, "2 requests"),
        ("raw_isl_token_queue_limit_per_worker", 512, "512 input tokens"),
    ],
)
def test_refusals_name_the_limit(key: str, limit: int, unit: str) -> None:
    run = run_of(profile(a_class("premium", 256, **{key: limit}), a_class("regular", 64)), *both(5))
    finding = the(run, "refusals")
    assert finding.headline == "2 of 5 requests of premium were refused (HTTP 529)."
    assert f"{unit} of premium waited; the limit was {limit}" in finding.evidence
    assert key in finding.remedy
    assert finding.step is not None
    assert run.kinds[finding.step] == StepKind.REFUSED
    assert found(run_of(TWO, *both(5)), "refusals") is None


def test_wspt_starves_large_requests_and_fcfs_does_not() -> None:
    large = [{"policy_header": "premium", "isl_tokens": 4096}] * 2
    small = [{"policy_header": "premium", "timestamp_ms": 1.0}] * 30
    run = run_of(profile(a_class("premium", 256, queue_policy="wspt"), a_class("regular", 64)), *large, *small)
    finding = the(run, "wspt_starves_large")
    assert finding.headline == "Many cheaper requests passed 1 large one of premium."
    assert "request 1, 4,096 tokens, was passed by 30 later ones and waited" in finding.evidence
    assert finding.step is not None
    assert run.step_request[finding.step] == 1
    assert found(run_of(TWO, *large, *small), "wspt_starves_large") is None
    assert found(build(scenario("wspt_starves")), "wspt_starves_large")


def test_strict_priority_starves_low_tiers() -> None:
    low = [{"policy_header": "premium"}] * 3
    urgent = [{"policy_header": "premium", "strict_priority": 2, "timestamp_ms": 1.0}] * 15
    run = run_of(TWO, *low, *urgent)
    finding = the(run, "strict_starves_low")
    assert finding.headline == "Strict priority kept back 2 requests of premium, tier 0."
    assert "was passed by 15 later requests of a higher tier" in finding.evidence
    assert found(run_of(TWO, *low, *urgent[:5]), "strict_starves_low") is None
    assert found(build(scenario("strict_starves")), "strict_starves_low")


def lanes_of(survey: Survey) -> list[list[int]]:
    """The requests that waited, lane by lane, in order of enqueueing."""
    lanes: dict[tuple[int, int], list[int]] = {}
    for row, _ in sorted(survey.walked.arrival_step.items(), key=lambda pair: pair[1]):
        if survey.run.outcome[row] == "queued":
            lanes.setdefault((survey.run.class_index[row], survey.run.outcomes.lane[row]), []).append(row)
    return list(lanes.values())


@given(manual_inputs(most=40))
def test_who_was_passed_by_how_many_is_that_of_the_definition(inputs: ManualInputs) -> None:
    run = run_manual(inputs.profile, inputs.requests, inputs.script, **inputs.settings)
    survey = Survey(run)
    gone, tiers = survey.walked.gone_step, run.requests.strict_priority
    for rows in lanes_of(survey):
        expected = []
        for place, row in enumerate(rows):
            passed = [tiers[late] for late in rows[place + 1 :] if gone.get(late, 10**9) < gone.get(row, 10**9)]
            expected.append((row, passed.count(tiers[row]), sum(tier > tiers[row] for tier in passed)))
        assert sorted(_overtaken(survey, rows)) == sorted(expected)


def test_as_many_tiers_as_requests_cost_no_more_than_one() -> None:
    """The work is counted in looks at the tier of a request."""

    class Counted(list[int]):
        looks = 0

        def __getitem__(self, at: Any) -> Any:
            self.looks += 1
            return super().__getitem__(at)

    count, looks = 300, []
    for tiers in (1, count):
        requests = table(*({"policy_header": "premium", "strict_priority": row % tiers} for row in range(count)))
        script = [*(Arrive(row, wait=True) for row in range(count)), Call(count)]
        survey = Survey(run_manual(TWO, requests, script))
        requests.strict_priority = Counted(requests.strict_priority)
        assert len(_overtaken(survey, list(range(count)))) == count
        looks.append(requests.strict_priority.looks)
    assert looks[1] <= looks[0] <= 4 * count


def test_a_run_without_recording_gives_findings_without_steps() -> None:
    run = run_of(profile(a_class("premium", 4096), a_class("regular", 1024)), *both(60), record=False)
    found_now = findings(run)
    assert [each.kind for each in found_now] == ["quanta_above_costs"]
    assert found_now[0].step is None


def test_a_run_without_requests_has_no_findings() -> None:
    assert findings(run_of(TWO)) == []
