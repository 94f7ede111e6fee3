"""Trace file to per-request results, ours with everything recorded, next to the real router's replay of the same file.

Workload: premium 512 / regular 128, busy threshold 1,536 tokens, one worker with four sequences, requests of 512 tokens
and one output token, classes alternating, all at once, limits lifted, no prefix caching. Each side runs in a fresh
process per repetition, sides take turns, and only the work is timed: not the start of a process, not its imports.

* ours: read the policy and the trace, run with recording on (cursor rule ``carry``, the one the real router has), make
  one result row per request;
* the real router: read the policy and the trace, run (*the call*), hand out ``per_request`` as Python objects. Its own
  ``wall_time_ms`` covers the simulation alone, without reading and handing out (*inside*).

The bar is on *file to results*, the same work on both sides. The other ratios say how much of that is handing out.

``python benchmarks/replay.py [--requests N ...] [--repeat N] [--write]``. Without the real router's wheel only our side
is measured, and the bar is not checked.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
import tracemalloc
from pathlib import Path

from support import Clock, Figures, in_own_process, medians, resident_bytes

from drr.dynamo import router_unavailable_because, router_version
from drr.policy import load_policy
from drr.simulation.engine_options import EngineOptions
from drr.simulation.recording import Run
from drr.simulation.replay import replay
from drr.workload.mooncake import read_mooncake

ISL_TOKENS = 512
ENGINE = {
    "max_num_seqs": 4,
    "max_num_batched_tokens": 8192,
    "block_size": 512,
    "num_gpu_blocks": 100_000,
    "enable_prefix_caching": False,
}
POLICY = """\
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: premium, policy_family: premium, cache_bucket: all, quantum: 512, prefill_busy_threshold: 1536}
  - {name: regular, policy_family: regular, cache_bucket: all, quantum: 128, prefill_busy_threshold: 1536}
