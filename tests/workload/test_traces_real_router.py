"""Real traces, mapped, exported and replayed by the real router: every row equal to ours, every float bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drr.dynamo.case import ReplayCase
from drr.dynamo.compare import answer_of, first_difference, ours
from drr.dynamo.process import RouterProcess
from drr.dynamo.replay import replay_real
from drr.policy import load_policy
from drr.router.requests import RequestTable
from drr.simulation.engine_options import EngineOptions
from drr.ui.traces_tasks import MooncakeTask, PolicyChoice
from drr.workload.experiment import Experiment
from drr.workload.mapping import ClassMapping, apply
from drr.workload.mooncake import read_mooncake
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces import read_trace
from drr.workload.traces_edit import cut_window, merge_traces, scale_rate, spread_ticks, take_rows
from drr.workload.traces_export import mooncake_lines, not_exported, write_mooncake
from drr.workload.traces_merge import merge_files

pytestmark = pytest.mark.router

POLICY = """
default_policy_family: chat
uncached_isl_buckets:
  - {bucket: all, min_tokens: 0}
policy_classes:
  - {name: chat, policy_family: chat, cache_bucket: all, quantum: 4096, prefill_busy_threshold: 8192}
  - {name: agent, policy_family: agent, cache_bucket: all, quantum: 2048, prefill_busy_threshold: 8192}
  - {name: tool, policy_family: tool, cache_bucket: all, quantum: 1024, prefill_busy_threshold: 8192}
