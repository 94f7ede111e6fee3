"""``run``: a policy on a trace, results per request, and the outcome under both cursor rules."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from drr.analysis.log import safe_row
from drr.analysis.outcomes import ClassFigures, class_figures, other_rule_line, result_line
from drr.cli.inputs import add_run_arguments, load_run, write_whole
from drr.errors import WorkloadError
from drr.simulation.recording import ResultRow, Run

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("run", help="run a policy on a trace", description=__doc__)
    add_run_arguments(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="results per request: .csv, .jsonl or .parquet")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: done, 1: the run aborted, 2: it could not be made."""
    writer = None if options.out is None else _writer(options.out)
    done = load_run(options, record=False)
    if writer is not None:
        write_whole(options.out, lambda path: writer(done, path))
    other = done.other_rule
    if options.json:
        print(json.dumps(_summary(done, other), indent=2))
    else:
        print(result_line(done))
        print(other_rule_line(done))
        for each in (done, other):
            print(f"\n{each.cursor_rule}:")
            _print_table(class_figures(each))
    return 1 if done.aborted_because else 0


def _writer(path: Path) -> Callable[[Run, Path], None]:
    writers = {".csv": _write_csv, ".jsonl": _write_jsonl, ".parquet": _write_parquet}
    if path.suffix not in writers:
        raise WorkloadError(f"--out {path}: the name has to end in {', '.join(writers)}")
    return writers[path.suffix]


def _write_csv(run: Run, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(ResultRow._fields)
        rows.writerows(map(safe_row, run.result_rows()))


def _write_jsonl(run: Run, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row._asdict()) + "\n" for row in run.result_rows())


def _write_parquet(run: Run, path: Path) -> None:
    # Here, so that the other endings do not wait for a library of tables.
    import pandas as pd

    from drr.analysis.sweep_frame import write_parquet

    write_parquet(pd.DataFrame(run.result_rows()), path)


def _summary(run: Run, other: Run) -> dict[str, object]:
    return {
        "result": result_line(run),
        "other_rule_result": other_rule_line(run),
        "cursor_rule": run.cursor_rule,
        "aborted_because": run.aborted_because,
        "rules": {each.cursor_rule: [asdict(f) for f in class_figures(each)] for each in (run, other)},
    }


def _print_table(figures: list[ClassFigures]) -> None:
    heads: tuple[str, ...] = ("class", "quantum", "asked", "got", "requests", "tokens")
    heads += ("wait p50", "p95", "p99 ms", "TTFT p50", "refused")
    lines = [heads]
    lines += [
        (
            f.name,
            f"{f.quantum:,}",
            _share(f.asked_share),
            _share(f.got_share),
            f"{f.requests:,}",
            f"{f.service_tokens:,}",
            *(_ms(value) for value in (f.wait.p50, f.wait.p95, f.wait.p99, f.ttft.p50)),
            f"{f.refused:,}",
        )
        for f in figures
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))]
        print("  " + "  ".join(cells))


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"
