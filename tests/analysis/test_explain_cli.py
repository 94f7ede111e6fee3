"""``drr explain``: the sentences of the stage on the command line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from drr.analysis.explain import explain
from drr.cli import explain as explain_verb
from drr.cli.inputs import load_run
from drr.errors import DrrError
from drr.policy.samples import sample


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    trace = tmp_path / "trace.jsonl"
    row = {"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [0]}
    headers = ("premium", "regular") * 6
    trace.write_text(
        "".join(json.dumps({**row, "hash_ids": [i], "policy_class": h}) + "\n" for i, h in enumerate(headers))
    )
    policy = str(sample("premium_4_to_1").path)
    return ["explain", "--policy", policy, "--trace", str(trace), "--engine", "max_num_seqs=4"]


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="drr")
    explain_verb.add_parser(parser.add_subparsers(required=True))
    return parser.parse_args(arguments)


def test_a_step_is_told_in_the_words_of_the_stage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    options = parsed([*arguments, "--step", "5"])
    assert explain_verb.run(options) == 0
    place, told = capsys.readouterr().out.splitlines()
    run = load_run(options)
    assert place == f"Step 5 of {run.n_steps:,} at 0.000 ms, cursor rule documented"
    assert told == str(explain(run, 4))


def test_a_decision_is_told_rule_by_rule(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    options = parsed([*arguments, "--decision", "2", "--rule-by-rule", "--cursor", "carry"])
    assert explain_verb.run(options) == 0
    place, told, *lines = capsys.readouterr().out.splitlines()
    run = load_run(options)
    expected = explain(run, run.decision_steps[1])
    assert place.endswith("cursor rule carry")
    assert told.startswith("Decision 2: ")
    assert lines == [f"  {n}. {line.text}" for n, line in enumerate(expected.details, start=1)]
    assert lines


def test_step_zero_is_before_the_first(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_verb.run(parsed([*arguments, "--step", "0"])) == 0
    assert capsys.readouterr().out.startswith("Before the first step. ")


@pytest.mark.parametrize(("option", "value"), [("--step", "9999"), ("--decision", "0"), ("--decision", "9999")])
def test_a_step_that_is_not_there_is_an_error_that_says_how_many_there_are(
    arguments: list[str], option: str, value: str
) -> None:
    with pytest.raises(DrrError, match=rf"{option} {value}: the run has \d+ (steps|decisions)"):
        explain_verb.run(parsed([*arguments, option, value]))


@pytest.mark.parametrize("more", [[], ["--step", "1", "--decision", "1"], ["--step", "-1"], ["--step", "x"]])
def test_exactly_one_step_has_to_be_named(
    arguments: list[str], more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed([*arguments, *more])
    assert "usage" in capsys.readouterr().err
