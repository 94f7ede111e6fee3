"""Several traces as one file: what comes out is what went in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from drr.errors import WorkloadError
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces import read_trace
from drr.workload.traces_edit import merge_traces
from drr.workload.traces_formats import TraceSpec
from drr.workload.traces_merge import copy_lines, copy_spec, merge_files

CSV = "arrival_ms,policy_class,raw_isl_tokens,output_tokens,request_id,priority,tier,delay\n"
ROWS = CSV + "0,premium,1024,3,r1,2,gold,x\n10.25,,2048,0,r2,0,,y\n10.25,regular,512,7,=1,0,free,\n"
MOONCAKE = [
    {"timestamp": 5, "input_length": 700, "output_length": 2, "hash_ids": [3, 4], "model": "m", "file": "inside"},
    {"timestamp": 7.125, "input_length": 512, "output_length": 1, "hash_ids": [3], "policy_class": "gold"},
]
TURNS = [
    {"timestamp": 1, "input_length": 100, "output_length": 2, "hash_ids": [1], "session_id": "s"},
    {"input_length": 150, "output_length": 2, "hash_ids": [1], "session_id": "s", "delay": 20.5},
]


def stored(folder: Path, name: str, text: str) -> TraceWorkload:
    (folder / name).write_text(text)
    return TraceWorkload(name, name, lenient=True, path=str(folder / name))


def jsonl(rows: list[dict[str, object]]) -> str:
    return "\n".join(map(json.dumps, rows))


def test_a_merged_file_reads_back_as_the_merged_traces(tmp_path: Path) -> None:
    files = [stored(tmp_path, "own.csv", ROWS), stored(tmp_path, "m.jsonl", jsonl(MOONCAKE))]
    made = merge_files(files, tmp_path)
    wanted = merge_traces([each.whole() for each in files])
    back = made.trace.reading()
    assert back.requests == wanted.requests
    assert back.columns.pop("delay (column)") == wanted.columns.pop("delay")
    assert {k: v for k, v in back.columns.items() if any(v)} == {k: v for k, v in wanted.columns.items() if any(v)}
    assert back.columns["file"] == ["own.csv", "m.jsonl", "m.jsonl", "own.csv", "own.csv"]
    assert made.trace.name == "own.csv + m.jsonl"
    assert any("2 traces on one clock, as written" in note for note in made.notes)
    assert merge_files(files, tmp_path).trace == made.trace, "equal files give an equal file"


def test_sessions_are_written_as_the_mooncake_format_has_them(tmp_path: Path) -> None:
    files = [stored(tmp_path, "turns.jsonl", jsonl(TURNS)), stored(tmp_path, "m.jsonl", jsonl(MOONCAKE))]
    back = merge_files(files, tmp_path).trace.reading()
    assert back.requests == merge_traces([each.whole() for each in files]).requests
    assert back.requests.session[:2] == ["turns.jsonl/s", "turns.jsonl/s"]


def test_fixed_cache_hits_come_along_or_are_refused() -> None:
    fixed = read_trace("arrival_ms,raw_isl_tokens,cached_tokens\n0,512,100\n1,300,\n", name="fixed.csv")
    back = read_trace("".join(copy_lines(fixed)), copy_spec(fixed))
    assert back.requests == fixed.requests
    assert back.requests.cached_tokens == [100, 0]
    other = read_trace(jsonl(MOONCAKE), name="m")
    with pytest.raises(WorkloadError, match="fixes cache hits"):
        list(copy_lines(merge_traces([fixed, other])))


def test_lines_left_out_are_named_with_their_file(tmp_path: Path) -> None:
    files = [stored(tmp_path, "own.csv", ROWS + "1,2\n"), stored(tmp_path, "m.jsonl", jsonl(MOONCAKE) + "\n{")]
    problems = merge_files(files, tmp_path).problems
    assert [(each.line, each.message.partition(":")[0]) for each in problems] == [(5, "own.csv"), (3, "m.jsonl")]


def test_files_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    first = stored(tmp_path, "a.jsonl", jsonl(MOONCAKE))
    second = replace(stored(tmp_path, "b.jsonl", jsonl(MOONCAKE)), spec=TraceSpec(block_size_tokens=700))
    with pytest.raises(WorkloadError, match="blocks of different sizes"):
        merge_files([first, second], tmp_path)


def test_merging_tells_how_far_it_is_and_can_be_ended(tmp_path: Path) -> None:
    files = [stored(tmp_path, f"{n}.jsonl", jsonl(MOONCAKE)) for n in range(3)]
    seen: list[tuple[int, int]] = []
    merge_files(files, tmp_path, progress=lambda done, steps: seen.append((done, steps)))
    assert seen == sorted(seen)
    assert seen[-1] == (3, 4)

    def stop(done: int, steps: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge_files([replace(files[0], sha256="other")], tmp_path, progress=stop)
