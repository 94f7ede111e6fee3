"""``probe URL``: a bounded load on an OpenAI-compatible endpoint; who completes first, and our prediction beside it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drr.analysis.outcomes import Spread
from drr.cli.inputs import engine_options, load_profile, progress_line, write_bytes_whole
from drr.dynamo.probe import ProbeRow, run_probe
from drr.dynamo.probe_plan import (
    CLASS_HEADER,
    MOST_PER_SECOND,
    MOST_REQUESTS,
    MOST_SECONDS,
    PROMPT_KINDS,
    ProbeError,
    ProbePlan,
    read_class,
)
from drr.dynamo.probe_results import (
    ClassResult,
    Expectation,
    class_results,
    predict,
    predicted_order,
    predicted_ttft,
    prefix_counts,
    reasons,
    result_line,
    results_csv,
    results_jsonl,
)

if TYPE_CHECKING:
    from argparse import _SubParsersAction

DEFAULT_COUNT = 20


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("probe", help="send a bounded load to a live endpoint", description=__doc__)
    parser.add_argument("url", metavar="URL", help="the endpoint, as http://127.0.0.1:8123 (its /v1 is used)")
    parser.add_argument("--model", required=True, metavar="NAME", help="the model to ask for")
    parser.add_argument("--yes", action="store_true", help="send without asking")
    load = parser.add_argument_group("load")
    load.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="NAME[=COUNT]",
        help="a policy class and its requests; may be repeated; without any: no class header",
    )
    load.add_argument(
        "--count",
        type=int,
        default=DEFAULT_COUNT,
        metavar="N",
        help=f"requests where no count is given (default {DEFAULT_COUNT}; at most {MOST_REQUESTS:,} in all)",
    )
    load.add_argument("--tokens", type=int, default=512, metavar="N", help="tokens of a prompt (default 512)")
    load.add_argument("--output-tokens", type=int, default=1, metavar="N", help="tokens to generate (default 1)")
    pace = load.add_mutually_exclusive_group()
    pace.add_argument("--at-once", action="store_true", help="all requests together (the default)")
    pace.add_argument("--rate", type=float, metavar="X", help=f"requests per second, at most {MOST_PER_SECOND:g}")
    load.add_argument(
        "--max-seconds",
        type=float,
        default=120.0,
        metavar="S",
        help=f"end after (default 120, at most {MOST_SECONDS:g})",
    )
    load.add_argument("--idle-seconds", type=float, default=60.0, metavar="S", help="longest silence (default 60)")
    load.add_argument(
        "--prompt",
        choices=PROMPT_KINDS,
        default="ids",
        help="prompts as token ids (exact lengths, the default), as text, or as chat messages",
    )
    load.add_argument("--vocabulary", type=int, default=8000, metavar="N", help="token ids below N (default 8000)")
    load.add_argument("--seed", type=int, default=0, help="of the prompts (default 0)")
    load.add_argument("--header", default=CLASS_HEADER, metavar="NAME", help=f"class header (default {CLASS_HEADER})")
    load.add_argument("--key-env", metavar="VARIABLE", help="environment variable that holds the endpoint's key")
    result = parser.add_argument_group("result")
    result.add_argument("--first", type=int, metavar="N", help="completions the share is taken of (default: half)")
    result.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="NAME=LEAST..MOST",
        help="of the first completions; else exit 1",
    )
    result.add_argument("--save", type=Path, action="append", default=[], metavar="FILE", help="results (.jsonl, .csv)")
    result.add_argument("--policy", type=Path, metavar="FILE", help="policy file: our prediction beside the result")
    result.add_argument("--workers", type=int, default=1, metavar="N", help="workers in the prediction (default 1)")
    result.add_argument(
        "--engine", action="append", default=[], metavar="KEY=VALUE", help="mock engine option in the prediction"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: all answered and as expected, 1: some refused, failed or unexpected, 2: it could not be done."""
    plan = _plan(options)
    first = options.first if options.first is not None else max(1, plan.count // 2)
    if first < 1:
        raise ProbeError(f"--first {first}: at least 1 is allowed")
    expected = [_expectation(text, plan) for text in options.expect]
    savers = [_check_suffix(path) for path in options.save]
    prediction = _prediction(options, plan)
    if not _consent(plan, options.yes):
        print("nothing was sent", file=sys.stderr)
        return 2
    rows = _probe(plan)
    for path in savers:
        text = results_csv(rows) if path.suffix == ".csv" else results_jsonl(plan, rows)
        write_bytes_whole(path, text.encode())
        print(f"saved {path}")
    results = class_results(plan, rows, first)
    _print_results(results, result_line(plan, results, first))
    if prediction is not None:
        _print_prediction(plan, prediction, first)
    for text, count in reasons(rows):
        print(f"  {count:,} x {text}")
    code = 0 if all(row.outcome == "done" for row in rows) else 1
    for expectation in expected:
        holds, text = expectation.check(results)
        print(text)
        code = code if holds else 1
    return code


def _plan(options: argparse.Namespace) -> ProbePlan:
    classes = tuple(read_class(text, options.count) for text in options.classes) or (("", options.count),)
    return ProbePlan(
        url=options.url,
        model=options.model,
        classes=classes,
        prompt_tokens=options.tokens,
        output_tokens=options.output_tokens,
        per_second=options.rate,
        max_seconds=options.max_seconds,
        idle_seconds=options.idle_seconds,
        prompt=options.prompt,
        vocabulary=options.vocabulary,
        header=options.header,
        key_variable=options.key_env,
        seed=options.seed,
    )


def _expectation(text: str, plan: ProbePlan) -> Expectation:
    """What is expected of a class that is sent: to be told before anything is."""
    expected = Expectation.read(text)
    if expected.policy_class not in plan.class_names:
        raise ProbeError(f"--expect {text}: no such class is sent; there are: {', '.join(plan.class_names)}")
    return expected


def _check_suffix(path: Path) -> Path:
    if path.suffix not in (".csv", ".jsonl"):
        raise ProbeError(f"--save {path}: a name that ends in .jsonl or .csv is expected")
    return path


def _prediction(options: argparse.Namespace, plan: ProbePlan) -> tuple[list[str], list[Spread]] | None:
    if options.policy is None:
        return None
    if options.workers < 1:
        raise ProbeError(f"--workers {options.workers}: at least 1 is allowed")
    profile = load_profile(options.policy, plan.model)
    made = predict(plan, profile, workers=options.workers, engine=engine_options(options.engine))
    return predicted_order(plan, made), predicted_ttft(plan, made)


def _consent(plan: ProbePlan, is_given: bool) -> bool:
    print(plan.consent_line(), file=sys.stderr)
    if is_given:
        return True
    if not sys.stdin.isatty():
        raise ProbeError("nobody is here to agree to this; --yes agrees beforehand")
    print("Go ahead? Type yes: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _probe(plan: ProbePlan) -> list[ProbeRow]:
    counts = {"done": 0, "refused": 0, "failed": 0, "unfinished": 0}
    with progress_line("probing") as report:

        def on_row(row: ProbeRow) -> None:
            counts[row.outcome] += 1
            told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
            report(f"{told} of {plan.count:,}")

        return run_probe(plan, on_row=on_row, on_remark=lambda text: print(f"note: {text}", file=sys.stderr))


def _print_results(results: list[ClassResult], line: str) -> None:
    print(line)
    head = ("class", "sent", "done", "refused", "failed", "unfinished", "of first", "left", "TTFT p50/p95/p99 ms")
    lines: list[tuple[str, ...]] = [head]
    for r in results:
        numbers = (r.planned, r.done, r.refused, r.failed, r.unfinished, r.in_first, r.left_when_first_ended)
        lines.append((r.name, *(f"{number:,}" for number in numbers), _spread(r.ttft)))
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for cells in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    print('("left": not yet completed when the first class was through)')


def _print_prediction(plan: ProbePlan, prediction: tuple[list[str], list[Spread]], first: int) -> None:
    order, ttft = prediction
    counts = prefix_counts(plan, order, first)
    pieces = zip(plan.class_names, counts, ttft, strict=True)
    told = "; ".join(f"{name} {count:,}, TTFT {_spread(times)} ms" for name, count, times in pieces)
    print(f"our prediction (carry rule, mock engine), of the first {min(first, len(order)):,}: {told}")


def _spread(spread: Spread) -> str:
    if spread.p50 is None or spread.p95 is None or spread.p99 is None:
        return "-"
    return f"{spread.p50:,.0f}/{spread.p95:,.0f}/{spread.p99:,.0f}"
