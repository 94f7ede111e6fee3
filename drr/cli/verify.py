"""``verify``: our engine beside recordings of the real router, or beside the installed real router itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drr.cli.inputs import positive, progress_line

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from drr.dynamo.verify import Difference


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("verify", help="compare with the real router", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--recorded", nargs="+", type=Path, metavar="FILE", help="recordings (.json, .json.gz)")
    what.add_argument("--router", action="store_true", help="random cases through the installed real router")
    parser.add_argument("--cases", type=positive, default=None, metavar="N", help="replays to compare (default 100)")
    parser.add_argument("--policies", type=positive, default=None, metavar="N", help="policy files to compare instead")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="first seed (default 0)")
    parser.add_argument("--category", action="append", metavar="C", help="only this category; may be repeated")
    parser.add_argument("--list", action="store_true", dest="list_categories", help="list the categories and stop")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="keep every case that differs as a JSON file here")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: everything identical, 1: a difference, 2: it could not be compared."""
    if options.recorded:
        return _recorded(options.recorded)
    if options.list_categories:
        return _list()
    code = 0
    if options.policies is not None:
        code = _policies(options)
    if options.cases is not None or options.policies is None:
        code = max(code, _replays(options))
    return code


def _recorded(paths: list[Path]) -> int:
    from drr.dynamo.recordings import check_recording

    code = 0
    for path in paths:
        check = check_recording(path)
        print(check.text())
        for name, difference in check.differences.items():
            print(f"  {name}: {difference}")
            code = 1
    return code


def _list() -> int:
    from drr.dynamo.cases import CATEGORIES

    for name, category in CATEGORIES.items():
        print(f"{name:32} {category.description}")
    return 0


def _replays(options: argparse.Namespace) -> int:
    from drr.dynamo.verify import verify_router

    with progress_line("comparing") as report:
        result = verify_router(
            100 if options.cases is None else options.cases,
            seed=options.seed,
            categories=options.category,
            progress=lambda done, total, case: report(f"{done:,} of {total:,}, now {case}"),
        )
    print(f"real router: ai-dynamo-runtime {result.version}")
    for name, count in result.counts.items():
        aborted = f", {count.aborted_alike} aborted alike" if count.aborted_alike else ""
        rows = f"{count.rows:,} rows ({count.queued_rows:,} through the ring)"
        print(f"{name}: {count.identical}/{count.cases} identical{aborted}, {rows}")
    print(f"all: {result.identical}/{result.cases} identical")
    _show(result.differences, options.save)
    return 0 if result.ok else 1


def _show(differences: Sequence[Difference], folder: Path | None) -> None:
    """Print the replays that part, and keep them in a folder where one is named."""
    for difference in differences:
        print(f"  {difference.case.case_id}: {difference.text}")
        if folder is not None:
            print(f"    saved as {difference.save(folder)}")


def _policies(options: argparse.Namespace) -> int:
    from drr.dynamo.verify import verify_policies

    with progress_line("comparing") as report:
        result = verify_policies(
            options.policies,
            seed=options.seed,
            progress=lambda done, total, case: report(f"{done:,} of {total:,}, now {case}"),
        )
    agree = result.files - len(result.disagreements)
    print(f"policy files: {agree}/{result.files} same verdict ({result.accepted} accepted by the real loader)")
    for kind, count in result.kinds.most_common():
        example = next(d for d in result.disagreements if d.kind == kind)
        print(f"  {count} x {kind}; first: policy/{example.seed}")
        if options.save is not None:
            print(f"    saved as {example.save(options.save)}")
    same = result.replayed - len(result.differences)
    print(f"replayed under them: {same}/{result.replayed} identical")
    _show(result.differences, options.save)
    return 0 if result.ok else 1
