"""1,000,000 generated requests against 100,000: time and memory per request must not grow with the number of requests.

Workload: two streams that keep a cluster of two workers about two thirds full, so that the number of waiting requests
does not depend on the length of the run. Premium: Poisson arrivals, lognormal prompts with common prefixes (Beta share
of hits), some pins and priority jumps; regular: a daily swing, uniform prompts. Each size runs in a fresh process,
sizes take turns, and every figure is the least disturbed of the repetitions.

* generating: spec to request table;
* running: the table through router and mock engines with their prefix caches, everything recorded.

Both report progress; the longest time between two reports is what a cancel has to wait for at most.

``python benchmarks/scale.py [--requests SMALL LARGE] [--repeat N] [--write]``
"""

from __future__ import annotations

import argparse
import gc
import json
import time

from support import Clock, Figures, in_own_process, resident_bytes

from drr.policy import load_policy
from drr.simulation.engine_options import EngineOptions
from drr.simulation.replay import replay
from drr.workload.generate import generate
from drr.workload.spec_reading import load_spec

POLICY = """\
default_policy_family: regular
uncached_isl_buckets: [{min_tokens: 0, bucket: all}]
policy_classes:
  - {name: premium, policy_family: premium, cache_bucket: all, quantum: 512, prefill_busy_threshold: 4096}
  - {name: regular, policy_family: regular, cache_bucket: all, quantum: 128, prefill_busy_threshold: 4096}
"""
SPEC = """\
trace_block_size: 64
streams:
  - header: premium
    requests: {half}
    arrivals: {{shape: poisson, per_second: 45}}
    input_tokens: {{shape: lognormal, median: 400, sigma: 0.6, max: 4096}}
    output_tokens: 1
    cache_hits: {{shape: beta, alpha: 2, beta: 3, groups: 4}}
    pinned: {{share: 0.05, workers: [0, 1]}}
    priority_jump: [{{share: 0.1, seconds: 2}}]
  - header: regular
    requests: {half}
    arrivals: {{shape: diurnal, per_second: 45, swing: 0.3, period_ms: 60000}}
    input_tokens: {{shape: uniform, min: 64, max: 1024}}
    output_tokens: 1
"""
BAR = 1.3
"""Most time or memory per request of the large size over that of the small one."""
MOST_BYTES = 600
"""Most resident memory that a recorded run may hold per request, its requests not counted."""
LONGEST_GAP_S = 1.0
"""Most processor time from one report of progress to the next while requests are generated."""
GENERATIONS = 3
"""Generating is short, so a process does it so many times."""


class Gaps:
    """A progress callback that remembers the longest processor time between two calls."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._last = time.process_time()

    def __call__(self, done: int, total: int) -> None:
        now = time.process_time()
        self.longest_s = max(self.longest_s, now - self._last)
        self._last = now


def side(requests: int) -> dict[str, float]:
    """Generate and run so many requests; processor seconds, bytes and the longest silence of both parts."""
    spec = load_spec(SPEC.format(half=requests // 2))
    profile = load_policy(POLICY).profile_for()
    gc.collect()
    before = resident_bytes()
    gaps, clock = Gaps(), Clock()
    table = generate(spec, gaps)
    found = {
        "generating_s": clock.cpu_s(),
        "generating_bytes": resident_bytes() - before,
        "generating_gap_s": gaps.longest_s,
    }
    assert len(table) == requests
    before = resident_bytes()
    gaps, clock = Gaps(), Clock()
    run = replay(
        profile,
        table,
        workers=2,
        engine=EngineOptions(),
        trace_block_size=spec.trace_block_size,
        progress=gaps,
    )
    found |= {"running_s": clock.cpu_s(), "running_bytes": resident_bytes() - before, "running_gap_s": gaps.longest_s}
    assert run.aborted_because is None
    assert len(run.completion_order) == requests
    del run, table
    for _ in range(GENERATIONS - 1):
        clock = Clock()
        generate(spec)
        found["generating_s"] = min(found["generating_s"], clock.cpu_s())
    return found


def main() -> int:
    """Measure, print, and say with the exit code whether the bars are met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, nargs=2, default=[100_000, 1_000_000], metavar=("SMALL", "LARGE"))
    parser.add_argument("--repeat", type=int, default=2, help="repetitions per size (default 2)")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    parser.add_argument("--side", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(json.dumps(side(options.side)))
        return 0
    small, large = options.requests
    best: dict[int, dict[str, float]] = {}
    for turn in range(options.repeat):
        for requests in (small, large) if turn % 2 == 0 else (large, small):
            found = in_own_process(__file__, "--side", str(requests))
            best[requests] = {key: min(value, best.get(requests, found)[key]) for key, value in found.items()}
            print(f"{requests:,} requests, turn {turn + 1} of {options.repeat}: {found}", flush=True)
    figures = Figures()
    for part in ("generating", "running"):
        for requests in (small, large):
            own = best[requests]
            figures.add(f"{part} {requests:,}, processor time", own[f"{part}_s"] / requests * 1e6, "µs per request")
            held, most = own[f"{part}_bytes"] / requests, MOST_BYTES if (part, requests) == ("running", large) else None
            figures.add(f"{part} {requests:,}, memory held after it", held, "bytes each", bar=most)
            bar = LONGEST_GAP_S if part == "generating" else None
            figures.add(f"{part} {requests:,}, longest silence", own[f"{part}_gap_s"], "s", bar=bar)
        for key, what in (("s", "time"), ("bytes", "memory")):
            ratio = best[large][f"{part}_{key}"] / large / (best[small][f"{part}_{key}"] / small)
            figures.add(f"{part}, ratio of {what} per request", ratio, bar=BAR)
    return figures.finish("benchmarks/scale.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
