"""Warnings about what is legal but surprising."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drr.cli import main
from drr.policy import Diagnostic, lint_workload, load_policy, read_policy
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
    assert lint_workload(profile, {"premium": [512] * 3, "regular": [512]}, [512]) == []
    far, ratio = lint_workload(profile, {"premium": [64, 64, 9000], "regular": [64]}, [64])
    assert far.path == "policy_classes[0].quantum"
    assert "one turn pays for 8 requests" in far.message
    assert "80% : 20%" in ratio.message
    assert "gives 50% : 50%" in ratio.message


def test_a_ratio_that_cannot_bind_is_pointed_out_from_twice_the_cost_on() -> None:
    profile = load_policy(PREMIUM).profile_for()
    (ratio,) = lint_workload(profile, {"premium": [256], "regular": [256]}, [256])
    assert "gives 67% : 33%" in ratio.message
    assert lint_workload(profile, {"premium": [256]}, [256]) == []


def test_a_bucket_that_no_request_reaches_is_pointed_out() -> None:
    profile = load_policy(CACHED).profile_for()
    (warning,) = lint_workload(profile, {}, [3072, 9000])
    assert warning.path == "uncached_isl_buckets[0]"
    assert 'bucket "cached"' in warning.message
    assert lint_workload(profile, {}, [3072, 3071]) == []


ABOUT_TRACE = [
    # policy, rows of (header, tokens, cached), model, path and place of the warning
    (PREMIUM, [("premium", 64, 0), ("regular", 500, 0)], None, "policy_classes[0].quantum", (10, 14)),
    (PREMIUM, [("premium", 256, 0), ("", 256, 0)], None, "policy_classes", (6, 3)),
    (CACHED, [("", 5000, 0), ("", 3072, 0)], None, "uncached_isl_buckets[0]", (3, 5)),
    (CACHED, [("", 5000, 2000), ("", 3072, 9000)], None, "uncached_isl_buckets[1]", (4, 5)),
    (f"models: {{m: {PROFILE}}}\n", [("", 1, 0)], "m", "models.m.policy_classes[0].quantum", (1, 167)),
]


@pytest.mark.parametrize(("policy", "rows", "model", "path", "place"), ABOUT_TRACE)
def test_validate_holds_a_policy_against_a_trace(
    policy: str,
    rows: list[tuple[str, int, int]],
    model: str | None,
    path: str,
    place: tuple[int, int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "p.yaml").write_text(policy)
    lines = [f"{at},{header},{isl},1,{cached}" for at, (header, isl, cached) in enumerate(rows)]
    text = "\n".join(["timestamp,policy_class,input_length,output_length,cached_tokens", *lines])
    (tmp_path / "t.csv").write_text(text)
    arguments = ["validate", str(tmp_path / "p.yaml"), "--trace", str(tmp_path / "t.csv"), "--json"]
    assert main([*arguments, *(["--model", model] if model is not None else [])]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accepted"]
    assert (path, place) in [(each["path"], (each["line"], each["column"])) for each in found["diagnostics"]]


def test_validate_says_what_is_wrong_with_a_trace_and_leaves_it_alone_with_a_refused_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.yaml").write_text(PREMIUM)
    arguments = ["validate", str(tmp_path / "p.yaml"), "--trace", str(tmp_path / "none.csv")]
    assert main(arguments) == 2
    assert "cannot read trace" in capsys.readouterr().err
    (tmp_path / "p.yaml").write_text(with_quantum("0"))
    assert main(arguments) == 1
