"""Figures of merit per class, and the result of a run in words. Definitions: docs/metrics.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from drr.analysis.words import counted
from drr.router.router import ERROR, QUEUED, REFUSED
from drr.scheduler.arbiters import ARBITERS
from drr.simulation.recording import Run
from drr.simulation.state import StepKind

SHARES_DIFFER = 0.02
"""Two rules are said to differ where some class's share does by at least this much (two points in a hundred)."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Service while all compared classes were backlogged. Lists are per class in ring order.

    ``asked`` is a class's quantum over the sum of the quanta of the compared classes, ``got`` its part of the tokens
    that arbitration calls dispatched meanwhile; both are None for classes that are not compared, ``got`` also where
    there was no such time. Compared are the classes in which anything ever waited.
    """

    compared: tuple[int, ...]
    asked: tuple[float | None, ...]
    got: tuple[float | None, ...]
    joint_tokens: tuple[int, ...]

    @property
    def is_measured(self) -> bool:
        """Whether at least two classes were backlogged together while something was dispatched."""
        return len(self.compared) > 1 and any(self.joint_tokens)


@dataclass(frozen=True, slots=True)
class Spread:
    """Nearest-rank percentiles of some times, ms; None where there are no times."""

    count: int
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """What one class got out of a run. Tokens are scheduling costs (uncached tokens, at least 1 per request)."""

    name: str
    quantum: int
    requests: int
    immediate: int
    dispatched: int
    """By arbitration calls."""
    refused: int
    errors: int
    still_waiting: int
    service_tokens: int
    """Of all dispatched requests, immediate ones included."""
    asked_share: float | None
    got_share: float | None
    wait: Spread
    """From arrival to dispatch; immediate ones waited 0."""
    ttft: Spread
    """From arrival to first token."""
    backlogged_ms: float | None
    """Time with requests waiting. A router that drains after every change leaves only blocked heads waiting, so this is
    the time the class was blocked; None for a run without recording."""


def shares(run: Run) -> Shares:
    """Asked and got shares of a run."""
    tally = run.backlog
    mask = tally.ever_backlogged
    quanta = [c.quantum for c in run.profile.classes]
    compared = tuple(i for i in range(len(quanta)) if mask >> i & 1)
    tokens = tally.joint_service(mask)[0] if mask else [0] * len(quanta)
    all_tokens = sum(tokens)
    all_quanta = sum(quanta[i] for i in compared)
    is_in = [bool(mask >> i & 1) for i in range(len(quanta))]
    return Shares(
        compared,
        tuple(q / all_quanta if there else None for q, there in zip(quanta, is_in, strict=True)),
        tuple(t / all_tokens if there and all_tokens else None for t, there in zip(tokens, is_in, strict=True)),
        tuple(tokens),
    )


def spread(values: Iterable[float]) -> Spread:
    """Nearest-rank percentiles: the smallest value that at least p % of all values do not exceed."""
    ordered = sorted(values)
    if not ordered:
        return Spread(0, None, None, None)
    return Spread(len(ordered), *(ordered[math.ceil(p / 100 * len(ordered)) - 1] for p in (50, 95, 99)))


def class_figures(run: Run) -> list[ClassFigures]:
    """Figures per class in ring order."""
    found = shares(run)
    outcomes = run.outcomes
    times = None if run.recorder is None else backlogged_ms(run)
    rows_of: list[list[int]] = [[] for _ in run.class_names]
    for row, index in enumerate(outcomes.class_index):
        if index >= 0:
            rows_of[index].append(row)
    figures = []
    for index, rows in enumerate(rows_of):
        went = [row for row in rows if outcomes.endpoint[row] >= 0]
        queued = [row for row in went if outcomes.outcome[row] == QUEUED]
        count = [sum(outcomes.outcome[row] == code for row in rows) for code in (REFUSED, ERROR)]
        figures.append(
            ClassFigures(
                name=run.class_names[index],
                quantum=run.profile.classes[index].quantum,
                requests=len(rows),
                immediate=len(went) - len(queued),
                dispatched=len(queued),
                refused=count[0],
                errors=count[1],
                still_waiting=len(rows) - len(went) - sum(count),
                service_tokens=sum(outcomes.cost_tokens[row] for row in went),
                asked_share=found.asked[index],
                got_share=found.got[index],
                wait=spread(_since_arrival(run, went, run.released_at_ms, immediate=True)),
                ttft=spread(_since_arrival(run, went, run.first_token_ms)),
                backlogged_ms=None if times is None else times[index],
            )
        )
    return figures


def backlogged_ms(run: Run) -> list[float]:
    """Simulated time in which each class had requests waiting, from the records of a run."""
    waiting = [0] * len(run.class_names)
    since = [0.0] * len(run.class_names)
    total = [0.0] * len(run.class_names)
    joins, leaves = int(StepKind.QUEUED), (int(StepKind.DECISION), int(StepKind.HEAD_ERROR))
    for kind, time, row in zip(run.kinds, run.times_ms, run.step_request, strict=True):
        if kind == joins:
            index = run.class_index[row]
            waiting[index] += 1
            if waiting[index] == 1:
                since[index] = time
        elif kind in leaves:
            index = run.class_index[row]
            waiting[index] -= 1
            if not waiting[index]:
                total[index] += time - since[index]
    end = run.times_ms[-1] if run.n_steps else 0.0
    return [t + (end - s if w else 0.0) for t, s, w in zip(total, since, waiting, strict=True)]


def _since_arrival(
    run: Run, rows: Sequence[int], times: Sequence[float | None], *, immediate: bool = False
) -> list[float]:
    """Times since arrival, ms; without a time the row is left out, or counts 0 with ``immediate``."""
    found = []
    for row in rows:
        time, arrival = times[row], run.arrival_ms[row]
        if time is not None and arrival is not None:
            found.append(time - arrival)
        elif immediate:
            found.append(0.0)
    return found


def completed_first(run: Run, count: int) -> list[int]:
    """How many of the first ``count`` completions each class has."""
    totals = [0] * len(run.class_names)
    for row in run.completion_order[:count]:
        totals[run.class_index[row]] += 1
    return totals


def left_when_done(run: Run, class_index: int) -> list[int]:
    """How many requests of each class had not completed when the given class's last one did."""
    left = [0] * len(run.class_names)
    for index in run.class_index:
        if index >= 0:
            left[index] += 1
    remaining = left[class_index]
    for row in run.completion_order:
        index = run.class_index[row]
        left[index] -= 1
        if index == class_index:
            remaining -= 1
            if not remaining:
                break
    return left


