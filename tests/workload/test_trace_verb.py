from __future__ import annotations

import argparse
import json

import pytest

from drr.cli import trace
from drr.errors import DrrError, WorkloadError
from drr.workload.mooncake import read_mooncake

POLICY = """
default_policy_family: slow
uncached_isl_buckets:
  - {bucket: all, min_tokens: 0}
policy_classes:
  - {name: fast, policy_family: fast, cache_bucket: all, quantum: 4096}
  - {name: slow, policy_family: slow, cache_bucket: all, quantum: 2048}
"""
ROWS = [
    {"timestamp": 1000 * i, "input_length": 100 * (i + 1), "output_length": 1, "hash_ids": [i % 2]} for i in range(5)
]


@pytest.fixture
def verb(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "five.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    parser = argparse.ArgumentParser()
    trace.add_parser(parser.add_subparsers())

    def run(*arguments):
        options = parser.parse_args(["trace", *arguments])
        return options.run(options)

    return run


def test_a_trace_is_shown_in_plain_figures(verb, capsys):
    assert verb("five.jsonl") == 0
    shown = capsys.readouterr().out
    assert "five.jsonl: 5 rows loaded" in shown
    assert "Mooncake JSONL; times are milliseconds (the format's own); prefix blocks of 512 tokens" in shown
    assert "span 4.0 s, 1.25 requests/s" in shown
    assert "p50 300  p95 480  max 500  total 1,500" in shown


def test_cut_scale_map_and_export(verb, tmp_path, capsys):
    arguments = ("--cut", "1:4", "--rate", "10", "--map", "length=350", "--to", "fast,slow", "--policy", "policy.yaml")
    assert verb("five.jsonl", *arguments, "--out", "out.jsonl", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert [(c["class_name"], c["requests"], c["input_tokens"]) for c in summary["classes"]] == [
        ("fast", 2, 500),
        ("slow", 1, 400),
    ]
    table = read_mooncake(tmp_path / "out.jsonl").requests
    assert table.timestamp_ms == [0, 100, 200]
    assert table.policy_header == ["fast", "fast", "slow"]


def test_several_files_become_classes(verb, tmp_path, capsys):
    (tmp_path / "more.csv").write_text("when,size\n0.5,7\n1.5,8\n")
    columns = ("-c", "timestamp=when", "-c", "input_length=size", "--unit", "s")
    with pytest.raises(
        WorkloadError, match="no column is known to hold timestamp and input_length; the file has: when"
    ):
        verb("more.csv")
    assert verb("more.csv", *columns, "--map", "file", "--to", "fast", "--policy", "policy.yaml") == 0
    assert "fast          2 requests             15 in" in capsys.readouterr().out
    (tmp_path / "again.jsonl").write_text((tmp_path / "five.jsonl").read_text())
    assert (
        verb("five.jsonl", "again.jsonl", "--map", "file", "--give", "again.jsonl=fast", "--policy", "policy.yaml") == 0
    )
    shown = capsys.readouterr().out
    assert "2 traces on one clock, as written" in shown
    assert "fast          5 requests          1,500 in" in shown


def test_bad_rows_are_named_and_change_the_exit_code(verb, tmp_path, capsys):
    (tmp_path / "bad.jsonl").write_text(json.dumps(ROWS[0]) + "\n{\n" + json.dumps(ROWS[1]) + "\n")
    with pytest.raises(WorkloadError, match="1 bad trace line: line 2: no valid JSON"):
        verb("bad.jsonl")
    assert verb("bad.jsonl", "--lenient") == 1
    captured = capsys.readouterr()
    assert "bad.jsonl: left out: line 2: no valid JSON" in captured.err
    assert "bad.jsonl: 2 rows loaded, 1 left out" in captured.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--map", "magic"), "--map magic: unknown rule; there are: first-block"),
        (("--map", "length=a"), "--map length=a: 'a' is no list of numbers"),
        (("--map", "length=20,10"), "--map length=20,10: class mapping by length: bounds are 20, 10; rising"),
        (("--map", "round-robin"), "1 policy families or classes are needed, there are 0"),
        (("--map", "column=model", "--to", "x"), "the trace has no column 'model'"),
        (("--give", "x"), "--give x: an equals sign is expected"),
        (("--cut", "5"), "--cut 5: FROM:TO in seconds is expected"),
        (("--cut", "a:b"), "FROM:TO in seconds"),
        (("--rate", "0"), "the rate factor is 0"),
        (("--policy", "none.yaml"), "cannot read policy none.yaml"),
    ],
)
def test_bad_arguments_are_refused_in_words(verb, arguments, message):
    with pytest.raises(DrrError, match=message):
        verb("five.jsonl", *arguments)
