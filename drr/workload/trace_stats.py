"""What a trace looks like: rows, span, lengths, ticks, reuse, and how requests and tokens run over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from drr.errors import WorkloadError
from drr.router.requests import RequestTable
from drr.workload.prefix_cache import CacheFigures, Progress, unbounded_cache
from drr.workload.traces_edit import first_arrival_ms
from drr.workload.traces_reading import TraceReading


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution in a few numbers; quantiles are interpolated linearly between the two nearest values."""

    total: float
    mean: float
    least: float
    p50: float
    p95: float
    p99: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """The spread of some values, None where there is none."""
        if not values:
            return None
        ordered = sorted(values)
        total = math.fsum(ordered)
        p50, p95, p99 = (quantile(ordered, share) for share in (0.5, 0.95, 0.99))
        return cls(total, total / len(ordered), ordered[0], p50, p95, p99, ordered[-1])


def quantile(ordered: Sequence[float], share: float) -> float:
    """The quantile at ``share`` (0 to 1) of ascending values, linear between neighbours."""
    position = (len(ordered) - 1) * share
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


@dataclass(frozen=True, slots=True)
class TraceStats:
    """Figures of a trace. Lengths are tokens; ``span_ms`` is from the first timestamp to the last."""

    rows: int
    skipped_rows: int
    span_ms: float
    distinct_times: int
    largest_tick_rows: int
    longest_silence_ms: float
    rows_earlier_than_before: int
    sessions: int
    input: Spread
    output: Spread
    zero_output_rows: int
    rows_with_blocks: int
    cache: CacheFigures | None
    """The upper bound of reuse (one shared cache without end, full trace blocks); None without block ids."""

    @property
    def rows_per_second(self) -> float | None:
        """Mean arrival rate, None where all come at once."""
        return 1000.0 * self.rows / self.span_ms if self.span_ms > 0 else None


def trace_stats(reading: TraceReading, progress: Progress | None = None) -> TraceStats:
    """Measure a trace; raises :class:`WorkloadError` where it has no request.

    ``progress`` is told about the requests whose reuse is known.
    """
    table = reading.requests
    inputs, outputs = Spread.of(table.isl_tokens), Spread.of(table.output_tokens)
    if inputs is None or outputs is None:
        raise WorkloadError("the trace has no request")
    stamps = [stamp for stamp in table.timestamp_ms if stamp is not None]
    ticks = Counter(stamps)
    ordered = sorted(ticks)
    rows_with_blocks = sum(map(bool, table.hash_ids))
    return TraceStats(
        rows=len(table),
        skipped_rows=len(reading.problems),
        span_ms=ordered[-1] - ordered[0] if ordered else 0.0,
        distinct_times=len(ordered),
        largest_tick_rows=max(ticks.values(), default=0),
        longest_silence_ms=max((later - earlier for earlier, later in pairwise(ordered)), default=0.0),
        rows_earlier_than_before=rows_earlier_than_before(stamps),
        sessions=len({session for session in table.session if session is not None}),
        input=inputs,
        output=outputs,
        zero_output_rows=table.output_tokens.count(0),
        rows_with_blocks=rows_with_blocks,
        cache=unbounded_cache(table, trace_block_size=reading.block_size_tokens, progress=progress)
        if rows_with_blocks
        else None,
    )


def rows_earlier_than_before(stamps: Sequence[float]) -> int:
    """Rows with a timestamp smaller than that of an earlier row."""
    latest = -math.inf
    early = 0
    for stamp in stamps:
        early += stamp < latest
        latest = max(latest, stamp)
    return early


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Requests and tokens per group and time bin: ``requests[group][bin]``. Bins are ``bin_ms`` wide, from time 0."""

    bin_ms: float
    groups: tuple[str, ...]
    requests: tuple[tuple[int, ...], ...]
    input_tokens: tuple[tuple[int, ...], ...]
    output_tokens: tuple[tuple[int, ...], ...]


def time_bins(table: RequestTable, bins: int) -> tuple[float, list[int | None]]:
    """Width of a bin (ms), and the bin of every row; None for turns without a timestamp."""
    start = first_arrival_ms(table)
    last = max((stamp for stamp in table.timestamp_ms if stamp is not None), default=start)
    width = (last - start) / bins or 1.0
    places = (None if s is None else max(0, min(int((s - start) / width), bins - 1)) for s in table.timestamp_ms)
    return width, list(places)


def over_time(table: RequestTable, groups: Sequence[str], *, bins: int = 120, order: Sequence[str] = ()) -> TimeSeries:
    """Requests and tokens over time by group, one group name per row (a class, a file ...).

    Groups come in ``order``, those that are not in it after them in order of appearance.

    Turns without a timestamp are left out: when they arrive is known only in a run.
    """
    if bins < 1 or len(groups) != len(table):
        raise WorkloadError(f"{len(groups):,} group names and {bins:,} bins for {len(table):,} requests")
    width, bin_of = time_bins(table, bins)
    found = dict.fromkeys(groups)
    names = tuple(dict.fromkeys((*(name for name in order if name in found), *found)))
    number = {name: index for index, name in enumerate(names)}
    requests, inputs, outputs = ([[0] * bins for _ in names] for _ in range(3))
    for row, place in enumerate(bin_of):
        if place is None:
            continue
        group = number[groups[row]]
        requests[group][place] += 1
        inputs[group][place] += table.isl_tokens[row]
        outputs[group][place] += table.output_tokens[row]
    made = (tuple(map(tuple, figures)) for figures in (requests, inputs, outputs))
    return TimeSeries(width, names, *made)