@dataclass(frozen=True, slots=True)
class Comparison:
    """The two classes whose shares the result line compares: the larger quantum first."""

    first: int
    second: int
    asked: float
    """Ratio of the quanta."""
    got: float | None
    """Ratio of the tokens while both (all compared classes) waited; None where that never happened; may be inf."""


def comparison(run: Run) -> Comparison | None:
    """The compared classes with the largest and the smallest quantum, or None where fewer than two ever waited."""
    found = shares(run)
    if len(found.compared) < 2:
        return None
    quanta = [c.quantum for c in run.profile.classes]
    first = max(found.compared, key=lambda i: quanta[i])
    second = min((i for i in found.compared if i != first), key=lambda i: quanta[i])
    got: float | None = None
    if found.is_measured:
        bottom = found.joint_tokens[second]
        got = found.joint_tokens[first] / bottom if bottom else math.inf
    return Comparison(first, second, quanta[first] / quanta[second], got)


def times_text(ratio: float) -> str:
    """A finite ratio for people: 4.0 ×, 0.25 ×."""
    return f"{ratio:,.2f} ×" if ratio < 1 else f"{ratio:,.1f} ×"


def size_facts(run: Run) -> tuple[str, ...]:
    """How large a run is, in a few words each: 640 requests, 2 classes, 1 worker."""
    return (
        counted(len(run.requests), "request"),
        counted(len(run.class_names), "class"),
        counted(len(run.endpoint_names), "worker"),
    )


