"""What a probe found: figures per class, the share of the first completions, files, and our prediction beside it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from drr.analysis.log import safe_row
from drr.analysis.outcomes import Spread, spread
from drr.analysis.words import counted, listing
from drr.dynamo.probe import ProbeRow
from drr.dynamo.probe_plan import NO_CLASS, ProbeError, ProbePlan
from drr.policy.schema import Profile
from drr.router.requests import RequestTable
from drr.scheduler.ring import CursorRule
from drr.simulation.engine_options import EngineOptions
from drr.simulation.recording import Run
from drr.simulation.replay import replay

ROW_COLUMNS = (
    *("row", "policy_class", "outcome", "sent_ms", "first_token_ms", "done_ms", "ttft_ms", "status", "tokens"),
    *("completion", "text"),
)
"""Columns of the files; ``completion`` is the place among the completions, from 1."""


@dataclass(frozen=True, slots=True)
class ClassResult:
    """What one class got. Times are ms."""

    name: str
    planned: int
    done: int
    refused: int
    failed: int
    unfinished: int
    in_first: int
    """How many of the first completions are its own."""
    left_when_first_ended: int
    """How many of its requests had not completed when the first class was through."""
    ttft: Spread
    total: Spread
    """From sending to the last token."""


def in_completion_order(rows: Iterable[ProbeRow]) -> list[ProbeRow]:
    """The completed requests, first completed first."""
    done = [row for row in rows if row.outcome == "done" and row.done_ms is not None]
    return sorted(done, key=lambda row: (row.done_ms or 0.0, row.row))


def class_results(plan: ProbePlan, rows: Sequence[ProbeRow], first: int) -> list[ClassResult]:
    """Figures per class, in the order of the plan; ``first`` is how many completions the share is taken of."""
    order = in_completion_order(rows)
    counts = prefix_counts(plan, [row.policy_class for row in order], first)
    left = _left_when_first_ended(plan, order)
    found = []
    for index, (name, planned) in enumerate(plan.classes):
        mine = [row for row in rows if row.policy_class == name]
        done = [row for row in mine if row.outcome == "done"]
        outcomes = [row.outcome for row in mine]
        totals = [row.done_ms - row.sent_ms for row in done if row.done_ms is not None and row.sent_ms is not None]
        found.append(
            ClassResult(
                name or NO_CLASS,
                planned,
                len(done),
                outcomes.count("refused"),
                outcomes.count("failed"),
                outcomes.count("unfinished"),
                counts[index],
                left[index],
                spread(ttft for row in done if (ttft := row.ttft_ms) is not None),
                spread(totals),
            )
        )
    return found


def prefix_counts(plan: ProbePlan, classes_in_order: Sequence[str], first: int) -> list[int]:
    """How many of the first completions each class has."""
    head = classes_in_order[:first]
    return [head.count(name) for name, _ in plan.classes]


def _left_when_first_ended(plan: ProbePlan, order: Sequence[ProbeRow]) -> list[int]:
    left = {name: sum(row.policy_class == name for row in order) for name, _ in plan.classes}
    for row in order:
        left[row.policy_class] -= 1
        if not left[row.policy_class]:
            break
    return [left[name] for name, _ in plan.classes]


def result_line(plan: ProbePlan, results: Sequence[ClassResult], first: int) -> str:
    """The result in one sentence."""
    done = sum(result.done for result in results)
    lost = [
        f"{number:,} {what}"
        for what in ("refused", "failed", "unfinished")
        if (number := sum(getattr(result, what) for result in results))
    ]
    tail = f"; {listing(lost)}" if lost else ""
    if not done:
        return f"None of the {counted(plan.count, 'request')} was answered{tail}."
    shares = listing([f"{result.in_first:,} {result.name}" for result in results])
    first = min(first, done)
    return f"Of the first {first:,} completions: {shares}. {done:,} of {plan.count:,} requests answered{tail}."


def reasons(rows: Iterable[ProbeRow], most: int = 5) -> list[tuple[str, int]]:
    """Why requests were refused, failed or stayed unfinished, with how often, most frequent first."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.text:
            counts[row.text] = counts.get(row.text, 0) + 1
    return sorted(counts.items(), key=lambda item: -item[1])[:most]


