"""``sweep``: one experiment at many settings, under both cursor rules, as a table. It goes on where it was ended."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drr.analysis.sweep import Sweep
from drr.analysis.sweep_reading import load_sweep
from drr.analysis.sweep_running import BACKENDS, Journal, Progress, SweepResult, run_sweep
from drr.cli.inputs import positive, progress_line, write_whole

if TYPE_CHECKING:
    from argparse import _SubParsersAction

SHOWN_PROBLEMS = 5


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("sweep", help="run an experiment at many settings", description=__doc__)
    parser.add_argument("--spec", type=Path, required=True, metavar="FILE", help="what to vary (YAML or JSON)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="a line per point, seed, rule, class: .csv or .parquet"
    )
    parser.add_argument("--intervals", type=Path, metavar="FILE", help="means with 95 %% intervals: .csv or .parquet")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help="processes (all cores)")
    parser.add_argument("--backend", choices=BACKENDS, default="local", help="where to run (default: this machine)")
    parser.add_argument("--scheduler", default="", metavar="ADDRESS", help="Dask scheduler, as tcp://127.0.0.1:8786")
    parser.add_argument(
        "--journal", type=Path, metavar="FILE", help="where finished runs are kept (default: OUT.journal)"
    )
    parser.add_argument("--save", metavar="NAME", help="keep the sweep under a name (see `saved`)")
    parser.add_argument("--saved", type=Path, metavar="FOLDER", help="folder of what is saved (default RINGSIDE_SAVED)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: done, 1: some points could not be run, 2: none could, 130: ended early, finished runs are kept."""
    # Here, so that the other verbs do not wait for a library of tables.
    from drr.analysis.saved import free_place, save_sweep, saved_folder
    from drr.analysis.sweep_frame import frame_writer, intervals_frame, sweep_frame

    write = frame_writer(options.out)
    write_intervals = None if options.intervals is None else frame_writer(options.intervals)
    folder = None
    if options.save is not None:
        folder = free_place(saved_folder(options.saved), options.save)
    sweep = load_sweep(options.spec)
    journal = Journal(options.journal or options.out.with_name(options.out.name + ".journal"))
    result = _run(sweep, journal, options)
    if result is None:
        return 130
    frame = sweep_frame(result)
    write_whole(options.out, lambda path: write(frame, path))
    if write_intervals is not None:
        intervals = intervals_frame(frame)
        write_whole(options.intervals, lambda path: write_intervals(intervals, path))
    if folder is not None:
        save_sweep(folder, options.save, sweep, frame)
    known = len({trial.key for trial in result.trials}) - result.runs_made
    others = f", {known:,} were in {journal.path}" if known else ""
    print(
        f"{options.out}: {sweep.size:,} points, {len(result.trials):,} experiments, {len(frame):,} lines "
        f"({result.runs_made:,} run now{others})"
    )
    return _tell_problems(result)


def _run(sweep: Sweep, journal: Journal, options: argparse.Namespace) -> SweepResult | None:
    """The result; None where it was ended from the keyboard."""
    over = 0
    with progress_line("sweep") as report:

        def told(progress: Progress) -> None:
            nonlocal over
            over = progress.over
            report(progress.text())

        try:
            return run_sweep(
                sweep,
                journal=journal,
                jobs=options.jobs,
                backend=options.backend,
                scheduler=options.scheduler,
                report=told,
            )
        except KeyboardInterrupt:
            pass
    print(f"\ninterrupted: {over:,} finished runs are in {journal.path}; the same command goes on", file=sys.stderr)
    return None


def _tell_problems(result: SweepResult) -> int:
    problems = result.problems
    for trial, problem in problems[:SHOWN_PROBLEMS]:
        settings = ", ".join(f"{path} {value}" for path, value in trial.point.settings)
        print(f"point {trial.point.number}, seed {trial.seed} ({settings}): {problem}", file=sys.stderr)
    if len(problems) > SHOWN_PROBLEMS:
        print(f"and {len(problems) - SHOWN_PROBLEMS:,} more; the column `problem` has them", file=sys.stderr)
    return 0 if not problems else 1 if len(problems) < len(result.trials) else 2
