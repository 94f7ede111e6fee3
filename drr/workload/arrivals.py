"""When the requests of a stream come: the shapes of arrivals over time.

Rates are requests per second, times milliseconds since the stream's own start. All shapes but ``Burst``, ``Constant``
and ``ClosedLoop`` are Poisson processes whose rate follows the shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from random import Random

RAMP_PIECES = 64
"""A ramp is drawn in so many pieces, each thinned from its own higher end."""


@dataclass(frozen=True, slots=True)
class Burst:
    """All requests at once."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Equal gaps; the first request comes at once."""

    per_second: float


@dataclass(frozen=True, slots=True)
class Poisson:
    """Independent arrivals at one rate."""

    per_second: float


@dataclass(frozen=True, slots=True)
class OnOff:
    """Poisson for ``on_ms``, then nothing for ``off_ms``, and so on."""

    per_second: float
    on_ms: float
    off_ms: float


@dataclass(frozen=True, slots=True)
class Ramp:
    """The rate goes evenly from one value to the other over ``over_ms``, and stays there."""

    from_per_second: float
    to_per_second: float
    over_ms: float


@dataclass(frozen=True, slots=True)
class Spike:
    """``per_second``, but ``spike_per_second`` from ``start_ms`` to ``end_ms``."""

    per_second: float
    spike_per_second: float
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Diurnal:
    """A day: the rate swings around ``per_second`` by the share ``swing``, highest at ``peak_ms`` of every period."""

    per_second: float
    swing: float
    period_ms: float
    peak_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """``clients`` that each send, wait for the end, think, and send again. They start with a think time."""

    clients: int


OpenArrivals = Burst | Constant | Poisson | OnOff | Ramp | Spike | Diurnal
Arrivals = OpenArrivals | ClosedLoop

_Piece = tuple[float, float, float, Callable[[float], float] | None]
"""Start, end, highest rate in it, and the rate at a time where it is not the highest throughout."""


def arrival_times(arrivals: OpenArrivals, random: Random, until_ms: float = math.inf) -> Iterator[float]:
    """Arrival times in order, before ``until_ms``; without an end for shapes that have none of their own."""
    if isinstance(arrivals, Burst):
        while True:
            yield 0.0
    elif isinstance(arrivals, Constant):
        for number in count():
            time_ms = number * 1000.0 / arrivals.per_second
            if time_ms >= until_ms:
                return
            yield time_ms
    elif isinstance(arrivals, OnOff):
        # A plain Poisson process on a clock that runs in the on phases alone.
        for running_ms in _poisson([(0.0, math.inf, arrivals.per_second, None)], random):
            cycle = int(running_ms // arrivals.on_ms)
            time_ms = running_ms + cycle * arrivals.off_ms
            if time_ms >= until_ms:
                return
            yield time_ms
    else:
        for time_ms in _poisson(_pieces(arrivals), random):
            if time_ms >= until_ms:
                return
            yield time_ms


def _pieces(arrivals: Poisson | Ramp | Spike | Diurnal) -> list[_Piece]:
    match arrivals:
        case Poisson(rate):
            return [(0.0, math.inf, rate, None)]
        case Spike(rate, spike, start, end):
            return [(0.0, start, rate, None), (start, end, spike, None), (end, math.inf, rate, None)]
        case Ramp(first, last, over):
            return _ramp_pieces(first, last, over)
        case Diurnal(rate, swing, period, peak):
            turn = 2 * math.pi / period

            def at(time_ms: float) -> float:
                return rate * (1 + swing * math.cos(turn * (time_ms - peak)))

            return [(0.0, math.inf, rate * (1 + swing), at)]


def _ramp_pieces(first: float, last: float, over_ms: float) -> list[_Piece]:
    def at(time_ms: float) -> float:
        return first + (last - first) * time_ms / over_ms

    edges = [over_ms * k / RAMP_PIECES for k in range(RAMP_PIECES + 1)]
    pieces: list[_Piece] = [(a, b, max(at(a), at(b)), at) for a, b in pairwise(edges)]
    return [*pieces, (over_ms, math.inf, last, None)]


def _poisson(pieces: list[_Piece], random: Random) -> Iterator[float]:
    """Arrivals piece by piece; a rate that changes within one is drawn by thinning (Lewis and Shedler 1979)."""
    draw = random.random
    for start, end, peak, rate_at in pieces:
        if not peak:
            continue
        gap_ms = 1000.0 / peak
        time_ms = start
        while True:
            time_ms -= math.log(1.0 - draw()) * gap_ms
            if time_ms >= end:
                break
            if rate_at is None or draw() * peak < rate_at(time_ms):
                yield time_ms


def expected_arrivals(arrivals: OpenArrivals, until_ms: float) -> float:
    """How many arrivals are expected before ``until_ms``; infinite where nothing ends them."""
    if isinstance(arrivals, Burst):
        return math.inf
    if isinstance(arrivals, Constant):
        return math.inf if math.isinf(until_ms) else math.ceil(until_ms * arrivals.per_second / 1000)
    if isinstance(arrivals, OnOff):
        if math.isinf(until_ms):
            return math.inf
        cycles, rest = divmod(until_ms, arrivals.on_ms + arrivals.off_ms)
        return (cycles * arrivals.on_ms + min(rest, arrivals.on_ms)) * arrivals.per_second / 1000
    if isinstance(arrivals, Diurnal):
        if math.isinf(until_ms):
            return math.inf
        turn = 2 * math.pi / arrivals.period_ms
        swung = math.sin(turn * (until_ms - arrivals.peak_ms)) + math.sin(turn * arrivals.peak_ms)
        return arrivals.per_second / 1000 * (until_ms + arrivals.swing * swung / turn)
    total = 0.0
    for start, end, peak, rate_at in _pieces(arrivals):
        length = min(end, until_ms) - start
        if length <= 0 or not peak:
            continue
        # The rate within a piece is straight, so its value in the middle is its mean.
        total += length * (peak if rate_at is None else rate_at(start + length / 2)) / 1000
    return total
