"""``solve``: quanta that keep goals for shares, waits and refusals, found by running the engine."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from drr.analysis.solver import Predicted, Solution, solve
from drr.analysis.solver_goals import SAMPLES, Goal, read_goals
from drr.analysis.solver_words import verdict
from drr.cli.experiment_inputs import add_experiment_arguments, experiment_of
from drr.cli.inputs import positive, progress_line, write_bytes_whole
from drr.errors import WorkloadError
from drr.scheduler.ring import CURSOR_RULES, CursorRule
from drr.workload.experiment import Experiment

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    more = f"Goals look like: {'; '.join(SAMPLES)}.".replace("%", "%%")
    parser = verbs.add_parser(
        "solve", help="find quanta that keep goals", description=f"{(__doc__ or '').replace('%', '%%')} {more}"
    )
    add_experiment_arguments(parser)
    parser.add_argument("--goal", action="append", default=[], metavar="TEXT", help="a goal; may be repeated")
    parser.add_argument("--goals", type=Path, metavar="FILE", help="goals, one per line")
    rules = (*CURSOR_RULES, "both")
    parser.add_argument("--cursor", choices=rules, default="both", help="rule under which goals count (default both)")
    parser.add_argument("--seeds", type=positive, default=10, metavar="N", help="seeds per candidate (default 10)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the policy with the new quanta")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: found, 1: it cannot be done (what comes closest is shown), 2: the question makes no sense."""
    experiment = experiment_of(options)
    goals = _goals(options, experiment)
    rules: tuple[CursorRule, ...] = CURSOR_RULES if options.cursor == "both" else (options.cursor,)
    with progress_line("solving") as report:
        solution = solve(
            experiment,
            goals,
            rules=rules,
            seeds=options.seeds,
            progress=lambda tried, most: report(f"{tried:,} candidates tried, {most:,} at most"),
        )
    if options.out is not None:
        write_bytes_whole(options.out, solution.experiment.policy_text.encode())
    if options.json:
        print(json.dumps(as_json(solution), indent=2, ensure_ascii=False))
    else:
        _print(solution)
    return 0 if solution.is_met else 1


def _goals(options: argparse.Namespace, experiment: Experiment) -> tuple[Goal, ...]:
    lines = list(options.goal)
    if options.goals is not None:
        try:
            lines += options.goals.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise WorkloadError(f"cannot read the goals {options.goals}: {error}") from None
    return read_goals(lines, [each.name for each in experiment.profile().classes])


def as_json(solution: Solution) -> dict[str, object]:
    """The result as plain data."""
    return {
        "is_met": solution.is_met,
        "verdict": verdict(solution),
        "quanta": dict(solution.quanta),
        "before": dict(solution.before),
        "predicted": [{**asdict(each), "goal": each.goal.text()} for each in solution.predicted],
        "notes": list(solution.notes),
        "runs": solution.runs,
    }


def _print(solution: Solution) -> None:
    print(verdict(solution))
    heads = ("goal", "rule", "expected", "one run, 95 %", "kept")
    lines = [heads, *(_line(each) for each in solution.predicted)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    print()
    for line in lines:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print()
    for note in solution.notes:
        print(note)
    print(f"It took {solution.runs:,} runs of the engine.")


def _line(each: Predicted) -> tuple[str, ...]:
    goal = each.goal
    span = "-" if each.low is None or each.low == each.high else f"{goal.shown(each.low)} to {goal.shown(each.high)}"
    kept = f"{each.kept} of {each.seeds}" if each.seeds > 1 else "yes" if each.is_met else "no"
    return goal.text(), each.cursor_rule, goal.shown(each.mean), span, kept
