"""What can be done to traces before they run: merge, cut, scale, spread. Each makes a new reading and notes it."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import count, groupby, pairwise
from statistics import median
from typing import Literal

from drr.errors import WorkloadError
from drr.router.requests import RequestTable
from drr.workload.traces_reading import TraceReading, counted
from drr.workload.traces_values import NS_PER_MS

ClockRule = Literal["dates", "starts", "as_written"]


def first_arrival_ms(table: RequestTable) -> float:
    """The smallest timestamp among the first rows of sessions (a row without session is its own): time 0 of a run."""
    return min((table.timestamp_ms[row] or 0.0 for row in _heads(table)), default=0.0)


def _heads(table: RequestTable) -> list[int]:
    """Rows that arrive at their timestamp: those without a session, and the first of every session."""
    return [row for row, head in enumerate(session_heads(table)) if row == head]


def session_heads(table: RequestTable) -> list[int]:
    """Per row the first row of its session, itself where it has none."""
    first: dict[str, int] = {}
    return [row if name is None else first.setdefault(name, row) for row, name in enumerate(table.session)]


def take_rows(reading: TraceReading, rows: Sequence[int]) -> TraceReading:
    """The rows named, in that order, with everything that belongs to them."""
    table = reading.requests
    limits = table.constraints
    taken = RequestTable(constraints={new: limits[old] for new, old in enumerate(rows) if old in limits})
    for field in fields(table):
        column = getattr(table, field.name)
        if isinstance(column, list):
            setattr(taken, field.name, [column[row] for row in rows])
    return replace(
        reading,
        requests=taken,
        lines=[reading.lines[row] for row in rows],
        columns={name: [column[row] for row in rows] for name, column in reading.columns.items()},
        notes=list(reading.notes),
    )


def _with_times(reading: TraceReading, move: Callable[[int, float], float], note: str) -> TraceReading:
    stamps = [None if ms is None else move(row, ms) for row, ms in enumerate(reading.requests.timestamp_ms)]
    return replace(reading, requests=replace(reading.requests, timestamp_ms=stamps), notes=[*reading.notes, note])


def cut_window(reading: TraceReading, from_ms: float, to_ms: float) -> TraceReading:
    """Requests that arrive in [``from_ms``, ``to_ms``), counted from the first arrival.

    A session is kept or left out whole, by the arrival of its first turn. Raises :class:`WorkloadError` for a window
    without requests.
    """
    if not from_ms < to_ms:
        raise WorkloadError(
            f"the window from {from_ms:g} to {to_ms:g} ms is empty; its end has to come after its start"
        )
    table = reading.requests
    start = first_arrival_ms(table)
    heads = session_heads(table)
    rows = [row for row, head in enumerate(heads) if from_ms <= (table.timestamp_ms[head] or 0.0) - start < to_ms]
    if not rows:
        until = "on" if to_ms == math.inf else f"to {to_ms:,.0f} ms"
        raise WorkloadError(f"no request arrives from {from_ms:,.0f} ms {until}, counted from the first one")
    cut = take_rows(reading, rows)
    what = f"{len(rows):,} of {counted(len(table), 'request')}"
    until = "the end" if to_ms == math.inf else f"{to_ms:,.0f} ms"
    cut.notes.append(f"window from {from_ms:,.0f} ms to {until} after the first arrival: {what}")
    return cut


def scale_rate(reading: TraceReading, factor: float) -> TraceReading:
    """Requests ``factor`` times as often: times since the first arrival, and pauses, divided by it.

    The same as the replay's arrival speed-up, bit for bit.
    """
    if not 0 < factor < math.inf:
        raise WorkloadError(f"the rate factor is {factor:g}; a number above 0 is allowed")
    start = first_arrival_ms(reading.requests)
    note = f"arrival rate x {factor:g}, time counted from the first arrival"
    scaled = _with_times(reading, lambda row, ms: (ms - start) / factor, note)
    pauses = [None if ms is None else ms / factor for ms in scaled.requests.delay_ms]
    scaled.requests.delay_ms = pauses
    scaled.clock_start_ns = None
    return scaled


def spread_ticks(reading: TraceReading, tick_ms: float | None = None) -> TraceReading:
    """Arrivals of one and the same time spread evenly over what follows, in file order: made-up times, noted as such.

    A group is spread over the time up to the next one, or over ``tick_ms`` where that is shorter; the last one over
    ``tick_ms``, or else the median distance. Order and first arrivals of groups stay. Sessions move as a whole.
    """
    if tick_ms is not None and not 0 < tick_ms < math.inf:
        raise WorkloadError(f"the tick is {tick_ms:g} ms; a number above 0 is allowed")
    table = reading.requests
    stamp_of = {row: table.timestamp_ms[row] or 0.0 for row in _heads(table)}
    groups = [
        (ms, list(rows)) for ms, rows in groupby(sorted(stamp_of, key=stamp_of.__getitem__), stamp_of.__getitem__)
    ]
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(groups)]
    gaps.append(tick_ms if tick_ms is not None else median(gaps) if gaps else 0.0)
    moved_ms: dict[int, float] = {}
    for (_, rows), gap in zip(groups, gaps, strict=True):
        step = (gap if tick_ms is None else min(gap, tick_ms)) / len(rows)
        moved_ms.update((row, position * step) for position, row in enumerate(rows))
    heads = session_heads(table)
    moved = sum(1 for shift in moved_ms.values() if shift)
    note = f"{counted(moved, 'request')} spread over the tick: these times are made up, the trace has equal ones"
    return _with_times(reading, lambda row, ms: ms + moved_ms[heads[row]], note)


def merge_traces(
    readings: Sequence[TraceReading], *, clock: ClockRule | None = None, shared_blocks: bool = False
) -> TraceReading:
    """Several traces on one clock, in order of time, equal times in the order of ``readings``.

    ``clock``: ``dates`` puts them where their dates say, ``starts`` lets all first arrivals be time 0, ``as_written``
    leaves the numbers alone; the default is ``dates`` where all have dates, ``as_written`` where none has, else
    ``starts``. Column ``file`` names the trace of a row. Block ids and sessions of different files are kept apart,
    unless ``shared_blocks`` says that equal ids mean equal content everywhere. ``lines`` are those of each file.
    """
    if not readings:
        raise WorkloadError("there is no trace to merge")
    dated = [r.clock_start_ns is not None for r in readings]
    rule: ClockRule = clock or ("dates" if all(dated) else "starts" if any(dated) else "as_written")
    if rule == "dates" and not all(dated):
        lost = next(r.name or "a trace" for r, has in zip(readings, dated, strict=True) if not has)
        raise WorkloadError(f"{lost} has no dates, so the traces cannot be put on one clock by date")
    sizes = {r.block_size_tokens: r.name for r in readings if any(r.requests.hash_ids)}
    if len(sizes) > 1:
        what = ", ".join(f"{name or 'a trace'}: {size:,}" for size, name in sizes.items())
        raise WorkloadError(f"traces with prefix blocks of different sizes cannot be merged ({what} tokens)")
    names = _distinct([r.name or "trace" for r in readings])
    start_ns = min((r.clock_start_ns for r in readings if r.clock_start_ns is not None), default=None)
    parts = []
    offset = 0
    for reading, name in zip(readings, names, strict=True):
        shift = 0.0
        if rule == "starts":
            shift = -first_arrival_ms(reading.requests)
        elif rule == "dates" and start_ns is not None and reading.clock_start_ns is not None:
            shift = (reading.clock_start_ns - start_ns) / NS_PER_MS
        parts.append(_part(reading, name, shift, 0 if shared_blocks else offset, several=len(readings) > 1))
        offset += 1 + max((max(ids) for ids in reading.requests.hash_ids if ids), default=-1)
    words = {"dates": "by their dates", "starts": "with their first arrivals together", "as_written": "as written"}
    merged = _interleaved(parts, next(iter(sizes), readings[0].block_size_tokens))
    merged.clock_start_ns = start_ns if rule == "dates" else None
    merged.name = " + ".join(names)
    merged.notes = [f"{name}: {note}" for name, reading in zip(names, readings, strict=True) for note in reading.notes]
    merged.notes.append(f"{counted(len(names), 'trace')} on one clock, {words[rule]}")
    merged.problems = [
        replace(p, message=f"{name}: {p.message}")
        for name, reading in zip(names, readings, strict=True)
        for p in reading.problems
    ]
    return merged


def _distinct(names: Sequence[str]) -> list[str]:
    made: list[str] = []
    for name in names:
        fresh = (name if number == 1 else f"{name} ({number})" for number in count(1))
        made.append(next(each for each in fresh if each not in made))
    return made


def _part(reading: TraceReading, name: str, shift_ms: float, first_id: int, *, several: bool) -> TraceReading:
    """One trace as it goes into the merged one: times moved, ids and sessions its own, its name in column ``file``."""
    table = reading.requests
    moved = replace(
        table,
        timestamp_ms=[None if ms is None else ms + shift_ms for ms in table.timestamp_ms],
        hash_ids=[tuple(i + first_id for i in ids) for ids in table.hash_ids] if first_id else table.hash_ids,
        session=[f"{name}/{s}" if several and s is not None else s for s in table.session],
    )
    return replace(reading, requests=moved, columns={**reading.columns, "file": [name] * len(table)})


def _interleaved(parts: Sequence[TraceReading], block_size_tokens: int) -> TraceReading:
    whole = TraceReading(block_size_tokens=block_size_tokens)
    keys: list[list[tuple[float, int, int]]] = []
    rows = 0
    for number, part in enumerate(parts):
        latest = -math.inf
        order = []
        for row, ms in enumerate(part.requests.timestamp_ms):
            # Each file keeps its own row order; a row that is early or has no time follows the one before it.
            latest = latest if ms is None else max(latest, ms)
            order.append((latest, number, rows + row))
        keys.append(order)
        for f in fields(whole.requests):
            mine, theirs = getattr(whole.requests, f.name), getattr(part.requests, f.name)
            if isinstance(mine, list):
                mine += theirs
        whole.requests.constraints |= {rows + row: limit for row, limit in part.requests.constraints.items()}
        whole.lines += part.lines
        for column in dict.fromkeys((*whole.columns, *part.columns)):
            values = whole.columns.setdefault(column, [None] * rows)
            values += part.columns.get(column, [None] * len(part.requests))
        rows += len(part.requests)
    return take_rows(whole, [row for _, _, row in heapq.merge(*keys)])
