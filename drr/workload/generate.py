"""From a workload spec to requests: a pure function of the spec, its seed included.

Every stream draws each of its aspects (times, lengths, hits, pins ...) from a generator of its own, seeded by the
spec's seed, the stream's name and the aspect, so a change of one leaves all others as they are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from itertools import accumulate
from random import Random
from typing import NamedTuple, Protocol, TypeVar

from drr.errors import WorkloadError
from drr.router.requests import Constraint, RequestTable
from drr.workload.arrivals import ClosedLoop, arrival_times, expected_arrivals
from drr.workload.distributions import Fixed, mean, sampler
from drr.workload.prefixes import Prompts, prompts_of
from drr.workload.spec import (
    MAX_REQUESTS,
    SessionHits,
    Stream,
    WorkloadSpec,
)

PROGRESS_EVERY = 4096
UNKNOWN_HEADER = "no-such-family"
"""The policy header of the share of requests whose header nobody knows."""

Value = TypeVar("Value", int, float)

_ANYWHERE = Constraint()


class Progress(Protocol):
    """Is called now and then with (requests made, requests expected in all); whatever it raises ends the generation."""

    def __call__(self, made: int, expected: int, /) -> object:
        """So many of about so many requests are there."""


class _Row(NamedTuple):
    """One request before it is in the table."""

    isl_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...]
    delay_ms: float | None
    header: str | None
    strict: int
    jump: float
    constraint: Constraint


_Session = tuple[float, int, int, list[_Row]]
"""Time of the first turn (ms), number within its stream, stream, turns."""


def generate(spec: WorkloadSpec, progress: Progress | None = None) -> RequestTable:
    """The requests of a spec in order of arrival; the turns of a session stand together, at its first turn's place.

    Streams that arrive at the same time take turns. Raises :class:`WorkloadError` where there would be more than
    ``MAX_REQUESTS`` requests, or none at all.
    """
    table = RequestTable()
    expected = expected_requests(spec)
    if expected > MAX_REQUESTS:
        raise WorkloadError(f"about {expected:,} requests are expected; at most {MAX_REQUESTS:,} are allowed")
    reported = 0
    sources = [_sessions(spec, index) for index in range(len(spec.streams))]
    for time_ms, number, index, rows in merge(*sources):
        session = None if len(rows) == 1 else f"{spec.streams[index].name} {number + 1}"
        _append(table, time_ms, session, rows)
        made = len(table)
        if made - reported >= PROGRESS_EVERY:
            reported = made
            if made > MAX_REQUESTS:
                raise WorkloadError(f"more than {MAX_REQUESTS:,} requests come of this spec")
            if progress is not None:
                progress(made, max(expected, made))
    if not len(table):
        raise WorkloadError("no request comes of this spec: rates and durations are too small")
    if progress is not None:
        progress(len(table), len(table))
    return table


def expected_requests(spec: WorkloadSpec) -> int:
    """About how many requests a spec gives; exact where nothing but its number of requests ends a stream."""
    return sum(_expected(stream) for stream in spec.streams)


def _expected(stream: Stream) -> int:
    limit = math.inf if stream.requests is None else stream.requests
    arrivals = stream.arrivals
    if isinstance(arrivals, ClosedLoop):
        return int(limit)
    until = math.inf if stream.duration_ms is None else stream.duration_ms
    per_arrival = mean(stream.cache_hits.turns, 1) if isinstance(stream.cache_hits, SessionHits) else 1.0
    return math.ceil(min(limit, expected_arrivals(arrivals, until) * per_arrival))


def _append(table: RequestTable, time_ms: float, session: str | None, rows: list[_Row]) -> None:
    first = True
    for row in rows:
        if row.constraint is not _ANYWHERE:
            table.constraints[len(table.isl_tokens)] = row.constraint
        table.isl_tokens.append(row.isl_tokens)
        table.output_tokens.append(row.output_tokens)
        table.timestamp_ms.append(time_ms if first else None)
        table.hash_ids.append(row.hash_ids)
        table.policy_header.append(row.header)
        table.priority_jump.append(row.jump)
        table.strict_priority.append(row.strict)
        table.session.append(session)
        table.delay_ms.append(row.delay_ms)
        table.cached_tokens.append(-1)
        table.name.append("")
        first = False


def _sessions(spec: WorkloadSpec, index: int) -> Iterator[_Session]:
    """The arrivals of one stream in order of time, each with all its turns."""
    stream = spec.streams[index]
    aspects = _Aspects(spec.seed, stream)
    prompts = prompts_of(spec, index, aspects.random)
    row = _row_maker(stream, aspects, prompts)
    left = math.inf if stream.requests is None else stream.requests
    arrivals = stream.arrivals
    if isinstance(arrivals, ClosedLoop):
        yield from _closed_loop(stream, index, aspects, row, prompts=prompts)
        return
    until = math.inf if stream.duration_ms is None else stream.duration_ms
    # Rounded to microseconds: a time in a file is the very number that was drawn.
    times = arrival_times(arrivals, aspects.random("arrivals"), until)
    in_turns = isinstance(stream.cache_hits, SessionHits)
    think = sampler(stream.think_time_ms or Fixed(0), aspects.random("think time"))
    for number, time_ms in enumerate(times):
        rows = [row(None)]
        while in_turns and prompts.goes_on() and len(rows) < left:
            rows.append(row(float(think())))
        if in_turns:
            prompts.end()
        yield round(stream.start_ms + time_ms, 3), number, index, rows
        left -= len(rows)
        if left <= 0:
            return


def _closed_loop(
    stream: Stream, index: int, aspects: _Aspects, row: Callable[[float | None], _Row], *, prompts: Prompts
) -> Iterator[_Session]:
    """One session per client: it thinks, sends, waits for the end, and so on; requests are spread evenly."""
    assert isinstance(stream.arrivals, ClosedLoop)
    assert stream.requests is not None
    clients = min(stream.arrivals.clients, stream.requests)
    each, more = divmod(stream.requests, clients)
    think = sampler(stream.think_time_ms or Fixed(0), aspects.random("think time"))
    starts = sorted((stream.start_ms + think(), client) for client in range(clients))
    for number, (start_ms, client) in enumerate(starts):
        rows = [row(None)]
        rows += [row(float(think())) for _ in range(each + (client < more) - 1)]
        prompts.end()
        yield float(start_ms), number, index, rows


class _Aspects:
    """The generators of one stream, one per aspect."""

    def __init__(self, seed: int, stream: Stream) -> None:
        self._prefix = f"{seed}/{stream.name}"

    def random(self, aspect: str) -> Random:
        """A fresh generator; text seeds do not depend on the machine or the process."""
        return Random(f"{self._prefix}/{aspect}")


def _row_maker(stream: Stream, aspects: _Aspects, prompts: Prompts) -> Callable[[float | None], _Row]:
    """A function that draws the next request of a stream; its argument is the delay after the turn before."""
    output = sampler(stream.output_tokens, aspects.random("output tokens"))
    header = _header_drawer(stream, aspects)
    levels = [(each.share, each.level) for each in stream.strict_priority]
    strict = _mix_drawer(levels, aspects.random("strict priority"), 0)
    jumps = [(each.share, each.seconds) for each in stream.priority_jump]
    jump = _mix_drawer(jumps, aspects.random("priority jump"), 0.0)
    constraint = _constraint_drawer(stream, aspects)
    next_prompt = prompts.next

    def row(delay_ms: float | None) -> _Row:
        answer = output()
        isl_tokens, hash_ids = next_prompt(answer)
        return _Row(isl_tokens, answer, hash_ids, delay_ms, header(), strict(), jump(), constraint())

    return row


def _header_drawer(stream: Stream, aspects: _Aspects) -> Callable[[], str | None]:
    header, missing = stream.header, stream.missing_header_share
    unknown = missing + stream.unknown_header_share
    if not unknown:
        return lambda: header
    draw = aspects.random("header").random

    def drawer() -> str | None:
        where = draw()
        return None if where < missing else UNKNOWN_HEADER if where < unknown else header

    return drawer


def _mix_drawer(shares: Sequence[tuple[float, Value]], random: Random, otherwise: Value) -> Callable[[], Value]:
    """A function that draws one of the values by their shares, or ``otherwise`` with what is left."""
    if not shares:
        return lambda: otherwise
    upto = list(accumulate(share for share, _ in shares))
    values: list[Value] = [value for _, value in shares]
    values.append(otherwise)
    draw = random.random
    return lambda: values[bisect_right(upto, draw())]


def _constraint_drawer(stream: Stream, aspects: _Aspects) -> Callable[[], Constraint]:
    pinned, allowed, taints = stream.pinned, stream.allowed_workers, stream.required_taints
    if pinned is None and allowed is None and taints is None:
        return lambda: _ANYWHERE
    pin_random, allow_random = aspects.random("pinned"), aspects.random("allowed workers")
    taint_draw = aspects.random("required taints").random
    known: dict[Constraint, Constraint] = {_ANYWHERE: _ANYWHERE}

    def drawer() -> Constraint:
        worker: int | None = None
        rank: int | None = None
        if pinned is not None and pin_random.random() < pinned.share:
            worker, rank = pinned.workers[int(pin_random.random() * len(pinned.workers))]
        workers = None
        if allowed is not None and allow_random.random() < allowed.share:
            workers = frozenset(allowed.workers)
        needed: frozenset[str] = frozenset()
        if taints is not None and taint_draw() < taints.share:
            needed = frozenset(taints.taints)
        drawn = Constraint(worker, rank, workers, needed)
        return known.setdefault(drawn, drawn)

    return drawer
