"""``saved``: runs and sweeps kept under a name: keep one, list, show, run again, compare, ask in SQL."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drr.cli.experiment_inputs import add_experiment_arguments, experiment_of
from drr.cli.inputs import progress_line
from drr.errors import DrrError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    import pandas as pd

MOST_LINES = 60


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("saved", help="runs and sweeps kept under a name", description=__doc__)
    parser.add_argument("--saved", type=Path, metavar="FOLDER", help="folder of what is saved (default RINGSIDE_SAVED)")
    what = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    what.add_parser("list", help="everything that is saved").set_defaults(act=_list)
    keep = what.add_parser("keep", help="run an experiment and keep it")
    keep.add_argument("name", metavar="NAME")
    keep.add_argument("--replace", action="store_true", help="in the place of what has this name")
    add_experiment_arguments(keep)
    keep.set_defaults(act=_keep)
    show = what.add_parser("show", help="what one of them is, and its figures")
    show.add_argument("name", metavar="NAME")
    show.add_argument("--json", action="store_true", help="print its manifest")
    show.set_defaults(act=_show)
    again = what.add_parser("rerun", help="run it again and say whether every figure is the same")
    again.add_argument("name", metavar="NAME")
    again.set_defaults(act=_rerun)
    compare = what.add_parser("compare", help="figures of two side by side")
    compare.add_argument("first", metavar="FIRST")
    compare.add_argument("second", metavar="SECOND")
    compare.set_defaults(act=_compare)
    ask = what.add_parser("query", help="a question in SQL, to the tables saved, runs, sweeps and to every name")
    ask.add_argument("sql", metavar="SQL")
    ask.add_argument("--csv", action="store_true", help="print the answer as CSV")
    ask.set_defaults(act=_query)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: done, 1: a second run differs, 2: it cannot be done."""
    # Here, so that the other verbs do not wait for a library of tables.
    from drr.analysis.saved import saved_folder

    code: int = options.act(options, saved_folder(options.saved))
    return code


def _list(options: argparse.Namespace, folder: Path) -> int:
    from drr.analysis.saved import saved_in

    found = saved_in(folder)
    if not found:
        print(f"nothing is saved in {folder}")
    for each in found:
        if each.problem:
            print(f"{each.name}: {each.problem}", file=sys.stderr)
        else:
            print(f"{each.name}  {each.kind}  {each.manifest['saved_at']}  {each.line()}")
    return 0


def _keep(options: argparse.Namespace, folder: Path) -> int:
    from drr.analysis.saved import free_place, save_run

    if not options.replace:
        free_place(folder, options.name)
    experiment = experiment_of(options)
    with progress_line("running") as report:
        done = experiment.run(lambda over, total: report(f"{over:,} of {total:,} requests"), record=False)
    saved = save_run(folder, options.name, experiment, done, replace=options.replace)
    print(f"{saved.name}: {saved.line()}")
    return 0


def _show(options: argparse.Namespace, folder: Path) -> int:
    from drr.analysis.saved import load, saved_figures

    saved = load(folder, options.name)
    if options.json:
        print(json.dumps(saved.manifest, indent=2, ensure_ascii=False))
        return 0
    print(f"{saved.name}, a {saved.kind} saved {saved.manifest['saved_at']} by ringside {saved.manifest['ringside']}")
    print(saved.line())
    _print(saved_figures(saved))
    return 0


def _rerun(options: argparse.Namespace, folder: Path) -> int:
    from drr.analysis.saved import load, same_again

    saved = load(folder, options.name)
    with progress_line("running") as report:
        is_same = same_again(saved, lambda over, total: report(f"{over:,} of {total:,}"))
    print(f"{saved.name}: every figure is {'the same' if is_same else 'NOT the same'}")
    return 0 if is_same else 1


def _compare(options: argparse.Namespace, folder: Path) -> int:
    from drr.analysis.saved import compare_saved, load

    _print(compare_saved(load(folder, options.first), load(folder, options.second)))
    return 0


def _query(options: argparse.Namespace, folder: Path) -> int:
    from drr.analysis.saved import saved_in
    from drr.analysis.saved_query import query
    from drr.analysis.sweep_frame import sheet

    everything = saved_in(folder)
    if not everything:
        raise DrrError(f"nothing is saved in {folder}, so there is nothing to ask")
    answer = query(everything, options.sql)
    if options.csv:
        print(sheet(answer), end="")
    else:
        _print(answer)
    return 0


def _print(frame: pd.DataFrame) -> None:
    print(frame.head(MOST_LINES).to_string(index=False, na_rep="-", float_format=lambda value: f"{value:,.6g}"))
    if len(frame) > MOST_LINES:
        print(f"and {len(frame) - MOST_LINES:,} more lines")
