from __future__ import annotations

import pytest

from drr.errors import WorkloadError
from drr.router.requests import RequestTable
from drr.simulation.manual import Action, Arrive, At, Call, FirstToken, run_manual
from drr.simulation.replay import replay
from drr.workload.typed import profile_of


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([Arrive(0), Arrive(0)], "arrives a second time"),
        ([FirstToken(0)], "not in its prefill"),
        ([Arrive(0), FirstToken(0), FirstToken(0)], "not in its prefill"),
        ([At(5.0), At(4.0)], "cannot go back from 5 to 4"),
    ],
)
def test_a_script_that_makes_no_sense_is_refused(script: list[Action], said: str) -> None:
    table = RequestTable()
    table.append(10, policy_header="a")
    with pytest.raises(WorkloadError, match=said):
        run_manual(profile_of({"a": 10}), table, script, capacity="one")


def test_several_calls_are_as_many_single_calls() -> None:
    table = RequestTable()
    for cost in (7, 9, 4, 12, 3):
        table.append(cost, policy_header="a")
    arrivals: list[Action] = [Arrive(row, wait=True) for row in range(5)]
    together = run_manual(profile_of({"a": 10}), table, [*arrivals, Call(5)], workers=3)
    singly = run_manual(profile_of({"a": 10}), table, [*arrivals, *[Call()] * 5], workers=3)
    assert together.result_rows() == singly.result_rows()
    assert list(together.kinds) == list(singly.kinds)


@pytest.mark.parametrize("ratio", [0.0, -1.0, 5e-324, 9e-10, 1.1e9, float("inf"), float("nan")])
def test_an_arrival_speed_up_is_a_number_within_its_range(ratio: float) -> None:
    with pytest.raises(WorkloadError, match=r"arrival speed-up .* from 1e-9 to 1e9"):
        replay(profile_of({"a": 1}), RequestTable(), arrival_speedup_ratio=ratio)
