"""Targets that read text: policies, workloads, traces, sweeps, goals, and the lines a person types."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from math import isclose
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from drr.analysis.solver_goals import SAMPLES as GOALS
from drr.analysis.solver_goals import read_goals
from drr.analysis.sweep_reading import read_sweep
from drr.dynamo.probe_plan import read_classes, read_target
from drr.errors import DrrError, PolicyError, WorkloadError
from drr.policy import dump_policy, load_policy, read_policy
from drr.policy.edits import scale_quanta, set_value
from drr.policy.lint import lint_policy
from drr.policy.samples import SAMPLES
from drr.ui.editor.marks import marks
from drr.ui.workers_lines import read_changes, read_taints, write_changes, write_taints
from drr.workload.experiment import SpecWorkload
from drr.workload.generate import generate
from drr.workload.scenarios import SCENARIOS
from drr.workload.spec_reading import dump_spec, load_spec, read_spec
from drr.workload.traces import read_trace
from drr.workload.traces_formats import TIME_UNITS, TraceSpec, look_at
from drr.workload.typed import read_typed
from tests.fuzz.target import Target, must_be_clear, texts

POLICIES = (
    *(each.text() for each in SAMPLES),
    "models: {m: {default_policy_family: a, uncached_isl_buckets: [{min_tokens: 0, bucket: b}],"
    " policy_classes: [{name: c, policy_family: a, cache_bucket: b, quantum: 1}]}}\n"
    "router: {router_temperature: 0.5}\n",
)
POLICY_WORDS = ("quantum", "wspt", "fcfs", "policy_classes", "busy_worker_ratio: 0.5", "min_tokens", "models:\n  m:\n")
MOST_REQUESTS = 300
"""Accepted workloads are made into requests up to so many."""


def found_in(text: str, diagnostics: Sequence[Any]) -> None:
    """Every finding has a place, words, and a mark in the editor."""
    assert all(each.line >= 1 and each.column >= 1 and each.message and each.text("x") for each in diagnostics)
    for mark in marks(text, diagnostics):
        assert 0 <= mark["from"] <= mark["to"]


def as_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass" if b"\xed" in data else "replace") if _decodes(data) else ""


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def policy(data: bytes) -> None:
    reading = read_policy(data)
    assert reading.ok is (reading.document is not None) is (not reading.errors)
    text = as_text(data)
    again = read_policy(text)
    found_in(text, again.diagnostics)
    if again.document is None:
        return
    assert load_policy(dump_policy(again.document)) == again.document
    lint_policy(again.document)
    for change in (
        lambda: set_value(text, "policy_classes[0].quantum", 77),
        lambda: set_value(text, "policy_classes[0].busy_worker_ratio", None),
        lambda: scale_quanta(text, 3.0),
    ):
        try:
            changed = change()
        except PolicyError:
            continue
        assert read_policy(changed).ok


SPECS = tuple(each.experiment.workload.text for each in SCENARIOS if isinstance(each.experiment.workload, SpecWorkload))
SPEC_WORDS = (
    *("shape: poisson", "shape: burst", "shape: on_off", "shape: closed_loop", "shape: sessions", "shape: lognormal"),
    *("think_time_ms: 5", "duration_ms: 100", "requests: 3", "per_second", "pinned", "taints: [x]", "seed: 1"),
)


def workload_spec(data: bytes) -> None:
    reading = read_spec(data)
    assert reading.ok or reading.errors
    text = as_text(data)
    found_in(text, read_spec(text).diagnostics)
    if reading.spec is None:
        return
    assert load_spec(dump_spec(reading.spec)) == reading.spec
    try:
        assert len(generate(reading.spec, _stop_after(MOST_REQUESTS))) >= 0
    except (DrrError, EnoughError):
        return


class EnoughError(Exception):
    """So much of a large workload was made that the rest would be the same."""


def _stop_after(most: int) -> Callable[[int, int], None]:
    def progress(made: int, expected: int) -> None:
        if made > most or expected > most:
            raise EnoughError

    return progress


TYPED = (
    "A (60): 25 45 10\nB (40): 30\n",
    "premium (512, wspt): 512@0 100x20\nregular (128): 512\nworkers 2\nblock 0 @ 3\n",
    "A: 1 2 3\n# nothing\nB: 5*3\n",
)


def typed_queues(data: bytes) -> None:
    text = as_text(data)
    for profile in (None, load_policy(POLICIES[0]).profile_for()):
        reading = read_typed(text, profile)
        found_in(text, reading.diagnostics)


TRACES = (
    '{"timestamp": 0, "input_length": 900, "output_length": 12, "hash_ids": [0, 1]}\n'
    '{"timestamp": 5, "input_length": 100, "output_length": 1, "hash_ids": [0], "policy_class": "premium"}\n',
    '{"session_id": "a", "timestamp": 1, "input_length": 512, "output_length": 3, "hash_ids": [1]}\n'
    '{"session_id": "a", "delay": 4, "input_length": 512, "output_length": 3, "hash_ids": [1], "priority": 2}\n',
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:56:22.0732650,406,90\r\n"
    "2023-11-16 18:56:22.3411871,252,94",
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "19440110.0,1722ac82,43,GPT-4,906,0,906,Conversation log\n19440161.5,,2,ChatGPT,36,29,65,API log\n",
    '{"chat_id": 7, "parent_chat_id": -1, "timestamp": 61.114, "input_length": 40, "output_length": 9, "type": "text",'
    ' "turn": 1, "hash_ids": [5, 6, 7]}\n{"chat_id": 8, "parent_chat_id": 7, "timestamp": 62.5, "input_length": 60,'
    ' "output_length": 3, "type": "search", "turn": 2, "hash_ids": [5, 6, 7, 8]}\n',
    "arrival_ms;policy_class; raw_isl_tokens ;cached_tokens\n"
    "0;premium;1,024;0\n10,5;regular;2.048;0\n20;premium;512;\n",
    "time\tisl\n1700000000123456789\t5\n",
    "created_at|isl|cached\n2024-01-01T00:00:00Z|5|2\n2024-01-01T01:00:00+01:00|7|\n",
    '{"arrival_s": 1.5, "prompt_tokens": 5, "completion_tokens": 6, "class": "a"}\n',
)
TRACE_WORDS = (
    "timestamp",
    "input_length",
    "hash_ids",
    "session_id",
    "delay",
    "9999-12-31",
    "0001-01-01",
    '"',
    ";",
    "1e5",
)
# How a person may say that a file is to be read, whatever it is.
FORCED = (
    TraceSpec("csv", "date", columns=(("timestamp", "time"), ("input_length", "isl"))),
    TraceSpec("jsonl", "ns", columns=(("timestamp", "arrival_s"), ("input_length", "prompt_tokens"))),
    TraceSpec("mooncake", "s", block_size_tokens=1),
    TraceSpec("azure", "date", columns=(("timestamp", "TIMESTAMP"), ("input_length", "ContextTokens"))),
    TraceSpec("qwen_bailian", "s", columns=(("timestamp", "timestamp"), ("input_length", "input_length"))),
)


def trace(data: bytes) -> None:
    try:
        look = look_at(data)
        assert look.column_names is not None
    except WorkloadError as error:
        must_be_clear(error)
    for spec in (None, *FORCED):
        for lenient in (False, True):
            try:
                reading = read_trace(data, spec, lenient=lenient)
            except WorkloadError as error:
                must_be_clear(error)
                continue
            assert 0 < len(reading.requests) == len(reading.lines)
            assert all(tokens >= 1 for tokens in reading.requests.isl_tokens)
            assert all(stamp is None or abs(stamp) < float("inf") for stamp in reading.requests.timestamp_ms)


def gzipped_trace(data: bytes) -> None:
    """The same, packed, with the damage where the gzip is."""
    packed = bytearray(gzip.compress(TRACES[0].encode(), mtime=0))
    for index, byte in islice(enumerate(data), 0, len(packed)):
        if byte % 7 == 0:
            packed[(index * 31) % len(packed)] ^= byte
    trace(bytes(packed))


SWEEPS = (
    "base: {scenario: premium_burst, workers: 2, engine: {max_num_seqs: 4}}\n"
    "axes:\n- {path: policy_classes.premium.quantum, values: [64, 128, 512]}\n"
    "- {path: engine.max_num_seqs, from: 1, to: 64, steps: 7, spacing: log}\nreplications: 2\n",
    "base:\n  workload_text: 'streams: [{header: a, requests: 5, arrivals: {shape: burst}, input_tokens: 512}]'\n"
    "axes: [{path: speedup, from: 0.5, to: 2}]\nsample: {points: 20, seed: 3}\n",
    "base: {policy: nothing.yaml, trace: nothing.jsonl, class_mapping: {kind: first_block}}\n"
    "axes: [{path: seed, values: [1]}]\n",
)
SWEEP_WORDS = (
    "values",
    "from",
    "to",
    "steps",
    "log",
    "linear",
    "sample",
    "workers",
    "cursor_rule",
    "scenario",
    "1e308",
)


def sweep(data: bytes) -> None:
    reading = read_sweep(data, folder=Path("/nonexistent"))
    assert reading.sweep is not None or any(each.severity == "error" for each in reading.diagnostics)
    found_in(as_text(data), reading.diagnostics)
    if reading.sweep is not None:
        assert list(islice(reading.sweep.points(), 20))


def goals(data: bytes) -> None:
    lines = as_text(data).splitlines()
    try:
        found = read_goals(lines, ("premium", "regular"))
    except WorkloadError as error:
        must_be_clear(error)
        return
    assert found
    again = read_goals([goal.text() for goal in found], ("premium", "regular"))
    for one, other in zip(found, again, strict=True):
        assert replace(one, value=0.0, close=0.0) == replace(other, value=0.0, close=0.0)
        assert isclose(one.value, other.value, rel_tol=1e-9)
    for goal in found:
        assert goal.violation(0.3) >= 0
        assert goal.violation(None) >= 0
        assert goal.shown(0.3)


def worker_lines(data: bytes) -> None:
    text = as_text(data)
    for read, write in ((read_changes, write_changes), (read_taints, write_taints)):
        try:
            found = read(text)
        except WorkloadError as error:
            must_be_clear(error)
            continue
        assert read(write(found)) == found  # type: ignore[operator]


def endpoint_address(data: bytes) -> None:
    text = as_text(data)
    for read in (read_target, read_classes):
        try:
            read(text)
        except DrrError as error:
            must_be_clear(error)


TARGETS = (
    Target("policy", texts(POLICIES, POLICY_WORDS), policy),
    Target("workload_spec", texts(SPECS, SPEC_WORDS), workload_spec),
    Target("typed_queues", texts(TYPED, ("workers 3", "add", "wspt", "@", "x", "*", "block")), typed_queues),
    Target("trace", texts(TRACES, (*TRACE_WORDS, *TIME_UNITS)), trace),
    Target("gzipped_trace", st.binary(max_size=200), gzipped_trace),
    Target("sweep", texts(SWEEPS, SWEEP_WORDS), sweep),
    Target("goals", texts(("\n".join(GOALS), *GOALS), ("max", "every class", "%", "±", "ttft", "p99", " : ")), goals),
    Target("worker_lines", texts(("overload 0 @ 5 s\nadd 3 @ 10 ms\n", "0: large-memory h100\n1: x\n")), worker_lines),
    Target(
        "endpoint_address",
        texts(("http://127.0.0.1:8000/v1", "https://[::1]/x", "premium=320, regular=5"), ("@", "//", "?", "#", "%00")),
        endpoint_address,
    ),
)
