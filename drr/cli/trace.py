"""``trace FILE...``: look at traces, put them on one clock, cut, scale, map to classes, write Mooncake JSONL."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from drr.cli.inputs import load_profile, progress_line, write_whole
from drr.errors import WorkloadError
from drr.policy.schema import Profile
from drr.router.requests import RequestTable
from drr.workload.mapping import ClassMapping, ClassPreview, apply, preview, unknown_headers
from drr.workload.trace_stats import Spread, TraceStats, trace_stats
from drr.workload.traces import read_trace
from drr.workload.traces_edit import cut_window, merge_traces, scale_rate, spread_ticks
from drr.workload.traces_export import not_exported, write_mooncake
from drr.workload.traces_formats import TraceSpec, look_at
from drr.workload.traces_reading import TraceReading
from drr.workload.traces_values import TIME_UNITS

if TYPE_CHECKING:
    from argparse import _SubParsersAction

PROBLEMS_PRINTED = 20


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("trace", help="look at traces, map them to classes, export them", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="trace files of any known format (.gz too)")
    reading = parser.add_argument_group("reading (recognised by content where nothing is said)")
    reading.add_argument("--unit", choices=TIME_UNITS, help="unit of the times")
    reading.add_argument("--block-size", type=int, metavar="TOKENS", help="tokens per prefix block id")
    reading.add_argument(
        *("--column", "-c"),
        action="append",
        default=[],
        metavar="FIELD=NAME",
        help="which column holds a field, as input_length=Prompt; may be repeated",
    )
    reading.add_argument("--lenient", action="store_true", help="leave bad rows out instead of refusing the file")
    changing = parser.add_argument_group("changing")
    changing.add_argument("--clock", choices=("dates", "starts", "as_written"), help="how several files share a clock")
    changing.add_argument("--cut", metavar="FROM:TO", help="keep arrivals from..to seconds after the first one")
    changing.add_argument("--rate", type=float, metavar="X", help="X times as many requests per second")
    changing.add_argument("--spread", action="store_true", help="spread equal times evenly up to the next one")
    mapping = parser.add_argument_group("mapping to policy classes")
    mapping.add_argument(
        "--map",
        metavar="RULE",
        help="first-block, file, column=NAME, length=BOUND,..., percent=SHARE,... or round-robin; without: as written",
    )
    mapping.add_argument("--to", metavar="NAME,...", help="families or classes in order; without: those of --policy")
    mapping.add_argument("--give", action="append", default=[], metavar="VALUE=NAME", help="one value; may be repeated")
    mapping.add_argument("--rest", metavar="NAME", help="family or class of all other rows (default: no header)")
    mapping.add_argument("--seed", type=int, default=0, help="of percent (default 0)")
    mapping.add_argument("--policy", type=Path, metavar="FILE", help="policy file: shows requests and tokens per class")
    mapping.add_argument("--model", metavar="NAME", help="model whose profile counts; without it the root profile")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write Mooncake JSONL that the real replay accepts")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: read, 1: read with rows left out, 2: not readable."""
    profile = load_profile(options.policy, options.model) if options.policy is not None else None
    reading = _changed(options, _read(options))
    table = apply(_mapping(options), reading.requests, profile, columns=reading.columns)
    reading = replace(reading, requests=table)
    if options.out is not None:
        size = reading.block_size_tokens
        write_whole(options.out, lambda path: write_mooncake(table, path, trace_block_size=size))
        for lost in not_exported(table):
            print(f"{options.out}: not part of the file: {lost}", file=sys.stderr)
    stats = trace_stats(reading)
    if options.json:
        print(json.dumps(_summary(reading, stats, profile), indent=2, ensure_ascii=False))
    else:
        _print_summary(reading, stats, profile)
    return 1 if reading.problems else 0


def _read(options: argparse.Namespace) -> TraceReading:
    readings = []
    for path in options.files:
        with progress_line(f"reading {path.name}") as report:
            readings.append(
                read_trace(
                    path,
                    _spec(path, options),
                    lenient=options.lenient,
                    progress=lambda lines, report=report: report(f"{lines:,} lines"),  # type: ignore[misc]
                )
            )
        for problem in readings[-1].problems[:PROBLEMS_PRINTED]:
            print(f"{path}: left out: {problem.text()}", file=sys.stderr)
        more = len(readings[-1].problems) - PROBLEMS_PRINTED
        if more > 0:
            print(f"{path}: left out: {more:,} more", file=sys.stderr)
    several = len(readings) > 1 or options.map == "file"
    return merge_traces(readings, clock=options.clock) if several else readings[0]


