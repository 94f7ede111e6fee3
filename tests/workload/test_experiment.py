"""What an experiment hands to its run: taints of late workers, the way of arrivals, and bounds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drr.errors import WorkloadError
from drr.policy.samples import sample
from drr.router.router import ARRIVAL_MODES, ArrivalMode
from drr.simulation.cluster import Change, TimedChange
from drr.simulation.manual import Capacity
from drr.simulation.state import CALL_KINDS, StepKind
from drr.workload.experiment import Experiment, SpecWorkload, TypedWorkload
from drr.workload.link import decode, encode

NEEDS_H100 = """\
streams:
  - requests: 4
    arrivals: {shape: constant, per_second: 1}
    input_tokens: 100
    output_tokens: 1
    required_taints: {share: 1, taints: [h100]}
"""
FULL_AT_ONCE = sample("premium_4_to_1").text().replace("worker: 1024", "worker: 0")


@pytest.mark.parametrize("dp_size", [1, 2])
@pytest.mark.parametrize(
    "back", [(), (TimedChange(2500.0, Change("leave", 5)), TimedChange(2600.0, Change("join", 5)))]
)
def test_a_worker_that_joins_later_has_the_taints_given_to_its_id(dp_size: int, back: tuple[TimedChange, ...]) -> None:
    changes = (TimedChange(500.0, Change("join", 5)), TimedChange(600.0, Change("join", 6)), *back)
    workload = SpecWorkload(NEEDS_H100)
    experiment = Experiment(
        policy_text="", workload=workload, dp_size=dp_size, taints=((5, ("h100",)),), changes=changes
    )
    run = experiment.run()
    assert run.outcome == ["error", "immediate", "immediate", "immediate"]
    assert {run.inputs.endpoint_keys[endpoint][0] for endpoint in run.endpoint[1:]} == {5}
    assert Experiment.from_mapping(json.loads(json.dumps(experiment.to_mapping()))) == experiment


@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
def test_the_way_of_arrivals_is_saved_and_only_where_it_is_not_the_default(arrivals: ArrivalMode) -> None:
    experiment = Experiment(policy_text="", workload=SpecWorkload(NEEDS_H100), arrivals=arrivals)
    assert decode(encode(experiment), max_characters=7_000).experiment == experiment
    assert ("arrivals" in experiment.to_mapping()) is (arrivals != "bypass")
    with pytest.raises(WorkloadError, match="arrivals: 'sideways' is not one of bypass, through_ring"):
        Experiment.from_mapping({**experiment.to_mapping(), "arrivals": "sideways"})


@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
def test_arrivals_of_a_replay_go_past_the_ring_or_through_it(arrivals: ArrivalMode) -> None:
    text = NEEDS_H100.replace("    required_taints: {share: 1, taints: [h100]}\n", "")
    policy = sample("premium_4_to_1").text()
    run = Experiment(policy_text=policy, workload=SpecWorkload(text), arrivals=arrivals).run()
    assert run.outcome == ["immediate" if arrivals == "bypass" else "queued"] * 4
    assert run.inputs.arrivals == run.other_rule.inputs.arrivals == arrivals


@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
@pytest.mark.parametrize("capacity", ["open", "one", "policy"])
def test_typed_queues_follow_it_where_the_policy_decides(capacity: Capacity, arrivals: ArrivalMode) -> None:
    """With a limit of 0 whatever has to join a lane is refused, and an idle worker needs no lane."""
    workload = TypedWorkload("regular: 512 512 512@2", capacity)
    run = Experiment(policy_text=FULL_AT_ONCE, workload=workload, arrivals=arrivals).run()
    past = capacity == "policy" and arrivals == "bypass"
    assert run.outcome == (["immediate"] * 3 if past else ["refused"] * 3)
    assert run.inputs.arrivals == ("bypass" if past else "through_ring")
    assert len(run.completion_order) == run.outcome.count("immediate"), "the script ends what was dispatched"


@pytest.mark.parametrize("arrivals", ARRIVAL_MODES)
def test_the_script_of_typed_queues_counts_dispatches_as_the_run_makes_them(arrivals: ArrivalMode) -> None:
    workload = TypedWorkload("premium: 2000 2000 512@1 512@2 512@4", "policy")
    run = Experiment(policy_text=sample("premium_4_to_1").text(), workload=workload, arrivals=arrivals).run()
    kinds = [StepKind(kind) for kind in run.kinds]
    for row, after in ((2, 1), (3, 2), (4, 4)):
        arrival = next(s for s in range(run.n_steps) if run.step_request[s] == row)
        gone = sum(kind in (StepKind.BYPASSED, StepKind.DECISION) for kind in kinds[:arrival])
        assert gone >= after
    assert len(run.completion_order) == 5
    assert any(kind in CALL_KINDS for kind in kinds)


@pytest.mark.parametrize("ratio", [0, -1.0, 5e-324, 9e-10, 1.1e9, 10**400, True, "1"])
def test_an_arrival_speed_up_out_of_range_is_refused_wherever_it_comes_from(ratio: object) -> None:
    experiment = Experiment(policy_text="", workload=SpecWorkload(NEEDS_H100))
    with pytest.raises(WorkloadError, match="1e-9 to 1e9"):
        Experiment.from_mapping({**experiment.to_mapping(), "arrival_speedup_ratio": ratio})
    if not isinstance(ratio, str | bool):
        with pytest.raises(WorkloadError, match="1e-9 to 1e9"):
            replace(experiment, arrival_speedup_ratio=ratio).run()
