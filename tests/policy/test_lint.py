"""Warnings about what is legal but surprising."""

from __future__ import annotations

from drr.policy import Diagnostic, lint_profile, load_policy, read_policy
from tests.policy.texts import CACHED, PREMIUM, PROFILE, with_line, with_quantum


def warnings(text: str) -> list[Diagnostic]:
    reading = read_policy(text)
    assert reading.router_accepts
    assert {each.severity for each in reading.diagnostics} <= {"warning"}
    return list(reading.diagnostics)


def test_a_sound_policy_has_nothing_to_warn_about() -> None:
    assert warnings(PREMIUM) == []
    assert warnings(CACHED) == []


def test_a_policy_without_any_threshold_decides_nothing() -> None:
    (warning,) = warnings(PREMIUM.replace("    prefill_busy_threshold: 1536\n", ""))
    assert warning.path == "policy_classes"
    assert "no request ever waits" in warning.message


def test_one_class_without_a_threshold_never_waits() -> None:
    (warning,) = warnings(PREMIUM.replace("    prefill_busy_threshold: 1536\n", "", 1))
    assert (warning.path, warning.line) == ("policy_classes[0]", 6)
    assert 'class "premium" has no busy threshold' in warning.message
    assert "its limits are never looked at" in warning.message


def test_a_limit_of_zero_refuses_whatever_would_wait() -> None:
    (warning,) = warnings(with_line("cached_token_queue_limit_per_worker: 0"))
    assert (warning.path, warning.line) == ("policy_classes[1].cached_token_queue_limit_per_worker", 20)
    assert "refuses every request" in warning.message


def test_equal_quanta_prefer_nobody() -> None:
    (warning,) = warnings(with_quantum("128"))
    assert warning.path == "policy_classes"
    assert "all quanta are equal (128 tokens)" in warning.message
    assert warnings(f"models: {{m: {PROFILE}}}\n") == []


def test_a_model_profile_is_looked_at_too() -> None:
    profile = PROFILE.replace(", prefill_busy_threshold: 1", "")
    (warning,) = warnings(f"models:\n  org/m: {profile}\n")
    assert warning.path == "models.org/m.policy_classes"
    assert warning.line == 2


def test_a_ratio_of_one_is_what_holds_anyway() -> None:
    reading = read_policy(with_line("busy_worker_ratio: 1"))
    assert any("holds without the key" in each.message for each in reading.diagnostics)


def test_a_quantum_far_above_the_costs_is_pointed_out() -> None:
    profile = load_policy(PREMIUM).profile_for()
    assert lint_profile(profile, costs_tokens={"premium": [512] * 3, "regular": [512]}) == []
    far, ratio = lint_profile(profile, costs_tokens={"premium": [64, 64, 9000], "regular": [64]})
    assert far.path == "policy_classes[0].quantum"
    assert "one turn pays for 8 requests" in far.message
    assert "80% : 20%" in ratio.message
    assert "gives 50% : 50%" in ratio.message


def test_a_ratio_that_cannot_bind_is_pointed_out_from_twice_the_cost_on() -> None:
    profile = load_policy(PREMIUM).profile_for()
    (ratio,) = lint_profile(profile, costs_tokens={"premium": [256], "regular": [256]})
    assert "gives 67% : 33%" in ratio.message
    assert lint_profile(profile, costs_tokens={"premium": [256]}) == []


def test_a_bucket_that_no_request_reaches_is_pointed_out() -> None:
    profile = load_policy(CACHED).profile_for()
    (warning,) = lint_profile(profile, uncached_tokens=[3072, 9000])
    assert warning.path == "uncached_isl_buckets[0]"
    assert 'bucket "cached"' in warning.message
    assert lint_profile(profile, uncached_tokens=[3072, 3071]) == []