"""
BAR_REQUESTS = 100_000
BAR_RATIO = 1.0
BYTES_BAR = 600.0
COUNTED_REQUESTS = 20_000
"""Memory is counted allocation by allocation, which is slow; it grows linearly, so a smaller run tells as much."""


def write_trace(path: Path, requests: int) -> None:
    """The workload as a trace file."""
    with path.open("w", encoding="utf-8") as file:
        for row in range(requests):
            line = {
                "timestamp": 0,
                "input_length": ISL_TOKENS,
                "output_length": 1,
                "hash_ids": [row],
                "policy_class": ("premium", "regular")[row % 2],
            }
            file.write(json.dumps(line) + "\n")


def our_run(path: Path, *, record: bool = True) -> tuple[Run, float]:
    """Read and run; returns the run and the seconds that reading took."""
    clock = Clock()
    profile = load_policy(POLICY).profile_for()
    table = read_mooncake(path).requests
    reading_s = clock.elapsed_s()
    engine = EngineOptions.from_mapping(ENGINE)
    return replay(profile, table, engine=engine, cursor_rule="carry", record=record), reading_s


def time_ours(path: Path) -> dict[str, float]:
    """One repetition of our side, in seconds, and the memory that is held when all is done, in bytes."""
    before = resident_bytes()
    clock = Clock()
    run, reading_s = our_run(path)
    ran_s = clock.elapsed_s()
    rows = run.result_rows()
    all_s, cpu_s = clock.elapsed_s(), clock.cpu_s()
    assert len(rows) == len(run.completion_order)
    resident = resident_bytes() - before
    other = Clock()
    _ = run.other_rule
    return {
        "all_s": all_s,
        "cpu_s": cpu_s,
        "reading_s": reading_s,
        "running_s": ran_s - reading_s,
        "handing_out_s": all_s - ran_s,
        "other_rule_s": other.elapsed_s(),
        "resident_bytes": resident,
    }


def count_memory(path: Path) -> dict[str, float]:
    """What a recorded run and the requests it was made from hold, in bytes, counted by the interpreter."""
    tracemalloc.start()
    run, _ = our_run(path)
    gc.collect()
    with_all = tracemalloc.get_traced_memory()[0]
    requests, run.recorder = len(run.requests), None
    gc.collect()
    return {
        "bytes": with_all / requests,
        "recorded_bytes": (with_all - tracemalloc.get_traced_memory()[0]) / requests,
    }


def time_real(path: Path) -> dict[str, float]:
    """One repetition of the real router, in seconds. It is native code that holds the interpreter while it works."""
    from dynamo import _core as core

    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as policy:
        policy.write(POLICY)
        policy.flush()
        clock = Clock()
        result = core.run_mocker_trace_replay(
            [str(path)],
            router_mode="kv_router",
            num_workers=1,
            router_config=core.KvRouterConfig(router_policy_config=policy.name),
            trace_block_size=ENGINE["block_size"],
            extra_engine_args={"engine": ENGINE},
            capture_per_request=True,
        )
        call_s, call_cpu_s = clock.elapsed_s(), clock.cpu_s()
        requests = result.per_request
        all_s, cpu_s = clock.elapsed_s(), clock.cpu_s()
    assert len(requests) > 0
    inside_s = result.summary["wall_time_ms"] / 1000.0
    return {"all_s": all_s, "cpu_s": cpu_s, "call_s": call_s, "call_cpu_s": call_cpu_s, "inside_s": inside_s}


def add_ours(figures: Figures, requests: int, ours: dict[str, float]) -> None:
    """Our side alone."""
    for key, what in (
        ("all_s", "file to results"),
        ("reading_s", "of that reading"),
        ("running_s", "of that running, recorded"),
        ("handing_out_s", "of that making result rows"),
        ("other_rule_s", "the other cursor rule on top, when asked for"),
    ):
        figures.add(f"{requests:,} requests, ours, {what}", ours[key] * 1e6 / requests, "µs per request")
    figures.add(
        f"{requests:,} requests, ours, resident memory with rows", ours["resident_bytes"] / requests, "bytes each"
    )


def add_both(figures: Figures, requests: int, ours: list[dict[str, float]], real: list[dict[str, float]]) -> None:
    """The real router, and the medians of the ratios of neighbouring runs."""
    theirs = medians(real)
    for key, what in (
        ("all_s", "file to results"),
        ("call_s", "of that the call (reading and simulating)"),
        ("inside_s", "of that inside (simulating, its own figure)"),
    ):
        figures.add(f"{requests:,} requests, real router, {what}", theirs[key] * 1e6 / requests, "µs per request")
    ratio = medians(
        [
            {
                "results": a["all_s"] / b["all_s"],
                "cpu": a["cpu_s"] / b["cpu_s"],
                "call": a["all_s"] / b["call_s"],
                "call_cpu": a["cpu_s"] / b["call_cpu_s"],
                "inside": a["running_s"] / b["inside_s"],
            }
            for a, b in zip(ours, real, strict=True)
        ]
    )
    bar = BAR_RATIO if requests >= BAR_REQUESTS else None
    figures.add(f"{requests:,} requests, ratio, file to results on both sides", ratio["results"], bar=bar)
    figures.add(f"{requests:,} requests, ratio, the same in processor time", ratio["cpu"])
    figures.add(f"{requests:,} requests, ratio, our file to results / the real call alone", ratio["call"])
    figures.add(f"{requests:,} requests, ratio, that in processor time", ratio["call_cpu"])
    figures.add(f"{requests:,} requests, ratio, our recorded running / the real router inside", ratio["inside"])


def measure(figures: Figures, folder: Path, requests: int, repeat: int) -> None:
    """Both sides on one trace, turn by turn."""
    path = folder / f"{requests}.jsonl"
    write_trace(path, requests)
    sides = ["ours"] if router_unavailable_because() else ["ours", "real"]
    samples: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for turn in range(repeat):
        for side in sides if turn % 2 == 0 else reversed(sides):
            samples[side].append(in_own_process(__file__, "--side", side, str(path)))
        said = ", ".join(f"{side} {samples[side][-1]['all_s']:.2f} s" for side in sides)
        print(f"{requests:,} requests, turn {turn + 1} of {repeat}: {said}", flush=True)
    add_ours(figures, requests, medians(samples["ours"]))
    if "real" in samples:
        add_both(figures, requests, samples["ours"], samples["real"])


SIDES = {"ours": time_ours, "real": time_real, "memory": count_memory}


def main() -> int:
    """Measure, print, and say with the exit code whether the bars are met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, nargs="+", default=[100_000, 500_000], help="sizes of the workload")
    parser.add_argument("--repeat", type=int, default=5, help="turns per size (default 5; from 500,000 on 1)")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    parser.add_argument("path", nargs="?", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(SIDES[options.side](options.path)))
        return 0
    figures = Figures()
    missing = router_unavailable_because()
    print(missing or f"real router: ai-dynamo-runtime {router_version()}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="ringside-replay-") as scratch:
        for requests in options.requests:
            measure(figures, Path(scratch), requests, 1 if requests >= 500_000 else options.repeat)
        path = Path(scratch) / "counted.jsonl"
        write_trace(path, COUNTED_REQUESTS)
        memory = in_own_process(__file__, "--side", "memory", str(path))
        figures.add("requests and recorded run, counted memory", memory["bytes"], "bytes each", bar=BYTES_BAR)
        figures.add("of that the record of all steps and calls", memory["recorded_bytes"], "bytes each")
    return figures.finish("benchmarks/replay.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
