"""``compare-real``: a policy and a trace on the installed real router, row by row beside ours under both rules."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drr.cli.inputs import (
    add_case_arguments,
    engine_options,
    load_profile,
    load_requests,
    progress_line,
    write_bytes_whole,
)
from drr.errors import PolicyError
from drr.policy import read_policy
from drr.scheduler.ring import CURSOR_RULES

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from drr.dynamo.case import ReplayCase
    from drr.dynamo.side_by_side import SideBySide

DIFFERENCES_PRINTED = 10


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("compare-real", help="a policy and a trace beside the real router", description=__doc__)
    add_case_arguments(parser)
    parser.add_argument("--rule", choices=CURSOR_RULES, help="the rule that has to agree (default: either)")
    parser.add_argument("--time-limit", type=float, default=600.0, metavar="S", help="of the real replay (default 600)")
    parser.add_argument("--differences", type=Path, metavar="FILE", help="write the rows that differ as CSV")
    parser.add_argument("--hand-over", type=Path, metavar="FILE", help="write policy, trace and commands as one zip")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: every row identical, 1: some differ, 2: it could not be compared."""
    from drr.dynamo.handover import handover_zip
    from drr.dynamo.side_by_side import compare_with_real, differences_csv

    case = _case(options)
    if options.hand_over is not None:
        write_bytes_whole(options.hand_over, handover_zip(case))
        print(f"hand-over: {options.hand_over}")
    with progress_line("comparing") as report:
        found = compare_with_real(
            case,
            time_limit_s=options.time_limit,
            progress=lambda done, parts: report("the real router" if not done else f"ours, {done} of {parts - 1}"),
        )
    print(f"real router: ai-dynamo-runtime {found.version}")
    print(found.counts_text())
    print(found.verdict())
    rule = options.rule or max(found.answers, key=lambda answer: (answer.first is None, answer.identical)).rule
    _print_differences(found, rule)
    if options.differences is not None:
        write_bytes_whole(options.differences, differences_csv(found, rule).encode())
    return 0 if rule in found.explained_by else 1


def _case(options: argparse.Namespace) -> ReplayCase:
    from drr.dynamo.side_by_side import case_from_table, engine_mapping

    load_profile(options.policy, options.model)  # everything that is wrong with it, said at once
    text = ""
    if options.policy is not None:
        try:
            text = options.policy.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyError(f"cannot read policy {options.policy}: {error}") from None
        reading = read_policy(text, source=str(options.policy))
        if reading.document is not None and reading.document.sections:
            names = ", ".join(reading.document.sections)
            print(f"note: the real router also follows the sections {names}, which are not simulated here")
    requests, trace_block_size = load_requests(options)
    extra: dict[str, Any] = {}
    if options.model is not None:
        extra["model_name"] = options.model
    if options.speedup != 1.0:
        extra["arrival_speedup_ratio"] = options.speedup
    return case_from_table(
        text,
        requests,
        workers=options.workers,
        engine=engine_mapping(engine_options(options.engine)),
        trace_block_size=trace_block_size,
        options=extra,
    )


def _print_differences(found: SideBySide, rule: str) -> None:
    answer = next(answer for answer in found.answers if answer.rule == rule)
    if answer.first is None:
        return
    if not answer.differing:
        print(f"{rule}: {answer.first}")
        return
    print(f"under {rule}, in the order of time:")
    for each in answer.differing[:DIFFERENCES_PRINTED]:
        name = found.class_names[found.class_index[each.row]]
        times = f"released {_ms(each.real.released_at_ms)} there, {_ms(each.own.released_at_ms)} here"
        done = f"last token {_ms(each.real.last_token_ms)} there, {_ms(each.own.last_token_ms)} here"
        print(f"  row {each.row + 1:,} ({name}, {found.cost_tokens[each.row]:,} tokens): {times}; {done}")
    more = len(answer.differing) - DIFFERENCES_PRINTED
    if more > 0:
        print(f"  and {more:,} more; --differences FILE has them all")


def _ms(value: float | None) -> str:
    return "never" if value is None else f"{value:,.3f} ms"
