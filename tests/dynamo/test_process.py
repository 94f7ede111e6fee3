"""The process around the real router: time limits, crashes, and a clear word where there is no router."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from drr.dynamo import process
from drr.dynamo.cases import random_case
from drr.dynamo.policies import real_verdict
from drr.dynamo.policy_seeds import PREMIUM
from drr.dynamo.process import RouterProcess, RouterUnavailableError, router_unavailable_because
from drr.dynamo.replay import replay_many, replay_real, time_trace_file
from drr.dynamo.verify import verify_router


def test_without_the_wheel_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RouterUnavailableError, match=r"pip install ai-dynamo-runtime==1\.6\.1"):
        replay_real(random_case("output-1", 0))
    with pytest.raises(RouterUnavailableError):
        verify_router(1)


def test_a_package_that_merely_has_the_same_name_is_no_router(monkeypatch):
    def missing_parent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(importlib.util, "find_spec", missing_parent)
    assert "not installed" in (router_unavailable_because() or "")


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_elsewhere_than_on_linux_the_platform_is_named(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(RouterUnavailableError, match=platform):
        RouterProcess().ask({})


@pytest.mark.router
def test_a_question_over_the_time_limit_loses_only_itself():
    with RouterProcess(time_limit_s=1e-6) as router:
        slow = replay_real(random_case("output-50", 0), router=router)
        assert slow.observed is None
        assert "no answer within 1e-06 s" in (slow.failed_because or "")
        router.time_limit_s = 60.0
        assert replay_real(random_case("output-50", 0), router=router).observed is not None


@pytest.mark.router
def test_a_crash_loses_only_the_case_it_happened_on():
    case = random_case("output-1", 1)
    with RouterProcess() as router:
        whole = replay_real(case, router=router)
        assert router._process is not None
        router._process.kill()
        router._process.wait()
        crashed = replay_real(case, router=router)
        assert "ended" in (crashed.failed_because or "")
        assert "signal 9" in (crashed.failed_because or "")
        assert replay_real(case, router=router).observed == whole.observed


@pytest.mark.router
def test_router_settings_of_the_shell_change_nothing(monkeypatch):
    case = random_case("no-policy-file", 3)
    plain = replay_real(case)
    monkeypatch.setenv("DYN_ROUTER_POLICY_CONFIG", "/nowhere/policy.yaml")
    monkeypatch.setenv("DYN_ROUTER_TEMPERATURE", "5")
    assert plain.observed is not None
    assert replay_real(case).observed == plain.observed


@pytest.mark.router
def test_a_policy_the_loader_refuses_is_an_abort_in_its_own_words():
    case = random_case("output-1", 0)
    broken = type(case).from_mapping(case.to_mapping() | {"policy_yaml": "quantum: 1\n"})
    ((_, answer),) = replay_many([broken])
    assert answer.aborted_because is not None
    assert answer.aborted_because.startswith(
        "failed to parse router policy config policy.yaml: unknown field `quantum`"
    )


@pytest.mark.router
def test_the_loader_is_asked_bytes_and_all():
    with RouterProcess() as router:
        assert real_verdict(PREMIUM.encode(), router) is None
        assert "valid UTF-8" in (real_verdict(b"\xff" + PREMIUM.encode(), router) or "")


@pytest.mark.router
def test_a_trace_file_is_timed_as_it_is(tmp_path):
    case = random_case("output-1", 0)
    path = tmp_path / "trace.jsonl"
    path.write_text(case.trace_text())
    inside_ms, around_ms, requests = time_trace_file(path, case)
    assert requests == len(case.rows)
    assert 0.0 < inside_ms <= around_ms


@pytest.mark.router
def test_details_come_in_the_same_order_as_the_rows():
    case = random_case("equal-lengths", 2)
    answer = replay_real(case, details=True)
    assert answer.observed is not None
    assert answer.details is not None
    assert [d["input_length"] for d in answer.details] == [row["input_length"] for row in case.rows]
    assert [d["first_admit_ms"] for d in answer.details] == [row.first_admit_ms for row in answer.observed]


@pytest.mark.router
def test_the_installed_router_is_the_one_the_figures_were_checked_with():
    assert process.router_version() == process.CHECKED_VERSION
