"""A trace file as a workload: how it is read, which part of it runs, and which class each request belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite
from pathlib import Path
from typing import ClassVar

from drr.errors import WorkloadError
from drr.policy.schema import Profile
from drr.router.requests import RequestTable
from drr.workload.mapping import ClassMapping, apply
from drr.workload.traces import read_trace
from drr.workload.traces_edit import cut_window, spread_ticks
from drr.workload.traces_formats import TraceSpec
from drr.workload.traces_reading import TraceReading

LinesRead = Callable[[int], object]
"""Is told the lines read so far; may raise to end the reading."""
Window = tuple[float, float | None]
"""From and to, in ms after the first arrival; the end itself is outside, None is the end of the trace."""

KEPT_READINGS = 4
_readings: dict[tuple[str, str, TraceSpec | None, bool], TraceReading] = {}


@dataclass(frozen=True, slots=True)
class TraceWorkload:
    """A trace file of any known format. ``sha256`` is that of its bytes; ``path`` is where this machine has them.

    ``spec`` says how to read it, None leaves that to its content. ``window_ms`` cuts a window out of it, ``spread``
    spreads equal timestamps over the tick; ``first_rows`` takes only so many of what is left.
    """

    kind: ClassVar[str] = "trace"
    name: str
    sha256: str
    mapping: ClassMapping = field(default_factory=ClassMapping)
    spec: TraceSpec | None = None
    lenient: bool = False
    first_rows: int | None = None
    window_ms: Window | None = None
    spread: bool = False
    path: str = field(default="", compare=False)

    def load(self, profile: Profile, progress: Callable[[int, int], object] | None = None) -> tuple[RequestTable, int]:
        """The requests with the headers of the class mapping, and the tokens per prefix block."""
        reading = self.reading(None if progress is None else lambda _lines: progress(0, 0))
        table = apply(self.mapping, reading.requests, profile, columns=reading.columns)
        return (table if self.first_rows is None else table.head(self.first_rows)), reading.block_size_tokens

    def whole(self, progress: LinesRead | None = None) -> TraceReading:
        """The whole file as it is read, kept for the next time: it is not to be changed."""
        if not self.path:
            raise WorkloadError(f"the trace {self.name} is not on this machine: upload it again")
        key = (self.path, self.sha256, self.spec, self.lenient)
        reading = _readings.pop(key, None)
        if reading is None:
            path = Path(self.path)
            reading = read_trace(path, self.spec, name=self.name, lenient=self.lenient, progress=progress)
        _readings[key] = reading  # the one used last stands last
        for old in list(_readings)[:-KEPT_READINGS]:
            _readings.pop(old, None)
        return reading

    def reading(self, progress: LinesRead | None = None) -> TraceReading:
        """What runs of the file, before the class mapping: its window, equal times spread where that is asked for."""
        return self.part_of(self.whole(progress))

    def part_of(self, whole: TraceReading) -> TraceReading:
        """The window of a reading of the file, equal times spread where that is asked for."""
        if self.window_ms is not None:
            first, last = self.window_ms
            whole = cut_window(whole, first, inf if last is None else last)
        return spread_ticks(whole) if self.spread else whole


def window_of(value: object) -> Window:
    """A window from JSON data; raises TypeError for anything else."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise TypeError("a list of [from ms, to ms or null] is needed")
    first, last = value
    for each in (first, 0 if last is None else last):
        if isinstance(each, bool) or not isinstance(each, int | float) or not isfinite(each):
            raise TypeError(f"{each!r} is no number of milliseconds")
    return float(first), None if last is None else float(last)