def _spec(path: Path, options: argparse.Namespace) -> TraceSpec:
    look = look_at(path)
    spec = look.spec
    given = dict(_pair(text, "--column", "input_length=Prompt") for text in options.column)
    if given:
        named = {**dict(spec.columns), **given}
        spec = replace(spec, columns=tuple(named.items()))
        if spec.format == "mooncake":
            spec = replace(spec, format="jsonl")
        look = replace(look, spec=spec, missing=tuple(name for name in look.missing if name not in named))
    look.require()
    if options.unit is not None:
        spec = replace(spec, time_unit=options.unit, why_unit="as told")
    return spec if options.block_size is None else replace(spec, block_size_tokens=options.block_size)


def _changed(options: argparse.Namespace, reading: TraceReading) -> TraceReading:
    if options.cut is not None:
        first, colon, last = options.cut.partition(":")
        try:
            window = (float(first or 0) * 1000.0, float(last or "inf") * 1000.0)
        except ValueError:
            colon = ""
        if not colon:
            raise WorkloadError(f"--cut {options.cut}: FROM:TO in seconds is expected, as 60:120")
        reading = cut_window(reading, *window)
    if options.spread:
        reading = spread_ticks(reading)
    return reading if options.rate is None else scale_rate(reading, options.rate)


def _mapping(options: argparse.Namespace) -> ClassMapping:
    rule, _, value = (options.map or "as-written").partition("=")
    headers = tuple(options.to.split(",")) if options.to else ()
    given = tuple(_pair(text, "--give", "46=agent") for text in options.give)
    common = ClassMapping(headers=headers, default=options.rest, given=given, seed=options.seed)
    try:
        match rule:
            case "as-written":
                return ClassMapping()
            case "first-block":
                return replace(common, kind="first_block")
            case "file" | "column":
                return replace(common, kind="column", column=value if rule == "column" else "file")
            case "length":
                return replace(common, kind="length", bounds_tokens=tuple(map(int, value.split(","))))
            case "percent":
                return replace(common, kind="percentage", percents=tuple(map(float, value.split(","))))
            case "round-robin":
                return replace(common, kind="round_robin")
    except WorkloadError as error:
        raise WorkloadError(f"--map {options.map}: {error}") from None
    except ValueError:
        raise WorkloadError(f"--map {options.map}: {value!r} is no list of numbers, as {rule}=20,80") from None
    rules = "first-block, file, column=NAME, length=BOUND,..., percent=SHARE,..., round-robin"
    raise WorkloadError(f"--map {options.map}: unknown rule; there are: {rules}")


def _pair(text: str, option: str, example: str) -> tuple[str, str]:
    left, equals, right = text.rpartition("=") if option == "--give" else text.partition("=")
    if not equals or not left:
        raise WorkloadError(f"{option} {text}: an equals sign is expected, as {example}")
    return left, right


def _summary(reading: TraceReading, stats: TraceStats, profile: Profile | None) -> dict[str, object]:
    cache = stats.cache
    figures: dict[str, object] = {**asdict(stats), "cache": None}
    if cache is not None:
        names = ("total_cached_tokens", "cached_share", "rows_with_hits", "cold_rows")
        figures["cache"] = {name: getattr(cache, name) for name in names}
    return {
        "name": reading.name,
        "notes": reading.notes,
        "figures": figures,
        "left_out": [asdict(problem) for problem in reading.problems],
        "classes": [asdict(each) for each in preview(reading.requests, profile)] if profile is not None else None,
    }


def _print_summary(reading: TraceReading, stats: TraceStats, profile: Profile | None) -> None:
    print(f"{reading.name}: {reading.counts_text()}")
    for note in reading.notes:
        print(f"  {note}")
    rate = f", {stats.rows_per_second:,.2f} requests/s" if stats.rows_per_second is not None else ""
    print(f"\nspan {stats.span_ms / 1000.0:,.1f} s{rate}, longest silence {stats.longest_silence_ms / 1000.0:,.1f} s")
    print(f"{stats.distinct_times:,} distinct times, at most {stats.largest_tick_rows:,} requests at one of them")
    print(f"input tokens   {_spread(stats.input)}")
    print(f"output tokens  {_spread(stats.output)}")
    if stats.cache is not None:
        print(
            f"prefix reuse: at most {stats.cache.cached_share:.1%} of input tokens "
            "(one shared cache without end, full blocks, starting empty)"
        )
    if profile is not None:
        _print_classes(reading.requests, profile)


def _spread(spread: Spread) -> str:
    return f"p50 {spread.p50:,.0f}  p95 {spread.p95:,.0f}  max {spread.largest:,.0f}  total {spread.total:,.0f}"


def _print_classes(table: RequestTable, profile: Profile) -> None:
    shares: tuple[ClassPreview, ...] = preview(table, profile)
    print("\nrequests and tokens per class, as if nothing were cached:")
    width = max(len(each.class_name) for each in shares)
    for each in shares:
        figures = f"{each.requests:>10,} requests {each.input_tokens:>14,} in {each.output_tokens:>12,} out"
        print(f"  {each.class_name.ljust(width)} {figures}")
    for header, rows in unknown_headers(table, profile).items():
        print(f"  header {header!r} is no family or class of the policy: {rows:,} requests go to the default family")
