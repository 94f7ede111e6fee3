from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from drr.cli.inputs import add_run_arguments, load_run
from drr.errors import PolicyError
from drr.policy.samples import sample
from drr.simulation.recording import Run

ROWS = [{"timestamp": 0, "input_length": 100 + i, "output_length": 1, "hash_ids": [i]} for i in range(4)]


def run_of(folder: Path, *arguments: str) -> Run:
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (folder / "p.yaml").write_text(sample("premium_4_to_1").text())
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    return load_run(parser.parse_args(["--trace", str(folder / "t.jsonl"), *arguments]))


@pytest.mark.parametrize(("given", "outcome"), [((), "immediate"), (("--arrivals", "through_ring"), "queued")])
def test_arrivals_go_past_the_ring_or_through_it(tmp_path: Path, given: tuple[str, ...], outcome: str) -> None:
    run = run_of(tmp_path, "--policy", str(tmp_path / "p.yaml"), *given)
    assert run.outcome == [outcome] * 4


@pytest.mark.parametrize(
    ("fraction", "queued"), [(None, 0), ("0", 3), ("0.01", 3), ("0.0125", 2), ("1", 0), ("1e300", 0)]
)
def test_the_synthetic_class_queues_above_the_fraction_it_is_given(
    tmp_path: Path, fraction: str | None, queued: int
) -> None:
    run = run_of(tmp_path, *(() if fraction is None else ("--queue-threshold", fraction)))
    assert run.outcome.count("queued") == queued


@pytest.mark.parametrize("fraction", ["-1", "nan", "inf", "much", ""])
def test_a_fraction_is_a_number_of_at_least_0(
    tmp_path: Path, fraction: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_of(tmp_path, f"--queue-threshold={fraction}")
    assert "is no number of at least 0" in capsys.readouterr().err


def test_a_policy_file_has_thresholds_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="without --policy"):
        run_of(tmp_path, "--policy", str(tmp_path / "p.yaml"), "--queue-threshold", "0.5")


@pytest.mark.parametrize("speedup", ["0", "5e-324", "1.1e9", "inf", "fast"])
def test_a_speed_up_out_of_range_is_told_with_the_range(
    tmp_path: Path, speedup: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run_of(tmp_path, "--speedup", speedup)
    assert "from 1e-9 to 1e9" in capsys.readouterr().err
