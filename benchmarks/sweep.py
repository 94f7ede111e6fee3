"""A sweep of 2,000 points of 640 requests each: two warm processes against one, and the same results whatever happens.

Workload: the premium burst (320 + 320 requests of 512 tokens, four sequences) over 50 premium quanta and 40 thresholds,
each point under both cursor rules. One process is this one; two are worker processes that are warm, since both sides do
a small sweep before. Sides take turns, and the bar is on the median of their ratios. Then the sweep is run in a process
that is killed in the middle, and resumed here. All tables must be the same to the byte.

``python benchmarks/sweep.py [--points N] [--repeat N] [--write]``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from support import Clock, Figures

from drr.analysis.sweep import Axis, Span, Sweep
from drr.analysis.sweep_frame import sweep_frame, write_csv
from drr.analysis.sweep_running import Journal, SweepResult, run_sweep
from drr.workload.scenarios import scenario

POINTS = 2000
BAR_RATIO = 1.7
POLL_SECONDS = 0.2


def make_sweep(points: int) -> Sweep:
    """So many points: premium's quantum by its busy threshold."""
    thresholds = min(40, points)
    quanta = Span(16, 8192, "log", True).values(max(points // thresholds, 1))
    axes = (
        Axis("policy_classes.premium.quantum", quanta),
        Axis("policy_classes.premium.prefill_busy_threshold", Span(512, 4096, "linear", True).values(thresholds)),
    )
    return Sweep(base=scenario("premium_burst").experiment, axes=axes)


def children_cpu_s() -> list[float]:
    """Processor time of every child process of this one so far; nothing where the system does not tell."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                found.append((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    return sorted(found)


def time_it(sweep: Sweep, jobs: int) -> tuple[float, float, SweepResult]:
    """Seconds for a sweep with so many warm processes, seconds it would take on idle cores, and its result.

    The second figure is processor time: of the busiest process, or of all of them shared by the cores they use.
    """
    run_sweep(make_sweep(40), jobs=jobs)
    clock, before = Clock(), children_cpu_s()
    result = run_sweep(sweep, jobs=jobs)
    took = clock.elapsed_s()
    workers = [after - start for start, after in zip(before, children_cpu_s(), strict=False)] if jobs > 1 else []
    own = clock.cpu_s()
    return took, max([own, *workers, (own + sum(workers)) / jobs]), result


def written(result: SweepResult, path: Path) -> bytes:
    """The bytes of a result's table."""
    write_csv(sweep_frame(result), path)
    return path.read_bytes()


def killed_and_resumed(points: int, folder: Path) -> tuple[bytes, int, int]:
    """The table of a sweep that was killed about half-way, how many runs it had kept, and how many were left."""
    journal, out = folder / "killed.journal", folder / "killed.csv"
    child = subprocess.Popen(
        [sys.executable, __file__, "--points", str(points), "--child", str(journal)],
        stdin=subprocess.DEVNULL,
    )
    while child.poll() is None and len(Journal(journal).read()) < points // 2:
        time.sleep(POLL_SECONDS)
    child.send_signal(signal.SIGKILL)
    child.wait()
    kept = len(Journal(journal).read())
    result = run_sweep(make_sweep(points), journal=Journal(journal), jobs=2)
    return written(result, out), kept, result.runs_made


def main() -> int:
    """Measure, print, and say with the exit code whether the bars are met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=POINTS, help=f"points of the sweep (default {POINTS:,})")
    parser.add_argument("--repeat", type=int, default=3, help="turns (default 3)")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    sweep = make_sweep(options.points)
    if options.child:
        run_sweep(sweep, journal=Journal(options.child))
        return 0
    figures = Figures()
    seconds: dict[int, list[float]] = {1: [], 2: []}
    idle: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="ringside-sweep-") as scratch:
        folder, tables = Path(scratch), set()
        for turn in range(options.repeat):
            for jobs in (1, 2) if turn % 2 == 0 else (2, 1):
                took, on_idle, result = time_it(sweep, jobs)
                seconds[jobs].append(took)
                idle[jobs].append(on_idle)
                tables.add(written(result, folder / "sweep.csv"))
            print(f"turn {turn + 1}: one {seconds[1][-1]:.1f} s, two {seconds[2][-1]:.1f} s", flush=True)
        table, kept, made = killed_and_resumed(options.points, folder)
        tables.add(table)
    for jobs, name in ((1, "one process"), (2, "two warm processes")):
        figures.add(f"{sweep.size:,} points, {name}", median(seconds[jobs]), "s")
    ratio = median(one / two for one, two in zip(seconds[1], seconds[2], strict=True))
    figures.add("ratio, one process / two", ratio)
    on_idle = median(one / two for one, two in zip(idle[1], idle[2], strict=True))
    figures.add("the same in processor time, as on idle cores", on_idle)
    figures.add("bar on that ratio / ratio", BAR_RATIO / ratio, bar=1.0)
    figures.add("runs kept when it was killed", kept)
    figures.add("runs made after that", made)
    figures.add("different tables of all these sweeps", len(tables), bar=1.0)
    return figures.finish("benchmarks/sweep.py", write=options.write)


if __name__ == "__main__":
    raise SystemExit(main())
