"""What a workload spec is going to give, before it runs: how many requests, how long, arriving when.

Nothing here depends on how many requests there are: rates are computed, lengths come of a small sample per stream.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from drr.errors import WorkloadError
from drr.workload.arrivals import Burst, ClosedLoop, OpenArrivals, expected_arrivals
from drr.workload.distributions import Fixed
from drr.workload.generate import expected_requests, generate
from drr.workload.spec import SessionHits, Stream, WorkloadSpec
from drr.workload.spec_fields import LONGEST_MS
from drr.workload.spec_reading import NO_HEADER_NAME

BINS = 60
_SAMPLE = 600
_SAMPLE_IN_ALL = 6_000
_SAMPLE_AT_LEAST = 20


@dataclass(frozen=True, slots=True)
class FamilyPreview:
    """What the streams of one header give together.

    ``per_second`` is the expected rate of arrivals in every bin of the preview; ``at_once`` are bursts (ms, requests),
    ``clients`` send in closed loops, at times only a run can tell. ``lengths_tokens`` are sampled prompts with
    ``length_shares``, which add up to 1.
    """

    name: str
    requests: int
    input_tokens: float
    output_tokens: float
    per_second: tuple[float, ...]
    at_once: tuple[tuple[float, int], ...]
    clients: int
    lengths_tokens: tuple[int, ...]
    length_shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SpecPreview:
    """A whole workload: families in order of appearance, bins of ``bin_ms`` from time 0.

    ``is_exact`` tells whether the numbers of requests and tokens are certain.
    """

    families: tuple[FamilyPreview, ...]
    bin_ms: float
    is_exact: bool

    @property
    def requests(self) -> int:
        """Requests of all families."""
        return sum(each.requests for each in self.families)

    @property
    def input_tokens(self) -> float:
        """Prompt tokens of all families."""
        return math.fsum(each.input_tokens for each in self.families)

    @property
    def output_tokens(self) -> float:
        """Output tokens of all families."""
        return math.fsum(each.output_tokens for each in self.families)

    @property
    def span_ms(self) -> float:
        """From time 0 to the end of the last stream with a rate, 0 where all is bursts and closed loops."""
        return self.bin_ms * BINS if any(any(each.per_second) for each in self.families) else 0.0


@dataclass(frozen=True, slots=True)
class _StreamPreview:
    stream: Stream
    requests: int
    end_ms: float
    lengths: tuple[int, ...]
    mean_output: float


def preview_spec(spec: WorkloadSpec) -> SpecPreview:
    """Look ahead at a spec; the same spec gives the same preview."""
    most = max(_SAMPLE_AT_LEAST, min(_SAMPLE, _SAMPLE_IN_ALL // len(spec.streams)))
    streams = [_look_at(spec, stream, most) for stream in spec.streams]
    end_ms = max(each.end_ms for each in streams)
    bin_ms = end_ms / BINS if end_ms > 0 else 1.0
    by_name: dict[str, list[_StreamPreview]] = {}
    for each in streams:
        by_name.setdefault(each.stream.header or NO_HEADER_NAME, []).append(each)
    families = tuple(_family(name, mine, bin_ms) for name, mine in by_name.items())
    return SpecPreview(families, bin_ms, all(map(_is_certain, spec.streams)))


def _is_certain(stream: Stream) -> bool:
    """Whether the numbers of requests and tokens do not depend on the seed."""
    fixed = isinstance(stream.input_tokens, Fixed) and isinstance(stream.output_tokens, Fixed)
    grows = isinstance(stream.cache_hits, SessionHits)
    mixed = stream.missing_header_share or stream.unknown_header_share
    all_come = stream.requests is not None and stream.duration_ms is None and not _ends_by_itself(stream)
    return fixed and all_come and not grows and not mixed


def _ends_by_itself(stream: Stream) -> bool:
    """Whether the arrivals may end before all requests are made: a ramp down to 0, a spike over 0."""
    arrivals = stream.arrivals
    return not isinstance(arrivals, ClosedLoop) and math.isfinite(expected_arrivals(arrivals, math.inf))


def _look_at(spec: WorkloadSpec, stream: Stream, most: int) -> _StreamPreview:
    requests = expected_requests(replace(spec, streams=(stream,)))
    # The sample leaves the times out: a stream that hardly ever sends still shows what it sends.
    arrivals = stream.arrivals if isinstance(stream.arrivals, ClosedLoop) else Burst()
    small = replace(stream, requests=min(max(requests, 1), most), duration_ms=None, arrivals=arrivals)
    table = generate(replace(spec, streams=(small,)))
    end_ms = 0.0 if isinstance(stream.arrivals, ClosedLoop) else _end_ms(stream, stream.arrivals, requests)
    return _StreamPreview(
        stream, requests, end_ms, tuple(table.isl_tokens), math.fsum(table.output_tokens) / len(table)
    )


def _end_ms(stream: Stream, arrivals: OpenArrivals, requests: int) -> float:
    """When the last arrival of an open stream is expected, on the workload's clock; 0 for a burst."""
    if isinstance(arrivals, Burst):
        return 0.0
    low, high = 0.0, LONGEST_MS if stream.duration_ms is None else stream.duration_ms
    if stream.requests is None:
        return stream.start_ms + high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if expected_arrivals(arrivals, middle) >= requests else (middle, high)
    return stream.start_ms + high


def _family(name: str, streams: Sequence[_StreamPreview], bin_ms: float) -> FamilyPreview:
    rates = [0.0] * BINS
    at_once: list[tuple[float, int]] = []
    lengths: list[int] = []
    shares: list[float] = []
    total = sum(each.requests for each in streams)
    for each in streams:
        arrivals, start = each.stream.arrivals, each.stream.start_ms
        if isinstance(arrivals, Burst):
            at_once.append((start, each.requests))
        elif not isinstance(arrivals, ClosedLoop):
            edges = [max(0.0, min(number * bin_ms, each.end_ms) - start) for number in range(BINS + 1)]
            upto = [expected_arrivals(arrivals, edge) if edge > 0 else 0.0 for edge in edges]
            for number in range(BINS):
                rates[number] += (upto[number + 1] - upto[number]) * 1000.0 / bin_ms
        lengths += each.lengths
        part = each.requests / total if total else 1 / len(streams)
        shares += [part / len(each.lengths)] * len(each.lengths)
    return FamilyPreview(
        name,
        total,
        math.fsum(each.requests * math.fsum(each.lengths) / len(each.lengths) for each in streams),
        math.fsum(each.requests * each.mean_output for each in streams),
        tuple(rates),
        tuple(at_once),
        sum(each.stream.arrivals.clients for each in streams if isinstance(each.stream.arrivals, ClosedLoop)),
        tuple(lengths),
        tuple(shares),
    )


def preview_text(preview: SpecPreview) -> str:
    """How much there is, in one line."""
    about = "" if preview.is_exact else "about "
    return (
        f"{about}{preview.requests:,} requests, {round(preview.input_tokens):,} prompt tokens, "
        f"{round(preview.output_tokens):,} output tokens"
    )


def look_ahead(spec: WorkloadSpec) -> SpecPreview | None:
    """The preview, None where no request could be made of the spec."""
    try:
        return preview_spec(spec)
    except WorkloadError:
        return None
