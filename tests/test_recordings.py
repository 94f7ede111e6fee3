"""Our answers are the recorded ones of the real router, and the check that says so can fail."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drr.dynamo.recordings import check_recording
from drr.errors import WorkloadError
from tests.support import ROOT

RECORDINGS = ROOT / "tests/recordings"


def cases_of(name: str) -> list[dict[str, Any]]:
    data = (RECORDINGS / name).read_bytes()
    return json.loads(gzip.decompress(data) if name.endswith(".gz") else data)


@pytest.mark.parametrize(
    ("name", "cases"), [("router_lanes.json", 60), ("router_replay.json.gz", 101), ("policy_files.json", 130)]
)
def test_every_case_of_a_recording_comes_out_the_same(name: str, cases: int) -> None:
    check = check_recording(RECORDINGS / name)
    assert check.differences == {}
    assert check.text() == f"{name}: {cases}/{cases} identical"


def damaged(tmp_path: Path, name: str, damage: Callable[[dict[str, Any]], None], which: int = 0) -> Path:
    """Two cases of a recording, of which the first was changed."""
    cases = cases_of(name)
    pair = [copy.deepcopy(cases[which]), cases[which + 1]]
    damage(pair[0])
    path = tmp_path / name.removesuffix(".gz")
    path.write_text(json.dumps(pair), encoding="utf-8")
    return path


def swap_two_dispatches(key: str) -> Callable[[dict[str, Any]], None]:
    def swap(case: dict[str, Any]) -> None:
        a, b = [step for step in case["steps"] if step[key] is not None][:2]
        a[key], b[key] = b[key], a[key]

    return swap


@pytest.mark.parametrize(("key", "rule"), [("dispatched", "carry"), ("documented_rule_dispatches", "documented")])
def test_a_damaged_lane_recording_is_reported(tmp_path: Path, key: str, rule: str) -> None:
    check = check_recording(damaged(tmp_path, "router_lanes.json", swap_two_dispatches(key)))
    assert (check.identical, check.cases) == (1, 2)
    (difference,) = check.differences.values()
    assert f"rule {rule}, dispatch 0" in difference


def change_of(field: str) -> Callable[[dict[str, Any]], None]:
    def change(case: dict[str, Any]) -> None:
        row = next(row for row in case["observed"] if row[field] is not None)
        value = row[field]
        row[field] = (
            value + 2**-40 if isinstance(value, float) else value + "?" if isinstance(value, str) else value + 1
        )

    return change


def replay_fields() -> list[str]:
    return sorted(
        field for field, value in cases_of("router_replay.json.gz")[0]["observed"][0].items() if value is not None
    )


@pytest.mark.parametrize("field", replay_fields())
def test_any_damaged_figure_of_a_replay_is_reported(tmp_path: Path, field: str) -> None:
    check = check_recording(damaged(tmp_path, "router_replay.json.gz", change_of(field)))
    assert (check.identical, check.cases) == (1, 2)


def test_an_abort_that_did_not_happen_is_reported(tmp_path: Path) -> None:
    def abort(case: dict[str, Any]) -> None:
        case["observed"] = None
        case["replay_aborted_because"] = "placement policy error"

    assert check_recording(damaged(tmp_path, "router_replay.json.gz", abort)).identical == 1


@pytest.mark.parametrize("which", [0, -2])
def test_a_turned_verdict_on_a_policy_file_is_reported(tmp_path: Path, which: int) -> None:
    def turn(case: dict[str, Any]) -> None:
        case["rejected_because"] = "no" if case["rejected_because"] is None else None

    path = damaged(tmp_path, "policy_files.json", turn, which % len(cases_of("policy_files.json")))
    check = check_recording(path)
    assert check.identical == 1
    assert "the real router says" in next(iter(check.differences.values()))


@pytest.mark.parametrize("text", ["[]", "{}", "[1]", '[{"what": 1}]', "no json", '{"rows": 1}'])
def test_a_file_that_is_no_recording_is_an_error_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WorkloadError, match=r"other\.json"):
        check_recording(path)


def test_a_packed_recording_that_is_damaged_anywhere_is_an_error_with_its_name(tmp_path: Path) -> None:
    """Cut off at any length, or with any byte turned, it never comes back as something else than it was."""
    whole = gzip.compress(json.dumps(cases_of("router_lanes.json")[:1]).encode(), mtime=0)
    path = tmp_path / "cut.json.gz"
    damaged_files = [whole[:end] for end in range(2, len(whole), 7)]
    for at in range(10, len(whole), 11):  # the first ten bytes are a head that may say what it likes
        damaged_files.append(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    for data in damaged_files:
        path.write_bytes(data)
        with pytest.raises(WorkloadError, match=r"recording .*cut\.json\.gz"):
            check_recording(path)


@pytest.mark.parametrize(("key", "rule"), [("dispatched", "carry"), ("documented_rule_dispatches", "documented")])
def test_a_dispatch_that_only_one_side_makes_is_named(tmp_path: Path, key: str, rule: str) -> None:
    def forget_the_last(case: dict[str, Any]) -> None:
        [step for step in case["steps"] if step[key] is not None][-1][key] = None

    steps = [step for step in cases_of("router_lanes.json")[0]["steps"] if step[key] is not None]
    check = check_recording(damaged(tmp_path, "router_lanes.json", forget_the_last))
    (difference,) = check.differences.values()
    assert difference == f"rule {rule}, dispatch {len(steps) - 1}: [] expected, [{steps[-1][key]}] here"

    def add_one(case: dict[str, Any]) -> None:
        nothing = {"dispatched": None, "documented_rule_dispatches": None}
        case["steps"].append({**case["steps"][-1], **nothing, key: 77})

    (difference,) = check_recording(damaged(tmp_path, "router_lanes.json", add_one)).differences.values()
    assert "[77] expected" in difference


def test_a_recording_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="cannot read recording"):
        check_recording(tmp_path / "missing.json")
