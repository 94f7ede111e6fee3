"""What timelines are drawn from: columns over a whole run, and an honest way to draw fewer points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from drr.analysis.outcomes import shares
from drr.charts.survey import endpoint_loads, step_columns, waiting_requests, waiting_tokens
from drr.simulation.recording import Run
from drr.simulation.state import CALL_KINDS, StepKind

Unit = Literal["tokens", "requests"]
MANY_ENDPOINTS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One line of a panel. ``owner`` is a class index, or -1 for a line that is no class's."""

    name: str
    x: np.ndarray
    y: np.ndarray
    owner: int = -1


def thin(x: np.ndarray, y: np.ndarray, most: int) -> np.ndarray:
    """Indices of at most about ``most`` points: of every stretch its first, lowest, highest and last point.

    So no peak is lost and no value is made up. Everything is kept where there are no more than ``most`` points.
    """
    count = len(x)
    if count <= most:
        return np.arange(count)
    edges = np.linspace(0, count, max(1, most // 4) + 1).astype(int)
    keep = [0, count - 1]
    for start, end in pairwise(edges.tolist()):
        part = y[start:end]
        if len(part) == 0:
            continue
        keep += [start, end - 1]
        if not np.all(np.isnan(part)):
            keep += [start + int(np.nanargmin(part)), start + int(np.nanargmax(part))]
    return np.unique(keep)


def step_axis(run: Run) -> tuple[np.ndarray, str]:
    """Where every step stands on the time axis, and what the axis is called; by step where no time passes."""
    times = np.asarray(run.times_ms, dtype=float)
    if len(times) == 0 or times[-1] <= times[0]:
        return np.arange(1, len(times) + 1, dtype=float), "step"
    if times[-1] - times[0] > 20_000:
        return times / 1000.0, "simulated time, s"
    return times, "simulated time, ms"


def service_share(run: Run, *, unit: Unit = "tokens", window: float | None = None) -> list[Line]:
    """Per class its part of what the ring dispatched so far, or with ``window`` (in units of the axis) lately.

    One point per decision; requests that never waited are not counted, the ring did not choose them.
    """
    where, _ = step_axis(run)
    _, rows, _ = step_columns(run)
    steps = np.asarray(run.decision_steps, dtype=np.int64)
    x, rows = where[steps], rows[steps]
    classes = np.asarray(run.class_index, dtype=np.int64)[rows] if len(rows) else rows
    cost = np.asarray(run.cost_tokens, dtype=float)[rows] if unit == "tokens" else np.ones(len(rows))
    total = np.cumsum(cost)
    before = np.searchsorted(x, x - window, side="right") - 1 if window is not None else np.full(len(x), -1)
    lines = []
    for index, name in enumerate(run.class_names):
        got = np.cumsum(np.where(classes == index, cost, 0.0))
        base, whole = (np.where(before >= 0, column[before], 0.0) if len(x) else column for column in (got, total))
        lines.append(Line(name, x, (got - base) / (total - whole), index))
    return lines


def asked_shares(run: Run) -> tuple[float | None, ...]:
    """Per class its quantum over the sum of those of the classes that ever waited, None for one that never did."""
    return shares(run).asked


def deficits(run: Run) -> list[Line]:
    """Per class its deficit in tokens after every arbitration call."""
    where, _ = step_axis(run)
    calls = np.flatnonzero(np.isin(step_columns(run)[0], list(CALL_KINDS)))
    columns: list[list[int]] = [[] for _ in run.class_names]
    wanted = set(calls.tolist())
    for walker in run.snapshots.walk():
        if walker.step in wanted:
            for column, deficit in zip(columns, walker.deficits, strict=True):
                column.append(deficit)
    names = enumerate(run.class_names)
    return [Line(name, where[calls], np.asarray(columns[index], dtype=float), index) for index, name in names]


def waiting(run: Run, *, unit: Unit = "requests") -> list[Line]:
    """Per class how many requests wait, or their uncached tokens, after every step at which that changes."""
    where, _ = step_axis(run)
    columns = waiting_requests(run) if unit == "requests" else waiting_tokens(run)
    lines = []
    for index, (name, column) in enumerate(zip(run.class_names, columns, strict=True)):
        keep = _changes(column)
        lines.append(Line(name, where[keep], column[keep].astype(float), index))
    return lines


def refusals(run: Run) -> list[Line]:
    """Per class how many requests were refused so far."""
    where, _ = step_axis(run)
    kinds, rows, _ = step_columns(run)
    classes = np.append(np.asarray(run.class_index, dtype=np.int64), -1)[rows]
    lines = []
    for index, name in enumerate(run.class_names):
        column = np.cumsum((kinds == StepKind.REFUSED) & (classes == index))
        keep = _changes(column)
        lines.append(Line(name, where[keep], column[keep].astype(float), index))
    return lines


def worker_load(run: Run) -> list[Line]:
    """Active prefill tokens per endpoint; of more than six endpoints the largest, the mean and the least."""
    where, _ = step_axis(run)
    count = len(run.endpoint_names)
    if count <= MANY_ENDPOINTS:
        lines = []
        for endpoint, name in enumerate(run.endpoint_names):
            column = endpoint_loads(run, endpoint)
            keep = _changes(column)
            lines.append(Line(name, where[keep], column[keep].astype(float)))
        return lines
    top = low = endpoint_loads(run, 0)
    total = top.astype(float)
    for endpoint in range(1, count):
        column = endpoint_loads(run, endpoint)
        top, low, total = np.maximum(top, column), np.minimum(low, column), total + column
    pairs = ((f"most of {count}", top), ("mean", total / count), (f"least of {count}", low))
    return [Line(name, where, column.astype(float)) for name, column in pairs]


def _changes(column: np.ndarray) -> np.ndarray:
    """Indices at which a column changes, its first and its last."""
    if len(column) == 0:
        return np.arange(0)
    moved = np.flatnonzero(np.diff(column)) + 1
    return np.unique(np.concatenate(([0], moved, [len(column) - 1])))
