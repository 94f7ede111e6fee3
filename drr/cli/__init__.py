"""The command line: ``python -m drr VERB`` (or ``ringside VERB``).

Every verb is a module of this package with ``add_parser`` and ``run``. Exit codes: 0 fine, 1 the answer is no (a policy
refused, a difference found), 2 it could not be done (bad input, unreadable file), 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from drr import __version__
from drr.cli import app as app_verb
from drr.cli import compare_real as compare_real_verb
from drr.cli import explain as explain_verb
from drr.cli import export as export_verb
from drr.cli import probe as probe_verb
from drr.cli import run as run_verb
from drr.cli import saved as saved_verb
from drr.cli import solve as solve_verb
from drr.cli import sweep as sweep_verb
from drr.cli import trace as trace_verb
from drr.cli import validate as validate_verb
from drr.cli import verify as verify_verb
from drr.errors import DrrError

VERBS = (
    app_verb,
    validate_verb,
    run_verb,
    explain_verb,
    export_verb,
    trace_verb,
    sweep_verb,
    solve_verb,
    saved_verb,
    verify_verb,
    compare_real_verb,
    probe_verb,
)


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    what = "Run, check and explain Deficit Round Robin in an LLM router."
    top = argparse.ArgumentParser(prog="drr", description=what)
    top.add_argument("--version", action="version", version=f"ringside {__version__}")
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in VERBS:
        verb.add_parser(verbs)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except DrrError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) went away; say nothing more, and keep Python from saying it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
