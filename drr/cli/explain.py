"""``explain``: what happened at one step of a run, in the sentences of the stage."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from drr.analysis.explain import explain
from drr.cli.inputs import add_run_arguments, load_run
from drr.errors import DrrError
from drr.simulation.recording import Run

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("explain", help="explain one step of a run", description=__doc__)
    add_run_arguments(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--step", type=_place, metavar="K", help="the K-th step, from 1; 0 is before the first")
    which.add_argument("--decision", type=_place, metavar="N", help="the step that is the N-th decision, from 1")
    parser.add_argument("--rule-by-rule", action="store_true", help="add a line for every class the call visited")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: explained, 2: there is no such step or run."""
    done = load_run(options)
    step = _step(done, options)
    told = explain(done, step)
    if step >= 0:
        time = f"{done.times_ms[step]:,.3f} ms"
        print(f"Step {step + 1:,} of {done.n_steps:,} at {time}, cursor rule {done.cursor_rule}")
    print(told)
    if options.rule_by_rule:
        for line in told.details:
            print(f"  {line.visit_index + 1}. {line.text}")
    if done.aborted_because:
        print(f"the run ended early: {done.aborted_because}", file=sys.stderr)
    return 0


def _place(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number")
    return int(text)


def _step(done: Run, options: argparse.Namespace) -> int:
    """The index of the step asked for; raises :class:`DrrError` where the run has no such step."""
    if options.step is not None:
        step: int = options.step - 1
        if step >= done.n_steps:
            raise DrrError(f"--step {options.step}: the run has {done.n_steps:,} steps; 0 is before the first")
        return step
    decisions = done.decision_steps
    if not 1 <= options.decision <= len(decisions):
        hint = "" if decisions else " (nothing ever waited, so the ring had nothing to decide)"
        raise DrrError(f"--decision {options.decision}: the run has {len(decisions):,} decisions, from 1{hint}")
    number: int = options.decision
    return decisions[number - 1]
