"""``validate FILE``: what is right and wrong with a policy file, at the exact places; also for a given trace."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from drr.cli.inputs import progress_line
from drr.policy import Diagnostic, PolicyReading, lint_workload, read_policy
from drr.policy.diagnostics import joined
from drr.workload.traces import read_trace

if TYPE_CHECKING:
    from argparse import _SubParsersAction


def add_parser(verbs: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("validate", help="check a policy file", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="policy file (YAML); - for standard input")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="trace to hold against the policy: more warnings")
    parser.add_argument("--model", metavar="NAME", help="model the trace is for; without it the root profile")
    parser.add_argument("--json", action="store_true", help="print the diagnostics as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0: accepted, 1: refused, 2: unreadable, the trace as well."""
    try:
        data = sys.stdin.buffer.read() if str(options.file) == "-" else options.file.read_bytes()
    except OSError as error:
        print(f"error: cannot read {options.file}: {error.strerror or error}", file=sys.stderr)
        return 2
    reading = read_policy(data, source=str(options.file))
    diagnostics = list(reading.diagnostics)
    if options.trace is not None:
        diagnostics += _about_trace(reading, options.trace, options.model)
        diagnostics.sort(key=lambda each: (each.line, each.column))
    if options.json:
        found = {"file": str(options.file), "accepted": reading.ok, "router_accepts": reading.router_accepts}
        listed = [diagnostic.as_dict() for diagnostic in diagnostics]
        print(json.dumps({**found, "diagnostics": listed}, indent=2, ensure_ascii=False))
    else:
        for diagnostic in diagnostics:
            print(diagnostic.text(str(options.file)))
        print(f"{options.file}: {'accepted' if reading.ok else 'refused'}")
    return 0 if reading.ok else 1


def _about_trace(reading: PolicyReading, trace: Path, model: str | None) -> list[Diagnostic]:
    """Warnings about an accepted policy that a trace gives reason to; nothing is cached but what the trace says."""
    if reading.document is None:
        return []
    with progress_line(f"reading {trace.name}") as report:
        table = read_trace(trace, progress=lambda lines: report(f"{lines:,} lines")).requests
    path = joined("models", model) if model is not None and model in reading.document.models else ""
    profile = reading.document.profile_for(model)
    costs: dict[str, list[int]] = {}
    in_buckets: set[int] = set()
    for header, isl, hit in zip(table.policy_header, table.isl_tokens, table.cached_tokens, strict=True):
        uncached = isl - min(max(hit, 0), isl)
        found = profile.classes[profile.class_index(header, uncached)]
        costs.setdefault(found.name, []).append(uncached or 1)
        if not found.is_explicit:
            in_buckets.add(uncached)
    return lint_workload(profile, costs, in_buckets, path=path, positions=reading.positions)