def result_line(run: Run) -> str:
    """The result in one sentence: what the classes got while they waited together, beside what the quanta ask for."""
    if run.aborted_because is not None:
        return f"The run ended early: {run.aborted_because}."
    pair = comparison(run)
    if pair is None:
        # Not by outcome: what waited may have ended as an error at the head of its lane.
        compared = shares(run).compared
        if not compared:
            return "Nothing ever waited: every request was dispatched at once, so the quanta decided nothing."
        return f"Only {run.class_names[compared[0]]} ever waited, so there was nobody to share with."
    first, second = run.class_names[pair.first], run.class_names[pair.second]
    together = "both" if len(shares(run).compared) == 2 else "all"
    if pair.got is None:
        return f"{first} and {second} never waited at the same time as all the others, so no share can be measured."
    if math.isinf(pair.got):
        return (
            f"While {together} waited, {second} got nothing; the quanta ask for "
            f"{times_text(pair.asked)} the tokens for {first}."
        )
    return (
        f"While {together} waited, {first} got {times_text(pair.got)} the tokens of {second}; "
        f"the quanta ask for {times_text(pair.asked)}."
    )


def shares_differ(first: Run, second: Run) -> bool:
    """Whether some class, found by its name, gets clearly different shares, or they can be measured in one run only."""
    mine, other = shares(first), shares(second)
    if mine.is_measured != other.is_measured:
        return True
    theirs = dict(zip(second.class_names, other.got, strict=True))
    pairs = [(got, theirs.get(name)) for name, got in zip(first.class_names, mine.got, strict=True)]
    return any(a is not None and b is not None and abs(a - b) >= SHARES_DIFFER for a, b in pairs)


def other_rule_line(run: Run) -> str:
    """What the other cursor rule gives on the same inputs, and why where it differs; a rival arbiter has no rule."""
    if run.inputs.arbiter != "drr":
        return f"No cursor rule takes part: the arbiter is {ARBITERS[run.inputs.arbiter]}."
    other = run.other_rule
    name = "the shipped router" if other.cursor_rule == "carry" else "the documented rule"
    pair = comparison(other)
    if comparison(run) is None or pair is None or pair.got is None:
        return f"Under {name} ({other.cursor_rule}): {result_line(other)}"
    if not shares_differ(run, other):
        return f"Under {name} ({other.cursor_rule}) the shares are the same."
    first, second = other.class_names[pair.first], other.class_names[pair.second]
    if math.isinf(pair.got):
        given = f"{second} nothing beside {first}"
    else:
        given = f"{first} {times_text(pair.got)} the tokens of {second}"
    return f"{name[0].upper()}{name[1:]} ({other.cursor_rule}) gives {given}: {why_rules_differ(run)}"


def why_rules_differ(run: Run) -> str:
    """The reason in words: quanta above what requests cost, which the shipped router cannot spend in one round."""
    carry = run if run.cursor_rule == "carry" else run.other_rule
    largest: dict[int, int] = {}
    for row in range(len(run.requests)):
        if carry.outcomes.outcome[row] == QUEUED:
            index = carry.class_index[row]
            largest[index] = max(largest.get(index, 0), carry.cost_tokens[row])
    above = [i for i, cost in largest.items() if run.profile.classes[i].quantum > cost]
    if above:
        top = max(above, key=lambda i: run.profile.classes[i].quantum / largest[i])
        quantum = run.profile.classes[top].quantum
        return (
            f"{run.class_names[top]}'s quantum {quantum:,} is above its costs (at most {largest[top]:,} tokens), and "
            "where capacity comes back one request at a time the shipped router serves a class at most one request "
            "per ring round."
        )
    return (
        "where capacity comes back one request at a time the shipped router moves on after every dispatch, so a class "
        "cannot spend a kept deficit on several cheap requests in a row."
    )
