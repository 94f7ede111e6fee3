"""The event log: one short row per step, for any window of a run, and as CSV that is safe in a spreadsheet."""

from __future__ import annotations

import csv
import hashlib
import io
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from drr.analysis.explain import decision_number
from drr.analysis.log_reasons import LogReader
from drr.policy import PolicyDocument, Profile, dump_policy
from drr.scheduler.lanes import SHARED
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS, StepKind

KIND_WORDS: dict[StepKind, str] = {
    StepKind.BYPASSED: "arrival, sent at once",
    StepKind.QUEUED: "arrival",
    StepKind.REFUSED: "arrival, refused",
    StepKind.DECISION: "decision",
    StepKind.EMPTY_CALL: "call, nothing goes",
    StepKind.FIRST_TOKEN: "first token",
    StepKind.COMPLETION: "completion",
    StepKind.ERROR: "error",
    StepKind.WORKER_CHANGE: "worker change",
    StepKind.HEAD_ERROR: "decision, ends in an error",
}
"""What a step is called, in the log and on the stage."""

ANY_WORKER = "any worker"

CSV_COLUMNS = (
    "step",
    "decision",
    "time_ms",
    "kind",
    "request",
    "policy_class",
    "lane",
    "worker",
    "cost_tokens",
    "why",
    "cursor_rule",
    "policy_sha256",
)
"""Columns of :func:`log_csv`. Steps and decisions count from 1, as on the stage; the last two say which run it was."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_FINGERPRINT_DIGITS = 16


@dataclass(frozen=True, slots=True)
class LogRow:
    """One step. ``step`` is its index (0 is the first record), ``decision`` its number among the decisions, from 1.

    ``decision`` is None for other steps; class, request, lane and worker are empty and the cost is None where the step
    has none. ``lane`` is where a request waits or waited, ``worker`` where it was dispatched to, ran, or what changed.
    """

    step: int
    decision: int | None
    time_ms: float
    kind: str
    request: str
    policy_class: str
    lane: str
    worker: str
    cost_tokens: int | None
    why: str


def matching_steps(
    run: Run,
    start: int = 0,
    stop: int | None = None,
    *,
    kinds: Collection[StepKind] | None = None,
    class_index: int | None = None,
    endpoint: int | None = None,
) -> Sequence[int]:
    """The steps in ``start .. stop`` (``stop`` excluded, None for all) that a filter lets through, ascending.

    A step belongs to the class of its request and to the endpoint it was dispatched to, ran on or changed; an arrival
    that waits belongs to the endpoint of its exact lane. Steps without a request belong to no class.
    """
    steps = range(max(start, 0), run.n_steps if stop is None else min(stop, run.n_steps))
    if kinds is not None:
        wanted = bytes(kind in kinds for kind in StepKind)
        steps_left: Iterable[int] = (s for s in steps if wanted[run.kinds[s]])
    elif class_index is None and endpoint is None:
        return steps
    else:
        steps_left = steps
    if class_index is not None:
        rows, classes = run.step_request, run.class_index
        steps_left = (s for s in steps_left if rows[s] >= 0 and classes[rows[s]] == class_index)
    if endpoint is not None:
        endpoints = run.step_endpoint
        steps_left = (s for s in steps_left if endpoints[s] == endpoint)
    return array("i", steps_left)


def log_rows(
    run: Run,
    start: int = 0,
    stop: int | None = None,
    *,
    kinds: Collection[StepKind] | None = None,
    class_index: int | None = None,
    endpoint: int | None = None,
) -> list[LogRow]:
    """The log of the steps in ``start .. stop`` (``stop`` excluded) that :func:`matching_steps` lets through.

    Takes time for the rows it returns and for looking through the window, not for the run before it.
    """
    return list(rows_of(run, matching_steps(run, start, stop, kinds=kinds, class_index=class_index, endpoint=endpoint)))


def rows_of(run: Run, steps: Iterable[int]) -> Iterator[LogRow]:
    """The log rows of some steps, which have to ascend."""
    reader = LogReader(run)
    kinds, rows, endpoints, times_ms = run.kinds, run.step_request, run.step_endpoint, run.times_ms
    for step in steps:
        kind = StepKind(kinds[step])
        row = rows[step]
        where = endpoints[step]
        waits = kind == StepKind.QUEUED or (kind in CALL_KINDS and row >= 0)
        lane = run.outcomes.lane[row] if waits else None
        yield LogRow(
            step,
            decision_number(run, step) if kind == StepKind.DECISION else None,
            times_ms[step],
            KIND_WORDS[kind],
            run.requests.label(row) if row >= 0 else "",
            run.class_names[run.class_index[row]] if row >= 0 else "",
            "" if lane is None else ANY_WORKER if lane == SHARED else run.endpoint_names[lane],
            run.endpoint_names[where] if where >= 0 and kind != StepKind.QUEUED else "",
            run.cost_tokens[row] if row >= 0 else None,
            reader.why(step),
        )


# --- CSV -----------------------------------------------------------------------------------------------------


def log_csv(
    run: Run,
    start: int = 0,
    stop: int | None = None,
    *,
    kinds: Collection[StepKind] | None = None,
    class_index: int | None = None,
    endpoint: int | None = None,
) -> str:
    """The log as CSV (comma, CRLF, a header line, columns :data:`CSV_COLUMNS`), as :func:`log_rows` filters it.

    Numbers are plain (no separators); texts that a spreadsheet would take for a formula are led by an apostrophe.
    """
    steps = matching_steps(run, start, stop, kinds=kinds, class_index=class_index, endpoint=endpoint)
    made_of = (run.cursor_rule, policy_fingerprint(run.profile))
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(CSV_COLUMNS)
    for row in rows_of(run, steps):
        texts = (safe_cell(text) for text in (row.kind, row.request, row.policy_class, row.lane, row.worker))
        decision = "" if row.decision is None else row.decision
        cost = "" if row.cost_tokens is None else row.cost_tokens
        writer.writerow((row.step + 1, decision, row.time_ms, *texts, cost, safe_cell(row.why), *made_of))
    return out.getvalue()


def safe_cell(text: str) -> str:
    """A text cell that no spreadsheet takes for a formula: one that begins like one gets an apostrophe in front.

    Texts like ``+1`` get one too, since as names they are no numbers; numbers are written as numbers, not through here.
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def safe_row(cells: Iterable[object]) -> list[object]:
    """The cells of a line with every text made safe (:func:`safe_cell`)."""
    return [safe_cell(cell) if isinstance(cell, str) else cell for cell in cells]


def policy_fingerprint(profile: Profile) -> str:
    """The first 16 hex digits of the SHA-256 of a profile's canonical YAML; comments and layout have no part in it."""
    canonical = dump_policy(PolicyDocument(profile))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_FINGERPRINT_DIGITS]