"""
ENGINE = {"max_num_seqs": 64, "block_size": 512, "num_gpu_blocks": 2000}


@pytest.fixture(scope="module")
def router():
    with RouterProcess(time_limit_s=300) as process:
        yield process


def difference(router, table, *, workers=1, blocks=2000, options=None, trace_block_size=512, block_size=512):
    """Export, replay on both sides, compare; also returns how many rows were queued."""
    rows = [json.loads(line) for line in mooncake_lines(table, trace_block_size=trace_block_size)]
    engine = {**ENGINE, "num_gpu_blocks": blocks, "block_size": block_size}
    case = ReplayCase(POLICY, workers, engine, trace_block_size, options or {}, rows)
    real = replay_real(case, router=router)
    assert real.observed is not None, real.aborted_because or real.failed_because
    own = ours(case, real.workers_followed if workers > 1 else None)
    return first_difference(real, own), sum(row.outcome == "queued" for row in real.observed)


def by_first_block(reading):
    return apply(ClassMapping("first_block"), reading.requests, load_policy(POLICY).profile_for())


@pytest.fixture(scope="module")
def mixed(shared_folder):
    return read_trace(shared_folder / "traces" / "mooncake_mixed_1000.jsonl")


@pytest.fixture(scope="module")
def conversation(shared_folder):
    return read_trace(shared_folder / "traces" / "mooncake_conversation.jsonl")


@pytest.mark.parametrize("blocks", [2000, 300])
@pytest.mark.parametrize("speed", [1, 20])
@pytest.mark.slow
def test_the_mixed_trace_with_three_families_is_identical(router, mixed, blocks, speed):
    found, queued = difference(router, by_first_block(mixed), blocks=blocks, options={"arrival_speedup_ratio": speed})
    assert found is None
    assert queued > 500


@pytest.mark.slow
def test_a_thousand_rows_of_conversation_are_identical(router, conversation):
    first = take_rows(conversation, range(1000))
    mapped = apply(ClassMapping("length", ("tool", "agent", "chat"), bounds_tokens=(4000, 12000)), first.requests)
    found, queued = difference(router, mapped)
    assert found is None
    assert queued > 500


@pytest.mark.slow
def test_three_thousand_rows_on_four_workers_are_identical_up_to_ties(router, conversation):
    in_turn = apply(ClassMapping("round_robin", ("chat", "agent", "tool")), conversation.requests)
    found, queued = difference(router, in_turn, workers=4)
    assert found is None
    assert queued > 200


def test_two_hundred_rows_of_the_mixed_trace_are_identical(router, mixed):
    found, queued = difference(router, by_first_block(take_rows(mixed, range(200))), blocks=300)
    assert found is None
    assert queued > 50


def test_a_cut_scaled_and_spread_window_is_identical(router, mixed):
    window = spread_ticks(scale_rate(cut_window(mixed, 30_000, 60_000), 4))
    found, queued = difference(router, by_first_block(window))
    assert found is None
    assert queued > 10


def test_two_merged_services_without_block_ids_are_identical(router, shared_folder):
    names = ("azure2023_conv.csv", "azure2023_code.csv")
    merged = cut_window(merge_traces([read_trace(shared_folder / "traces" / name) for name in names]), 10_000, 40_000)
    by_file = ClassMapping("column", column="file", given=(("azure2023_code.csv", "tool"),), default="agent")
    mapped = apply(by_file, scale_rate(merged, 30).requests, columns=merged.columns)
    assert {*mapped.policy_header} == {"agent", "tool"}
    found, queued = difference(router, mapped)
    assert found is None
    assert queued > 50


def same_in_lab_and_real_replay(router, trace, *, rate):
    """What the Lab runs of a trace, and what the real replay makes of the file the Traces page exports."""
    data = MooncakeTask(trace, rate, PolicyChoice(POLICY)).run(lambda over, total: None)
    case = ReplayCase(POLICY, 1, ENGINE, 512, {}, [json.loads(line) for line in data.splitlines()])
    engine = EngineOptions.from_mapping(ENGINE)
    lab = Experiment(
        policy_text=POLICY, workload=trace, engine=engine, cursor_rule="carry", arrival_speedup_ratio=rate
    ).run(record=False)
    found = first_difference(replay_real(case, router=router), answer_of(lab))
    headers = {row.get("policy_class") for row in case.rows}
    return found, headers, sum(outcome == "queued" for outcome in lab.outcome)


def test_the_export_of_the_traces_page_runs_on_the_real_replay_as_in_the_lab(router, shared_folder):
    path = shared_folder / "traces" / "mooncake_mixed_1000.jsonl"
    mapping = ClassMapping("first_block", ("chat", "agent", "tool"))
    trace = TraceWorkload(path.name, "m", mapping, window_ms=(30_000.0, 60_000.0), spread=True, path=str(path))
    found, headers, queued = same_in_lab_and_real_replay(router, trace, rate=4.0)
    assert found is None
    assert headers == {"chat", "agent", "tool"}
    assert queued > 10


def test_merged_files_of_the_traces_page_run_on_the_real_replay_as_in_the_lab(router, shared_folder, tmp_path):
    names = ("azure2023_conv.csv", "azure2023_code.csv")
    files = [TraceWorkload(name, name, path=str(shared_folder / "traces" / name)) for name in names]
    by_file = ClassMapping("column", column="file", given=(("azure2023_code.csv", "tool"),), default="agent")
    merged = merge_files(files, tmp_path).trace
    trace = replace(merged, mapping=by_file, window_ms=(10_000.0, 40_000.0))
    found, headers, queued = same_in_lab_and_real_replay(router, trace, rate=30.0)
    assert found is None
    assert headers == {"agent", "tool"}
    assert queued > 50


def test_blocks_of_16_tokens_are_identical(router):
    lines = [
        {
            "chat_id": row,
            "parent_chat_id": -1,
            "timestamp": row / 64,
            "input_length": 16 * (row % 9) + 7,
            "output_length": 3,
        }
        | {"hash_ids": [row % 2, *range(2, 2 + row % 9)], "type": "text", "turn": 1}
        for row in range(60)
    ]
    reading = read_trace("\n".join(map(json.dumps, lines)))
    assert reading.block_size_tokens == 16
    found, _ = difference(router, reading.requests, trace_block_size=16, block_size=16)
    assert found is None


def test_an_export_says_everything_and_reads_back_the_same(tmp_path, router):
    table = RequestTable()
    table.append(1000, timestamp_ms=1.5, hash_ids=(3, 2**40), policy_header="gold", output_tokens=4)
    table.append(10, timestamp_ms=2.0, session="s", priority_jump=-3.0, strict_priority=2, hash_ids=(7,))
    table.append(11, timestamp_ms=None, session="s", delay_ms=2.5, hash_ids=(7,))
    table.append(512, timestamp_ms=-4.0, hash_ids=(9,), output_tokens=0)
    write_mooncake(table, tmp_path / "out.jsonl", trace_block_size=512)
    assert read_mooncake(tmp_path / "out.jsonl").requests == table
    assert not_exported(table) == ()
    found, _ = difference(router, table)
    assert found is None


@pytest.mark.parametrize("nothing", [{}, {"timestamp": None, "delay": None}])
def test_a_turn_with_neither_timestamp_nor_delay_follows_at_once_on_both_sides(router, nothing):
    turn = {"output_length": 2, "hash_ids": [1], "session_id": "s"}
    rows = [
        {"timestamp": 5, "input_length": 100},
        {"input_length": 110, **nothing},
        {"timestamp": 30, "input_length": 120},
    ]
    case = ReplayCase(POLICY, 1, ENGINE, 512, {}, [{**turn, **row} for row in rows])
    read_mooncake(case.trace_text())
    real = replay_real(case, router=router)
    assert real.observed is not None
    assert first_difference(real, ours(case, None)) is None


@pytest.mark.parametrize(
    "row",
    [
        {"created_time": 0, "input_tokens": 100, "output_tokens": 2, "hash_ids": [1]},
        {"timestamp": 0, "input_length": 100, "output_length": 0, "hash_ids": [2**64 - 1], "priority": -(2**31)},
        {"timestamp": -5.5, "input_length": 100, "output_length": 1, "hash_ids": [1], "strict_priority": 2**32 - 1},
        {"timestamp": 0, "input_length": 100, "output_length": 1, "hash_ids": [1, 2], "x": [1], "policy_class": None},
        {"timestamp": 0, "input_length": 100, "output_length": 1, "hash_ids": [1], "priority": None, "delay": None},
    ],
)
def test_odd_rows_are_taken_on_both_sides(router, row):
    case = ReplayCase(POLICY, 1, ENGINE, 512, {}, [row])
    table = read_mooncake(case.trace_text()).requests
    found, _ = difference(router, table)
    assert found is None
    answer = router.ask(
        {"kind": "replay", "policy": POLICY, "trace": case.trace_text(), "workers": 1, "engine": ENGINE}
        | {"trace_block_size": 512, "options": {}, "report": "brief"}
    )
    assert len(answer["per_request"]) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"input_tokens": 5},
        {"input_length": True},
        {"input_length": "512"},
        {"input_length": 0},
        {"output_length": None},
        {"output_length": -1},
        {"hash_ids": []},
        {"hash_ids": [-1]},
        {"hash_ids": [2**64]},
        {"hash_ids": [1.0]},
        {"timestamp": None},
        {"timestamp": "0"},
        {"priority": 1.0},
        {"priority": 2**31},
        {"strict_priority": -1},
        {"strict_priority": 2**32},
        {"session_id": 1},
        {"policy_class": 1},
        {"delay": 1},
        {"delay": 1, "session_id": "s"},
    ],
)
def test_what_we_refuse_the_real_replay_refuses_too(router, change):
    row = {"timestamp": 0, "input_length": 100, "output_length": 1, "hash_ids": [1], **change}
    reading_error = None
    try:
        read_mooncake(json.dumps(row))
    except ValueError as error:
        reading_error = str(error)
    assert reading_error is not None
    answer = router.ask(
        {"kind": "replay", "policy": POLICY, "trace": json.dumps(row) + "\n", "workers": 1, "engine": ENGINE}
        | {"trace_block_size": 512, "options": {}, "report": "brief"}
    )
    assert "aborted_because" in answer
