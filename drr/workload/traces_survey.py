"""Everything a page shows of a trace, small enough to travel: figures of its window, per class and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from drr.errors import WorkloadError
from drr.policy.schema import Profile
from drr.router.requests import RequestTable
from drr.workload.mapping import ClassPreview, apply, preview, unknown_headers
from drr.workload.prefix_cache import CacheFigures, bounded_caches
from drr.workload.trace_stats import TimeSeries, TraceStats, over_time, time_bins, trace_stats
from drr.workload.trace_workload import TraceWorkload
from drr.workload.traces_export import not_exported
from drr.workload.traces_reading import RowProblem, TraceReading

Progress = Callable[[int, int], object]
Lengths = tuple[tuple[int, ...], tuple[int, ...]]
"""Different lengths in tokens, and how many requests have each."""

BINS = 120
VALUES_KEPT = 40
FIRST_BLOCK = "first prefix block"
NO_HEADER = "no header"
_READ_SHARE, _WHOLE = 500, 1000


@dataclass(frozen=True, slots=True)
class Reuse:
    """What a prefix cache saves of a trace; ``shares`` per time bin, None where no prompt arrives."""

    cached_share: float
    cached_tokens: int
    input_tokens: int
    rows: int
    rows_with_hits: int
    cold_rows: int
    evicted_blocks: int
    refused_rows: int
    bin_ms: float
    shares: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """What stands in a column: how many different values, and the most frequent ones with their requests."""

    name: str
    distinct: int
    top: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSurvey:
    """A trace as it was read (``problems``, ``notes``, ``whole``), and its window under a class mapping (the rest).

    ``series`` and lengths go by policy class, by header where there is no policy; ``classes`` is empty then.
    ``mapping_problem`` says why the mapping does not fit; headers are as written then. ``stats.cache`` is in ``reuse``.
    """

    rows_in_file: int
    problems: tuple[RowProblem, ...]
    notes: tuple[str, ...]
    block_size_tokens: int
    whole_span_ms: float
    whole: TimeSeries
    stats: TraceStats
    reuse: Reuse | None
    series: TimeSeries
    inputs: tuple[tuple[str, Lengths], ...]
    outputs: tuple[tuple[str, Lengths], ...]
    classes: tuple[ClassPreview, ...]
    unknown_headers: tuple[tuple[str, int], ...]
    columns: tuple[ColumnValues, ...]
    not_exported: tuple[str, ...]
    mapping_problem: str = ""

    def column(self, name: str) -> ColumnValues | None:
        """What stands in a column, None where there is no such column."""
        return next((each for each in self.columns if each.name == name), None)


def survey(trace: TraceWorkload, profile: Profile | None, progress: Progress | None = None) -> TraceSurvey:
    """Read a trace and measure it. Raises :class:`WorkloadError` for what is no trace, or a window without requests.

    ``progress`` is told (thousandths done, 1000).
    """

    def tell(thousandths: float) -> None:
        if progress is not None:
            progress(min(int(thousandths), _WHOLE), _WHOLE)

    # How many lines there are is known only at the end: n of them count as n / (n + 20,000) of the first half.
    whole = trace.whole(lambda lines: tell(_READ_SHARE * lines / (lines + 20_000)))
    tell(_READ_SHARE)
    part = trace.part_of(whole)
    table, problem = part.requests, ""
    try:
        table = apply(trace.mapping, part.requests, profile, columns=part.columns)
    except WorkloadError as error:
        problem = str(error)
    groups = class_names(table, profile)
    order = [c.name for c in profile.classes] if profile is not None else []
    stats = trace_stats(part, lambda done, rows: tell(_READ_SHARE + (_WHOLE - _READ_SHARE) * done / max(rows, 1)))
    return TraceSurvey(
        rows_in_file=len(whole.requests) + len(whole.problems),
        problems=tuple(whole.problems),
        notes=tuple(part.notes),
        block_size_tokens=part.block_size_tokens,
        whole_span_ms=_span_ms(whole.requests),
        whole=over_time(whole.requests, _files(whole), bins=BINS),
        stats=replace(stats, cache=None),
        reuse=None if stats.cache is None else reuse_of(part.requests, stats.cache),
        series=over_time(table, groups, bins=BINS, order=order),
        inputs=_lengths(order, groups, table.isl_tokens),
        outputs=_lengths(order, groups, table.output_tokens),
        classes=() if profile is None else preview(table, profile),
        unknown_headers=() if profile is None else tuple(unknown_headers(table, profile).items()),
        columns=tuple(_columns(part)),
        not_exported=not_exported(table),
        mapping_problem=problem,
    )


def bounded_reuse(
    trace: TraceWorkload, *, workers: int, block_size: int, num_gpu_blocks: int, progress: Progress | None = None
) -> Reuse:
    """What bounded caches of so many workers save of the same window; requests go to the workers in turn."""
    part = trace.reading()
    figures = bounded_caches(
        part.requests,
        trace_block_size=part.block_size_tokens,
        block_size=block_size,
        num_gpu_blocks=num_gpu_blocks,
        workers=workers,
        progress=progress,
    )
    return reuse_of(part.requests, figures)


def reuse_of(table: RequestTable, figures: CacheFigures) -> Reuse:
    """Figures of a cache model without its rows, with the cached share over time."""
    width, bin_of = time_bins(table, BINS)
    prompts, cached = [0] * BINS, [0] * BINS
    for place, isl, hit in zip(bin_of, table.isl_tokens, figures.cached_tokens, strict=True):
        if place is not None:
            prompts[place] += isl
            cached[place] += hit
    return Reuse(
        cached_share=figures.cached_share,
        cached_tokens=figures.total_cached_tokens,
        input_tokens=figures.input_tokens,
        rows=len(table),
        rows_with_hits=figures.rows_with_hits,
        cold_rows=figures.cold_rows,
        evicted_blocks=figures.evicted_blocks,
        refused_rows=figures.refused_rows,
        bin_ms=width,
        shares=tuple(hit / isl if isl else None for hit, isl in zip(cached, prompts, strict=True)),
    )


def class_names(table: RequestTable, profile: Profile | None) -> list[str]:
    """The policy class of every row as if nothing were cached; the header where there is no policy."""
    if profile is None:
        return [NO_HEADER if header is None else header for header in table.policy_header]
    names = [c.name for c in profile.classes]
    rows = zip(table.policy_header, table.isl_tokens, strict=True)
    return [names[profile.class_index(header, isl)] for header, isl in rows]


def _span_ms(table: RequestTable) -> float:
    stamps = [stamp for stamp in table.timestamp_ms if stamp is not None]
    return max(stamps) - min(stamps) if stamps else 0.0


def _files(reading: TraceReading) -> list[str]:
    return [name or "requests" for name in reading.columns.get("file", ["requests"] * len(reading.requests))]


def _lengths(order: Sequence[str], groups: Sequence[str], tokens: Sequence[int]) -> tuple[tuple[str, Lengths], ...]:
    there = set(groups)
    counts: dict[str, Counter[int]] = {group: Counter() for group in order if group in there}
    for group, length in zip(groups, tokens, strict=True):
        counts.setdefault(group, Counter())[length] += 1
    return tuple((group, (tuple(found), tuple(found.values()))) for group, found in counts.items())


def _columns(reading: TraceReading) -> Iterable[ColumnValues]:
    table = reading.requests
    if any(table.hash_ids):
        yield _values(FIRST_BLOCK, (str(ids[0]) if ids else None for ids in table.hash_ids))
    yield _values("policy_class", table.policy_header)
    for name, column in reading.columns.items():
        yield _values(name, column)


def _values(name: str, column: Iterable[str | None]) -> ColumnValues:
    counts = Counter(value for value in column if value is not None)
    return ColumnValues(name, len(counts), tuple(counts.most_common(VALUES_KEPT)))