# --- expectations ----------------------------------------------------------------------------------------------------

_EXPECTED = re.compile(r"([A-Za-z0-9_.-]+)=(\d{1,9})(?:\.\.(\d{1,9}))?")


@dataclass(frozen=True, slots=True)
class Expectation:
    """So many of the first completions are to be of one class, both ends included."""

    policy_class: str
    least: int
    most: int

    @classmethod
    def read(cls, text: str) -> Expectation:
        """``NAME=LEAST..MOST`` or ``NAME=COUNT``; raises :class:`ProbeError`."""
        found = _EXPECTED.fullmatch(text.strip())
        if found is None:
            raise ProbeError(f"--expect {text}: NAME=LEAST..MOST is expected, as premium=250..262")
        least, most = int(found[2]), int(found[3] or found[2])
        if least > most:
            raise ProbeError(f"--expect {text}: {least:,} is more than {most:,}; LEAST..MOST is expected")
        return cls(found[1], least, most)

    def check(self, results: Sequence[ClassResult]) -> tuple[bool, str]:
        """Whether it holds, and that in words; raises :class:`ProbeError` for a class that was not sent."""
        mine = next((result for result in results if result.name == self.policy_class), None)
        if mine is None:
            raise ProbeError(f"--expect {self.policy_class}: no such class was sent")
        holds = self.least <= mine.in_first <= self.most
        return holds, (
            f"{self.policy_class} {mine.in_first:,} of the first completions, "
            f"{self.least:,}..{self.most:,} expected: {'holds' if holds else 'does not hold'}"
        )


# --- our prediction --------------------------------------------------------------------------------------------------


def predict(
    plan: ProbePlan,
    profile: Profile,
    *,
    workers: int = 1,
    engine: EngineOptions | None = None,
    cursor_rule: CursorRule = "carry",
) -> Run:
    """The same requests through our model of the router, under the rule the shipped one has.

    Times are the mock engine's; an endpoint with other engines has the same order only as far as its engines take
    requests alike.
    """
    table = RequestTable()
    for request in plan.requests():
        table.append(
            plan.prompt_tokens,
            output_tokens=plan.output_tokens,
            timestamp_ms=request.due_s * 1000.0,
            policy_header=request.policy_class or None,
        )
    return replay(profile, table, workers=workers, engine=engine, cursor_rule=cursor_rule, record=False)


def predicted_order(plan: ProbePlan, run: Run) -> list[str]:
    """The classes of the plan in the order in which our model completes requests."""
    classes = [request.policy_class for request in plan.requests()]
    return [classes[row] for row in run.completion_order]


def predicted_ttft(plan: ProbePlan, run: Run) -> list[Spread]:
    """TTFT per class of the plan in our model, ms."""
    found: dict[str, list[float]] = {name: [] for name, _ in plan.classes}
    for request in plan.requests():
        first, arrival = run.first_token_ms[request.row], run.arrival_ms[request.row]
        if first is not None and arrival is not None:
            found[request.policy_class].append(first - arrival)
    return [spread(found[name]) for name, _ in plan.classes]


# --- files -----------------------------------------------------------------------------------------------------------


def _records(rows: Sequence[ProbeRow]) -> list[dict[str, Any]]:
    places = {row.row: place for place, row in enumerate(in_completion_order(rows), start=1)}
    values = [row.to_mapping() | {"ttft_ms": row.ttft_ms, "completion": places.get(row.row)} for row in rows]
    return [{name: record[name] for name in ROW_COLUMNS} for record in values]


def results_jsonl(plan: ProbePlan, rows: Sequence[ProbeRow]) -> str:
    """The plan on the first line (it names the variable of a key, never a key), then one row per line."""
    lines = [{"probe": plan.to_mapping()}, *_records(rows)]
    return "".join(json.dumps(line) + "\n" for line in lines)


def results_csv(rows: Sequence[ProbeRow]) -> str:
    """One row per request, safe in a spreadsheet (comma, CRLF, a header line); None is an empty cell."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(ROW_COLUMNS)
    for record in _records(rows):
        writer.writerow(safe_row(record.values()))
    return out.getvalue()
